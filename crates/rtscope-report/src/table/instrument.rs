//! What stimulated and timed, for a test over lines: lines, uncertainty, and the results that are no distribution.

use super::{Paint, Style, wrapped};
use crate::format::{clean, count, time, us};
use rtscope_record::lines::{LineFacts, Phase, Stamp};
use rtscope_record::{Nanos, Record, Test};
use std::fmt::Write as _;

/// What the samples of a test are.
pub(super) fn quantity(test: Test) -> &'static str {
    match test {
        Test::Timer | Test::Response => "latency",
        Test::Periodic => "jitter",
        Test::Sustained => "frequency",
    }
}

/// The instrument's part of a record; with `all` every step of a search too. Empty where there was none.
pub(super) fn of(record: &Record, all: bool, style: Style) -> String {
    let Some(i) = &record.parts().instrument else { return String::new() };
    let mut out = String::new();
    if let Some(interval) = i.sustained {
        let hertz = 1e9 / interval.0.max(1) as f64;
        let text = format!("Sustained: every edge was answered at {hertz:.0} Hz, an edge every {}.", time(interval.0 as f64));
        out += &format!("\n{}", wrapped(style, "", &text));
    }
    if let Some(g) = &i.grid {
        let signed = |ns: i64| format!("{}{} us", if ns < 0 { "-" } else { "+" }, us(ns.unsigned_abs() as f64));
        let drift = g.drift_ppb as f64 / 1e3;
        let text = format!(
            "Grid: over {} semi-periods the edges were from {} to {} off, the last one {}; drift {drift:+.3} ppm, mean jitter {}.",
            count(g.points),
            signed(g.min),
            signed(g.max),
            signed(g.last),
            signed(g.mean_jitter)
        );
        out += &format!("\n{}", wrapped(style, "", &text));
    }
    let _ = writeln!(out, "\n{}", style.paint(Paint::Bold, "Instrument"));
    let mut fact = |name: &str, text: String| out += &wrapped(style, &format!("  {name:11}  "), &text);
    fact("clock", clean(&i.what));
    let line = |l: &LineFacts| format!("{}, {}, {}", clean(&l.name), clean(&l.what), l.stamp.as_str());
    if let Some(l) = &i.stimulus {
        fact("stimulus", line(l));
    }
    if let Some(l) = &i.answer {
        fact("answer", line(l));
    }
    fact("DUT", clean(&i.dut));
    if i.stimulus.is_some() {
        let (most, mean) = (time(i.uncertainty as f64), time(i.uncertainty_mean as f64));
        // A line of the kernel's instrument has a programmed time, and no clock reads around it.
        fact(
            "uncertainty",
            if i.stimulus.as_ref().is_some_and(|l| l.stamp == Stamp::Kernel && l.name.starts_with("wire:")) {
                format!("latencies count from a stimulus' programmed time; it was driven up to {most} later (mean {mean})")
            } else {
                format!("a latency is at most {most} too high (mean {mean}), by the clock reads around each stimulus")
            },
        );
    }
    if let Some(c) = &i.calibration {
        fact("null wire", phase(c));
    }
    if let Some(w) = &i.warmup {
        fact("warm-up", phase(w));
    }
    if i.behind > 0 {
        fact("behind", format!("{} stimuli were more than an interval later than planned", count(i.behind)));
    }
    if i.lost > 0 {
        fact("lost", format!("{} edges", count(i.lost)));
    }
    if all && !i.search.is_empty() {
        let _ = writeln!(out, "\n{}", style.paint(Paint::Bold, "Search"));
        for t in &i.search {
            let what = match (t.confirming, t.sustained) {
                (true, true) => "confirmed",
                (true, false) => "not confirmed",
                (false, true) => "held",
                (false, false) => "failed",
            };
            let (asked, given) = (time(t.interval.0 as f64), time(t.given.0 as f64));
            let max = t.max.map_or_else(String::new, |ns| format!(", max {}", time(ns as f64)));
            let counts = format!("{} stimuli, {} missed, {} spurious", count(t.stimuli), count(t.missed), count(t.spurious));
            out += &wrapped(style, &format!("  {what:13}  "), &format!("{asked} (given {given}): {counts}{max}"));
        }
    }
    out
}

fn phase(p: &Phase) -> String {
    let ns = |ns: Option<u64>| ns.map_or_else(|| "-".into(), |ns| time(Nanos(ns).0 as f64));
    format!(
        "{} stimuli: min {}, median {}, max {}, missed {} ({} late), spurious {}",
        count(p.stimuli),
        ns(p.min),
        ns(p.median),
        ns(p.max),
        count(p.missed),
        count(p.late),
        count(p.spurious)
    )
}
