// SPDX-License-Identifier: GPL-2.0
/*
 * rtscope_timer: the timer test in the kernel. A pinned hrtimer on each CPU expires on an absolute
 * grid; the latency is how late its callback runs. Grid points that a late callback passes over
 * are counted as missed. Where the FIQ measures (timer_fiq.c), its samples are fetched here.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "device.h"
#include "ring.h"
#include "timer.h"

#define INTERVAL_MIN_NS		(10 * NSEC_PER_USEC)
#define TIME_MAX_NS		(3600ULL * NSEC_PER_SEC)
#define START_DELAY_MIN_NS	NSEC_PER_USEC
/* How long after the last point FIQs are waited for; and until the next look at them, at most. */
#define FIQ_GRACE_NS		NSEC_PER_SEC
#define LOOK_MAX_NS		NSEC_PER_SEC

static_assert(sizeof(struct rtscope_timer_config) == 184);
static_assert(sizeof(struct rtscope_timer_event) == 32);
static_assert(sizeof(struct rtscope_timer_status) == 96);

static DEFINE_MUTEX(requests);		/* one at a time */
static unsigned long device_open;
static struct rtscope_timer_config config;
static struct sampler *samplers;
static unsigned int n_samplers;
static u64 started_ns;
static int state = RTSCOPE_STATE_IDLE;
static atomic_t running;		/* samplers that have not ended */
static bool batch;			/* some ring has as many records as readers wait for */
static struct irq_work wake;
static void look_at_fiqs(struct work_struct *work);
static DECLARE_DELAYED_WORK(look, look_at_fiqs);
static DECLARE_WAIT_QUEUE_HEAD(readers);

static void wake_readers(struct irq_work *work)
{
	wake_up_interruptible(&readers);
}

static enum hrtimer_restart expired(struct hrtimer *timer)
{
	u64 actual = ktime_get_ns();
	struct sampler *s = container_of(timer, struct sampler, timer);
	u64 expected = ktime_to_ns(hrtimer_get_expires(timer));
	struct rtscope_timer_status *counts = &s->counts;
	struct rtscope_timer_event *slot;
	u64 late = actual - expected;
	unsigned long flags;
	u64 passed, seq;
	bool ended;

	raw_spin_lock_irqsave(&s->lock, flags);
	slot = ring_slot(&s->ring, &seq);
	if (slot) {
		*slot = (struct rtscope_timer_event){
			.seq = seq,
			.expected_ns = expected,
			.actual_ns = actual,
			.cpu = s->cpu,
			.missed = s->passed,
		};
		ring_push(&s->ring);
	}
	counts->min_ns = counts->samples ? min(counts->min_ns, late) : late;
	counts->max_ns = max(counts->max_ns, late);
	counts->sum_ns += late;
	counts->samples++;
	counts->due++;

	/* The first of the passed points is the one of this sample. */
	passed = hrtimer_forward(timer, ns_to_ktime(actual), ns_to_ktime(config.interval_ns)) - 1;
	if (config.count)
		passed = min(passed, config.count - counts->due);
	counts->due += passed;
	counts->missed += passed;
	s->passed = min_t(u64, passed, U32_MAX);
	ended = config.count && counts->due == config.count;
	s->ended = ended;
	raw_spin_unlock_irqrestore(&s->lock, flags);

	if (ended && atomic_dec_and_test(&running)) {
		/*
		 * Pairs with the acquire in has_ended(): all records are visible before the end is.
		 */
		smp_store_release(&state, RTSCOPE_STATE_DONE);
		irq_work_queue(&wake);
	} else if (slot && ring_unread(&s->ring) == config.wake_records) {
		WRITE_ONCE(batch, true);
		irq_work_queue(&wake);
	}
	return ended ? HRTIMER_NORESTART : HRTIMER_RESTART;
}

static enum hrtimer_mode timer_mode(void)
{
	return config.context == RTSCOPE_CONTEXT_HARD ? HRTIMER_MODE_ABS_PINNED_HARD :
							HRTIMER_MODE_ABS_PINNED_SOFT;
}

