//! What all kinds of line have in common: they can be driven and listened to, and they know how their edges are stamped.

use super::error::LineError;
use rtscope_record::lines::Stamp;
use rtscope_samples::Edge;

/// The clock just before and after an operation on a line, ns.
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
    /// The kind of line, as text.
    pub what: &'static str,
    /// What stamps its edges.
    pub stamp: Stamp,
    /// Whether it reports lost edges.
    pub tells_losses: bool,
}

/// A line that is open for driving. Dropping it releases the line.
pub trait Output: Send {
    /// Sets the level, and returns when. Setting the current level again makes no edge.
    fn set(&mut self, level: bool) -> Result<Span, LineError>;
    /// Whether somebody listens; `None` if unknown.
    fn has_listener(&self) -> Option<bool>;
}

/// A line that is open for listening. Dropping it releases the line.
pub trait Input: Send {
    /// The next edge; `None` if there is none until `deadline` (`CLOCK_MONOTONIC`, ns). An edge that is already
    /// there is returned even after the deadline.
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError>;
    /// The current level.
    fn level(&mut self) -> Result<bool, LineError>;
    /// Whether somebody drives it; `None` if unknown.
    fn has_driver(&self) -> Option<bool>;
}
