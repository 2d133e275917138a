//! The only place that writes to the terminal. Results go to standard output, everything else to standard error.

use rtscope_failure::{Explain, Failure, Fault};
use rtscope_record::text::visible;
use rtscope_report::table::PAINTS;
use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the reader of a [`Stream`] on standard output went away. As standard output itself, of the process.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// Whether a command ended because nobody reads its result on.
pub(crate) fn is_unread() -> bool {
    UNREAD.load(Ordering::Relaxed)
}

/// Writes a result to standard output, foreign text in it made harmless. A reader that went away (`| head`) ends the program quietly; a
/// full disk is an error.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    exact(shown(text, colour()).as_bytes())
}

/// Writes a document: to a file or a program byte for byte, on a terminal as [`result`].
pub(crate) fn document(bytes: &[u8]) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { result(&String::from_utf8_lossy(bytes)) } else { exact(bytes) }
}

/// Writes bytes as they are: what a guest's console says, cyclictest's lines.
pub(crate) fn exact(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// `text` with all that a terminal would act on written out, but for the tables' own colours where these are wanted.
fn shown(text: &str, colours: bool) -> Cow<'_, str> {
    if !colours || !text.contains('\x1b') {
        return visible(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        let (before, from) = rest.split_at(at);
        out += &visible(before);
        let own = PAINTS.into_iter().find(|p| from.starts_with(p));
        out += own.unwrap_or("\\x1b");
        rest = &from[own.map_or(1, str::len)..];
    }
    out += &visible(rest);
    Cow::Owned(out)
}

/// A result's text as [`result`] writes it, for [`Stream::exact`]; with the tables' own colours if these are wanted.
pub(crate) fn harmless(text: String, colours: bool) -> String {
    match shown(&text, colours) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => text,
    }
}

/// A result of many pieces on standard output, of any length. A reader that went away ends the command at once.
pub(crate) struct Stream {
    out: BufWriter<Stdout>,
    colour: bool,
    terminal: bool,
}

impl Stream {
    pub(crate) fn new() -> Self {
        let out = std::io::stdout();
        Self { colour: colour(), terminal: out.is_terminal(), out: BufWriter::with_capacity(1 << 16, out) }
    }

    /// As [`result`].
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let shown = shown(text, self.colour);
        self.exact(&shown)
    }

    /// As [`document`].
    pub(crate) fn document(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.terminal {
            return self.text(&String::from_utf8_lossy(bytes));
        }
        self.bytes(bytes)
    }

    /// A value as JSON, without the end of its line.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let text = json_text(value)?;
        self.exact(text.trim_end())
    }

    /// Text that is harmless already.
    pub(crate) fn exact(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|e| lost(&e))
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|e| lost(&e))
    }
}

fn lost(e: &std::io::Error) -> Failure {
    if e.kind() == std::io::ErrorKind::BrokenPipe {
        UNREAD.store(true, Ordering::Relaxed);
    }
    Failure::machine(format!("standard output: {e}"), "free space where the output goes, or send it elsewhere")
}

/// What came of writing to standard output.
pub(crate) fn written(outcome: std::io::Result<()>) -> Result<(), Failure> {
    match outcome {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(lost(&e)),
    }
}

/// Writes a value as JSON, one line. What a terminal would act on is escaped in it too, which means the same.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    exact(json_text(value)?.as_bytes())
}

/// The line that [`json`] writes.
pub(crate) fn json_text(value: &impl serde::Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string(value).or_machine("JSON", "report this")?;
    text.push('\n');
    Ok(match rtscope_record::text::json(&text) {
        Cow::Owned(safe) => safe,
        Cow::Borrowed(_) => text,
    })
}

/// A line for people on standard error, foreign text in it made harmless.
pub(crate) fn note(text: &str) {
    // In one piece, so that no other line comes between.
    let _ = std::io::stderr().write_all((visible(text) + "\n").as_bytes());
}

/// A failure on standard error.
pub(crate) fn failure(f: &Failure) {
    note(&told(f));
}

/// What a failure says to people: message and remedy, a line each.
pub(crate) fn told(f: &Failure) -> String {
    let word = if f.fault == Fault::Interrupted { "interrupted" } else { "error" };
    let remedy = if f.remedy.is_empty() { String::new() } else { format!("\n  try: {}", f.remedy) };
    format!("rtscope: {word}: {}{remedy}", f.message)
}

/// Whether standard output takes colour: a terminal, no `NO_COLOR`, not `TERM=dumb`.
pub(crate) fn colour() -> bool {
    let unset = |name: &str| std::env::var_os(name).is_none_or(|v| v.is_empty());
    std::io::stdout().is_terminal() && unset("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Width of the terminal in columns: from `COLUMNS`, else what the terminal says, else 110.
pub(crate) fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    said.or_else(|| terminal_size::terminal_size().map(|(w, _)| usize::from(w.0))).unwrap_or(110).clamp(40, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tables_own_colours_reach_a_terminal() {
        let text = "\x1b[32mVALID\x1b[0m \x1b[2J\x1b[8mhidden\x1b\n";
        assert_eq!(shown(text, true), "\x1b[32mVALID\x1b[0m \\x1b[2J\\x1b[8mhidden\\x1b\n");
        assert_eq!(shown(text, false), "\\x1b[32mVALID\\x1b[0m \\x1b[2J\\x1b[8mhidden\\x1b\n");
    }
}
