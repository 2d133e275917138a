// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_timer: a GICv2 whose interrupts are IRQs, but for one private interrupt, which is a FIQ.
 *
 * A GICv2 has two groups of interrupts, and can signal the first as FIQs. Linux leaves all in it
 * and has none signalled so. Here all go to the second group, which Linux acknowledges just the
 * same once it may (AckCtl), and the one stays behind.
 *
 * A GIC with security extensions is refused: to Linux in the non-secure world it does not show the
 * first group, and from the secure one Linux sends its own interrupts between CPUs to that group
 * alone.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/io.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>

#include "timer_fiq.h"

#define GICD_CTLR		0x000
#define GICD_TYPER		0x004
#define GICD_GROUPS		0x080	/* a bit for each interrupt */
#define GICD_PRIORITY		0x400	/* a byte for each */
#define GICD_CONFIG		0xc00	/* two bits for each */
#define GICD_TYPER_SECURITY	BIT(10)
#define GICD_CTLR_BOTH		(BIT(0) | BIT(1))

#define GICC_CTLR		0x00
#define GICC_IIDR		0xfc
#define GICC_CTLR_GROUP1	BIT(1)
#define GICC_CTLR_ACKCTL	BIT(2)
#define GICC_CTLR_FIQ		BIT(3)

/* What was so on a CPU before. */
struct before {
	u32 control;
	u32 groups;
	u8 priority;
	int err;
};

static void __iomem *distributor;
static void __iomem *interface;
static u32 control_before;
static u32 groups_before[32];
static DEFINE_PER_CPU(struct before, before);
static u32 the_ppi;
static const struct cpumask *the_cpus;
static bool parted;

static unsigned int group_words(void)
{
	return (readl_relaxed(distributor + GICD_TYPER) & 0x1f) + 1;
}

/* What all CPUs have in common: the interrupts of devices, and which groups there are. */
static void part_shared(void)
{
	unsigned int word;

	control_before = readl_relaxed(distributor + GICD_CTLR);
	for (word = 1; word < group_words(); word++) {
		groups_before[word] = readl_relaxed(distributor + GICD_GROUPS + 4 * word);
		writel(~0, distributor + GICD_GROUPS + 4 * word);
	}
	writel(control_before | GICD_CTLR_BOTH, distributor + GICD_CTLR);
}

static void join_shared(void)
{
	unsigned int word;

	for (word = 1; word < group_words(); word++)
		writel(groups_before[word], distributor + GICD_GROUPS + 4 * word);
	writel(control_before, distributor + GICD_CTLR);
}

int gic_find(void)
{
	static const struct of_device_id known[] = {
		{ .compatible = "arm,cortex-a15-gic" },
		{ .compatible = "arm,cortex-a7-gic" },
		{ .compatible = "arm,gic-400" },
		{}
	};
	struct device_node *node = of_find_matching_node(NULL, known);

	if (!node) {
		pr_info("no GICv2: no interrupt can be made a FIQ\n");
		return -EOPNOTSUPP;
	}
	distributor = of_iomap(node, 0);
	interface = of_iomap(node, 1);
	of_node_put(node);
	if (!distributor || !interface) {
		gic_forget();
		return -ENOMEM;
	}
	if ((readl_relaxed(interface + GICC_IIDR) >> 16 & 0xf) != 2 ||
	    readl_relaxed(distributor + GICD_TYPER) & GICD_TYPER_SECURITY) {
		pr_info("the GIC is not a GICv2 without security extensions: no interrupt can be made a FIQ\n");
		gic_forget();
		return -EOPNOTSUPP;
	}
	return 0;
}

void gic_forget(void)
{
	if (distributor)
		iounmap(distributor);
	if (interface)
		iounmap(interface);
	distributor = NULL;
	interface = NULL;
}

/*
 * In one step, with all CPUs in it and their interrupts off: an interrupt that is being handled
 * must end in the group in which it began, or its priority would never be taken back.
 */
static int part_here(void *unused)
{
	struct before *b = this_cpu_ptr(&before);
	bool measured = cpumask_test_cpu(smp_processor_id(), the_cpus);
	u32 groups = measured ? ~BIT(the_ppi) : ~0;
	u32 edge = readl_relaxed(distributor + GICD_CONFIG + 4) >> (2 * (the_ppi - 16) + 1) & 1;
	u32 control = GICC_CTLR_GROUP1 | GICC_CTLR_ACKCTL;

	b->control = readl_relaxed(interface + GICC_CTLR);
	b->groups = readl_relaxed(distributor + GICD_GROUPS);
	b->priority = readb_relaxed(distributor + GICD_PRIORITY + the_ppi);
	writel(groups, distributor + GICD_GROUPS);
	/* Taking its level back takes the interrupt back, as the handler relies on. */
	if ((measured && edge) || readl_relaxed(distributor + GICD_GROUPS) != groups)
		b->err = -EOPNOTSUPP;
	else
		b->err = 0;
	if (measured && !b->err) {
		/* Before all others, also before one that is being handled. */
		writeb_relaxed(0, distributor + GICD_PRIORITY + the_ppi);
		control |= GICC_CTLR_FIQ;
	}
	writel(b->control | control, interface + GICC_CTLR);
	if (smp_processor_id() == cpumask_first(cpu_online_mask))
		part_shared();
	return 0;
}

static int join_here(void *unused)
{
	struct before *b = this_cpu_ptr(&before);

	writel(b->control, interface + GICC_CTLR);
	writeb_relaxed(b->priority, distributor + GICD_PRIORITY + the_ppi);
	writel(b->groups, distributor + GICD_GROUPS);
	if (smp_processor_id() == cpumask_first(cpu_online_mask))
		join_shared();
	return 0;
}

int gic_part(u32 ppi, const struct cpumask *cpus)
{
	unsigned int cpu;
	int err;

	the_ppi = ppi;
	the_cpus = cpus;
	err = stop_machine(part_here, NULL, cpu_online_mask);
	if (err)
		return err;
	parted = true;
	for_each_online_cpu(cpu)
		err = err ?: per_cpu(before, cpu).err;
	if (err) {
		pr_info("the GIC has no second group, or the timer's interrupt no level: no FIQ\n");
		gic_join();
	}
	return err;
}

void gic_join(void)
{
	if (!parted)
		return;
	stop_machine(join_here, NULL, cpu_online_mask);
	parted = false;
}
