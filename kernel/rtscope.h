/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ABI between rtscope's kernel modules and user space: devices, requests, records.
 *
 * All times are CLOCK_MONOTONIC in ns. Structures have the same size and offsets on 32 and 64 bit;
 * reserved fields are 0. A module refuses a request whose abi is not RTSCOPE_ABI (EPROTO), whose
 * reserved fields or unknown flags are not 0 or whose values are out of range (EINVAL), or that
 * names a CPU that is not online (ENXIO).
 */
#ifndef RTSCOPE_H
#define RTSCOPE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RTSCOPE_ABI		1

#define RTSCOPE_WIRE_DEVICE	"rtscope-wire"
#define RTSCOPE_RESPONSE_DEVICE	"rtscope-response"
#define RTSCOPE_PERIODIC_DEVICE	"rtscope-periodic"
#define RTSCOPE_TIMER_DEVICE	"rtscope-timer"

#define RTSCOPE_CPU_ANY		0xffffffffU	/* the CPU on which START is called */

/* Every device returns this. */
struct rtscope_version {
	__u32 abi;			/* RTSCOPE_ABI */
	__u32 preempt_rt;		/* 1: built for a PREEMPT_RT kernel */
	char module[24];		/* name of the module, ends with 0 */
};					/* 32 bytes */

/* State of a run. */
enum rtscope_state {
	RTSCOPE_STATE_IDLE = 0,		/* never started, or newly configured */
	RTSCOPE_STATE_RUNNING = 1,
	RTSCOPE_STATE_DONE = 2,		/* ended: read() returns what is left, then 0 */
};

/*
 * rtscope_wire: a GPIO chip (label "rtscope-wire") and the instrument on two of its lines.
 *
 *   offset 0       "rtscope-stimulus"  input for the DUT, driven by the instrument
 *   offset 1       "rtscope-answer"    output for the DUT, watched by the instrument
 *   offset 2 + 2w  "rtscope-outW"      output, wired to
 *   offset 3 + 2w  "rtscope-inW"       this input, for w = 0 .. wires - 1 (module parameter
 *                                      wires=, default 2)
 *
 * All lines can be used through the GPIO character device; directions are fixed (EOPNOTSUPP). To
 * use the instrument: CONFIGURE, START, then read() until it returns 0. Every run needs its own
 * CONFIGURE. One open file at a time (EBUSY); closing it ends the run.
 */
#define RTSCOPE_WIRE_LABEL		"rtscope-wire"
#define RTSCOPE_WIRE_STIMULUS		0
#define RTSCOPE_WIRE_ANSWER		1

enum rtscope_wire_mode {
	RTSCOPE_WIRE_STIMULATE = 0,	/* response, sustained: drives stimuli, judges answers */
	RTSCOPE_WIRE_CAPTURE = 1,	/* periodic: stamps every edge of the answer line */
};

enum rtscope_wire_inject_mode {
	RTSCOPE_INJECT_OFF = 0,		/* a DUT answers */
	RTSCOPE_INJECT_NULL = 1,	/* null wire, stimulus to answer: the instrument's share */
	RTSCOPE_INJECT_ANSWER = 2,	/* the instrument makes the answers, as described below */
};

/*
 * Answers that the instrument makes itself, to prove that it counts and times correctly. No DUT
 * should drive the answer line meanwhile: its edges would count too. Stimuli are numbered from 1;
 * "every N" means numbers N, 2N, 3N ...; 0: never. Every delay must end at least 5 us before the
 * next stimulus.
 */
struct rtscope_wire_inject {
	__u32 mode;			/* enum rtscope_wire_inject_mode */
	__u32 other_every;		/* every N-th answer comes after other_delay_ns instead */
	__u64 delay_ns;			/* from the programmed time of the stimulus to the answer */
	__u64 other_delay_ns;		/* if beyond timeout_ns, the answer is late */
	__u32 drop_every;		/* the instrument does not see every N-th answer: missed */
	__u32 double_every;		/* it sees every N-th answer twice: spurious */
};					/* 32 bytes */

