//! What the stress-ng of a target says of itself.

/// What a stress-ng says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StressNg {
    /// `--stressors`
    pub list: String,
    /// `--class 'cpu?'`
    pub classes: String,
    /// `--help`
    pub help: String,
}
