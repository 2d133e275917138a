//! Time in integer nanoseconds, and how people write it (`200us`, `10ms`, `1h`).

use rtscope_failure::{Fault, Problem};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A non-negative span of time or latency in nanoseconds.
///
/// ```
/// use rtscope_record::Nanos;
///
/// assert_eq!("200us".parse(), Ok(Nanos(200_000)));
/// assert_eq!("1.5ms".parse(), Ok(Nanos(1_500_000)));
/// assert_eq!(Nanos(3_600_000_000_000).to_string(), "1h");
/// // A unit is required, and nothing is rounded.
/// assert!("200".parse::<Nanos>().is_err());
/// assert!("0.5ns".parse::<Nanos>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// Without the example.
#[cfg_attr(feature = "schema", schemars(description = "A non-negative span of time or latency in nanoseconds."))]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Nanoseconds in one second.
    pub const PER_SEC: u64 = 1_000_000_000;

    /// From whole microseconds; `None` if it does not fit.
    pub const fn from_micros(us: u64) -> Option<Self> {
        match us.checked_mul(1_000) {
            Some(ns) => Some(Self(ns)),
            None => None,
        }
    }

    /// As fractional microseconds, for display and plots only.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// As fractional seconds, for display and plots only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(n: Nanos) -> Self {
        Self::from_nanos(n.0)
    }
}

/// Why a text can't be parsed as a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseNanosError {
    /// No digits, or something other than digits with at most one decimal point.
    #[error("`{0}` is not a time: write a number and a unit, such as 200us, 1.5ms, 10s, 1h")]
    Number(String),
    /// The unit is missing or not one of ns, us, ms, s, m, min, h, d.
    #[error("`{0}` has no known unit: use ns, us, ms, s, m, h or d")]
    Unit(String),
    /// More than a u64 of nanoseconds (584 years), or finer than one nanosecond.
    #[error("`{0}` is out of range or finer than 1 ns")]
    Range(String),
}

