/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin uses of QEMU. The declarations of the plugin interface are those of its version 1 (QEMU 7.2;
 * docs/devel/tcg-plugins.rst there); what else is declared here are functions of QEMU itself, which its Debian builds export.
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

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*cb)(plugin_id id, struct qemu_plugin_tb *tb));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*cb)(unsigned int cpu, void *data),
						 enum access access, void *data);
extern void qemu_plugin_reset(plugin_id id, void (*cb)(plugin_id id));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
extern void qemu_plugin_outs(const char *text);

/* QEMU's own (include/sysemu/cpu-timers.h, include/hw/core/cpu.h; GByteArray is GLib's). */
typedef struct CPUState CPUState;
typedef struct {
	uint8_t *data;
	unsigned int len;
} GByteArray;
extern __thread CPUState *current_cpu;
extern void icount_update(CPUState *cpu);
extern int64_t icount_get(void);
extern int cpu_memory_rw_debug(CPUState *cpu, uint64_t addr, void *buf, uint64_t len, bool is_write);
/* Of these each QEMU has those of its own architecture. */
#define WEAK __attribute__((weak))
extern WEAK int x86_cpu_gdb_read_register(CPUState *cpu, GByteArray *buf, int reg);
extern WEAK int aarch64_cpu_gdb_read_register(CPUState *cpu, GByteArray *buf, int reg);
extern WEAK unsigned int gt_cntfrq_period_ns(CPUState *cpu);
extern GByteArray *g_byte_array_new(void);
extern GByteArray *g_byte_array_set_size(GByteArray *array, unsigned int length);
