//! Tasks of other programs: real-time rivals and their CPU time, other runs of rtscope, and which task occupies a CPU.

use super::threads::policy_name;
use crate::snapshot::Root;
use crate::snapshot::cpus::parse_list;
use crate::snapshot::tasks::{Stat, each_cpu_has_one};
use rtscope_record::Policy;
use rtscope_record::witness::{MOST, OtherRun, Rival};
use std::collections::{BTreeMap, HashMap};

/// Name prefixes of the threads that watch over runs and loads of this program.
const WATCHERS: [&str; 2] = ["rtscope", "rt-load-"];

/// Length of a tick in `stat` (`USER_HZ`), ns; the same on every machine.
const TICK: u64 = 10_000_000;
/// Longest command line that is kept, characters.
const LONGEST: usize = 200;

/// Tasks that were seen, by thread id and start time, because ids are reused.
#[derive(Debug, Default)]
pub(super) struct Table {
    cpus: Vec<u32>,
    ours: Option<(Policy, u8)>,
    /// Time of the look before the run, ns since boot.
    born: u64,
    tracks: HashMap<(u32, u64), Track>,
    runs: BTreeMap<u32, OtherRun>,
    left_out: u32,
}

#[derive(Debug)]
struct Track {
    rival: Rival,
    /// Its CPU time when it was first seen, ns; 0 if it started after the run began.
    before: u64,
}

impl Table {
    /// An empty table. `born`: the time now, ns since boot.
    pub(super) fn new(cpus: &[u32], ours: Option<(Policy, u8)>, born: u64) -> Self {
        Self { cpus: cpus.to_vec(), ours, born, ..Self::default() }
    }

    /// Walks over all tasks, `at` ns after the start, 0 for the look before the run. Takes about 10 us for each
    /// thread of the machine, and calls `breathe` for each.
    pub(super) fn look(&mut self, root: &Root, at: u64, breathe: &mut dyn FnMut()) {
        for pid in root.numbers("/proc", "") {
            if pid == root.facts.pid {
                continue;
            }
            let dir = format!("/proc/{pid}/task");
            for tid in root.numbers(&dir, "") {
                breathe();
                let Some(stat) = root.line(&format!("{dir}/{tid}/stat")).and_then(|text| Stat::parse(&text)) else { continue };
                if !stat.kernel && stat.name.starts_with("rts-") {
                    self.run_of(root, pid, &stat, at);
                } else if self.is_above(&stat) {
                    self.rival(root, (pid, tid), &stat, at);
                }
            }
        }
    }

    fn run_of(&mut self, root: &Root, pid: u32, stat: &Stat, at: u64) {
        if let Some(run) = self.runs.get_mut(&pid) {
            run.last_at = at;
            if !run.threads.contains(&stat.name) && run.threads.len() < MOST {
                run.threads.push(stat.name.clone());
            }
        } else if self.runs.len() < MOST {
            let before_ns = self.born.saturating_sub(stat.start.saturating_mul(TICK));
            let run = OtherRun {
                pid,
                command: command(root, pid, stat.parent),
                threads: vec![stat.name.clone()],
                before_ns,
                first_at: at,
                last_at: at,
            };
            self.runs.insert(pid, run);
        } else {
            self.left_out += 1;
        }
    }

    /// Whether this task is a rival: at or above the run's own policy and priority.
    fn is_above(&self, stat: &Stat) -> bool {
        let (Some((ours, priority)), Some(theirs)) = (self.ours, stat.policy) else { return false };
        // Watchers of this program's own runs are at FIFO 1 and rarely work.
        let own = stat.priority == 1 && WATCHERS.iter().any(|name| stat.name.starts_with(name));
        let above = match (ours, theirs) {
            (_, Policy::Other) | (Policy::Deadline, Policy::Fifo | Policy::Rr) => false,
            (Policy::Other, _) | (_, Policy::Deadline) => true,
            (Policy::Fifo | Policy::Rr, Policy::Fifo | Policy::Rr) => stat.priority >= priority,
        };
        above && !own && !(stat.kernel && each_cpu_has_one(&stat.name))
    }

