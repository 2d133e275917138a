//! Reads `/proc`: which process descends from which, and the CPU time of each.

use rtscope_sys as sys;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

/// Length of a tick in `/proc` (`USER_HZ` is 100 on every supported machine).
pub(crate) const TICK_NS: u64 = 10_000_000;

/// One process, as in `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// Its short name.
    pub(crate) name: String,
    /// `R` running or runnable, `S` sleeping, `D` waiting for a disk, `T` and `t` stopped ...
    pub(crate) state: u8,
    /// It has ended and has not been reaped yet (a zombie).
    pub(crate) ended: bool,
    /// User and system time, ticks.
    pub(crate) ticks: u64,
    /// The same for its reaped children, and for theirs.
    pub(crate) collected_ticks: u64,
    pub(crate) nice: i64,
    /// The CPU that it ran on last.
    pub(crate) cpu: u32,
    /// The kernel's `SCHED_*` number.
    pub(crate) policy: u64,
    /// Start time, ticks since boot.
    pub(crate) start: u64,
}

/// Reads a line of `/proc/PID/stat` (proc_pid_stat(5)). The name in parentheses may contain anything, even parentheses.
fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Process {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        name: name.into(),
        state: *fields.first()?.as_bytes().first()?,
        ended: matches!(*fields.first()?, "Z" | "X" | "x"),
        ticks: number(11)?.saturating_add(number(12)?),
        collected_ticks: number(13)?.saturating_add(number(14)?),
        nice: fields.get(16)?.parse().ok()?,
        start: number(19)?,
        // Old kernels leave out the remaining fields, which are not essential.
        cpu: number(36).and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        policy: number(38).unwrap_or(0),
    })
}

fn of(pid: u32) -> Option<Process> {
    // The name need not be UTF-8.
    parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// Start time of a process that has not ended, ticks since boot.
pub fn start_time(pid: u32) -> Option<u64> {
    of(pid).filter(|p| !p.ended).map(|p| p.start)
}

/// Every process.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).filter_map(of).collect()
}

/// A snapshot of the process table, indexed by parent and child.
#[derive(Debug)]
pub(crate) struct Family<'a> {
    by_pid: HashMap<u32, &'a Process>,
    children: HashMap<u32, Vec<&'a Process>>,
}

impl<'a> Family<'a> {
    pub(crate) fn of(processes: &'a [Process]) -> Self {
        let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
        for p in processes {
            children.entry(p.parent).or_default().push(p);
        }
        Self { by_pid: processes.iter().map(|p| (p.pid, p)).collect(), children }
    }

    pub(crate) fn get(&self, pid: u32) -> Option<&'a Process> {
        self.by_pid.get(&pid).copied()
    }

    pub(crate) fn children(&self, pid: u32) -> Vec<&'a Process> {
        self.children.get(&pid).cloned().unwrap_or_default()
    }

    /// All descendants of `ancestor`, without `ancestor` itself.
    pub(crate) fn descendants(&self, ancestor: u32) -> Vec<&'a Process> {
        let (mut found, mut seen, mut next) = (Vec::new(), HashSet::from([ancestor]), vec![ancestor]);
        while let Some(pid) = next.pop() {
            for &child in self.children.get(&pid).into_iter().flatten() {
                // The table is not read atomically, so it may hold a loop.
                if seen.insert(child.pid) {
                    found.push(child);
                    next.push(child.pid);
                }
            }
        }
        found
    }

    /// `process` and all its descendants.
    pub(crate) fn with_descendants(&self, process: &'a Process) -> Vec<&'a Process> {
        let mut all = self.descendants(process.pid);
        all.push(process);
        all
    }
}

/// The descendants of `ancestor` among `processes`, without `ancestor` itself.
pub(crate) fn descendants(processes: &[Process], ancestor: u32) -> Vec<&Process> {
    Family::of(processes).descendants(ancestor)
}

/// CPU time of a process with all its threads, ns: by its CPU clock, or by its ticks where they say more.
pub(crate) fn cpu_ns(process: &Process) -> u64 {
    sys::process::cpu_time(process.pid).unwrap_or(0).max(process.ticks.saturating_mul(TICK_NS))
}

/// Bytes that a process has written, to files, pipes and sockets alike (`/proc/PID/io`).
pub(crate) fn bytes_written(pid: u32) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    io.lines().find_map(|l| l.strip_prefix("wchar:"))?.trim().parse().ok()
}

/// Kills and reaps every descendant of this process, for at most `limit`. Returns whether none is left.
pub(crate) fn kill_descendants(limit: Duration) -> bool {
    let own = std::process::id();
    let end = Instant::now() + limit;
    loop {
        while matches!(sys::process::reap(), Ok(Some(_))) {}
        let processes = all();
        let left = descendants(&processes, own);
        if left.is_empty() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        for p in left.iter().filter(|p| !p.ended) {
            let _ = i32::try_from(p.pid).map(|pid| sys::kill(pid, libc::SIGKILL));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "77 (a) b (c) S 5 77 77 0 -1 4194560 123 0 0 0 30 12 3 4 20 -5 1 0 4711 1000 2 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 3 50 1 0";

    #[test]
    fn a_stat_line_is_read_whatever_the_name() {
        let p = parse(STAT).unwrap();
        assert_eq!((p.pid, p.parent, p.name.as_str(), p.state, p.ended), (77, 5, "a) b (c", b'S', false));
        assert_eq!((p.ticks, p.collected_ticks, p.nice, p.start, p.cpu, p.policy), (42, 7, -5, 4711, 3, 1));
        assert!(parse(&STAT.replace(") S", ") Z")).unwrap().ended);
    }

    #[test]
    fn the_own_process_is_there() {
        let own = std::process::id();
        let processes = all();
        let me = processes.iter().find(|p| p.pid == own).unwrap();
        assert_eq!(start_time(own), Some(me.start));
        assert!(bytes_written(own).is_some());
        assert!(descendants(&processes, 1).iter().any(|p| p.pid == own) || own == 1 || me.parent == 0);
        assert_eq!(start_time(u32::MAX), None);
    }

    #[test]
    fn a_loop_in_the_table_ends() {
        let p = |pid, parent| Process { pid, parent, ..parse(STAT).unwrap() };
        assert_eq!(descendants(&[p(2, 3), p(3, 2), p(4, 9)], 2).len(), 1);
    }

    proptest! {
        #[test]
        fn any_stat_line_is_read_or_passed_over(text in "\\PC{0,200}", cut in 0usize..140, at in 0usize..140, with: char) {
            let _ = parse(&text);
            let mut damaged: String = STAT.chars().take(cut).collect();
            if at < damaged.len() && damaged.is_char_boundary(at) {
                damaged.insert(at, with);
            }
            let _ = parse(&damaged);
        }
    }
}
