//! What a study of a tail finds.

use super::fit::Fit;
use super::gates::{ExtremalIndex, Gate, GateOutcome};
use super::goodness::Goodness;
use super::law::Family;
use super::profile::Interval;
use super::threshold::{MeanExcess, ThresholdRow};
use serde::Serialize;

/// A parameter of the fitted law.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameter {
    /// `location`, `scale` or `shape`.
    pub name: &'static str,
    /// Its maximum likelihood estimate.
    pub value: f64,
    /// Its standard error from the observed information.
    pub error: Option<f64>,
    /// Its interval by the profile likelihood.
    pub interval: Interval,
}

/// A return level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReturnLevel {
    /// Once in so many blocks (GEV) or values (GPD) the level is expected to be exceeded.
    pub period: f64,
    /// The probability that a block's maximum, or a value, exceeds it: one over the period.
    pub probability: f64,
    /// The level.
    pub level: f64,
    /// Its interval by the profile likelihood.
    pub interval: Interval,
    /// Its interval by the bootstrap.
    pub bootstrap: Option<Interval>,
    /// How far it lies beyond the data: one over the number of blocks or values, over the probability. Up to 1, the data reach it.
    pub extrapolation: f64,
}

/// A point of the fitted curve: a level with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Return period.
    pub period: f64,
    /// Return level.
    pub level: f64,
    /// Its interval.
    pub interval: Interval,
}

/// How the values were understood.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ValueGrid {
    /// The step of the grid on which the values lie.
    pub step: f64,
    /// Whether the likelihood is that of intervals.
    pub censored: bool,
}

/// A study of a tail.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Study {
    /// The family of the law.
    pub family: Family,
    /// All values of the series.
    pub values: f64,
    /// Maxima, exceedances or cluster maxima that the law was fitted to.
    pub fitted: f64,
    /// Values of a block, where blocks were made here.
    pub block_size: Option<usize>,
    /// The threshold of a GPD.
    pub threshold: Option<f64>,
    /// Fitted values per value of the series.
    pub rate: f64,
    /// The run that ended clusters, where their maxima were fitted.
    pub declustered: Option<usize>,
    /// The highest value.
    pub highest: f64,
    /// The grid on which the fitted values lie.
    pub grid: Option<ValueGrid>,
    /// The fit.
    pub fit: Fit,
    /// Confidence of all intervals.
    pub confidence: f64,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The end of the tail, if the shape is negative.
    pub upper_end: Option<f64>,
    /// The levels, in ascending order.
    pub levels: Vec<ReturnLevel>,
    /// The level of the bound: an index.
    pub headline: usize,
    /// Whether no gate failed, so that the bound may be given.
    pub bounded: bool,
    /// The gates.
    pub gates: Vec<Gate>,
    /// Clusters above the threshold.
    pub extremal_index: Option<ExtremalIndex>,
    /// Tests of the fit.
    pub goodness: Goodness,
    /// Replicates of the bootstrap of levels that were fitted.
    pub replicates: u32,
    /// Other thresholds (GPD).
    pub thresholds: Vec<ThresholdRow>,
    /// Mean residual life (GPD).
    pub mean_residual_life: Vec<MeanExcess>,
    /// The fitted curve.
    pub curve: Vec<CurvePoint>,
    /// The data on the same axes: return period and value.
    pub points: Vec<(f64, f64)>,
    /// What to beware of.
    pub warnings: Vec<String>,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Study {
    /// Holds the study to one more gate.
    pub fn hold_to(&mut self, gate: Gate) {
        self.bounded &= gate.outcome == GateOutcome::Passed;
        self.gates.push(gate);
    }
}
