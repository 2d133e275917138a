//! What to read from a capture.

/// What to read from a capture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaptureRequest {
    /// Channels by name (in any case, where that is unambiguous) or by position: `#1` is the first.
    pub channels: Vec<String>,
    /// Middle of the voltage threshold, V; default: the middle of the channel's swing.
    pub threshold: Option<f64>,
    /// Total width of the hysteresis, V; default: a tenth of the swing.
    pub hysteresis: Option<f64>,
}
