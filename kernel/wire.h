/* SPDX-License-Identifier: GPL-2.0 */
/* Internals of rtscope_wire: the interfaces between the lines, the chip, the instrument and its device. */
#ifndef RTSCOPE_WIRE_H
#define RTSCOPE_WIRE_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "ring.h"
#include "rtscope.h"

#define WIRES_MAX	15

/*
 * Each part takes names only from those above it: lines, edges, chip and injected answers, run.
 */

/* wire_lines.c: the levels of the lines. */

#define WIRE_LINES_MAX	(2 + 2 * WIRES_MAX)

struct wire_line {
	bool level;
	bool enabled;			/* the interrupt is not masked */
	bool latched;			/* an edge came while it was masked */
	unsigned int edges;		/* IRQ_TYPE_EDGE_* that are requested */
};

/*
 * One lock for the levels of all lines and for the run: edges are stamped in the order in which
 * they happen. Raw, as it is taken in hard interrupts, on PREEMPT_RT too. Never held while an
 * interrupt is delivered.
 */
extern raw_spinlock_t wire_lock;
extern struct wire_line wire_lines[WIRE_LINES_MAX];

/* Level of a line; wire_lock held. */
bool wire_level(unsigned int offset);
/* Sets an input's level without an edge; wire_lock held. */
void wire_level_force(unsigned int offset, bool level);
/* Sets an input's level; if true, wire_interrupt() is due. wire_lock held. */
bool wire_input_edge(unsigned int offset, bool level);

/* wire_edges.c: what becomes of an edge of the answer line. */

/* A stimulus and its outcome. */
struct wire_stimulus {
	u64 number;
	u64 programmed;
	u64 driven;
	bool level;
	enum { WIRE_NONE, WIRE_OPEN, WIRE_ANSWERED, WIRE_MISSED } fate;
};

struct wire_run {
	struct rtscope_wire_config config;
	struct rtscope_wire_status status;	/* the counts; the rest is filled in on request */
	struct ring ring;
	struct hrtimer stimulus_timer;
	struct hrtimer answer_timer;
	struct irq_work wake;
	wait_queue_head_t readers;
	u64 random;
	u64 next;				/* when the next stimulus is due, or the run ends */
	u64 answer_at;				/* when the injected answer is due */
	struct wire_stimulus now;
	struct wire_stimulus before;
	bool configured;
};

extern struct wire_run wire_run;

/* The answer line has changed; wire_lock held. */
void wire_run_edge(struct wire_run *run, bool level);
/* The stimulus gets no answer any more; wire_lock held. */
void wire_run_miss(struct wire_run *run, struct wire_stimulus *stimulus);
/* Ends the run; wire_lock held. */
void wire_run_end(struct wire_run *run);
/* Adds a record for the reader; wire_lock held. */
void wire_record(struct wire_run *run, struct rtscope_wire_event event);

/* wire_chip.c: the GPIO chip. */

int wire_chip_add(unsigned int wires);
void wire_chip_remove(void);
unsigned int wire_chip_wires(void);
/* Delivers the interrupt of an input's edge; from any context, wire_lock not held. */
void wire_interrupt(unsigned int offset);

/* wire_inject.c: answers that the instrument makes itself. */

bool wire_inject_valid(const struct rtscope_wire_config *config);
void wire_inject_init(struct wire_run *run);
/* Answers the current stimulus, now or by a timer; in the interrupt that has just driven it. */
void wire_inject(struct wire_run *run);

/* wire_run.c: the instrument. */

void wire_run_init(struct wire_run *run);
int wire_run_check(struct rtscope_wire_config *config);
int wire_run_configure(struct wire_run *run, const struct rtscope_wire_config *config);
int wire_run_start(struct wire_run *run);
void wire_run_stop(struct wire_run *run);
/* Stops the run, frees the ring, and forgets the configuration. */
void wire_run_reset(struct wire_run *run);
void wire_run_status(struct wire_run *run, struct rtscope_wire_status *status);
/* Whether read() would return records or the end. */
bool wire_run_readable(struct wire_run *run);
bool wire_run_ended(struct wire_run *run);

#endif /* RTSCOPE_WIRE_H */
