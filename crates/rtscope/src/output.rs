//! The only place that writes to the terminal. Results go to standard output, everything else to standard error.

use crate::error::{Code, Failure};
use std::io::{IsTerminal, Write};

/// Writes a result to standard output. A reader that went away (`| head`) ends the program quietly; a full disk is an error.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// [`result`] for bytes.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// What came of writing to standard output.
pub(crate) fn written(outcome: std::io::Result<()>) -> Result<(), Failure> {
    match outcome {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Failure::failed(format!("standard output: {e}"), "free space where the output goes, or send it elsewhere")),
    }
}

/// Writes a value as JSON, one line.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string(value).map_err(|e| Failure::failed(format!("JSON: {e}"), "report this"))?;
    text.push('\n');
    result(&text)
}

/// A line for people on standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A failure on standard error.
pub(crate) fn failure(f: &Failure) {
    let word = if f.code == Code::Interrupted { "interrupted" } else { "error" };
    note(&format!("rtscope: {word}: {}", f.message));
    if !f.remedy.is_empty() {
        note(&format!("  try: {}", f.remedy));
    }
}

/// Whether standard output takes colour: a terminal, no `NO_COLOR`, not `TERM=dumb`.
pub(crate) fn colour() -> bool {
    let unset = |name: &str| std::env::var_os(name).is_none_or(|v| v.is_empty());
    std::io::stdout().is_terminal() && unset("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Width of the terminal in columns: from `COLUMNS`, else what the terminal says, else 110.
pub(crate) fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    said.or_else(|| terminal_size::terminal_size().map(|(w, _)| usize::from(w.0))).unwrap_or(110).max(40)
}
