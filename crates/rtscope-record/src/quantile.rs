//! A quantile in the notation of percentiles (`p99.9`), kept as an exact decimal so that ranks are never rounded.

use rtscope_failure::{Fault, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A quantile in parts of 10^9: `p99.9` is 999,000,000.
///
/// ```
/// use rtscope_record::Quantile;
///
/// let q: Quantile = "p99.9".parse()?;
/// assert_eq!(q.to_string(), "p99.9");
/// // The smallest rank at or below which 99.9 % of the samples lie, in integers: no rounding of a float.
/// assert_eq!(q.rank(10_000), 9_990);
/// // Fewer samples than this say nothing about it.
/// assert_eq!(q.samples_needed(), 1_000);
/// assert!(!q.supported_by(999));
/// assert!("99.9".parse::<Quantile>().is_err() && "p100.1".parse::<Quantile>().is_err());
/// # Ok::<(), rtscope_record::quantile::ParseQuantileError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantile(u64);

/// The text is not a percentile above p0 and up to p100 with at most seven decimals.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a percentile: write p50, p99.9, p99.999 (above 0, at most 100, up to 7 decimals)")]
pub struct ParseQuantileError(String);

impl Problem for ParseQuantileError {
    /// The message says it.
    fn remedy(&self) -> String {
        String::new()
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

impl Quantile {
    /// The number of parts in a whole.
    pub const WHOLE: u64 = 1_000_000_000;
    /// The percentiles that every record has where its count supports them.
    pub const STANDARD: [Self; 7] = [
        Self(500_000_000),
        Self(900_000_000),
        Self(950_000_000),
        Self(990_000_000),
        Self(999_000_000),
        Self(999_900_000),
        Self(999_990_000),
    ];

    /// The 1-based rank of this quantile among `count` sorted samples: the smallest r with r / count >= q.
    pub fn rank(self, count: u64) -> u64 {
        let product = u128::from(self.0) * u128::from(count);
        u64::try_from(product.div_ceil(u128::from(Self::WHOLE))).unwrap_or(u64::MAX).max(1)
    }

    /// Fewest samples that support this quantile: one sample is expected above it (1 / (1 - q)).
    pub fn samples_needed(self) -> u64 {
        match Self::WHOLE - self.0 {
            0 => 1,
            above => Self::WHOLE.div_ceil(above),
        }
    }

    /// Whether `count` samples are enough for this quantile.
    pub fn supported_by(self, count: u64) -> bool {
        count >= self.samples_needed()
    }

    /// As a fraction of one, for plots only.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::WHOLE as f64
    }
}

/// The names of [`Quantile::STANDARD`].
const NAMES: [&str; Quantile::STANDARD.len()] = ["p50", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999"];

/// The known values among those at [`Quantile::STANDARD`], by name.
pub(crate) fn named(values: [Option<u64>; NAMES.len()]) -> BTreeMap<String, u64> {
    NAMES.iter().zip(values).filter_map(|(&name, value)| Some((name.into(), value?))).collect()
}

/// Whether `stated` equals [`named`] of `values`. Builds no names, because it runs for every distribution that is read.
pub(crate) fn are_named(stated: &BTreeMap<String, u64>, values: [Option<u64>; NAMES.len()]) -> bool {
    stated.len() == values.iter().flatten().count()
        && NAMES.iter().zip(values).all(|(&name, value)| stated.get(name).copied() == value)
}

impl FromStr for Quantile {
    type Err = ParseQuantileError;

    fn from_str(text: &str) -> Result<Self, ParseQuantileError> {
        let err = || ParseQuantileError(text.into());
        let body = text.strip_prefix('p').ok_or_else(err)?;
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        let digits = |s: &str| s.chars().all(|c| c.is_ascii_digit());
        if whole.is_empty() || whole.len() > 3 || fraction.len() > 7 || !digits(whole) || !digits(fraction) {
            return Err(err());
        }
        let parts = format!("{whole}{fraction:0<7}").parse::<u64>().map_err(|_| err())?;
        if parts == 0 || parts > Self::WHOLE { Err(err()) } else { Ok(Self(parts)) }
    }
}

impl TryFrom<String> for Quantile {
    type Error = ParseQuantileError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Quantile> for String {
    fn from(q: Quantile) -> Self {
        q.to_string()
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 10_000_000, self.0 % 10_000_000);
        if rest == 0 {
            return write!(f, "p{whole}");
        }
        let (mut rest, mut width) = (rest, 7);
        while rest % 10 == 0 {
            (rest, width) = (rest / 10, width - 1);
        }
        write!(f, "p{whole}.{rest:0width$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_names_of_their_quantiles() {
        assert_eq!(NAMES.map(String::from), Quantile::STANDARD.map(|q| q.to_string()));
        let values = [Some(1), Some(1), None, Some(3), None, None, None];
        let stated = named(values);
        assert_eq!(stated, [("p50", 1), ("p90", 1), ("p99", 3)].map(|(name, value)| (name.to_owned(), value)).into());
        assert!(are_named(&stated, values) && are_named(&BTreeMap::new(), [None; 7]));
        for (out, put) in
            [("p90", None), ("p90", Some(("p90", 2))), ("", Some(("p95", 2))), ("", Some(("p10", 1))), ("p90", Some(("p10", 1)))]
        {
            let mut other = stated.clone();
            other.remove(out);
            other.extend(put.map(|(name, value)| (name.to_owned(), value)));
            assert!(!are_named(&other, values), "{other:?}");
        }
    }

    #[test]
    fn parses_and_prints() {
        for text in ["p50", "p99.9", "p99.999", "p0.1", "p100", "p99.9999999"] {
            assert_eq!(text.parse::<Quantile>().unwrap().to_string(), text);
        }
        for text in ["50", "p", "p0", "p101", "p-1", "p99.99999999", "p9.9.9", "p1e1", "P50", "p.5", "p+5", "p0050", "p0.50000000"]
        {
            assert!(text.parse::<Quantile>().is_err(), "{text}");
        }
    }

    #[test]
    fn ranks_are_exact() {
        let q = |t: &str| t.parse::<Quantile>().unwrap();
        assert_eq!(q("p99.99").rank(10_001), 10_000);
        assert_eq!(q("p99.99").rank(10_000), 9_999);
        assert_eq!(q("p50").rank(1), 1);
        assert_eq!(q("p100").rank(7), 7);
        assert_eq!(q("p99.9").samples_needed(), 1000);
        assert!(!q("p99.9").supported_by(999) && q("p99.9").supported_by(1000));
        assert_eq!(q("p100").samples_needed(), 1);
    }

    #[test]
    fn it_is_a_text_in_json_and_a_fraction_in_plots() {
        let standard = serde_json::to_string(&Quantile::STANDARD).unwrap();
        assert_eq!(standard, r#"["p50","p90","p95","p99","p99.9","p99.99","p99.999"]"#);
        assert_eq!(serde_json::from_str::<[Quantile; 7]>(&standard).unwrap(), Quantile::STANDARD);
        assert!(serde_json::from_str::<Quantile>(r#""p0""#).is_err());
        assert_eq!(Quantile::STANDARD.map(Quantile::as_f64)[..2], [0.5, 0.9]);
    }
}
