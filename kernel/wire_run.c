// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_wire: the instrument. A hard, pinned hrtimer drives the stimulus line at programmed
 * times, so that no stimulus ever waits for the scheduler.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "compat.h"
#include "wire.h"

#define INTERVAL_MIN_NS		(10 * NSEC_PER_USEC)
#define TIME_MAX_NS		(3600ULL * NSEC_PER_SEC)
#define START_DELAY_MIN_NS	NSEC_PER_USEC

static u64 random_next(u64 *state)
{
	u64 z = *state += RTSCOPE_SPLITMIX_STEP;

	z = (z ^ z >> 30) * RTSCOPE_SPLITMIX_MUL1;
	z = (z ^ z >> 27) * RTSCOPE_SPLITMIX_MUL2;
	return z ^ z >> 31;
}

static u64 interval_next(struct wire_run *run)
{
	const struct rtscope_wire_config *config = &run->config;
	u64 span = config->interval_max_ns - config->interval_min_ns + 1;

	return config->interval_min_ns + ((random_next(&run->random) >> 32) * span >> 32);
}

/* Counts the stimuli whose time has already passed; none of them is driven. */
static void skip(struct wire_run *run, u64 now)
{
	struct rtscope_wire_status *status = &run->status;
	u64 first = status->due + 1;
	u64 programmed = run->next;

	while (run->next <= now && status->due != run->config.count) {
		status->due++;
		run->next += interval_next(run);
	}
	if (status->due < first)
		return;
	status->skipped += status->due + 1 - first;
	wire_record(run, (struct rtscope_wire_event){
		.stimulus = first,
		.programmed_ns = programmed,
		.kind = RTSCOPE_WIRE_SKIPPED,
		.count = status->due + 1 - first,
	});
}

static enum hrtimer_restart stimulus_fire(struct hrtimer *timer)
{
	struct wire_run *run = container_of(timer, struct wire_run, stimulus_timer);
	struct rtscope_wire_status *status = &run->status;
	struct wire_stimulus *now = &run->now;
	bool due;

	raw_spin_lock(&wire_lock);
	if (status->state != RTSCOPE_STATE_RUNNING)
		goto out;
	if (now->fate == WIRE_OPEN)
		wire_run_miss(run, now);
	if (run->config.count && status->due == run->config.count) {
		wire_run_end(run);
		goto out;
	}

	run->before = *now;
	*now = (struct wire_stimulus){
		.number = ++status->due,
		.programmed = run->next,
		.level = !now->level,
		.fate = WIRE_OPEN,
	};
	run->next += interval_next(run);
	status->stimuli++;
	now->driven = ktime_get_ns();
	due = wire_input_edge(RTSCOPE_WIRE_STIMULUS, now->level);
	status->stimulus_late_max_ns = max(status->stimulus_late_max_ns,
					   now->driven - now->programmed);
	skip(run, now->driven);
	hrtimer_set_expires(timer, ns_to_ktime(run->next));
	raw_spin_unlock(&wire_lock);

	if (due)
		wire_interrupt(RTSCOPE_WIRE_STIMULUS);
	if (run->config.inject.mode != RTSCOPE_INJECT_OFF)
		wire_inject(run);
	return HRTIMER_RESTART;

out:
	raw_spin_unlock(&wire_lock);
	return HRTIMER_NORESTART;
}

static void wake_readers(struct irq_work *work)
{
	struct wire_run *run = container_of(work, struct wire_run, wake);

	wake_up_interruptible(&run->readers);
}

