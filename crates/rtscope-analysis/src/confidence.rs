//! What a percentile of the samples says about the machine's percentile: exact one-sided bounds by order statistics. They
//! assume that samples are independent, and nothing about the distribution.
//!
//! Of n samples, the number above the q-quantile is at most binomial (n, 1 - q), ties included. The sample with k samples
//! above it is therefore at or above the quantile unless k or fewer samples are, which has the probability
//! P(Bin(n, 1 - q) <= k). The largest k for which that is at most 1 - confidence gives the upper bound; the lower bound
//! follows in the same way from below. Source: David and Nagaraja, Order Statistics (2003), 7.1.

use rtscope_record::correction::Corrected;
use rtscope_record::{Distribution, Histogram, Quantile, Record};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The confidence of a claim: 50 % to 99.9999 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confidence(Quantile);

impl Confidence {
    /// The probability of a false claim: 1 - confidence.
    pub fn risk(self) -> f64 {
        1.0 - self.0.as_f64()
    }
}

impl Default for Confidence {
    /// 95 %.
    fn default() -> Self {
        "95".parse().unwrap_or(Self(Quantile::STANDARD[2]))
    }
}

impl FromStr for Confidence {
    type Err = String;

    /// Parses a percentage: `95`, `99.9`, `99.9%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("`{text}` is not a confidence: write a percentage from 50 to 99.9999, such as 95 or 99.9");
        let number = text.trim();
        let number = number.strip_suffix('%').unwrap_or(number).trim_end();
        let q: Quantile = format!("p{number}").parse().map_err(|_| error())?;
        if (0.5..=0.999_999).contains(&q.as_f64()) { Ok(Self(q)) } else { Err(error()) }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0.to_string().trim_start_matches('p'))
    }
}

/// Ranks, from 1, of the order statistics that bound a quantile of what was sampled.
///
/// ```
/// use rtscope_analysis::Confidence;
/// use rtscope_analysis::confidence::Ranks;
///
/// let risk = Confidence::default().risk();
/// let p99 = "p99".parse()?;
/// // With 95 % confidence the p99 lies at or below the highest of 299 samples; 298 do not bound it.
/// assert_eq!(Ranks::of(p99, 299, risk).high, Some(299));
/// assert_eq!(Ranks::of(p99, 298, risk).high, None);
/// // Of 10,000 samples it lies between the 9,883rd and the 9,917th, each bound by itself.
/// assert_eq!(Ranks::of(p99, 10_000, risk), Ranks { low: Some(9_883), high: Some(9_917) });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    /// The quantile is at or above the sample of this rank; `None`: too few samples for a lower bound.
    pub low: Option<u64>,
    /// The quantile is at or below the sample of this rank; `None`: too few samples for an upper bound.
    pub high: Option<u64>,
}

impl Ranks {
    /// Bounds of `q` among `n` samples, each wrong with a probability of at most `risk`. Both are `None` for p100: no
    /// sample bounds a maximum.
    pub fn of(q: Quantile, n: u64, risk: f64) -> Self {
        let below = q.as_f64();
        if below >= 1.0 {
            return Self { low: None, high: None };
        }
        Self { low: most(n, below, risk).map(|k| k + 1), high: most(n, 1.0 - below, risk).map(|k| n - k) }
    }
}

/// Bounds of a percentile, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PercentileBounds {
    /// The percentile is at least this; rounded down.
    pub low: Option<u64>,
    /// The percentile is at most this; rounded up.
    pub high: Option<u64>,
}

impl PercentileBounds {
    /// Bounds of `q` among `count` events. The histogram holds the lowest of them, from `min` to `max`; the others are
    /// above `beyond`.
    pub fn of(q: Quantile, histogram: &Histogram, count: u64, (min, max): (u64, u64), beyond: u64, risk: f64) -> Self {
        let ranks = Ranks::of(q, count, risk);
        let slot = |rank: u64| {
            let mut seen = 0;
            histogram.iter().find(|t| {
                seen += t.2;
                seen >= rank
            })
        };
        Self {
            low: ranks.low.map(|rank| slot(rank).map_or(beyond, |t| t.0.max(min))),
            high: ranks.high.and_then(slot).map(|t| t.1.min(max)),
        }
    }
}

/// A percentile of one distribution with its bounds, in the corrected view where there is one, else of the samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bounded {
    /// "p99.9"
    pub percentile: String,
    /// The percentile of what was seen, ns; rounded up.
    pub value: Option<u64>,
    /// Bounds of the machine's percentile.
    #[serde(flatten)]
    pub interval: PercentileBounds,
}

/// The standard percentiles of a distribution of `record` that have a value, with their bounds.
pub fn bounded(record: &Record, d: &Distribution, confidence: Confidence) -> Vec<Bounded> {
    let view = Corrected::of(record.parts(), d);
    let (histogram, count, ends) = match (&view, d.min().zip(d.max())) {
        (Some(c), _) => (&c.histogram, c.count(), (c.min, c.max)),
        (None, Some(ends)) => (d.histogram(), d.count(), ends),
        (None, None) => return Vec::new(),
    };
    let supported = Quantile::STANDARD.into_iter().filter(|q| q.supported_by(count));
    supported
        .map(|q| Bounded {
            percentile: q.to_string(),
            value: histogram.values_at_ranks(&[q.rank(count)]).first().copied().flatten().map(|v| v.min(ends.1)),
            interval: PercentileBounds::of(q, histogram, count, ends, ends.1, confidence.risk()),
        })
        .collect()
}

