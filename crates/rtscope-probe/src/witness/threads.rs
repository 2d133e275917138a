//! A thread according to the kernel: its scheduling, its CPU, its CPU time and waiting time.

use rtscope_record::witness::{ThreadSeen, ThreadState};
use rtscope_sys::sched;

/// Names of the kernel's policy numbers (`include/uapi/linux/sched.h`).
pub(super) fn policy_name(number: u32) -> String {
    match number {
        0 => "other".into(),
        1 => "fifo".into(),
        2 => "rr".into(),
        3 => "batch".into(),
        5 => "idle".into(),
        6 => "deadline".into(),
        7 => "ext".into(),
        n => n.to_string(),
    }
}

/// How the thread `tid` (0: the caller) is currently scheduled; `None` if it is gone, or the kernel does not say.
pub(super) fn state(tid: u32, at: u64) -> Option<ThreadState> {
    let (policy, priority) = sched::get(tid).ok()?;
    let priority = u8::try_from(priority).unwrap_or(0);
    Some(ThreadState { at, policy: policy_name(policy), priority, cpus: sched::affinity(tid).ok()? })
}

/// State and CPU time of a thread of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Doing {
    /// Its state: `R` is running or ready to run.
    pub(super) state: char,
    /// The CPU that it ran on last.
    pub(super) cpu: u32,
    /// CPU time, ns.
    pub(super) ran: Option<u64>,
}

/// Reads it for the thread `tid` of this process.
pub(super) fn doing(tid: u32) -> Option<Doing> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).ok()?;
    let rest = stat.get(stat.rfind(')')? + 1..)?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // Field 39; the state is field 3.
    let cpu = fields.nth(39 - 4)?.parse().ok()?;
    let ran = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok();
    Some(Doing { state, cpu, ran: ran.and_then(|text| text.split_ascii_whitespace().next()?.parse().ok()) })
}

/// CPU time of the calling thread and the time it waited for a CPU, ns; `None` in kernels without `CONFIG_SCHED_INFO`.
pub(super) fn own_times() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// A thread's look at itself, from the kernel's accounts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct OwnLook {
    pub(super) state: Option<ThreadState>,
    cpu: Option<u32>,
    times: Option<(u64, u64)>,
    migrations: Option<u64>,
    preempted: Option<u64>,
    /// Text that changes whenever the scheduler handles the thread as an ordinary task.
    ordinary: Option<String>,
    cgroup: String,
    slack: Option<u64>,
}

impl OwnLook {
    /// Takes the look for the calling thread, now.
    pub(super) fn take() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
        let figure = |name: &str| figure(&text, name);
        let now = rtscope_sys::rt::now();
        Self {
            state: state(0, now),
            cpu: doing(rtscope_sys::rt::tid()).map(|d| d.cpu),
            times: own_times(),
            migrations: figure("se.nr_migrations").and_then(|n| n.parse().ok()),
            preempted: figure("nr_involuntary_switches").and_then(|n| n.parse().ok()),
            ordinary: figure("se.avg.last_update_time").map(str::to_owned),
            cgroup: std::fs::read_to_string("/proc/thread-self/cgroup").unwrap_or_default(),
            slack: sched::timer_slack().ok(),
        }
    }
}

/// A line of `/proc/PID/sched`.
fn figure<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':').map(str::trim))
}

/// What a thread's own first and last look say of it, without observations from outside.
pub(super) fn seen(label: &str, tid: u32, first: Option<&OwnLook>, last: Option<&OwnLook>) -> ThreadSeen {
    let mut t = ThreadSeen { label: label.into(), tid, ..ThreadSeen::default() };
    let Some(first) = first else { return t };
    t.states.extend(first.state.clone().map(|s| ThreadState { at: 0, ..s }));
    t.ran_on.extend(first.cpu);
    t.timer_slack_ns = first.slack.map(|ns| if is_real_time(first) { 0 } else { ns });
    let Some(last) = last else { return t };
    let since = |of: fn(&OwnLook) -> Option<u64>| Some(of(last)?.saturating_sub(of(first)?));
    t.migrations = since(|l| l.migrations);
    t.preempted = since(|l| l.preempted);
    t.ran_ns = since(|l| l.times.map(|t| t.0));
    t.waited_ns = since(|l| l.times.map(|t| t.1));
    t.was_ordinary = match (&first.ordinary, &last.ordinary) {
        // The same scheduler also moves threads of any policy to other CPUs or groups, so those cases prove nothing.
        (Some(a), Some(b)) if is_real_time(first) && t.migrations == Some(0) && first.cgroup == last.cgroup => Some(a != b),
        _ => None,
    };
    t.ran_on.extend(last.cpu);
    t
}

fn is_real_time(look: &OwnLook) -> bool {
    look.state.as_ref().is_some_and(|s| s.kind() != rtscope_record::Policy::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_whole_name() {
        let text =
            "cat (1, #threads: 1)\n---\nse.nr_migrations_x  : 9\nse.nr_migrations    :     3\nse.avg.last_update_time : 107\n";
        assert_eq!(figure(text, "se.nr_migrations"), Some("3"));
        assert_eq!(figure(text, "se.avg.last_update_time"), Some("107"));
        assert_eq!(figure(text, "prio"), None);
    }

    #[test]
    fn a_thread_sees_itself() {
        let first = OwnLook::take();
        let t = seen("x", 7, Some(&first), Some(&OwnLook::take()));
        assert_eq!((t.states[0].policy.as_str(), t.states[0].priority), ("other", 0));
        assert_eq!(t.was_ordinary, None, "it is one anyway");
        assert!(!t.ran_on.is_empty());
        let mine = doing(rtscope_sys::rt::tid()).unwrap();
        assert_eq!(mine.state, 'R');
    }

    #[test]
    fn what_was_ordinary_between_two_looks_is_seen() {
        let look = |ordinary: &str, moves| OwnLook {
            state: Some(ThreadState { policy: "fifo".into(), priority: 95, cpus: vec![0], at: 5 }),
            migrations: Some(moves),
            ordinary: Some(ordinary.into()),
            times: Some((10 * moves, 0)),
            slack: Some(50_000),
            ..OwnLook::default()
        };
        let t = seen("cpu0", 7, Some(&look("1", 3)), Some(&look("2", 5)));
        assert_eq!((t.was_ordinary, t.migrations, t.ran_ns, t.timer_slack_ns), (None, Some(2), Some(20), Some(0)));
        assert_eq!(seen("cpu0", 7, Some(&look("1", 3)), Some(&look("2", 3))).was_ordinary, Some(true));
        let elsewhere = OwnLook { cgroup: "0::/x".into(), ..look("2", 3) };
        assert_eq!(seen("cpu0", 7, Some(&look("1", 3)), Some(&elsewhere)).was_ordinary, None);
        assert_eq!(t.states[0].at, 0);
        assert_eq!(seen("cpu0", 7, Some(&look("1", 3)), Some(&look("1", 3))).was_ordinary, Some(false));
        assert_eq!(seen("cpu0", 7, Some(&look("1", 3)), None).was_ordinary, None);
    }
}
