/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rtscope_timer: the FIQ. It stamps the expiry, keeps the sample, and sets the timer to the next
 * grid point that is not past, which takes back its interrupt: nothing is acknowledged at the
 * interrupt controller, whose registers are not mapped in every process.
 *
 * r8 of FIQ mode points to struct fiq_cpu, sp to its entry; r9 to r12 are the handler's own. It runs where it was
 * copied to, so it refers to nothing outside.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>

#include "timer_fiq.h"

	.text
	.syntax	unified
	.arch	armv7-a

	.globl	rtscope_fiq_begin
	.globl	rtscope_fiq_end
	.align	3
rtscope_fiq_begin:
	@ As Linux's own entries begin: where it hardens branch prediction, these two are done already.
	sub	lr, lr, #4
	stmia	sp, {r0, lr}

	mrrc	p15, 0, r10, r11, c14		@ r11:r10: the physical counter now
	add	r9, r8, #FIQ_SAVED
	stmia	r9, {r1-r7}

	ldrd	r0, r1, [r8, #FIQ_COMPARE]	@ r1:r0: when it was due
	subs	r2, r10, r0			@ r3:r2: how late this is
	sbcs	r3, r11, r1
	bcc	4f				@ not due: its interrupt was still on the way

	@ Keeps the sample, if there is room.
	ldr	r4, [r8, #FIQ_MASK]
	ldr	r5, [r8, #FIQ_SEQ]
	ldr	r6, [r8, #FIQ_POINT]
	ldr	r9, [r8, #FIQ_HEAD]
	ldr	r12, [r8, #FIQ_TAIL]
	sub	r12, r9, r12
	cmp	r12, r4
	bhi	1f
	ldr	r7, [r8, #FIQ_SLOTS]
	and	r12, r9, r4
	add	r7, r7, r12, lsl #4
	strd	r2, r3, [r7]
	str	r6, [r7, #8]
	str	r5, [r7, #12]
	dmb	ish				@ the sample before its number
	add	r9, r9, #1
	str	r9, [r8, #FIQ_HEAD]
1:	add	r5, r5, #1
	str	r5, [r8, #FIQ_SEQ]

	@ The next point that is not past.
	ldrd	r2, r3, [r8, #FIQ_STEP]
	ldrd	r4, r5, [r8, #FIQ_STEP_FRACTION]
	ldr	r7, [r8, #FIQ_LEFT]
	ldr	r9, [r8, #(FIQ_LEFT + 4)]
2:	subs	r7, r7, #1
	sbc	r9, r9, #0
	orrs	r12, r7, r9
	beq	3f
	add	r6, r6, #1
	adds	r5, r5, r4
	adcs	r0, r0, r2
	adc	r1, r1, r3
	cmp	r10, r0
	sbcs	r12, r11, r1
	bcs	2b

	strd	r0, r1, [r8, #FIQ_COMPARE]
	str	r5, [r8, #(FIQ_STEP_FRACTION + 4)]
	str	r6, [r8, #FIQ_POINT]
	str	r7, [r8, #FIQ_LEFT]
	str	r9, [r8, #(FIQ_LEFT + 4)]
	mcrr	p15, 2, r0, r1, c14		@ the timer's compare value
	isb
	b	4f

	@ The end: the timer is off, and nothing is due any more.
3:	mov	r0, #0
	mcr	p15, 0, r0, c14, c2, 1		@ the timer's control
	isb
	str	r0, [r8, #FIQ_LEFT]
	str	r0, [r8, #(FIQ_LEFT + 4)]
	mvn	r2, #0
	mvn	r3, #0
	strd	r2, r3, [r8, #FIQ_COMPARE]
	dmb	ish				@ all samples before the end
	mov	r0, #1
	str	r0, [r8, #FIQ_ENDED]

4:	add	r9, r8, #FIQ_SAVED
	ldmia	r9, {r1-r7}
	ldr	r0, [r8, #FIQ_ENTRY]
	movs	pc, lr
rtscope_fiq_end:
