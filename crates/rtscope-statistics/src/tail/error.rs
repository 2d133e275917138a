//! Why there is no bound on a tail.

use rtscope_failure::{Fault, Problem};

/// Most values of a series.
pub const MOST_VALUES: usize = 100_000_000;

/// Why no law was fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TailError {
    /// Too few values for a fit.
    #[error("{found} {what}: a fit needs {needed} or more")]
    TooFew {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many it takes.
        needed: u64,
    },
    /// More values than are taken.
    #[error("{0} values: at most {MOST_VALUES} are taken")]
    TooMany(u64),
    /// A value is infinite or no number.
    #[error("value {0} of the series is not finite")]
    NotFinite(usize),
    /// All values that would be fitted are equal.
    #[error("all {0} are equal: they have no tail")]
    Constant(&'static str),
    /// The values can't be rescaled without loss: they differ by less than the precision of their size.
    #[error(
        "the values spread over {spread:e} around {centre:e}: that is too little, or too much, for their size to be computed with"
    )]
    Scale {
        /// Spread of the values.
        spread: f64,
        /// Their centre.
        centre: f64,
    },
    /// An option has no meaning for these data.
    #[error("{0}")]
    Asked(String),
    /// The likelihood has no maximum that could be found.
    #[error("the likelihood of the {family} has no maximum that could be found for {count} values")]
    NoFit {
        /// The family of laws.
        family: &'static str,
        /// How many values were to be fitted.
        count: u64,
    },
}

impl Problem for TailError {
    fn remedy(&self) -> String {
        match self {
            Self::TooFew { what: "blocks", .. } => "smaller blocks (--block-size), or more values".into(),
            Self::TooFew { what: "exceedances", .. } => "a lower threshold, or more values".into(),
            Self::TooFew { .. } => "measure longer, or give more values".into(),
            Self::TooMany(_) => "give block maxima, or a part of the series".into(),
            Self::NotFinite(_) => "leave it out, or mend what wrote it".into(),
            Self::Constant(_) => "values with a finer resolution, or another threshold".into(),
            Self::Scale { .. } => "subtract a constant from all values, or give them in another unit".into(),
            Self::Asked(_) => "`rtscope tail --help` has examples".into(),
            Self::NoFit { .. } => "another threshold or block size; `--svg` shows what the data look like".into(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}
