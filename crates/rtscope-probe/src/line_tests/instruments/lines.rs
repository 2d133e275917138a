//! The instrument in user space: a task that drives the stimulus line and waits for edges of the answer line.

use crate::line_tests::checked::LineTest;
use crate::line_tests::instrument::{Collector, Instrument, Order, Report};
use crate::line_tests::periodic::observe;
use crate::line_tests::schedule::Schedule;
use crate::line_tests::stimulate::{Until, stimulate};
use crate::line_tests::wires::{Real, Wires};
use crate::lines::{LineError, LineSpec, Output};
use crate::measured::Failure;
use crate::protocol::ProbePlan;
use rtscope_record::InstrumentFacts;
use rtscope_samples::outcome::Sink;
use rtscope_sys::rt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How long a device may continue to answer after a run, ns.
const BACKLOG: u64 = 2_000_000_000;

/// The lines, and which of them are open.
struct Lines {
    answer: LineSpec,
    null_wire: Option<LineSpec>,
    /// The stimulus, until `wires` takes it.
    stimulus: Option<Box<dyn Output>>,
    wires: Option<Real>,
}

/// Opens the stimulus, if there is one. Accepts any lines that do not belong to another instrument.
pub(super) fn open(_: &ProbePlan, test: &LineTest<'_>) -> Option<Result<Box<dyn Instrument>, Failure>> {
    if test.answer.is_autonomous() {
        return None;
    }
    let stimulus = test.stimulus.as_ref().map(LineSpec::output).transpose();
    let (answer, null_wire) = (test.answer.clone(), test.null_wire.clone());
    let lines = |stimulus| Box::new(Lines { answer, null_wire, stimulus, wires: None }) as Box<dyn Instrument>;
    Some(stimulus.map(lines).map_err(Into::into))
}

impl Lines {
    /// Stimulus and answer. Opens the answer if it is not open yet.
    fn wires(&mut self) -> Result<&mut Real, LineError> {
        let wires = match self.wires.take() {
            Some(wires) => wires,
            None => Real { answer: self.answer.input()?, stimulus: self.stimulus.take() },
        };
        Ok(self.wires.insert(wires))
    }
}

impl Instrument for Lines {
    fn describe(&self, facts: &mut InstrumentFacts) {
        facts.what = "a task in user space on this machine".into();
    }

    /// Measures how long it takes to see its own stimulus, on a line that is wired directly to it.
    fn calibrate(&mut self, order: &Order, stop: &AtomicBool, sink: &mut (dyn Sink + Send)) -> Result<Report, LineError> {
        let line = self.null_wire.as_ref().unwrap_or(&self.answer);
        let mut wires = Real { answer: line.input()?, stimulus: self.stimulus.take() };
        let report = give(&mut wires, order, stop, sink);
        self.stimulus = wires.stimulus;
        report
    }

    fn dead_null_wire(&self) -> Option<(String, &'static str)> {
        let line = self.null_wire.as_ref().unwrap_or(&self.answer);
        let message = format!("no edge of the stimulus came back on the null wire {line}");
        Some((message, "wire it straight to the stimulus line, or name the line that is: --calibrate=LINE"))
    }

    /// Opens the answer only now: edges of a calibration would have queued up in it.
    fn prepare(&mut self, _: &Order, _: bool) -> Result<(), LineError> {
        self.wires().map(|_| ())
    }

    fn other_ends(&self) -> [Option<bool>; 2] {
        let Some(wires) = &self.wires else { return [None; 2] };
        [wires.stimulus.as_ref().and_then(|o| o.has_listener()), wires.answer.has_driver()]
    }

    fn run(&mut self, order: &Order, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Report, LineError> {
        let wires = self.wires()?;
        if order.again {
            settle(wires, order.intervals.0, stop)?;
        }
        collector.start_at(rt::now());
        match collector {
            Collector::Responses(sink) => give(wires, order, stop, *sink),
            Collector::Wave(samples) => observe(wires, &until(order, stop), samples),
        }
    }
}

/// Gives the stimuli of `order`.
fn give(wires: &mut Real, order: &Order, stop: &AtomicBool, sink: &mut (dyn Sink + Send)) -> Result<Report, LineError> {
    let mut schedule = Schedule::new(order.intervals.0, order.intervals.1, order.seed);
    stimulate(wires, &mut schedule, order.timeout, &until(order, stop), sink)
}

fn until<'a>(order: &Order, stop: &'a AtomicBool) -> Until<'a> {
    let end = order.duration.map_or(u64::MAX, |d| rt::now().saturating_add(d));
    Until { stimuli: order.stimuli.unwrap_or(u64::MAX), end, stop }
}

/// Lets a device that fell behind in the previous run catch up, so that its answers do not count in this one.
fn settle(wires: &mut Real, interval: u64, stop: &AtomicBool) -> Result<(), LineError> {
    let end = rt::now() + BACKLOG;
    while rt::now() < end && !stop.load(Relaxed) {
        if wires.wait(rt::now() + (2 * interval).clamp(5_000_000, 100_000_000))?.is_none() {
            break;
        }
    }
    Ok(())
}
