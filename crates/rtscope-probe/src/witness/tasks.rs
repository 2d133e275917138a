//! Tasks of others: real-time rivals with what they took, other runs of rtscope, and who has a CPU.

use super::threads::policy_name;
use crate::snapshot::Root;
use crate::snapshot::cpus::parse_list;
use crate::snapshot::tasks::{Stat, each_cpu_has_one};
use rtscope_record::Policy;
use rtscope_record::witness::{MOST, OtherRun, Rival};
use std::collections::{BTreeMap, HashMap};

/// How the names begin of what watches over runs and loads of this program.
const WATCHERS: [&str; 2] = ["rtscope", "rt-load-"];

/// `USER_HZ`: the unit of times in `stat`, on every machine.
const TICK: u64 = 10_000_000;
/// The longest command line that is kept, characters.
const LONGEST: usize = 200;

/// Tasks that were seen, by thread id and start time: ids are used again.
#[derive(Debug, Default)]
pub(super) struct Table {
    cpus: Vec<u32>,
    ours: Option<(Policy, u8)>,
    /// When the look before the run was taken, ns since boot.
    born: u64,
    tracks: HashMap<(u32, u64), Track>,
    runs: BTreeMap<u32, OtherRun>,
    left_out: u32,
}

#[derive(Debug)]
struct Track {
    rival: Rival,
    /// CPU time that it had taken when it was seen first, or 0 when it began later than the run, ns.
    before: u64,
}

impl Table {
    /// Nothing seen yet. `born`: now, ns since boot.
    pub(super) fn new(cpus: &[u32], ours: Option<(Policy, u8)>, born: u64) -> Self {
        Self { cpus: cpus.to_vec(), ours, born, ..Self::default() }
    }

    /// A walk over all tasks; `at` ns since the start, 0 for the look before. Costs about 10 us for each thread of the machine, after each
    /// of which `breathe` is called.
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

    /// Whether such a task comes before, or beside, the run's own.
    fn is_above(&self, stat: &Stat) -> bool {
        let (Some((ours, priority)), Some(theirs)) = (self.ours, stat.policy) else { return false };
        // What watches over runs of this program is at FIFO 1, and works seldom.
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
        let ran = root.line(&format!("{dir}/schedstat")).and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
        let ran: u64 = ran.unwrap_or(stat.ticks.saturating_mul(TICK));
        if let Some(track) = self.tracks.get_mut(&(tid, stat.start)) {
            track.rival.ran_ns = ran.saturating_sub(track.before);
            (track.rival.cpu, track.rival.priority) = (stat.cpu, stat.priority);
            return;
        }
        // A tick of tolerance: start times are rounded down to one.
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

    /// Who has `cpu` at this moment, ready to run and above: the one that took most.
    pub(super) fn culprit(&self, cpu: u32) -> Option<Rival> {
        let on = |t: &&Track| t.rival.cpu == cpu && t.rival.ran_ns > 0;
        self.tracks.values().filter(on).max_by_key(|t| t.rival.ran_ns).map(|t| t.rival.clone())
    }

    /// Rivals that ran, and other runs; how many more there were.
    pub(super) fn told(self) -> (Vec<Rival>, Vec<OtherRun>, u32) {
        let mut rivals: Vec<Rival> = self.tracks.into_values().map(|t| t.rival).filter(|r| r.ran_ns > 0).collect();
        rivals.sort_by_key(|r| (std::cmp::Reverse(r.ran_ns), r.tid));
        let more = u32::try_from(rivals.len().saturating_sub(MOST)).unwrap_or(u32::MAX);
        rivals.truncate(MOST);
        // A device under test on its own belongs to whoever measures it.
        let measures = |run: &OtherRun| run.threads.iter().any(|name| name != "rts-dut");
        (rivals, self.runs.into_values().filter(measures).collect(), self.left_out.saturating_add(more))
    }
}

/// What asked for a run: the command line of the probe's parent where that is rtscope, else its own.
fn command(root: &Root, pid: u32, parent: u32) -> String {
    let driver = root.value(&format!("/proc/{parent}/comm")).is_some_and(|name| name.starts_with("rtscope"));
    let of = if driver { parent } else { pid };
    root.value(&format!("/proc/{of}/cmdline")).unwrap_or_default().chars().take(LONGEST).collect()
}
