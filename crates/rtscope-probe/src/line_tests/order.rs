//! What a run of an instrument is to be, in words that the instrument in the kernel and that on an FPGA share.

use rtscope_samples::stimuli::Shape;
use rtscope_sys::wire::WireInject;

/// What a run of the instrument is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Listen only.
    pub capture: bool,
    /// Shortest and longest interval, ns.
    pub intervals: (u64, u64),
    /// Longest time to an answer, ns.
    pub timeout: u64,
    /// Stimuli, or edges.
    pub count: u64,
    /// Of the intervals.
    pub seed: u64,
    /// Who answers.
    pub inject: WireInject,
    /// What the stimulus looks like; single edges from low, but for the FPGA instrument.
    pub shape: Shape,
}
