// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the instrument of rtscope_wire from the command line, without the rest of rtscope: prints what was measured,
 * and fails when counts do not add up. Static: gcc -static -O2 -I.. -o wire wire.c
 *
 *   wire [name=value ...]    names as in struct rtscope_wire_config; dump=1 prints every record; status=1 prints the
 *                            status of a DUT in the kernel
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "rtscope.h"

#define MAX_SAMPLES (1 << 20)

static struct rtscope_wire_config config = {
	.abi = RTSCOPE_ABI,
	.cpu = RTSCOPE_CPU_ANY,
	.interval_min_ns = 1000000,
	.timeout_ns = 900000,
	.start_delay_ns = 10000000,
	.count = 1000,
};

static uint64_t samples[MAX_SAMPLES];
static uint64_t kinds[8];
static uint64_t tasks;

static void die(const char *what)
{
	fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const struct {
	const char *name;
	void *at;
	int size;
} settings[] = {
#define SETTING(field) { #field, &config.field, sizeof(config.field) }
	SETTING(abi), SETTING(mode), SETTING(flags), SETTING(cpu), SETTING(interval_min_ns),
	SETTING(interval_max_ns), SETTING(timeout_ns), SETTING(start_delay_ns), SETTING(count),
	SETTING(seed), SETTING(ring_records), SETTING(wake_records), SETTING(inject.mode),
	SETTING(inject.other_every), SETTING(inject.delay_ns), SETTING(inject.other_delay_ns),
	SETTING(inject.drop_every), SETTING(inject.double_every),
};

static int set(const char *name, uint64_t value)
{
	unsigned int i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (strcmp(settings[i].name, name))
			continue;
		if (settings[i].size == 8)
			*(uint64_t *)settings[i].at = value;
		else
			*(uint32_t *)settings[i].at = value;
		return 0;
	}
	return -1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_samples(const char *what, uint64_t n)
{
	uint64_t sum = 0, i;

	if (!n)
		return;
	for (i = 0; i < n; i++)
		sum += samples[i];
	qsort(samples, n, sizeof(samples[0]), by_value);
	printf("%s ns: n %" PRIu64 " min %" PRIu64 " p50 %" PRIu64 " mean %" PRIu64 " p99 %" PRIu64
	       " max %" PRIu64 "\n", what, n, samples[0], samples[n / 2], sum / n,
	       samples[n * 99 / 100], samples[n - 1]);
}

static void print_response(void)
{
	struct rtscope_response_status s;
	int fd = open("/dev/" RTSCOPE_RESPONSE_DEVICE, O_RDONLY);

	if (fd < 0 || ioctl(fd, RTSCOPE_RESPONSE_STATUS, &s))
		die(RTSCOPE_RESPONSE_DEVICE);
	printf("response: handler %u irq %u edges %llu rising %llu falling %llu unchanged %llu outside %llu\n",
	       s.handler, s.irq, s.edges, s.rising, s.falling, s.unchanged, s.outside);
}

int main(int argc, char **argv)
{
	struct rtscope_wire_event events[256];
	struct rtscope_wire_status s;
	uint64_t n = 0, lost = 0, got = 0, next = 0, previous = 0, dump = 0, status = 0;
	int fd, i, bad;
	ssize_t len;

	for (i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		uint64_t number;

		if (!value) {
			fprintf(stderr, "wire: %s: not name=value\n", argv[i]);
			return 2;
		}
		*value++ = 0;
		number = strtoull(value, NULL, 0);
		if (!strcmp(argv[i], "dump")) {
			dump = number;
		} else if (!strcmp(argv[i], "status")) {
			status = number;
		} else if (set(argv[i], number)) {
			fprintf(stderr, "wire: %s: no such setting\n", argv[i]);
			return 2;
		}
	}
	if (config.interval_max_ns < config.interval_min_ns)
		config.interval_max_ns = config.interval_min_ns;

	fd = open("/dev/" RTSCOPE_WIRE_DEVICE, O_RDWR);
	if (fd < 0)
		die("/dev/" RTSCOPE_WIRE_DEVICE);
	if (ioctl(fd, RTSCOPE_WIRE_CONFIGURE, &config))
		die("CONFIGURE");
	if (ioctl(fd, RTSCOPE_WIRE_START))
		die("START");
	while ((len = read(fd, events, sizeof(events))) > 0) {
		for (i = 0; i < (int)(len / sizeof(events[0])); i++) {
			struct rtscope_wire_event *e = &events[i];

			lost += e->seq - next;
			next = e->seq + 1;
			got++;
			if (e->kind < 8)
				kinds[e->kind]++;
			tasks += e->flags & RTSCOPE_WIRE_EVENT_TASK;
			if (dump)
				printf("%llu %u %llu %llu %llu %llu %u %u\n", e->seq, e->kind,
				       e->stimulus, e->programmed_ns, e->stimulus_ns, e->answer_ns,
				       e->level, e->count);
			if (e->kind == RTSCOPE_WIRE_ANSWERED && n < MAX_SAMPLES)
				samples[n++] = e->answer_ns - e->programmed_ns;
			if (e->kind == RTSCOPE_WIRE_EDGE && n < MAX_SAMPLES) {
				if (previous)
					samples[n++] = e->answer_ns - previous;
				previous = e->answer_ns;
			}
		}
	}
	if (len < 0)
		die("read");
	if (ioctl(fd, RTSCOPE_WIRE_STATUS, &s))
		die("STATUS");

	print_samples(config.mode == RTSCOPE_WIRE_CAPTURE ? "interval" : "response", n);
	printf("due %llu stimuli %llu answered %llu missed %llu open %llu late %llu spurious %llu skipped %llu\n",
	       s.due, s.stimuli, s.answered, s.missed, s.open, s.late, s.spurious, s.skipped);
	printf("edges %llu (from tasks %" PRIu64 ") records %llu lost %llu stimulus late at most %llu ns\n",
	       s.edges, tasks, s.records, s.lost, s.stimulus_late_max_ns);
	if (s.injected)
		printf("injected %llu other %llu dropped %llu doubled %llu\n", s.injected,
		       s.injected_other, s.injected_dropped, s.injected_doubled);
	if (status)
		print_response();

	bad = s.state != RTSCOPE_STATE_DONE || s.unread || s.stimuli != s.answered + s.missed + s.open ||
	      s.due != s.stimuli + s.skipped || s.records != got + s.lost ||
	      (!s.lost && (lost || kinds[RTSCOPE_WIRE_ANSWERED] != s.answered ||
			   kinds[RTSCOPE_WIRE_MISSED] != s.missed ||
			   kinds[RTSCOPE_WIRE_LATE] != s.late ||
			   kinds[RTSCOPE_WIRE_SPURIOUS] != s.spurious ||
			   kinds[RTSCOPE_WIRE_DONE] != 1));
	printf("counts %s\n", bad ? "DO NOT ADD UP" : "add up");
	return bad;
}
