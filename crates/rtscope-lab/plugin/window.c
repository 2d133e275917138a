/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plugin for QEMU that logs what a guest executes from the moment a timer is set until its sample is over, for chosen samples: a
 * thread's sleep, or a timer of a kernel module. The guest is not changed by it: in instruction-counted time its run stays the same to
 * the last bit.
 */
#include "log.h"
#include "qemu.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which version of the interface is wanted. QEMU reads it once this file is loaded, and takes no version older than some. */
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((constructor)) static void choose_version(void)
{
	if (dlsym(EVERYWHERE, "qemu_plugin_read_memory_vaddr"))
		qemu_plugin_version = 4;
	else if (dlsym(EVERYWHERE, "qemu_plugin_scoreboard_new"))
		qemu_plugin_version = 2;
}

/* The newest version that QEMU has. */
static int version;

/*
 * What is particular to an architecture. Registers are given by gdb's numbers (gdb-xml/i386-64bit.xml, aarch64-core.xml): the stack and
 * frame pointer, the first two arguments of a call, the processor's state; and where a call returns to, if it is a register.
 */
static const struct machine {
	const char *target;
	const char *read;
	int sp, fp, first, second, state, link;
} machines[] = {
	{ "x86_64", "x86_cpu_gdb_read_register", 7, 6, 5, 4, 17, -1 },
	{ "aarch64", "aarch64_cpu_gdb_read_register", 31, 29, 0, 1, 33, 30 },
};
static const struct machine *machine;
enum { X86_64, AARCH64 };

/* Where things lie in the guest, and what is wanted; set once. */
static struct {
	uint64_t sleep;			/* hrtimer_nanosleep */
	uint64_t per_cpu;		/* __per_cpu_offset */
	uint64_t current;		/* per-CPU variable: the running task */
	uint64_t preempt;		/* preempt_count: a per-CPU variable; on Arm its offset in a task */
	uint64_t pid, comm, stack;	/* offsets in a task */
	uint64_t timekeeper, timekeeper_size;
	uint32_t thread;		/* id of the thread whose sleeps count; 0: of whoever has this name */
	uint64_t called;		/* its first 8 bytes, as they are in memory */
	/* In place of a thread's sleeps a timer's expiries: that of the module's function `callback`. */
	uint64_t start, program, init;	/* hrtimer_start_range_ns, tick_program_event, do_init_module */
	uint64_t function, expires;	/* offsets in a timer */
	uint64_t module_name, kallsyms, symtab, symbols, strtab;	/* offsets in a module, and in its kallsyms */
	const char *callback, *end;	/* MODULE:FUNCTION; a sample is over with `end`, else with the callback */
	bool patient;			/* it is over when the next one begins */
	uint64_t most;			/* of the log, bytes */
} settings;

#define WINDOWS_MAX 64
/* Expiries that are wanted, ns after the first one or after `from`; ascending. With a width the last one within it. */
static uint64_t wanted[WINDOWS_MAX], width[WINDOWS_MAX];
static unsigned int windows, done;

static plugin_id self;
static uint64_t first_expiry, latest_expiry;
static bool first_known, armed, is_translating_all;
static uint64_t last_task;
static uint32_t last_preempt;
/* The tasks of the window whose stacks were logged; more than these are not. Blocks in the kernel since the last copy of a stack. */
static uint64_t seen_tasks[256];
static unsigned int tasks_seen, since_stack;
/* A copy of the stack every so many blocks in the kernel: stacks as followed from call to call are held against them. */
enum { STACK_EVERY = 512, STACK_SIZE = 16 << 10 };
/* Of the task that runs. */
static uint64_t task_stack;
static bool task_is_new;
/* The thread whose window is open; and once it has read the clock after its wake-up, blocks that it has executed since. */
static uint64_t window_task;
static unsigned int since_read;
/* The functions' addresses, once their modules are loaded; the timer, its expiry, whether it was called back in this window. */
static uint64_t callback, end_of_sample, timer, last_expiry;
static bool called_back;
/* The next expiry, if it is known before the sample is over. */
static uint64_t pending;
/* Where the log was when the window was opened. */
static off_t opened;
static uint64_t written_before;
/* So many more are logged: it may have to read the clock again, if the kernel was just changing it. */
enum { AFTER_READ = 64 };
static GByteArray *scratch;

