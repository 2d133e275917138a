//! The basic elements of cyclictest's text: numbers, `T:` lines, terminal escapes.

use crate::formats::error::ImportError;

/// The line without the cursor movements that cyclictest prints between live figures.
pub(super) fn without_escapes(line: &str) -> &str {
    let mut rest = line;
    while let Some(after) = rest.strip_prefix("\u{1b}[") {
        let Some(end) = after.find(|c: char| !c.is_ascii_digit()) else { return rest };
        let command = after[end..].chars().next().map_or(0, char::len_utf8);
        rest = &after[end + command..];
    }
    rest
}

/// Parses a whole number; only decimal digits are allowed.
pub(super) fn number(text: &str, line: usize, what: &str) -> Result<u64, ImportError> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let n = if digits { text.parse().ok() } else { None };
    n.ok_or_else(|| ImportError::line(line, format!("{what}: `{}` is not a whole number below 2^64", shortened(text))))
}

/// Text from a file, shortened for a message.
pub(super) fn shortened(text: &str) -> String {
    if text.chars().count() <= 40 { text.into() } else { text.chars().take(40).chain("...".chars()).collect() }
}

/// The numbers of a line, separated by white space.
pub(super) fn numbers(text: &str, line: usize, what: &str) -> Result<Vec<u64>, ImportError> {
    text.split_ascii_whitespace().map(|t| number(t, line, what)).collect()
}

/// A `T:` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThreadLine {
    pub(super) index: u64,
    pub(super) tid: u32,
    pub(super) priority: u8,
    pub(super) interval_us: u64,
    pub(super) cycles: u64,
    pub(super) min: u64,
    pub(super) act: u64,
    pub(super) avg: u64,
    pub(super) max: u64,
    pub(super) smi: bool,
    /// `Act` and `Avg` are eight characters wide, which for latencies below ten seconds only happens with `-N`.
    pub(super) nanoseconds: bool,
}

/// Parses a `T:` line; `None` for another kind of line that starts with `T:` (a spike of `--spike`).
pub(super) fn thread_line(text: &str, line: usize) -> Result<Option<ThreadLine>, ImportError> {
    let text = text.trim_end();
    if !text.starts_with("T:") || text.contains("Spike:") {
        return Ok(None);
    }
    let keys = ["T:", "(", "P:", "I:", "C:", "Min:", "Act:", "Avg:", "Max:", "SMI:"];
    let mut fields = Vec::new();
    let mut at = 0;
    for (i, key) in keys.iter().enumerate() {
        let start = text.get(at..).and_then(|rest| rest.find(key)).map(|p| at + p + key.len());
        match start {
            Some(start) => {
                let next = keys.get(i + 1).and_then(|k| text[start..].find(k)).map_or(text.len(), |p| start + p);
                fields.push(&text[start..next]);
                at = next;
            }
            None if *key == "SMI:" => {}
            None => return Err(ImportError::line(line, format!("a `T:` line without `{key}`: is the file cut off?"))),
        }
    }
    let value = |i: usize| number(fields[i].trim().trim_end_matches(')'), line, keys[i].trim_end_matches(':'));
    let small = |i: usize| {
        let n = value(i)?;
        u32::try_from(n).map_err(|_| ImportError::line(line, format!("{}: {n} is out of range", keys[i])))
    };
    // Each field but the last includes the one space before the next key.
    let width = |i: usize| fields[i].strip_suffix(' ').unwrap_or(fields[i]).len();
    Ok(Some(ThreadLine {
        index: value(0)?,
        tid: small(1)?,
        priority: u8::try_from(small(2)?).map_err(|_| ImportError::line(line, "P: a priority is at most 99"))?,
        interval_us: value(3)?,
        cycles: value(4)?,
        min: value(5)?,
        act: value(6)?,
        avg: value(7)?,
        max: value(8)?,
        smi: fields.len() > 9,
        nanoseconds: width(6) >= 8 && width(7) >= 8,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_lines_of_both_units() {
        let us =
            thread_line("T: 0 (19268) P:90 I:1000 C:    100 Min:      6 Act:   18 Avg:   39 Max:    1811", 1).unwrap().unwrap();
        assert_eq!((us.tid, us.priority, us.interval_us, us.cycles), (19268, 90, 1000, 100));
        assert_eq!((us.min, us.act, us.avg, us.max, us.nanoseconds, us.smi), (6, 18, 39, 1811, false, false));
        let ns = "T:12 (    7) P: 0 I:250 C:     60 Min:   8247 Act:   14074 Avg:   13739 Max:   17319 SMI:       0";
        let ns = thread_line(ns, 1).unwrap().unwrap();
        assert_eq!((ns.index, ns.tid, ns.act, ns.nanoseconds, ns.smi), (12, 7, 14074, true, true));
    }

    #[test]
    fn other_and_broken_lines() {
        assert_eq!(thread_line("T: 0 Spike:     123: TS:       456789", 1).unwrap(), None);
        for broken in [
            "T:",
            "T: 0 (19268) P:90 I:1000 C:    100 Min:      6 Act:   18 Avg:   3",
            "T: 0 (-1) P:90 I:1 C:1 Min:1 Act:1 Avg:1 Max:1",
        ] {
            assert!(thread_line(broken, 7).unwrap_err().to_string().starts_with("line 7"), "{broken}");
        }
    }

    #[test]
    fn escapes_are_taken_off() {
        assert_eq!(without_escapes("\u{1b}[4Apolicy: fifo"), "policy: fifo");
        assert_eq!(without_escapes("\u{1b}[4A\u{1b}[4BT: 0"), "T: 0");
        assert_eq!(without_escapes("\u{1b}[44"), "\u{1b}[44");
    }
}
