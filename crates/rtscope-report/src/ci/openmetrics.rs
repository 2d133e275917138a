//! OpenMetrics text for Prometheus' textfile collector: gauges in seconds, with a label for each quantile.

use super::statistics::{Statistic, statistics};
use crate::ReportError;
use rtscope_record::Record;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A label's value, escaped as OpenMetrics 1.0 wants it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Metric, its labels beyond those of the run, and what it is.
fn metric(s: &Statistic) -> (&'static str, Option<(&'static str, String)>, &'static str) {
    let view =
        |name: &str| if name.starts_with("corrected ") { "rtscope_corrected_latency_seconds" } else { "rtscope_latency_seconds" };
    match s.name.as_str() {
        "samples" => ("rtscope_samples", None, "Samples taken"),
        "missed" => ("rtscope_missed", None, "Events that gave no sample"),
        "overflow" => ("rtscope_overflow", None, "Samples above the range of an imported histogram"),
        "dropped" => ("rtscope_dropped", None, "Samples taken and lost"),
        "min" => ("rtscope_latency_min_seconds", None, "Lowest latency"),
        "mean" => ("rtscope_latency_mean_seconds", None, "Mean latency"),
        "stddev" => ("rtscope_latency_stddev_seconds", None, "Standard deviation of the latency"),
        "max" => ("rtscope_latency_max_seconds", None, "Highest latency"),
        name => {
            let percent = name.trim_start_matches("corrected ").trim_start_matches('p');
            let quantile = percent.parse::<f64>().map_or_else(|_| percent.to_owned(), |p| format!("{}", (p * 1e7).round() / 1e9));
            (view(name), Some(("quantile", quantile)), "Quantiles of the latency; corrected: of all events that were expected")
        }
    }
}

/// All records as one exposition. Which may be believed says `rtscope_verdict`: 0 VALID, 1 REPEATABLE, 2 INCONCLUSIVE, 3 INVALID.
pub fn openmetrics(records: &[Record]) -> Result<String, ReportError> {
    // Metrics must come in one piece each.
    let mut families: BTreeMap<&'static str, (&'static str, String)> = BTreeMap::new();
    for r in records {
        let p = r.parts();
        let mut labels = String::new();
        for (name, value) in [
            ("id", r.id()),
            ("test", p.test.as_str()),
            ("load", p.load.as_str()),
            ("target", p.target.as_str()),
            ("kernel", p.system.kernel.release.as_str()),
            ("verdict", r.verdict().as_str()),
        ] {
            let _ = write!(labels, "{name}=\"{}\",", escaped(value));
        }
        let mut put = |name: &'static str, help: &'static str, extra: String, value: String| {
            let family = families.entry(name).or_insert((help, String::new()));
            let _ = writeln!(family.1, "{name}{{{labels}{extra}}} {value}");
        };
        let verdict = match r.verdict() {
            rtscope_record::Verdict::Valid => 0,
            rtscope_record::Verdict::Repeatable => 1,
            rtscope_record::Verdict::Inconclusive => 2,
            rtscope_record::Verdict::Invalid => 3,
        };
        let help = "0 VALID, 1 REPEATABLE, 2 INCONCLUSIVE, 3 INVALID: its figures mean something else than they say";
        put("rtscope_verdict", help, "of=\"all\"".into(), verdict.to_string());
        for s in statistics(r)? {
            let (name, extra, help) = metric(&s);
            let extra = extra.map_or_else(String::new, |(label, value)| format!(",{label}=\"{}\"", escaped(&value)));
            let value = if s.is_time { format!("{:e}", s.value / 1e9) } else { format!("{:.0}", s.value) };
            put(name, help, format!("of=\"{}\"{extra}", escaped(&s.label)), value);
        }
    }
    let mut out = String::new();
    for (name, (help, lines)) in families {
        let unit = if name.ends_with("_seconds") { format!("# UNIT {name} seconds\n") } else { String::new() };
        let _ = write!(out, "# TYPE {name} gauge\n{unit}# HELP {name} {help}\n{lines}");
    }
    Ok(out + "# EOF\n")
}
