// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_wire: answers that the instrument makes itself, with known delays, losses and doubles.
 * The instrument must then measure exactly what was injected.
 */
#include <linux/math64.h>
#include <linux/processor.h>

#include "compat.h"
#include "wire.h"

/*
 * An injected answer must come within some ns of its time, not whenever a timer happens to be
 * handled. So the timer is set this much earlier, and the rest is a busy-wait.
 */
#define ANSWER_LEAD_NS		(10 * NSEC_PER_USEC)

static bool every(u64 number, u32 n)
{
	u64 rest;

	if (!n)
		return false;
	div64_u64_rem(number, n, &rest);
	return !rest;
}

bool wire_inject_valid(const struct rtscope_wire_config *config)
{
	const struct rtscope_wire_inject *inject = &config->inject;
	u64 longest = max(inject->delay_ns, inject->other_delay_ns);

	switch (inject->mode) {
	case RTSCOPE_INJECT_OFF:
	case RTSCOPE_INJECT_NULL:
		return !inject->other_every && !longest && !inject->drop_every &&
		       !inject->double_every;
	case RTSCOPE_INJECT_ANSWER:
		/* The only answer timer must be free again before the next stimulus. */
		return longest <= config->interval_min_ns &&
		       config->interval_min_ns - longest >= ANSWER_LEAD_NS / 2;
	default:
		return false;
	}
}

/* The instrument's own answer to the current stimulus; called in its hard interrupt. */
static void answer_now(struct wire_run *run)
{
	const struct rtscope_wire_inject *inject = &run->config.inject;
	const struct wire_stimulus *now = &run->now;
	unsigned long flags;

	raw_spin_lock_irqsave(&wire_lock, flags);
	run->status.injected++;
	wire_level_force(RTSCOPE_WIRE_ANSWER, now->level);
	if (every(now->number, inject->drop_every)) {
		run->status.injected_dropped++;
	} else {
		wire_run_edge(run, now->level);
		if (every(now->number, inject->double_every)) {
			run->status.injected_doubled++;
			wire_run_edge(run, now->level);
		}
	}
	raw_spin_unlock_irqrestore(&wire_lock, flags);
}

static void answer_when_due(struct wire_run *run)
{
	while (ktime_get_ns() < run->answer_at)
		cpu_relax();
	answer_now(run);
}

static enum hrtimer_restart answer_fire(struct hrtimer *timer)
{
	struct wire_run *run = container_of(timer, struct wire_run, answer_timer);

	if (READ_ONCE(run->status.state) == RTSCOPE_STATE_RUNNING)
		answer_when_due(run);
	return HRTIMER_NORESTART;
}

void wire_inject(struct wire_run *run)
{
	const struct rtscope_wire_inject *inject = &run->config.inject;
	u64 delay = inject->delay_ns;

	if (inject->mode == RTSCOPE_INJECT_NULL) {
		answer_now(run);
		return;
	}
	if (every(run->now.number, inject->other_every)) {
		delay = inject->other_delay_ns;
		run->status.injected_other++;
	}
	run->answer_at = run->now.programmed + delay;
	/* If the answer is due this soon, a timer would not come earlier than a busy-wait. */
	if (run->answer_at < ktime_get_ns() + 2 * ANSWER_LEAD_NS)
		answer_when_due(run);
	else
		hrtimer_start(&run->answer_timer, ns_to_ktime(run->answer_at - ANSWER_LEAD_NS),
			      HRTIMER_MODE_ABS_PINNED_HARD);
}

void wire_inject_init(struct wire_run *run)
{
	hrtimer_setup(&run->answer_timer, answer_fire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
}
