//! What the papers' tables and claims need of a run, and the runs of one kind.

use crate::edges::figures;
use crate::kernel::{KernelModel, Role};
use crate::share::ShareBelow;
use crate::summary::{clock_words, machine_name, time_model};
use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::system::cpus;
use rtscope_record::{Clock, DistributionError, Fingerprint, Handler, Nanos, Record, RecordParts, Space, Test, Verdict};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Below this, ns, Balci and Adam had most of their latencies.
pub(super) const MAJORITY: u64 = 50_000;

/// What runs that may be pooled have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RunKind {
    /// Whose time the figures are in, and on which machine.
    pub clock: Clock,
    /// Clock and machine in words.
    pub clock_words: String,
    /// The time model of the lab, in virtual time.
    pub model: Option<u32>,
    /// Board, else processor, else host name; of the lab only that it is one.
    pub machine: String,
    /// Architecture, as `uname -m` has it.
    pub arch: String,
    /// What was measured.
    pub test: Test,
    /// Where the task ran.
    pub space: Space,
    /// What answered in kernel space, or held the clock; empty for the timer test.
    pub device: String,
    /// Where a timer in the kernel expires; `None` for every other test.
    pub handler: Option<Handler>,
    /// The instrument is on another machine than the device under test.
    pub apart: bool,
    /// Interval or semi-period, ns.
    pub interval: u64,
    /// Longest time between two stimuli, ns; as `interval` where it does not vary.
    pub interval_max: u64,
    /// How long a run was to take, ns, if its duration was given.
    pub duration: Option<u64>,
    /// How many samples each thread was to take, if that was given. A maximum of more samples is another figure.
    pub loops: Option<u64>,
    /// Number of measuring threads.
    pub threads: u32,
    /// How they ran, in words: policy and priority, on which CPUs, and what did not hold that holds otherwise.
    pub scheduling: String,
    /// The kernel.
    pub kernel: KernelModel,
    /// Name of the load.
    pub load: String,
}

impl RunKind {
    /// The interval, or the range of the intervals, in words.
    pub(super) fn every(&self) -> String {
        range((self.interval, self.interval_max))
    }

    /// What held the clock of a test over lines; the device's own part, in kernel space, is left out.
    pub(super) fn instrument(&self) -> &str {
        self.device.rsplit(" · ").next().unwrap_or_default()
    }

    /// How long a run was to take, in words.
    pub(super) fn length(&self) -> String {
        match (self.duration, self.loops) {
            (Some(d), _) => Nanos(d).to_string(),
            (None, Some(n)) => format!("{n} samples"),
            (None, None) => "until it was ended".into(),
        }
    }

    /// Whether timers are on the tick, by the kernel's command line: a matter of its own, which other claims leave out.
    pub(super) fn on_the_tick(&self) -> bool {
        self.kernel.parameters.iter().any(|p| p == "highres=off")
    }

    /// The same kind but for its kernel.
    pub(super) fn beside_kernel(&self) -> Self {
        let kernel = KernelModel {
            release: String::new(),
            preemption: String::new(),
            role: Role::Unknown,
            parameters: Vec::new(),
            tuning: rtscope_record::Tuning::default(),
            label: String::new(),
        };
        Self { kernel, ..self.clone() }
    }
}

/// An interval, or a range of them, ns, in words.
pub(super) fn range((shortest, longest): (u64, u64)) -> String {
    if longest > shortest { format!("{} to {}", Nanos(shortest), Nanos(longest)) } else { Nanos(shortest).to_string() }
}

/// What is kept of a run; times in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperRun {
    /// Its record.
    pub id: String,
    pub(super) fingerprint: Fingerprint,
    pub(super) kind: RunKind,
    pub(super) counts: bool,
    pub(super) verdict: Verdict,
    pub(super) seed: Option<u64>,
    pub(super) samples: u64,
    pub(super) missed: u64,
    pub(super) min: Option<i64>,
    pub(super) max: Option<i64>,
    pub(super) mean: Option<f64>,
    pub(super) variance: Option<f64>,
    /// Of a search for the highest frequency, the interval that was found.
    pub(super) sustained: Option<u64>,
    /// 90th and 95th percentile of responses.
    pub(super) p90: Option<u64>,
    pub(super) p95: Option<u64>,
    /// How many of its events have a latency below [`MAJORITY`].
    pub(super) below: ShareBelow,
    /// The worst of all events, by its amount where it has a sign; `None` if an event has no known latency.
    pub(super) worst: Option<f64>,
}

