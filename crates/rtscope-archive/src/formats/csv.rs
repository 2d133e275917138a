//! Bins as comma-separated values, for spreadsheets and scripts.

use rtscope_record::Record;
use std::fmt::Write;

/// Writes `label,low_ns,high_ns,count`, a row for each non-empty bin, both ends included: the equal-width bins where the
/// record was imported with them, else the slots of the histogram. Samples above the range of an imported histogram are
/// one row with an empty `high_ns`; its `low_ns` is the end of the bins, or empty where that is unknown.
pub fn write_csv(record: &Record) -> String {
    let mut out = String::from("label,low_ns,high_ns,count\n");
    for d in record.distributions() {
        let p = d.parts();
        let label = quoted(d.label());
        let mut row = |low: Option<u64>, high: Option<u64>, n: u64| {
            let cell = |v: Option<u64>| v.map(|v| v.to_string()).unwrap_or_default();
            // Writing to a String can't fail.
            let _ = writeln!(out, "{label},{},{},{n}", cell(low), cell(high));
        };
        match p.linear.as_ref().filter(|l| l.total() == d.histogram().total()) {
            Some(l) => {
                for &(bin, n) in &l.counts {
                    let low = bin.saturating_mul(l.unit_ns);
                    row(Some(low), Some(low.saturating_add(l.unit_ns - 1)), n);
                }
            }
            None => d.histogram().iter().for_each(|(low, high, n)| row(Some(low), Some(high), n)),
        }
        if d.overflow() > 0 {
            row(p.linear.as_ref().map(|l| l.size.saturating_mul(l.unit_ns)), None, d.overflow());
        }
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted_where_they_must_be() {
        assert_eq!(quoted("cpu0"), "cpu0");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
