//! The last line of a measurement, which stays in sight however long the text above it is: the figures of the run, or of the
//! worst of several.

use super::text::{Paint, Style, verdict_paint};
use crate::ReportError;
use crate::format::{clean, count, cut, us_opt};
use crate::summarize;
use crate::words::{hertz, signed, signed_us};
use rtscope_analysis::{Summary, virtual_machine};
use rtscope_record::{Record, Test};

/// Most characters of a load in the line.
const LONGEST: usize = 18;

/// Highest figure, p99.9, missed, verdict; of several runs those of the one with the highest figure, by its load. Without runs
/// it is empty.
pub fn last_line(records: &[Record], style: Style) -> Result<String, ReportError> {
    let all = records.iter().map(|r| Ok((r, summarize(r)?))).collect::<Result<Vec<_>, ReportError>>()?;
    let highest = |s: &Summary| s.rows.iter().filter_map(|r| r.max).max();
    // Of equal ones the first.
    let Some((worst, s)) = all.iter().rev().max_by_key(|(_, s)| highest(s)) else { return Ok(String::new()) };
    let whose = if records.len() > 1 { format!("worst, {}: ", cut(&clean(&s.load), LONGEST)) } else { String::new() };
    let mut parts: Vec<(Option<Paint>, String)> = Vec::new();
    let mut at = String::new();
    if s.test == Test::Periodic {
        let jitter = signed(worst)?;
        let us = |ns| format!("{} us", signed_us(s.test, ns));
        parts.push((Some(Paint::Bold), format!("latest {}", us(jitter.as_ref().and_then(|j| j.max)))));
        parts.push((None, format!("earliest {}", us(jitter.as_ref().and_then(|j| j.min)))));
    } else {
        let sustained = worst.parts().instrument.as_ref().and_then(|i| i.sustained);
        parts.extend(sustained.map(|ns| (Some(Paint::Bold), format!("{} Hz", hertz(ns.0)))));
        let max = s.merged.as_ref().and_then(|a| a.max);
        let of = s.rows.iter().find(|r| s.rows.len() > 1 && r.max == max);
        at = of.map_or_else(String::new, |r| format!(" ({})", clean(&r.label)));
        parts.push((Some(Paint::Bold), format!("max {} us{at}", us_opt(max))));
        let p = s.merged.as_ref().and_then(|a| a.percentile("p99.9")).and_then(|p| p.raw);
        parts.extend(p.map(|p| (None, format!("p99.9 {} us", us_opt(Some(p))))));
    }
    let missed = s.rows.iter().map(|r| r.missed).sum::<u64>();
    parts.push(((missed > 0).then_some(Paint::Doubtful), format!("missed {}", count(missed))));
    parts.push((Some(verdict_paint(s.verdict)), s.verdict.as_str().into()));
    if let Some((_, other)) = all.iter().max_by_key(|(_, s)| s.verdict).filter(|(_, o)| o.verdict > s.verdict) {
        parts.push((Some(verdict_paint(other.verdict)), format!("{}: {}", clean(&other.load), other.verdict)));
    }
    if all.iter().any(|(_, s)| s.interrupted) {
        parts.push((Some(Paint::Doubtful), "ended early".into()));
    }
    if virtual_machine(worst) {
        parts.push((Some(Paint::Doubtful), clean(&s.clock_words)));
    }
    let length = |parts: &[(_, String)]| whose.chars().count() + parts.iter().map(|p| p.1.chars().count() + 3).sum::<usize>() - 3;
    let long = |parts: &[(_, String)]| style.width.is_some_and(|w| length(parts) > w);
    if !at.is_empty() && long(&parts) {
        for part in &mut parts {
            part.1 = part.1.replacen(&at, "", 1);
        }
    }
    // The table above the line of several runs has their clocks.
    if virtual_machine(worst) && records.len() > 1 && long(&parts) {
        parts.pop();
    }
    let painted = parts.into_iter().map(|(paint, text)| paint.map_or_else(|| text.clone(), |p| style.paint(p, &text)));
    Ok(format!("{whose}{}\n", painted.collect::<Vec<_>>().join(" · ")))
}
