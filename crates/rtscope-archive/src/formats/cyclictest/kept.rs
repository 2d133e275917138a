//! What a record keeps of a cyclictest file besides its figures, so that the file can be written again: prefixed lines in
//! the record's source.

use rtscope_record::Record;

/// Prefixes of the lines of [`rtscope_record::Source::kept`].
const HEAD: &str = "head:";
const TAIL: &str = "tail:";
const THREAD: &str = "thread:";
const SMI: &str = "smi:";
const JSON: &str = "json:";
const SUM: &str = "option:sum";
const NANOSECONDS: &str = "option:nanoseconds";
const THREAD_LINES: &str = "option:thread-lines";

/// The kept lines, sorted by prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Lines before the figures.
    pub(super) head: Vec<String>,
    /// Lines after the figures.
    pub(super) tail: Vec<String>,
    /// The `T:` lines as they were, where the figures do not reproduce them: they are older than the histogram, or
    /// contain SMI counts.
    pub(super) threads: Vec<String>,
    /// The `# SMIs:` line.
    pub(super) smi: Option<String>,
    /// JSON keys that have no place in a record: (key, value as JSON text).
    pub(super) json: Vec<(String, String)>,
    /// The file had a column of sums.
    pub(super) sum: bool,
    /// The file's figures were in nanoseconds.
    pub(super) nanoseconds: bool,
    /// The file had `T:` lines.
    pub(super) thread_lines: bool,
}

impl Kept {
    /// The kept lines of a record that was imported from a cyclictest file; `None` for other records.
    pub(super) fn of(record: &Record) -> Option<Self> {
        let source = record.parts().source.as_ref().filter(|s| s.format.starts_with("cyclictest"))?;
        let mut kept = Self::default();
        for line in &source.kept {
            if let Some(rest) = line.strip_prefix(HEAD) {
                kept.head.push(rest.into());
            } else if let Some(rest) = line.strip_prefix(TAIL) {
                kept.tail.push(rest.into());
            } else if let Some(rest) = line.strip_prefix(THREAD) {
                kept.threads.push(rest.into());
            } else if let Some(rest) = line.strip_prefix(SMI) {
                kept.smi = Some(rest.into());
            } else if let Some((key, value)) = line.strip_prefix(JSON).and_then(|l| l.split_once('=')) {
                kept.json.push((key.into(), value.into()));
            }
            kept.sum |= line == SUM;
            kept.nanoseconds |= line == NANOSECONDS;
            kept.thread_lines |= line == THREAD_LINES;
        }
        Some(kept)
    }

    /// The lines for the record's source.
    pub(super) fn into_lines(self) -> Vec<String> {
        let prefixed = |prefix: &'static str, lines: Vec<String>| lines.into_iter().map(move |l| format!("{prefix}{l}"));
        let mut lines: Vec<String> = prefixed(HEAD, self.head).chain(prefixed(THREAD, self.threads)).collect();
        lines.extend(prefixed(SMI, self.smi.into_iter().collect()));
        lines.extend(prefixed(TAIL, self.tail));
        lines.extend(self.json.into_iter().map(|(k, v)| format!("{JSON}{k}={v}")));
        for (is, option) in [(self.sum, SUM), (self.nanoseconds, NANOSECONDS), (self.thread_lines, THREAD_LINES)] {
            if is {
                lines.push(option.into());
            }
        }
        lines
    }

    /// The value of a kept JSON key, as JSON text.
    pub(super) fn json(&self, key: &str) -> Option<&str> {
        self.json.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}
