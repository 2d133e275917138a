//! Plots of a tail: return levels with their interval, and the mean residual life.

use super::draw::{Canvas, Key, Range, linear_ticks_from, log_ticks, polyline};
use super::style::Use;
use crate::format::{count_f64, figure};
use rtscope_statistics::tail::{CurvePoint, Family, Study};

fn axis(unit: &str) -> String {
    if unit.is_empty() { "Value".into() } else { format!("Value ({unit})") }
}

/// Return level against return period, with the interval, the data and the levels asked for.
pub fn tail_levels(s: &Study, unit: &str, usage: Use) -> String {
    let of = if s.family == Family::Gev { "blocks" } else { "values" };
    let (first, last) = (s.curve.first().map_or(1.0, |c| c.period), s.curve.last().map_or(10.0, |c| c.period));
    // An interval without end, or one that dwarfs all else, leaves the picture.
    let shown = s.curve.iter().map(|c| c.level).chain(s.points.iter().map(|p| p.1));
    let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let ends = |f: &dyn Fn(&CurvePoint) -> Option<f64>| s.curve.iter().filter_map(f).collect::<Vec<f64>>();
    let top = ends(&|c| c.interval.high).into_iter().fold(high, f64::max).min(high + 2.0 * (high - low));
    let bottom = ends(&|c| c.interval.low).into_iter().fold(low, f64::min).max(low - (high - low));
    let margin = (top - bottom).max(f64::MIN_POSITIVE) * 0.04;
    let y = Range { low: bottom - margin, high: top + margin, log: false };
    let x = Range { low: first.min(s.points.last().map_or(first, |p| p.0)), high: last * 1.1, log: true };
    let keys = [
        Key { class: "s0 bold".into(), text: format!("{} at maximum likelihood", s.family.name()) },
        Key { class: "s0 dash".into(), text: format!("{} % interval, profile likelihood", s.confidence * 100.0) },
        Key {
            class: "s1 bold".into(),
            text: format!("data ({} {})", count_f64(s.fitted), if s.family == Family::Gev { "maxima" } else { "exceedances" }),
        },
    ];
    let mut sub = vec!["an extrapolation right of the dashed line, never a guarantee".to_owned()];
    if !s.bounded {
        let names: Vec<&str> =
            s.gates.iter().filter(|g| g.outcome != rtscope_statistics::tail::GateOutcome::Passed).map(|g| g.name).collect();
        sub.push(format!("no bound: gates not passed: {}", names.join(", ")));
    }
    let mut c = Canvas::open(usage, "Return levels", &sub, &keys, x, y);
    c.axes(
        &log_ticks(x.low, x.high, 1.0),
        &format!("Return period ({of}, logarithmic)"),
        &linear_ticks_from(y.low, y.high, 1.0, 7.0),
        &axis(unit),
    );
    let base = if s.family == Family::Gev { s.fitted } else { s.values };
    c.mark(base, "end of the data");
    let line = |c: &Canvas, f: &dyn Fn(&CurvePoint) -> Option<f64>| {
        let at = |p: &CurvePoint| f(p).filter(|v| *v <= y.high && *v >= y.low).map(|v| (c.x.at(p.period), c.y.at(v)));
        polyline(s.curve.iter().map(at))
    };
    for (path, tip) in [(line(&c, &|p| p.interval.low), "lower end"), (line(&c, &|p| p.interval.high), "upper end")] {
        c.path("s0 dash", &path, tip);
    }
    let path = line(&c, &|p| Some(p.level));
    c.path("s0 bold", &path, "return level");
    for (period, value) in &s.points {
        c.dot(1, *period, *value, &format!("{}: once in {}", figure(*value), figure(*period)));
    }
    c.close()
}

/// Mean excess over each threshold; straight where a generalized Pareto law holds. `None` for block maxima.
pub fn tail_mean_excess(s: &Study, unit: &str, usage: Use) -> Option<String> {
    let all = &s.mean_residual_life;
    let (first, last) = (all.first()?, all.last()?);
    let low = all.iter().map(|p| p.low).fold(f64::INFINITY, f64::min).max(0.0);
    let high = all.iter().map(|p| p.high).fold(f64::NEG_INFINITY, f64::max);
    let (x, y) = (
        Range { low: first.threshold, high: last.threshold.max(first.threshold + f64::MIN_POSITIVE), log: false },
        Range { low, high: high.max(low + f64::MIN_POSITIVE), log: false },
    );
    let keys = [
        Key { class: "s0 bold".into(), text: "mean excess".into() },
        Key { class: "s0 dash".into(), text: "95 % interval, normal approximation".into() },
    ];
    let sub = ["straight above a threshold from which a generalized Pareto law holds".to_owned()];
    let mut c = Canvas::open(usage, "Mean residual life", &sub, &keys, x, y);
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    c.axes(
        &linear_ticks_from(x.low, x.high, 1.0, 7.0),
        &format!("Threshold{unit}"),
        &linear_ticks_from(y.low, y.high, 1.0, 7.0),
        &format!("Mean excess{unit}"),
    );
    if let Some(at) = s.threshold.filter(|t| (x.low..=x.high).contains(t)) {
        c.mark(at, "threshold");
    }
    for (class, tip, of) in [
        ("s0 dash", "lower end", (|p| p.low) as fn(&rtscope_statistics::tail::MeanExcess) -> f64),
        ("s0 dash", "upper end", |p| p.high),
        ("s0 bold", "mean excess", |p| p.mean),
    ] {
        let path = polyline(all.iter().map(|p| Some((c.x.at(p.threshold), c.y.at(of(p))))));
        c.path(class, &path, tip);
    }
    Some(c.close())
}