static uint64_t read_register(int number)
{
	uint64_t value = 0;

	g_byte_array_set_size(scratch, 0);
	if (qemu.read_register(current_cpu, scratch, number) == 8 && scratch->len >= 8)
		memcpy(&value, scratch->data, 8);
	else if (scratch->len >= 4)
		memcpy(&value, scratch->data, 4);
	return value;
}

static uint64_t read_memory(uint64_t at, size_t size)
{
	uint64_t value = 0;

	if (cpu_memory_rw_debug(current_cpu, at, &value, size, false))
		return 0;
	return value;
}

/* Virtual time now, all instructions of the present block counted. */
static uint64_t now(void)
{
	CPUState *cpu = current_cpu;
	int64_t at;

	icount_update(cpu);
	/* Else it takes the call for a device's, which may come only at the end of a block. */
	current_cpu = NULL;
	at = icount_get();
	current_cpu = cpu;
	return (uint64_t)at;
}

/* Where a CPU's variables are: since the kernel's start always there, and each read costs a walk through the guest's page tables. */
static uint64_t per_cpu_base(unsigned int cpu)
{
	enum { KNOWN = 64 };
	static uint64_t known[KNOWN];

	if (cpu >= KNOWN)
		return read_memory(settings.per_cpu + 8 * cpu, 8);
	if (!known[cpu])
		known[cpu] = read_memory(settings.per_cpu + 8 * cpu, 8);
	return known[cpu];
}

static uint64_t per_cpu(unsigned int cpu, uint64_t variable, size_t size)
{
	return read_memory(per_cpu_base(cpu) + variable, size);
}

static bool is_arm(void)
{
	return machine == &machines[AARCH64];
}

static bool is_kernel(uint64_t pc)
{
	return pc >> 63;	/* the upper half of the addresses */
}

/* Nanoseconds from one value of the counter to the next. */
static uint32_t tick(void)
{
	return is_arm() ? gt_cntfrq_period_ns(current_cpu) : 1;
}

static bool interrupts_are_on(void)
{
	uint64_t state = read_register(machine->state);

	return is_arm() ? !(state & 1 << 7) : state & INTERRUPTS_ON;
}

/* The task that runs a block; 0 if it can't be read. */
static uint64_t running_task(const struct entry *block)
{
	uint64_t task = per_cpu(block->cpu, settings.current, 8);

	if (!is_arm())
		return task;
	/* In user space the kernel may not be mapped. And the variable changes somewhat before the stack does, which is the switch. */
	if (!task || (is_kernel(block->pc) && block->sp - task_stack < STACK_SIZE))
		return last_task;
	return task;
}

/* preempt_count in the form of x86; that of the block before if it can't be read. */
static uint32_t preempt_count(const struct entry *block)
{
	uint64_t count;

	if (!is_arm())
		return (uint32_t)per_cpu(block->cpu, settings.preempt, 4);
	if (cpu_memory_rw_debug(current_cpu, block->task + settings.preempt, &count, sizeof(count), false))
		return last_preempt;
	/* Its upper half is 0 when a switch is due. */
	last_preempt = ((uint32_t)count & ~NO_SWITCH_DUE) | (count >> 32 ? NO_SWITCH_DUE : 0);
	return last_preempt;
}

/* Both, of a block. On x86 they lie side by side since 6.2 (struct pcpu_hot): one read. */
static void read_task_and_preempt(struct entry *block)
{
	uint32_t both[3];

	if (is_arm() || settings.preempt != settings.current + 8) {
		block->task = running_task(block);
		block->preempt = preempt_count(block);
		return;
	}
	if (cpu_memory_rw_debug(current_cpu, per_cpu_base(block->cpu) + settings.current, both, sizeof(both), false))
		memset(both, 0, sizeof(both));
	memcpy(&block->task, both, 8);
	block->preempt = both[2];
}

/* What is known of a block when it is translated. Never freed: QEMU may still run it. */
struct block {
	uint64_t pc;
	uint32_t insns;
	bool reads_clock;	/* its last instruction reads the counter */
	bool halts;		/* its last instruction waits for an interrupt */
};

static void put_task(uint64_t task)
{
	struct entry e = { .task = task, .kind = TASK };

	if (task == last_task)
		return;
	last_task = task;
	task_is_new = true;
	for (unsigned int i = 0; i < tasks_seen && task_is_new; i++)
		task_is_new = seen_tasks[i] != task;
	task_stack = read_memory(task + settings.stack, 8);
	e.at = task_stack;
	e.insns = (uint32_t)read_memory(task + settings.pid, 4);
	e.pc = read_memory(task + settings.comm, 8);
	e.sp = read_memory(task + settings.comm + 8, 8);
	put(&e);
}

