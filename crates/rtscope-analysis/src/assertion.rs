//! Assertions such as `p99.9<80us` or `missed==0`: their grammar, and their evaluation against a record.
//!
//! An assertion must hold for every distribution of a record; the worst one decides. It fails closed: what the record cannot show
//! is refused, and no figure of an INVALID record passes.

use crate::corrected::View;
use rtscope_record::units::ParseNanosError;
use rtscope_record::{Distribution, Nanos, Quantile, Record, Test, Verdict};
use serde::Serialize;
use std::fmt::{self, Write as _};
use std::str::FromStr;

/// Which figure is asserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// A percentile of the samples taken.
    Percentile(Quantile),
    /// Lowest sample.
    Min,
    /// Mean of the samples.
    Mean,
    /// Highest sample.
    Max,
    /// Events that gave no sample.
    Missed,
    /// Events that nobody asked for.
    Spurious,
    /// Samples beyond an imported histogram.
    Overflow,
    /// Samples taken and lost.
    Dropped,
    /// Samples taken.
    Count,
}

impl Metric {
    /// Whether the figure is a time (else a count of events).
    pub fn is_time(self) -> bool {
        matches!(self, Self::Percentile(_) | Self::Min | Self::Mean | Self::Max)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(q) => q.fmt(f),
            Self::Min => f.write_str("min"),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
            Self::Missed => f.write_str("missed"),
            Self::Spurious => f.write_str("spurious"),
            Self::Overflow => f.write_str("overflow"),
            Self::Dropped => f.write_str("dropped"),
            Self::Count => f.write_str("count"),
        }
    }
}

/// How figure and bound are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
}

impl Op {
    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Equal => "==",
        }
    }

    fn upper(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }
}

/// An assertion. Its text form is `Display` and `FromStr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Assertion {
    /// Which figure.
    pub metric: Metric,
    /// How it is compared.
    pub op: Op,
    /// With what: ns for a time, else events.
    pub bound: u64,
}

/// Why a text is not an assertion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseAssertionError {
    /// No operator.
    #[error("`{0}` compares nothing: write FIGURE OPERATOR VALUE, such as p99.9<80us or missed==0 (operators < <= > >= ==)")]
    Operator(String),
    /// The figure is unknown.
    #[error("`{0}` is no figure: use a percentile such as p99.9, or min, mean, max, missed, spurious, overflow, dropped, count")]
    Metric(String),
    /// The bound of a time is no time.
    #[error("bound of {metric}: {error}")]
    Time {
        /// The figure.
        metric: String,
        /// What is wrong with it.
        error: ParseNanosError,
    },
    /// The bound of a count is no whole number.
    #[error("bound of {metric}: `{text}` is not a whole number without unit")]
    Count {
        /// The figure.
        metric: String,
        /// What was written.
        text: String,
    },
}

impl FromStr for Assertion {
    type Err = ParseAssertionError;

    fn from_str(text: &str) -> Result<Self, ParseAssertionError> {
        let operator = || ParseAssertionError::Operator(text.trim().into());
        let at = text.find(['<', '>', '=']).ok_or_else(operator)?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        // The two-character operators first: `<` is a prefix of `<=`.
        let (op, value) = [Op::AtMost, Op::AtLeast, Op::Equal, Op::Below, Op::Above]
            .into_iter()
            .find_map(|op| rest.strip_prefix(op.as_str()).map(|value| (op, value.trim())))
            .ok_or_else(operator)?;
        let metric = match name {
            "min" => Metric::Min,
            "mean" => Metric::Mean,
            "max" => Metric::Max,
            "missed" => Metric::Missed,
            "spurious" => Metric::Spurious,
            "overflow" => Metric::Overflow,
            "dropped" => Metric::Dropped,
            "count" => Metric::Count,
            _ => Metric::Percentile(name.parse().map_err(|_| ParseAssertionError::Metric(name.into()))?),
        };
        let bound = if metric.is_time() {
            value.parse::<Nanos>().map_err(|error| ParseAssertionError::Time { metric: name.into(), error })?.0
        } else {
            let wrong = || ParseAssertionError::Count { metric: name.into(), text: value.into() };
            // `parse` alone would take a leading plus.
            if value.starts_with('+') {
                return Err(wrong());
            }
            value.parse().map_err(|_| wrong())?
        };
        Ok(Self { metric, op, bound })
    }
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, op, bound } = self;
        write!(f, "{metric}{}", op.as_str())?;
        if metric.is_time() { Nanos(*bound).fmt(f) } else { bound.fmt(f) }
    }
}

