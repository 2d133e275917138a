/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin uses of QEMU: its plugin interface (docs/devel/tcg-plugins.rst there), versions 1 (QEMU 7.2) to 4 (10.0), and
 * functions of QEMU itself (include/exec/icount.h, include/hw/core/cpu.h, gdbstub.c of the targets), which are looked up by name: a
 * QEMU that was linked without modules hides them, and is told so instead of not loading the plugin.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