/* An entry with a copy of the guest's memory, STACK_SIZE bytes at most. */
static void put_memory(struct entry *e, uint64_t at, uint64_t size)
{
	static struct entry room[(STACK_SIZE + sizeof(struct entry) - 1) / sizeof(struct entry)];
	size_t n = (size + sizeof(*e) - 1) / sizeof(*e);

	if (size > STACK_SIZE)
		return;
	memset(room, 0, n * sizeof(*e));
	e->insns = (uint32_t)size;
	if (cpu_memory_rw_debug(current_cpu, at, room, size, false))
		e->insns = n = 0;
	put(e);
	for (size_t i = 0; i < n; i++)
		put(&room[i]);
}

/* The stack of the task of `block`, if it runs on it in the kernel and its stack was not seen yet, or not for long. */
static void put_stack(const struct entry *block)
{
	struct entry e = { .pc = block->pc, .sp = block->sp, .task = block->task, .kind = STACK };

	if (!is_kernel(block->pc) || block->sp - task_stack >= STACK_SIZE)
		return;
	if (!task_is_new && ++since_stack < STACK_EVERY)
		return;
	if (task_is_new && tasks_seen < sizeof(seen_tasks) / sizeof(seen_tasks[0]))
		seen_tasks[tasks_seen++] = block->task;
	task_is_new = false;
	since_stack = 0;
	e.at = read_register(machine->fp);
	if (machine->link >= 0) {
		uint64_t link = read_register(machine->link);

		e.preempt = (uint32_t)link;
		e.flags = (uint32_t)(link >> 32);
	}
	put_memory(&e, block->sp, task_stack + STACK_SIZE - block->sp);
}

static void translates(plugin_id id, struct qemu_plugin_tb *tb);

static void translates_anew(plugin_id id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translates);
}

/*
 * Has blocks translated as `armed` says: with a callback each, or without. Translating a guest's blocks anew takes as long as some 100 ms of it
 * with callbacks that do nothing: before a window that comes earlier they stay.
 */
enum { NEAR_NS = 100000000 };

static void translate(void)
{
	bool is_near = done < windows && first_expiry + wanted[done] < latest_expiry + NEAR_NS;
	bool all = armed || (is_translating_all && is_near);

	if (all != is_translating_all) {
		is_translating_all = all;
		qemu_plugin_reset(self, translates_anew);
	}
}

static void close_window(struct entry *e)
{
	e->kind = CLOSE;
	put(e);
	write_out();
	armed = false;
}

static void awaits_pending(unsigned int cpu, uint64_t task);

static void executes(unsigned int cpu, void *data)
{
	const struct block *block = data;
	struct entry e = { .pc = block->pc, .insns = block->insns, .kind = BLOCK, .cpu = (uint16_t)cpu };

	if (!armed)
		return;
	if (written > settings.most) {
		e.kind = FULL;
		put(&e);
		write_out();
		armed = false;
		translate();
		return;
	}
	e.at = now();
	e.sp = read_register(machine->sp);
	e.flags = (interrupts_are_on() ? INTERRUPTS_ON : 0) | (block->halts ? HALTS : 0);
	read_task_and_preempt(&e);
	put_task(e.task);
	put_stack(&e);
	put(&e);
	if (block->reads_clock) {
		e.kind = CLOCK;
		put(&e);
	}
	if (settings.callback || settings.patient)
		since_read += since_read > 0;
	else if (e.task == window_task && (since_read || (block->reads_clock && !is_kernel(block->pc))))
		since_read++;
	/* Its next sleep may never come. */
	if (since_read > AFTER_READ) {
		close_window(&e);
		awaits_pending(cpu, e.task);
		translate();
	}
}

