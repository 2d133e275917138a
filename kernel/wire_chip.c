// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_wire: a GPIO chip without hardware, whose outputs are wired to inputs with edge
 * interrupts. It is self-contained, as distributions' kernels have neither GPIO_SIM nor IRQ_SIM.
 */
#define pr_fmt(fmt) "rtscope_wire: " fmt

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/gpio/driver.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "compat.h"
#include "wire.h"

static const char *names[WIRE_LINES_MAX];
static DECLARE_BITMAP(pending, WIRE_LINES_MAX);
static struct gpio_chip chip;
static struct irq_work deliver;
static struct hrtimer deliver_timer;
static struct platform_device *parent;

/* Offset 0 is the stimulus, an input; from offset 1 on, outputs and inputs alternate. */
static bool is_input(unsigned int offset)
{
	return offset == RTSCOPE_WIRE_STIMULUS || (offset > RTSCOPE_WIRE_ANSWER && offset % 2);
}

unsigned int wire_chip_wires(void)
{
	return (chip.ngpio - 2) / 2;
}

static void deliver_all(void)
{
	unsigned int offset;

	for_each_set_bit(offset, pending, WIRE_LINES_MAX)
		if (test_and_clear_bit(offset, pending))
			generic_handle_domain_irq(chip.irq.domain, offset);
}

static void deliver_work(struct irq_work *work)
{
	deliver_all();
}

static enum hrtimer_restart deliver_expired(struct hrtimer *timer)
{
	deliver_all();
	return HRTIMER_NORESTART;
}

/*
 * Whether irq_work raises an interrupt of its own. If not, it waits for the next tick:
 * milliseconds, which no real wire takes.
 */
static bool work_interrupts(void)
{
#ifdef CONFIG_ARM
	/* There, the kernel's answer is in a variable that modules can't see. */
	return num_possible_cpus() > 1;
#else
	return arch_irq_work_has_interrupt();
#endif
}

/* Delivers an edge by an interrupt of its own. */
static void deliver_soon(unsigned int offset)
{
	set_bit(offset, pending);
	if (work_interrupts())
		irq_work_queue(&deliver);
	else
		hrtimer_start(&deliver_timer, 0, HRTIMER_MODE_REL_HARD);
}

void wire_interrupt(unsigned int offset)
{
	if (in_hardirq())
		generic_handle_domain_irq(chip.irq.domain, offset);
	else
		deliver_soon(offset);
}

static int chip_get(struct gpio_chip *gc, unsigned int offset)
{
	return READ_ONCE(wire_lines[offset].level);
}

static int chip_set(struct gpio_chip *gc, unsigned int offset, int value)
{
	bool level = value;
	bool due = false;
	unsigned long flags;

	if (is_input(offset))
		return -EOPNOTSUPP;

	raw_spin_lock_irqsave(&wire_lock, flags);
	if (wire_lines[offset].level != level) {
		wire_lines[offset].level = level;
		if (offset == RTSCOPE_WIRE_ANSWER)
			wire_run_edge(&wire_run, level);
		else
			due = wire_input_edge(offset + 1, level);
	}
	raw_spin_unlock_irqrestore(&wire_lock, flags);

	if (due)
		wire_interrupt(offset + 1);
	return 0;
}

#if RTSCOPE_GPIO_SET_VOID
static void chip_set_void(struct gpio_chip *gc, unsigned int offset, int value)
{
	chip_set(gc, offset, value);
}
#endif

static int chip_get_direction(struct gpio_chip *gc, unsigned int offset)
{
	return is_input(offset) ? GPIO_LINE_DIRECTION_IN : GPIO_LINE_DIRECTION_OUT;
}

static int chip_direction_input(struct gpio_chip *gc, unsigned int offset)
{
	return is_input(offset) ? 0 : -EOPNOTSUPP;
}

static int chip_direction_output(struct gpio_chip *gc, unsigned int offset, int value)
{
	return chip_set(gc, offset, value);
}

static void chip_irq_valid(struct gpio_chip *gc, unsigned long *valid, unsigned int ngpios)
{
	unsigned int offset;

	bitmap_zero(valid, ngpios);
	for (offset = 0; offset < ngpios; offset++)
		if (is_input(offset))
			__set_bit(offset, valid);
}

/* handle_edge_irq() acknowledges every edge; there is no hardware to tell. */
static void chip_irq_ack(struct irq_data *data)
{
}

