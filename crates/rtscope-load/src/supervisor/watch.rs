//! Watches a load's processes while it runs: their CPU time, and which of them were stopped, ended or held up.

use super::running::Running;
use crate::process_tree::{self, Family, Process};
use crate::tools::tool::{Part, Workers};
use rtscope_record::load::{LoadCourse, LoadCpu, LoadStep, LoadWorkers};
use rtscope_sys as sys;
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// Time between two looks. It grows when a look takes more than a hundredth of it (very many processes),
/// because this is work on the measured machine.
const LOOK: Duration = Duration::from_millis(500);
/// The first part of a run, by which the rest is judged.
const CALIBRATION: Duration = Duration::from_secs(2);
/// Maximum number of steps in the record; beyond it, each two are merged into one.
const MOST_STEPS: usize = 64;
/// After this many looks in a row without CPU time, a worker that was not stopped counts as idle. On a crowded
/// machine a worker that waits for another may get none for a look or two.
const QUIET_LOOKS: u32 = 3;

/// Process id and start time, which together are unique.
type Id = (u32, u64);

/// A process that does a tool's work, with all its descendants.
#[derive(Debug)]
struct Worker {
    tool: usize,
    kind: usize,
    cpu_ns: u64,
    nice: i64,
    policy: u64,
    /// It answers another worker, and waits where that one gets no CPU: the other one is judged.
    serves: bool,
    reniced: bool,
    gone: bool,
    quiet_looks: u32,
    quiet_ns: u64,
}

/// What a worker did between two looks.
enum Did {
    /// It used CPU time, or waited for a CPU or for the disk.
    Work,
    /// Nothing, for an unknown reason.
    Nothing,
    /// Nothing, because a signal stopped it or it is gone.
    Ended,
}

/// The workers of a tool that do the same work.
#[derive(Debug, Default)]
struct Kind {
    seen: LoadWorkers,
    /// One of them waited for a disk in the first part of the run, so later such waits count as work.
    waits: bool,
    idle_since_ns: u64,
}

/// Watches the tools of one load.
#[derive(Debug)]
pub(super) struct Watch {
    began: Instant,
    last: Instant,
    next: Instant,
    step_ns: u64,
    course: LoadCourse,
    idle: Vec<u64>,
    workers: HashMap<Id, Worker>,
    kinds: HashMap<usize, Vec<Kind>>,
    /// CPU time of each process of the load at the last look, ns: its own, and that of its reaped children.
    times: HashMap<Id, (u64, u64)>,
    total_ns: u64,
}

impl Watch {
    /// Starts watching. Call it when the load is up.
    pub(super) fn new(tools: &[Running], fills_cpus: bool) -> Self {
        let cpus = sys::rt::allowed_cpus().unwrap_or_default();
        let course = LoadCourse {
            fills_cpus,
            cpus: cpus.iter().map(|&cpu| LoadCpu { cpu, ..LoadCpu::default() }).collect(),
            steps: Vec::new(),
        };
        let now = Instant::now();
        let mut watch = Self {
            began: now,
            last: now,
            next: now,
            step_ns: as_ns(LOOK) * 9 / 10,
            idle: Vec::new(),
            course,
            workers: HashMap::new(),
            kinds: HashMap::new(),
            times: HashMap::new(),
            total_ns: 0,
        };
        watch.look(tools);
        watch.course.steps.clear();
        watch
    }

    /// Takes a look if the next one is due.
    pub(super) fn look_when_due(&mut self, tools: &[Running]) {
        if Instant::now() >= self.next {
            self.look(tools);
        }
    }

    /// The course of the whole load.
    pub(super) fn course(&self) -> &LoadCourse {
        &self.course
    }

    /// What was seen of the workers of tool `tool`.
    pub(super) fn workers(&self, tool: usize) -> Vec<LoadWorkers> {
        self.kinds.get(&tool).into_iter().flatten().map(|k| k.seen.clone()).collect()
    }

