//! Evaluates assertions against a record.
//!
//! A figure of the run (a count, the minimum, maximum or mean of what was seen) is compared as it is. A percentile is a
//! claim about the machine: it passes when its upper confidence bound keeps the limit, fails when its lower bound breaks
//! it, and otherwise is not shown. So a pass and a FAIL are each wrong with a probability of at most 1 - confidence. A
//! record passes only when each of its distributions does, so the chance of a false pass is at most that of the one
//! distribution that breaks the limit, however many there are.

use super::{Assertion, Evaluation, Metric, Op, Outcome};
use crate::confidence::{Confidence, PercentileBounds, needed};
use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::{Distribution, Effect, Histogram, Nanos, Quantile, Record, Test, Verdict};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The events whose figure is compared with the limit.
struct Events<'a> {
    /// Names the view in messages: text before the figure, and text after it.
    name: (&'static str, &'static str),
    histogram: Cow<'a, Histogram>,
    /// All events; those that the histogram does not hold lie above it.
    count: u64,
    min: u64,
    max: u64,
    mean: Option<f64>,
    /// Events that the histogram does not hold are above this, ns.
    beyond: u64,
}

impl<'a> Events<'a> {
    fn raw(d: &'a Distribution, named: bool) -> Option<Self> {
        Some(Self {
            name: (if named { "raw " } else { "" }, ""),
            histogram: Cow::Borrowed(d.histogram()),
            count: d.count(),
            min: d.min()?,
            max: d.max()?,
            mean: d.mean(),
            beyond: d.histogram().iter().next_back().map_or(0, |t| t.1),
        })
    }

    fn corrected(record: &Record, d: &Distribution) -> Option<Self> {
        let c = Corrected::of(record.parts(), d)?;
        let timeout = record.parts().settings.lines.as_ref().map_or(0, |l| l.timeout.0);
        let name = match c.basis {
            Basis::Events if d.missed() > 0 => ("corrected ", ""),
            Basis::Events => ("", ""),
            Basis::Rule => ("", " by HdrHistogram's rule"),
        };
        let (count, beyond) = (c.count(), c.max.max(timeout));
        Some(Self { name, count, min: c.min, max: c.max, mean: c.mean, beyond, histogram: Cow::Owned(c.histogram) })
    }

    /// How many events have no known value.
    fn unknown(&self) -> u64 {
        self.count - self.histogram.total()
    }
}

/// The outcome, the figure, how many more samples are needed, and a sentence.
type Held = (Outcome, Option<f64>, Option<u64>, String);

impl Assertion {
    /// Evaluates the assertion against every distribution of `record`.
    ///
    /// A percentile is known to within its histogram slot (0.1 %): `<` and `<=` are compared with the slot's upper end,
    /// `>` and `>=` with its lower end, so that rounding never turns a failure into a pass.
    pub fn evaluate(&self, record: &Record, confidence: Confidence) -> Evaluation {
        let whole = |outcome, text: String| Evaluation {
            assertion: self.to_string(),
            record: record.id().into(),
            outcome,
            label: None,
            value: None,
            confidence: None,
            more: None,
            text: format!("{self}: {text}"),
        };
        if record.verdict() == Verdict::Invalid {
            let codes: Vec<_> = record.parts().warnings.iter().filter(|w| w.effect == Effect::Invalid).collect();
            let codes: Vec<_> = codes.iter().map(|w| w.code.as_str()).collect();
            let text =
                format!("the record is INVALID ({}), so nothing in it can pass; fix the cause and measure again", codes.join(", "));
            return whole(Outcome::Fail, text);
        }
        let all = record.distributions().iter().map(|d| self.of_distribution(record, d, confidence));
        // The worst outcome decides; among equal outcomes, the figure farthest on the wrong side of the bound.
        let worst = all.max_by(|a, b| a.outcome.cmp(&b.outcome).then(self.badness(a).total_cmp(&self.badness(b))));
        worst.unwrap_or_else(|| whole(Outcome::Refused, "the record holds no figures".into()))
    }