static void chip_irq_mask(struct irq_data *data)
{
	irq_hw_number_t offset = irqd_to_hwirq(data);
	unsigned long flags;

	raw_spin_lock_irqsave(&wire_lock, flags);
	wire_lines[offset].enabled = false;
	raw_spin_unlock_irqrestore(&wire_lock, flags);
	gpiochip_disable_irq(&chip, offset);
}

static void chip_irq_unmask(struct irq_data *data)
{
	irq_hw_number_t offset = irqd_to_hwirq(data);
	unsigned long flags;
	bool due;

	gpiochip_enable_irq(&chip, offset);
	raw_spin_lock_irqsave(&wire_lock, flags);
	wire_lines[offset].enabled = true;
	due = wire_lines[offset].latched;
	wire_lines[offset].latched = false;
	raw_spin_unlock_irqrestore(&wire_lock, flags);

	/* Never delivered here: the caller holds the interrupt's own lock. */
	if (due)
		deliver_soon(offset);
}

static int chip_irq_set_type(struct irq_data *data, unsigned int type)
{
	irq_hw_number_t offset = irqd_to_hwirq(data);
	unsigned long flags;

	if (type & ~IRQ_TYPE_EDGE_BOTH)
		return -EINVAL;
	raw_spin_lock_irqsave(&wire_lock, flags);
	wire_lines[offset].edges = type;
	wire_lines[offset].latched = false;
	raw_spin_unlock_irqrestore(&wire_lock, flags);
	return 0;
}

static const struct irq_chip irq_chip = {
	.name = RTSCOPE_WIRE_LABEL,
	.irq_ack = chip_irq_ack,
	.irq_mask = chip_irq_mask,
	.irq_unmask = chip_irq_unmask,
	.irq_set_type = chip_irq_set_type,
	.flags = IRQCHIP_IMMUTABLE,
	GPIOCHIP_IRQ_RESOURCE_HELPERS,
};

static void free_names(void)
{
	unsigned int offset;

	for (offset = 0; offset < WIRE_LINES_MAX; offset++) {
		kfree(names[offset]);
		names[offset] = NULL;
	}
}

static int make_names(unsigned int ngpio)
{
	unsigned int offset;

	for (offset = 0; offset < ngpio; offset++) {
		if (offset == RTSCOPE_WIRE_STIMULUS)
			names[offset] = kstrdup("rtscope-stimulus", GFP_KERNEL);
		else if (offset == RTSCOPE_WIRE_ANSWER)
			names[offset] = kstrdup("rtscope-answer", GFP_KERNEL);
		else
			names[offset] = kasprintf(GFP_KERNEL, "rtscope-%s%u",
						  is_input(offset) ? "in" : "out", offset / 2 - 1);
		if (!names[offset]) {
			free_names();
			return -ENOMEM;
		}
	}
	return 0;
}

int wire_chip_add(unsigned int wires)
{
	int err = make_names(2 + 2 * wires);

	if (err)
		return err;
	parent = platform_device_register_simple(RTSCOPE_WIRE_LABEL, PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(parent)) {
		err = PTR_ERR(parent);
		goto no_parent;
	}

	deliver = IRQ_WORK_INIT_HARD(deliver_work);
	hrtimer_setup(&deliver_timer, deliver_expired, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	chip = (struct gpio_chip){
		.label = RTSCOPE_WIRE_LABEL,
		.parent = &parent->dev,
		.owner = THIS_MODULE,
		.base = -1,
		.ngpio = 2 + 2 * wires,
		.names = names,
		.get_direction = chip_get_direction,
		.direction_input = chip_direction_input,
		.direction_output = chip_direction_output,
		.get = chip_get,
#if RTSCOPE_GPIO_SET_VOID
		.set = chip_set_void,
#else
		.set = chip_set,
#endif
	};
	gpio_irq_chip_set_chip(&chip.irq, &irq_chip);
	chip.irq.handler = handle_edge_irq;
	chip.irq.default_type = IRQ_TYPE_NONE;
	chip.irq.init_valid_mask = chip_irq_valid;

	err = gpiochip_add_data(&chip, NULL);
	if (!err)
		return 0;
	pr_err("the GPIO chip could not be added: %d\n", err);
	platform_device_unregister(parent);
no_parent:
	free_names();
	return err;
}

void wire_chip_remove(void)
{
	irq_work_sync(&deliver);
	hrtimer_cancel(&deliver_timer);
	gpiochip_remove(&chip);
	platform_device_unregister(parent);
	free_names();
}
