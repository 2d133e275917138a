/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's log: what its entries are (crates/rtscope-explain/src/log.rs reads them), and how they are written. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* An entry of the log, 48 bytes, little-endian as the host is. */
struct entry {
	uint64_t at;		/* virtual ns */
	uint64_t pc;		/* of kind BLOCK; else what the kind says */
	uint64_t sp;
	uint64_t task;
	uint32_t insns;
	uint32_t preempt;
	uint32_t flags;		/* INTERRUPTS_ON, as in EFLAGS */
	uint16_t kind;
	uint16_t cpu;
};
enum kind {
	BLOCK = 1,
	OPEN = 2,		/* pc: the expiry of the sleep that begins, CLOCK_MONOTONIC ns; insns: length of the counter's tick, ns */
	CLOSE = 3,		/* what belongs to that sleep is over */
	CLOCK = 4,		/* the counter that is the kernel's clock is read; at: virtual ns */
	TIMEKEEPER = 5,		/* insns: bytes that follow, padded to entries */
	FULL = 6,		/* the log was cut off here */
	TASK = 7,		/* a task that was not seen right before: pc and sp its name, insns its id, at: its stack's begin */
	STACK = 8,		/* the stack from sp on; at: the frame pointer; insns: bytes that follow, padded to entries; preempt and
				   flags: the low and high half of where a call returns to, if that is a register */
	FUNCTION = 9,		/* at: a function of a module that was loaded; pc, sp and task: the module's name; insns: bytes of the
				   function's name that follow, padded to entries */
};
/* Of `flags`, whose other bits are 0. */
enum {
	INTERRUPTS_ON = 1 << 9,
	HALTS = 1 << 30,	/* the last instruction waits for an interrupt: until then time goes on by itself */
};
/* preempt_count as it is on x86: this bit is clear when a switch is due. */
#define NO_SWITCH_DUE (UINT32_C(1) << 31)

/* The open log, and how many bytes were put into it. */
static int log_file = -1;
static uint64_t written;

static struct entry buffer[4096];
static size_t buffered;

static void write_out(void)
{
	const char *from = (const char *)buffer;
	size_t left = buffered * sizeof(buffer[0]);

	while (left) {
		ssize_t n = write(log_file, from, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(97);
		from += n;
		left -= (size_t)n;
	}
	buffered = 0;
}

static void put(const struct entry *entry)
{
	if (buffered == sizeof(buffer) / sizeof(buffer[0]))
		write_out();
	buffer[buffered++] = *entry;
	written += sizeof(*entry);
}
