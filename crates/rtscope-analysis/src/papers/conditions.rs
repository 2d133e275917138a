//! On what one's own runs were taken, and what of it is another than in the papers.

use super::paper::Paper;
use super::run::{PaperRun, RunKind, range};
use super::tables;
use crate::kernel::Role;
use rtscope_record::{Clock, Space, Test};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A condition in which one's own runs are not the paper's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherCondition {
    /// Which: "machine", "length of the timer test".
    pub what: String,
    /// One's own, each once.
    pub yours: Vec<String>,
    /// The paper's; "not stated" where it does not say.
    pub theirs: String,
}

impl fmt::Display for OtherCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; theirs: {}", self.what, self.yours.join(", "), self.theirs)
    }
}

const NOT_STATED: &str = "not stated";
const SECOND: u64 = 1_000_000_000;

/// What a paper says of its conditions, as far as a run can be held against it.
struct Theirs {
    /// The boards in words, and each as a device tree names it.
    machine: (&'static str, &'static [&'static str]),
    /// Major and minor numbers of the kernels; empty where they are not stated.
    kernels: &'static [(u64, u64)],
    tests: &'static [TheirTest],
    /// What else ran, and whether a load is that.
    load: (&'static str, fn(&str) -> bool),
    /// What held the clock of the tests over lines, and whether that of a run is such.
    instrument: (&'static str, fn(&RunKind) -> bool),
}

/// What a paper says of a test.
struct TheirTest {
    test: Test,
    /// Shortest and longest interval, ns.
    interval: Option<(u64, u64)>,
    length: Option<(&'static str, Length)>,
    threads: Option<u32>,
}

/// How long a run was; one that was longer is no shorter for it.
enum Length {
    /// So many samples of a thread, or of a line.
    Samples(u64),
    /// So long, ns.
    Time(u64),
}

impl Length {
    fn is_reached(&self, k: &RunKind) -> bool {
        let mean = (k.interval / 2 + k.interval_max / 2).max(1);
        match self {
            Self::Samples(n) => k.loops.or(k.duration.map(|d| d / mean)).is_some_and(|own| own >= *n),
            Self::Time(ns) => k.duration.or(k.loops.map(|n| n.saturating_mul(mean))).is_some_and(|own| own >= *ns),
        }
    }
}

const ADAM: Theirs = Theirs {
    machine: ("Raspberry Pi 3 B and BeagleBone Black", &["Raspberry Pi 3 Model B", "BeagleBone Black"]),
    kernels: &[(4, 14), (4, 19)],
    tests: &[
        TheirTest {
            test: Test::Response,
            interval: Some((1_000_000, 10_000_000)),
            length: Some(("1 M samples, about 3 h", Length::Samples(1_000_000))),
            threads: None,
        },
        TheirTest {
            test: Test::Periodic,
            interval: Some((15_000_000, 15_000_000)),
            length: Some(("10 000 samples and fewer", Length::Samples(10_000))),
            threads: None,
        },
    ],
    load: (NOT_STATED, |_| false),
    instrument: ("a program on a second board, over GPIO by sysfs, and an oscilloscope", |k| k.apart),
};

const BALCI: Theirs = Theirs {
    machine: ("Raspberry Pi 3 B", &["Raspberry Pi 3 Model B"]),
    kernels: &[(4, 9)],
    tests: &[TheirTest {
        test: Test::Timer,
        interval: Some((200_000, 200_000)),
        length: Some(("100 M cycles a CPU, more than 5 h", Length::Samples(100_000_000))),
        threads: Some(4),
    }],
    load: ("none", |load| load == "none"),
    instrument: ("cyclictest", |_| true),
};

const DEWIT: Theirs = Theirs {
    machine: ("Raspberry Pi 5", &["Raspberry Pi 5 Model B"]),
    kernels: &[(6, 6)],
    tests: &[TheirTest {
        test: Test::Timer,
        interval: Some((100_000, 100_000)),
        length: Some(("1h", Length::Time(3_600 * SECOND))),
        threads: Some(4),
    }],
    load: ("stress-ng --all 1, and iperf3 from another computer", |_| false),
    instrument: ("cyclictest", |_| true),
};

const VINH: Theirs = Theirs {
    machine: ("Triton kit with an Intel PXA255", &["PXA255"]),
    kernels: &[],
    tests: &[
        TheirTest { test: Test::Periodic, interval: Some((20_000_000, 20_000_000)), length: None, threads: None },
        TheirTest { test: Test::Response, interval: None, length: None, threads: None },
    ],
    load: ("loads of these names, of which it is not stated what they run", |load| load == "none"),
    instrument: ("an FPGA, resolution 1 us", |k| k.device.contains("FPGA")),
};

impl Theirs {
    fn of(paper: Paper) -> &'static Self {
        match paper {
            Paper::Adam2021 => &ADAM,
            Paper::Balci2017 => &BALCI,
            Paper::Dewit2024 => &DEWIT,
            Paper::VinhChau => &VINH,
        }
    }

    /// What of this kind is another: which condition, one's own and theirs.
    fn against(&self, k: &RunKind) -> Vec<(String, String, String)> {
        let mut all = Vec::new();
        let mut differs = |is: bool, what: &str, yours: String, theirs: &str| {
            all.extend(is.then(|| (what.to_owned(), yours, theirs.to_owned())));
        };
        // "Plus" is another board.
        let same_board = |name: &&str| k.machine.split_once(*name).is_some_and(|(_, rest)| !rest.starts_with(" Plus"));
        differs(k.clock == Clock::Virtual || !self.machine.1.iter().any(same_board), "machine", machine(k), self.machine.0);
        let stated = self.kernels.iter().map(|(major, minor)| format!("{major}.{minor}")).collect::<Vec<_>>().join(" and ");
        let same_kernel = k.kernel.numbers().is_some_and(|n| self.kernels.contains(&n));
        differs(!same_kernel, "kernel", k.kernel.series(), if stated.is_empty() { NOT_STATED } else { &stated });
        let of = |what: &str| format!("{what} of the {} test", k.test);
        if let Some(t) = self.tests.iter().find(|t| t.test == k.test) {
            let interval = t.interval.map_or_else(|| NOT_STATED.to_owned(), range);
            differs(t.interval != Some((k.interval, k.interval_max)), &of("interval"), k.every(), &interval);
            let length = t.length.as_ref();
            differs(!length.is_some_and(|l| l.1.is_reached(k)), &of("length"), k.length(), length.map_or(NOT_STATED, |l| l.0));
            if let Some(threads) = t.threads {
                differs(threads != k.threads, "threads", k.threads.to_string(), &threads.to_string());
            }
        }
        differs(!(self.load.1)(&k.load), "load", load(k), self.load.0);
        differs(k.test != Test::Timer && !(self.instrument.1)(k), "instrument", k.instrument().to_owned(), self.instrument.0);
        all
    }
}

/// A machine, and whether its time is its own.
fn machine(k: &RunKind) -> String {
    let RunKind { machine, arch, clock_words, .. } = k;
    match k.model {
        Some(model) => format!("a virtual machine ({arch}) in virtual time, model {model}"),
        None if machine == "lab" => format!("a virtual machine ({arch}) in its host's time"),
        None if clock_words == "host" => machine.clone(),
        None => format!("{machine}, clock {clock_words}"),
    }
}

fn load(k: &RunKind) -> String {
    if k.load == "dewit" { "dewit, whose iperf3 runs on the machine itself".into() } else { k.load.clone() }
}

/// What of a test itself is another than the paper's.
fn of_the_test(paper: Paper, k: &RunKind) -> Option<(String, String, String)> {
    let (what, yours, theirs) = match (k.test, k.space) {
        _ if paper != Paper::VinhChau => return None,
        (_, Space::Kernel) if k.kernel.role == Role::Rt => ("interrupt of Tables 4 and 5", "IRQ, on PREEMPT_RT", "FIQ"),
        (Test::Periodic, Space::User) => ("sleep", "to an absolute grid", "usleep from where it woke up"),
        _ => return None,
    };
    Some((what.into(), yours.into(), theirs.into()))
}

/// What of one's own runs that are in a paper's tables is another than the paper's, in the order in which it is met.
pub(super) fn others(paper: Paper, kinds: &BTreeMap<RunKind, Vec<&PaperRun>>) -> Vec<OtherCondition> {
    let mut all: Vec<OtherCondition> = Vec::new();
    for k in kinds.keys().filter(|k| tables::has(paper, k)) {
        for (what, own, theirs) in Theirs::of(paper).against(k).into_iter().chain(of_the_test(paper, k)) {
            match all.iter_mut().find(|o| o.what == what && o.theirs == theirs) {
                Some(o) if o.yours.contains(&own) => {}
                Some(o) => o.yours.push(own),
                None => all.push(OtherCondition { what, yours: vec![own], theirs }),
            }
        }
    }
    all
}

/// What runs on one machine by one test had.
#[derive(Default)]
struct Conditions<'a> {
    kernels: Vec<&'a str>,
    loads: Vec<&'a str>,
    runs: usize,
}

/// On what, how and how long one's own runs were taken that are in a paper's tables: a line for each machine and test.
pub(super) fn own(paper: Paper, kinds: &BTreeMap<RunKind, Vec<&PaperRun>>) -> Vec<String> {
    let mut all: BTreeMap<String, Conditions<'_>> = BTreeMap::new();
    for (k, runs) in kinds.iter().filter(|(k, _)| tables::has(paper, k)) {
        let threads = if k.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", k.threads) };
        let by = if k.device.is_empty() { String::new() } else { format!(", {}", k.device) };
        let (clock, interval) = (&k.clock_words, k.every());
        let of = all
            .entry(format!(
                "{} {clock}, {} test in {} space every {interval}, {}, {threads}, {}{by}",
                k.machine,
                k.test,
                k.space,
                k.length(),
                k.scheduling
            ))
            .or_default();
        for (list, one) in [(&mut of.kernels, k.kernel.label.as_str()), (&mut of.loads, k.load.as_str())] {
            if !list.contains(&one) {
                list.push(one);
            }
        }
        of.runs += runs.len();
    }
    let line = |(what, of): (String, Conditions<'_>)| {
        format!("{what}; {} runs; kernels {}; loads {}", of.runs, of.kernels.join(", "), of.loads.join(", "))
    };
    all.into_iter().map(line).collect()
}
