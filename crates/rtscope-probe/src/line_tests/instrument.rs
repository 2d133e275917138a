//! The trait of everything that stimulates and times, with its orders and reports.

use crate::lines::LineError;
use rtscope_record::{Inject, InstrumentFacts, Shape, Warning};
use rtscope_samples::outcome::Sink;
use rtscope_samples::wave::WaveSampler;
use std::sync::atomic::AtomicBool;

/// An instrument: stimulates and times. It is opened by its entry in [`super::instruments`]. Dropping it closes
/// it, with its lines at rest.
pub trait Instrument: Send {
    /// Describes itself for the record.
    fn describe(&self, facts: &mut InstrumentFacts);

    /// Measures its own delay, with the stimuli of `order` looped straight back to its answer.
    fn calibrate(&mut self, order: &Order, stop: &AtomicBool, sink: &mut (dyn Sink + Send)) -> Result<Report, LineError>;

    /// Message and remedy if nothing came back in a calibration; `None` if that can't happen.
    fn dead_null_wire(&self) -> Option<(String, &'static str)>;

    /// Gets ready for the run. `calibrated`: a calibration came before, and a device may have heard its stimuli.
    fn prepare(&mut self, _order: &Order, _calibrated: bool) -> Result<(), LineError> {
        Ok(())
    }

    /// Whether it needs no device; then none is started.
    fn answers_itself(&self) -> bool {
        false
    }

    /// Whether somebody listens to its stimulus, and whether somebody drives its answer; `None` if unknown.
    fn other_ends(&self) -> [Option<bool>; 2] {
        [None; 2]
    }

    /// Carries out `order` and hands the outcomes to `collector`; ends early when `stop` is set. Can be called repeatedly.
    fn run(&mut self, order: &Order, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Report, LineError>;

    /// What was lost between instrument and host, less `spared` events that overflowed in the instrument.
    fn losses(&self, _spared: u64) -> Option<Warning> {
        None
    }

    /// Whether it no longer responds.
    fn is_gone(&mut self) -> bool {
        false
    }
}

/// How a run ended, and the instrument's counts.
pub type Report = (Ended, RunCounts);

/// An order for one run of an instrument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Only listen, to a wave.
    pub capture: bool,
    /// Shortest and longest interval, ns; for a wave, its semi-period.
    pub intervals: (u64, u64),
    /// Time-out for an answer, ns.
    pub timeout: u64,
    /// Number of stimuli, or of intervals of a wave; `None`: as many as fit into the time.
    pub stimuli: Option<u64>,
    /// Duration, ns; `None`: until all stimuli are given.
    pub duration: Option<u64>,
    /// The end as a number of stimuli, for an instrument that ends by count; 0: no end.
    pub count: u64,
    /// Seed of the intervals.
    pub seed: u64,
    /// Who answers the stimuli.
    pub answers: Answers,
    /// Shape of the stimulus: single edges from low, except for the FPGA instrument.
    pub shape: Shape,
    /// A device may still be answering stimuli of the previous run.
    pub again: bool,
}

/// Who answers an instrument's stimuli.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// A device, over its lines.
    Device,
    /// Nobody: the stimulus is looped straight back.
    NullWire,
    /// The instrument itself, for its validation.
    Itself(Inject),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All stimuli are given, or the time is over.
    Complete,
    /// Told to stop.
    Stopped,
    /// Nothing came back for long: the device is dead, or the wires are misplaced.
    Silent,
    /// The instrument itself disappeared.
    Gone,
}

/// The instrument's counts of its own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunCounts {
    /// Stimuli given.
    pub stimuli: u64,
    /// Longest time between the clock reads around a stimulus, ns.
    pub span_max: u64,
    /// Sum of these times, ns.
    pub span_sum: u64,
    /// Stimuli that came later than planned by more than their interval.
    pub behind: u64,
    /// Edges that the answer line reported as lost.
    pub lost: u64,
    /// Those of the lost events that did not fit into the instrument's own memory.
    pub overflowed: u64,
    /// Edges of the answer line.
    pub edges: u64,
    /// Pulses that were removed because they were too narrow.
    pub narrow: u64,
    /// Time from the first stimulus to the end of the last one's interval, ns.
    pub elapsed: u64,
}

/// Where the instrument's observations go.
pub enum Collector<'a> {
    /// Outcomes of stimuli.
    Responses(&'a mut (dyn Sink + Send)),
    /// Edges of a wave.
    Wave(&'a mut WaveSampler),
}

impl Collector<'_> {
    /// The run begins: the times of the worst samples count from `start`, ns.
    pub fn start_at(&mut self, start: u64) {
        match self {
            Self::Responses(sink) => sink.start_at(start),
            Self::Wave(samples) => samples.start_at(start),
        }
    }
}
