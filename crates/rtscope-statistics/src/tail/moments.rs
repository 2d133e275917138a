//! L-moments, and the laws that have given L-moments: where maximum likelihood starts.
//!
//! Source: Hosking 1990; for the GPD these are the probability-weighted moments of Hosking and Wallis 1987.

use super::law::{Family, Law};
use super::observed::Observed;
use serde::Serialize;
use statrs::function::gamma::ln_gamma;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// The first two L-moments, and the ratio of the third to the second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LMoments {
    /// Mean.
    pub l1: f64,
    /// Half the expected difference of two values.
    pub l2: f64,
    /// L-skewness.
    pub t3: f64,
}

/// Unbiased L-moments of the middles of the cells.
pub fn l_moments(observed: &Observed) -> LMoments {
    let n = observed.total();
    // Differences from the centre lose no digits.
    let centre = observed.quantile(0.5).unwrap_or(0.0);
    let (mut before, mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0, 0.0);
    for c in observed.cells() {
        let (x, k) = (c.middle() - centre, c.count);
        // Sums over the ranks before+1 ..= before+k of (j-1) and (j-1)(j-2).
        let first = k * before + k * (k - 1.0) / 2.0;
        let third = |m: f64| m * (m - 1.0) * (m - 2.0) / 3.0;
        let second = third(before + k) - third(before);
        b0 += x * k;
        b1 += x * first;
        b2 += x * second;
        before += k;
    }
    b0 /= n;
    b1 /= n * (n - 1.0);
    b2 /= n * (n - 1.0) * (n - 2.0);
    let l2 = 2.0 * b1 - b0;
    LMoments { l1: b0 + centre, l2, t3: (6.0 * b2 - 6.0 * b1 + b0) / l2 }
}

/// L-skewness of a GEV: Hosking 1990, table 1, with `k = -shape`.
fn skewness(k: f64) -> f64 {
    let part = |base: f64| if k.abs() < 1e-12 { base.ln() } else { -(-k * base.ln()).exp_m1() / k };
    2.0 * part(3.0) / part(2.0) - 3.0
}

/// The GEV with these L-moments; `None` where there is none.
pub fn gev_of(m: &LMoments) -> Option<Law> {
    if !(m.l2 > 0.0 && m.t3 > -0.99 && m.t3 < 0.99) {
        return None;
    }
    // The skewness falls with k.
    let (mut low, mut high) = (-0.999, 20.0);
    for _ in 0..200 {
        let k = f64::midpoint(low, high);
        if skewness(k) > m.t3 {
            low = k;
        } else {
            high = k;
        }
    }
    let k = f64::midpoint(low, high);
    let (scale, offset) = if k.abs() < 1e-9 {
        let scale = m.l2 / 2f64.ln();
        (scale, scale * EULER)
    } else {
        let gamma = ln_gamma(1.0 + k);
        let scale = m.l2 * k / (-(-k * 2f64.ln()).exp_m1() * gamma.exp());
        (scale, scale * -gamma.exp_m1() / k)
    };
    Some(Law { family: Family::Gev, location: m.l1 - offset, scale, shape: -k })
}

/// The GPD above `threshold` with these L-moments.
pub fn gpd_of(m: &LMoments, threshold: f64) -> Option<Law> {
    let mean = m.l1 - threshold;
    let k = mean / m.l2 - 2.0;
    let scale = (1.0 + k) * mean;
    (scale > 0.0 && scale.is_finite()).then_some(Law { family: Family::Gpd, location: threshold, scale, shape: -k })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tail::published::PORTPIRIE;

    #[test]
    fn port_pirie() {
        let m = l_moments(&Observed::of_values(&PORTPIRIE).unwrap());
        assert!((m.l1 - 3.980_615_385).abs() < 1e-9, "{m:?}");
        assert!((m.l2 - 0.134_644_230_8).abs() < 1e-10, "{m:?}");
        assert!((m.t3 - 0.137_433_135_1).abs() < 1e-10, "{m:?}");
        let law = gev_of(&m).unwrap();
        assert!((law.location - 3.873_147_622).abs() < 1e-8, "{law:?}");
        assert!((law.scale - 0.203_222_286).abs() < 1e-8, "{law:?}");
        assert!((law.shape - -0.051_211_917).abs() < 1e-8, "{law:?}");
    }

    #[test]
    fn laws_have_the_moments_that_they_are_made_of() {
        // Gumbel: l1 = location + EULER scale, l2 = scale ln 2, t3 = ln(9/8) / ln 2.
        let gumbel = gev_of(&LMoments { l1: EULER, l2: 2f64.ln(), t3: (9.0f64 / 8.0).ln() / 2f64.ln() }).unwrap();
        assert!(gumbel.shape.abs() < 1e-9 && (gumbel.scale - 1.0).abs() < 1e-8 && gumbel.location.abs() < 1e-8, "{gumbel:?}");
        let exponential = gpd_of(&LMoments { l1: 3.0, l2: 1.0, t3: 1.0 / 3.0 }, 1.0).unwrap();
        assert!(exponential.shape.abs() < 1e-12 && (exponential.scale - 2.0).abs() < 1e-12, "{exponential:?}");
        assert!(gev_of(&LMoments { l1: 1.0, l2: 0.0, t3: 0.0 }).is_none());
    }
}
