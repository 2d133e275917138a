// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_periodic: the DUT's wave in the kernel. Toggles a line every semi-period from an hrtimer
 * (Adam 2021, algorithm 5). The grid is absolute, so a late edge does not shift the following
 * ones.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "device.h"
#include "line.h"

#define SEMI_PERIOD_MIN_NS	(10 * NSEC_PER_USEC)
#define SEMI_PERIOD_MAX_NS	NSEC_PER_SEC
#define START_DELAY_NS		(10 * NSEC_PER_MSEC)

static char *out;
module_param(out, charp, 0444);
MODULE_PARM_DESC(out, "output line: LABEL/OFFSET or its name");

static ulong semi_period_ns = NSEC_PER_MSEC;
module_param(semi_period_ns, ulong, 0444);
MODULE_PARM_DESC(semi_period_ns, "from edge to edge, 10000 to 1000000000 ns (default: 1000000)");

static char *context = "hard";
module_param(context, charp, 0444);
MODULE_PARM_DESC(context, "where the line is toggled: hard (interrupt) or soft (softirq) (default: hard)");

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "CPU of the timer (default: -1, where the module is loaded)");

static_assert(sizeof(struct rtscope_periodic_status) == 64);

static struct line_owner owner;
static struct gpio_desc *out_line;
static struct hrtimer timer;
static enum hrtimer_mode mode;
static struct rtscope_periodic_status counts;

/* Protects the counts between the timer and readers. Taken only after the line was toggled. */
static DEFINE_RAW_SPINLOCK(counts_lock);

static enum hrtimer_restart toggle(struct hrtimer *unused)
{
	u64 late = ktime_get_ns() - ktime_to_ns(hrtimer_get_expires(&timer));
	unsigned long flags;
	u64 passed;

	gpiod_set_raw_value(out_line, !counts.level);

	raw_spin_lock_irqsave(&counts_lock, flags);
	passed = hrtimer_forward_now(&timer, ns_to_ktime(semi_period_ns));
	counts.level = !counts.level;
	counts.toggles++;
	/* The first of the passed points is the one of this edge. */
	counts.missed += passed - 1;
	counts.late_max_ns = max(counts.late_max_ns, late);
	raw_spin_unlock_irqrestore(&counts_lock, flags);
	return HRTIMER_RESTART;
}

static long periodic_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	struct rtscope_periodic_status status;
	void __user *to = (void __user *)arg;

	switch (request) {
	case RTSCOPE_IOC_VERSION:
		return rtscope_version_to(to, KBUILD_MODNAME);
	case RTSCOPE_PERIODIC_STATUS:
		raw_spin_lock_irq(&counts_lock);
		status = counts;
		status.now_ns = ktime_get_ns();
		raw_spin_unlock_irq(&counts_lock);
		return copy_to_user(to, &status, sizeof(status)) ? -EFAULT : 0;
	default:
		return -ENOTTY;
	}
}

static const struct file_operations periodic_operations = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.unlocked_ioctl = periodic_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = RTSCOPE_PERIODIC_DEVICE,
	.fops = &periodic_operations,
	.mode = 0600,
};

/* Runs on the timer's CPU: a pinned timer stays where it was started. */
static void start_here(void *unused)
{
	counts.cpu = smp_processor_id();
	counts.first_ns = ktime_get_ns() + START_DELAY_NS;
	hrtimer_start(&timer, ns_to_ktime(counts.first_ns), mode);
}

static int take_line(void)
{
	out_line = line_get(&owner, "out", out, GPIOD_OUT_LOW);
	if (IS_ERR(out_line))
		return PTR_ERR(out_line);
	if (!gpiod_cansleep(out_line))
		return 0;
	pr_err("out=%s: the line's chip sleeps (it is behind a bus): no edges from a timer\n", out);
	gpiod_put(out_line);
	return -EOPNOTSUPP;
}

static int start(void)
{
	int err;

	cpus_read_lock();
	if (cpu >= 0 && (cpu >= nr_cpu_ids || !cpu_online(cpu)))
		err = -ENXIO;
	else
		err = smp_call_function_single(cpu < 0 ? raw_smp_processor_id() : cpu,
					       start_here, NULL, true);
	cpus_read_unlock();
	if (err)
		pr_err("cpu=%d: not online\n", cpu);
	return err;
}

static int __init periodic_init(void)
{
	static const char * const names[] = { "out" };
	struct line_spec spec;
	int err;

	if (!out || line_parse(out, &spec)) {
		pr_err("out= must be a line: LABEL/OFFSET or a name\n");
		return -EINVAL;
	}
	if (semi_period_ns < SEMI_PERIOD_MIN_NS || semi_period_ns > SEMI_PERIOD_MAX_NS) {
		pr_err("semi_period_ns=%lu: must be 10000 to 1000000000\n", semi_period_ns);
		return -EINVAL;
	}
	if (sysfs_streq(context, "hard")) {
		counts.context = RTSCOPE_CONTEXT_HARD;
		mode = HRTIMER_MODE_ABS_PINNED_HARD;
	} else if (sysfs_streq(context, "soft")) {
		counts.context = RTSCOPE_CONTEXT_SOFT;
		mode = HRTIMER_MODE_ABS_PINNED_SOFT;
	} else {
		pr_err("context=%s: must be hard or soft\n", context);
		return -EINVAL;
	}
	counts.abi = RTSCOPE_ABI;
	counts.semi_period_ns = semi_period_ns;

	err = line_owner_add(&owner, KBUILD_MODNAME, &spec, names, 1);
	if (err)
		return err;
	err = take_line();
	if (err)
		goto no_line;
	err = misc_register(&device);
	if (err)
		goto no_device;
	hrtimer_setup(&timer, toggle, CLOCK_MONOTONIC, mode);
	err = start();
	if (!err)
		return 0;

	misc_deregister(&device);
no_device:
	gpiod_put(out_line);
no_line:
	line_owner_remove(&owner);
	return err;
}

static void __exit periodic_exit(void)
{
	misc_deregister(&device);
	hrtimer_cancel(&timer);
	gpiod_put(out_line);
	line_owner_remove(&owner);
}

module_init(periodic_init);
module_exit(periodic_exit);

MODULE_DESCRIPTION("rtscope: toggles a GPIO line every semi-period");
MODULE_LICENSE("GPL");
