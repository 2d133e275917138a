//! An edge of a line, whoever saw it.

/// An edge of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The level after it.
    pub level: bool,
    /// When, ns: by `CLOCK_MONOTONIC` where a machine stamped it, else since the capture began.
    pub at: u64,
    /// Edges of this line that were lost just before this one.
    pub lost: u64,
}
