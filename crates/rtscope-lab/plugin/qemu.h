/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin uses of QEMU: its plugin interface (docs/devel/tcg-plugins.rst there), versions 1 (QEMU 7.2) to 4 (10.0), and
 * functions of QEMU itself (include/exec/icount.h, include/hw/core/cpu.h, gdbstub.c of the targets), which are looked up by name: a
 * QEMU that was linked without modules hides them, and is told so instead of not loading the plugin.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * RTLD_DEFAULT, which headers have only with _GNU_SOURCE. With that, a new C library's headers ask for functions that an older one has
 * not, and the plugin lies in a cache that may be moved to another system.
 */
#define EVERYWHERE NULL

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum access { NO_REGS, READ_REGS, WRITE_REGS };

struct info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};

/* The same in all these versions. */
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*cb)(plugin_id id, struct qemu_plugin_tb *tb));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*cb)(unsigned int cpu, void *data),
						 enum access access, void *data);
extern void qemu_plugin_reset(plugin_id id, void (*cb)(plugin_id id));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

typedef struct CPUState CPUState;
/* GLib's, to which QEMU is linked. */
typedef struct {
	uint8_t *data;
	unsigned int len;
} GByteArray;
extern GByteArray *g_byte_array_new(void);
extern GByteArray *g_byte_array_set_size(GByteArray *array, unsigned int length);

/* Looked up by name. */
static struct {
	void (*icount_update)(CPUState *cpu);
	int64_t (*icount_get)(void);
	int (*cpu_memory_rw_debug)(CPUState *cpu, uint64_t addr, void *buf, size_t len, bool is_write);
	/* Of its target. */
	int (*read_register)(CPUState *cpu, GByteArray *buf, int reg);
	unsigned int (*gt_cntfrq_period_ns)(CPUState *cpu);
	/* Returns the instruction up to version 2, and copies it to `to` since. */
	union {
		const void *(*v1)(const struct qemu_plugin_insn *insn);
		size_t (*v3)(const struct qemu_plugin_insn *insn, void *to, size_t most);
	} insn_data;
} qemu;

/* By the names that they have in QEMU; of `current_cpu` each of its threads has its own. */
#define current_cpu (*qemu_current_cpu())

static inline CPUState **qemu_current_cpu(void)
{
	static __thread CPUState **cpu;

	if (!cpu)
		cpu = dlsym(EVERYWHERE, "current_cpu");
	return cpu;
}

static inline void icount_update(CPUState *cpu)
{
	qemu.icount_update(cpu);
}

static inline int64_t icount_get(void)
{
	return qemu.icount_get();
}

static inline int cpu_memory_rw_debug(CPUState *cpu, uint64_t addr, void *buf, size_t len, bool is_write)
{
	return qemu.cpu_memory_rw_debug(cpu, addr, buf, len, is_write);
}

static inline unsigned int gt_cntfrq_period_ns(CPUState *cpu)
{
	return qemu.gt_cntfrq_period_ns(cpu);
}
