//! Tables for a terminal: plain text, aligned, coloured only if the caller says so, and no wider than it says.

mod adam;
mod campaign;
mod comparison;
mod detail;
mod findings;
mod grid;
mod instrument;
mod intervals;
mod kernels;
mod lab;
mod list;
mod loads;
mod strip;
mod versus;

pub use adam::{adam, vinh_chau};
pub use campaign::{CampaignRow, CampaignState, campaign};
pub(crate) use comparison::{OFFSET, figure, how, metric, offset, ratio, witness};
pub use comparison::{comparison, evaluations};
pub use detail::{brief, detail};
pub use findings::findings;
pub use intervals::intervals;
pub use kernels::kernels;
pub use lab::seeds;
pub(crate) use lab::{median_ratio, range};
pub use list::{Entry, List, NO_RUNS, list};
pub use loads::loads;
pub(crate) use versus::{misses, short_clock, worst_verdict};
pub use versus::{versus, versus_of};

use rtscope_analysis::{Seeds, machine_name, virtual_machine};
use rtscope_record::{Clock, Effect, Record, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How to write a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Use ANSI colours (the caller knows whether it writes to a terminal, and `NO_COLOR`).
    pub colour: bool,
    /// Columns of the terminal; `None` for as many as the table takes.
    pub width: Option<usize>,
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// Every escape sequence that a table may hold.
pub const PAINTS: [&str; 6] = [BOLD, DIM, GREEN, YELLOW, RED, PLAIN];

/// What a text is painted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Bold,
    Dim,
    Good,
    Doubtful,
    Bad,
}

impl Style {
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.into();
        }
        let begin = match paint {
            Paint::Bold => BOLD,
            Paint::Dim => DIM,
            Paint::Good => GREEN,
            Paint::Doubtful => YELLOW,
            Paint::Bad => RED,
        };
        format!("{begin}{text}{PLAIN}")
    }
}

pub(crate) fn verdict_paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Valid | Verdict::Repeatable => Paint::Good,
        Verdict::Inconclusive => Paint::Doubtful,
        Verdict::Invalid => Paint::Bad,
    }
}

/// `text` wrapped to the style's width, the first line behind `first`, the others behind as many blanks.
pub(crate) fn wrapped(style: Style, first: &str, text: &str) -> String {
    let indent = first.chars().count();
    let width = style.width.unwrap_or(100).max(indent + 20);
    let mut out = String::from(first);
    let mut column = indent;
    for word in crate::format::clean(text).split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        }
        if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

/// What a virtual machine means for figures of `records`, in what is stressed and what follows: host and virtual time apart.
pub(crate) fn machine_caveats(records: &[Record]) -> Vec<[String; 2]> {
    let of = |clock: Clock| records.iter().filter(|r| virtual_machine(r) && r.parts().clock == clock).collect::<Vec<_>>();
    let mut found = Vec::new();
    if !of(Clock::Host).is_empty() {
        found.push([
            "Taken in a virtual machine:".into(),
            "the figures are of its host and its scheduling as much as of its kernel, and say little about real hardware.".into(),
        ]);
    }
    let counted = of(Clock::Virtual);
    if !counted.is_empty() {
        let (head, seeds) = lab_words(&counted);
        found.push([
            format!("{head}:"),
            format!(
                "a virtual machine counted its instructions instead of reading a clock. The figures tell kernels and loads apart, the same on \
                 any host; they know no caches and are not those of a board.{seeds}"
            ),
        ]);
    }
    found
}

/// Whose virtual time that is: its models and seeds, as a headline and as a sentence.
fn lab_words(records: &[&Record]) -> (String, &'static str) {
    let labs: Vec<_> = records.iter().filter_map(|r| r.parts().lab.as_ref()).collect();
    let models: BTreeSet<u32> = labs.iter().map(|l| l.model).collect();
    let mut head = String::from("Virtual time");
    for (i, model) in models.iter().enumerate() {
        let _ = match i {
            0 => write!(head, ", time model {model} ({})", rtscope_record::time_model_meaning(*model)),
            _ => write!(head, " and {model} ({})", rtscope_record::time_model_meaning(*model)),
        };
    }
    let Some(seeds) = Seeds::of(records) else { return (head, "") };
    let _ = write!(head, ", {}", seeds.words());
    (head, if seeds.seeds == 1 { " They are of one seed: another one may give other maxima (--seed N)." } else { "" })
}

/// What a reader of figures from `records` must know: machines that are virtual, and verdicts with the warnings that made them.
pub(crate) fn caveats(style: Style, records: &[Record]) -> String {
    let mut out = String::new();
    for text in machine_caveats(records) {
        out += &wrapped(style, "! ", &text.join(" "));
    }
    let mut by_code: BTreeMap<(std::cmp::Reverse<Effect>, String), Vec<&str>> = BTreeMap::new();
    for r in records {
        for w in r.findings().into_iter().filter(|w| w.effect != Effect::Note) {
            let loads = by_code.entry((std::cmp::Reverse(w.effect), w.code)).or_default();
            if !loads.contains(&r.parts().load.as_str()) {
                loads.push(&r.parts().load);
            }
        }
    }
    let loads: BTreeSet<&str> = records.iter().map(|r| r.parts().load.as_str()).collect();
    for verdict in [Verdict::Invalid, Verdict::Inconclusive] {
        let effect = if verdict == Verdict::Invalid { Effect::Invalid } else { Effect::Inconclusive };
        let mut reasons = Vec::new();
        for ((_, code), under) in by_code.iter().filter(|((e, _), _)| e.0 == effect) {
            let everywhere = under.len() == loads.len();
            reasons.push(if everywhere { code.clone() } else { format!("{code} (under {})", under.join(", ")) });
        }
        if !reasons.is_empty() {
            let first = format!("{verdict}: ");
            let text = wrapped(style, &first, &format!("{}. `rtscope show ID` tells why, and what mends it.", reasons.join(", ")));
            out += &text.replacen(verdict.as_str(), &style.paint(verdict_paint(verdict), verdict.as_str()), 1);
        }
    }
    let cut: Vec<_> = records.iter().filter(|r| r.parts().interrupted).map(|r| r.parts().load.clone()).collect();
    if !cut.is_empty() {
        out += &wrapped(style, "! ", &format!("Ended early: {}. The figures are of the part that ran.", cut.join(", ")));
    }
    out
}

/// One line that says what was measured and where, as far as `records` agree.
pub(crate) fn heading(style: Style, records: &[Record]) -> String {
    let one = |f: &dyn Fn(&Record) -> String| {
        let mut all: Vec<String> = records.iter().map(f).filter(|s| !s.is_empty()).collect();
        all.dedup();
        (all.len() == 1).then(|| crate::format::clean(&all[0]))
    };
    let mut out = String::new();
    let title = one(&|r| format!("{}, {}", crate::shown::title(r.parts().test), crate::shown::space(r)))
        .or_else(|| one(&|r| crate::shown::title(r.parts().test)))
        .unwrap_or_else(|| crate::shown::quantities(records));
    out += &style.paint(Paint::Bold, &title);
    let kernel = one(&|r| format!("kernel {} {}", r.parts().system.kernel.release, r.parts().system.kernel.preemption.as_str()));
    for part in [one(&machine_name), kernel, one(&|r| format!("interval {}", r.parts().settings.interval))].into_iter().flatten() {
        let _ = write!(out, " · {part}");
    }
    out.push('\n');
    out
}