/// How an assertion ended. Only `Pass` may end a program with exit code 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It holds for every distribution.
    Pass,
    /// The record cannot show whether it holds.
    Refused,
    /// It does not hold.
    Fail,
}

impl Outcome {
    /// As people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Refused => "refused",
            Self::Fail => "FAIL",
        }
    }
}

/// An assertion held against one record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// The assertion as text.
    pub assertion: String,
    /// Id of the record.
    pub record: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The distribution that decided; `None` where the record as a whole did.
    pub label: Option<String>,
    /// The figure of that distribution: ns for a time, else events.
    pub value: Option<f64>,
    /// One sentence for people.
    pub text: String,
}

/// What one distribution says about a figure.
enum Figure {
    /// Known to lie between the two (they are equal where it is exact).
    Known(f64, f64),
    /// Not known, and why.
    Unknown(String),
}

impl Assertion {
    /// Holds the assertion against every distribution of `record`.
    ///
    /// A percentile is known to within its histogram slot (0.1 %): `<` and `<=` are held against the slot's upper end, `>` and `>=`
    /// against its lower end, so that rounding never turns into a pass.
    pub fn evaluate(&self, record: &Record) -> Evaluation {
        let whole = |outcome, text: String| Evaluation {
            assertion: self.to_string(),
            record: record.id().into(),
            outcome,
            label: None,
            value: None,
            text: format!("{self}: {text}"),
        };
        if record.verdict() == Verdict::Invalid {
            let codes: Vec<_> = record.parts().warnings.iter().filter(|w| w.effect == rtscope_record::Effect::Invalid).collect();
            let codes: Vec<_> = codes.iter().map(|w| w.code.as_str()).collect();
            let text =
                format!("the record is INVALID ({}), so nothing it says can pass; mend that and measure again", codes.join(", "));
            return whole(Outcome::Fail, text);
        }
        let all = record.distributions().iter().map(|d| self.of_distribution(record, d));
        // The worst outcome decides; among equals the one farthest on the wrong side of the bound.
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

    fn of_distribution(&self, record: &Record, d: &Distribution) -> Evaluation {
        let (outcome, value, text) = match self.figure(record, d) {
            Figure::Unknown(why) => (Outcome::Refused, None, why),
            Figure::Known(low, high) => self.hold(record, d, low, high),
        };
        Evaluation {
            assertion: self.to_string(),
            record: record.id().into(),
            outcome,
            label: Some(d.label().into()),
            value,
            text: format!("{self}: {}: {text}", d.label()),
        }
    }

    fn hold(&self, record: &Record, d: &Distribution, low: f64, high: f64) -> (Outcome, Option<f64>, String) {
        let bound = self.bound as f64;
        let value = if matches!(self.op, Op::Above | Op::AtLeast) { low } else { high };
        let holds = match self.op {
            Op::Below => high < bound,
            Op::AtMost => high <= bound,
            Op::Above => low > bound,
            Op::AtLeast => low >= bound,
            Op::Equal => low >= bound && high <= bound,
        };
        let mut text = format!("{} is {}", self.metric, self.show(value));
        if !holds && self.op == Op::Equal && low <= bound && bound <= high {
            text = format!("{} lies between {} and {}: not known finely enough", self.metric, self.show(low), self.show(high));
            return (Outcome::Refused, Some(value), text);
        }
        if d.parts().resolution > 1 && self.metric.is_time() {
            let _ = write!(text, " (rounded down to whole {} by the tool that measured it)", Nanos(d.parts().resolution));
        }
        if let (true, Metric::Percentile(q)) = (holds && self.op.upper(), self.metric) {
            let corrected = View::of(record, d).and_then(|v| v.value_at(q));
            if let Some(c) = corrected.filter(|&c| c as f64 > bound) {
                let _ = write!(text, "; {} events were missed, and with them put back it is {}", d.missed(), self.show(c as f64));
            }
        }
        (if holds { Outcome::Pass } else { Outcome::Fail }, Some(value), text)
    }

    fn show(&self, value: f64) -> String {
        if !self.metric.is_time() {
            return format!("{value:.0}");
        }
        if value >= 1e6 { format!("{:.3} ms", value / 1e6) } else { format!("{:.3} us", value / 1e3) }
    }

    fn figure(&self, record: &Record, d: &Distribution) -> Figure {
        let exact = |v: u64| Figure::Known(v as f64, v as f64);
        match self.metric {
            Metric::Missed => exact(d.missed()),
            Metric::Spurious => exact(d.spurious()),
            Metric::Overflow => exact(d.overflow()),
            Metric::Dropped => exact(d.dropped()),
            Metric::Count => exact(d.count()),
            _ => match self.unknown(record, d) {
                Some(why) => Figure::Unknown(why),
                None => self.time(d).unwrap_or_else(|| Figure::Unknown(format!("{} is not in the record", self.metric))),
            },
        }
    }

    /// Why a time can't be told from this distribution, if it can't.
    fn unknown(&self, record: &Record, d: &Distribution) -> Option<String> {
        if d.count() == 0 {
            return Some("it holds no sample".into());
        }
        if d.dropped() > 0 {
            return Some(format!("{} samples were lost, and nobody knows how high they were", d.dropped()));
        }
        // A timer that oversleeps takes the late sample as well; an answer that never came is in no sample.
        if record.parts().test != Test::Timer && d.missed() > 0 && self.metric != Metric::Min {
            return Some(format!(
                "{} events had no answer and are in none of the {} samples; assert missed==0 first",
                d.missed(),
                d.count()
            ));
        }
        let held = d.histogram().total();
        match self.metric {
            Metric::Percentile(q) if !q.supported_by(d.count()) => {
                Some(format!("{q} takes at least {} samples, and there are {}; measure longer", q.samples_needed(), d.count()))
            }
            Metric::Percentile(q) if q.rank(d.count()) > held => Some(format!(
                "{} of {} samples overflowed the imported histogram, and {q} lies among them; measure again with a larger histogram",
                d.overflow(),
                d.count()
            )),
            Metric::Max | Metric::Mean if d.overflow() > 0 => Some(format!(
                "{} samples overflowed the imported histogram, so {} rests on the other tool's word; measure again with a larger one",
                d.overflow(),
                self.metric
            )),
            _ => None,
        }
    }

    fn time(&self, d: &Distribution) -> Option<Figure> {
        let exact = |v: u64| Figure::Known(v as f64, v as f64);
        Some(match self.metric {
            Metric::Min => exact(d.min()?),
            Metric::Max => exact(d.max()?),
            Metric::Mean => {
                let mean = d.mean()?;
                Figure::Known(mean, mean)
            }
            Metric::Percentile(q) => {
                let rank = q.rank(d.count());
                let mut seen = 0;
                let (low, high, _) = d.histogram().iter().find(|t| {
                    seen += t.2;
                    seen >= rank
                })?;
                // The exact extremes narrow the first and the last slot.
                Figure::Known(low.max(d.min()?) as f64, high.min(d.max()?) as f64)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
#[path = "assertion_tests.rs"]
mod tests;
