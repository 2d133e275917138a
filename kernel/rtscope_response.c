// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_response: the DUT's task in the kernel. On an edge of its input line it sets its output
 * line to the same level (Adam 2021, algorithm 3), in the top half or in a thread, as chosen by a
 * parameter and reported in the status.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#include "device.h"
#include "line.h"

#define SERVICE_MAX_NS	NSEC_PER_SEC

static char *in;
module_param(in, charp, 0444);
MODULE_PARM_DESC(in, "input line: LABEL/OFFSET or its name");

static char *out;
module_param(out, charp, 0444);
MODULE_PARM_DESC(out, "output line: LABEL/OFFSET or its name");

static char *handler = "hard";
module_param(handler, charp, 0444);
MODULE_PARM_DESC(handler, "where the answer is given: hard (top half) or threaded (default: hard)");

static ulong service_ns;
module_param(service_ns, ulong, 0444);
MODULE_PARM_DESC(service_ns, "busy-wait between reading an edge and its answer, ns: a known service time (default: 0)");

static_assert(sizeof(struct rtscope_response_status) == 64);

static struct line_owner owner;
static struct gpio_desc *in_line, *out_line;
static int irq;
static enum rtscope_handler chosen;
static int last = -1;
static struct rtscope_response_status counts;

/* Protects the counts between the handler and readers. Taken only after the answer was given. */
static DEFINE_RAW_SPINLOCK(counts_lock);

static irqreturn_t answer(int number, void *unused)
{
	/* Read first: an edge that comes while this one is served is the next one. */
	int level = gpiod_get_raw_value(in_line);
	unsigned long flags;

	if (service_ns) {
		u64 end = ktime_get_ns() + service_ns;

		while (ktime_get_ns() < end)
			cpu_relax();
	}
	gpiod_set_raw_value(out_line, level);

	raw_spin_lock_irqsave(&counts_lock, flags);
	counts.edges++;
	if (level == last)
		counts.unchanged++;
	else if (level)
		counts.rising++;
	else
		counts.falling++;
	last = level;
	if (chosen == RTSCOPE_HANDLER_HARD && !in_hardirq())
		counts.outside++;
	counts.cpu = raw_smp_processor_id();
	raw_spin_unlock_irqrestore(&counts_lock, flags);
	return IRQ_HANDLED;
}

static long response_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	struct rtscope_response_status status;
	void __user *to = (void __user *)arg;

	switch (request) {
	case RTSCOPE_IOC_VERSION:
		return rtscope_version_to(to, KBUILD_MODNAME);
	case RTSCOPE_RESPONSE_STATUS:
		raw_spin_lock_irq(&counts_lock);
		status = counts;
		raw_spin_unlock_irq(&counts_lock);
		status.abi = RTSCOPE_ABI;
		status.handler = chosen;
		status.irq = irq;
		status.service_ns = service_ns;
		return copy_to_user(to, &status, sizeof(status)) ? -EFAULT : 0;
	default:
		return -ENOTTY;
	}
}

static const struct file_operations response_operations = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.unlocked_ioctl = response_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = RTSCOPE_RESPONSE_DEVICE,
	.fops = &response_operations,
	.mode = 0600,
};

static int request_interrupt(void)
{
	unsigned long edges = IRQF_TRIGGER_RISING | IRQF_TRIGGER_FALLING;

	/* Without IRQF_NO_THREAD, PREEMPT_RT would run the top half in a thread too. */
	if (chosen == RTSCOPE_HANDLER_HARD)
		return request_irq(irq, answer, edges | IRQF_NO_THREAD, KBUILD_MODNAME, &owner);
	return request_threaded_irq(irq, NULL, answer, edges | IRQF_ONESHOT, KBUILD_MODNAME,
				    &owner);
}

static int take_lines(void)
{
	int err;

	in_line = line_get(&owner, "in", in, GPIOD_IN);
	if (IS_ERR(in_line))
		return PTR_ERR(in_line);
	/* Initially the output has the level that an answer would have given it. */
	last = gpiod_get_raw_value(in_line);
	out_line = line_get(&owner, "out", out, last > 0 ? GPIOD_OUT_HIGH : GPIOD_OUT_LOW);
	if (IS_ERR(out_line)) {
		err = PTR_ERR(out_line);
		goto put_in;
	}

	err = -EOPNOTSUPP;
	if (gpiod_cansleep(in_line) || gpiod_cansleep(out_line)) {
		pr_err("a line's chip sleeps (it is behind a bus): no answer from an interrupt\n");
		goto put_out;
	}
	irq = gpiod_to_irq(in_line);
	if (irq < 0) {
		pr_err("in=%s: the line gives no interrupts: %d\n", in, irq);
		err = irq;
		goto put_out;
	}
	err = request_interrupt();
	if (!err)
		return 0;
	pr_err("in=%s: no interrupt on both edges: %d\n", in, err);
put_out:
	gpiod_put(out_line);
put_in:
	gpiod_put(in_line);
	return err;
}

static void release_lines(void)
{
	free_irq(irq, &owner);
	gpiod_put(out_line);
	gpiod_put(in_line);
}

static int __init response_init(void)
{
	static const char * const names[] = { "in", "out" };
	struct line_spec specs[2];
	int err;

	if (!in || line_parse(in, &specs[0]) || !out || line_parse(out, &specs[1])) {
		pr_err("in= and out= must be lines: LABEL/OFFSET or a name\n");
		return -EINVAL;
	}
	if (sysfs_streq(handler, "hard")) {
		chosen = RTSCOPE_HANDLER_HARD;
	} else if (sysfs_streq(handler, "threaded")) {
		chosen = RTSCOPE_HANDLER_THREADED;
	} else {
		pr_err("handler=%s: must be hard or threaded\n", handler);
		return -EINVAL;
	}
	if (service_ns > SERVICE_MAX_NS) {
		pr_err("service_ns=%lu: must be at most 1000000000\n", service_ns);
		return -EINVAL;
	}

	err = line_owner_add(&owner, KBUILD_MODNAME, specs, names, ARRAY_SIZE(specs));
	if (err)
		return err;
	err = take_lines();
	if (err)
		goto no_lines;
	err = misc_register(&device);
	if (err)
		goto no_device;
	return 0;

no_device:
	release_lines();
no_lines:
	line_owner_remove(&owner);
	return err;
}

static void __exit response_exit(void)
{
	misc_deregister(&device);
	release_lines();
	line_owner_remove(&owner);
}

module_init(response_init);
module_exit(response_exit);

MODULE_DESCRIPTION("rtscope: answers edges of a GPIO line on another one");
MODULE_LICENSE("GPL");
