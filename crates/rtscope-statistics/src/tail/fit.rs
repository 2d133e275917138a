//! Fits by maximum likelihood, with standard errors from the observed information.

use super::error::TailError;
use super::law::{Family, Law};
use super::moments::{gev_of, gpd_of, l_moments};
use super::observed::Observed;
use super::optimum::{Matrix, Minimum, curvature, descend, inverse, search};
use serde::Serialize;

/// Fewest values for a fit.
pub const FEWEST: u64 = 10;

/// A law fitted to data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The law at the maximum of the likelihood.
    pub law: Law,
    /// Where the search began: by L-moments (GEV) or probability-weighted moments (GPD); `None` where these give no law.
    pub start: Option<Law>,
    /// Standard errors of the fitted parameters: location (GEV), scale, shape; `None` where the likelihood has no curvature.
    pub errors: Option<Vec<f64>>,
    /// Negative log-likelihood: of the density, or of the intervals where values are censored.
    pub nllh: f64,
    /// Covariance of the fitted parameters.
    #[serde(skip)]
    pub covariance: Option<Matrix>,
    /// How many values were fitted.
    pub count: f64,
    /// The shape lies at the border of -1, below which there is no maximum.
    pub at_border: bool,
}

/// More different values than this are put together where they are nearly equal: the parameters change by less than 10^-6.
const MANY: usize = 20_000;

/// Data on the scale on which laws are fitted: centre near 0, spread near 1.
#[derive(Debug, Clone)]
pub(super) struct Standard {
    pub(super) data: Observed,
    pub(super) centre: f64,
    pub(super) spread: f64,
    pub(super) family: Family,
}

impl Standard {
    /// The data, rescaled. A GPD's threshold becomes 0.
    pub(super) fn new(observed: &Observed, family: Family, threshold: Option<f64>) -> Result<Self, TailError> {
        let what = if family == Family::Gev { "maxima" } else { "exceedances" };
        if observed.total() < FEWEST as f64 {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small count
            return Err(TailError::TooFew { what, found: observed.total() as u64, needed: FEWEST });
        }
        let cells = observed.cells();
        if cells.len() < 2 || cells.first().map(super::observed::Cell::middle) == cells.last().map(super::observed::Cell::middle) {
            return Err(TailError::Constant(what));
        }
        let m = l_moments(observed);
        let centre = threshold.unwrap_or(m.l1);
        let spread = if family == Family::Gpd { m.l1 - centre } else { m.l2 * 2.0 };
        let size = observed.range().map_or(0.0, |(low, high)| low.abs().max(high.abs()));
        if !(spread > size * 1e-13 && spread.is_normal() && (1.0 / spread).is_normal() && m.l1.is_finite()) {
            return Err(TailError::Scale { spread, centre });
        }
        let mut data = observed.standardized(centre, spread);
        if data.cells().len() > MANY {
            data = data.condensed(0.002);
        }
        Ok(Self { data, centre, spread, family })
    }

    /// The family's law at the standard's origin.
    pub(super) fn origin(&self) -> Law {
        Law { family: self.family, location: 0.0, scale: 1.0, shape: 0.0 }
    }

    /// Negative log-likelihood as a function of the free parameters.
    pub(super) fn nllh(&self, free: &[f64]) -> f64 {
        self.origin().with_free(free).map_or(f64::INFINITY, |law| self.data.nllh(&law))
    }

    /// What the negative log-likelihood of the data is more than that of the standardized data.
    pub(super) fn jacobian(&self) -> f64 {
        if self.data.is_censored() { 0.0 } else { self.data.total() * self.spread.ln() }
    }

    /// The same data in fewer cells, for searches that are done often, and the minimum for them, which is next to `minimum`.
    pub(super) fn coarser(&self, minimum: &Minimum) -> (Self, Minimum) {
        let coarser = Self { data: self.data.condensed(0.01), ..self.clone() };
        if coarser.data.cells().len() == self.data.cells().len() {
            return (coarser, minimum.clone());
        }
        let found = descend(&|free: &[f64]| coarser.nllh(free), &minimum.at, &coarser.steps());
        (coarser, found.unwrap_or_else(|| minimum.clone()))
    }

    /// Sizes of steps of a search: some standard errors.
    pub(super) fn steps(&self) -> Vec<f64> {
        let size = (2.0 / self.data.total().sqrt()).clamp(1e-4, 0.3);
        vec![size; self.family.parameters()]
    }

