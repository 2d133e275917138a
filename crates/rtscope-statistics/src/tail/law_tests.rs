//! Tests of the families of laws.

use super::*;
use proptest::prelude::*;

fn law(family: Family, shape: f64) -> Law {
    Law { family, location: 2.0, scale: 3.0, shape }
}

#[test]
fn textbook_values() {
    // Gumbel: F(location) = exp(-1); exponential: S(location + scale) = exp(-1).
    assert!((law(Family::Gev, 0.0).cdf(2.0) - (-1f64).exp()).abs() < 1e-15);
    assert!((law(Family::Gpd, 0.0).survival(5.0) - (-1f64).exp()).abs() < 1e-15);
    // evd 2.3: dgev(5, 2, 3, 0.2, log = TRUE), pgev(5, 2, 3, 0.2), dgpd(5, 2, 3, -0.3, log = TRUE).
    let gev = law(Family::Gev, 0.2);
    assert!((gev.ln_density(5.0) - -2.594_419_19).abs() < 1e-7, "{}", gev.ln_density(5.0));
    assert!((gev.cdf(5.0) - 0.669_062_652_7).abs() < 1e-7, "{}", gev.cdf(5.0));
    assert!((law(Family::Gpd, -0.3).ln_density(5.0) - -1.930_853_824_5).abs() < 1e-7);
    assert_eq!(law(Family::Gpd, -0.5).upper_end(), Some(8.0));
    assert_eq!(law(Family::Gpd, 0.5).upper_end(), None);
    assert!(law(Family::Gpd, -0.5).ln_density(8.5).is_infinite());
}

proptest! {
    #[test]
    fn level_and_survival_are_inverse(shape in -0.9..0.9, ln_p in -30.0..-0.01, gev in any::<bool>()) {
        let l = law(if gev { Family::Gev } else { Family::Gpd }, shape);
        let p = f64::exp(ln_p);
        let x = l.exceeded_with(p);
        // Near the end of the support a value has too few digits to be turned back.
        let digits = if shape < 0.0 { (x - l.upper_end().unwrap()).abs() / x.abs() } else { 1.0 };
        prop_assume!(digits > 1e-8);
        prop_assert!((l.survival(x) / p - 1.0).abs() < 1e-6, "{} {p}", l.survival(x));
    }

    #[test]
    fn a_narrow_interval_has_the_density(shape in -0.6..0.9, p in 0.0001..0.999, gev in any::<bool>()) {
        let l = law(if gev { Family::Gev } else { Family::Gpd }, shape);
        let x = l.exceeded_with(p);
        let half = 1e-6;
        prop_assume!(gev || x - half > l.location);
        let exact = l.ln_density(x) + (2.0 * half).ln();
        prop_assert!((l.ln_between(x - half, x + half) - exact).abs() < 1e-4);
        prop_assert!((l.cdf(x) + l.survival(x) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn intervals_add_up(shape in -0.6..0.9, a in -3.0..20.0, more in 0.1..9.0, gev in any::<bool>()) {
        let l = law(if gev { Family::Gev } else { Family::Gpd }, shape);
        let b = a + more;
        let sum = l.cdf(a) + l.ln_between(a, b).exp() + l.survival(b);
        prop_assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }
}
