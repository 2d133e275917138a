//! Tests over lines: the errors that a device can be told to make, and what a record says of the instrument.

use crate::system::System;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Faults that a DUT makes on purpose, to validate the instrument. Pulses (a rising and the following falling stimulus) and answers
/// are counted from 1; "every N-th" means number N, 2N, 3N ...; 0 means never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Inject {
    /// Each answer comes this long after its stimulus, ns. In kernel space the handler waits this long before it answers.
    pub delay: Nanos,
    /// Every `slow_every`-th answer comes this long after its stimulus instead, ns. `periodic`: edge of the wave, after its grid
    /// point.
    pub slow: Nanos,
    /// Which answers `slow` delays.
    pub slow_every: u64,
    /// Every N-th pulse is not answered: two stimuli are missed. With `self_answer`: every N-th stimulus.
    pub drop_every: u64,
    /// Every N-th answer is followed by two spurious edges, to the other level and back. With `self_answer`: by one.
    pub double_every: u64,
    /// `periodic`: the semi-period is longer by this, parts per million (negative: shorter).
    pub skew_ppm: i32,
}

impl Inject {
    /// Whether nothing is injected.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for Inject {
    type Err = String;

    /// Parses `delay=50us,slow=200us/1000,drop=100,double=100,skew=50`, each at most once and in any order.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut inject = Self::default();
        let mut seen = std::collections::BTreeSet::new();
        for part in text.split(',') {
            let wrong = |why: &str| format!("`{part}`: {why}: write delay=TIME, slow=TIME/N, drop=N, double=N or skew=PPM");
            let (name, value) = part.trim().split_once('=').ok_or_else(|| wrong("nothing is set"))?;
            if !seen.insert(name) {
                return Err(wrong("it is set twice"));
            }
            let time = |t: &str| t.parse::<Nanos>().map_err(|e| wrong(&e.to_string()));
            let every = |t: &str| t.parse::<u64>().ok().filter(|&n| n > 0).ok_or_else(|| wrong("N is a number from 1 up"));
            match name {
                "delay" => inject.delay = time(value)?,
                "slow" => {
                    let (slow, n) = value.split_once('/').ok_or_else(|| wrong("the N is missing"))?;
                    (inject.slow, inject.slow_every) = (time(slow)?, every(n)?);
                }
                "drop" => inject.drop_every = every(value)?,
                "double" => inject.double_every = every(value)?,
                "skew" => {
                    let ppm = value.parse::<i32>().ok().filter(|ppm| ppm.unsigned_abs() < 1_000_000);
                    inject.skew_ppm = ppm.ok_or_else(|| wrong("PPM is a number between -1000000 and 1000000"))?;
                }
                _ => return Err(wrong("that can't be injected")),
            }
        }
        Ok(inject)
    }
}

impl fmt::Display for Inject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.delay.0 > 0 {
            parts.push(format!("delay={}", self.delay));
        }
        if self.slow_every > 0 {
            parts.push(format!("slow={}/{}", self.slow, self.slow_every));
        }
        for (name, n) in [("drop", self.drop_every), ("double", self.double_every)] {
            if n > 0 {
                parts.push(format!("{name}={n}"));
            }
        }
        if self.skew_ppm != 0 {
            parts.push(format!("skew={}", self.skew_ppm));
        }
        f.write_str(&parts.join(","))
    }
}

/// What takes the time stamp of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stamp {
    /// The kernel, when it takes the interrupt.
    Kernel,
    /// The task that drives the line, just before it does so.
    Driver,
    /// The task that the edge wakes: its wake-up latency is part of every time stamp.
    Listener,
    /// A separate instrument that shares nothing with the DUT, such as an FPGA or a logic analyzer.
    Outside,
}

impl Stamp {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "stamped by the kernel",
            Self::Driver => "stamped by the task that drives it",
            Self::Listener => "stamped by the task that it wakes",
            Self::Outside => "stamped from outside, by an instrument of its own",
        }
    }
}

/// A line that the instrument uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineFacts {
    /// Name of the line, as given.
    pub name: String,
    /// Kind of line, in words.
    pub what: String,
    /// What takes the time stamps of its edges.
    pub stamp: Stamp,
}

/// Figures of a part of a run that is not in the distributions: the warm-up or the calibration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Stimuli given; `periodic`: intervals between edges of the wave.
    pub stimuli: u64,
    /// Samples: latencies; `periodic`: amounts of jitter, without sign.
    pub count: u64,
    /// Stimuli not answered in time; `periodic`: intervals in which edges were lost.
    pub missed: u64,
    /// Missed stimuli that were answered after the time-out.
    pub late: u64,
    /// Edges that answer no stimulus.
    pub spurious: u64,
    /// Lowest sample, ns.
    pub min: Option<u64>,
    /// Median, ns: the lower of two middle samples.
    pub median: Option<u64>,
    /// Highest sample, ns.
    pub max: Option<u64>,
}