    /// The maximum of the likelihood, from where the moments are.
    fn fitted(&self) -> Option<(Minimum, Option<Law>)> {
        let m = l_moments(&self.data);
        let by_moments = match self.family {
            Family::Gev => gev_of(&m),
            Family::Gpd => gpd_of(&m, 0.0),
        };
        let fallback = match self.family {
            Family::Gev => Law { location: m.l1 - 0.8 * m.l2, scale: m.l2 * 1.5, ..self.origin() },
            Family::Gpd => Law { scale: m.l1, ..self.origin() },
        };
        let f = |free: &[f64]| self.nllh(free);
        let starts = by_moments.into_iter().chain([fallback]).map(|law| self.feasible(law));
        // Two starts, since the likelihood of few values may have a second, lower hill.
        let found: Vec<Minimum> = starts.filter_map(|law| search(&f, &law.free(), &self.steps())).collect();
        let best = found.into_iter().min_by(|a, b| a.value.total_cmp(&b.value))?;
        best.value.is_finite().then_some((best, by_moments))
    }

    /// A law near `law` whose support holds all values.
    fn feasible(&self, law: Law) -> Law {
        let shape = law.shape.clamp(-0.9, 2.0);
        let (low, high) = self.data.range().unwrap_or((0.0, 0.0));
        let law = Law { shape, ..law };
        let far = if shape < 0.0 { high - law.location } else { law.location - low };
        if shape == 0.0 || (self.family == Family::Gpd && shape > 0.0) || shape.abs() * far < 0.95 * law.scale {
            return law;
        }
        Law { scale: shape.abs() * far * 1.1, ..law }
    }
}

/// Fits the family; a GPD needs its threshold, below which no value may lie.
pub fn fit(observed: &Observed, family: Family, threshold: Option<f64>) -> Result<Fit, TailError> {
    let standard = Standard::new(observed, family, threshold)?;
    Ok(fit_of(&standard)?.0)
}

/// The fit, and the maximum on the standard's scale.
pub(super) fn fit_of(standard: &Standard) -> Result<(Fit, Minimum), TailError> {
    let family = standard.family;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
    let none = || TailError::NoFit { family: family.name(), count: standard.data.total() as u64 };
    let f = |free: &[f64]| standard.nllh(free);
    // Far more values than digits are needed: a coarse search first.
    let condensed = Standard { data: standard.data.condensed(0.01), ..standard.clone() };
    let (mut minimum, start) = condensed.fitted().ok_or_else(none)?;
    if condensed.data.cells().len() < standard.data.cells().len() {
        minimum = descend(&f, &minimum.at, &standard.steps()).ok_or_else(none)?;
    }
    let law = standard.origin().with_free(&minimum.at).ok_or_else(none)?;
    let at_border = law.shape < -0.98;
    let information = curvature(&f, &minimum, &standard.steps()).filter(|_| !at_border);
    let scales = scales(family, standard.spread);
    let covariance = information.as_ref().and_then(inverse).map(|c| {
        let row = |(i, row): (usize, &Vec<f64>)| row.iter().enumerate().map(|(j, v)| v * scales[i] * scales[j]).collect();
        c.iter().enumerate().map(row).collect::<Matrix>()
    });
    let errors = covariance.as_ref().map(|c| (0..c.len()).map(|i| c[i][i].sqrt()).collect());
    let restored = |law: Law| law.restored(standard.centre, standard.spread);
    let fit = Fit {
        law: restored(law),
        start: start.map(restored),
        errors,
        nllh: minimum.value + standard.jacobian(),
        covariance,
        count: standard.data.total(),
        at_border,
    };
    Ok((fit, minimum))
}

/// How each free parameter grows with the spread.
fn scales(family: Family, spread: f64) -> Vec<f64> {
    match family {
        Family::Gev => vec![spread, spread, 1.0],
        Family::Gpd => vec![spread, 1.0],
    }
}

/// Fits again, from the parameters of a law near by: for bootstraps. `None` where that fails.
pub(super) fn refit(observed: &Observed, near: &Law) -> Option<Law> {
    let threshold = (near.family == Family::Gpd).then_some(near.location);
    let standard = Standard::new(observed, near.family, threshold).ok()?;
    let standard = Standard { data: standard.data.condensed(0.01), ..standard };
    let start = standard.feasible(near.standardized(standard.centre, standard.spread));
    let f = |free: &[f64]| standard.nllh(free);
    let found = descend(&f, &start.free(), &standard.steps())?;
    let law = standard.origin().with_free(&found.at)?;
    Some(law.restored(standard.centre, standard.spread))
}

/// `n` values of a law.
#[cfg(test)]
pub(super) fn drawn(law: &Law, n: usize, seed: u64) -> Vec<f64> {
    let mut random = crate::seeded::Seeded::new(seed);
    (0..n).map(|_| law.exceeded_with(random.uniform())).collect()
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
