// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_timer: the handler where the CPU's FIQ vector leads.
 *
 * set_fiq_handler() writes over Linux's own entry of FIQs. Where Linux hardens branch prediction
 * (Spectre-BHB), the vector leads to a prelude of that entry: one instruction before it, or a loop
 * elsewhere that does its first two instructions and goes on at the third. So the handler begins
 * with these two as well.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <asm/fiq.h>

#include "timer_fiq.h"

/* The vectors, eight words; on the page behind them is what they lead to. */
#define VECTORS			0xffff0000UL
#define VECTORS_END		(VECTORS + 2 * PAGE_SIZE)
#define FIQ_VECTOR		7
/* Longest prelude, instructions. */
#define PRELUDE			16

static struct fiq_handler owner = { .name = KBUILD_MODNAME };
static u8 *before;			/* what was where set_fiq_handler() writes; NULL: not ours */
static size_t length;

static u32 word_at(unsigned long at)
{
	return READ_ONCE(*(u32 *)at);
}

/* Where the branch there leads; 0 if there is none. */
static unsigned long led_from(unsigned long at)
{
	u32 word = word_at(at);

	return word >> 24 == 0xea ? at + 8 + sign_extend32(word, 23) * 4 : 0;
}

static unsigned long led_to(unsigned int vector)
{
	return led_from(VECTORS + 4 * vector);
}

/* Whether an entry leads to what is written at a place, at its first or its third instruction. */
static bool reaches(unsigned long entry, unsigned long place)
{
	unsigned int i;

	if (entry == place || entry + 4 == place)
		return true;
	for (i = 0; entry >= VECTORS && entry < VECTORS_END - 4 * PRELUDE && i < PRELUDE; i++) {
		if (led_from(entry + 4 * i) == place + 8)
			return true;
	}
	return false;
}

/* Where set_fiq_handler() writes; 0 if that is not behind the vectors. FIQ must be claimed. */
static unsigned long written_place(void)
{
	u32 *all = kmemdup((void *)VECTORS, VECTORS_END - VECTORS, GFP_KERNEL);
	const u32 probe = 0xe7ffdef1;	/* is no instruction, so it is in no entry */
	unsigned long at;

	if (!all)
		return 0;
	/* No FIQ comes yet, so that it may be anything for a moment. */
	set_fiq_handler((void *)&probe, sizeof(probe));
	for (at = VECTORS; at < VECTORS_END; at += 4) {
		u32 *was = &all[(at - VECTORS) / 4];

		if (word_at(at) != *was) {
			set_fiq_handler(was, sizeof(*was));
			break;
		}
	}
	kfree(all);
	return at < VECTORS_END ? at : 0;
}

/* Whether another exception than FIQ enters there. */
static bool others_enter(unsigned long from, unsigned long to)
{
	unsigned int vector;

	for (vector = 0; vector < FIQ_VECTOR; vector++) {
		unsigned long entry = led_to(vector);

		if (entry >= from && entry < to)
			return true;
	}
	return false;
}

static int put(void)
{
	unsigned long entry = led_to(FIQ_VECTOR), place = written_place();

	length = rtscope_fiq_end - rtscope_fiq_begin;
	if (!place || !reaches(entry, place) || place + length > VECTORS_END ||
	    others_enter(place, place + length)) {
		pr_info("the FIQ vector leads to %#lx, a handler is written to %#lx: it can't be reached\n",
			entry, place);
		return -EOPNOTSUPP;
	}
	before = kmemdup((void *)place, length, GFP_KERNEL);
	if (!before)
		return -ENOMEM;
	set_fiq_handler((void *)rtscope_fiq_begin, length);
	return 0;
}

int vector_take(void)
{
	int err = claim_fiq(&owner);

	if (err)
		return err;
	err = put();
	if (err)
		release_fiq(&owner);
	return err;
}

void vector_give_back(void)
{
	if (!before)
		return;
	set_fiq_handler(before, length);
	kfree(before);
	before = NULL;
	release_fiq(&owner);
}