    /// Takes a look now: notes what happened since the last one.
    pub(super) fn look(&mut self, tools: &[Running]) {
        let now = Instant::now();
        let ns = as_ns(now - self.last);
        let early = now - self.began <= CALIBRATION + LOOK / 2;
        self.last = now;
        let processes = process_tree::all();
        let idle = idle_of(&self.course.cpus);
        let family = Family::of(&processes);
        let mut times = HashMap::with_capacity(self.times.len());
        let mut used: HashMap<u32, u64> = HashMap::new();
        for (number, tool) in tools.iter().enumerate() {
            let Some(main) = tool.ended.is_none().then(|| family.get(tool.pid)).flatten() else { continue };
            for p in family.with_descendants(main) {
                let own = process_tree::cpu_ns(p);
                let before = self.times.get(&id(p)).map_or(0, |t| t.0);
                *used.entry(p.cpu).or_default() += own.saturating_sub(before);
                times.insert(id(p), (own, p.collected_ticks.saturating_mul(process_tree::TICK_NS)));
            }
            let direct = match tool.tool.workers() {
                Workers::Children => family.children(main.pid),
                Workers::Itself => vec![main],
            };
            for p in direct.into_iter().filter(|p| !p.ended) {
                self.join((number, tool.tool.part() == Part::Server), p, &family, &times);
            }
        }
        let looked = Looked { family: &family, times: &times, ns, early };
        self.judge(&looked);
        self.account(ns, &times, &used, &idle);
        self.times = times;
        self.idle = idle;
        self.next = Instant::now() + LOOK.max(now.elapsed() * 100);
    }

    /// Adds a worker that was not known yet, of tool number `tool`.
    fn join(&mut self, (tool, serves): (usize, bool), p: &Process, family: &Family<'_>, times: &HashMap<Id, (u64, u64)>) {
        if self.workers.contains_key(&id(p)) {
            return;
        }
        let name = name_of(p);
        let kinds = self.kinds.entry(tool).or_default();
        let kind = kinds.iter().position(|k| k.seen.name == name).unwrap_or_else(|| {
            kinds.push(Kind { seen: LoadWorkers { name, ..LoadWorkers::default() }, ..Kind::default() });
            kinds.len() - 1
        });
        kinds[kind].seen.count += 1;
        let cpu_ns = family.with_descendants(p).into_iter().filter_map(|p| times.get(&id(p))).map(|t| t.0 + t.1).sum();
        let worker = Worker {
            tool,
            kind,
            cpu_ns,
            nice: p.nice,
            policy: p.policy,
            serves,
            reniced: false,
            gone: false,
            quiet_looks: 0,
            quiet_ns: 0,
        };
        self.workers.insert(id(p), worker);
    }

    /// Judges what each worker did since the last look.
    fn judge(&mut self, looked: &Looked<'_>) {
        // For each kind, the shortest newly known idle time among its workers; `None` if one of them worked.
        let mut shortest: HashMap<(usize, usize), Option<u64>> = HashMap::new();
        for (&key, worker) in &mut self.workers {
            let Some(kind) = self.kinds.get_mut(&worker.tool).and_then(|k| k.get_mut(worker.kind)) else { continue };
            let alive = looked.family.get(key.0).filter(|p| p.start == key.1 && !p.ended && !worker.gone);
            let did = match alive {
                Some(p) => worker.did(p, looked, kind, &self.times),
                None => {
                    kind.seen.gone += u32::from(!worker.gone);
                    worker.gone = true;
                    Did::Ended
                }
            };
            let works = matches!(did, Did::Work);
            let idle_ns = worker.idle(&did, looked.ns);
            kind.seen.watched_ns += looked.ns;
            kind.seen.idle_ns += idle_ns;
            if looked.early {
                kind.seen.early_watched_ns += looked.ns;
                kind.seen.early_idle_ns += idle_ns;
            }
            let known = (!works).then_some(idle_ns);
            let least = shortest.entry((worker.tool, worker.kind)).or_insert(known);
            *least = least.zip(known).map(|(a, b)| a.min(b));
        }
        for ((tool, kind), idle_ns) in shortest {
            let Some(kind) = self.kinds.get_mut(&tool).and_then(|k| k.get_mut(kind)) else { continue };
            kind.idle_since_ns = idle_ns.map_or(0, |ns| kind.idle_since_ns + ns);
            kind.seen.longest_idle_ns = kind.seen.longest_idle_ns.max(kind.idle_since_ns);
        }
    }

