/* SPDX-License-Identifier: GPL-2.0 */
/* Requests that all of rtscope's devices answer in the same way. */
#ifndef RTSCOPE_DEVICE_H
#define RTSCOPE_DEVICE_H

#include <linux/build_bug.h>
#include <linux/kconfig.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "rtscope.h"

static_assert(sizeof(struct rtscope_version) == 32);

static inline long rtscope_version_to(void __user *to, const char *module)
{
	struct rtscope_version version = {
		.abi = RTSCOPE_ABI,
		.preempt_rt = IS_ENABLED(CONFIG_PREEMPT_RT),
	};

	strscpy(version.module, module, sizeof(version.module));
	return copy_to_user(to, &version, sizeof(version)) ? -EFAULT : 0;
}

#endif /* RTSCOPE_DEVICE_H */
