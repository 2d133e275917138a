// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_hold: turns preemption or interrupts off on a CPU, or keeps it busy with a softirq, for a
 * known time, to prove that a measurement catches it. It makes a kernel worse on purpose: for tests, in a virtual machine.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bottom_half.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>

static unsigned int hold_us = 500;
module_param(hold_us, uint, 0444);
MODULE_PARM_DESC(hold_us, "how long to hold, 1 to 1000000 us (default: 500)");

/*
 * Not a multiple of any usual measuring interval, but the golden section beside one: the holds
 * spread so evenly over a grid of 1 ms that among any 77 of them one begins at most 13 us before a
 * wake-up is due.
 */
static unsigned int period_us = 10618;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "from the start of one hold to the next, us (default: 10618)");

static bool irqs;
module_param(irqs, bool, 0444);
MODULE_PARM_DESC(irqs, "hold interrupts off, not only preemption (default: no)");

static bool softirq;
module_param(softirq, bool, 0444);
MODULE_PARM_DESC(softirq, "hold in a softirq (default: no)");

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "CPU to hold (default: -1, wherever the thread runs)");

static unsigned long holds;
module_param(holds, ulong, 0444);
MODULE_PARM_DESC(holds, "holds so far (to be read, in /sys/module/rtscope_hold/parameters)");

static struct task_struct *holder;

static void spin_until(ktime_t end)
{
	while (ktime_before(ktime_get(), end))
		cpu_relax();
}

static void hold_softirq(struct tasklet_struct *unused)
{
	spin_until(ktime_add_us(ktime_get(), hold_us));
}

static DECLARE_TASKLET(softirq_holder, hold_softirq);

static void hold(void)
{
	unsigned long flags;

	/* The end is computed inside, so that delays before it do not shorten the hold. */
	if (softirq) {
		/* It runs where bottom halves are switched on again. */
		local_bh_disable();
		tasklet_schedule(&softirq_holder);
		local_bh_enable();
	} else if (irqs) {
		local_irq_save(flags);
		spin_until(ktime_add_us(ktime_get(), hold_us));
		local_irq_restore(flags);
	} else {
		preempt_disable();
		spin_until(ktime_add_us(ktime_get(), hold_us));
		preempt_enable();
	}
	holds++;
}

static int hold_thread(void *unused)
{
	ktime_t next = ktime_get();

	while (!kthread_should_stop()) {
		do {
			next = ktime_add_us(next, period_us);
		} while (ktime_before(next, ktime_get()));

		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
		__set_current_state(TASK_RUNNING);
		if (!kthread_should_stop())
			hold();
	}
	return 0;
}

static int __init hold_init(void)
{
	if (!hold_us || hold_us > USEC_PER_SEC) {
		pr_err("hold_us=%u: must be 1 to 1000000\n", hold_us);
		return -EINVAL;
	}
	/* A thread that never sleeps would starve the machine, not hold it now and then. */
	if (period_us < 2 * hold_us) {
		pr_err("period_us=%u: must be at least twice hold_us=%u\n", period_us, hold_us);
		return -EINVAL;
	}
	if (cpu >= 0 && (cpu >= nr_cpu_ids || !cpu_online(cpu))) {
		pr_err("cpu=%d: not online\n", cpu);
		return -EINVAL;
	}

	holder = kthread_create(hold_thread, NULL, KBUILD_MODNAME);
	if (IS_ERR(holder))
		return PTR_ERR(holder);
	if (cpu >= 0)
		kthread_bind(holder, cpu);
	wake_up_process(holder);
	return 0;
}

static void __exit hold_exit(void)
{
	kthread_stop(holder);
	tasklet_kill(&softirq_holder);
}

module_init(hold_init);
module_exit(hold_exit);

MODULE_DESCRIPTION("rtscope: holds preemption or interrupts off, or a CPU in a softirq, for a known time (a test)");
MODULE_LICENSE("GPL");
