//! Response and periodic tests as in Adam 2021, Tables 1 and 2: for each kernel and space the minimum, maximum, spread
//! and share below a threshold, for both edges together and for each.
//!
//! Runs are merged exactly where they agree in test, machine, OS, kernel, space, load, clock, interval, device and
//! instrument; others never are.

pub use crate::edges::{EdgeFigures, edge_figures};

use crate::edges::figures;
use crate::finding::{Finding, finding};
use crate::kernel::{KernelModel, Role};
use crate::summary::{clock_words, machine_name, time_model, virtual_machine};
use rtscope_failure::{Fault, Problem};
use rtscope_record::{Clock, DistributionError, Nanos, Record, Space, Test, Tuning, Verdict};
use serde::Serialize;
use std::collections::BTreeSet;

/// The default threshold, ns: Adam's upper bound, "an acceptable safety margin".
pub const THRESHOLD: Nanos = Nanos(160_000);

/// The merged runs of one kernel, machine, space, load and clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// `response` (latency) or `periodic` (signed jitter).
    pub test: Test,
    /// Board, else processor, else host name; empty where a record does not say.
    pub machine: String,
    /// Distribution; empty where a record does not say.
    pub os: String,
    /// The kernel.
    pub kernel: KernelModel,
    /// Architecture as `uname -m` has it; may be empty.
    pub arch: String,
    /// Where the device's task ran.
    pub space: Space,
    /// What answered in kernel space, in words, with the kind of handler; empty in user space.
    pub device: String,
    /// Interval between two stimuli, or semi-period of the wave, ns.
    pub interval: Nanos,
    /// Name of the load.
    pub load: String,
    /// Whose time the figures are in.
    pub clock: Clock,
    /// The time model of the lab, for virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<u32>,
    /// Clock and machine in words.
    pub clock_words: String,
    /// Whether it is a virtual machine.
    pub virtual_machine: bool,
    /// What held the clock, in words; empty where the record does not say.
    pub instrument: String,
    /// Ids of the records that were merged.
    pub ids: Vec<String>,
    /// Ids of INVALID records that were left out.
    pub left_out: Vec<String>,
    /// The worst verdict among the merged.
    pub verdict: Verdict,
    /// Both edges together.
    pub both: EdgeFigures,
    /// Each edge: rising, falling.
    pub edges: Vec<EdgeFigures>,
    /// What another instrument saw of the same runs, where a second selection was given.
    pub external: Option<External>,
}

/// What another instrument saw of a group's runs: the oscilloscope's columns of Table 2.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct External {
    /// What held its clock, in words.
    pub instrument: String,
    /// Ids of its records.
    pub ids: Vec<String>,
    /// The worst verdict among them.
    pub verdict: Verdict,
    /// Both edges together.
    pub both: EdgeFigures,
    /// Each edge.
    pub edges: Vec<EdgeFigures>,
}

/// The groups of a selection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineTests {
    /// By machine and kernel; RT before stock, user space before kernel space, as in the paper.
    pub groups: Vec<Group>,
    /// The thresholds of every share, ns.
    pub thresholds: Vec<Nanos>,
    /// What the reader must beware of.
    pub findings: Vec<Finding>,
}

/// Why the groups can't be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LineTestsError {
    /// No record of these tests.
    #[error(
        "the selection holds no record of the tests response or periodic: measure one (`rtscope measure response`), or see `rtscope list`"
    )]
    Empty,
    /// The counts exceed a u64.
    #[error("the records of {kernel} can't be merged: {error}")]
    Merge {
        /// Which kernel.
        kernel: String,
        /// Why.
        error: DistributionError,
    },
}