/// How many samples are needed in all to show that `q` is below a limit (`above`: above it), if of every `n` samples
/// `beyond` continue to fall on the wrong side. `None` when no number of samples shows it, or more than 10^15 are needed.
/// Exact to one in a million; where more than 10^9 of the samples may be on the wrong side, to half a per cent, by the
/// normal approximation.
pub fn needed(q: Quantile, n: u64, beyond: u64, above: bool, risk: f64) -> Option<u64> {
    const MOST: u64 = 1_000_000_000_000_000;
    let share = if above { q.as_f64() } else { 1.0 - q.as_f64() };
    let rate = if n == 0 { 0.0 } else { beyond as f64 / n as f64 };
    if rate >= share {
        return None;
    }
    // First estimate: z standard deviations lie between the expected and the allowed number.
    let rough = normal(risk).powi(2) * share * (1.0 - share) / (share - rate).powi(2);
    if rough * share > 1e9 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 10^9 and 10^15
        return (rough <= MOST as f64).then_some(rough as u64);
    }
    let shows = |m: u64| {
        let expected = u64::try_from((u128::from(beyond) * u128::from(m)).div_ceil(u128::from(n.max(1)))).unwrap_or(u64::MAX);
        most(m, share, risk).is_some_and(|k| expected <= k)
    };
    let mut high = n.max(1);
    while !shows(high) {
        high = high.checked_mul(2).filter(|&h| h <= MOST)?;
    }
    let mut low = 0;
    while high - low > 1 + high / 1_000_000 {
        let middle = low.midpoint(high);
        if shows(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The largest k with P(Bin(n, p) <= k) <= `risk`; `None` when there is none, such as without samples or with `p` = 0.
///
/// The probability of k is computed by Loader's saddle-point expansion, which is exact to about 10^-14 for any n, and
/// those of its neighbours from it by their ratios.
pub fn most(n: u64, p: f64, risk: f64) -> Option<u64> {
    if (n as f64 * (-p).ln_1p()).exp() > risk {
        return None;
    }
    let (mean, sd) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    // Start near the result, at the quantile of a normal distribution. The loops below find the exact k.
    let z = normal(risk);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not below 0, and clamped
    let mut k = ((mean - z * sd).max(0.0) as u64).min(n);
    // The ratio P(k) / P(k - 1).
    let ratio = |k: u64| (n - k + 1) as f64 / k as f64 * (p / (1.0 - p));
    let mut at = probability(n, k, p);
    let (mut sum, mut term, mut j) = (at, at, k);
    while j > 0 && term > sum * 1e-18 {
        term /= ratio(j);
        sum += term;
        j -= 1;
    }
    while sum > risk {
        sum -= at;
        at /= ratio(k);
        k = k.checked_sub(1)?;
    }
    while k < n {
        at *= ratio(k + 1);
        if sum + at > risk {
            break;
        }
        sum += at;
        k += 1;
    }
    Some(k)
}

/// The number of standard deviations that a normal distribution exceeds with probability `risk`, to 0.003 (Abramowitz and
/// Stegun 26.2.22).
fn normal(risk: f64) -> f64 {
    let far = (-2.0 * risk.ln()).sqrt();
    far - (2.307_53 + 0.270_61 * far) / (1.0 + 0.992_29 * far + 0.044_81 * far * far)
}

/// P(Bin(n, p) = k), by C. Loader, Fast and Accurate Computation of Binomial Probabilities (2000).
fn probability(n: u64, k: u64, p: f64) -> f64 {
    let (nf, kf, rest) = (n as f64, k as f64, (n - k) as f64);
    if k == 0 {
        return (nf * (-p).ln_1p()).exp();
    }
    if k == n {
        return (nf * p.ln()).exp();
    }
    let exponent =
        stirling_error(nf) - stirling_error(kf) - stirling_error(rest) - deviance(kf, nf * p) - deviance(rest, nf * (1.0 - p));
    exponent.exp() * (nf / (2.0 * std::f64::consts::PI * kf * rest)).sqrt()
}

/// ln n! minus Stirling's approximation of it.
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        let factorial = (1..=15).map(f64::from).take_while(|&i| i <= n).product::<f64>();
        return factorial.ln() - (0.5 * (2.0 * std::f64::consts::PI * n).ln() + n * n.ln() - n);
    }
    let nn = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / nn) / nn) / nn) / nn) / n
}

/// x ln(x / m) + m - x, without cancellation near x = m.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let mut sum = (x - m) * v;
    let mut term = 2.0 * x * v;
    for j in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next.to_bits() == sum.to_bits() {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
#[path = "confidence_tests.rs"]
mod tests;
