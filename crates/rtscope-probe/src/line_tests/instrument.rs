//! What an instrument is: one trait for whatever stimulates and times, and the words of its orders and reports.

use crate::lines::LineError;
use rtscope_record::{Inject, Instrument as Facts, Shape, Warning};
use rtscope_samples::outcome::Sink;
use rtscope_samples::wave::WaveSampler;
use std::sync::atomic::AtomicBool;

/// What stimulates and times. Opened by its entry in [`super::instruments`]; closed, with its lines at rest, when it is dropped.
pub trait Instrument: Send {
    /// Says what it is, for the record.
    fn describe(&self, facts: &mut Facts);

    /// Measures its own share: the stimuli of `order` straight back to its answer.
    fn calibrate(&mut self, order: &Order, stop: &AtomicBool, sink: &mut (dyn Sink + Send)) -> Result<Report, LineError>;

    /// What it means, and what to do, when nothing came back in a calibration; `None`: that can't be.
    fn dead_null_wire(&self) -> Option<(String, &'static str)>;

    /// Makes ready for the run; `calibrated`: after a calibration, whose stimuli a device may have heard.
    fn prepare(&mut self, _order: &Order, _calibrated: bool) -> Result<(), LineError> {
        Ok(())
    }

    /// Whether it needs no device, nor starts one.
    fn answers_itself(&self) -> bool {
        false
    }

    /// Whether somebody listens to its stimulus and drives its answer; `None` where that can't be told.
    fn other_ends(&self) -> [Option<bool>; 2] {
        [None; 2]
    }

    /// Carries out `order`, hands over what comes of it, and ends early when it is told to stop. May be called again and again.
    fn run(&mut self, order: &Order, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Report, LineError>;

    /// What was lost on the way from it, less `spared` events that it had no room for.
    fn losses(&self, _spared: u64) -> Option<Warning> {
        None
    }

    /// Whether it does not answer any more.
    fn is_gone(&mut self) -> bool {
        false
    }
}

/// How a run ended, and what the instrument counted.
pub type Report = (Ended, RunCounts);

/// What a run of an instrument is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Listen only, to a wave.
    pub capture: bool,
    /// Shortest and longest interval, ns; of a wave its semi-period.
    pub intervals: (u64, u64),
    /// Longest time to an answer, ns.
    pub timeout: u64,
    /// How many stimuli, or intervals of a wave; `None`: as many as there is time for.
    pub stimuli: Option<u64>,
    /// How long, ns; `None`: until all stimuli are given.
    pub duration: Option<u64>,
    /// The same as a number of stimuli, for an instrument that ends by their number; 0: no end.
    pub count: u64,
    /// Of the intervals.
    pub seed: u64,
    /// Who answers.
    pub answers: Answers,
    /// What the stimulus looks like; single edges from low, but for the FPGA instrument.
    pub shape: Shape,
    /// A device may still be answering the run before.
    pub again: bool,
}

/// Who answers an instrument's stimuli.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// A device, over its lines.
    Device,
    /// Nobody: the stimulus comes straight back.
    NullWire,
    /// The instrument itself, so that it is validated.
    Itself(Inject),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All stimuli given, or the time is over.
    Complete,
    /// Told to stop.
    Stopped,
    /// Nothing came back for long: the device is dead, or the wires are not where they should be.
    Silent,
    /// The instrument itself went away.
    Gone,
}

/// What an instrument counted of its own doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunCounts {
    /// Stimuli given.
    pub stimuli: u64,
    /// Highest time between the clock reads around a stimulus, ns.
    pub span_max: u64,
    /// Sum of the same, ns.
    pub span_sum: u64,
    /// Stimuli later than planned by more than their interval.
    pub behind: u64,
    /// Edges that the answer line reported as lost.
    pub lost: u64,
    /// Events among them that the instrument itself had no room for.
    pub overflowed: u64,
    /// Edges of the answer line.
    pub edges: u64,
    /// Pulses that were too narrow, and taken out.
    pub narrow: u64,
    /// From the first stimulus to the end of the last one's interval, ns.
    pub elapsed: u64,
}

/// Where what an instrument sees goes.
pub enum Collector<'a> {
    /// Outcomes of stimuli.
    Responses(&'a mut (dyn Sink + Send)),
    /// Edges of a wave.
    Wave(&'a mut WaveSampler),
}

impl Collector<'_> {
    /// The run begins: times of worst samples count from `start`, ns.
    pub fn start_at(&mut self, start: u64) {
        match self {
            Self::Responses(sink) => sink.start_at(start),
            Self::Wave(samples) => samples.start_at(start),
        }
    }
}
