//! The only module that writes to the terminal, but for the picture of `live`. Results go to standard output, everything else to standard error.

use rtscope_failure::{Explain, Failure, Fault};
use rtscope_record::text::visible;
use rtscope_report::table::PAINTS;
use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when the reader of a [`Stream`] on standard output has gone away. Global, as standard output is.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// Whether a command ended early because the reader of its output had gone away.
pub(crate) fn is_unread() -> bool {
    UNREAD.load(Ordering::Relaxed)
}

/// Writes a result to standard output, with foreign text made harmless, and no word of prose broken at a terminal's edge. If the
/// reader has gone away (`| head`), the program ends quietly; a full disk is an error.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    let text = shown(text, colour());
    exact(if narrow() { rtscope_report::table::folded(&text, width()) } else { text.into_owned() }.as_bytes())
}

/// Whether it is known how wide the reader of standard output is.
fn narrow() -> bool {
    std::io::stdout().is_terminal() || columns().is_some()
}

/// Writes a document: byte for byte to a file or pipe, without what a terminal would act on to a terminal.
pub(crate) fn document(bytes: &[u8]) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { exact(shown(&String::from_utf8_lossy(bytes), colour()).as_bytes()) } else { exact(bytes) }
}

/// Writes bytes unchanged: a guest's console, cyclictest's lines.
pub(crate) fn exact(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// `text` with everything that a terminal would act on written out, except for the tables' own colours if `colours` is set.
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

/// The text of a result as [`result`] writes it, for [`Stream::exact`]; keeps the tables' own colours if `colours` is set.
pub(crate) fn harmless(text: String, colours: bool) -> String {
    match shown(&text, colours) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => text,
    }
}

/// A result of any length, written piece by piece to standard output. If the reader has gone away, the command ends at once.
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

    /// Writes text as [`result`] does.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let shown = shown(text, self.colour);
        self.exact(&shown)
    }

    /// Writes a document as [`document`] does.
    pub(crate) fn document(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.terminal {
            return self.text(&String::from_utf8_lossy(bytes));
        }
        self.bytes(bytes)
    }

    /// Writes a value as JSON, without a line end.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let text = json_text(value)?;
        self.exact(text.trim_end())
    }

    /// Writes text that is already harmless.
    pub(crate) fn exact(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|e| lost(&e))
    }

    /// Flushes the output.
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

/// The outcome of writing to standard output; a reader that has gone away is not an error.
pub(crate) fn written(outcome: std::io::Result<()>) -> Result<(), Failure> {
    match outcome {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(lost(&e)),
    }
}

/// Writes a value as one line of JSON. Characters that a terminal would act on are escaped, which does not change the value.
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

/// Writes a line to standard error, with foreign text made harmless; on a terminal no word is broken at its edge.
pub(crate) fn note(text: &str) {
    let mut text = visible(text);
    if let Some(width) = error_width() {
        text = rtscope_report::table::folded(&text, width).into();
    }
    // In one write, so that no other line comes in between.
    let _ = std::io::stderr().write_all((text + "\n").as_bytes());
}

/// Width of the terminal that standard error is; `None` if it is none, and `COLUMNS` does not say how wide its reader is.
fn error_width() -> Option<usize> {
    let terminal = || terminal_size::terminal_size_of(std::io::stderr()).map(|(w, _)| usize::from(w.0));
    columns().or_else(terminal).map(|w| w.clamp(NARROWEST, 1000))
}

/// Tables are made for no less.
const NARROWEST: usize = 40;

fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok())
}

/// The page of the manual about what the program was asked to do.
static PAGE: OnceLock<&str> = OnceLock::new();

/// From now on failures point to this page of the manual.
pub(crate) fn about(page: &'static str) {
    let _ = PAGE.set(page);
}

/// Writes a failure to standard error.
pub(crate) fn failure(f: &Failure) {
    let page = if f.fault == Fault::Interrupted { String::new() } else { see() };
    note(&(told(f) + &page));
}

/// A line that points to the page of the manual; empty where none is known.
pub(crate) fn see() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let place = |page: &str| installed(page, &program).map_or_else(|| page.to_owned(), |p| p.display().to_string());
    PAGE.get().map_or_else(String::new, |page| format!("\n  see: {}", place(page)))
}

/// Where a package put a page of the manual, seen from the program; `None` in a checkout, where it has the same path everywhere.
fn installed(page: &str, program: &Path) -> Option<PathBuf> {
    let file = Path::new(page).file_name()?;
    Some(program.parent()?.parent()?.join("share/doc/rtscope").join(file)).filter(|p| p.is_file())
}

/// The text of a failure for users: message and remedy, one line each.
pub(crate) fn told(f: &Failure) -> String {
    let word = if f.fault == Fault::Interrupted { "interrupted" } else { "error" };
    let remedy = if f.remedy.is_empty() { String::new() } else { format!("\n  try: {}", f.remedy) };
    format!("rtscope: {word}: {}{remedy}", f.message)
}

/// Whether to colour standard output: a terminal, no `NO_COLOR`, not `TERM=dumb`; or `CLICOLOR_FORCE` (bixense.com/clicolors).
pub(crate) fn colour() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    let terminal = || std::io::stdout().is_terminal() && set("TERM").is_none_or(|t| t != "dumb");
    set("NO_COLOR").is_none() && (set("CLICOLOR_FORCE").is_some_and(|v| v != "0") || terminal())
}

/// Width of the terminal in columns: `COLUMNS`, else the terminal's own width, else 110.
pub(crate) fn width() -> usize {
    let terminal = || terminal_size::terminal_size().map(|(w, _)| usize::from(w.0));
    columns().or_else(terminal).unwrap_or(110).clamp(NARROWEST, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_where_the_package_put_it() {
        let dir = tempfile::tempdir().unwrap();
        let (program, docs) = (dir.path().join("bin/rtscope"), dir.path().join("share/doc/rtscope"));
        assert_eq!(installed("docs/lab.md", &program), None);
        std::fs::create_dir_all(&docs).unwrap();
        std::fs::write(docs.join("lab.md"), "# The lab").unwrap();
        assert_eq!(installed("docs/lab.md", &program), Some(docs.join("lab.md")));
        assert_eq!(installed("docs/board.md", &program), None);
        assert_eq!(installed("docs/lab.md", Path::new("rtscope")), None);
    }

    #[test]
    fn only_the_tables_own_colours_reach_a_terminal() {
        let text = "\x1b[32mVALID\x1b[0m \x1b[2J\x1b[8mhidden\x1b\n";
        assert_eq!(shown(text, true), "\x1b[32mVALID\x1b[0m \\x1b[2J\\x1b[8mhidden\\x1b\n");
        assert_eq!(shown(text, false), "\\x1b[32mVALID\\x1b[0m \\x1b[2J\\x1b[8mhidden\\x1b\n");
    }
}
