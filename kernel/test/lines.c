// SPDX-License-Identifier: GPL-2.0
/*
 * Uses the lines of rtscope_wire through the GPIO character device, as any program would.
 *
 *   gcc -static -O2 -I.. -o lines lines.c
 *   lines check    every wire carries edges with timestamps, in order; checks refusals too
 *   lines dut      answers the stimulus from user space, until killed
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/gpio.h>

#include "rtscope.h"

#define EDGES 1000
#define BOTH (GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING)

static int chip = -1;
static unsigned int lines;

static void fail(const char *what, unsigned int offset)
{
	fprintf(stderr, "lines: offset %u: %s (%s)\n", offset, what, strerror(errno));
	exit(1);
}

static void find_chip(void)
{
	struct gpiochip_info info;
	char path[32];
	int i;

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/dev/gpiochip%d", i);
		chip = open(path, O_RDWR);
		if (chip < 0)
			continue;
		if (!ioctl(chip, GPIO_GET_CHIPINFO_IOCTL, &info) &&
		    !strcmp(info.label, RTSCOPE_WIRE_LABEL)) {
			lines = info.lines;
			return;
		}
		close(chip);
	}
	errno = ENODEV;
	fail("no chip of this label", 0);
}

static int request(unsigned int offset, uint64_t flags)
{
	struct gpio_v2_line_request r = {
		.offsets = { offset },
		.consumer = "lines",
		.config.flags = flags,
		.num_lines = 1,
	};

	return ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &r) ? -1 : r.fd;
}

static int take(unsigned int offset, uint64_t flags)
{
	int fd = request(offset, flags);

	if (fd < 0)
		fail("can't be requested", offset);
	return fd;
}

static void set(int fd, int level, unsigned int offset)
{
	struct gpio_v2_line_values v = { .bits = level, .mask = 1 };

	if (ioctl(fd, GPIO_V2_LINE_SET_VALUES_IOCTL, &v))
		fail("can't be set", offset);
}

static int get(int fd, unsigned int offset)
{
	struct gpio_v2_line_values v = { .mask = 1 };

	if (ioctl(fd, GPIO_V2_LINE_GET_VALUES_IOCTL, &v))
		fail("can't be read", offset);
	return v.bits & 1;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void refused(unsigned int offset, uint64_t flags, int wanted)
{
	int fd = request(offset, flags);

	if (fd >= 0 || errno != wanted)
		fail("was to be refused, and not so", offset);
}

static void check_wire(unsigned int out)
{
	int to = take(out, GPIO_V2_LINE_FLAG_OUTPUT);
	int from = take(out + 1, GPIO_V2_LINE_FLAG_INPUT | BOTH);
	uint64_t before, after, sum = 0, max = 0;
	struct gpio_v2_line_event e;
	unsigned int i;

	for (i = 1; i <= EDGES; i++) {
		before = now();
		set(to, i % 2, out);
		after = now();
		if (read(from, &e, sizeof(e)) != sizeof(e))
			fail("no event", out + 1);
		if (e.line_seqno != i || e.offset != out + 1 || get(from, out + 1) != (int)(i % 2) ||
		    e.id != (i % 2 ? GPIO_V2_LINE_EVENT_RISING_EDGE : GPIO_V2_LINE_EVENT_FALLING_EDGE))
			fail("another edge than the one that was driven", out + 1);
		if (e.timestamp_ns < before || e.timestamp_ns > after)
			fail("stamped before or after it was driven", out + 1);
		sum += e.timestamp_ns - before;
		if (e.timestamp_ns - before > max)
			max = e.timestamp_ns - before;
	}
	printf("wire %u: %d edges, stamped after the call began, ns: mean %llu max %llu\n", out / 2 - 1,
	       EDGES, (unsigned long long)(sum / EDGES), (unsigned long long)max);
	close(to);
	close(from);
}

static int check(void)
{
	unsigned int offset;
	int held;

	refused(RTSCOPE_WIRE_STIMULUS, GPIO_V2_LINE_FLAG_OUTPUT, EOPNOTSUPP);
	refused(RTSCOPE_WIRE_ANSWER, GPIO_V2_LINE_FLAG_INPUT, EOPNOTSUPP);
	refused(RTSCOPE_WIRE_ANSWER, GPIO_V2_LINE_FLAG_INPUT | BOTH, EOPNOTSUPP);
	held = take(RTSCOPE_WIRE_ANSWER, GPIO_V2_LINE_FLAG_OUTPUT);
	refused(RTSCOPE_WIRE_ANSWER, GPIO_V2_LINE_FLAG_OUTPUT, EBUSY);
	close(held);
	for (offset = 2; offset < lines; offset += 2)
		check_wire(offset);
	printf("lines as they should be\n");
	return 0;
}

static int dut(void)
{
	struct sched_param priority = { .sched_priority = 90 };
	struct gpio_v2_line_event e;
	int in, out;

	if (sched_setscheduler(0, SCHED_FIFO, &priority) || mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("no real-time priority or locked memory", 0);
	in = take(RTSCOPE_WIRE_STIMULUS, GPIO_V2_LINE_FLAG_INPUT | BOTH);
	out = take(RTSCOPE_WIRE_ANSWER, GPIO_V2_LINE_FLAG_OUTPUT);
	while (read(in, &e, sizeof(e)) == sizeof(e))
		set(out, e.id == GPIO_V2_LINE_EVENT_RISING_EDGE, RTSCOPE_WIRE_ANSWER);
	fail("no event", RTSCOPE_WIRE_STIMULUS);
	return 1;
}

int main(int argc, char **argv)
{
	find_chip();
	if (argc == 2 && !strcmp(argv[1], "check"))
		return check();
	if (argc == 2 && !strcmp(argv[1], "dut"))
		return dut();
	fprintf(stderr, "usage: lines check|dut\n");
	return 2;
}