    /// Accounts the CPU time since the last look, by CPU and by step.
    fn account(&mut self, ns: u64, times: &HashMap<Id, (u64, u64)>, used: &HashMap<u32, u64>, idle: &[u64]) {
        // Short-lived processes appear in no look, but in the time of the parents that reaped them.
        let total = times.values().map(|t| t.0 + t.1).sum::<u64>();
        let load_ns = total.saturating_sub(self.total_ns);
        self.total_ns = self.total_ns.max(total);
        let seen = used.values().sum::<u64>().max(1);
        let first = self.idle.is_empty();
        let mut idle_ns = 0;
        for (at, cpu) in self.course.cpus.iter_mut().enumerate() {
            let nobody = idle.get(at).zip(self.idle.get(at)).map_or(0, |(now, before)| now.saturating_sub(*before)).min(ns);
            idle_ns += nobody;
            if !first {
                let part = used.get(&cpu.cpu).copied().unwrap_or(0) as f64 / seen as f64;
                cpu.load_ns += rounded(part * load_ns as f64);
                cpu.idle_ns += nobody;
            }
        }
        let most = ns.saturating_mul(self.course.cpus.len() as u64);
        self.add_step(LoadStep { ns, load_ns: load_ns.min(most), idle_ns });
    }

    fn add_step(&mut self, step: LoadStep) {
        let steps = &mut self.course.steps;
        match steps.last_mut() {
            Some(last) if last.ns < self.step_ns => *last = joined(*last, step),
            _ => steps.push(step),
        }
        if steps.len() > MOST_STEPS {
            *steps = steps.chunks(2).map(|two| two.iter().copied().reduce(joined).unwrap_or_default()).collect();
            self.step_ns *= 2;
        }
    }
}

fn joined(a: LoadStep, b: LoadStep) -> LoadStep {
    LoadStep { ns: a.ns + b.ns, load_ns: a.load_ns + b.load_ns, idle_ns: a.idle_ns + b.idle_ns }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a part of a sum of ns
fn rounded(ns: f64) -> u64 {
    ns.round() as u64
}

/// One look.
struct Looked<'a> {
    family: &'a Family<'a>,
    times: &'a HashMap<Id, (u64, u64)>,
    ns: u64,
    early: bool,
}

impl Worker {
    /// The idle time that has become certain with this look, ns.
    fn idle(&mut self, did: &Did, ns: u64) -> u64 {
        match did {
            Did::Work => (self.quiet_looks, self.quiet_ns) = (0, 0),
            Did::Nothing => {
                self.quiet_looks += 1;
                self.quiet_ns += ns;
            }
            Did::Ended => {
                self.quiet_looks = QUIET_LOOKS;
                self.quiet_ns += ns;
            }
        }
        if self.quiet_looks < QUIET_LOOKS { 0 } else { std::mem::take(&mut self.quiet_ns) }
    }

    fn did(&mut self, p: &Process, looked: &Looked<'_>, kind: &mut Kind, before: &HashMap<Id, (u64, u64)>) -> Did {
        let (mut active, mut total) = (false, 0);
        for member in looked.family.with_descendants(p) {
            let Some(&(own, collected)) = looked.times.get(&id(member)) else { continue };
            total += own + collected;
            let (own_before, collected_before) = before.get(&id(member)).copied().unwrap_or_default();
            active |= own > own_before || collected > collected_before;
            kind.waits |= looked.early && member.state == b'D';
            // A runnable worker that does not run waits for a CPU, and a disk load is meant to wait for the disk: neither
            // is idle.
            active |= member.state == b'R' || (member.state == b'D' && kind.waits);
        }
        kind.seen.cpu_ns += total.saturating_sub(self.cpu_ns);
        self.cpu_ns = self.cpu_ns.max(total);
        let stopped = matches!(p.state, b'T' | b't');
        kind.seen.stopped += u32::from(stopped);
        if !self.reniced && (p.nice, p.policy) != (self.nice, self.policy) {
            self.reniced = true;
            kind.seen.reniced += 1;
        }
        match (active, stopped) {
            (true, _) => Did::Work,
            (false, true) => Did::Ended,
            (false, false) if self.serves => Did::Work,
            (false, false) => Did::Nothing,
        }
    }
}

fn as_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn id(p: &Process) -> Id {
    (p.pid, p.start)
}

