//! What every kind of line can: be driven, be listened to, say what its edges are worth.

use super::error::LineError;
use rtscope_record::lines::Stamp;
use rtscope_samples::Edge;

/// The clock around an act on a line, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Read just before.
    pub before: u64,
    /// Read just after.
    pub after: u64,
}

/// What a line can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    /// What it is, in words.
    pub what: &'static str,
    /// Who stamps its edges.
    pub stamp: Stamp,
    /// Whether it can tell that edges were lost.
    pub tells_losses: bool,
}

/// A line that is open for driving. Dropping it gives it back.
pub trait Output: Send {
    /// Sets the level; says when. A level that it has already makes no edge.
    fn set(&mut self, level: bool) -> Result<Span, LineError>;
    /// Whether somebody listens; `None` where that can't be told.
    fn has_listener(&self) -> Option<bool>;
}

/// A line that is open for listening. Dropping it gives it back.
pub trait Input: Send {
    /// The next edge, at most until `deadline` (`CLOCK_MONOTONIC`, ns). An edge that is there already is given even after the deadline.
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError>;
    /// The level now.
    fn level(&mut self) -> Result<bool, LineError>;
    /// Whether somebody drives it; `None` where that can't be told.
    fn has_driver(&self) -> Option<bool>;
}
