// SPDX-License-Identifier: GPL-2.0
/* Takes a CPU offline some time after loading: a run on that CPU must not count as sound. */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

static unsigned int cpu = 1;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "which CPU");

static unsigned int after_ms = 1000;
module_param(after_ms, uint, 0444);
MODULE_PARM_DESC(after_ms, "how long after loading, ms");

static bool gone;

static void unplug(struct work_struct *work)
{
	gone = remove_cpu(cpu) == 0;
}

static DECLARE_DELAYED_WORK(later, unplug);

static int __init unplug_init(void)
{
	schedule_delayed_work(&later, msecs_to_jiffies(after_ms));
	return 0;
}

static void __exit unplug_exit(void)
{
	cancel_delayed_work_sync(&later);
	if (gone)
		add_cpu(cpu);
}

module_init(unplug_init);
module_exit(unplug_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Takes a CPU away in the middle of a run");
