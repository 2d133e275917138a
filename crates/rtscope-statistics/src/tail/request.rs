//! What is asked of a study of a tail.

use super::error::TailError;
use super::observed::{Observed, Resolution, check};

/// Values to study.
#[derive(Debug, Clone)]
pub enum Series {
    /// In the order in which they came about.
    Ordered(Vec<f64>),
    /// Counted, as in a histogram: their order is not known. A record that keeps block maxima would give these as [`Ordered`]
    /// (`Self::Ordered`) besides.
    Counted(Observed),
}

impl Series {
    /// All values, counted.
    pub(super) fn observed(&self) -> Result<Observed, TailError> {
        match self {
            Self::Ordered(values) => Observed::of_values(values),
            Self::Counted(observed) => Ok(observed.clone()),
        }
    }
}

/// What a law is fitted to.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// A GEV to the values, which are maxima of blocks.
    Maxima,
    /// A GEV to the maxima of blocks of so many values.
    BlockSize(usize),
    /// A GEV to the maxima of so many blocks of equal size.
    Blocks(usize),
    /// A GPD to what exceeds thresholds: the first is that of the bound; none: the usual ones.
    Thresholds(Vec<Cut>),
}

/// A threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cut {
    /// At this value.
    At(f64),
    /// Where this share of the values lies above.
    Above(f64),
}

impl Cut {
    /// The threshold for these values.
    pub(super) fn of(self, observed: &Observed) -> Result<f64, TailError> {
        let threshold = match self {
            Self::At(v) => v,
            Self::Above(share) => observed.quantile(1.0 - share).unwrap_or(0.0),
        };
        let (_, highest) = observed.range().ok_or(TailError::TooFew { what: "values", found: 0, needed: super::fit::FEWEST })?;
        if threshold >= highest {
            return Err(TailError::Asked(format!("nothing exceeds the threshold {threshold}: the highest value is {highest}")));
        }
        Ok(threshold)
    }
}

/// How values were rounded, as far as a fit should know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rounding {
    /// As intervals where the values lie on a grid that is coarse beside the law's scale, else as exact values.
    Found,
    /// As exact values.
    Exact,
    /// As intervals of this width.
    Known(Resolution),
}

/// A study that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What a law is fitted to.
    pub method: Method,
    /// Return levels, by their period in blocks (GEV) or values (GPD); the first is that of the bound; none: usual ones.
    pub periods: Vec<f64>,
    /// Confidence of intervals.
    pub confidence: f64,
    /// How the values were rounded.
    pub rounding: Rounding,
    /// Fit a GPD to the maxima of clusters, which so many values in a row below the threshold end.
    pub decluster: Option<usize>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Most replicates of a bootstrap; fewer are taken of many values.
    pub replicates: u32,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            method: Method::Maxima,
            periods: Vec::new(),
            confidence: 0.95,
            rounding: Rounding::Found,
            decluster: None,
            seed: 1,
            replicates: 999,
        }
    }
}

impl Request {
    /// Refuses what has no meaning.
    pub(super) fn check(&self, series: &Series) -> Result<(), TailError> {
        let refuse = |why: String| Err(TailError::Asked(why));
        if let Some(period) = self.periods.iter().find(|p| !(**p >= 2.0 && p.is_finite())) {
            return refuse(format!("a return period of {period} blocks or values: it must be 2 or more"));
        }
        if !(self.confidence > 0.5 && self.confidence < 0.9999) {
            return refuse(format!("a confidence of {}: it must lie between 0.5 and 0.9999", self.confidence));
        }
        if let Rounding::Known(r) = self.rounding {
            if !(r.width() > 0.0 && r.width().is_finite()) {
                return refuse(format!("a resolution of {}: it must be above 0", r.width()));
            }
        }
        if let (Method::Maxima | Method::BlockSize(_) | Method::Blocks(_), Some(_)) = (&self.method, self.decluster) {
            return refuse("clusters are of values above a threshold, and there is none".into());
        }
        match (series, &self.method, self.decluster) {
            (Series::Counted(_), Method::BlockSize(_) | Method::Blocks(_), _) | (Series::Counted(_), _, Some(_)) => {
                refuse("blocks and clusters need the order of the values, which a histogram does not keep".into())
            }
            (Series::Ordered(values), ..) => check(values),
            _ => Ok(()),
        }
    }
}