/* The next expiry of what is watched is known. */
static void awaits(unsigned int cpu, uint64_t task, uint64_t expiry)
{
	struct entry e = { .cpu = (uint16_t)cpu, .task = task };
	struct entry timekeeper = { .kind = TIMEKEEPER };

	if (!first_known) {
		first_known = true;
		first_expiry = expiry;
	}
	latest_expiry = expiry;
	if (armed && settings.end) {
		pending = expiry;
		return;
	}
	e.at = now();
	e.pc = expiry;
	/* The one before was not the last one within the width: what was logged of it is of no use. */
	if (armed && expiry <= first_expiry + wanted[done - 1] + width[done - 1]) {
		buffered = 0;
		written = written_before;
		if (ftruncate(log_file, opened) || lseek(log_file, opened, SEEK_SET) < 0)
			_exit(97);
		armed = false;
		done--;
	}
	if (armed)
		close_window(&e);
	while (done < windows && expiry > first_expiry + wanted[done] + width[done])
		done++;
	if (done < windows && expiry >= first_expiry + wanted[done]) {
		write_out();
		opened = lseek(log_file, 0, SEEK_CUR);
		written_before = written;
		called_back = false;
		done++;
		e.kind = OPEN;
		e.insns = tick();
		last_task = 0;
		put(&e);
		tasks_seen = since_stack = 0;
		put_task(task);
		put_memory(&timekeeper, settings.timekeeper, settings.timekeeper_size);
		armed = true;
		window_task = task;
		since_read = 0;
	}
	write_out();
	translate();
}

static void awaits_pending(unsigned int cpu, uint64_t task)
{
	uint64_t expiry = pending;

	pending = 0;
	if (expiry)
		awaits(cpu, task, expiry);
}

/* The thread goes to sleep. */
static void sleeps(unsigned int cpu, void *data)
{
	uint64_t task = per_cpu(cpu, settings.current, 8);

	(void)data;
	if (settings.thread ? (uint32_t)read_memory(task + settings.pid, 4) != settings.thread :
			      read_memory(task + settings.comm, 8) != settings.called)
		return;
	if ((uint32_t)read_register(machine->second) == 0)
		awaits(cpu, task, read_register(machine->first));
}

/* A timer is started. */
static void starts(unsigned int cpu, void *data)
{
	uint64_t started = read_register(machine->first);

	(void)data;
	if (!callback || read_memory(started + settings.function, 8) != callback)
		return;
	timer = started;
	last_expiry = read_register(machine->second);
	awaits(cpu, per_cpu(cpu, settings.current, 8), last_expiry);
}

/* All timers that had expired were called back; they have their next expiry. */
static void programs(unsigned int cpu, void *data)
{
	uint64_t expiry = timer ? read_memory(timer + settings.expires, 8) : last_expiry;

	(void)data;
	if (expiry == last_expiry)
		return;
	last_expiry = expiry;
	awaits(cpu, per_cpu(cpu, settings.current, 8), expiry);
}

static void calls_back(unsigned int cpu, void *data)
{
	(void)data;
	/* The next one. */
	if (armed && settings.end && called_back) {
		struct entry e = { .at = now(), .cpu = (uint16_t)cpu };

		close_window(&e);
		awaits_pending(cpu, per_cpu(cpu, settings.current, 8));
		translate();
	}
	called_back = true;
	if (armed && !settings.end && !settings.patient && !since_read)
		since_read = 1;
}

static void ends(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (armed && !settings.patient && !since_read && called_back)
		since_read = 1;
}

/* The address of a function if `name` (MODULE:FUNCTION) is of this module and symbol, else `known`. */
static uint64_t found(const char *name, const char *module, const char *symbol, uint64_t at, uint64_t known)
{
	size_t n = strlen(module);

	return name && !strncmp(name, module, n) && name[n] == ':' && !strcmp(name + n + 1, symbol) ? at : known;
}

static void read_text(uint64_t at, char *text, size_t size)
{
	memset(text, 0, size);
	for (size_t i = 0; i + 1 < size; i++) {
		if (cpu_memory_rw_debug(current_cpu, at + i, &text[i], 1, false) || !text[i]) {
			text[i] = 0;
			return;
		}
	}
}