impl Problem for LineTestsError {
    fn remedy(&self) -> String {
        match self {
            // The message already says what to do.
            Self::Empty => String::new(),
            Self::Merge { error, .. } => error.remedy(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

/// What the records of a group have in common. Its order is that of the tables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    clock: Clock,
    machine: String,
    arch: String,
    series: Option<(u64, u64)>,
    os: String,
    load: String,
    space: Space,
    stock: bool,
    release: String,
    parameters: Vec<String>,
    tuning: Tuning,
    test: Test,
    device: String,
    interval: u64,
    clock_words: String,
    instrument: String,
}

impl Key {
    fn of(r: &Record) -> Self {
        let (p, s) = (r.parts(), &r.parts().system);
        let kernel = KernelModel::of(r);
        let named = |text: &Option<String>| text.clone().filter(|t| !t.is_empty());
        let facts = p.instrument.as_ref();
        Self {
            clock: p.clock,
            // The kernel is a key of its own: stock and RT kernels of one lab belong next to each other.
            machine: match &p.lab {
                Some(lab) => format!("lab, time model {}", lab.model),
                None => named(&s.board).or_else(|| named(&s.cpu.model)).unwrap_or_else(|| machine_name(r)),
            },
            arch: s.kernel.arch.clone(),
            series: kernel.numbers(),
            os: s.os.clone().unwrap_or_default(),
            load: p.load.clone(),
            space: p.space,
            stock: kernel.role != Role::Rt,
            release: kernel.release,
            parameters: kernel.parameters,
            tuning: kernel.tuning,
            test: p.test,
            // In user space the settings describe who answers, by CPU and priority; in kernel space it is the handler.
            device: facts.filter(|_| p.space == Space::Kernel).map(|i| i.dut.clone()).unwrap_or_default(),
            interval: p.settings.interval.0,
            clock_words: clock_words(r),
            instrument: facts.map(|i| i.what.clone()).unwrap_or_default(),
        }
    }
}

/// Groups the response and periodic records among `records`; a record that is given twice counts once. `external` holds
/// records of the same runs by another instrument: they are attached to the one group with the same test, space and load,
/// and with the same kernel where they name one. Without `thresholds`, [`THRESHOLD`] is used.
pub fn line_tests(records: &[Record], external: &[Record], thresholds: &[Nanos]) -> Result<LineTests, LineTestsError> {
    let thresholds = if thresholds.is_empty() { vec![THRESHOLD] } else { thresholds.to_vec() };
    let mut ids = BTreeSet::new();
    let (of_lines, others): (Vec<&Record>, Vec<&Record>) =
        records.iter().filter(|r| ids.insert(r.id())).partition(|r| matches!(r.parts().test, Test::Response | Test::Periodic));
    if of_lines.is_empty() {
        return Err(LineTestsError::Empty);
    }
    let mut groups = Vec::new();
    for (_, members) in grouped(&of_lines) {
        groups.push(group(&members, &thresholds)?);
    }
    let mut findings = remarks(&groups);
    if !others.is_empty() {
        let tests: BTreeSet<&str> = others.iter().map(|r| r.parts().test.as_str()).collect();
        findings.push(finding(
            "other-tests",
            format!(
                "{} records of other tests ({}) are not in these tables",
                others.len(),
                tests.into_iter().collect::<Vec<_>>().join(", ")
            ),
            "select them apart: test=timer",
        ));
    }
    findings.extend(beside(&mut groups, external, &thresholds)?);
    Ok(LineTests { groups, thresholds, findings })
}

fn grouped<'a>(records: &[&'a Record]) -> Vec<(Key, Vec<&'a Record>)> {
    let mut groups: std::collections::BTreeMap<Key, Vec<&'a Record>> = std::collections::BTreeMap::new();
    for r in records {
        groups.entry(Key::of(r)).or_default().push(r);
    }
    groups.into_iter().collect()
}

fn group(members: &[&Record], thresholds: &[Nanos]) -> Result<Group, LineTestsError> {
    let (sound, invalid): (Vec<&Record>, Vec<&Record>) = members.iter().partition(|r| r.verdict() != Verdict::Invalid);
    let (merged, left_out) = if sound.is_empty() { (invalid, Vec::new()) } else { (sound, invalid) };
    let first = merged[0];
    let (key, kernel) = (Key::of(first), KernelModel::of(first));
    let (both, edges) =
        figures(&merged, thresholds).map_err(|error| LineTestsError::Merge { kernel: kernel.label.clone(), error })?;
    let ids = |records: &[&Record]| records.iter().map(|r| r.id().to_owned()).collect();
    Ok(Group {
        test: key.test,
        machine: key.machine,
        os: key.os,
        kernel,
        arch: key.arch,
        space: key.space,
        device: key.device,
        interval: Nanos(key.interval),
        load: key.load,
        clock: key.clock,
        model: time_model(first),
        clock_words: key.clock_words,
        virtual_machine: merged.iter().any(|r| virtual_machine(r)),
        instrument: key.instrument,
        ids: ids(&merged),
        left_out: ids(&left_out),
        verdict: worst(&merged),
        both,
        edges,
        external: None,
    })
}

fn worst(records: &[&Record]) -> Verdict {
    records.iter().map(|r| r.verdict()).max().unwrap_or(Verdict::Invalid)
}

fn remarks(groups: &[Group]) -> Vec<Finding> {
    let mut found = Vec::new();
    let names = |of: &[&Group]| of.iter().map(|g| format!("{} {}", g.kernel.label, g.space)).collect::<Vec<_>>().join(", ");
    let mut put = |of: Vec<&Group>, code: &str, message: &dyn Fn(&str) -> String, remedy: &str| {
        if !of.is_empty() {
            found.push(finding(code, message(&names(&of)), remedy));
        }
    };
    let of = |f: &dyn Fn(&Group) -> bool| groups.iter().filter(|g| f(g)).collect::<Vec<_>>();
    put(of(&|g| !g.left_out.is_empty()), "left-out", &|n| format!("INVALID runs are left out of {n}"), "see why: rtscope show ID");
    put(
        of(&|g| g.both.missed > 0),
        "missed",
        &|n| format!("stimuli without an answer in time are in no minimum, maximum or deviation, and count as not below: {n}"),
        "a longer --timeout tells late answers from none",
    );
    put(
        of(&|g| g.kernel.role == Role::Unknown),
        "preemption-unknown",
        &|n| format!("whether the kernel is PREEMPT_RT is not known: {n}"),
        "measure with rtscope on the device itself, or in the lab",
    );
    let clocks: BTreeSet<&str> = groups.iter().map(|g| g.clock.as_str()).collect();
    if clocks.len() > 1 {
        found.push(finding("clock-differs", "rows in virtual and in host time do not compare".into(), "select one of both"));
    }
    let models: BTreeSet<u32> = groups.iter().filter_map(|g| g.model).collect();
    if models.len() > 1 {
        let names = models.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let message = format!("rows of different time models of the lab ({names}) do not compare: what things cost differs");
        found.push(finding("model-differs", message, "select those of one target and model, or measure all in one: --model N"));
    }
    found
}

/// Attaches the records of another instrument to the groups that they belong to.
fn beside(groups: &mut [Group], external: &[Record], thresholds: &[Nanos]) -> Result<Vec<Finding>, LineTestsError> {
    let of_lines: Vec<&Record> = external.iter().filter(|r| matches!(r.parts().test, Test::Response | Test::Periodic)).collect();
    let mut found = Vec::new();
    for (key, members) in grouped(&of_lines) {
        let fits = |g: &Group| {
            let kernel = key.release.is_empty() || key.release == g.kernel.release;
            g.test == key.test && g.space == key.space && g.load == key.load && kernel && g.external.is_none()
        };
        let mut fitting = groups.iter_mut().filter(|g| fits(g));
        let ids: Vec<String> = members.iter().map(|r| r.id().to_owned()).collect();
        let (Some(g), None) = (fitting.next(), fitting.next()) else {
            found.push(finding(
                "no-partner",
                format!("{} has no one row that it could be of: its test, space, load and kernel decide", ids.join(", ")),
                "select the runs that both instruments saw: rtscope compare A B --table adam",
            ));
            continue;
        };
        let error = |error| LineTestsError::Merge { kernel: g.kernel.label.clone(), error };
        let (both, edges) = figures(&members, thresholds).map_err(error)?;
        g.external = Some(External { instrument: key.instrument, ids, verdict: worst(&members), both, edges });
    }
    Ok(found)
}

#[cfg(test)]
#[path = "line_tests_tests.rs"]
mod tests;
