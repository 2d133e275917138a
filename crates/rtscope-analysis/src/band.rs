//! How a ratio varies over the time models of the lab: its range, and whether the conclusion changes.

use crate::finding::{Finding, finding};
use serde::Serialize;
use std::collections::BTreeMap;

/// A ratio in each of several time models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Band {
    /// What is compared, where there are several comparisons: "6.12 x86_64"; may be empty.
    pub of: String,
    /// Name of the load.
    pub load: String,
    /// The figure: "mean", "max" ...
    pub metric: String,
    /// The ratio in each model.
    pub ratios: BTreeMap<u32, f64>,
    /// The lowest of them.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// The ratio is above 1 in one model and below 1 in another: which side is better depends on the costs that the model
    /// assumes.
    pub flips: bool,
}

impl Band {
    /// `None` where fewer than two models have a ratio.
    pub fn new(of: &str, load: &str, metric: &str, ratios: impl IntoIterator<Item = (u32, Option<f64>)>) -> Option<Self> {
        let ratios: BTreeMap<u32, f64> =
            ratios.into_iter().filter_map(|(model, r)| Some((model, r.filter(|r| r.is_finite())?))).collect();
        if ratios.len() < 2 {
            return None;
        }
        let (low, high) = ratios.values().fold((f64::INFINITY, 0.0f64), |(low, high), &r| (low.min(r), high.max(r)));
        let flips = low < 1.0 && high > 1.0;
        Some(Self { of: of.into(), load: load.into(), metric: metric.into(), ratios, low, high, flips })
    }
}

/// A finding, where a conclusion flips.
pub(crate) fn findings(bands: &[Band]) -> Vec<Finding> {
    let flips: Vec<String> = bands.iter().filter(|b| b.flips).map(|b| format!("{} under {}", b.metric, b.load)).collect();
    if flips.is_empty() {
        return Vec::new();
    }
    let message =
        format!("better in one time model and worse in another: {}; what follows depends on what things cost", flips.join(", "));
    vec![finding("model-flips", message, "do not conclude from these; measure on the board")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_is_the_range_and_says_when_it_flips() {
        let band = |ratios: &[(u32, Option<f64>)]| Band::new("", "full", "max", ratios.iter().copied());
        let b = band(&[(2, Some(3.0)), (1, Some(20.0)), (3, None)]).unwrap();
        assert_eq!((b.low, b.high, b.flips, b.ratios.len()), (3.0, 20.0, false, 2));
        let b = band(&[(2, Some(0.9)), (1, Some(1.1))]).unwrap();
        assert!(b.flips);
        assert_eq!(findings(&[b]).len(), 1);
        // A ratio of 1 in one model does not flip the conclusion.
        assert!(!band(&[(2, Some(1.0)), (1, Some(1.1))]).unwrap().flips);
        assert_eq!(band(&[(2, Some(1.0)), (1, None)]), None);
        assert_eq!(band(&[(2, Some(1.0)), (1, Some(f64::INFINITY))]), None);
        assert_eq!(findings(&[]), []);
    }

    #[test]
    fn what_flips_is_named_and_nothing_else() {
        let band = |load, metric, other| Band::new("", load, metric, [(1, Some(1.1)), (2, Some(other))]).unwrap();
        let found = findings(&[band("disk", "max", 0.9), band("full", "mean", 0.8), band("none", "p99", 1.2)]);
        let [only] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(only.code, "model-flips");
        let flips = "better in one time model and worse in another: max under disk, mean under full; ";
        assert!(only.message.starts_with(flips), "{}", only.message);
        assert_eq!(findings(&[band("none", "p99", 1.2)]), []);
    }
}