void wire_run_init(struct wire_run *run)
{
	hrtimer_setup(&run->stimulus_timer, stimulus_fire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
	wire_inject_init(run);
	/* Not a hard irq_work: on PREEMPT_RT, readers can only be woken from a thread. */
	init_irq_work(&run->wake, wake_readers);
	init_waitqueue_head(&run->readers);
}

int wire_run_check(struct rtscope_wire_config *config)
{
	if (config->abi != RTSCOPE_ABI)
		return -EPROTO;
	if (!config->ring_records)
		config->ring_records = RING_RECORDS_DEFAULT;
	if (!config->wake_records)
		config->wake_records = config->ring_records / 2;
	if (config->flags || config->mode > RTSCOPE_WIRE_CAPTURE ||
	    !ring_records_valid(config->ring_records) ||
	    config->wake_records > config->ring_records)
		return -EINVAL;
	if (config->cpu != RTSCOPE_CPU_ANY &&
	    (config->cpu >= nr_cpu_ids || !cpu_online(config->cpu)))
		return -ENXIO;
	if (config->mode == RTSCOPE_WIRE_CAPTURE)
		return config->inject.mode == RTSCOPE_INJECT_OFF && wire_inject_valid(config) ?
		       0 : -EINVAL;

	if (config->interval_min_ns < INTERVAL_MIN_NS ||
	    config->interval_max_ns > TIME_MAX_NS ||
	    config->interval_max_ns < config->interval_min_ns ||
	    config->interval_max_ns - config->interval_min_ns >= U32_MAX ||
	    !config->timeout_ns || config->timeout_ns > config->interval_min_ns ||
	    config->start_delay_ns < START_DELAY_MIN_NS ||
	    config->start_delay_ns > TIME_MAX_NS)
		return -EINVAL;
	return wire_inject_valid(config) ? 0 : -EINVAL;
}

int wire_run_configure(struct wire_run *run, const struct rtscope_wire_config *config)
{
	if (READ_ONCE(run->status.state) == RTSCOPE_STATE_RUNNING)
		return -EBUSY;
	wire_run_reset(run);
	run->config = *config;
	run->random = config->seed;
	if (ring_alloc(&run->ring, config->ring_records, sizeof(struct rtscope_wire_event)))
		return -ENOMEM;
	run->configured = true;
	return 0;
}

/* Runs on the timer's CPU, with interrupts off. */
static void start_here(void *data)
{
	struct wire_run *run = data;

	raw_spin_lock(&wire_lock);
	/*
	 * The first stimulus must change the level that the DUT answers with: otherwise its first
	 * answer would be no edge, and count as missed.
	 */
	run->now.level = wire_level(RTSCOPE_WIRE_ANSWER);
	wire_level_force(RTSCOPE_WIRE_STIMULUS, run->now.level);
	run->status.cpu = smp_processor_id();
	run->next = ktime_get_ns() + run->config.start_delay_ns;
	run->status.started_ns = run->next;
	run->status.state = RTSCOPE_STATE_RUNNING;
	raw_spin_unlock(&wire_lock);

	if (run->config.mode == RTSCOPE_WIRE_STIMULATE)
		hrtimer_start(&run->stimulus_timer, ns_to_ktime(run->next),
			      HRTIMER_MODE_ABS_PINNED_HARD);
}

int wire_run_start(struct wire_run *run)
{
	unsigned int cpu = run->config.cpu;

	if (!run->configured)
		return -EINVAL;
	/* Each configuration starts one run. */
	run->configured = false;
	if (cpu == RTSCOPE_CPU_ANY)
		cpu = raw_smp_processor_id();
	return smp_call_function_single(cpu, start_here, run, true);
}

void wire_run_stop(struct wire_run *run)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&wire_lock, flags);
	if (run->status.state == RTSCOPE_STATE_RUNNING)
		wire_run_end(run);
	raw_spin_unlock_irqrestore(&wire_lock, flags);

	hrtimer_cancel(&run->stimulus_timer);
	hrtimer_cancel(&run->answer_timer);
	irq_work_sync(&run->wake);
}

void wire_run_reset(struct wire_run *run)
{
	unsigned long flags;

	wire_run_stop(run);
	ring_free(&run->ring);

	raw_spin_lock_irqsave(&wire_lock, flags);
	memset(&run->config, 0, sizeof(run->config));
	memset(&run->status, 0, sizeof(run->status));
	memset(&run->now, 0, sizeof(run->now));
	memset(&run->before, 0, sizeof(run->before));
	run->configured = false;
	raw_spin_unlock_irqrestore(&wire_lock, flags);
}

void wire_run_status(struct wire_run *run, struct rtscope_wire_status *status)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&wire_lock, flags);
	*status = run->status;
	status->open = run->now.fate == WIRE_OPEN;
	status->records = run->ring.seq;
	status->lost = run->ring.lost;
	status->unread = ring_unread(&run->ring);
	status->now_ns = ktime_get_ns();
	raw_spin_unlock_irqrestore(&wire_lock, flags);
	status->abi = RTSCOPE_ABI;
	status->wires = wire_chip_wires();
}

bool wire_run_ended(struct wire_run *run)
{
	/* Pairs with the release in wire_run_end(). */
	return smp_load_acquire(&run->status.state) == RTSCOPE_STATE_DONE;
}

bool wire_run_readable(struct wire_run *run)
{
	return wire_run_ended(run) ||
	       (run->ring.records && ring_unread(&run->ring) >= run->config.wake_records);
}