static bool by_fiq(void)
{
	return config.context == RTSCOPE_CONTEXT_FIQ;
}

/* The n-th sampler's first grid point. */
static u64 first_of(unsigned int n)
{
	return started_ns + n * config.distance_ns;
}

/* When the last point of all is due; U64_MAX: never. */
static u64 last_ns(void)
{
	if (!config.count || config.count > div64_u64(S64_MAX, config.interval_ns))
		return U64_MAX;
	return first_of(n_samplers - 1) + (config.count - 1) * config.interval_ns;
}

/* A FIQ can wake nobody: this looks when a batch or the end is due. */
static void look_at_fiqs(struct work_struct *work)
{
	u32 wake_at = min(config.wake_records, fiq_room(&samplers[0]) / 2);
	u64 now = ktime_get_ns(), last = last_ns(), wait;
	bool ended = true;
	unsigned int i;

	for (i = 0; i < n_samplers; i++) {
		ended &= fiq_ended(&samplers[i]);
		if (fiq_unread(&samplers[i]) + ring_unread(&samplers[i].ring) >= wake_at)
			WRITE_ONCE(batch, true);
	}
	if (!ended && now > last && now - last > FIQ_GRACE_NS) {
		fiq_give_up();
		ended = true;
	}
	if (ended) {
		/* Pairs with the acquire in has_ended(). */
		smp_store_release(&state, RTSCOPE_STATE_DONE);
	} else {
		wait = wake_at * config.interval_ns;
		if (now < last)
			wait = min(wait, last - now);
		wait = clamp_t(u64, wait, NSEC_PER_MSEC, LOOK_MAX_NS);
		schedule_delayed_work(&look, nsecs_to_jiffies(wait) + 1);
	}
	wake_up_interruptible(&readers);
}

static void stop(void)
{
	unsigned int i;

	if (by_fiq()) {
		cancel_delayed_work_sync(&look);
		fiq_stop();
	} else {
		for (i = 0; i < n_samplers; i++)
			hrtimer_cancel(&samplers[i].timer);
	}
	if (state == RTSCOPE_STATE_RUNNING) {
		/* Pairs with the acquire in has_ended(). */
		smp_store_release(&state, RTSCOPE_STATE_DONE);
	}
	irq_work_queue(&wake);
	irq_work_sync(&wake);
}

static void reset(void)
{
	unsigned int i;

	stop();
	for (i = 0; i < n_samplers; i++) {
		ring_free(&samplers[i].ring);
		fiq_free(&samplers[i]);
	}
	kfree(samplers);
	samplers = NULL;
	n_samplers = 0;
	started_ns = 0;
	batch = false;
	state = RTSCOPE_STATE_IDLE;
}

static bool wanted(unsigned int cpu, bool all)
{
	return all || (cpu < 64 * ARRAY_SIZE(config.cpus) &&
		       config.cpus[cpu / 64] >> cpu % 64 & 1);
}

