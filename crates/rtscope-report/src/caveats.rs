//! What a reader must know about the records behind the figures, collected record by record: virtual machines, verdicts
//! with the warnings that caused them, runs that were ended early.

use rtscope_analysis::seeds::Maxima;
use rtscope_analysis::virtual_machine;
use rtscope_record::{Clock, Effect, Record};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The caveats of some records. Those of one record are small and can be made on any thread.
#[derive(Debug, Clone, Default)]
pub struct Caveats {
    /// At least one record was taken in a virtual machine, in host time.
    host: bool,
    /// At least one record was taken in virtual time, in these models and seeds.
    counted: bool,
    models: BTreeSet<u32>,
    maxima: Maxima,
    /// The loads under which each warning was given, worst warnings first.
    pub(crate) by_code: BTreeMap<(Reverse<Effect>, String), Vec<String>>,
    pub(crate) loads: BTreeSet<String>,
    /// Loads of runs that were ended early.
    pub(crate) cut: Vec<String>,
}

impl Caveats {
    /// The caveats of one record.
    pub fn of(r: &Record) -> Self {
        let p = r.parts();
        let counted = p.clock == Clock::Virtual;
        let found = r.findings();
        let warnings = found.iter().filter(|w| w.effect != Effect::Note);
        Self {
            host: !counted && virtual_machine(r),
            counted,
            models: p.lab.iter().filter(|_| counted).map(|l| l.model).collect(),
            maxima: if counted { Maxima::of(r) } else { Maxima::default() },
            by_code: warnings.map(|w| ((Reverse(w.effect), w.code.clone()), vec![p.load.clone()])).collect(),
            loads: BTreeSet::from([p.load.clone()]),
            cut: if p.interrupted { vec![p.load.clone()] } else { Vec::new() },
        }
    }

    /// The caveats of all `records`.
    pub fn of_all<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut all = Self::default();
        for r in records {
            all.add(Self::of(r));
        }
        all
    }

    /// Adds the caveats of the next records.
    pub fn add(&mut self, more: Self) {
        self.host |= more.host;
        self.counted |= more.counted;
        self.models.extend(more.models);
        self.maxima.add(&more.maxima);
        for (code, loads) in more.by_code {
            let there = self.by_code.entry(code).or_default();
            for load in loads {
                if !there.contains(&load) {
                    there.push(load);
                }
            }
        }
        self.loads.extend(more.loads);
        self.cut.extend(more.cut);
    }

    /// What a virtual machine means for the figures, as emphasized text and explanation, for host time and virtual time
    /// separately.
    pub(crate) fn of_machines(&self) -> Vec<[String; 2]> {
        let mut found = Vec::new();
        if self.host {
            found.push([
                "Taken in a virtual machine:".into(),
                "the figures are of its host and its scheduling as much as of its kernel, and say little about real hardware."
                    .into(),
            ]);
        }
        if self.counted {
            let (head, seeds) = self.lab_words();
            found.push([
                format!("{head}:"),
                format!(
                    "a virtual machine counted its instructions instead of reading a clock. The figures tell kernels and loads apart, the \
                     same on any host; they know no caches and are not those of a board.{seeds}"
                ),
            ]);
        }
        found
    }

    /// The models and seeds of the virtual time, as a headline and a sentence.
    fn lab_words(&self) -> (String, &'static str) {
        let mut head = String::from("Virtual time");
        for (i, model) in self.models.iter().enumerate() {
            let _ = match i {
                0 => write!(head, ", time model {model} ({})", rtscope_record::time_model_meaning(*model)),
                _ => write!(head, " and {model} ({})", rtscope_record::time_model_meaning(*model)),
            };
        }
        let Some(seeds) = self.maxima.seeds() else { return (head, "") };
        let _ = write!(head, ", {}", seeds.words());
        (head, if seeds.seeds == 1 { " They are of one seed: another one may give other maxima (--seed N)." } else { "" })
    }
}