/// Error of the edges of a wave against the grid that begins with its first measured edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GridError {
    /// Grid points from the first edge to the last.
    pub points: u64,
    /// Error of the earliest edge, ns: negative, or 0 if no edge was early.
    pub min: i64,
    /// Error of the latest edge, ns: positive, or 0 if no edge was late.
    pub max: i64,
    /// Error of the last edge, ns: the accumulated error.
    pub last: i64,
    /// Drift: the slope of the least-squares line through all errors, parts per billion. Positive: semi-periods are too long.
    pub drift_ppb: i64,
    /// Mean of all jitters with their signs, ns, rounded.
    pub mean_jitter: i64,
}

/// One step of the search for the highest sustained frequency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// Requested time between two stimuli, and the time-out of an answer, ns.
    pub interval: Nanos,
    /// Mean time between two stimuli as the instrument gave them, ns.
    pub given: Nanos,
    /// Stimuli given.
    pub stimuli: u64,
    /// Stimuli not answered within the interval.
    pub missed: u64,
    /// Edges that answer no stimulus.
    pub spurious: u64,
    /// Highest latency, ns; null without a sample.
    pub max: Option<u64>,
    /// Events that did not fit into the memory of the instrument and were lost. Absent if 0.
    #[serde(default, skip_serializing_if = "none")]
    pub overflowed: u64,
    /// Every stimulus was answered within the interval, no edge was spurious, and nothing overflowed.
    pub sustained: bool,
    /// It was a run of full length to confirm the result. The record's samples are those of the last such run.
    #[serde(default)]
    pub confirming: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // required by serde
fn none(n: &u64) -> bool {
    *n == 0
}

/// Confidence in a sustained frequency, from the run that confirmed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// Stimuli of the confirming run; all were answered within the interval.
    pub stimuli: u64,
    /// Number of this attempt to confirm, from 1. Those before failed, each at a shorter interval.
    pub tries: u32,
    /// Confidence level of the bound, percent; it takes all attempts into account.
    pub confidence: u32,
    /// Upper bound of the probability that a stimulus at this interval is missed, parts per billion.
    pub miss_below_ppb: u64,
}

impl Confirmation {
    /// Confidence in percent.
    pub const CONFIDENCE: u32 = 95;

    /// The bound after `stimuli` stimuli without a miss, at the given try.
    ///
    /// If each stimulus is missed with probability p, n stimuli pass without a miss with probability (1 - p)^n. So with risk r, p
    /// is below 1 - r^(1/n) (for r = 1/20 this is the rule of three, 3/n). Each try might pass by luck, so the k-th gets the share
    /// 1/(k (k + 1)) of the risk: the shares of any number of tries add up to at most the whole.
    pub fn of(stimuli: u64, tries: u32) -> Self {
        let k = f64::from(tries.max(1));
        let risk = (1.0 - f64::from(Self::CONFIDENCE) / 100.0) / (k * (k + 1.0));
        let bound = -(risk.ln() / stimuli.max(1) as f64).exp_m1();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 10^9
        let miss_below_ppb = (bound * 1e9).ceil().clamp(1.0, 1e9) as u64;
        Self { stimuli, tries, confidence: Self::CONFIDENCE, miss_below_ppb }
    }

    /// Whether the run was so short that more than one stimulus in a hundred might be missed.
    pub fn is_weak(&self) -> bool {
        self.miss_below_ppb > 10_000_000
    }
}