/* Every CPU in the request must be online: a measurement of fewer would look like one of all. */
static int make_samplers(void)
{
	bool all = !memchr_inv(config.cpus, 0, sizeof(config.cpus));
	unsigned int cpu, n = 0, asked = 0;
	size_t word;
	int err;

	for (word = 0; word < ARRAY_SIZE(config.cpus); word++)
		asked += hweight64(config.cpus[word]);
	for_each_online_cpu(cpu)
		n += wanted(cpu, all);
	if (!all && n != asked)
		return -ENXIO;

	samplers = kcalloc(n, sizeof(*samplers), GFP_KERNEL);
	if (!samplers)
		return -ENOMEM;
	for_each_online_cpu(cpu) {
		struct sampler *s = &samplers[n_samplers];

		if (!wanted(cpu, all))
			continue;
		raw_spin_lock_init(&s->lock);
		hrtimer_setup(&s->timer, expired, CLOCK_MONOTONIC, timer_mode());
		s->cpu = cpu;
		n_samplers++;
		if (ring_alloc(&s->ring, config.ring_records, sizeof(struct rtscope_timer_event)))
			return -ENOMEM;
		err = by_fiq() ? fiq_alloc(s, config.ring_records) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int configure(const struct rtscope_timer_config *asked)
{
	int err;

	if (asked->abi != RTSCOPE_ABI)
		return -EPROTO;
	if (state == RTSCOPE_STATE_RUNNING)
		return -EBUSY;
	if (asked->context > RTSCOPE_CONTEXT_FIQ || asked->flags || asked->reserved ||
	    asked->interval_ns < INTERVAL_MIN_NS || asked->interval_ns > TIME_MAX_NS ||
	    asked->start_delay_ns < START_DELAY_MIN_NS || asked->start_delay_ns > TIME_MAX_NS ||
	    asked->distance_ns > NSEC_PER_SEC ||
	    (asked->ring_records && !ring_records_valid(asked->ring_records)))
		return -EINVAL;

	if (asked->context == RTSCOPE_CONTEXT_FIQ) {
		err = fiq_possible();
		if (err)
			return err;
	}

	reset();
	config = *asked;
	if (!config.ring_records)
		config.ring_records = RING_RECORDS_DEFAULT;
	if (!config.wake_records)
		config.wake_records = config.ring_records / 2;
	if (config.wake_records > config.ring_records)
		return -EINVAL;
	cpus_read_lock();
	err = make_samplers();
	cpus_read_unlock();
	if (err)
		reset();
	return err;
}

static void start_here(void *data)
{
	struct sampler *s = data;
	hrtimer_start(&s->timer, ns_to_ktime(first_of(s - samplers)), timer_mode());
}

static int start_timers(void)
{
	unsigned int i;
	int err = 0;

	started_ns = ktime_get_ns() + config.start_delay_ns;
	atomic_set(&running, n_samplers);
	cpus_read_lock();
	for (i = 0; i < n_samplers && !err; i++)
		err = smp_call_function_single(samplers[i].cpu, start_here, &samplers[i], true);
	cpus_read_unlock();
	return err;
}

static int start(void)
{
	int err;

	if (state != RTSCOPE_STATE_IDLE || !n_samplers)
		return -EINVAL;
	state = RTSCOPE_STATE_RUNNING;
	err = by_fiq() ? fiq_start(samplers, n_samplers, &config, &started_ns) : start_timers();
	if (err)
		reset();
	else if (by_fiq())
		schedule_delayed_work(&look, 1);
	return err;
}

static bool has_ended(void)
{
	/* Pairs with the release where the last sampler ends, or in stop(). */
	return smp_load_acquire(&state) == RTSCOPE_STATE_DONE;
}

static bool readable(void)
{
	return READ_ONCE(batch) || has_ended();
}

/* Fetches what the FIQs have taken, as far as there is room. */
static void fetch(void)
{
	bool over = has_ended();
	unsigned int i;

	for (i = 0; by_fiq() && i < n_samplers; i++)
		fiq_fetch(&samplers[i], &config, first_of(i), over);
}

static void add(struct rtscope_timer_status *sum, struct sampler *s)
{
	struct rtscope_timer_status counts;
	u64 lost;

	raw_spin_lock_irq(&s->lock);
	counts = s->counts;
	lost = s->ring.lost;
	raw_spin_unlock_irq(&s->lock);
	if (counts.samples)
		sum->min_ns = sum->samples ? min(sum->min_ns, counts.min_ns) : counts.min_ns;
	sum->max_ns = max(sum->max_ns, counts.max_ns);
	sum->sum_ns += counts.sum_ns;
	sum->due += counts.due;
	sum->samples += counts.samples;
	sum->missed += counts.missed;
	sum->lost += lost;
	sum->unread += ring_unread(&s->ring);
}

static int status_of(u32 cpu, struct rtscope_timer_status *status)
{
	bool found = cpu == RTSCOPE_CPU_ANY;
	unsigned int i;

	fetch();
	*status = (struct rtscope_timer_status){
		.abi = RTSCOPE_ABI,
		.state = state,
		.cpu = cpu,
		.cpus = n_samplers,
		.now_ns = ktime_get_ns(),
		.started_ns = started_ns,
	};
	for (i = 0; i < n_samplers; i++) {
		if (cpu != RTSCOPE_CPU_ANY && cpu != samplers[i].cpu)
			continue;
		found = true;
		add(status, &samplers[i]);
	}
	return found ? 0 : -ENXIO;
}

static int timer_open(struct inode *inode, struct file *file)
{
	if (test_and_set_bit(0, &device_open))
		return -EBUSY;
	return stream_open(inode, file);
}

static int timer_release(struct inode *inode, struct file *file)
{
	reset();
	clear_bit(0, &device_open);
	return 0;
}

static ssize_t read_some(char __user *to, size_t len)
{
	ssize_t copied = 0;
	size_t done = 0;
	unsigned int i;

	/* Cleared before reading, so that a batch that is completed meanwhile is not forgotten. */
	WRITE_ONCE(batch, false);
	fetch();
	for (i = 0; i < n_samplers; i++) {
		copied = ring_read(&samplers[i].ring, to + done, len - done);
		if (copied < 0)
			break;
		done += copied;
		if (ring_unread(&samplers[i].ring) >= config.wake_records)
			WRITE_ONCE(batch, true);
	}
	return done ? done : copied;
}

static ssize_t timer_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	ssize_t copied;
	bool ended;
	int err;

	if (len < sizeof(struct rtscope_timer_event))
		return -EINVAL;
	if (!(file->f_flags & O_NONBLOCK)) {
		err = wait_event_interruptible(readers, readable());
		if (err)
			return err;
	}

	mutex_lock(&requests);
	/* Checked first: records from before the end are then seen below. */
	ended = has_ended();
	copied = read_some(to, len);
	mutex_unlock(&requests);
	if (!copied && !ended)
		return -EAGAIN;
	return copied;
}

static __poll_t timer_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &readers, table);
	return readable() ? EPOLLIN | EPOLLRDNORM : 0;
}

