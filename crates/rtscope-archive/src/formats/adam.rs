//! The text that Adam's measurement programs print (github.com/gadam2018/RPi-BeagleBone, `gpio_master.c`,
//! `gpiop_master.c`): written for response and periodic tests, read for response tests.
//!
//! What the programs do, according to their source:
//! - the first sample enters no figure but every denominator; samples of 500 us and more ("BAD") enter only `badmean`;
//! - `badmax` is the last BAD sample, not the highest; the "median" is the middle sample in order of time;
//! - the seconds of the clock are ignored, so a sample may be 1 s too short, and `CLOCK_REALTIME` may be set meanwhile;
//! - sums are f32, so the mean of a million samples may be off by several per cent;
//! - an answer is awaited without a time-out, so nothing is ever missed; which edge answered is not checked.
//!
//! The periodic program prints lengths of intervals, but neither the semi-period nor how many intervals were longer than
//! it, so no record of jitter can be made from its text.

mod program;
mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;

/// Whether a text is a report of one of these programs.
pub(super) fn detect(text: &str) -> bool {
    text.lines().any(|l| l.trim_start().starts_with("Samples:") && l.contains("average (mean) latency ="))
}
