/* SPDX-License-Identifier: GPL-2.0 */
/* The memory that the FIQ of a CPU and the rest of rtscope_timer share, for C and assembly. */
#ifndef RTSCOPE_TIMER_FIQ_H
#define RTSCOPE_TIMER_FIQ_H

/* Offsets in struct fiq_cpu, bytes. */
#define FIQ_COMPARE		0
#define FIQ_LEFT		8
#define FIQ_STEP		16
#define FIQ_STEP_FRACTION	24
#define FIQ_POINT		32
#define FIQ_SEQ			36
#define FIQ_HEAD		40
#define FIQ_TAIL		44
#define FIQ_MASK		48
#define FIQ_SLOTS		52
#define FIQ_ENDED		56
#define FIQ_ENTRY		64
#define FIQ_SAVED		72

#ifndef __ASSEMBLER__

#include <linux/cpumask.h>
#include <linux/types.h>

/* A sample as the FIQ leaves it: 16 bytes. */
struct fiq_sample {
	u64 late;			/* ticks from the point to the handler's first look at the counter */
	u32 point;			/* number of the grid point, modulo 2^32 */
	u32 seq;			/* number of the sample, modulo 2^32; a gap: lost */
};

/*
 * The FIQ's state on one CPU. It is in the linear map, as its samples are: that is mapped whatever
 * process the FIQ finds, and an abort in FIQ mode would be the end.
 */
struct fiq_cpu {
	u64 compare;			/* when the next point is due, ticks; at the end: never */
	u64 left;			/* points that are not past, with the next one */
	u64 step;			/* from point to point, ticks */
	u32 step_fraction;		/* the same, 2^-32 ticks */
	u32 fraction;			/* of compare, 2^-32 ticks */
	u32 point;			/* number of the next point */
	u32 seq;			/* number of the next sample */
	u32 head;			/* samples written */
	u32 tail;			/* samples fetched */
	u32 mask;			/* room for samples, less 1 */
	struct fiq_sample *slots;
	u32 ended;
	u32 reserved;
	u32 entry[2];			/* r0 of whom the FIQ interrupts, and where it returns to */
	u32 saved[7];			/* r1 to r7 */
	/* Of fiq_fetch() alone. */
	u64 points;			/* grid points before the last fetched sample's, with it */
	u32 fetched;			/* number of the next sample to fetch */
};

/* The handler, between these. It is copied to where the vectors lead. */
extern const char rtscope_fiq_begin[], rtscope_fiq_end[];

/*
 * Puts the handler there. EBUSY where somebody else has FIQ, EOPNOTSUPP where the vector leads to
 * no place that can be written.
 */
int vector_take(void);
/* Makes that place as it was before. */
void vector_give_back(void);

/* The interrupt controller, if it is one whose interrupts can be parted into FIQs and IRQs. */
int gic_find(void);
void gic_forget(void);

/* Makes the private interrupt ppi of these CPUs a FIQ and all other interrupts IRQs. */
int gic_part(u32 ppi, const struct cpumask *cpus);
/* Makes all as it was before. */
void gic_join(void);

#endif /* __ASSEMBLER__ */

#endif /* RTSCOPE_TIMER_FIQ_H */
