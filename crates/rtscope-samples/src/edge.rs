//! An edge of a line, from any source.

/// An edge of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The level after it.
    pub level: bool,
    /// When, ns: `CLOCK_MONOTONIC` where a machine stamped it, otherwise since the start of the capture.
    pub at: u64,
    /// Edges of this line lost just before this one.
    pub lost: u64,
}
