//! Tests of the fits, against R 4.2.2 with evd 2.3.

use super::*;
use crate::tail::observed::{Cell, Resolution};
use crate::tail::published::{OXFORD, PORTPIRIE, VENICE};

fn gev(values: &[f64]) -> Fit {
    fit(&Observed::of_values(values).unwrap(), Family::Gev, None).unwrap()
}

/// Holds `fit` to location, scale, shape, then their standard errors, then the negative log-likelihood. evd's optimizer takes
/// gradients by wide differences, so that it stops up to 1e-5 beside the maximum: ours may not be lower.
fn holds(fit: &Fit, values: [f64; 3], errors: [f64; 3], nllh: f64) {
    let (law, found) = (fit.law, fit.errors.clone().unwrap());
    for ((found, known), error) in [law.location, law.scale, law.shape].into_iter().zip(values).zip(errors) {
        assert!((found - known).abs() <= error * 2e-3, "{found} {known}");
    }
    for (found, known) in found.into_iter().zip(errors) {
        assert!((found / known - 1.0).abs() < 1e-3, "{found} {known}");
    }
    assert!(fit.nllh < nllh + 1e-8 && fit.nllh > nllh - 1e-4, "{} {nllh}", fit.nllh);
}

#[test]
fn published_block_maxima() {
    holds(&gev(&PORTPIRIE), [3.874_75, 0.198_05, -0.050_12], [0.027_93, 0.020_25, 0.098_26], -4.339_058_443);
    holds(&gev(&VENICE), [111.097_895, 17.175_977, -0.076_720], [2.628_06, 1.803_54, 0.073_530], 222.714_529_666);
    holds(&gev(&OXFORD), [83.838_524, 4.260_032, -0.287_260], [0.523_133, 0.365_862, 0.068_324], 228.896_518_39);
    // To all digits: `optim` with differences of 1e-6.
    let law = gev(&PORTPIRIE).law;
    assert!((law.location - 3.874_749_855).abs() < 1e-7 && (law.scale - 0.198_043_957).abs() < 1e-7, "{law:?}");
    assert!((law.shape - -0.050_109_532).abs() < 1e-6, "{law:?}");
}

#[test]
fn another_unit_gives_the_same_law() {
    let fitted = gev(&PORTPIRIE);
    for (factor, shift) in [(1e9, 0.0), (1e-9, 0.0), (1e6, -1e7), (3.0, 1e6), (1.0, -50.0)] {
        let moved: Vec<f64> = PORTPIRIE.iter().map(|v| v * factor + shift).collect();
        let other = gev(&moved);
        let (a, b) = (fitted.law, other.law);
        assert!((a.location - (b.location - shift) / factor).abs() < 1e-6, "{factor} {shift}: {b:?}");
        assert!((a.scale - b.scale / factor).abs() < 1e-6 && (a.shape - b.shape).abs() < 1e-5, "{factor} {shift}: {b:?}");
        assert!((other.nllh - fitted.nllh - 65.0 * f64::ln(factor)).abs() < 1e-6);
    }
}

#[test]
fn laws_are_found_again() {
    for family in [Family::Gev, Family::Gpd] {
        for shape in [-0.6, -0.4, -0.1, 0.0, 0.1, 0.4, 0.8] {
            for (n, scale) in [(20, 1.0), (200, 1e-6), (5_000, 1e5), (100_000, 40.0)] {
                let law = Law { family, location: 3.0 * scale, scale, shape };
                let values = drawn(&law, n, 11);
                let threshold = (family == Family::Gpd).then_some(law.location);
                let found = fit(&Observed::of_values(&values).unwrap(), family, threshold).unwrap();
                assert!(found.nllh <= Observed::of_values(&values).unwrap().nllh(&law) + 1e-6, "{law:?} {found:?}");
                let Some(errors) = &found.errors else {
                    assert!(n == 20 || shape < -0.5, "{n} {law:?}");
                    continue;
                };
                let error = errors[errors.len() - 1];
                assert!((found.law.shape - shape).abs() < 4.5 * error + 1e-3, "{n} {law:?} {found:?}");
            }
        }
    }
}

#[test]
fn rounded_values_are_fitted_as_intervals() {
    for shape in [-0.3, 0.0, 0.3] {
        let law = Law { family: Family::Gpd, location: 0.0, scale: 1.2, shape };
        let values: Vec<f64> = drawn(&law, 20_000, 5).iter().map(|v| v.floor()).collect();
        let o = Observed::of_values(&values).unwrap().within(Resolution::Down(1.0));
        let found = fit(&o, Family::Gpd, Some(0.0)).unwrap();
        let errors = found.errors.clone().unwrap();
        assert!((found.law.shape - shape).abs() < 4.0 * errors[1], "{found:?}");
        assert!((found.law.scale - 1.2).abs() < 4.0 * errors[0], "{found:?}");
    }
}

#[test]
fn counts_weigh_as_much_as_values() {
    let law = Law { family: Family::Gpd, location: 0.0, scale: 9.0, shape: 0.2 };
    let values: Vec<f64> = drawn(&law, 3000, 2).iter().map(|v| v.floor()).collect();
    let each: Vec<Cell> = values.iter().map(|v| Cell { low: *v, high: v + 1.0, count: 1.0 }).collect();
    let a = fit(&Observed::of_cells(each).unwrap(), Family::Gpd, Some(0.0)).unwrap();
    let b = fit(&Observed::of_values(&values).unwrap().within(Resolution::Down(1.0)), Family::Gpd, Some(0.0)).unwrap();
    assert!((a.law.shape - b.law.shape).abs() < 1e-6 && (a.nllh - b.nllh).abs() < 1e-6);
}

#[test]
fn what_has_no_tail_is_refused() {
    let of = |values: &[f64]| fit(&Observed::of_values(values).unwrap(), Family::Gev, None).unwrap_err();
    assert!(matches!(of(&[1.0; 30]), TailError::Constant("maxima")));
    assert!(matches!(of(&[1.0, 2.0, 3.0]), TailError::TooFew { found: 3, needed: 10, .. }));
    let hair: Vec<f64> = (0..30u32).map(|i| 1e15 + f64::from(i % 2) * 0.125).collect();
    assert!(matches!(of(&hair), TailError::Scale { .. }), "{:?}", of(&hair));
    // Two values only, and a gap: there is a fit or an error, and no panic.
    let two: Vec<f64> = (0..30u32).map(|i| f64::from(i % 2)).collect();
    let _ = fit(&Observed::of_values(&two).unwrap(), Family::Gev, None);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn any_values_are_fitted_or_refused(values in proptest::collection::vec(proptest::num::f64::ANY, 0..40), gpd in proptest::bool::ANY) {
        if let Ok(o) = Observed::of_values(&values) {
            let threshold = gpd.then(|| o.range().map_or(0.0, |r| r.0));
            if let Ok(found) = fit(&o, if gpd { Family::Gpd } else { Family::Gev }, threshold) {
                proptest::prop_assert!(found.law.scale > 0.0 && found.nllh.is_finite());
            }
        }
    }
}
