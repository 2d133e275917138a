/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for a QEMU whose plugin interface has version API, for a test of the plugin where there is no such QEMU: loads it with the
 * arguments that it was given, and has it translate and execute some blocks. With HIDE one function can't be seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

typedef struct CPUState CPUState;
typedef struct { uint8_t *data; unsigned int len; } GByteArray;
typedef void (*translates)(uint64_t id, void *tb);
typedef void (*executes)(unsigned int cpu, void *data);
struct info { const char *target; struct { int min, cur; } version; bool system; struct { int smp, max; } cpus; };

/* The guest: a block at a time, and what is in its memory. */
enum { SLEEP = 0x5000, PER_CPU = 0x6000, BASE = 0x1000, CURRENT = 0x10, TASK = 0x7000, PID = 0x20 };
struct insn { uint8_t code[3]; size_t size; };
struct tb { uint64_t pc; size_t n; struct insn last; size_t cbs; executes cb[2]; void *data[2]; };
static uint64_t expiry;
static int64_t time_now;
static translates on_translation;

__thread CPUState *current_cpu;

void icount_update(CPUState *cpu) { CHECK(cpu == current_cpu); }
#ifndef HIDE
int64_t icount_get(void) { CHECK(!current_cpu); return time_now; }
#endif

int cpu_memory_rw_debug(CPUState *cpu, uint64_t at, void *to, size_t size, bool is_write)
{
	uint64_t value = at == PER_CPU ? BASE : at == BASE + CURRENT ? TASK : at == TASK + PID ? 7 : 0;

	CHECK(cpu == current_cpu && !is_write);
	memset(to, 0, size);
	memcpy(to, &value, size < 8 ? size : 8);
	return 0;
}

int x86_cpu_gdb_read_register(CPUState *cpu, GByteArray *to, int number)
{
	CHECK(cpu == current_cpu && to->len == 0);
	to->len = 8;
	memset(to->data, 0, 8);
	if (number == 5)	/* the first argument of a call */
		memcpy(to->data, &expiry, 8);
	return 8;
}

GByteArray *g_byte_array_new(void) { GByteArray *a = calloc(1, sizeof(*a)); a->data = malloc(16); return a; }
GByteArray *g_byte_array_set_size(GByteArray *a, unsigned int length) { a->len = length; return a; }

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translates cb) { CHECK(id == 9); on_translation = cb; }
void qemu_plugin_register_vcpu_tb_exec_cb(struct tb *tb, executes cb, int access, void *data)
{
	CHECK(access == 1 && tb->cbs < 2);	/* may read registers */
	tb->cb[tb->cbs] = cb;
	tb->data[tb->cbs++] = data;
}
void qemu_plugin_reset(uint64_t id, void (*cb)(uint64_t id)) { on_translation = NULL; cb(id); }
size_t qemu_plugin_tb_n_insns(const struct tb *tb) { return tb->n; }
uint64_t qemu_plugin_tb_vaddr(const struct tb *tb) { return tb->pc; }
const struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t i) { CHECK(i == tb->n - 1); return &tb->last; }
size_t qemu_plugin_insn_size(const struct insn *insn) { return insn->size; }
#if API >= 3
size_t qemu_plugin_insn_data(const struct insn *insn, void *to, size_t most)
{
	size_t n = insn->size < most ? insn->size : most;

	memcpy(to, insn->code, n);
	return n;
}
#else
const void *qemu_plugin_insn_data(const struct insn *insn) { return insn->code; }
#endif
#if API >= 2
void *qemu_plugin_scoreboard_new(size_t size) { return calloc(1, size); }
#endif
#if API >= 4
bool qemu_plugin_read_memory_vaddr(uint64_t at, GByteArray *to, size_t size) { (void)at, (void)to, (void)size; return false; }
#endif

static void run(uint64_t pc, size_t n, struct insn last, int64_t waits)
{
	struct tb tb = { .pc = pc, .n = n, .last = last };

	if (on_translation)
		on_translation(9, &tb);
	time_now += (int64_t)n;
	for (size_t i = 0; i < tb.cbs; i++)
		tb.cb[i](0, tb.data[i]);
	time_now += waits;
}

static const struct insn nop = { { 0x90 }, 1 }, rdtsc = { { 0x0f, 0x31 }, 2 }, rdtscp = { { 0x0f, 0x01, 0xf9 }, 3 }, hlt = { { 0xf4 }, 1 },
			 mwait = { { 0x0f, 0x01, 0xc9 }, 3 };

int main(int argc, char **argv)
{
	struct info info = { .target = "x86_64", .version = { API < 2 ? 0 : 2, API }, .system = true, .cpus = { 1, 1 } };
	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*install)(uint64_t, const struct info *, int, char **);
	int *version;

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	version = dlsym(plugin, "qemu_plugin_version");
	*(void **)&install = dlsym(plugin, "qemu_plugin_install");
	CHECK(version && install);
	/* As QEMU does. */
	if (*version < info.version.min || *version > info.version.cur) {
		fprintf(stderr, "the plugin is of version %d, this has %d to %d\n", *version, info.version.min, info.version.cur);
		return 1;
	}
	if (install(9, &info, argc - 2, argv + 2))
		return 1;
	CHECK(on_translation);
	current_cpu = (CPUState *)&time_now;
	run(0x400, 3, nop, 0);			/* before the window */
	expiry = 1000;
	run(SLEEP, 5, nop, 0);			/* its begin */
	run(0x410, 4, nop, 0);
	run(0x420, 2, hlt, 500);
	run(0x430, 2, mwait, 300);
	run(0x440, 6, rdtsc, 0);
	run(0x450, 7, rdtscp, 0);
	expiry = 2000;
	run(SLEEP, 5, nop, 0);			/* its end */
	run(0x460, 3, nop, 0);			/* after it */
	return 0;
}