/// Name of a stressor, taken from its process title (`stress-ng-hdd [run]`), because `comm` is cut at 15 characters.
fn name_of(p: &Process) -> String {
    let title = fs::read(format!("/proc/{}/cmdline", p.pid)).unwrap_or_default();
    let title = String::from_utf8_lossy(&title).into_owned();
    let word = title.split(['\0', ' ']).next().unwrap_or_default();
    let own = word.strip_prefix("stress-ng-").or_else(|| p.name.strip_prefix("stress-ng-")).filter(|n| !n.is_empty());
    own.map_or_else(|| p.name.clone(), str::to_owned).chars().take(64).collect()
}

/// Idle time of each of `cpus`, ns since boot (`/proc/stat`: idle and iowait).
fn idle_of(cpus: &[LoadCpu]) -> Vec<u64> {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let by_cpu: HashMap<u32, u64> = text.lines().filter_map(idle_in).collect();
    cpus.iter().map(|c| by_cpu.get(&c.cpu).copied().unwrap_or(0)).collect()
}

fn idle_in(line: &str) -> Option<(u32, u64)> {
    // The line for all CPUs together has no number after `cpu`.
    let of_one = line.strip_prefix("cpu").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut fields = of_one.split_ascii_whitespace();
    let cpu = fields.next()?.parse().ok()?;
    let mut idle = fields.skip(3).take(2).map_while(|f| f.parse::<u64>().ok());
    let ticks = idle.next()?.saturating_add(idle.next().unwrap_or(0));
    Some((cpu, ticks.saturating_mul(process_tree::TICK_NS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn idle_time_is_read_for_each_cpu() {
        assert_eq!(idle_in("cpu  1 2 3 4 5 6"), None);
        assert_eq!(idle_in("cpu12 1 2 3 40 5 6 7"), Some((12, 450_000_000)));
        assert_eq!(idle_in("cpu0 1 2 3 40"), Some((0, 400_000_000)));
        assert_eq!(idle_in("intr 1 2 3 40 5 6 7"), None);
    }

    /// A server waits as long as its client gets no CPU, which is no fault of the load: 24 s beside all of stress-ng's stressors on one
    /// CPU. One that was stopped is seen nevertheless.
    #[test]
    fn a_server_that_waits_is_at_work_and_a_stopped_one_is_not() {
        let process = |state| Process {
            pid: 7,
            parent: 1,
            name: "iperf3".into(),
            state,
            ended: false,
            ticks: 0,
            collected_ticks: 0,
            nice: 0,
            cpu: 0,
            policy: 0,
            start: 1,
        };
        let did = |state, serves| {
            let processes = [process(state)];
            let (family, times) = (Family::of(&processes), HashMap::from([((7, 1), (0, 0))]));
            let mut watch = Watch::new(&[], false);
            watch.join((0, serves), &processes[0], &family, &times);
            watch.judge(&Looked { family: &family, times: &times, ns: 500_000_000, early: false });
            watch.times = times.clone();
            for _ in 0..QUIET_LOOKS {
                watch.judge(&Looked { family: &family, times: &times, ns: 500_000_000, early: false });
            }
            watch.workers(0)[0].longest_idle_ns > 0
        };
        assert_eq!(
            [(b'S', true), (b'S', false), (b'T', true), (b'R', false)].map(|(s, serves)| did(s, serves)),
            [false, true, true, false]
        );
    }

    #[test]
    fn many_steps_become_fewer_and_nothing_is_lost() {
        let mut watch = Watch::new(&[], false);
        for n in 0..1000u64 {
            watch.add_step(LoadStep { ns: 500_000_000, load_ns: n, idle_ns: 1 });
        }
        let steps = &watch.course().steps;
        assert!(steps.len() <= MOST_STEPS && steps.len() > MOST_STEPS / 4, "{}", steps.len());
        let all = steps.iter().copied().reduce(joined).unwrap();
        assert_eq!(all, LoadStep { ns: 500_000_000_000, load_ns: 499_500, idle_ns: 1000 });
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_passed_over(text in "\\PC{0,80}", n: u64) {
            let _ = idle_in(&text);
            let _ = idle_in(&format!("cpu{n} {n} {n} {n} {n} {n}"));
        }
    }
}
