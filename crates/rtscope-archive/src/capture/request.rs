//! What is to be read of a capture.

/// What is to be read of a capture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// Channels by their names (case does not matter where that leaves one), or by their places: `#1` is the first.
    pub channels: Vec<String>,
    /// Voltages from here on are high; else from the middle of a channel's swing.
    pub threshold: Option<f64>,
    /// How far a voltage must pass over the threshold, in all, V; else a tenth of the swing.
    pub hysteresis: Option<f64>,
}
