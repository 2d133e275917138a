//! Bounds on the tail: extreme-value fits, and the gates before them.

mod blocks;
mod bootstrap;
mod error;
mod fit;
mod found;
mod gates;
mod goodness;
mod groups;
mod judged;
mod law;
mod moments;
mod observed;
mod optimum;
mod profile;
#[cfg(test)]
mod published;
mod request;
mod study;
mod threshold;
mod warnings;

pub use blocks::{block_maxima, cluster_maxima};
pub use error::{MOST_VALUES, TailError};
pub use fit::{FEWEST, Fit, fit};
pub use found::{CurvePoint, Parameter, ReturnLevel, Study, ValueGrid};
pub use gates::{
    ExtremalIndex, Gate, GateOutcome, extremal_index, kpss, kpss_lags, ljung_box, ljung_box_lags, rate, runs, usual_run,
};
pub use goodness::{Distances, Goodness, distances, goodness};
pub use groups::{Envelope, envelope};
pub use law::{Family, Law};
pub use moments::{LMoments, gev_of, gpd_of, l_moments};
pub use observed::{Cell, Observed, Resolution, grid_of};
pub use profile::Interval;
pub use request::{Cut, Method, Request, Rounding, Series};
pub use study::study;
pub use threshold::{MeanExcess, ThresholdRow, mean_residual_life, thresholds, usual_thresholds};