    fn rival(&mut self, root: &Root, (pid, tid): (u32, u32), stat: &Stat, at: u64) {
        let dir = format!("/proc/{pid}/task/{tid}");
        let allowed = root
            .text(&format!("{dir}/status"))
            .and_then(|text| parse_list(text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?, u32::MAX >> 8));
        let cpus = allowed.unwrap_or_default();
        if !cpus.is_empty() && !cpus.iter().any(|cpu| self.cpus.contains(cpu)) {
            return;
        }
        let ran = ran(root, &dir, stat);
        if let Some(track) = self.tracks.get_mut(&(tid, stat.start)) {
            track.rival.ran_ns = ran.saturating_sub(track.before);
            (track.rival.cpu, track.rival.priority) = (stat.cpu, stat.priority);
            return;
        }
        // Tolerate one tick, because start times are rounded down.
        let began_later = at > 0 && stat.start.saturating_mul(TICK) + TICK >= self.born;
        let before = if began_later { 0 } else { ran };
        let policy = stat.policy.map_or_else(|| policy_name(0), |p| p.as_str().into());
        let rival = Rival {
            pid,
            tid,
            name: stat.name.clone(),
            policy,
            priority: stat.priority,
            cpus,
            cpu: stat.cpu,
            kernel: stat.kernel,
            ran_ns: ran - before,
            first_at: at,
        };
        self.tracks.insert((tid, stat.start), Track { rival, before });
    }

    /// Reads again what the known rivals of other programs took: cheap enough for every look, so that one that ends between two
    /// walks over all tasks is told with most of what it took.
    pub(super) fn look_again(&mut self, root: &Root, breathe: &mut dyn FnMut()) {
        let known = self.tracks.iter_mut().filter(|(_, track)| !track.rival.kernel).take(MOST);
        for ((tid, start), track) in known {
            breathe();
            let dir = format!("/proc/{}/task/{tid}", track.rival.pid);
            let same = root.line(&format!("{dir}/stat")).and_then(|text| Stat::parse(&text)).filter(|stat| stat.start == *start);
            if let Some(stat) = same {
                track.rival.ran_ns = ran(root, &dir, &stat).saturating_sub(track.before);
            }
        }
    }

    /// The rival last seen on `cpu` that took the most CPU time.
    pub(super) fn culprit(&self, cpu: u32) -> Option<Rival> {
        let on = |t: &&Track| t.rival.cpu == cpu && t.rival.ran_ns > 0;
        self.tracks.values().filter(on).max_by_key(|t| t.rival.ran_ns).map(|t| t.rival.clone())
    }

    /// The rivals that ran, the other runs, and how many more there were.
    pub(super) fn told(self) -> (Vec<Rival>, Vec<OtherRun>, u32) {
        let mut rivals: Vec<Rival> = self.tracks.into_values().map(|t| t.rival).filter(|r| r.ran_ns > 0).collect();
        rivals.sort_by_key(|r| (std::cmp::Reverse(r.ran_ns), r.tid));
        let more = u32::try_from(rivals.len().saturating_sub(MOST)).unwrap_or(u32::MAX);
        rivals.truncate(MOST);
        // A DUT on its own belongs to whoever measures it.
        let measures = |run: &OtherRun| run.threads.iter().any(|name| name != "rts-dut");
        (rivals, self.runs.into_values().filter(measures).collect(), self.left_out.saturating_add(more))
    }
}

/// CPU time that the task in `dir` has used, ns.
fn ran(root: &Root, dir: &str, stat: &Stat) -> u64 {
    let exact = root.line(&format!("{dir}/schedstat")).and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
    exact.unwrap_or(stat.ticks.saturating_mul(TICK))
}

/// The command line behind a run: that of the probe's parent if it is rtscope, else its own.
fn command(root: &Root, pid: u32, parent: u32) -> String {
    let driver = root.value(&format!("/proc/{parent}/comm")).is_some_and(|name| name.starts_with("rtscope"));
    let of = if driver { parent } else { pid };
    root.value(&format!("/proc/{of}/cmdline")).unwrap_or_default().chars().take(LONGEST).collect()
}
