// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_wire: what becomes of an edge of the answer line, and the records of it. Edges are
 * stamped where the line is driven.
 */
#include <linux/smp.h>

#include "wire.h"

struct wire_run wire_run;

void wire_record(struct wire_run *run, struct rtscope_wire_event event)
{
	struct rtscope_wire_event *slot;

	lockdep_assert_held(&wire_lock);
	event.cpu = raw_smp_processor_id();
	slot = ring_slot(&run->ring, &event.seq);
	if (!slot)
		return;
	*slot = event;
	ring_push(&run->ring);
	/*
	 * Records come one by one, so the count hits this value exactly on its way up, and readers
	 * are woken once per batch.
	 */
	if (ring_unread(&run->ring) == run->config.wake_records)
		irq_work_queue(&run->wake);
}

static void record_stimulus(struct wire_run *run, u32 kind, const struct wire_stimulus *stimulus,
			    u64 answer, u32 flags)
{
	wire_record(run, (struct rtscope_wire_event){
		.stimulus = stimulus->number,
		.programmed_ns = stimulus->programmed,
		.stimulus_ns = stimulus->driven,
		.answer_ns = answer,
		.kind = kind,
		.level = stimulus->level,
		.count = 1,
		.flags = flags,
	});
}

static void record_edge(struct wire_run *run, u32 kind, bool level, u64 at, u32 flags)
{
	wire_record(run, (struct rtscope_wire_event){
		.answer_ns = at,
		.kind = kind,
		.level = level,
		.count = 1,
		.flags = flags,
	});
}

void wire_run_end(struct wire_run *run)
{
	struct rtscope_wire_status *status = &run->status;

	lockdep_assert_held(&wire_lock);
	status->ended_ns = ktime_get_ns();
	record_edge(run, RTSCOPE_WIRE_DONE, wire_level(RTSCOPE_WIRE_ANSWER), status->ended_ns, 0);
	/*
	 * Pairs with the acquire in wire_run_ended(): the last record is visible before the end is.
	 */
	smp_store_release(&status->state, RTSCOPE_STATE_DONE);
	irq_work_queue(&run->wake);
}

void wire_run_miss(struct wire_run *run, struct wire_stimulus *stimulus)
{
	stimulus->fate = WIRE_MISSED;
	run->status.missed++;
	record_stimulus(run, RTSCOPE_WIRE_MISSED, stimulus, 0, 0);
}

static void late(struct wire_run *run, struct wire_stimulus *stimulus, u64 at, u32 flags)
{
	/* Edges after the late answer no longer answer this stimulus. */
	stimulus->fate = WIRE_ANSWERED;
	run->status.late++;
	record_stimulus(run, RTSCOPE_WIRE_LATE, stimulus, at, flags);
}

void wire_run_edge(struct wire_run *run, bool level)
{
	u64 at = ktime_get_ns();
	u32 flags = in_hardirq() ? 0 : RTSCOPE_WIRE_EVENT_TASK;
	struct wire_stimulus *now = &run->now;

	lockdep_assert_held(&wire_lock);
	if (run->status.state != RTSCOPE_STATE_RUNNING)
		return;
	run->status.edges++;

	if (run->config.mode == RTSCOPE_WIRE_CAPTURE) {
		record_edge(run, RTSCOPE_WIRE_EDGE, level, at, flags);
		if (run->status.edges == run->config.count)
			wire_run_end(run);
		return;
	}

	if (now->fate == WIRE_OPEN && at - now->programmed > run->config.timeout_ns)
		wire_run_miss(run, now);

	if (now->fate == WIRE_OPEN && now->level == level) {
		now->fate = WIRE_ANSWERED;
		/* The line was at the other level before: an answer owed there can't come now. */
		run->before.fate = WIRE_ANSWERED;
		run->status.answered++;
		record_stimulus(run, RTSCOPE_WIRE_ANSWERED, now, at, flags);
	} else if (now->fate == WIRE_MISSED && now->level == level) {
		late(run, now, at, flags);
	} else if (run->before.fate == WIRE_MISSED && run->before.level == level) {
		late(run, &run->before, at, flags);
	} else {
		run->status.spurious++;
		record_edge(run, RTSCOPE_WIRE_SPURIOUS, level, at, flags);
	}
}
