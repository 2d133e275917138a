//! The tables of a study of a tail.

use crate::format::{NONE, count_f64, figure, figure_opt, times};
use crate::sheet::{Cell, Columns, Mark, Sheet};
use rtscope_statistics::tail::{Envelope, Gate, GateOutcome, Parameter, ReturnLevel, Study, ThresholdRow};

fn probability(p: Option<f64>) -> String {
    p.map_or_else(|| NONE.into(), |p| if p < 1e-4 { "<0.0001".into() } else { format!("{p:.4}") })
}

fn percent(confidence: f64) -> String {
    format!("{} %", (confidence * 1e4).round() / 100.0)
}

/// What must hold before there is a bound.
pub(crate) fn gates(s: &Study) -> Sheet<'_> {
    let outcome = |g: &Gate| match g.outcome {
        GateOutcome::Passed => Cell::marked("passed", Mark::Good),
        GateOutcome::Failed => Cell::marked("FAILED", Mark::Bad),
        GateOutcome::NotAvailable => Cell::marked("not available", Mark::Doubtful),
    };
    let level = s.gates.first().map_or(0.0, |g| g.level);
    Columns::new()
        .left("gate", 0, |g: &Gate| g.name.into())
        .left("test", 1, |g| g.test.as_str().into())
        .right("statistic", 0, |g| figure_opt(g.statistic).into())
        .right("p", 0, |g| probability(g.p).into())
        .left("", 0, move |g| outcome(g))
        .left("", 0, |g| g.sentence.as_str().into())
        .sheet(&s.gates)
        .titled("Gates")
        .about(format!(" · each fails below p = {level:.4}, so that all together fail at most 5 % of good data"))
}

/// The law's parameters.
pub(crate) fn parameters(s: &Study) -> Sheet<'_> {
    let start = |p: &Parameter| {
        s.fit.start.map(|law| match p.name {
            "location" => law.location,
            "scale" => law.scale,
            _ => law.shape,
        })
    };
    let from = if s.threshold.is_some() { "by weighted moments" } else { "by L-moments" };
    Columns::new()
        .left("parameter", 0, |p: &Parameter| p.name.into())
        .right("value", 0, |p| Cell::main(figure(p.value)))
        .right("standard error", 0, |p| figure_opt(p.error).into())
        .group(format!("{}, profile", percent(s.confidence)))
        .right("from", 0, |p| figure_opt(p.interval.low).into())
        .right("to", 0, |p| figure_opt(p.interval.high).into())
        .group("")
        .right(from, 1, move |p| figure_opt(start(p)).into())
        .sheet(&s.parameters)
        .titled("Parameters")
        .about(" · maximum likelihood; a positive shape is a heavy tail, a negative one ends")
}

/// The return levels.
pub(crate) fn levels<'a>(s: &'a Study, unit: &str) -> Sheet<'a> {
    let head = s.levels.get(s.headline).map_or(0.0, |l| l.period);
    let bounded = s.bounded;
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let of = if s.threshold.is_some() { "values" } else { "blocks" };
    Columns::new()
        .right(format!("once in {of}"), 0, |l: &ReturnLevel| count_f64(l.period).into())
        .right("probability", 1, |l| figure(l.probability).into())
        .right(format!("level{unit}"), 0, move |l| {
            Cell::marked_if(bounded && l.period.total_cmp(&head).is_eq(), figure(l.level), Mark::Main)
        })
        .group(format!("{}, profile", percent(s.confidence)))
        .right("from", 0, |l| figure_opt(l.interval.low).into())
        .right("to", 0, |l| figure_opt(l.interval.high).into())
        .group("bootstrap")
        .right("from", 1, |l| figure_opt(l.bootstrap.and_then(|b| b.low)).into())
        .right("to", 1, |l| figure_opt(l.bootstrap.and_then(|b| b.high)).into())
        .group("")
        .right("beyond the data", 0, |l| if l.extrapolation <= 1.0 { "within".into() } else { times(Some(l.extrapolation)).into() })
        .sheet(&s.levels)
        .titled("Return levels")
        .about(if s.bounded { "" } else { " · for study only: a gate is not passed" })
}

/// The tests of the fit.
pub(crate) fn goodness(s: &Study) -> Sheet<'static> {
    let (d, p) = (s.goodness.distances, s.goodness.p);
    let rows = [
        ("Anderson-Darling", d.anderson_darling, p.map(|p| p.anderson_darling)),
        ("Cramer-von Mises", d.cramer_von_mises, p.map(|p| p.cramer_von_mises)),
        ("Kolmogorov-Smirnov", d.kolmogorov_smirnov, p.map(|p| p.kolmogorov_smirnov)),
    ];
    Columns::new()
        .left("test", 0, |r: &(&str, f64, Option<f64>)| r.0.into())
        .right("statistic", 0, |r| figure(r.1).into())
        .right("p", 0, |r| probability(r.2).into())
        .sheet_of(rows)
        .titled("Tests of the fit")
        .about(format!(" · p by {} replicates of the law, each fitted anew", s.goodness.replicates))
}

/// The fit above other thresholds.
pub(crate) fn thresholds(s: &Study) -> Sheet<'_> {
    let (head, at) = (s.headline, s.threshold);
    let period = s.levels.get(head).map_or_else(String::new, |l| count_f64(l.period));
    Columns::new()
        .right("threshold", 0, move |r: &ThresholdRow| {
            Cell::marked_if(at.is_some_and(|t| t.total_cmp(&r.threshold).is_eq()), figure(r.threshold), Mark::Main)
        })
        .right("above", 0, |r| count_f64(r.exceedances).into())
        .right("scale", 0, |r| figure(r.scale).into())
        .right("error", 2, |r| figure_opt(r.scale_error).into())
        .right("shape", 0, |r| figure(r.shape).into())
        .right("error", 2, |r| figure_opt(r.shape_error).into())
        .right("modified scale", 1, |r| figure(r.modified_scale).into())
        .right("mean excess", 1, |r| figure(r.mean_excess).into())
        .right("variation", 1, |r| figure(r.coefficient_of_variation).into())
        .right(format!("once in {period}"), 0, move |r| figure_opt(r.levels.get(head).copied()).into())
        .sheet(&s.thresholds)
        .titled("Thresholds")
        .about(" · shape and modified scale should stay from the chosen one on")
}

/// The worst of several groups.
pub(crate) fn envelope(rows: &[Envelope], confidence: f64) -> Sheet<'_> {
    Columns::new()
        .right("once in", 0, |r: &Envelope| count_f64(r.period).into())
        .right("highest level", 0, |r| Cell::main(figure(r.level)))
        .left("of", 0, |r| r.group.as_str().into())
        .right(format!("highest end of {}", percent(confidence)), 0, |r| figure_opt(r.high).into())
        .left("of", 0, |r| r.high_group.as_str().into())
        .sheet(rows)
        .titled("Envelope")
        .about(" · the worst of all series, whether their gates are passed or not")
}