/// The instrument of a test over lines: it gives the stimuli and takes the time stamps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Instrument"))]
#[serde(default)]
pub struct InstrumentFacts {
    /// What the instrument is, in words.
    pub what: String,
    /// The instrument had no hardware: the gateware's emulator, or another program behind a serial port. Absent if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// The line that it drove; absent in `periodic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stimulus: Option<LineFacts>,
    /// The line that it watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<LineFacts>,
    /// What answered, or made the wave, in words.
    pub dut: String,
    /// Snapshot of the machine that the instrument ran on, if that is not the DUT's. The record's `system` is always the DUT's; it
    /// is empty if nothing is known of that machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Box<System>>,
    /// Start of the run on the clock that edges are stamped with, `CLOCK_MONOTONIC`, ns; absent unless the instrument is in the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<u64>,
    /// Highest time between the clock reads before and after a stimulus, ns. Latencies count from the first read, so they are too
    /// high by at most this. Instrument in the kernel: highest time from when a stimulus was due, from which latencies count, to
    /// when it was driven. FPGA or capture: its resolution.
    pub uncertainty: u64,
    /// Mean of the same times, ns, rounded up.
    pub uncertainty_mean: u64,
    /// Edges or events that the line or the instrument reported as lost.
    pub lost: u64,
    /// Pulses shorter than `min_width` that were removed; their edges, two each, are in no other count. Absent if 0.
    #[serde(skip_serializing_if = "none")]
    pub narrow: u64,
    /// Stimuli given more than an interval late; their latencies are right. Instrument in the kernel: stimuli skipped because their
    /// time had passed.
    pub behind: u64,
    /// Figures of the warm-up, before the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Phase>,
    /// Calibration: the instrument's own latency, measured over a line wired straight to the stimulus or over an internal loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Phase>,
    /// `periodic`: error of the wave against its grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridError>,
    /// `sustained`: mean interval of the run that confirmed the result, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Nanos>,
    /// `sustained`: confidence in that interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// `sustained`: every step of the search, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<Trial>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_can_be_injected() {
        let all: Inject = "delay=50us,slow=2ms/1000,drop=7,double=9,skew=-40".parse().unwrap();
        assert_eq!(all.to_string(), "delay=50us,slow=2ms/1000,drop=7,double=9,skew=-40");
        assert_eq!((all.delay, all.slow, all.slow_every), (Nanos(50_000), Nanos(2_000_000), 1000));
        assert_eq!((all.drop_every, all.double_every, all.skew_ppm), (7, 9, -40));
        assert!(!all.is_none() && Inject::default().is_none());
        assert_eq!(Inject::default().to_string(), "");
        for one in ["delay=1ns", "slow=1ms/1", "drop=1", "double=1", "skew=-1", "skew=999999", "skew=-999999", "delay=5us, skew=1"]
        {
            let inject: Inject = one.parse().unwrap();
            assert!(!inject.is_none(), "{one}");
            assert_eq!(inject.to_string(), one.replace(' ', ""));
        }
    }

    #[test]
    fn what_can_not_be_injected_is_refused_by_why() {
        for (bad, part, why) in [
            ("", "", "nothing is set"),
            ("drop=1,delay", "delay", "nothing is set"),
            ("slow=1ms", "slow=1ms", "the N is missing"),
            ("slow=1ms/0", "slow=1ms/0", "N is a number from 1 up"),
            ("drop=0", "drop=0", "N is a number from 1 up"),
            ("double=-1", "double=-1", "N is a number from 1 up"),
            ("skew=1000000", "skew=1000000", "PPM is a number between -1000000 and 1000000"),
            ("skew=-1000000", "skew=-1000000", "PPM is a number between -1000000 and 1000000"),
            ("skew=-2147483648", "skew=-2147483648", "PPM is a number between -1000000 and 1000000"),
            ("drop=1,drop=2", "drop=2", "it is set twice"),
            ("melt=1", "melt=1", "that can't be injected"),
        ] {
            let expected = format!("`{part}`: {why}: write delay=TIME, slow=TIME/N, drop=N, double=N or skew=PPM");
            assert_eq!(bad.parse::<Inject>(), Err(expected));
        }
        assert!("delay=5".parse::<Inject>().unwrap_err().contains("no known unit"));
    }

    #[test]
    fn each_stamp_says_whose_clock_it_is() {
        let words = [Stamp::Kernel, Stamp::Driver, Stamp::Listener, Stamp::Outside]
            .map(|stamp| stamp.as_str().split_once("by ").unwrap().1);
        assert_eq!(words, ["the kernel", "the task that drives it", "the task that it wakes", "an instrument of its own"]);
    }

    #[test]
    fn a_trial_tells_of_what_overflowed_only_where_something_did() {
        let mut trial: Trial = serde_json::from_str(
            r#"{"interval":1,"given":1,"stimuli":1,"missed":0,"spurious":0,"max":null,"sustained":true,"confirming":false}"#,
        )
        .unwrap();
        assert!(!serde_json::to_string(&trial).unwrap().contains("overflowed"));
        trial.overflowed = 3;
        assert!(serde_json::to_string(&trial).unwrap().contains(r#""overflowed":3"#));
    }

    #[test]
    fn a_run_without_a_miss_bounds_the_chance_of_one() {
        let of = |stimuli, tries| Confirmation::of(stimuli, tries).miss_below_ppb;
        // ln 40 / n at the first try, ln 120 / n at the second.
        assert_eq!((of(100_000, 1), of(100_000, 2)), (36_889, 47_874));
        assert_eq!(of(1, 1), 975_000_000);
        assert!(Confirmation::of(300, 1).is_weak() && !Confirmation::of(400, 1).is_weak());
        let exactly = |miss_below_ppb| Confirmation { miss_below_ppb, ..Confirmation::of(400, 1) }.is_weak();
        assert_eq!([exactly(10_000_000), exactly(10_000_001)], [false, true]);
        let shares: f64 = (1..100_000).map(|k| 1.0 / (f64::from(k) * f64::from(k + 1))).sum();
        assert!(shares < 1.0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(delay|slow|drop|double|skew)?=?\\PC{0,20}") {
            if let Ok(inject) = text.parse::<Inject>() {
                prop_assert_eq!(inject.to_string().parse::<Inject>().unwrap_or_default(), inject);
            }
        }
    }
}
