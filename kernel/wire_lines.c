// SPDX-License-Identifier: GPL-2.0
/* rtscope_wire: the levels of the lines, and which edges are to interrupt. */
#include <linux/irq.h>

#include "wire.h"

DEFINE_RAW_SPINLOCK(wire_lock);

struct wire_line wire_lines[WIRE_LINES_MAX];

bool wire_level(unsigned int offset)
{
	lockdep_assert_held(&wire_lock);
	return wire_lines[offset].level;
}

void wire_level_force(unsigned int offset, bool level)
{
	lockdep_assert_held(&wire_lock);
	wire_lines[offset].level = level;
}

bool wire_input_edge(unsigned int offset, bool level)
{
	struct wire_line *line = &wire_lines[offset];

	lockdep_assert_held(&wire_lock);
	if (line->level == level)
		return false;
	line->level = level;
	if (!(line->edges & (level ? IRQ_TYPE_EDGE_RISING : IRQ_TYPE_EDGE_FALLING)))
		return false;
	/* As in hardware: one edge is latched until the interrupt is unmasked. */
	if (!line->enabled)
		line->latched = true;
	return line->enabled;
}
