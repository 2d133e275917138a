//! One test of a campaign's plan, and the settings that follow from it.

use crate::lines::{About, LineOptions, LineOptionsError, Who};
use crate::target::is_lab;
use rtscope_failure::Failure;
use rtscope_record::system::parse_cpu_list;
use rtscope_record::{Handler, Inject, Nanos, Policy, Settings, Space, Test};
use serde::{Deserialize, Deserializer, Serialize};
use std::num::NonZeroU32;

/// What is asked of each run of one test: the flags of `rtscope measure` by their names.
///
/// Its text as JSON is part of a run's key. A key that is added later must be left out of it where it has its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TestPlan {
    /// What is measured.
    pub test: Test,
    /// Where the measured task runs.
    #[serde(default = "user")]
    pub space: Space,
    /// Grid, ns.
    #[serde(default = "interval", deserialize_with = "time")]
    pub(crate) interval: Nanos,
    /// How long to measure, ns; 10 s when neither this nor `loops` is given.
    #[serde(default, deserialize_with = "maybe_time")]
    pub(crate) duration: Option<Nanos>,
    /// Samples of each thread, instead of a duration.
    #[serde(default)]
    pub(crate) loops: Option<u64>,
    /// Scheduling policy.
    #[serde(default = "fifo", deserialize_with = "policy")]
    pub(crate) policy: Policy,
    /// Priority, 1 to 99.
    #[serde(default = "priority")]
    pub(crate) priority: u8,
    /// Number of threads; `None` for one on each CPU.
    #[serde(default)]
    pub(crate) threads: Option<NonZeroU32>,
    /// CPUs to measure on; `None` for all.
    #[serde(default, deserialize_with = "cpus")]
    pub(crate) affinity: Option<Vec<u32>>,
    /// The threads are free to migrate.
    #[serde(default)]
    pub(crate) migrate: bool,
    /// Start offset of each further thread, ns.
    #[serde(default, deserialize_with = "time")]
    pub(crate) distance: Nanos,
    /// Each further thread one priority lower.
    #[serde(default)]
    pub(crate) priospread: bool,
    /// Break a run at the first latency above this, ns.
    #[serde(default, deserialize_with = "maybe_time")]
    pub(crate) breaktrace: Option<Nanos>,
    /// Do not lock memory.
    #[serde(default)]
    pub(crate) no_mlockall: bool,
    /// Let the CPUs enter deep idle states.
    #[serde(default)]
    pub(crate) no_dma_latency: bool,
    /// Worst samples to keep for each thread.
    #[serde(default = "worst")]
    pub(crate) worst: u32,
    /// The line that the instrument drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stimulus: Option<String>,
    /// The line that it watches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<String>,
    /// Random intervals, up to this, ns.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_time")]
    pub(crate) interval_max: Option<Nanos>,
    /// Seed of the random intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interval_seed: Option<u64>,
    /// Width of pulses, ns.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_time")]
    pub(crate) pulse: Option<Nanos>,
    /// The pulse's edge back asks as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) both_edges: bool,
    /// The stimulus rests high.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) active_low: bool,
    /// Shorter pulses are taken out, ns.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_time")]
    pub(crate) min_width: Option<Nanos>,
    /// Longest time to an answer, ns.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_time")]
    pub(crate) timeout: Option<Nanos>,
    /// Stimuli before the figures begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warmup: Option<u64>,
    /// A line that is wired straight to the stimulus; empty: the stimulus itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calibrate: Option<String>,
    /// Who answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dut: Option<Who>,
    /// The line that the own DUT listens to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dut_in: Option<String>,
    /// The line that it drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dut_out: Option<String>,
    /// Its priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dut_priority: Option<u8>,
    /// Its CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dut_cpu: Option<u32>,
    /// What it does wrong on purpose.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "inject")]
    pub(crate) inject: Option<Inject>,
    /// `sustained`: the shortest interval to try, ns.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_time")]
    pub(crate) shortest: Option<Nanos>,
    /// In kernel space: where the task does its work.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "handler")]
    pub(crate) handler: Option<Handler>,
}

fn user() -> Space {
    Space::User
}

fn interval() -> Nanos {
    Nanos(1_000_000)
}

fn fifo() -> Policy {
    Policy::Fifo
}

fn priority() -> u8 {
    95
}

fn worst() -> u32 {
    32
}