    fn badness(&self, e: &Evaluation) -> f64 {
        let value = e.value.unwrap_or(0.0);
        match self.op {
            Op::Below | Op::AtMost => value,
            Op::Above | Op::AtLeast => -value,
            Op::Equal => (value - self.bound as f64).abs(),
        }
    }

    /// Evaluates one distribution, whatever the record's verdict.
    pub(super) fn of_distribution(&self, record: &Record, d: &Distribution, confidence: Confidence) -> Evaluation {
        let refused = |why| (Outcome::Refused, None, None, why);
        let claimed = match self.metric {
            // p100 is the maximum seen: no claim about the machine follows from it.
            Metric::Percentile(q) if q.samples_needed() > 1 => Some(q),
            _ => None,
        };
        let (outcome, value, more, text) = if self.metric.is_time() {
            match self.events(record, d) {
                Err(why) => refused(why),
                Ok(events) => {
                    let mut held = match claimed {
                        Some(q) => self.claim(q, &events, confidence),
                        None => self.fact(&events).unwrap_or_else(refused),
                    };
                    if d.parts().resolution > 1 {
                        let unit = Nanos(d.parts().resolution);
                        let _ = write!(held.3, " (rounded down to whole {unit} by the tool that measured it)");
                    }
                    held
                }
            }
        } else {
            self.compare("", (self.count_of(d) as f64, self.count_of(d) as f64), "")
        };
        Evaluation {
            assertion: self.to_string(),
            record: record.id().into(),
            outcome,
            label: Some(d.label().into()),
            value,
            confidence: claimed.map(|_| confidence.to_string()),
            more,
            text: format!("{self}: {}: {text}", d.label()),
        }
    }

    fn count_of(&self, d: &Distribution) -> u64 {
        match self.metric {
            Metric::Missed => d.missed(),
            Metric::Spurious => d.spurious(),
            Metric::Overflow => d.overflow(),
            Metric::Dropped => d.dropped(),
            _ => d.count(),
        }
    }

