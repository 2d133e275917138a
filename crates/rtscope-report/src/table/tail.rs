//! A study of a tail as text: the answer first.

use super::grid;
use super::text::{Paint, Style, wrapped};
use crate::format::{clean, count_f64, figure, figure_opt, times};
use crate::sheets::tail as sheets;
use rtscope_statistics::tail::{Envelope, Family, GateOutcome, Study};

/// Said below every figure of a tail.
pub const NO_GUARANTEE: &str = "A level is what the fitted law says if all goes on as it was measured. It is an extrapolation with an \
    interval, and never a guarantee: a rare cause that the data do not hold is in none of these figures.";

/// The answer in a sentence: the bound, or which gates keep it back.
pub fn tail_sentence(s: &Study, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" {}", clean(unit)) };
    let Some(head) = s.levels.get(s.headline).filter(|_| s.bounded) else {
        let named = |wanted: GateOutcome| s.gates.iter().filter(move |g| g.outcome == wanted);
        let failed: Vec<String> = named(GateOutcome::Failed).map(|g| format!("{} failed: {}", g.name, g.sentence)).collect();
        let unknown: Vec<&str> = named(GateOutcome::NotAvailable).map(|g| g.name).collect();
        let mut why = failed;
        if !unknown.is_empty() {
            why.push(format!("not available: {}", unknown.join(", ")));
        }
        return format!("No bound is given: {}.", why.join("; "));
    };
    let (of, who) = match s.family {
        Family::Gev => ("blocks", "the maximum"),
        Family::Gpd => ("values", "a value"),
    };
    let far = if head.extrapolation <= 1.0 {
        "which the data reach".into()
    } else {
        format!("{} times beyond the data", times(Some(head.extrapolation)))
    };
    format!(
        "Once in {} {of}, {who} is expected to exceed {}{unit} ({} % interval {} to {}), {far}; no guarantee.",
        count_f64(head.period),
        figure(head.level),
        (s.confidence * 1e4).round() / 100.0,
        figure_opt(head.interval.low),
        head.interval.high.map_or_else(|| "without end".into(), figure),
    )
}

/// What was fitted to what.
fn about(s: &Study) -> String {
    let what = match (s.family, s.block_size, s.declustered) {
        (Family::Gev, None, _) => "block maxima".to_owned(),
        (Family::Gev, Some(size), _) => format!("maxima of blocks of {} values", count_f64(size as f64)),
        (Family::Gpd, _, None) => "exceedances".into(),
        (Family::Gpd, _, Some(run)) => format!("maxima of clusters (runs of {run})"),
    };
    let above = s.threshold.map_or_else(String::new, |t| {
        format!(" of {} ({} % of {} values)", figure(t), figure(s.rate * 100.0), count_f64(s.values))
    });
    let end = s.upper_end.map_or_else(String::new, |e| format!(" · the fitted tail ends at {}", figure(e)));
    format!(
        "{} fitted to {} {what}{above} · highest {} · negative log-likelihood {}{end} · seed {}",
        s.family.name(),
        count_f64(s.fitted),
        figure(s.highest),
        figure(s.fit.nllh),
        s.seed
    )
}

/// The study of a tail.
pub fn tail(s: &Study, unit: &str, style: Style) -> String {
    let mut out = wrapped(style, "", &tail_sentence(s, unit));
    if s.bounded {
        let end = out.find('\n').unwrap_or(out.len());
        let first = style.paint(Paint::Bold, &out[..end]);
        out.replace_range(..end, &first);
    }
    out += &wrapped(style, "  ", &about(s));
    for w in &s.warnings {
        out += &wrapped(style, "! ", w);
    }
    let mut sheets = vec![sheets::gates(s), sheets::parameters(s), sheets::levels(s, &clean(unit)), sheets::goodness(s)];
    if !s.thresholds.is_empty() {
        sheets.push(sheets::thresholds(s));
    }
    for sheet in sheets {
        out.push('\n');
        out += &grid::titled(sheet, style);
    }
    out.push('\n');
    out += &wrapped(style, "Note: ", NO_GUARANTEE);
    out
}

/// The envelope of several studies.
pub fn tail_envelope(rows: &[Envelope], confidence: f64, style: Style) -> String {
    grid::titled(sheets::envelope(rows, confidence), style)
}
