//! The text that Adam's measurement programs print (github.com/gadam2018/RPi-BeagleBone, `gpio_master.c`, `gpiop_master.c`): written for
//! response and periodic tests, read for response tests.
//!
//! What the programs do was found by reading them:
//! - the first sample is in no figure but in every denominator; samples of 500 us and more ("BAD") are in no figure but `badmean`;
//! - `badmax` is the last BAD sample, not the highest; the "median" is the middle one in order of time;
//! - seconds of the clock are ignored, so that 1 s may be missing from a sample, and `CLOCK_REALTIME` may be set meanwhile;
//! - sums are f32: of a million samples the mean may be off by percents;
//! - an answer is waited for for ever, so that nothing is ever missed; nobody looks which edge it was.
//!
//! The periodic program's text has lengths of intervals, but neither the semi-period nor how many were longer: it can't be a jitter's record.

mod program;
mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;

/// Whether a text is a report of these programs.
pub(super) fn detect(text: &str) -> bool {
    text.lines().any(|l| l.trim_start().starts_with("Samples:") && l.contains("average (mean) latency ="))
}