static long timer_request(unsigned int request, void __user *arg)
{
	struct rtscope_timer_config asked;
	struct rtscope_timer_status status;
	int err;

	switch (request) {
	case RTSCOPE_IOC_VERSION:
		return rtscope_version_to(arg, KBUILD_MODNAME);
	case RTSCOPE_TIMER_CONFIGURE:
		return copy_from_user(&asked, arg, sizeof(asked)) ? -EFAULT : configure(&asked);
	case RTSCOPE_TIMER_START:
		return start();
	case RTSCOPE_TIMER_STOP:
		stop();
		return 0;
	case RTSCOPE_TIMER_STATUS:
		if (copy_from_user(&status, arg, sizeof(status)))
			return -EFAULT;
		err = status_of(status.cpu, &status);
		if (err)
			return err;
		return copy_to_user(arg, &status, sizeof(status)) ? -EFAULT : 0;
	default:
		return -ENOTTY;
	}
}

static long timer_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	long result;

	mutex_lock(&requests);
	result = timer_request(request, (void __user *)arg);
	mutex_unlock(&requests);
	return result;
}

static const struct file_operations timer_operations = {
	.owner = THIS_MODULE,
	.open = timer_open,
	.release = timer_release,
	.read = timer_read,
	.poll = timer_poll,
	.unlocked_ioctl = timer_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = RTSCOPE_TIMER_DEVICE,
	.fops = &timer_operations,
	.mode = 0600,
};

static int __init timer_init(void)
{
	init_irq_work(&wake, wake_readers);
	return misc_register(&device);
}

static void __exit timer_exit(void)
{
	misc_deregister(&device);
}

module_init(timer_init);
module_exit(timer_exit);

MODULE_DESCRIPTION("rtscope: how late a timer's callback runs, on each CPU");
MODULE_LICENSE("GPL");