/* A module is about to run for the first time: logs its functions' names. */
static void loads(unsigned int cpu, void *data)
{
	enum { SYMBOL_SIZE = 24, IS_FUNCTION = 2, MOST_SYMBOLS = 1 << 15 };
	uint64_t module = read_register(machine->first);
	uint64_t kallsyms = read_memory(module + settings.kallsyms, 8);
	uint64_t symtab = read_memory(kallsyms + settings.symtab, 8);
	uint64_t strtab = read_memory(kallsyms + settings.strtab, 8);
	uint32_t n = (uint32_t)read_memory(kallsyms + settings.symbols, 4);
	char name[56], symbol[128];

	(void)cpu;
	(void)data;
	read_text(module + settings.module_name, name, sizeof(name));
	for (uint32_t i = 0; i < n && i < MOST_SYMBOLS; i++) {
		struct { uint32_t name; uint8_t info, other; uint16_t section; uint64_t value, size; } s;
		struct entry e = { .kind = FUNCTION };

		if (cpu_memory_rw_debug(current_cpu, symtab + i * SYMBOL_SIZE, &s, sizeof(s), false) || (s.info & 15) != IS_FUNCTION ||
		    !is_kernel(s.value))
			continue;
		read_text(strtab + s.name, symbol, sizeof(symbol));
		callback = found(settings.callback, name, symbol, s.value, callback);
		end_of_sample = found(settings.end, name, symbol, s.value, end_of_sample);
		e.at = s.value;
		memcpy(&e.pc, name, 24);
		put_memory(&e, strtab + s.name, strlen(symbol));
	}
	write_out();
}

/* The longest instruction of x86, bytes. */
enum { INSN_MOST = 15 };

/* Copies an instruction to `to`, and returns its length. */
static size_t instruction(const struct qemu_plugin_insn *insn, uint8_t to[INSN_MOST])
{
	size_t size = qemu_plugin_insn_size(insn);

	memset(to, 0, INSN_MOST);
	if (size > INSN_MOST)
		return 0;
	if (version >= 3)
		return qemu.insn_data.v3(insn, to, size);
	memcpy(to, qemu.insn_data.v1(insn), size);
	return size;
}

/* Says of a block what its last instruction is. */
static void look_at_last(struct block *block, const struct qemu_plugin_insn *insn)
{
	uint8_t code[INSN_MOST];
	size_t size = instruction(insn, code);

	if (is_arm()) {
		uint32_t word = size == 4 ? code[0] | code[1] << 8 | code[2] << 16 | (uint32_t)code[3] << 24 : 0;
		uint32_t read = word & ~UINT32_C(0x1f);	/* to any register */

		/* mrs of CNTVCT_EL0 or CNTVCTSS_EL0; wfi */
		block->reads_clock = read == 0xd53be040 || read == 0xd53be0c0;
		block->halts = word == 0xd503207f;
		return;
	}
	/* rdtsc or rdtscp; hlt or mwait, which QEMU takes for the same */
	block->reads_clock = (size == 2 && code[0] == 0x0f && code[1] == 0x31) ||
			     (size == 3 && code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9);
	block->halts = (size == 1 && code[0] == 0xf4) || (size == 3 && code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xc9);
}

static void translates(plugin_id id, struct qemu_plugin_tb *tb)
{
	uint64_t pc = qemu_plugin_tb_vaddr(tb);

	(void)id;
	if (is_translating_all) {
		struct block *block = malloc(sizeof(*block));
		size_t n = qemu_plugin_tb_n_insns(tb);

		if (!block)
			_exit(98);
		*block = (struct block){ .pc = pc, .insns = (uint32_t)n };
		look_at_last(block, qemu_plugin_tb_get_insn(tb, n - 1));
		qemu_plugin_register_vcpu_tb_exec_cb(tb, executes, READ_REGS, block);
	}
	if (settings.init && pc == settings.init)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, loads, READ_REGS, NULL);
	if (!settings.callback && pc == settings.sleep)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, sleeps, READ_REGS, NULL);
	if (settings.callback && pc == settings.start)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, starts, READ_REGS, NULL);
	if (settings.callback && pc == settings.program)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, programs, READ_REGS, NULL);
	if (callback && pc == callback)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, calls_back, READ_REGS, NULL);
	if (end_of_sample && pc == end_of_sample)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, ends, READ_REGS, NULL);
}

/* Takes an argument that a thread's sleeps do without. */
static bool take_timers(const char *name, const char *value, uint64_t number)
{
	static const struct {
		const char *name;
		uint64_t *to;
	} numbers[] = {
		{ "start", &settings.start }, { "program", &settings.program }, { "init", &settings.init },
		{ "function", &settings.function }, { "expires", &settings.expires }, { "modulename", &settings.module_name },
		{ "kallsyms", &settings.kallsyms }, { "symtab", &settings.symtab }, { "symbols", &settings.symbols },
		{ "strtab", &settings.strtab },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!strcmp(name, numbers[i].name)) {
			*numbers[i].to = number;
			return true;
		}
	}
	if (!strcmp(name, "callback"))
		settings.callback = strdup(value);
	else if (!strcmp(name, "end"))
		settings.end = strdup(value);
	else if (!strcmp(name, "patient"))
		settings.patient = number;
	else if (!strcmp(name, "called"))
		memcpy(&settings.called, value, strnlen(value, sizeof(settings.called)));
	else if (!strcmp(name, "from")) {
		first_known = true;
		first_expiry = number;
	} else
		return false;
	return true;
}

