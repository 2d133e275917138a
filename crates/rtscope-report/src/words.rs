//! How a test's samples are named in headings, axes and columns.

use crate::ReportError;
use crate::format::{NONE, count, us, us_f64, us_opt};
use crate::properties::handler;
use rtscope_analysis::line_tests::{EdgeFigures, Group, edge_figures};
use rtscope_analysis::summary::{Percentile, Row};
use rtscope_analysis::versus::Role;
use rtscope_analysis::{Summary, machine_name};
use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::{Quantile, Record, Test};

/// The quantity that a test measures.
pub(crate) fn quantity(test: Test) -> &'static str {
    match test {
        Test::Timer | Test::Response => "latency",
        Test::Periodic => "jitter",
        Test::Sustained => "frequency",
    }
}

/// What a test's samples are called. Those of a sustained frequency are latencies of the run that confirmed it.
pub(crate) fn samples(test: Test) -> &'static str {
    if test == Test::Periodic { "Jitter" } else { "Latency" }
}

/// Test and quantity: "Timer latency".
pub(crate) fn title(test: Test) -> String {
    let mut text = format!("{test} {}", quantity(test));
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// Where the task ran, as in "kernel space, hard handler".
pub(crate) fn space(record: &Record) -> String {
    let p = record.parts();
    let handler = p.settings.handler.map_or_else(String::new, |h| format!(", {h} handler"));
    format!("{} space{handler}", p.space)
}

/// What was measured, and where, as far as `records` agree: a title, and the text that follows it.
pub(crate) fn headline(records: &[&Record]) -> [String; 2] {
    let one = |f: &dyn Fn(&Record) -> String| {
        let mut all: Vec<String> = records.iter().map(|r| f(r)).filter(|s| !s.is_empty()).collect();
        all.dedup();
        (all.len() == 1).then(|| all.swap_remove(0))
    };
    let what = one(&|r| format!("{}, {}", title(r.parts().test), space(r)))
        .or_else(|| one(&|r| title(r.parts().test)))
        .unwrap_or_else(|| quantities(records));
    let kernel = one(&|r| format!("kernel {} {}", r.parts().system.kernel.release, r.parts().system.kernel.preemption.as_str()));
    let rest = [one(&machine_name), kernel, one(&|r| format!("interval {}", r.parts().settings.interval))];
    [what, rest.into_iter().flatten().flat_map(|part| [" · ".to_owned(), part]).collect()]
}

/// The quantities that `records` measure, each once: "Latency", "Latency and jitter".
pub(crate) fn quantities(records: &[&Record]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for r in records {
        let word = samples(r.parts().test);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.as_slice() {
        [] => "Latency".into(),
        [one] => (*one).into(),
        [first, rest @ ..] => format!("{first} and {}", rest.join(", ").to_ascii_lowercase()),
    }
}

/// The records of each test, in the order of the first of each.
pub(crate) fn by_test<R: std::borrow::Borrow<Record>>(records: &[R]) -> Vec<(Test, Vec<usize>)> {
    let mut tests: Vec<(Test, Vec<usize>)> = Vec::new();
    for (i, r) in records.iter().enumerate() {
        let test = r.borrow().parts().test;
        match tests.iter_mut().find(|t| t.0 == test) {
            Some(t) => t.1.push(i),
            None => tests.push((test, vec![i])),
        }
    }
    tests
}

/// The signed figures of both edges, for a test with jitter; `None` for other tests.
pub(crate) fn signed(record: &Record) -> Result<Option<EdgeFigures>, ReportError> {
    if record.parts().test != Test::Periodic {
        return Ok(None);
    }
    let merge = |error| ReportError::Merge { id: record.id().into(), error };
    edge_figures(record).map(|f| Some(f.0)).map_err(merge)
}

/// What the corrected figures rest on, in a sentence; `None` where there are none.
pub(crate) fn corrected(test: Test, all: &Row) -> Option<String> {
    all.corrected_basis?;
    Some(if all.by_rule() {
        "By HdrHistogram's rule: a guess from the samples alone, since this record does not say how late the points between them were.".into()
    } else if test == Test::Timer {
        "Corrected: of every grid point, also those that an oversleeping task passed over, each as late as it was.".into()
    } else if all.unanswered == 0 {
        "Corrected: of every stimulus; all were answered in time.".into()
    } else {
        format!(
            "Corrected: of every stimulus. {} of {} were not answered in time: what lies among them is not known, but later than all others.",
            count(all.unanswered),
            all.corrected_count.map_or_else(String::new, count)
        )
    })
}

/// A corrected percentile for a table with other records. One guessed by `HdrHistogram`'s rule is marked; [`RULE_NOTE`]
/// explains the mark.
pub(crate) fn corrected_cell(all: Option<&Row>, p: Option<&Percentile>) -> String {
    let value = us_opt(p.and_then(|p| p.corrected));
    let guess = all.is_some_and(Row::by_rule) && p.is_some_and(|p| p.corrected.is_some());
    if guess { format!("{value}*") } else { value }
}

/// Explains the mark of [`corrected_cell`].
pub(crate) const RULE_NOTE: &str = "* by HdrHistogram's rule: a guess from the samples alone";

/// Whether any of these records gets the mark.
pub(crate) fn any_guess<'a>(records: impl IntoIterator<Item = &'a Record>) -> bool {
    records
        .into_iter()
        .filter_map(Corrected::of_record)
        .any(|c| c.basis == Basis::Rule && Quantile::STANDARD[4].supported_by(c.count()))
}

/// Numbers of late answers and spurious edges over all distributions.
pub(crate) fn troubles(s: &Summary) -> [u64; 2] {
    let all = s.merged.as_ref();
    [all.map_or(0, |a| a.late), all.map_or(0, |a| a.spurious)]
}

/// The frequency in Hz of edges at this interval, ns.
pub(crate) fn hertz(interval: u64) -> String {
    format!("{:.0}", 1e9 / interval.max(1) as f64)
}

/// Whether a kernel is PREEMPT_RT, in the words of Adam's column.
pub(crate) fn preempt_rt(role: Role) -> &'static str {
    match role {
        Role::Rt => "yes",
        Role::Stock => "no",
        Role::Unknown => "unknown",
    }
}

pub(crate) fn release(g: &Group) -> &str {
    if g.kernel.release.is_empty() { "unknown" } else { &g.kernel.release }
}

/// User space, or kernel space with its handler.
pub(crate) fn space_name(g: &Group) -> String {
    match handler(&g.device) {
        "" => g.space.to_string(),
        how => format!("{}, {how}", g.space),
    }
}

/// A latency in us, or a jitter in us with its sign.
pub(crate) fn signed_us(test: Test, ns: Option<i64>) -> String {
    let Some(ns) = ns else { return NONE.into() };
    let text = us(ns.unsigned_abs() as f64);
    match ns.signum() {
        -1 => format!("-{text}"),
        1 if test == Test::Periodic => format!("+{text}"),
        _ => text,
    }
}

/// Minimum and maximum in Adam's notation: "49.00/147.00".
pub(crate) fn min_max(test: Test, e: &EdgeFigures) -> String {
    format!("{}/{}", signed_us(test, e.min), signed_us(test, e.max))
}

/// The mean of a latency in us, or that of a jitter in us with its sign.
pub(crate) fn mean(test: Test, mean: Option<f64>) -> String {
    if test == Test::Periodic { mean.map_or_else(|| NONE.into(), |m| format!("{:+.2}", m / 1e3)) } else { us_f64(mean) }
}
