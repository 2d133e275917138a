//! Tables for a terminal: plain text, aligned, coloured only if the caller says so, and no wider than it says.

mod adam;
mod campaign;
mod caveats;
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
pub use caveats::Caveats;
pub(crate) use caveats::{caveats, machine_caveats};
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

use rtscope_analysis::machine_name;
use rtscope_record::text::visible_line;
use rtscope_record::{Record, Verdict};
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
    let mut out = String::with_capacity(first.len() + text.len() + text.len() / 2 + 1);
    wrap(&mut out, style, first, text);
    out
}

/// [`wrapped`], written behind what is there.
pub(crate) fn wrap(out: &mut String, style: Style, first: &str, text: &str) {
    let indent = first.chars().count();
    let width = style.width.unwrap_or(100).max(indent + 20);
    out.push_str(first);
    let text = visible_line(text);
    let mut rest = text.trim();
    let room = width - indent;
    let mut more = false;
    while !rest.is_empty() {
        if more {
            out.push('\n');
            grid::blanks(out, indent);
        }
        let line = first_line(rest, room);
        words(out, line);
        rest = rest[line.len()..].trim_start();
        more = true;
    }
    out.push('\n');
}

/// As much of `text`, which begins with a word, as takes at most `room` characters with one blank between words; its first word where even
/// that is longer.
fn first_line(text: &str, room: usize) -> &str {
    // Where characters are bytes and one blank is between words, the words lie there as they are written.
    if let Some(start) = text.get(..text.len().min(room + 1)).filter(|start| as_written(start)) {
        if text.len() <= room {
            return text;
        }
        let end = start.rfind(' ').or_else(|| text.find(char::is_whitespace)).unwrap_or(text.len());
        return &text[..end];
    }
    let (mut column, mut end) = (0, 0);
    for word in text.split_whitespace() {
        let gap = usize::from(end > 0);
        let length = word.chars().count();
        if end > 0 && column + gap + length > room {
            break;
        }
        column += gap + length;
        // Words are parts of the text: where this one lies in it is the difference of their places.
        end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
    }
    &text[..end]
}

fn as_written(text: &str) -> bool {
    text.is_ascii() && !text.contains("  ")
}

/// The words of `line`, one blank between them.
fn words(out: &mut String, line: &str) {
    if as_written(line) {
        out.push_str(line);
        return;
    }
    for (nr, word) in line.split_whitespace().enumerate() {
        if nr > 0 {
            out.push(' ');
        }
        out.push_str(word);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Word by word, as the rule is.
    fn plainly(width: usize, first: &str, text: &str) -> String {
        let indent = first.chars().count();
        let width = width.max(indent + 20);
        let (mut out, mut column) = (String::from(first), indent);
        for word in visible_line(text).split_whitespace() {
            let length = word.chars().count();
            if column > indent && column + 1 + length > width {
                out += &("\n".to_owned() + &" ".repeat(indent));
                column = indent;
            }
            if column > indent {
                out.push(' ');
                column += 1;
            }
            out += word;
            column += length;
        }
        out + "\n"
    }

    proptest! {
        #[test]
        fn text_is_wrapped_between_words(
            width in 0usize..60, first in "[a-zé ]{0,12}", text in prop::collection::vec("[a-z]{1,30}|é{1,30}| |  |\t|\n|\u{a0}|\u{1b}", 0..40),
            blank in any::<bool>(),
        ) {
            let text = text.join(if blank { " " } else { "" });
            prop_assert_eq!(wrapped(Style { colour: false, width: Some(width) }, &first, &text), plainly(width, &first, &text));
        }
    }
}
