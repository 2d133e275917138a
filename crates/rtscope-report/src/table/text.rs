//! Text for a terminal: colours where wanted, and lines wrapped to its width.

use crate::format::clean;
use crate::sheet::Mark;
use rtscope_analysis::Finding;
use rtscope_record::Verdict;
use rtscope_record::text::visible_line;

/// How to write a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Use ANSI colours (the caller checks whether it writes to a terminal, and `NO_COLOR`).
    pub colour: bool,
    /// Columns of the terminal; `None` for no limit.
    pub width: Option<usize>,
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// Every escape sequence that a table may contain.
pub const PAINTS: [&str; 6] = [BOLD, DIM, GREEN, YELLOW, RED, PLAIN];

/// How a text is highlighted.
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

/// How a terminal highlights a cell with this mark.
pub(crate) fn paint_of(mark: Mark) -> Paint {
    match mark {
        Mark::Main | Mark::Ratio => Paint::Bold,
        Mark::Quiet => Paint::Dim,
        Mark::Good => Paint::Good,
        Mark::Doubtful => Paint::Doubtful,
        Mark::Bad | Mark::Invalid => Paint::Bad,
        Mark::Verdict(v) => verdict_paint(v),
    }
}

pub(crate) fn verdict_paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Valid | Verdict::Repeatable => Paint::Good,
        Verdict::Inconclusive => Paint::Doubtful,
        Verdict::Invalid => Paint::Bad,
    }
}

/// `text` wrapped to the style's width, the first line after `first`, the others indented by the same width.
pub(crate) fn wrapped(style: Style, first: &str, text: &str) -> String {
    let mut out = String::with_capacity(first.len() + text.len() + text.len() / 2 + 1);
    wrap(&mut out, style, first, text);
    out
}

/// [`wrapped`], appended to `out`.
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
            blanks(out, indent);
        }
        let line = first_line(rest, room);
        words(out, line);
        rest = rest[line.len()..].trim_start();
        more = true;
    }
    out.push('\n');
}

/// `text` with the lines that are longer than `width` continued on further ones, which are indented as they are. Lines with colours
/// stay: tables fit already.
pub fn folded(text: &str, width: usize) -> String {
    let style = Style { colour: false, width: Some(width) };
    let fold = |line: &str| {
        if line.chars().count() <= width || line.contains('\x1b') {
            return line.to_owned();
        }
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        wrapped(style, &indent, line).trim_end().to_owned()
    };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}

/// A finding of a comparison, with its remedy.
pub(crate) fn finding(style: Style, f: &Finding) -> String {
    let code = clean(&f.code);
    let text = format!("{code}: {}. Remedy: {}", f.message, f.remedy);
    wrapped(style, "! ", &text).replacen(&code, &style.paint(Paint::Doubtful, &code), 1)
}

/// Appends `n` blanks.
pub(crate) fn blanks(out: &mut String, n: usize) {
    const SOME: &str = "                                                                ";
    for _ in 0..n / SOME.len() {
        out.push_str(SOME);
    }
    out.push_str(&SOME[..n % SOME.len()]);
}

/// As many words from the start of `text` as fit into `room` characters with one blank between them; at least the first
/// word, however long. `text` must begin with a word.
fn first_line(text: &str, room: usize) -> &str {
    // In ASCII text with single blanks, the words can be taken as they are.
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
        // Words are slices of the text, so the difference of addresses is the position.
        end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
    }
    &text[..end]
}

fn as_written(text: &str) -> bool {
    text.is_ascii() && !text.contains("  ")
}

/// The words of `line`, separated by single blanks.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A reference implementation, word by word.
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

    #[test]
    fn long_lines_are_continued_under_themselves() {
        let text = "rtscope: error: one two three\n  try: three four five six\na  b\n\x1b[1mcoloured and long enough\x1b[0m\n";
        assert_eq!(
            folded(text, 24),
            "rtscope: error: one two\nthree\n  try: three four five\n  six\na  b\n\x1b[1mcoloured and long enough\x1b[0m\n"
        );
        assert_eq!(folded("a-word-that-is-longer-than-that\n", 24), "a-word-that-is-longer-than-that\n");
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