struct rtscope_wire_config {
	__u32 abi;			/* RTSCOPE_ABI */
	__u32 mode;			/* enum rtscope_wire_mode */
	__u32 flags;			/* 0 */
	__u32 cpu;			/* of the stimulus timer, or RTSCOPE_CPU_ANY */
	__u64 interval_min_ns;		/* between stimuli; at least 10 us */
	__u64 interval_max_ns;		/* equal: fixed; else evenly distributed, inclusive */
	__u64 timeout_ns;		/* programmed stimulus to answer; 1 .. interval_min_ns */
	__u64 start_delay_ns;		/* from START to the first stimulus; at least 1 us */
	__u64 count;			/* stimuli (CAPTURE: edges) of the run; 0: until STOP */
	__u64 seed;			/* for the intervals: RTSCOPE_SPLITMIX_* */
	__u32 ring_records;		/* a power of two, 64 .. 2^20; 0: 16384 */
	__u32 wake_records;		/* for which read() and poll() wait; 0: half of the ring */
	struct rtscope_wire_inject inject;	/* all 0: none */
};					/* 104 bytes */

/*
 * The intervals: max - min is less than 2^32 - 1; state = seed; for the time between stimulus n
 * and n + 1 (also for a skipped one):
 *   state += STEP; z = state; z = (z ^ z >> 30) * MUL1; z = (z ^ z >> 27) * MUL2; z ^= z >> 31;
 *   interval = min + ((z >> 32) * (max - min + 1) >> 32)
 */
#define RTSCOPE_SPLITMIX_STEP	0x9e3779b97f4a7c15ULL
#define RTSCOPE_SPLITMIX_MUL1	0xbf58476d1ce4e5b9ULL
#define RTSCOPE_SPLITMIX_MUL2	0x94d049bb133111ebULL

enum rtscope_wire_kind {
	RTSCOPE_WIRE_ANSWERED = 1,	/* a stimulus and its answer, in time */
	RTSCOPE_WIRE_MISSED = 2,	/* a stimulus without an answer in time; answer_ns is 0 */
	RTSCOPE_WIRE_LATE = 3,		/* an answer after its time-out; its MISSED came before */
	RTSCOPE_WIRE_SPURIOUS = 4,	/* an edge that answers nothing; stimulus is 0 */
	RTSCOPE_WIRE_SKIPPED = 5,	/* count stimuli, from stimulus on, not driven: too late */
	RTSCOPE_WIRE_EDGE = 6,		/* CAPTURE: an edge; answer_ns is its time */
	RTSCOPE_WIRE_DONE = 7,		/* the last record of a run; answer_ns is its time */
};

#define RTSCOPE_WIRE_EVENT_TASK	0x1U	/* the answer line was not driven from a hard interrupt */

/*
 * Records from read(), which returns whole records only. The answer to a stimulus is the first
 * edge to the level of the stimulus. The latency charged to a DUT is answer_ns - programmed_ns:
 * interrupts that are off at programmed_ns delay stimulus_ns just as they would delay an interrupt
 * of real hardware. A late answer may come after the next stimulus; its level shows which stimulus
 * it belongs to. An answer that comes after two further stimuli can't be told from an answer to
 * the second of them; the stimuli for which it is too late are missed in any case.
 */
struct rtscope_wire_event {
	__u64 seq;			/* number of the record, from 0; a gap: lost by the ring */
	__u64 stimulus;			/* number of the stimulus, from 1; 0: none */
	__u64 programmed_ns;		/* when the stimulus was due */
	__u64 stimulus_ns;		/* when it was driven */
	__u64 answer_ns;		/* when the answer line changed */
	__u32 kind;			/* enum rtscope_wire_kind */
	__u32 level;			/* 1 rising, 0 falling: of the stimulus, else of the edge */
	__u32 count;			/* SKIPPED: how many; else 1 */
	__u32 cpu;			/* that saw the answer, or wrote the record */
	__u32 flags;			/* RTSCOPE_WIRE_EVENT_* */
	__u32 reserved;
};					/* 64 bytes */

/*
 * The counts add up: due = stimuli + skipped; stimuli = answered + missed + open;
 * records = delivered by read() + unread + lost.
 */