    /// The events that a time metric refers to, or why they are not known.
    fn events<'a>(&self, record: &Record, d: &'a Distribution) -> Result<Events<'a>, String> {
        if d.dropped() > 0 {
            return Err(format!("{} samples were lost, and nobody knows how high they were", d.dropped()));
        }
        // Jitter is measured between edges that came, so it has no corrected view.
        let periodic = record.parts().test == Test::Periodic;
        let events = if self.raw || periodic { Events::raw(d, self.raw) } else { Events::corrected(record, d) };
        if let Some(events) = events {
            return Ok(events);
        }
        let why = if d.count() == 0 && d.missed() == 0 {
            "it holds no sample".into()
        } else if d.count() == 0 {
            format!("none of {} events had an answer", d.missed())
        } else if d.overflow() > 0 {
            format!(
                "{} of {} samples overflowed the imported histogram, and what was omitted after them nobody knows; `raw {self}` is of the samples alone",
                d.overflow(),
                d.count()
            )
        } else {
            format!("it does not say its interval, so what was omitted nobody knows; `raw {self}` is of the samples alone")
        };
        Err(why)
    }

    /// Evaluates a figure of the run.
    fn fact(&self, e: &Events<'_>) -> Result<Held, String> {
        let unknown = e.unknown();
        let value = match self.metric {
            Metric::Min => Some(e.min as f64),
            _ if unknown > 0 => {
                return Err(format!(
                    "{unknown} of {} events have no latency (no answer in time, or beyond an imported histogram): nobody knows the {}",
                    e.count, self.metric
                ));
            }
            Metric::Mean => e.mean,
            _ => Some(e.max as f64),
        };
        let value = value.ok_or_else(|| format!("{} is not in the record", self.metric))?;
        Ok(self.compare(e.name.0, (value, value), e.name.1))
    }

    fn compare(&self, before: &str, (low, high): (f64, f64), after: &str) -> Held {
        let value = if matches!(self.op, Op::Above | Op::AtLeast) { low } else { high };
        let holds = self.keeps(Some(low), Some(high));
        let text = format!("{before}{} is {}{after}", self.metric, self.show(value));
        (if holds { Outcome::Pass } else { Outcome::Fail }, Some(value), None, text)
    }

    /// Whether every value from `low` to `high` keeps the limit; `None` is unbounded.
    fn keeps(&self, low: Option<f64>, high: Option<f64>) -> bool {
        let bound = self.bound as f64;
        let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
        match self.op {
            Op::Below => high < bound,
            Op::AtMost => high <= bound,
            Op::Above => low > bound,
            Op::AtLeast => low >= bound,
            Op::Equal => low >= bound && high <= bound,
        }
    }

    /// Whether every value from `low` to `high` breaks the limit; `None` is unbounded.
    fn breaks(&self, low: Option<f64>, high: Option<f64>) -> bool {
        let bound = self.bound as f64;
        let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
        match self.op {
            Op::Below => low >= bound,
            Op::AtMost => low > bound,
            Op::Above => high <= bound,
            Op::AtLeast => high < bound,
            Op::Equal => low > bound || high < bound,
        }
    }

    /// Evaluates a percentile: pass or FAIL only with the confidence, else not shown.
    fn claim(&self, q: Quantile, e: &Events<'_>, confidence: Confidence) -> Held {
        let risk = confidence.risk();
        let PercentileBounds { low, high } = PercentileBounds::of(q, &e.histogram, e.count, (e.min, e.max), e.beyond, risk);
        let (low, high) = (low.map(|v| v as f64), high.map(|v| v as f64));
        let at = e.histogram.values_at_ranks(&[q.rank(e.count)]).first().copied().flatten().map(|v| v.min(e.max) as f64);
        let what = match at {
            Some(at) => format!("{}{q} is {}{}", e.name.0, self.show(at), e.name.1),
            None => format!("{}{q} lies among {} events without a latency{}", e.name.0, e.unknown(), e.name.1),
        };
        let value = at.or(Some(e.beyond as f64));
        let lower = || low.map_or_else(|| "of unknown lower bound".into(), |v| format!("at least {}", self.show(v)));
        let upper = || high.map_or_else(|| "of unknown upper bound".into(), |v| format!("at most {}", self.show(v)));
        if self.keeps(low, high) {
            let bound = match self.op {
                Op::Below | Op::AtMost => upper(),
                Op::Above | Op::AtLeast => lower(),
                Op::Equal => format!("{}, {}", lower(), upper()),
            };
            return (Outcome::Pass, value, None, format!("{what}, {bound} with {confidence} confidence"));
        }
        if self.breaks(low, high) {
            let bound = if low.is_some_and(|low| low >= self.bound as f64) && self.op != Op::Above { lower() } else { upper() };
            return (Outcome::Fail, value, None, format!("{what}, {bound} with {confidence} confidence"));
        }
        let more = self.more(q, e, risk);
        let lack = match more {
            Some(more) => {
                format!("{} more samples would show it with {confidence} confidence, if what was seen goes on", grouped(more))
            }
            None => format!("no number of samples shows it with {confidence} confidence, if what was seen goes on"),
        };
        (Outcome::NotShown, value, more, format!("{what}; {lack}"))
    }

    /// How many more samples are needed if those to come are like those that came; `None` where no number suffices.
    fn more(&self, q: Quantile, e: &Events<'_>, risk: f64) -> Option<u64> {
        let above = match self.op {
            Op::Below | Op::AtMost => false,
            Op::Above | Op::AtLeast => true,
            Op::Equal => return None,
        };
        let right = |low: u64, high: u64| self.keeps(Some(low.max(e.min) as f64), Some(high.min(e.max) as f64));
        let known: u64 = e.histogram.iter().filter(|t| right(t.0, t.1)).map(|t| t.2).sum();
        let unknown = if above && right(e.beyond, u64::MAX) { e.unknown() } else { 0 };
        let all = needed(q, e.count, e.count - known - unknown, above, risk)?;
        Some(all.saturating_sub(e.count).max(1))
    }

    fn show(&self, value: f64) -> String {
        if !self.metric.is_time() {
            return format!("{value:.0}");
        }
        if value >= 1e6 { format!("{:.3} ms", value / 1e6) } else { format!("{:.3} us", value / 1e3) }
    }
}

/// A number with a comma between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
#[path = "held_tests.rs"]
mod tests;
