//! Assertions such as `p99.9<80us` or `missed==0`: their grammar. `held.rs` evaluates them against a record.
//!
//! An assertion must hold for every distribution of a record; the worst one decides. It fails closed: what the record
//! cannot show does not pass, and an INVALID record never passes.

mod held;

use rtscope_failure::{Fault, Problem};
use rtscope_record::units::ParseNanosError;
use rtscope_record::{Nanos, Quantile};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Which figure is asserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// A percentile: a claim about the machine, made with a confidence. The other metrics are facts about the run.
    Percentile(Quantile),
    /// The lowest seen.
    Min,
    /// The mean of the samples or events.
    Mean,
    /// The highest seen.
    Max,
    /// Events that gave no sample.
    Missed,
    /// Edges that answer no stimulus.
    Spurious,
    /// Samples above the range of an imported histogram.
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

/// How the figure is compared with the bound.
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
}

/// An assertion. Its text form is `Display` and `FromStr`.
///
/// ```
/// use rtscope_analysis::{Assertion, Confidence, Outcome};
/// # use rtscope_record::{Distribution, Record, Settings, System};
/// # fn record(load: &str, samples: &[u64]) -> Result<Record, Box<dyn std::error::Error>> {
/// #     let empty: Record = serde_json::from_value(serde_json::json!({
/// #         "schema": rtscope_record::SCHEMA, "id": "20261121T080000Z-1a2b3c", "started": "2026-11-21T08:00:00Z", "test": "timer",
/// #         "space": "user", "load": load, "target": "local", "clock": "host", "verdict": "VALID", "warnings": [], "load_proof": null,
/// #         "distributions": [], "settings": Settings::default(), "system": System::default(),
/// #     }))?;
/// #     let mut of_record = empty.into_parts();
/// #     let mut cpu0 = Distribution::from_samples("cpu0", samples, 0)?.into_parts();
/// #     cpu0.expected = Some(cpu0.count);
/// #     of_record.distributions.push(Distribution::new(cpu0)?);
/// #     Ok(Record::new(of_record)?)
/// # }
/// let held = |limit: &str, n: usize| -> Result<Outcome, Box<dyn std::error::Error>> {
///     // A record of n samples of 20 us.
///     let limit: Assertion = limit.parse()?;
///     Ok(limit.evaluate(&record("none", &vec![20_000; n])?, Confidence::default()).outcome)
/// };
/// assert_eq!(held("max<80us", 10)?, Outcome::Pass);
/// assert_eq!(held("missed==0", 10)?, Outcome::Pass);
/// assert_eq!(held("max<10us", 10)?, Outcome::Fail);
/// // A percentile is claimed with 95 % confidence, which takes 299 samples for a p99.
/// assert_eq!(held("p99<80us", 298)?, Outcome::NotShown);
/// assert_eq!(held("p99<80us", 299)?, Outcome::Pass);
/// assert!("p99".parse::<Assertion>().is_err() && "p99<80".parse::<Assertion>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Assertion {
    /// `true`: about the samples alone. `false`: about all events that were expected and not lost (the corrected view).
    pub raw: bool,
    /// Which figure.
    pub metric: Metric,
    /// How it is compared.
    pub op: Op,
    /// The bound: ns for a time, otherwise a number of events.
    pub bound: u64,
}

/// Why a text is not an assertion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseAssertionError {
    /// There is no operator.
    #[error("`{0}` compares nothing: write FIGURE OPERATOR VALUE, such as p99.9<80us or missed==0 (operators < <= > >= ==)")]
    Operator(String),
    /// `raw` before a count, which is the same in both views.
    #[error("`raw` is for times, and {0} is a count: leave it out")]
    Raw(String),
    /// The figure is unknown.
    #[error("`{0}` is not a figure: use a percentile such as p99.9, or min, mean, max, missed, spurious, overflow, dropped, count")]
    Metric(String),
    /// The bound of a time is not a time.
    #[error("bound of {metric}: {error}")]
    Time {
        /// The figure.
        metric: String,
        /// What is wrong with it.
        error: ParseNanosError,
    },
    /// The bound of a count is not a whole number.
    #[error("bound of {metric}: `{text}` is not a whole number without unit")]
    Count {
        /// The figure.
        metric: String,
        /// What was written.
        text: String,
    },
}

impl Problem for ParseAssertionError {
    fn remedy(&self) -> String {
        match self {
            // The message already says what to do.
            Self::Operator(_) | Self::Raw(_) | Self::Metric(_) => String::new(),
            Self::Time { error, .. } => error.remedy(),
            Self::Count { .. } => "write a number of events, such as missed==0".into(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

impl FromStr for Assertion {
    type Err = ParseAssertionError;

    fn from_str(text: &str) -> Result<Self, ParseAssertionError> {
        let operator = || ParseAssertionError::Operator(text.trim().into());
        let at = text.find(['<', '>', '=']).ok_or_else(operator)?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        let (raw, name) = match name.split_once(char::is_whitespace) {
            Some(("raw", name)) => (true, name.trim_start()),
            _ => (false, name),
        };
        // Try the two-character operators first: `<` is a prefix of `<=`.
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
        if raw && !metric.is_time() {
            return Err(ParseAssertionError::Raw(name.into()));
        }
        let bound = if metric.is_time() {
            value.parse::<Nanos>().map_err(|error| ParseAssertionError::Time { metric: name.into(), error })?.0
        } else {
            let wrong = || ParseAssertionError::Count { metric: name.into(), text: value.into() };
            // `parse` would accept a leading plus.
            if value.starts_with('+') {
                return Err(wrong());
            }
            value.parse().map_err(|_| wrong())?
        };
        Ok(Self { raw, metric, op, bound })
    }
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { raw, metric, op, bound } = self;
        write!(f, "{}{metric}{}", if *raw { "raw " } else { "" }, op.as_str())?;
        if metric.is_time() { Nanos(*bound).fmt(f) } else { bound.fmt(f) }
    }
}

/// How an assertion ended. Only `Pass` may end a program with exit code 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It holds for every distribution; for a percentile, with the requested confidence.
    Pass,
    /// The samples show neither that the percentile keeps its limit nor that it breaks it.
    #[serde(rename = "not shown")]
    NotShown,
    /// The record cannot show whether it holds.
    Refused,
    /// It does not hold; for a percentile, shown with the same confidence.
    Fail,
}

impl Outcome {
    /// As people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::NotShown => "not shown",
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
    /// For a percentile: the confidence of the outcome.
    pub confidence: Option<String>,
    /// For a percentile that is not shown: how many more samples this distribution needs if they keep coming as they did
    /// so far.
    pub more: Option<u64>,
    /// One sentence for people.
    pub text: String,
}

#[cfg(test)]
#[path = "assertion_tests.rs"]
mod tests;