impl PaperRun {
    /// Of a record; `None` for one without samples.
    pub fn of(r: &Record) -> Result<Option<Self>, DistributionError> {
        let p = r.parts();
        let device = match p.test {
            Test::Timer => String::new(),
            _ => p.instrument.as_ref().map_or_else(String::new, |i| {
                // What the instrument says of itself is from its own side.
                let what =
                    if i.system.is_some() { i.what.replace("on this machine", "on a machine of its own") } else { i.what.clone() };
                if p.space == Space::Kernel { format!("{} · {what}", i.dut) } else { what }
            }),
        };
        let kind = RunKind {
            clock: p.clock,
            clock_words: clock_words(r),
            model: time_model(r),
            machine: match &p.lab {
                Some(_) => "lab".into(),
                None => p.system.board.clone().or_else(|| p.system.cpu.model.clone()).unwrap_or_else(|| machine_name(r)),
            },
            arch: p.system.kernel.arch.clone(),
            test: p.test,
            space: p.space,
            device,
            handler: p.settings.handler.filter(|_| p.test == Test::Timer && p.space == Space::Kernel),
            apart: p.instrument.as_ref().is_some_and(|i| i.system.is_some()),
            interval: p.settings.interval.0,
            interval_max: p.settings.lines.as_ref().and_then(|l| l.interval_max).unwrap_or(p.settings.interval).0,
            duration: p.settings.duration.map(|d| d.0),
            loops: p.settings.loops,
            threads: p.settings.threads,
            scheduling: scheduling(p),
            kernel: KernelModel::of(r),
            load: p.load.clone(),
        };
        let run = Self {
            id: p.id.clone(),
            fingerprint: r.fingerprint(),
            kind,
            counts: r.verdict() != Verdict::Invalid && !p.interrupted,
            verdict: r.verdict(),
            seed: p.lab.as_ref().filter(|_| p.clock == Clock::Virtual).map(|lab| lab.seed),
            samples: 0,
            missed: r.distributions().iter().map(rtscope_record::Distribution::missed).fold(0, u64::saturating_add),
            min: None,
            max: None,
            mean: None,
            variance: None,
            sustained: p.instrument.as_ref().and_then(|i| i.sustained).map(|interval| interval.0),
            p90: None,
            p95: None,
            below: ShareBelow::none(MAJORITY),
            worst: None,
        };
        let run = match p.test {
            Test::Timer => timer(r, run)?,
            Test::Response | Test::Periodic | Test::Sustained => lines(r, run)?,
        };
        Ok((run.samples > 0).then_some(run))
    }
}

/// "fifo 95, CPUs 0-3 of 4": how a run's threads ran, and on how many CPUs the machine did.
fn scheduling(p: &RecordParts) -> String {
    let s = &p.settings;
    let mut words = vec![if s.priority > 0 { format!("{} {}", s.policy, s.priority) } else { s.policy.to_string() }];
    if s.priority_descends && s.threads > 1 {
        words.push("each further thread one lower".into());
    }
    let online = p.system.cpu.online.len();
    if s.migrate {
        words.push("free to migrate".into());
    } else if !s.cpus.is_empty() {
        let of = if online > 0 { format!(" of {online}") } else { String::new() };
        words.push(format!("{}{of}", cpus(&s.cpus)));
    }
    words.extend((!s.mlockall).then(|| "memory not locked".to_owned()));
    words.extend((!s.hold_dma_latency).then(|| "idle states as they are".to_owned()));
    words.join(", ")
}

fn signed(v: Option<u64>) -> Option<i64> {
    v.map(|v| i64::try_from(v).unwrap_or(i64::MAX))
}

fn timer(r: &Record, run: PaperRun) -> Result<PaperRun, DistributionError> {
    let Some(all) = r.merged()? else { return Ok(run) };
    let view = Corrected::of_record(r);
    // Without a view of every event, a run that missed any does not know its worst.
    let worst = match &view {
        Some(c) if c.basis == Basis::Events && c.unanswered == 0 => Some(c.max as f64),
        Some(_) => None,
        None => all.max().filter(|_| run.missed == 0).map(|v| v as f64),
    };
    let deviation = all.stddev();
    Ok(PaperRun {
        samples: all.count(),
        min: signed(all.min()),
        max: signed(all.max()),
        mean: all.mean(),
        variance: deviation.map(|d| d * d),
        below: r.distributions().iter().fold(run.below, |sum, d| sum.plus(ShareBelow::of(d, MAJORITY, None))),
        worst,
        ..run
    })
}

fn lines(r: &Record, run: PaperRun) -> Result<PaperRun, DistributionError> {
    let (both, _) = figures(&[r], &[Nanos(MAJORITY)])?;
    let furthest = both.min.into_iter().chain(both.max).map(i64::unsigned_abs).max();
    Ok(PaperRun {
        samples: both.samples,
        missed: both.missed,
        min: both.min,
        max: both.max,
        mean: both.mean,
        variance: both.variance,
        p90: both.p90,
        p95: both.p95,
        below: both.shares.first().copied().unwrap_or(run.below),
        worst: furthest.filter(|_| both.missed == 0).map(|v| v as f64),
        ..run
    })
}

/// How many runs do not count.
pub(super) fn left_out(runs: &[PaperRun]) -> usize {
    runs.iter().filter(|r| !r.counts).map(|r| &r.id).collect::<BTreeSet<_>>().len()
}

/// The runs of each kind that count, once each, in the order of the kinds.
pub(super) fn kinds(runs: &[PaperRun]) -> BTreeMap<RunKind, Vec<&PaperRun>> {
    let mut all: BTreeMap<RunKind, Vec<&PaperRun>> = BTreeMap::new();
    let (mut ids, mut seeds) = (BTreeSet::new(), BTreeSet::new());
    for run in runs.iter().filter(|r| r.counts) {
        // In virtual time the same seed gives the same run again, to the last bucket.
        let again = run.seed.is_some() && !seeds.insert((&run.kind, run.seed, run.fingerprint));
        if ids.insert(&run.id) && !again {
            all.entry(run.kind.clone()).or_default().push(run);
        }
    }
    // By their ids, so that sums do not hang on the order in which runs were selected.
    for runs in all.values_mut() {
        runs.sort_by(|a, b| (a.seed, &a.id).cmp(&(b.seed, &b.id)));
    }
    all
}
