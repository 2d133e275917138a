//! The probe by hand, where there is nothing else: the timer test on every CPU as a table. Nothing is kept.

use crate::measured::Failure;
use crate::protocol::{PROTOCOL, ProbePlan};
use crate::serve;
use rtscope_record::{Distribution, Effect, Nanos, Record, Settings, Space, Test, Verdict, text};
use std::fmt::Write as _;
use std::io::Write;

/// Longest run, s: what nobody ends must not go on for weeks.
const LONGEST: u64 = 86_400;

/// Measures for as long as `seconds` says and writes the table to `out`, what fails to standard error. Returns the exit code, as
/// [`serve::serve`] does.
pub(crate) fn timer(seconds: &str, out: &mut impl Write) -> u8 {
    match run(seconds) {
        Ok(record) => u8::from(out.write_all(table(&record).as_bytes()).is_err()) * 3,
        Err(f) => {
            let _ = writeln!(std::io::stderr(), "error: {}\n  {}", text::visible_line(&f.message), text::visible_line(&f.remedy));
            if f.is_usage() { 2 } else { 3 }
        }
    }
}

fn run(seconds: &str) -> Result<Record, Failure> {
    let wanted = seconds.parse().ok().filter(|s| (1..=LONGEST).contains(s));
    let seconds: u64 = wanted.ok_or_else(|| {
        Failure::usage(format!("`{seconds}` is not a number of seconds"), format!("a whole number from 1 to {LONGEST}"))
    })?;
    let cpus =
        rtscope_sys::sched::affinity(0).map_err(|e| Failure::machine(format!("the CPUs of this process: {e}"), "report this"))?;
    let settings = Settings {
        duration: Some(Nanos(seconds * 1_000_000_000)),
        threads: u32::try_from(cpus.len()).unwrap_or(u32::MAX),
        cpus,
        ..Settings::default()
    };
    let plan = ProbePlan {
        protocol: PROTOCOL.into(),
        id: "by-hand".into(),
        test: Test::Timer,
        space: Space::User,
        load: "none".into(),
        target: "local".into(),
        settings,
        progress_ms: 0,
        picture: false,
        trace: None,
    };
    serve::measure(&plan, -1, &mut |_| {})
}

/// The record for a person: machine, a row for each thread and one for all, and what the figures are worth.
fn table(record: &Record) -> String {
    let kernel = &record.parts().system.kernel;
    let mut out = format!("wake-up latency, kernel {} {}\n", text::visible_line(&kernel.release), kernel.preemption.as_str());
    let head = ["samples", "expected", "missed", "min us", "mean us", "max us", "p99.9 us"];
    let mut rows = vec![(String::new(), head.map(String::from))];
    rows.extend(record.distributions().iter().map(|d| (d.label().to_string(), cells(d))));
    if let (Ok(Some(all)), 2..) = (record.merged(), record.distributions().len()) {
        rows.push(("all".into(), cells(&all)));
    }
    let first = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let width = |i: usize| rows.iter().map(|(_, cells)| cells[i].len()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    // Writing to a String can't fail.
    for (label, cells) in &rows {
        let _ = write!(out, "{label:first$}");
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(out, "  {cell:>width$}");
        }
        out.push('\n');
    }
    for w in record.findings().iter().filter(|w| w.effect != Effect::Note) {
        let verdict = if w.effect == Effect::Invalid { Verdict::Invalid } else { Verdict::Inconclusive };
        let _ = writeln!(out, "{verdict} {}: {}\n  {}", w.code, text::visible_line(&w.message), text::visible_line(&w.remedy));
    }
    let _ = writeln!(out, "{}", record.verdict());
    out
}

fn cells(d: &Distribution) -> [String; 7] {
    let micros = |ns: Option<f64>| ns.map_or_else(|| "-".into(), |ns| format!("{:.2}", ns / 1000.0));
    let p = d.parts();
    [
        p.count.to_string(),
        p.expected.map_or_else(|| "-".into(), |n| n.to_string()),
        p.missed.to_string(),
        micros(p.min.map(|v| v as f64)),
        micros(d.mean()),
        micros(p.max.map(|v| v as f64)),
        micros("p99.9".parse().ok().and_then(|q| d.value_at(q)).map(|v| v as f64)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::{RecordParts, Warning, fixtures};

    #[test]
    fn a_record_as_a_table() {
        let samples: Vec<u64> = (1..=1000).map(|n| n * 1000).collect();
        let of = |label: &str, samples: &[u64], missed: u64| {
            let mut parts = Distribution::from_samples(label, samples, 4).unwrap().into_parts();
            (parts.missed, parts.expected) = (missed, Some(samples.len() as u64 + missed));
            Distribution::new(parts).unwrap()
        };
        let warning = |code: &str, effect| Warning::new(code, effect, "what was found", "what to do");
        let record = Record::new(RecordParts {
            distributions: vec![of("cpu0", &samples, 0), of("cpu1", &[1234], 12)],
            warnings: vec![warning("seen", Effect::Note), warning("refused", Effect::Invalid)],
            ..fixtures::parts()
        });
        let wanted = "\
wake-up latency, kernel  unknown
      samples  expected  missed  min us  mean us   max us  p99.9 us
cpu0     1000      1000       0    1.00   500.50  1000.00    999.42
cpu1        1        13      12    1.23     1.23     1.23         -
all      1001      1013      12    1.00   500.00  1000.00    999.42
INVALID refused: what was found
  what to do
INVALID
";
        assert_eq!(table(&record.unwrap()), wanted);
    }

    #[test]
    fn only_a_number_of_seconds_is_taken() {
        for word in ["", "0", "-1", "5s", "1e3", "86401", "99999999999999999999"] {
            assert!(run(word).unwrap_err().is_usage(), "{word}");
        }
    }
}
