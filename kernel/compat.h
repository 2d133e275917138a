/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between the kernels that these modules are built for: 6.1 to mainline. */
#ifndef RTSCOPE_COMPAT_H
#define RTSCOPE_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* From 6.17 on, gpio_chip.set returns an error code. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define RTSCOPE_GPIO_SET_VOID	1
#else
#define RTSCOPE_GPIO_SET_VOID	0
#endif

#endif /* RTSCOPE_COMPAT_H */