impl Problem for ParseNanosError {
    fn remedy(&self) -> String {
        match self {
            // The message says it.
            Self::Number(_) | Self::Unit(_) => String::new(),
            Self::Range(_) => "write 1ns or more, and less than 584 years".into(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

impl FromStr for Nanos {
    type Err = ParseNanosError;

    /// Exact decimal arithmetic: `0.1us` is 100 ns, and `0.1ns` is refused rather than rounded.
    fn from_str(text: &str) -> Result<Self, ParseNanosError> {
        let t = text.trim();
        let split = t.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(t.len());
        let (number, unit) = t.split_at(split);
        let scale: u128 = match unit.trim() {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" | "sec" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ if number.is_empty() => return Err(ParseNanosError::Number(text.into())),
            "" if number.chars().all(|c| c == '0') => 1,
            _ => return Err(ParseNanosError::Unit(text.into())),
        };
        let digits = number.replace('_', "");
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(ParseNanosError::Number(text.into()));
        }
        let range = || ParseNanosError::Range(text.into());
        let mut ns = if whole.is_empty() { 0 } else { whole.parse::<u128>().map_err(|_| range())? };
        ns = ns.checked_mul(scale).ok_or_else(range)?;
        if !fraction.is_empty() {
            if fraction.len() > 20 {
                return Err(range());
            }
            let part = fraction.parse::<u128>().map_err(|_| range())? * scale;
            let div = 10u128.pow(u32::try_from(fraction.len()).map_err(|_| range())?);
            if part % div != 0 {
                return Err(range());
            }
            ns += part / div;
        }
        u64::try_from(ns).map(Nanos).map_err(|_| range())
    }
}

fn with_default_unit(text: &str, unit: &str) -> Result<Nanos, ParseNanosError> {
    let bare = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if bare { format!("{text}{unit}").parse() } else { text.parse() }
}

/// Parses a time from the command line; without a unit it is in microseconds, as in cyclictest.
pub fn micros(text: &str) -> Result<Nanos, ParseNanosError> {
    with_default_unit(text, "us")
}

/// Parses a time from the command line; without a unit it is in seconds, as in cyclictest.
pub fn seconds(text: &str) -> Result<Nanos, ParseNanosError> {
    with_default_unit(text, "s")
}

/// The shortest exact form: `200us`, `1.5ms`, `1h`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 6] =
            [(3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
        if self.0 == 0 {
            return f.write_str("0s");
        }
        for (scale, unit) in UNITS {
            // Hours and minutes only for whole numbers; the decimal units with up to three decimals.
            let fits = if scale > 1_000_000_000 { self.0 % scale == 0 } else { self.0 >= scale };
            if fits {
                let (whole, rest) = (self.0 / scale, self.0 % scale);
                if rest == 0 {
                    return write!(f, "{whole}{unit}");
                }
                let width = scale.ilog10() as usize;
                let text = format!("{rest:0width$}");
                return write!(f, "{whole}.{}{unit}", text.trim_end_matches('0'));
            }
        }
        unreachable!("every positive number of nanoseconds is at least 1 ns")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_write_times() {
        for (text, ns) in [
            ("200us", 200_000),
            ("10ms", 10_000_000),
            ("1h", 3_600_000_000_000),
            ("1.5ms", 1_500_000),
            ("0.1us", 100),
            ("3 s", 3_000_000_000),
            ("2d", 172_800_000_000_000),
            ("0", 0),
            ("00", 0),
            ("7ns", 7),
            ("7us", 7_000),
            ("7 \u{b5}s", 7_000),
            ("7 \u{3bc}s", 7_000),
            ("7sec", 7_000_000_000),
            ("7m", 420_000_000_000),
            ("7min", 420_000_000_000),
            ("1_000us", 1_000_000),
            (".5us", 500),
            ("5.us", 5_000),
            ("2.25s", 2_250_000_000),
            // As many decimals as u128 can hold exactly, and no more.
            ("0.10000000000000000000s", 100_000_000),
            ("18446744073709551615ns", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_by_what_is_wrong_with_it() {
        type Wrong = fn(String) -> ParseNanosError;
        let cases: [(&[&str], Wrong); 3] = [
            (&["", "us", "x", "-1s", "1..2s", ".s"], ParseNanosError::Number),
            (&["5", "5x", "1e3us", "0.0", "."], ParseNanosError::Unit),
            (
                &[
                    "0.1ns",
                    "18446744073709551616ns",
                    "99999999d",
                    "0.100000000000000000000s",
                    "999999999999999999999999999999999999999d",
                    "9999999999999999999999999999999999999999ns",
                ],
                ParseNanosError::Range,
            ),
        ];
        for (texts, wrong) in cases {
            for &text in texts {
                assert_eq!(text.parse::<Nanos>(), Err(wrong(text.into())), "{text}");
            }
        }
    }

    #[test]
    fn bare_numbers_are_what_cyclictest_takes_them_for() {
        assert_eq!((micros("200"), seconds("60")), (Ok(Nanos(200_000)), Ok(Nanos(60_000_000_000))));
        assert_eq!((micros("2ms"), seconds("2ms")), (Ok(Nanos(2_000_000)), Ok(Nanos(2_000_000))));
        assert_eq!((micros(""), micros("5x").is_err()), (Err(ParseNanosError::Number(String::new())), true));
    }

    #[test]
    fn the_shortest_exact_form_is_shown() {
        for (ns, text) in [
            (0, "0s"),
            (999, "999ns"),
            (1_000, "1us"),
            (1_001, "1.001us"),
            (999_999, "999.999us"),
            (1_500_000, "1.5ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m"),
            (90_000_000_000, "90s"),
            (5_400_000_000_000, "90m"),
            (7_200_000_000_000, "2h"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }

    #[test]
    fn it_becomes_what_others_count_in() {
        assert_eq!(Nanos::from_micros(3), Some(Nanos(3_000)));
        assert_eq!(Nanos::from_micros(u64::MAX), None);
        let n = Nanos(2_500_000_000);
        assert_eq!((n.as_micros_f64(), n.as_secs_f64()), (2_500_000.0, 2.5));
        assert_eq!(std::time::Duration::from(n), std::time::Duration::from_millis(2_500));
    }

    proptest! {
        #[test]
        fn display_parses_back(ns: u64) {
            prop_assert_eq!(Nanos(ns).to_string().parse(), Ok(Nanos(ns)));
        }

        #[test]
        fn any_text_parses_or_errs(text in "\\PC{0,24}") {
            let _ = text.parse::<Nanos>();
        }
    }
}