fn text<'de, D: Deserializer<'de>, T>(from: D, read: impl FnOnce(&str) -> Result<T, String>) -> Result<T, D::Error> {
    read(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
    text(from, |t| t.parse().map_err(|e: rtscope_record::units::ParseNanosError| e.to_string()))
}

fn maybe_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Nanos>, D::Error> {
    time(from).map(Some)
}

fn policy<'de, D: Deserializer<'de>>(from: D) -> Result<Policy, D::Error> {
    text(from, str::parse)
}

fn inject<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Inject>, D::Error> {
    text(from, |t| t.parse().map(Some))
}

fn handler<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Handler>, D::Error> {
    text(from, |t| t.parse().map(Some))
}

fn cpus<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u32>>, D::Error> {
    text(from, |t| parse_cpu_list(t).map(Some).ok_or_else(|| format!("`{t}` is not a list of CPUs: write 0,2-3")))
}

impl TestPlan {
    /// For a listing: `timer 1ms 5s`, with space and handler where it is the kernel's.
    pub fn label(&self) -> String {
        let handler = self.handler.unwrap_or_default();
        let space = if self.space == Space::Kernel { format!(" kernel {handler}") } else { String::new() };
        let end = match (self.duration, self.loops) {
            (Some(d), _) => d.to_string(),
            (None, loops) => format!("{} loops", loops.unwrap_or(0)),
        };
        format!("{}{space} {} {end}", self.test, self.interval)
    }

    /// How long one run measures, ns.
    pub fn span(&self) -> Nanos {
        self.duration.unwrap_or_else(|| Nanos(self.loops.unwrap_or(0).saturating_mul(self.interval.0)))
    }

    /// The settings of a run on `target`, a machine whose usable CPUs are `all`; `command` is the command line that asks for it. An error for
    /// lines that a plan can't be read with.
    pub fn settings(&self, target: &str, all: &[u32], command: Vec<String>) -> Result<Settings, LineOptionsError> {
        let cpus = self.affinity.as_deref().unwrap_or(all);
        let pinned = !self.migrate && (self.policy != Policy::Deadline || self.affinity.is_some());
        let settings = Settings {
            interval: self.interval,
            start_offset: self.distance,
            duration: self.duration,
            loops: self.loops,
            threads: self.threads.map_or(u32::try_from(cpus.len()).unwrap_or(1), NonZeroU32::get),
            cpus: if pinned { cpus.to_vec() } else { Vec::new() },
            migrate: !pinned,
            policy: self.policy,
            priority: if self.policy.has_priority() { self.priority } else { 0 },
            priority_descends: self.priospread,
            mlockall: !self.no_mlockall,
            hold_dma_latency: !self.no_dma_latency,
            break_above: self.breaktrace,
            worst: self.worst,
            command,
            ..Settings::default()
        };
        let (test, space, cpus_named) = (self.test, self.space, self.affinity.is_some());
        self.lines().settings(&About { test, space, in_lab: is_lab(target), brings_dut: false, cpus_named, settings: &settings })
    }

    /// What is chosen of its lines.
    fn lines(&self) -> LineOptions {
        LineOptions {
            stimulus: self.stimulus.clone(),
            answer: self.answer.clone(),
            interval_max: self.interval_max,
            interval_seed: self.interval_seed,
            pulse: self.pulse,
            both_edges: self.both_edges,
            active_low: self.active_low,
            min_width: self.min_width,
            timeout: self.timeout,
            warmup: self.warmup,
            calibrate: self.calibrate.clone(),
            dut: self.dut,
            dut_in: self.dut_in.clone(),
            dut_out: self.dut_out.clone(),
            dut_priority: self.dut_priority,
            dut_cpu: self.dut_cpu,
            inject: self.inject,
            shortest: self.shortest,
            handler: self.handler,
        }
    }

    /// What stands against it on one of `targets`.
    pub(super) fn fault(&self, targets: &[String]) -> Option<String> {
        let user_timer_only = self.threads.is_some() || self.distance.0 > 0 || self.priospread || self.breaktrace.is_some();
        if user_timer_only && (self.test != Test::Timer || self.space == Space::Kernel) {
            return Some("threads, distance, priospread and breaktrace are for `timer` in user space only: leave them out".into());
        }
        if self.duration.is_some() && self.loops.is_some() {
            return Some("duration and loops are two ends of one run: leave one out".into());
        }
        if self.interval.0 == 0 || self.span().0 == 0 {
            return Some("a run needs an interval and an end above zero".into());
        }
        if !(1..=99).contains(&self.priority) {
            return Some(format!("priority {} is not from 1 to 99", self.priority));
        }
        if self.worst > 10_000 {
            return Some(format!("worst = {} is more than 10000", self.worst));
        }
        // Which CPUs there are changes nothing of it.
        targets.iter().find_map(|t| self.settings(t, &[0], Vec::new()).err()).map(|e| Failure::from(e).in_one())
    }
}