struct rtscope_wire_status {
	__u32 abi;
	__u32 state;			/* enum rtscope_state */
	__u32 cpu;			/* of the stimulus timer */
	__u32 wires;			/* pairs of lines beside stimulus and answer */
	__u64 now_ns;
	__u64 started_ns;		/* when the first stimulus was due; CAPTURE: would be */
	__u64 ended_ns;			/* 0: not yet */
	__u64 due;			/* stimuli whose time came */
	__u64 stimuli;			/* stimuli driven */
	__u64 open;			/* driven and not yet judged: 0 or 1 */
	__u64 answered;
	__u64 missed;
	__u64 late;
	__u64 spurious;
	__u64 skipped;
	__u64 edges;			/* edges of the answer line that the instrument saw */
	__u64 records;			/* records written, including lost ones */
	__u64 lost;			/* the ring was full */
	__u64 unread;
	__u64 stimulus_late_max_ns;	/* largest stimulus_ns - programmed_ns */
	__u64 injected;			/* answers that the instrument made, also dropped ones */
	__u64 injected_other;		/* those of them after other_delay_ns */
	__u64 injected_dropped;
	__u64 injected_doubled;
};					/* 176 bytes */

/*
 * rtscope_response: the DUT's task in the kernel. Loaded with in=LINE out=LINE
 * [handler=hard|threaded] [service_ns=N], where LINE is LABEL/OFFSET (label of the chip) or the
 * line's name. Answers from load to unload. Loading fails with EINVAL (a parameter), ENODEV or
 * ENOENT (no such line), EBUSY (in use), EOPNOTSUPP or ENXIO (direction, no interrupts, a chip
 * that sleeps); the kernel's log says which line and why.
 */
enum rtscope_handler {
	RTSCOPE_HANDLER_HARD = 0,	/* top half with IRQF_NO_THREAD, on every kernel */
	RTSCOPE_HANDLER_THREADED = 1,	/* the interrupt's thread (FIFO 50), on every kernel */
};

struct rtscope_response_status {
	__u32 abi;
	__u32 handler;			/* enum rtscope_handler */
	__u32 irq;
	__u32 cpu;			/* that took the last edge */
	__u64 edges;			/* times that the handler ran */
	__u64 rising;			/* answers that set 1 */
	__u64 falling;			/* answers that set 0 */
	__u64 unchanged;		/* no change since the last answer: an edge was lost */
	__u64 service_ns;		/* busy-wait before each answer, for tests */
	__u64 outside;			/* hard: runs outside a hard interrupt; must be 0 */
};					/* 64 bytes */

/*
 * rtscope_periodic: the DUT's wave in the kernel. Loaded with out=LINE [semi_period_ns=N]
 * [context=hard|soft] [cpu=N]. Toggles from load to unload, at first_ns + k * semi_period_ns.
 * Loading fails with the same errors as rtscope_response.
 */
enum rtscope_context {
	RTSCOPE_CONTEXT_HARD = 0,	/* in the timer's hard interrupt, on every kernel */
	RTSCOPE_CONTEXT_SOFT = 1,	/* in the softirq; on PREEMPT_RT in its thread */
	RTSCOPE_CONTEXT_FIQ = 2,	/* rtscope_timer on 32-bit Arm: in a FIQ */
};

struct rtscope_periodic_status {
	__u32 abi;
	__u32 context;			/* enum rtscope_context */
	__u32 cpu;
	__u32 level;			/* of the output now */
	__u64 semi_period_ns;
	__u64 first_ns;			/* when the first edge was due */
	__u64 toggles;
	__u64 missed;			/* grid points passed over; due = toggles + missed */
	__u64 late_max_ns;		/* longest delay of a callback after its grid point */
	__u64 now_ns;
};					/* 64 bytes */

/*
 * rtscope_timer: the timer test in the kernel. A pinned hrtimer on each CPU, all on one absolute
 * grid. To use it: CONFIGURE, START, then read() until it returns 0. One open file at a time
 * (EBUSY); closing it ends the run.
 *
 * By FIQ the architecture's physical timer takes the hrtimer's place, and the grid is in its ticks.
 * CONFIGURE fails with EOPNOTSUPP where a timer's interrupt can't be made a FIQ (the kernel's log
 * says why), START with EBUSY where the kernel itself has FIQ or timer. From START to the end of
 * the run no CPU goes on- or offline. Samples that are lost are not in min_ns, max_ns and sum_ns.
 */
