//! The watchdog and its rescue measures: no thread of this run may wait for a CPU forever.
//!
//! A deadline task precedes every FIFO and RR task. If it is refused (no privilege, or all deadline bandwidth
//! is given away), FIFO 99 must do, which a busy task of the same priority can block.

use super::post::{Post, Shared, lock};
use rtscope_record::Policy;
use rtscope_record::witness::Starved;
use rtscope_sys::rt;
use rtscope_sys::sched::{self, WantedScheduling};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// Minimum time without progress after which a thread is starved, ns; longer for long intervals.
const SHORTEST_TIMEOUT: u64 = 3_000_000_000;
/// Number of intervals that a thread may make no progress.
const INTERVALS: u64 = 5;
/// How long an ordinary task may wait for a CPU, ns.
pub(super) const ORDINARY: u64 = 60_000_000_000;
/// How long the tick may be silent before the watchdog wakes up, ns.
pub(super) const SILENCE: u64 = 4_000_000_000;
/// Time that a starving tick gets to recover after each step.
const STEP: Duration = Duration::from_millis(500);
/// Deadline parameters of a thread that shall finish its work: runtime and period, ns.
const SHARE: (u64, u64) = (20_000_000, 100_000_000);
/// The same for the reporter, which has a record to write.
const WRITER: (u64, u64) = (40_000_000, 100_000_000);
/// The same for the watchdog itself.
const DOG: (u64, u64) = (5_000_000, 50_000_000);

/// How long a thread with this interval may make no progress, ns.
pub(super) fn patience(interval: u64) -> u64 {
    interval.saturating_mul(INTERVALS).max(SHORTEST_TIMEOUT)
}

fn deadline(share: (u64, u64)) -> WantedScheduling {
    WantedScheduling { policy: Policy::Deadline, priority: 0, share, reset_on_fork: true }
}

fn fifo(priority: u8) -> WantedScheduling {
    WantedScheduling { policy: Policy::Fifo, priority, share: (0, 0), reset_on_fork: true }
}

/// Raises a thread above all others, as far as permitted.
fn lift(tid: u32, share: (u64, u64)) {
    if sched::set(tid, &deadline(share)).is_err() {
        let _ = sched::set(tid, &fifo(99));
    }
}

/// The watchdog thread's main function.
pub(super) fn watch(shared: &Shared) {
    lift(0, DOG);
    while shared.alarm.wait().is_ok() && !shared.over.load(SeqCst) {
        // A tick that was only paused recovers on its own.
        if looks_again(shared) {
            continue;
        }
        let tick = shared.tick.load(SeqCst);
        let _ = sched::allow(tick, &shared.allowed);
        // The mildest measure first: the run itself may be healthy, and must not be disturbed.
        let _ = sched::set(tick, &fifo(shared.below));
        if !looks_again(shared) {
            lift(tick, SHARE);
        }
        let _ = shared.alarm.set(rt::now() + SILENCE);
    }
}

fn looks_again(shared: &Shared) -> bool {
    let before = shared.looked.load(SeqCst);
    std::thread::sleep(STEP);
    shared.over.load(SeqCst) || shared.looked.load(SeqCst) != before
}

/// Ends the run, and gives CPUs to the reporter and to the threads that are still at work.
pub(super) fn end(shared: &Shared, posts: &[Arc<Post>], starved: Starved) {
    lock(&shared.starved).get_or_insert(starved);
    shared.ended.store(true, SeqCst);
    free(shared, shared.main, WRITER);
    // The driver that waits for the record, if it is rtscope, may wait behind the same rival.
    if let Some(driver) = driver() {
        lift(driver, WRITER);
    }
    for post in posts.iter().filter(|p| p.is_on_duty()) {
        let _ = sched::allow(post.tid.load(SeqCst), &shared.allowed);
    }
}

/// Allows a thread on any CPU, and raises it above all others.
pub(super) fn free(shared: &Shared, tid: u32, share: (u64, u64)) {
    let _ = sched::allow(tid, &shared.allowed);
    lift(tid, share);
}

/// Rescues the reporter, which has waited too long for a CPU.
pub(super) fn free_reporter(shared: &Shared) {
    free(shared, shared.main, WRITER);
}

/// Rescues a thread that was told to end and still waits for a CPU.
pub(super) fn free_thread(shared: &Shared, post: &Post) {
    free(shared, post.tid.load(SeqCst), SHARE);
}

/// The parent process, if it is rtscope.
fn driver() -> Option<u32> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let parent: u32 = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).ok()?;
    (parent > 1 && name.starts_with("rtscope")).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_some_intervals_and_at_least_seconds() {
        assert_eq!(patience(1_000_000), 3_000_000_000);
        assert_eq!(patience(10_000_000_000), 50_000_000_000);
        assert_eq!(patience(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_parent_of_a_test_is_not_rtscope() {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", std::os::unix::process::parent_id())).unwrap();
        assert_eq!(driver().is_some(), name.starts_with("rtscope"));
    }
}
