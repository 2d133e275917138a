//! The two families of extreme-value laws: generalized extreme value and generalized Pareto.
//!
//! Source: Coles 2001, equations 3.2 and 4.2. The shape is positive for a heavy tail, and negative for one that ends.

use serde::Serialize;

/// A family of laws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Generalized extreme value, for maxima of blocks.
    Gev,
    /// Generalized Pareto, for what exceeds a threshold, which is its location.
    Gpd,
}

impl Family {
    /// Its usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gev => "GEV",
            Self::Gpd => "GPD",
        }
    }

    /// Number of parameters that are fitted.
    pub const fn parameters(self) -> usize {
        match self {
            Self::Gev => 3,
            Self::Gpd => 2,
        }
    }
}

/// A law with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Law {
    /// Its family.
    pub family: Family,
    /// Location: mu of a GEV, the threshold of a GPD.
    pub location: f64,
    /// Scale: sigma, above 0.
    pub scale: f64,
    /// Shape: xi.
    pub shape: f64,
}

/// ln(1 + shape z) / shape, which is z for shape 0; infinite beyond the end of the support.
fn reduced(z: f64, shape: f64) -> f64 {
    if shape.abs() < 1e-200 {
        return z;
    }
    let more = shape * z;
    if more <= -1.0 {
        return if shape > 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    more.ln_1p() / shape
}

/// The inverse of [`reduced`].
fn expanded(y: f64, shape: f64) -> f64 {
    if shape.abs() < 1e-200 { y } else { (shape * y).exp_m1() / shape }
}

impl Law {
    /// The reduced variate of `x`: standard Gumbel for a GEV, standard exponential for a GPD.
    fn variate(&self, x: f64) -> f64 {
        let y = reduced((x - self.location) / self.scale, self.shape);
        if self.family == Family::Gpd { y.max(0.0) } else { y }
    }

    /// Natural logarithm of the density at `x`.
    pub fn ln_density(&self, x: f64) -> f64 {
        if self.family == Family::Gpd && x < self.location {
            return f64::NEG_INFINITY;
        }
        let y = self.variate(x);
        if !y.is_finite() {
            return f64::NEG_INFINITY;
        }
        let body = -self.scale.ln() - (1.0 + self.shape) * y;
        if self.family == Family::Gev { body - (-y).exp() } else { body }
    }

    /// Natural logarithm of the probability of `low < X <= high`, without cancellation far out.
    pub fn ln_between(&self, low: f64, high: f64) -> f64 {
        let (a, b) = (self.variate(low), self.variate(high));
        if a >= b {
            return f64::NEG_INFINITY;
        }
        if self.family == Family::Gpd {
            return -a + (-(a - b).exp_m1()).ln();
        }
        let (upper, gap) = ((-b).exp(), (b - a).exp_m1());
        if upper > 0.0 && gap.is_finite() {
            return -upper + (-(-upper * gap).exp_m1()).ln();
        }
        // One end is beyond the support, or so far out that it may be.
        let lower = (-a).exp();
        -upper + (-(upper - lower).exp_m1()).ln()
    }

    /// The probability of `X <= x`.
    pub fn cdf(&self, x: f64) -> f64 {
        let y = self.variate(x);
        match self.family {
            Family::Gev => (-(-y).exp()).exp(),
            Family::Gpd => -(-y).exp_m1(),
        }
    }

    /// The probability of `X > x`.
    pub fn survival(&self, x: f64) -> f64 {
        let y = self.variate(x);
        match self.family {
            Family::Gev => -(-(-y).exp()).exp_m1(),
            Family::Gpd => (-y).exp(),
        }
    }

    /// The value that is exceeded with probability `p`.
    pub fn exceeded_with(&self, p: f64) -> f64 {
        self.location + self.scale * Self::standard_level(self.family, self.shape, p)
    }

    /// [`exceeded_with`](Self::exceeded_with) of the law with location 0 and scale 1.
    pub fn standard_level(family: Family, shape: f64, p: f64) -> f64 {
        let y = match family {
            Family::Gev => -(-(-p).ln_1p()).ln(),
            Family::Gpd => -p.ln(),
        };
        expanded(y, shape)
    }

    /// The end of the tail, if the shape is negative.
    pub fn upper_end(&self) -> Option<f64> {
        (self.shape < 0.0).then(|| self.location - self.scale / self.shape)
    }

    /// The law of `(X - centre) / spread`.
    pub(super) fn standardized(&self, centre: f64, spread: f64) -> Self {
        Self { location: (self.location - centre) / spread, scale: self.scale / spread, ..*self }
    }

    /// The law of `centre + spread X`.
    pub(super) fn restored(&self, centre: f64, spread: f64) -> Self {
        Self { location: centre + self.location * spread, scale: self.scale * spread, ..*self }
    }

    /// The parameters that are fitted: location of a GEV, scale, shape.
    pub(super) fn free(&self) -> Vec<f64> {
        match self.family {
            Family::Gev => vec![self.location, self.scale, self.shape],
            Family::Gpd => vec![self.scale, self.shape],
        }
    }

    /// The law with these parameters in place of the fitted ones; `None` outside of where maximum likelihood makes sense:
    /// the scale must be positive, and for a shape below -1 the likelihood has no bound (Smith 1985).
    pub(super) fn with_free(&self, free: &[f64]) -> Option<Self> {
        let (location, scale, shape) = match *free {
            [location, scale, shape] => (location, scale, shape),
            [scale, shape] => (self.location, scale, shape),
            _ => return None,
        };
        (scale > 0.0 && shape > -1.0).then_some(Self { location, scale, shape, ..*self })
    }
}

#[cfg(test)]
#[path = "law_tests.rs"]
mod tests;
