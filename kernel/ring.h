/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring of fixed-size records from one writer, in any context, to one reader that never delays
 * the writer. A record that finds no room is lost and counted; gaps in the records' numbers show
 * where.
 *
 * The callers serialize writers among each other, and readers among each other.
 */
#ifndef RTSCOPE_RING_H
#define RTSCOPE_RING_H

#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define RING_RECORDS_DEFAULT	16384
#define RING_RECORDS_MIN	64
#define RING_RECORDS_MAX	BIT(20)

struct ring {
	void *slots;
	u32 size;		/* of a record, bytes */
	u32 records;		/* capacity; a power of two */
	u32 head;		/* records written, modulo 2^32 */
	u32 tail;		/* records read, modulo 2^32 */
	u64 seq;		/* number of the next record */
	u64 lost;
};

static inline bool ring_records_valid(u32 records)
{
	return is_power_of_2(records) && records >= RING_RECORDS_MIN &&
	       records <= RING_RECORDS_MAX;
}

/* All memory is allocated and zeroed at the start: writing never faults. */
static inline int ring_alloc(struct ring *ring, u32 records, u32 size)
{
	void *slots = vzalloc(array_size(records, size));

	if (!slots)
		return -ENOMEM;
	*ring = (struct ring){ .slots = slots, .size = size, .records = records };
	return 0;
}

static inline void ring_free(struct ring *ring)
{
	vfree(ring->slots);
	*ring = (struct ring){};
}

/* Number of records that wait for the reader. */
static inline u32 ring_unread(const struct ring *ring)
{
	/* Pairs with the release in ring_push(): the records are written. */
	return smp_load_acquire(&ring->head) - READ_ONCE(ring->tail);
}

/*
 * Returns the slot for the next record, whose number is *seq; NULL if the record is lost.
 * ring_push() then publishes it.
 */
static inline void *ring_slot(struct ring *ring, u64 *seq)
{
	/* Pairs with the release in ring_read(): the reader is done with the slot. */
	u32 used = ring->head - smp_load_acquire(&ring->tail);

	*seq = ring->seq;
	WRITE_ONCE(ring->seq, *seq + 1);
	if (used == ring->records) {
		WRITE_ONCE(ring->lost, ring->lost + 1);
		return NULL;
	}
	return ring->slots + (size_t)(ring->head & (ring->records - 1)) * ring->size;
}

static inline void ring_push(struct ring *ring)
{
	/* Pairs with the acquire in ring_unread(). */
	smp_store_release(&ring->head, ring->head + 1);
}

/* Copies whole records, as many as fit into len bytes. Returns the bytes copied, or -EFAULT. */
static inline ssize_t ring_read(struct ring *ring, char __user *to, size_t len)
{
	size_t want = min_t(size_t, ring_unread(ring), len / ring->size);
	size_t done = 0;

	while (done < want) {
		u32 at = ring->tail & (ring->records - 1);
		size_t n = min_t(size_t, want - done, ring->records - at);

		if (copy_to_user(to + done * ring->size, ring->slots + (size_t)at * ring->size,
				 n * ring->size))
			return done ? (ssize_t)(done * ring->size) : -EFAULT;
		/* Pairs with the acquire in ring_slot(). */
		smp_store_release(&ring->tail, ring->tail + (u32)n);
		done += n;
	}
	return done * ring->size;
}

#endif /* RTSCOPE_RING_H */
