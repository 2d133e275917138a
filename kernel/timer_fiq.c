// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_timer: the expiry as a FIQ. On each measured CPU the architecture's physical timer, which
 * Linux leaves alone unless it was booted in hyp mode, runs on the grid, and its interrupt is a FIQ: Linux keeps IRQs off
 * in its critical sections, never FIQs. Times are the timer's own ticks; they become those of the
 * monotonic clock when samples are fetched.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/build_bug.h>
#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/math64.h>
#include <linux/of.h>
#include <linux/of_irq.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <asm/fiq.h>
#include <asm/ptrace.h>

#include "timer.h"
#include "timer_fiq.h"

static_assert(offsetof(struct fiq_cpu, compare) == FIQ_COMPARE);
static_assert(offsetof(struct fiq_cpu, left) == FIQ_LEFT);
static_assert(offsetof(struct fiq_cpu, step) == FIQ_STEP);
static_assert(offsetof(struct fiq_cpu, step_fraction) == FIQ_STEP_FRACTION);
static_assert(offsetof(struct fiq_cpu, fraction) == FIQ_STEP_FRACTION + 4);
static_assert(offsetof(struct fiq_cpu, point) == FIQ_POINT);
static_assert(offsetof(struct fiq_cpu, seq) == FIQ_SEQ);
static_assert(offsetof(struct fiq_cpu, head) == FIQ_HEAD);
static_assert(offsetof(struct fiq_cpu, tail) == FIQ_TAIL);
static_assert(offsetof(struct fiq_cpu, mask) == FIQ_MASK);
static_assert(offsetof(struct fiq_cpu, slots) == FIQ_SLOTS);
static_assert(offsetof(struct fiq_cpu, ended) == FIQ_ENDED);
static_assert(offsetof(struct fiq_cpu, entry) == FIQ_ENTRY);
static_assert(offsetof(struct fiq_cpu, saved) == FIQ_SAVED);
static_assert(sizeof(struct fiq_sample) == 16);

/* Samples that a CPU's FIQ has room for at most: 512 KiB, which must be in one piece. */
#define SAMPLES_MAX	32768

static struct sampler *measured;
static unsigned int n_measured;
static cpumask_t cpus;
static u32 ticks_per_s;
static int irq;				/* the timer's */
static int refuse_online, refuse_offline;	/* states of CPU hotplug; 0: none */
static bool no_power_down;
static DEFINE_PER_CPU(unsigned int, cookie);	/* for free_percpu_irq(): IRQs taken */

static u64 counter(void)
{
	u64 ticks;

	asm volatile("isb\n\tmrrc p15, 0, %Q0, %R0, c14" : "=r" (ticks) :: "memory");
	return ticks;
}

static void set_compare(u64 ticks)
{
	asm volatile("mcrr p15, 2, %Q0, %R0, c14\n\tisb" :: "r" (ticks) : "memory");
}

static void set_control(u32 control)
{
	asm volatile("mcr p15, 0, %0, c14, c2, 1\n\tisb" :: "r" (control) : "memory");
}

static u64 to_ticks(u64 ns)
{
	return mul_u64_u32_div(ns, ticks_per_s, NSEC_PER_SEC);
}

static u64 to_ns(u64 ticks)
{
	return mul_u64_u32_div(ticks, NSEC_PER_SEC, ticks_per_s);
}

/* The timer's node, or NULL. */
static struct device_node *timer_node(void)
{
	static const struct of_device_id known[] = {
		{ .compatible = "arm,armv7-timer" },
		{ .compatible = "arm,armv8-timer" },
		{}
	};

	return of_find_matching_node(NULL, known);
}

