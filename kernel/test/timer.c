// SPDX-License-Identifier: GPL-2.0
/*
 * Runs rtscope_timer from the command line, without the rest of rtscope: prints what each CPU
 * measured, and fails when counts do not add up. Static: gcc -static -O2 -I.. -o timer timer.c
 *
 *   timer [INTERVAL_NS [COUNT [hard|soft|fiq [RING_RECORDS [WAKE_RECORDS]]]]]
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "rtscope.h"

#define MAX_CPUS 1024

static struct rtscope_timer_config config = {
	.abi = RTSCOPE_ABI,
	.interval_ns = 1000000,
	.start_delay_ns = 10000000,
	.count = 1000,
};

static struct {
	__u64 records, next, lost, missed, last, sum, max;
} cpus[MAX_CPUS];

static void die(const char *what)
{
	fprintf(stderr, "timer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int check(int fd, unsigned int cpu)
{
	struct rtscope_timer_status s = { .cpu = cpu };
	int bad;

	if (ioctl(fd, RTSCOPE_TIMER_STATUS, &s))
		die("STATUS");
	printf("cpu%u: due %llu samples %llu missed %llu lost %llu, ns: min %llu mean %llu max %llu\n",
	       cpu, s.due, s.samples, s.missed, s.lost, s.min_ns,
	       s.samples ? s.sum_ns / s.samples : 0, s.max_ns);
	bad = s.due != s.samples + s.missed || s.samples != cpus[cpu].records + s.lost || s.unread ||
	      (config.count && s.due != config.count) || cpus[cpu].missed > s.missed;
	/* The records that were read must match the counts. */
	if (!s.lost)
		bad |= cpus[cpu].sum != s.sum_ns || cpus[cpu].max != s.max_ns || cpus[cpu].lost;
	return bad;
}

int main(int argc, char **argv)
{
	struct rtscope_timer_event events[256];
	unsigned int cpu;
	int fd, i, bad = 0;
	ssize_t len;

	if (argc > 1)
		config.interval_ns = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		config.count = strtoull(argv[2], NULL, 0);
	if (argc > 3 && !strcmp(argv[3], "soft"))
		config.context = RTSCOPE_CONTEXT_SOFT;
	else if (argc > 3 && !strcmp(argv[3], "fiq"))
		config.context = RTSCOPE_CONTEXT_FIQ;
	if (argc > 4)
		config.ring_records = strtoul(argv[4], NULL, 0);
	if (argc > 5)
		config.wake_records = strtoul(argv[5], NULL, 0);

	fd = open("/dev/" RTSCOPE_TIMER_DEVICE, O_RDWR);
	if (fd < 0)
		die("/dev/" RTSCOPE_TIMER_DEVICE);
	if (ioctl(fd, RTSCOPE_TIMER_CONFIGURE, &config))
		die("CONFIGURE");
	if (ioctl(fd, RTSCOPE_TIMER_START))
		die("START");
	while ((len = read(fd, events, sizeof(events))) > 0) {
		for (i = 0; i < (int)(len / sizeof(events[0])); i++) {
			struct rtscope_timer_event *e = &events[i];
			__u64 late = e->actual_ns - e->expected_ns;

			if (e->cpu >= MAX_CPUS)
				return 1;
			cpus[e->cpu].lost += e->seq - cpus[e->cpu].next;
			/* The grid: each record says how many points were passed over before it. */
			if (e->seq && e->seq == cpus[e->cpu].next &&
			    e->expected_ns != cpus[e->cpu].last + (e->missed + 1) * config.interval_ns)
				bad = 1;
			cpus[e->cpu].last = e->expected_ns;
			cpus[e->cpu].next = e->seq + 1;
			cpus[e->cpu].records++;
			cpus[e->cpu].missed += e->missed;
			cpus[e->cpu].sum += late;
			if (late > cpus[e->cpu].max)
				cpus[e->cpu].max = late;
		}
	}
	if (len < 0)
		die("read");
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		if (cpus[cpu].records)
			bad |= check(fd, cpu);
	printf("counts %s\n", bad ? "DO NOT ADD UP" : "add up");
	return bad;
}
