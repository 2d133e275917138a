//! How many runs a side a difference takes.

use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// Fewest runs of a side of which more is said than that they are too few.
pub const FEWEST_RUNS: usize = 3;
/// Most runs a side that are planned; more is called impossible.
pub const MOST_RUNS: usize = 10_000;
/// In how many cases the difference is to be shown.
const POWER: f64 = 0.9;
/// A pilot's spread may be too low by chance: planned is with what it is below in so many cases.
const SURE: f64 = 0.8;
/// Upper quartile of the normal distribution: the noise that an interval must clear.
const QUARTILE: f64 = 0.674_489_750_196_081_7;

/// How sure the word on a difference must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Confidence that all intervals hold together: 0.95.
    pub confidence: f64,
    /// How many intervals these are: each has its share of the risk (Bonferroni).
    pub rows: usize,
    /// Of the bootstrap.
    pub seed: u64,
}

impl Level {
    /// The risk of each interval.
    pub(super) fn risk(&self) -> f64 {
        (1.0 - self.confidence) / self.rows.max(1) as f64
    }
}

/// How much runs vary: standard deviation of the logarithm of their figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// As it was seen.
    pub seen: f64,
    /// What it is below in eight of ten cases, since it was seen in few runs.
    pub at_most: f64,
    /// Runs that it was seen in, less one for each side.
    pub freedom: usize,
}

impl Spread {
    /// Of two sides, of which each has a variance and its degrees of freedom. `None` where no side has two runs.
    pub fn of(a: (f64, usize), b: (f64, usize)) -> Option<Self> {
        let freedom = a.1 + b.1;
        let law = ChiSquared::new(freedom as f64).ok()?;
        let variance = (a.0 * a.1 as f64 + b.0 * b.1 as f64) / freedom as f64;
        let at_most = (variance * freedom as f64 / law.inverse_cdf(1.0 - SURE)).sqrt();
        Some(Self { seen: variance.sqrt(), at_most, freedom })
    }
}

/// Runs a side with which a `ratio` of B to A is called better or worse in nine of ten cases. `None`: more than [`MOST_RUNS`].
///
/// The half width of the interval (Student's t), the noise beside it (a quartile) and what chance takes from the difference in one of ten
/// cases must together be less than the logarithm of the ratio.
pub fn runs_for(spread: Spread, ratio: f64, level: Level) -> Option<usize> {
    let wanted = ratio.ln().abs();
    let shows = |n: usize| {
        let freedom = 2.0 * (n as f64 - 1.0);
        let t = |p: f64| StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |law| law.inverse_cdf(p));
        (t(1.0 - level.risk() / 2.0) + QUARTILE + t(POWER)) * spread.at_most * (2.0 / n as f64).sqrt() <= wanted
    };
    if !shows(MOST_RUNS) {
        return None;
    }
    // What shows it with n runs shows it with more.
    let (mut low, mut high) = (FEWEST_RUNS, MOST_RUNS);
    while low < high {
        let middle = usize::midpoint(low, high);
        if shows(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Level = Level { confidence: 0.95, rows: 1, seed: 1 };

    #[test]
    fn what_varies_more_takes_more_runs() {
        let spread = |sd: f64, freedom| Spread::of((sd * sd, freedom), (sd * sd, freedom)).unwrap();
        assert!((spread(0.1, 4).seen - 0.1).abs() < 1e-12 && spread(0.1, 4).freedom == 8);
        // chi-squared with 8 degrees of freedom is above 4.594 in eight of ten cases.
        assert!((spread(0.1, 4).at_most - 0.1 * (8f64 / 4.594).sqrt()).abs() < 1e-4);
        let known = Spread { seen: 0.1, at_most: 0.1, freedom: 1_000 };
        // Student's t at 18 degrees of freedom is 2.101: (2.101 + .674 + 1.330)^2 * 2 * (.1 / .1823)^2 = 10.1; with 20, 10.0.
        assert_eq!(runs_for(known, 1.2, ONE), Some(11));
        assert_eq!(runs_for(known, 1.0 / 1.2, ONE), Some(11));
        assert!(runs_for(known, 1.2, Level { rows: 5, ..ONE }) > Some(11));
        assert!(runs_for(spread(0.3, 4), 1.2, ONE) > runs_for(spread(0.1, 4), 1.2, ONE));
        assert_eq!(runs_for(Spread { seen: 0.0, at_most: 0.0, freedom: 2 }, 1.2, ONE), Some(FEWEST_RUNS));
        assert_eq!(runs_for(known, 1.0, ONE), None);
        assert_eq!(Spread::of((1.0, 0), (1.0, 0)), None);
    }
}
