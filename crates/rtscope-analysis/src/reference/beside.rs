//! Which published latencies may stand beside one's own runs: those of the same test, space and kind of figure.

use super::row::{Figure, Reference};
use crate::kernel::KernelModel;
use crate::summary::{clock_words, machine_name, summarize, time_model, virtual_machine};
use rtscope_record::{DistributionError, Record, Space, Test, Verdict};
use serde::Serialize;

/// The figures of one's own run that stand beside published ones: of all its samples together, as they were taken. Times
/// are in ns; a jitter counts by its amount, early or late.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Own {
    /// The record's id.
    pub id: String,
    /// What was measured.
    pub test: Test,
    /// Where the task ran.
    pub space: Space,
    /// Board, else processor, else machine; of the lab its name.
    pub board: String,
    /// The kernel.
    pub kernel: KernelModel,
    /// What held the clock: `rtscope`, or the format that it was imported from; of a test over lines the instrument and its lines.
    pub tool: String,
    /// Whether its lines are software: no pin is in between.
    pub soft_lines: bool,
    /// Name of the load.
    pub load: String,
    /// Number of samples.
    pub samples: u64,
    /// Events that gave no sample: they are in no figure.
    pub missed: u64,
    /// Lowest.
    pub min: Option<u64>,
    /// Mean.
    pub avg: Option<f64>,
    /// Highest.
    pub max: Option<u64>,
    /// Standard deviation (population form).
    pub std: Option<f64>,
    /// Whether the figures may be trusted.
    pub verdict: Verdict,
    /// Clock and machine in words.
    pub clock: String,
    /// Whether it is a virtual machine.
    pub virtual_machine: bool,
    /// The time model of the lab, for virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<u32>,
}

impl Own {
    /// The figures of a record. Fails only when its summed counts exceed a u64.
    pub fn of(record: &Record) -> Result<Self, DistributionError> {
        let (p, s) = (record.parts(), summarize(record)?);
        let named = |text: &Option<String>| text.clone().filter(|t| !t.is_empty());
        let all = s.merged.as_ref();
        Ok(Self {
            test: p.test,
            space: p.space,
            board: match &p.lab {
                Some(lab) => lab.name(),
                None => named(&p.system.board).or_else(|| named(&p.system.cpu.model)).unwrap_or_else(|| machine_name(record)),
            },
            kernel: KernelModel::of(record),
            tool: tool(record),
            soft_lines: p.settings.lines.as_ref().is_some_and(|l| l.answer.starts_with("soft:")),
            load: p.load.clone(),
            samples: all.map_or(0, |a| a.count),
            missed: all.map_or(0, |a| a.missed),
            min: all.and_then(|a| a.min),
            avg: all.and_then(|a| a.mean),
            max: all.and_then(|a| a.max),
            std: all.and_then(|a| a.stddev),
            verdict: record.verdict(),
            clock: clock_words(record),
            virtual_machine: virtual_machine(record),
            model: time_model(record),
            id: s.id,
        })
    }
}

/// What held the clock of a record.
fn tool(record: &Record) -> String {
    let p = record.parts();
    let program = p.source.as_ref().map_or("rtscope", |s| &s.format);
    let instrument = p.instrument.as_ref().map(|i| i.what.as_str()).filter(|what| !what.is_empty());
    let lines = p.settings.lines.as_ref().map(|l| l.stimulus.iter().chain([&l.answer]).map(String::as_str).collect::<Vec<_>>());
    let lines = lines.map(|l| l.join(" to "));
    [Some(program), instrument, lines.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// One's own runs of a test and space, and what was published of the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    /// The test.
    pub test: Test,
    /// The space.
    pub space: Space,
    /// What the figures are; `None` for a test whose figure is no time.
    pub figure: Option<Figure>,
    /// One's own runs, in the order given.
    pub own: Vec<Own>,
    /// What was published, in the order of the data; RT kernels first.
    pub references: Vec<Reference>,
    /// Ids of matching rows that are left out, because they quote another that is here.
    pub quotations: Vec<String>,
    /// Why there is nothing published; `None` where there is.
    pub none: Option<String>,
}

/// The maxima of stock and of RT that Balci plots of timers in user space without load, and Dewit under load, as far as they are in `found`.
pub fn plotted<'a>(found: &'a [Beside], space: Space, load: &str) -> impl Iterator<Item = &'a Reference> {
    let study = if load == "none" { "Balci 2017" } else { "Dewit 2024, Table I" };
    let of = found.iter().filter(move |b| b.test == Test::Timer && b.space == space);
    of.flat_map(|b| &b.references).filter(move |r| r.study == study && r.max.is_some())
}

/// What figure of a test can stand beside published ones.
fn figure(test: Test) -> Option<Figure> {
    match test {
        Test::Timer | Test::Response => Some(Figure::Latency),
        Test::Periodic => Some(Figure::Jitter),
        Test::Sustained => None,
    }
}

/// For each test and space of the runs in `own`, in the order of the first of each, those of `references` with the same test,
/// space and figure. `narrowed` says that filters chose the references.
pub fn beside(own: Vec<Own>, references: &[Reference], narrowed: bool) -> Vec<Beside> {
    let mut found: Vec<Beside> = Vec::new();
    for o in own {
        match found.iter_mut().find(|b| b.test == o.test && b.space == o.space) {
            Some(b) => b.own.push(o),
            None => found.push(Beside {
                test: o.test,
                space: o.space,
                figure: figure(o.test),
                own: vec![o],
                references: Vec::new(),
                quotations: Vec::new(),
                none: None,
            }),
        }
    }
    for b in &mut found {
        let fits = |r: &&Reference| r.test == b.test && r.space == Some(b.space) && Some(r.figure) == b.figure;
        let fitting: Vec<&Reference> = references.iter().filter(fits).collect();
        let quoted = |r: &Reference| r.original.as_ref().is_some_and(|o| fitting.iter().any(|f| f.id == *o));
        b.quotations = fitting.iter().filter(|r| quoted(r)).map(|r| r.id.clone()).collect();
        b.references = fitting.iter().filter(|r| !quoted(r)).map(|r| (*r).clone()).collect();
        b.references.sort_by_key(|r| !r.rt);
        b.none = b.references.is_empty().then(|| {
            let which = if narrowed { " and passes the filters" } else { "" };
            let what = b.figure.map_or("a rate", Figure::as_str);
            format!("No published figure is of the test {} in {} space ({what}){which}.", b.test, b.space)
        });
    }
    found
}