struct rtscope_timer_config {
	__u32 abi;
	__u32 context;			/* enum rtscope_context */
	__u32 flags;			/* 0 */
	__u32 ring_records;		/* for each CPU; as in rtscope_wire_config */
	__u64 interval_ns;		/* at least 10 us */
	__u64 start_delay_ns;		/* from START to the first grid point; at least 1 us */
	__u64 count;			/* grid points of each CPU, also missed; 0: until STOP */
	__u64 distance_ns;		/* the n-th CPU's grid is n * distance_ns later; <= 1 s */
	__u32 wake_records;		/* of any CPU; as in rtscope_wire_config */
	__u32 reserved;
	__u64 cpus[16];			/* bit n % 64 of word n / 64; all 0: all online CPUs */
};					/* 184 bytes */

/* Records from read(): in order for each CPU; the CPUs' records are interleaved. */
struct rtscope_timer_event {
	__u64 seq;			/* number of this CPU's record, from 0; a gap: lost */
	__u64 expected_ns;		/* grid point */
	__u64 actual_ns;		/* clock at the start of the callback */
	__u32 cpu;
	__u32 missed;			/* grid points passed over since the previous record */
};					/* 32 bytes */

/*
 * Status of one CPU (in: cpu), or the sums over all CPUs (in: RTSCOPE_CPU_ANY). The counts add up:
 * due = samples + missed; samples = delivered by read() + unread + lost.
 */
struct rtscope_timer_status {
	__u32 abi;
	__u32 state;			/* enum rtscope_state; of the whole run */
	__u32 cpu;			/* in and out */
	__u32 cpus;			/* CPUs that take part */
	__u64 now_ns;
	__u64 started_ns;		/* first grid point */
	__u64 due;			/* grid points whose time came */
	__u64 samples;			/* callbacks */
	__u64 missed;			/* grid points passed over */
	__u64 lost;			/* the ring was full */
	__u64 unread;
	__u64 min_ns;			/* actual_ns - expected_ns over all samples, also lost */
	__u64 max_ns;
	__u64 sum_ns;
};					/* 96 bytes */

#define RTSCOPE_IOC_MAGIC	0xf7

/* For all devices. */
#define RTSCOPE_IOC_VERSION	_IOR(RTSCOPE_IOC_MAGIC, 0x00, struct rtscope_version)

#define RTSCOPE_WIRE_CONFIGURE	_IOW(RTSCOPE_IOC_MAGIC, 0x10, struct rtscope_wire_config)
#define RTSCOPE_WIRE_START	_IO(RTSCOPE_IOC_MAGIC, 0x11)
#define RTSCOPE_WIRE_STOP	_IO(RTSCOPE_IOC_MAGIC, 0x12)
#define RTSCOPE_WIRE_STATUS	_IOR(RTSCOPE_IOC_MAGIC, 0x13, struct rtscope_wire_status)

#define RTSCOPE_RESPONSE_STATUS	_IOR(RTSCOPE_IOC_MAGIC, 0x20, struct rtscope_response_status)

#define RTSCOPE_PERIODIC_STATUS	_IOR(RTSCOPE_IOC_MAGIC, 0x30, struct rtscope_periodic_status)

#define RTSCOPE_TIMER_CONFIGURE	_IOW(RTSCOPE_IOC_MAGIC, 0x40, struct rtscope_timer_config)
#define RTSCOPE_TIMER_START	_IO(RTSCOPE_IOC_MAGIC, 0x41)
#define RTSCOPE_TIMER_STOP	_IO(RTSCOPE_IOC_MAGIC, 0x42)
#define RTSCOPE_TIMER_STATUS	_IOWR(RTSCOPE_IOC_MAGIC, 0x43, struct rtscope_timer_status)

#endif /* RTSCOPE_H */
