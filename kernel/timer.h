/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of rtscope_timer share: the measurement of a CPU, and what its FIQ can be told. */
#ifndef RTSCOPE_TIMER_H
#define RTSCOPE_TIMER_H

#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/kconfig.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "ring.h"
#include "rtscope.h"

struct fiq_cpu;

/* The measurement of one CPU. */
struct sampler {
	raw_spinlock_t lock;		/* between the timer and readers of the counts */
	struct hrtimer timer;
	struct ring ring;
	unsigned int cpu;
	u32 passed;			/* missed since the last record */
	bool ended;
	struct rtscope_timer_status counts;
	struct fiq_cpu *fiq;		/* NULL: an hrtimer measures */
};

/* FIQs are those of 32-bit Arm; the timer that raises them is the architecture's. */
#if IS_ENABLED(CONFIG_FIQ) && IS_ENABLED(CONFIG_ARM_ARCH_TIMER) && \
	!IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) && !IS_ENABLED(CONFIG_THUMB2_KERNEL)

/* 0 if this machine has a timer whose interrupt can be taken as a FIQ; else EOPNOTSUPP. */
int fiq_possible(void);

/* Memory for a sampler's FIQ, which gets at least half of ring_records. Undone by fiq_free(). */
int fiq_alloc(struct sampler *s, u32 ring_records);
void fiq_free(struct sampler *s);

/*
 * Takes FIQ, timer and interrupt controller, and starts the samplers' grids; *started_ns is the
 * first point of the first. EBUSY where somebody else has one of them, ENXIO for a CPU that is
 * offline. No CPU goes on- or offline before fiq_stop(), which gives all of it back.
 */
int fiq_start(struct sampler *samplers, unsigned int n,
	      const struct rtscope_timer_config *config, u64 *started_ns);
void fiq_stop(void);

/* Ends all grids; points for which no FIQ came are missed. */
void fiq_give_up(void);

/* Whether all points of the sampler's grid are past. */
bool fiq_ended(const struct sampler *s);

/* How many samples fiq_fetch() has not fetched yet, and for how many there is room. */
u32 fiq_unread(const struct sampler *s);
u32 fiq_room(const struct sampler *s);

/*
 * Moves the FIQ's samples into the sampler's ring, as far as there is room, and counts them. After
 * the run (over), also what came to nothing is counted.
 */
void fiq_fetch(struct sampler *s, const struct rtscope_timer_config *config, u64 first_ns,
	       bool over);

#else

static inline int fiq_possible(void)
{
	return -EOPNOTSUPP;
}

static inline int fiq_alloc(struct sampler *s, u32 ring_records)
{
	return -EOPNOTSUPP;
}

static inline void fiq_free(struct sampler *s)
{
}

static inline int fiq_start(struct sampler *samplers, unsigned int n,
			    const struct rtscope_timer_config *config, u64 *started_ns)
{
	return -EOPNOTSUPP;
}

static inline void fiq_stop(void)
{
}

static inline void fiq_give_up(void)
{
}

static inline bool fiq_ended(const struct sampler *s)
{
	return true;
}

static inline u32 fiq_unread(const struct sampler *s)
{
	return 0;
}

static inline u32 fiq_room(const struct sampler *s)
{
	return 0;
}

static inline void fiq_fetch(struct sampler *s, const struct rtscope_timer_config *config,
			     u64 first_ns, bool over)
{
}

#endif

#endif /* RTSCOPE_TIMER_H */