/* Finds the timer's interrupt and rate. */
static int find_timer(void)
{
	struct device_node *node = timer_node();
	u32 rate = 0;

	if (!node) {
		pr_info("no timer of the architecture: nothing to make a FIQ\n");
		return -EOPNOTSUPP;
	}
	irq = of_irq_get_byname(node, "phys");
	if (irq <= 0)
		irq = of_irq_get(node, 1);
	if (of_property_read_u32(node, "clock-frequency", &rate))
		asm volatile("mrc p15, 0, %0, c14, c0, 0" : "=r" (rate));
	of_node_put(node);
	ticks_per_s = rate;
	if (irq <= 0 || !rate) {
		pr_info("the physical timer has no interrupt or no rate\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

int fiq_possible(void)
{
	int err = find_timer();

	if (!err)
		err = gic_find();
	if (!err)
		gic_forget();
	return err;
}

int fiq_alloc(struct sampler *s, u32 ring_records)
{
	u32 samples = min_t(u32, ring_records, SAMPLES_MAX);
	struct fiq_cpu *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	s->fiq = f;
	f->slots = kcalloc(samples, sizeof(*f->slots), GFP_KERNEL);
	if (!f->slots)
		return -ENOMEM;
	f->mask = samples - 1;
	return 0;
}

void fiq_free(struct sampler *s)
{
	if (s->fiq)
		kfree(s->fiq->slots);
	kfree(s->fiq);
	s->fiq = NULL;
}

/*
 * Linux may acknowledge the interrupt as it comes, before the CPU has taken it as a FIQ. Its level
 * stays, so the FIQ is taken right after this.
 */
static irqreturn_t taken_as_irq(int irq, void *taken)
{
	++*(unsigned int *)taken;
	return IRQ_HANDLED;
}

/* A CPU that comes would know nothing of the groups; one that goes, may be measured. */
static int refuse(unsigned int cpu)
{
	return -EBUSY;
}

static int refuse_power_down(struct notifier_block *block, unsigned long event, void *unused)
{
	return event == CPU_PM_ENTER || event == CPU_CLUSTER_PM_ENTER ? NOTIFY_BAD : NOTIFY_OK;
}

static struct notifier_block power = { .notifier_call = refuse_power_down };

/* Keeps CPUs and interrupt controller from losing their state. */
static int hold_cpus(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "rtscope/timer:online", refuse,
					      NULL);

	if (state < 0)
		return state;
	refuse_online = state;
	state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "rtscope/timer:offline", NULL,
					  refuse);
	if (state < 0)
		return state;
	refuse_offline = state;
	state = cpu_pm_register_notifier(&power);
	no_power_down = !state;
	return state;
}

static void let_cpus_go(void)
{
	if (no_power_down)
		cpu_pm_unregister_notifier(&power);
	if (refuse_offline)
		cpuhp_remove_state_nocalls(refuse_offline);
	if (refuse_online)
		cpuhp_remove_state_nocalls(refuse_online);
	no_power_down = false;
	refuse_offline = 0;
	refuse_online = 0;
}

static void off_here(void *enabled)
{
	set_control(0);
	if (enabled)
		disable_percpu_irq(irq);
}

/* What the handler expects in the registers of FIQ mode is in timer_fiq_handler.S. */
static void on_here(void *sampler)
{
	struct sampler *s = sampler;
	struct pt_regs regs = {
		.ARM_r8 = (unsigned long)s->fiq,
		.ARM_sp = (unsigned long)s->fiq->entry,
	};

	set_control(0);
	set_fiq_regs(&regs);
	enable_percpu_irq(irq, IRQ_TYPE_NONE);
}

static void go_here(void *sampler)
{
	struct sampler *s = sampler;

	set_compare(s->fiq->compare);
	set_control(1);
}

static void set_grid(struct fiq_cpu *f, const struct rtscope_timer_config *config, u64 first)
{
	u64 whole, rest, step;
	u32 below_s;

	/* interval_ns * ticks_per_s / 10^9, with 32 bits of its fraction. */
	whole = div_u64_rem(config->interval_ns, NSEC_PER_SEC, &below_s);
	step = whole * ticks_per_s;
	step += div64_u64_rem((u64)below_s * ticks_per_s, NSEC_PER_SEC, &rest);
	f->step = step;
	f->step_fraction = div_u64(rest << 32, NSEC_PER_SEC);
	f->fraction = 0;
	f->compare = first;
	f->left = config->count ?: U64_MAX;
}

/* A start that fails leaves all as it was. */
int fiq_start(struct sampler *samplers, unsigned int n, const struct rtscope_timer_config *config,
	      u64 *started_ns)
{
	unsigned long flags;
	unsigned int i;
	u64 ticks, ns;
	u32 ppi;
	int err;

	err = find_timer();
	if (!err)
		err = gic_find();
	if (err)
		return err;
	ppi = irqd_to_hwirq(irq_get_irq_data(irq));
	err = ppi < 16 || ppi > 31 ? -EOPNOTSUPP : vector_take();
	if (err) {
		gic_forget();
		return err;
	}
	/* Fails where Linux itself has the timer. */
	err = request_percpu_irq(irq, taken_as_irq, KBUILD_MODNAME, &cookie);
	if (err) {
		vector_give_back();
		gic_forget();
		return err;
	}
	measured = samplers;
	n_measured = n;
	err = hold_cpus();
	if (err)
		goto undo;

	/* From here on these are the CPUs that there are. */
	cpumask_clear(&cpus);
	for (i = 0; i < n; i++)
		cpumask_set_cpu(samplers[i].cpu, &cpus);
	err = cpumask_subset(&cpus, cpu_online_mask) ? 0 : -ENXIO;
	if (!err)
		err = gic_part(ppi, &cpus);
	for (i = 0; i < n && !err; i++)
		err = smp_call_function_single(samplers[i].cpu, on_here, &samplers[i], true);
	if (!err) {
		local_irq_save(flags);
		ns = ktime_get_ns();
		ticks = counter();
		local_irq_restore(flags);
		*started_ns = ns + config->start_delay_ns;
	}
	for (i = 0; i < n && !err; i++) {
		set_grid(samplers[i].fiq, config,
			 ticks + to_ticks(config->start_delay_ns + i * config->distance_ns));
		err = smp_call_function_single(samplers[i].cpu, go_here, &samplers[i], true);
	}
undo:
	if (err)
		fiq_stop();
	return err;
}

void fiq_give_up(void)
{
	unsigned int i;

	for (i = 0; i < n_measured; i++) {
		smp_call_function_single(measured[i].cpu, off_here, NULL, true);
		WRITE_ONCE(measured[i].fiq->ended, 1);
	}
}

void fiq_stop(void)
{
	unsigned int i;

	if (!measured)
		return;
	for (i = 0; i < n_measured; i++)
		smp_call_function_single(measured[i].cpu, off_here, measured, true);
	gic_join();
	let_cpus_go();
	free_percpu_irq(irq, &cookie);
	vector_give_back();
	gic_forget();
	measured = NULL;
	n_measured = 0;
}

bool fiq_ended(const struct sampler *s)
{
	/* Pairs with the barrier of the handler: all samples are written. */
	return smp_load_acquire(&s->fiq->ended);
}

u32 fiq_unread(const struct sampler *s)
{
	/* Pairs with the barrier of the handler: the samples are written. */
	return smp_load_acquire(&s->fiq->head) - READ_ONCE(s->fiq->tail);
}

u32 fiq_room(const struct sampler *s)
{
	return s->fiq->mask + 1;
}

/* Counts samples that found no room. */
static void lose(struct sampler *s, u32 lost)
{
	s->ring.seq += lost;
	s->ring.lost += lost;
	s->counts.samples += lost;
	s->fiq->fetched += lost;
}

static void take(struct sampler *s, const struct fiq_sample *sample,
		 const struct rtscope_timer_config *config, u64 first_ns)
{
	struct rtscope_timer_status *counts = &s->counts;
	struct fiq_cpu *f = s->fiq;
	u32 lost = sample->seq - f->fetched;
	u32 passed = sample->point - (u32)f->points - lost;
	u64 late = to_ns(sample->late);
	struct rtscope_timer_event *slot;
	u64 seq, expected;

	lose(s, lost);
	f->points += (u64)lost + passed;
	expected = first_ns + f->points * config->interval_ns;
	f->points++;
	f->fetched++;
	slot = ring_slot(&s->ring, &seq);
	if (slot) {
		*slot = (struct rtscope_timer_event){
			.seq = seq,
			.expected_ns = expected,
			.actual_ns = expected + late,
			.cpu = s->cpu,
			.missed = passed,
		};
		ring_push(&s->ring);
	}
	counts->min_ns = counts->samples ? min(counts->min_ns, late) : late;
	counts->max_ns = max(counts->max_ns, late);
	counts->sum_ns += late;
	counts->samples++;
	counts->missed += passed;
	counts->due = f->points;
}

void fiq_fetch(struct sampler *s, const struct rtscope_timer_config *config, u64 first_ns,
	       bool over)
{
	struct fiq_cpu *f = s->fiq;

	while (fiq_unread(s) && ring_unread(&s->ring) < s->ring.records) {
		struct fiq_sample sample = f->slots[f->tail & f->mask];

		take(s, &sample, config, first_ns);
		/* The sample is read before its slot is free. */
		smp_store_release(&f->tail, f->tail + 1);
	}
	if (!over || fiq_unread(s))
		return;
	lose(s, f->seq - f->fetched);
	/* The next point's number is how many are past. */
	s->counts.due = f->ended ? config->count : f->points + (u32)(f->point - (u32)f->points);
	s->counts.missed = s->counts.due - s->counts.samples;
}