static int refuse(const char *why)
{
	fprintf(stderr, "rtscope's plugin: %s\n", why);
	return -1;
}

/* Looks `name` up; adds it to `hidden` if it is not to be seen. A pointer to a function is one to anything, in POSIX. */
static void look_up(const char *name, void *to, char *hidden, size_t most)
{
	void *found = dlsym(EVERYWHERE, name);
	size_t used = strlen(hidden);

	memcpy(to, &found, sizeof(found));
	if (!found)
		snprintf(hidden + used, most - used, "%s%s", used ? "," : "", name);
}

/* Finds what is used of QEMU; `hidden` then names what is not to be seen. */
static void find_functions(char *hidden, size_t most)
{
	void *cpu;

	look_up("current_cpu", &cpu, hidden, most);
	look_up("icount_update", &qemu.icount_update, hidden, most);
	look_up("icount_get", &qemu.icount_get, hidden, most);
	look_up("cpu_memory_rw_debug", &qemu.cpu_memory_rw_debug, hidden, most);
	look_up("qemu_plugin_insn_data", &qemu.insn_data, hidden, most);
	if (machine)
		look_up(machine->read, &qemu.read_register, hidden, most);
	if (is_arm())
		look_up("gt_cntfrq_period_ns", &qemu.gt_cntfrq_period_ns, hidden, most);
}

/* Only says whether this QEMU can be looked into, and ends it. */
static _Noreturn void answer(const struct info *info, const char *hidden)
{
	printf("rtscope-plugin version=%d target=%s hidden=%s\n", info->version.cur, info->target_name, hidden);
	fflush(stdout);
	_exit(0);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const struct info *info, int argc, char **argv)
{
	char hidden[256] = "";

	self = id;
	version = info->version.cur;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (!strcmp(info->target_name, machines[i].target))
			machine = &machines[i];
	find_functions(hidden, sizeof(hidden));
	if (argc == 1 && !strncmp(argv[0], "ask=", 4))
		answer(info, hidden);
	scratch = g_byte_array_new();
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		uint64_t number;

		if (!value)
			return refuse(argv[i]);
		*value++ = 0;
		number = strtoull(value, NULL, 0);
		if (!strcmp(argv[i], "out"))
			log_file = open(value, O_WRONLY | O_CLOEXEC);
		else if (!strcmp(argv[i], "sleep"))
			settings.sleep = number;
		else if (!strcmp(argv[i], "percpu"))
			settings.per_cpu = number;
		else if (!strcmp(argv[i], "current"))
			settings.current = number;
		else if (!strcmp(argv[i], "preempt"))
			settings.preempt = number;
		else if (!strcmp(argv[i], "pid"))
			settings.pid = number;
		else if (!strcmp(argv[i], "comm"))
			settings.comm = number;
		else if (!strcmp(argv[i], "stack"))
			settings.stack = number;
		else if (!strcmp(argv[i], "timekeeper"))
			settings.timekeeper = number;
		else if (!strcmp(argv[i], "timekeepersize"))
			settings.timekeeper_size = number;
		else if (!strcmp(argv[i], "thread"))
			settings.thread = (uint32_t)number;
		else if (!strcmp(argv[i], "most"))
			settings.most = number;
		else if (!strcmp(argv[i], "window") && windows < WINDOWS_MAX) {
			char *rest;

			wanted[windows] = strtoull(value, &rest, 0);
			width[windows++] = *rest == '+' ? strtoull(rest + 1, NULL, 0) : 0;
		} else if (take_timers(argv[i], value, number))
			continue;
		else
			return refuse(argv[i]);
	}
	if (!info->system_emulation || !machine)
		return refuse("not a machine of x86-64 or aarch64");
	if (*hidden)
		return refuse("this QEMU does not let its functions be seen");
	if (log_file < 0)
		return refuse("the log can't be opened");
	if (settings.timekeeper_size > STACK_SIZE)
		return refuse("the timekeeper is larger than expected");
	qemu_plugin_register_vcpu_tb_trans_cb(id, translates);
	return 0;
}
