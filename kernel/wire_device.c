// SPDX-License-Identifier: GPL-2.0
/* rtscope_wire: the instrument's device /dev/rtscope-wire, and the module's init and exit. */
#define pr_fmt(fmt) "rtscope_wire: " fmt

#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "device.h"
#include "wire.h"

static unsigned int wires = 2;
module_param(wires, uint, 0444);
MODULE_PARM_DESC(wires, "wires beside stimulus and answer, 0 to 15 (default: 2)");

static_assert(sizeof(struct rtscope_wire_inject) == 32);
static_assert(sizeof(struct rtscope_wire_config) == 104);
static_assert(sizeof(struct rtscope_wire_event) == 64);
static_assert(sizeof(struct rtscope_wire_status) == 176);

static DEFINE_MUTEX(requests);		/* one at a time */
static unsigned long device_open;

static int wire_open(struct inode *inode, struct file *file)
{
	if (test_and_set_bit(0, &device_open))
		return -EBUSY;
	return stream_open(inode, file);
}

static int wire_release(struct inode *inode, struct file *file)
{
	wire_run_reset(&wire_run);
	clear_bit(0, &device_open);
	return 0;
}

static ssize_t wire_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct wire_run *run = &wire_run;
	ssize_t copied;
	bool ended;
	int err;

	if (len < sizeof(struct rtscope_wire_event))
		return -EINVAL;
	if (!(file->f_flags & O_NONBLOCK)) {
		err = wait_event_interruptible(run->readers, wire_run_readable(run));
		if (err)
			return err;
	}

	mutex_lock(&requests);
	/* Checked first: records from before the end are then seen below. */
	ended = wire_run_ended(run);
	copied = run->ring.records ? ring_read(&run->ring, to, len) : 0;
	mutex_unlock(&requests);
	if (!copied && !ended)
		return -EAGAIN;
	return copied;
}

static __poll_t wire_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &wire_run.readers, table);
	return wire_run_readable(&wire_run) ? EPOLLIN | EPOLLRDNORM : 0;
}

static long wire_request(unsigned int request, void __user *arg)
{
	struct rtscope_wire_config config;
	struct rtscope_wire_status status;
	int err;

	switch (request) {
	case RTSCOPE_IOC_VERSION:
		return rtscope_version_to(arg, "rtscope_wire");
	case RTSCOPE_WIRE_CONFIGURE:
		if (copy_from_user(&config, arg, sizeof(config)))
			return -EFAULT;
		err = wire_run_check(&config);
		return err ? err : wire_run_configure(&wire_run, &config);
	case RTSCOPE_WIRE_START:
		return wire_run_start(&wire_run);
	case RTSCOPE_WIRE_STOP:
		wire_run_stop(&wire_run);
		return 0;
	case RTSCOPE_WIRE_STATUS:
		wire_run_status(&wire_run, &status);
		return copy_to_user(arg, &status, sizeof(status)) ? -EFAULT : 0;
	default:
		return -ENOTTY;
	}
}

static long wire_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	long result;

	mutex_lock(&requests);
	result = wire_request(request, (void __user *)arg);
	mutex_unlock(&requests);
	return result;
}

static const struct file_operations wire_operations = {
	.owner = THIS_MODULE,
	.open = wire_open,
	.release = wire_release,
	.read = wire_read,
	.poll = wire_poll,
	.unlocked_ioctl = wire_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = RTSCOPE_WIRE_DEVICE,
	.fops = &wire_operations,
	.mode = 0600,
};

static int __init wire_init(void)
{
	int err;

	if (wires > WIRES_MAX) {
		pr_err("wires=%u: must be 0 to %d\n", wires, WIRES_MAX);
		return -EINVAL;
	}
	wire_run_init(&wire_run);
	err = wire_chip_add(wires);
	if (err)
		return err;
	err = misc_register(&device);
	if (err) {
		pr_err("/dev/" RTSCOPE_WIRE_DEVICE " could not be made: %d\n", err);
		wire_chip_remove();
	}
	return err;
}

static void __exit wire_exit(void)
{
	misc_deregister(&device);
	wire_chip_remove();
}

module_init(wire_init);
module_exit(wire_exit);

MODULE_DESCRIPTION("rtscope: a GPIO chip with wired lines, and an instrument on two of them");
MODULE_LICENSE("GPL");
