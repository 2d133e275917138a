//! The instrument of a test over lines: lines, uncertainty, and results that are not distributions.

use crate::format::{clean, count, time, us};
use crate::properties::Fact;
use rtscope_analysis::agreement::InstrumentView;
use rtscope_record::lines::{LineFacts, Phase, Stamp};
use rtscope_record::{Nanos, Record};

/// Results that are not distributions, a sentence each: the sustained frequency, and the wave compared with its grid.
pub(crate) fn results(record: &Record) -> Vec<String> {
    let Some(i) = &record.parts().instrument else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(interval) = i.sustained {
        let hertz = crate::words::hertz(interval.0);
        let sure = i.confirmation.map_or_else(String::new, |c| {
            let tries = if c.tries > 1 { format!(" (the {} tries before it counted)", c.tries - 1) } else { String::new() };
            format!(
                " The run of {} edges that confirmed it says with {} % confidence that fewer than {} in a million are missed{tries}.",
                count(c.stimuli),
                c.confidence,
                count(c.miss_below_ppb.div_ceil(1_000))
            )
        });
        found.push(format!("Sustained: every edge was answered at {hertz} Hz, an edge every {}.{sure}", time(interval.0 as f64)));
    }
    if let Some(g) = &i.grid {
        let signed = |ns: i64| format!("{}{} us", if ns < 0 { "-" } else { "+" }, us(ns.unsigned_abs() as f64));
        let drift = g.drift_ppb as f64 / 1e3;
        found.push(format!(
            "Grid: over {} semi-periods the edges were from {} to {} off, the last one {}; drift {drift:+.3} ppm, mean jitter {}.",
            count(g.points),
            signed(g.min),
            signed(g.max),
            signed(g.last),
            signed(g.mean_jitter)
        ));
    }
    found
}

/// Facts about the instrument of a record; empty where it had none.
pub(crate) fn facts(record: &Record) -> Vec<Fact> {
    let Some(i) = &record.parts().instrument else { return Vec::new() };
    let mut facts: Vec<Fact> = Vec::new();
    let mut fact = |name: &'static str, text: String| facts.push((name, text));
    fact("clock", clean(&i.what));
    if let Some(s) = &i.system {
        let machine = s.virtualization.as_ref().map_or_else(String::new, |v| format!(", inside {v}"));
        fact(
            "instrument on",
            clean(&format!("{}, Linux {} {}{machine}", s.hostname, s.kernel.release, s.kernel.preemption.as_str())),
        );
    }
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
        // A line of the kernel's instrument has a programmed time, without clock reads around it.
        fact(
            "uncertainty",
            if i.stimulus.as_ref().is_some_and(|l| l.stamp == Stamp::Outside) {
                format!("times are known to {most}")
            } else if i.stimulus.as_ref().is_some_and(|l| l.stamp == Stamp::Kernel && l.name.starts_with("wire:")) {
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
    if let Some(width) = record.parts().settings.lines.as_ref().and_then(|l| l.shape.min_width) {
        fact("least width", format!("{width}: {} shorter pulses were taken out", count(i.narrow)));
    }
    if i.lost > 0 {
        fact("lost", format!("{} edges", count(i.lost)));
    }
    facts
}

/// Every step of the search for the sustained frequency: its outcome and figures.
pub(crate) fn search(record: &Record) -> Vec<Fact> {
    let trials = record.parts().instrument.iter().flat_map(|i| &i.search);
    trials
        .map(|t| {
            let what = match (t.confirming, t.sustained) {
                (true, true) => "confirmed",
                (true, false) => "not confirmed",
                (false, true) => "held",
                (false, false) => "failed",
            };
            let (asked, given) = (time(t.interval.0 as f64), time(t.given.0 as f64));
            let max = t.max.map_or_else(String::new, |ns| format!(", max {}", time(ns as f64)));
            let counts = format!("{} stimuli, {} missed, {} spurious", count(t.stimuli), count(t.missed), count(t.spurious));
            (what, format!("{asked} (given {given}): {counts}{max}"))
        })
        .collect()
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

/// An instrument in words.
pub(crate) fn witness(w: &InstrumentView) -> String {
    let own = w.null_wire.map_or_else(String::new, |n| format!(", null wire {}", time(n as f64)));
    let error = w.uncertainty.map_or_else(String::new, |u| format!(", at most {} too high", time(u as f64)));
    format!("{}{error}{own}", w.what)
}
