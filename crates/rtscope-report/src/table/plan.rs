//! A plan as text: how long to measure, what a time can claim, and the runs that a difference takes.

use super::grid;
use super::text::{Paint, Style, wrapped};
use crate::format::{NONE, clean, count};
use crate::sheet::{Cell, Columns};
use rtscope_analysis::plan::{ClaimPlan, DifferencePlan, Pilot, TimePlan};
use rtscope_record::Nanos;

/// What was planned.
#[derive(Debug)]
pub struct Planned<'a> {
    /// How sure a claim must be, as `95 %`.
    pub confidence: &'a str,
    /// Interval between two samples, ns.
    pub interval_ns: u64,
    /// The earlier runs.
    pub pilot: &'a Pilot,
    /// For a claim.
    pub claim: Option<&'a ClaimPlan>,
    /// For a time.
    pub time: Option<&'a TimePlan>,
    /// For a difference.
    pub difference: Option<&'a DifferencePlan>,
}

/// The parts that were asked for, and what they rest on.
pub fn plan(p: &Planned<'_>, style: Style) -> String {
    let mut out = String::new();
    let head = |out: &mut String, text: &str| {
        if !out.is_empty() {
            out.push('\n');
        }
        *out += &style.paint(Paint::Bold, text);
        out.push('\n');
    };
    if let Some(c) = p.claim {
        head(&mut out, &format!("To claim {} with {} confidence", c.claim, p.confidence));
        for (name, text) in claim(c, p) {
            out += &wrapped(style, &format!("  {name:<10}"), &text);
        }
    }
    if let Some(t) = p.time {
        head(&mut out, &format!("What {} at {} can claim", length(t.duration_ns), Nanos(p.interval_ns)));
        for (name, text) in time(t) {
            out += &wrapped(style, &format!("  {name:<10}"), &text);
        }
    }
    if let Some(d) = p.difference {
        let loads = if d.loads == 1 { "one load".into() } else { format!("{} loads", d.loads) };
        head(
            &mut out,
            &format!(
                "To show a difference of {} % in nine of ten cases, compared under {loads}",
                (d.percent * 100.0).round() / 100.0
            ),
        );
        let columns = Columns::new()
            .left("of each run", 0, |r: &(String, Option<f64>, Option<usize>)| r.0.as_str().into())
            .right("runs vary by", 0, |r| r.1.map_or_else(Cell::none, |s| format!("{:.1} %", s * 100.0).into()))
            .right("runs a side", 0, |r| {
                r.2.map_or_else(
                    || if r.1.is_some() { "more than 10,000".into() } else { NONE.into() },
                    |n| Cell::main(count(n as u64)),
                )
            });
        out += &grid::render(columns.sheet(&d.rows), style);
        if p.pilot.runs < 2 {
            out += &wrapped(style, "", "One run says nothing of how runs vary: select two at least, better five.");
        }
    }
    out.push('\n');
    out + &wrapped(style, "Note: ", &rests_on(p))
}

fn claim(c: &ClaimPlan, p: &Planned<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    match c.samples {
        Some(n) => {
            let independent = c.independent.unwrap_or(n);
            let worth =
                if independent < n { format!(", which count as {} independent ones", count(independent)) } else { String::new() };
            lines.push(("samples", format!("{} of each thread{worth}", count(n))));
            if let Some(d) = c.duration_ns {
                lines.push(("time", format!("{} at {}", length(d), Nanos(p.interval_ns))));
            }
            if let (Some(runs), Some(shortest)) = (c.runs, p.pilot.shortest_ns) {
                lines.push(("runs", format!("{} as long as the shortest of the earlier ones ({})", count(runs), length(shortest))));
            }
        }
        None => lines.push(("samples", "no number shows it: the earlier runs exceed the limit too often".into())),
    }
    lines.push(("at least", format!("{} independent ones, if none exceeds the limit", count(c.least))));
    if let Some((label, events, beyond)) = &c.worst {
        lines.push(("so far", format!("{} of {} exceeded it on {}", count(*beyond), count(*events), clean(label))));
    }
    lines
}

fn time(t: &TimePlan) -> Vec<(&'static str, String)> {
    let worth = if t.independent < t.samples {
        format!(", which count as {} independent ones", count(t.independent))
    } else {
        String::new()
    };
    let mut lines = vec![("samples", format!("{} of each thread{worth}", count(t.samples)))];
    lines.push(match t.percentiles.last() {
        Some(highest) => ("claims", format!("up to {highest}, if none exceeds the limit")),
        None => ("claims", "none: too few samples".into()),
    });
    if let Some(p) = t.exceedance {
        lines.push(("no more", format!("if none exceeds a limit, the next one does with p < {p:.2e} (rule of three)")));
    }
    lines
}

/// What the plan rests on.
fn rests_on(p: &Planned<'_>) -> String {
    let runs = if p.pilot.runs == 1 { "1 run".to_owned() } else { format!("{} runs", p.pilot.runs) };
    match (p.pilot.runs, p.pilot.bursts) {
        (0, _) => "samples are taken as independent, and none as beyond the limit. Real latencies come in bursts: give earlier runs with --from.".into(),
        (_, None) => format!("of {runs} without block maxima: samples are taken as independent, which real latencies are not."),
        (_, Some(b)) => format!(
            "of {runs}: a sample counts as {} independent ones (extremal index, from {} blocks). What these runs did not meet is in no plan.",
            (b.index() * 100.0).round() / 100.0,
            count(b.blocks)
        ),
    }
}

/// A time as people say it: two units at most.
fn length(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    if seconds < 60 {
        return if seconds < 1 { Nanos(ns).to_string() } else { format!("{:.1} s", ns as f64 / 1e9) };
    }
    let (days, hours, minutes, rest) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")];
    let first = parts.iter().position(|p| p.0 > 0).unwrap_or(3);
    let shown = parts[first..].iter().take(2).filter(|p| p.0 > 0);
    shown.map(|(n, unit)| format!("{n} {unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let of = |s: u64| length(s * 1_000_000_000);
        assert_eq!([of(5), of(60), of(3_725), of(90_000), of(86_400)], ["5.0 s", "1 min", "1 h 2 min", "1 d 1 h", "1 d"]);
    }
}
