//! Two lists of values side by side as text: the answer first.

use super::text::{Paint, Style, wrapped};
use crate::format::{clean, count_f64, figure};
use rtscope_statistics::replicates::TwoSamples;

/// Whether the lists differ, in a sentence: by the interval of Cliff's delta.
pub fn two_samples_sentence(found: &TwoSamples, names: [&str; 2]) -> String {
    let [a, b] = names.map(clean);
    match found.cliff.interval {
        None => "Too few values: take two a side at least.".into(),
        Some([low, _]) if low > 0.0 => format!("The values of {a} are higher than those of {b}."),
        Some([_, high]) if high < 0.0 => format!("The values of {a} are lower than those of {b}."),
        Some(_) => format!("No difference between {a} and {b} is shown."),
    }
}

/// The comparison of two lists of these names.
pub fn two_samples(found: &TwoSamples, names: [&str; 2], style: Style) -> String {
    let mut out = style.paint(Paint::Bold, &two_samples_sentence(found, names)) + "\n";
    for (name, (values, median)) in names.into_iter().zip(found.values.into_iter().zip(found.medians)) {
        out += &wrapped(style, "  ", &format!("{}: {} values, median {}", clean(name), count_f64(values as f64), figure(median)));
    }
    let interval =
        found.cliff.interval.map_or_else(String::new, |[low, high]| format!(", 95 % interval {} to {}", figure(low), figure(high)));
    let p = found.rank_sum.p.map_or_else(|| "no p: all values are equal".into(), |p| format!("p = {}", figure(p)));
    for line in [
        format!(
            "Cliff's delta {}{interval}: how often the first is above the second, less how often below",
            figure(found.cliff.delta)
        ),
        format!(
            "rank-sum test: W = {}, {p} (two-sided, normal approximation, corrected for continuity and ties)",
            figure(found.rank_sum.w)
        ),
        format!("greatest distance of the distributions: D = {}", figure(found.distance)),
    ] {
        out += &wrapped(style, "  ", &line);
    }
    out + &wrapped(
        style,
        "Note: ",
        "values are taken as independent. Samples of one run are not: compare figures of whole runs, such as each run's maximum.",
    )
}
