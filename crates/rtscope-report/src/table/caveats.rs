//! What a reader of figures must know of the records that they are of, record by record: machines that are virtual, verdicts with the warnings
//! that made them, runs that were ended early.

use super::{Style, verdict_paint, wrapped};
use rtscope_analysis::compare::{NAMED, first_of};
use rtscope_analysis::seeds::Maxima;
use rtscope_analysis::virtual_machine;
use rtscope_record::{Clock, Effect, Record, Verdict};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What there is to know of some records. That of one is small, and can be made on any thread.
#[derive(Debug, Clone, Default)]
pub struct Caveats {
    /// One was taken in a virtual machine that reads the host's clock.
    host: bool,
    /// One was taken in virtual time; of those models and seeds.
    counted: bool,
    models: BTreeSet<u32>,
    maxima: Maxima,
    /// The loads under which each warning was given, the worst warnings first.
    by_code: BTreeMap<(Reverse<Effect>, String), Vec<String>>,
    loads: BTreeSet<String>,
    /// Loads of runs that were ended early.
    cut: Vec<String>,
}

impl Caveats {
    /// Those of a record.
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

    /// Those of all `records`.
    pub fn of_all(records: &[Record]) -> Self {
        let mut all = Self::default();
        for r in records {
            all.add(Self::of(r));
        }
        all
    }

    /// Adds those of the records that come next.
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

    /// What a virtual machine means for the figures, in what is stressed and what follows: host and virtual time apart.
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

    /// Whose virtual time that is: its models and seeds, as a headline and as a sentence.
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

    /// All of it, as a table's last lines.
    pub(crate) fn render(&self, style: Style) -> String {
        let mut out = String::new();
        for text in self.of_machines() {
            out += &wrapped(style, "! ", &text.join(" "));
        }
        for verdict in [Verdict::Invalid, Verdict::Inconclusive] {
            let effect = if verdict == Verdict::Invalid { Effect::Invalid } else { Effect::Inconclusive };
            let mut reasons = Vec::new();
            for ((_, code), under) in self.by_code.iter().filter(|((e, _), _)| e.0 == effect) {
                let everywhere = under.len() == self.loads.len();
                reasons.push(if everywhere { code.clone() } else { format!("{code} (under {})", under.join(", ")) });
            }
            if !reasons.is_empty() {
                let first = format!("{verdict}: ");
                let text =
                    wrapped(style, &first, &format!("{}. `rtscope show ID` tells why, and what mends it.", reasons.join(", ")));
                out += &text.replacen(verdict.as_str(), &style.paint(verdict_paint(verdict), verdict.as_str()), 1);
            }
        }
        if !self.cut.is_empty() {
            out += &wrapped(
                style,
                "! ",
                &format!("Ended early: {}. The figures are of the part that ran.", first_of(&self.cut, NAMED)),
            );
        }
        out
    }
}

/// [`Caveats::of_machines`] of all `records`.
pub(crate) fn machine_caveats(records: &[Record]) -> Vec<[String; 2]> {
    Caveats::of_all(records).of_machines()
}

/// [`Caveats`] of all `records`.
pub(crate) fn caveats(style: Style, records: &[Record]) -> String {
    Caveats::of_all(records).render(style)
}
