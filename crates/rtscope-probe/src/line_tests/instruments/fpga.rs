//! The FPGA instrument. The board gives the stimuli and stamps all edges; this module pairs and books its stream.

use crate::line_tests::checked::LineTest;
use crate::line_tests::instrument::{Answers, Collector, Ended, Instrument, Order, Report, RunCounts};
use crate::lines::LineError;
use crate::measured::Failure;
use crate::protocol::ProbePlan;
use rtscope_failure::Problem;
use rtscope_fpga::instrument::{ANSWER, CHANNELS, STIMULUS};
use rtscope_fpga::{FpgaError, Item, Losses, SerialPort, Stimulus};
use rtscope_record::{Effect, InstrumentFacts, Shape, Warning};
use rtscope_samples::Edge;
use rtscope_samples::narrow::{Narrow, Of};
use rtscope_samples::outcome::Sink;
use rtscope_samples::pairing::Closed;
use rtscope_samples::stimuli::Stimuli;
use rtscope_sys::rt::now;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Longest wait before checking whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often the instrument must prove that it is alive, ns of the host.
const HEARTBEAT: u64 = 500_000_000;
/// How long a mark may take to pass everything queued before it, ns of the host.
const MARK_TIMEOUT: u64 = 2_000_000_000;
/// How often a mark is requested at the end, because a mark may be lost like anything else.
const MARKS: u32 = 5;
/// Longest wait for a device to answer the last stimuli of a calibration, ns.
const CALIBRATION_REST: u64 = 1_000_000_000;
/// A device that answers nothing for this many stimuli and this long, ns, counts as dead.
const SILENT: (u64, u64) = (20, 2_000_000_000);
/// Bounds of the time that a device gets to answer the edge to a new rest level, ns. Within them it is the time-out.
const SETTLE: (u64, u64) = (10_000_000, 1_000_000_000);

/// The instrument on a serial port.
pub type Fpga = rtscope_fpga::FpgaInstrument<SerialPort>;

/// Converts an error of the instrument, for the line `line`.
pub fn failed(line: &str, e: FpgaError) -> LineError {
    match e {
        FpgaError::Port { act, source } => LineError::io(line, act)(source),
        FpgaError::TooShort(_)
        | FpgaError::Pulse(_)
        | FpgaError::Refused(_)
        | FpgaError::SelfTest(_)
        | FpgaError::Silent(_)
        | FpgaError::Stranger(_)
        | FpgaError::Version(_) => LineError::Instrument { line: line.into(), why: e.to_string(), remedy: e.remedy() },
    }
}

/// Opens the instrument at `path` and reads its identity.
pub fn open(path: &str) -> Result<Fpga, LineError> {
    let line = format!("fpga:{path}");
    let port = SerialPort::open(Path::new(path)).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => {
            LineError::Busy { line: line.clone(), by: "another program has the port".into() }
        }
        // A file that is not a terminal has no baud rate.
        _ if e.raw_os_error() == Some(libc::ENOTTY) => {
            LineError::Instrument { line: line.clone(), why: "it is not a serial port".into(), remedy: rtscope_fpga::BOARD.into() }
        }
        _ => LineError::io(&line, "open the port")(e),
    })?;
    Fpga::open(port).map_err(|e| failed(&line, e))
}

/// The warning about losses between instrument and host.
pub fn lost(line: &str, lost: &Losses) -> Option<Warning> {
    let Losses { damaged, missing, overflowed, inconsistent } = lost;
    (!lost.is_none()).then(|| {
        Warning::new(
            "instrument-losses",
            Effect::Invalid,
            format!(
                "{line}: {damaged} frames arrived damaged, {missing} are missing in the sequence, {overflowed} events did not fit into \
                 the instrument's store, {inconsistent} records contradict the one before: what they would have said is not in the figures"
            ),
            "another cable or port, away from what disturbs it; a longer interval; a line that does not bounce",
        )
    })
}

/// The instrument of a run, with the name of its line.
struct AtPort {
    fpga: Fpga,
    line: String,
    port: String,
    active_low: bool,
    emulated: bool,
}

/// Opens the instrument if the lines are its own.
pub(super) fn entry(_: &ProbePlan, test: &LineTest<'_>) -> Option<Result<Box<dyn Instrument>, Failure>> {
    let port = test.answer.fpga_port()?;
    let opened = |fpga: Fpga| {
        let emulated = fpga.is_emulated();
        let (line, port, active_low) = (test.answer.to_string(), port.to_owned(), test.lines.shape.active_low);
        Box::new(AtPort { fpga, line, port, active_low, emulated }) as Box<dyn Instrument>
    };
    Some(open(port).map(opened).map_err(Into::into))
}

impl Instrument for AtPort {
    fn describe(&self, facts: &mut InstrumentFacts) {
        let who = self.fpga.identity();
        facts.emulated = self.emulated;
        let (name, ps) = (who.board_name(), who.resolution_ps());
        facts.what = format!("the FPGA instrument, {name}, at {}, resolution {}.{:02} ns", self.port, ps / 1000, ps % 1000 / 10);
        if facts.emulated && !who.is_emulator() {
            facts.what += ", emulated: there is no hardware behind that port";
        }
    }

    /// Loops the stimuli back inside the instrument, without a pin: they are stamped, stored, sent and paired like
    /// answers. The delay that the loop adds on purpose is subtracted.
    fn calibrate(&mut self, order: &Order, stop: &AtomicBool, sink: &mut (dyn Sink + Send)) -> Result<Report, LineError> {
        let shape = Shape { active_low: self.active_low, ..Shape::default() };
        self.carry_out(&Order { shape, ..*order }, stop, &mut Collector::Responses(sink))
    }

    fn dead_null_wire(&self) -> Option<(String, &'static str)> {
        let message = format!("no stimulus came back over the loop inside {}", self.line);
        Some((message, "test it: `rtscope fpga selftest PORT`"))
    }

    fn prepare(&mut self, order: &Order, calibrated: bool) -> Result<(), LineError> {
        if calibrated {
            // The stimuli were on the pin too, so wait until the device has answered them before the run.
            std::thread::sleep(Duration::from_nanos(order.timeout.min(CALIBRATION_REST)));
        }
        Ok(())
    }

    /// Ends by the number of stimuli or intervals, so that the duration is measured by the instrument's clock.
    fn run(&mut self, order: &Order, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Report, LineError> {
        collector.start_at(now());
        self.carry_out(order, stop, collector)
    }

    fn losses(&self, spared: u64) -> Option<Warning> {
        let mut losses = self.fpga.losses();
        losses.overflowed = losses.overflowed.saturating_sub(spared);
        lost(&self.line, &losses)
    }

    fn is_gone(&mut self) -> bool {
        self.fpga.status().is_err()
    }
}

impl AtPort {
    fn carry_out(&mut self, order: &Order, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Report, LineError> {
        let result = measure(&mut self.fpga, order, stop, collector).map_err(|e| failed(&self.line, e));
        // Back to rest in every case. If the port is gone, `result` says so.
        let _ = self.fpga.stop();
        result
    }
}

fn measure(fpga: &mut Fpga, order: &Order, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Report, FpgaError> {
    let before = fpga.losses();
    let loopback = order.answers == Answers::NullWire;
    let clock = fpga.identity().clock;
    let mut run = Run::new(order, clock);
    run.loop_adds = if loopback { fpga.identity().loop_adds() } else { 0 };
    let Shape { pulse, active_low, .. } = order.shape;
    if fpga.rest_at(active_low)? {
        // The change of level was an edge: let a device answer it before anything is stamped.
        std::thread::sleep(Duration::from_nanos(order.timeout.clamp(SETTLE.0, SETTLE.1)));
    }
    fpga.start(if order.capture { 1 << ANSWER } else { CHANNELS }, loopback)?;
    if !order.capture {
        let stimulus =
            Stimulus { shortest: order.intervals.0, longest: order.intervals.1, seed: order.seed, pulse: pulse.map(|w| w.0) };
        fpga.stimulate(&stimulus, &mut |item| run.take(item, collector))?;
    }
    let outcome = follow(fpga, &mut run, stop, collector).and_then(|ended| finish(fpga, &mut run, order, ended, collector));
    let ended = match outcome {
        // What was measured until then is kept, and the record says how the run ended.
        Err(FpgaError::Port { .. } | FpgaError::Silent(_)) if run.edges > 0 => Ended::Gone,
        outcome => outcome?,
    };
    let lost = fpga.losses().since(&before);
    Ok((ended, run.counts(&lost, fpga.identity().resolution_ps().div_ceil(1000), collector)))
}

/// Reads the stream until the run is over. Returns why it ended.
fn follow(fpga: &mut Fpga, run: &mut Run, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Ended, FpgaError> {
    let mut asked = now();
    loop {
        fpga.listen(POLL_INTERVAL, &mut |item| run.take(item, collector))?;
        if run.complete {
            return Ok(Ended::Complete);
        }
        if run.silent() {
            return Ok(Ended::Silent);
        }
        if stop.load(Relaxed) {
            return Ok(Ended::Stopped);
        }
        // A heartbeat: the reply to this mark is awaited, with retries.
        if now() - asked >= HEARTBEAT {
            asked = now();
            fpga.mark(&mut |item| run.take(item, collector))?;
        }
    }
}

/// Ends the stimuli, and collects what is still under way.
fn finish(fpga: &mut Fpga, run: &mut Run, order: &Order, ended: Ended, collector: &mut Collector<'_>) -> Result<Ended, FpgaError> {
    fpga.rest(&mut |item| run.take(item, collector))?;
    if !run.complete && ended == Ended::Complete && !order.capture {
        let wait = now() + order.timeout + 1_000_000;
        while now() < wait {
            fpga.listen(Duration::from_nanos(wait - now()).min(POLL_INTERVAL), &mut |item| run.take(item, collector))?;
        }
    }
    // Once a mark arrives, everything sent before it has arrived too.
    for _ in 0..MARKS {
        run.marked = false;
        fpga.mark(&mut |item| run.take(item, collector))?;
        let wait = now() + MARK_TIMEOUT;
        while !run.marked && now() < wait {
            fpga.listen(POLL_INTERVAL, &mut |item| run.take(item, collector))?;
        }
        if run.marked {
            break;
        }
    }
    Ok(ended)
}

/// The stream of a run, decoded.
struct Run {
    clock: u32,
    /// The delay that the internal loop adds to an answer, half ticks; 0 without the loop.
    loop_adds: u64,
    capture: bool,
    /// Number of stimuli, or of intervals of a wave; 0: no end.
    count: u64,
    stimuli: Vec<Stimuli>,
    /// Removes pulses that are too narrow.
    narrow: Narrow,
    /// Edges were lost before the next one.
    gap: bool,
    complete: bool,
    marked: bool,
    edges: u64,
    unanswered: u64,
    quiet_since: u64,
    /// The first time stamp of the instrument, ns. `origin` is the host's clock at that moment, so that times of
    /// both have one origin.
    first: Option<u64>,
    origin: u64,
    latest: u64,
}

impl Run {
    fn new(order: &Order, clock: u32) -> Self {
        Self {
            clock,
            loop_adds: 0,
            capture: order.capture,
            count: order.count,
            stimuli: Stimuli::of(&order.shape, order.count, order.timeout),
            narrow: Narrow::new(order.shape.min_width.map_or(0, |w| w.0)),
            gap: false,
            complete: false,
            marked: false,
            edges: 0,
            unanswered: 0,
            quiet_since: 0,
            first: None,
            origin: now(),
            latest: 0,
        }
    }

    fn take(&mut self, item: Item, collector: &mut Collector<'_>) {
        match item {
            Item::Edge { channel, level, at } => {
                let at = self.at(if channel == ANSWER { at.saturating_sub(self.loop_adds) } else { at });
                let edge = Edge { level, at, lost: 0 };
                self.through(collector, |narrow, take| narrow.edge(channel.into(), edge, take));
            }
            Item::Time { at, mark, .. } => {
                let at = self.at(at);
                self.through(collector, |narrow, take| narrow.time(at, take));
                self.marked |= mark;
            }
            Item::Gap => {
                self.through(collector, Narrow::flush);
                self.gap = true;
                if let Collector::Responses(sink) = collector {
                    self.stimuli.iter_mut().for_each(|a| a.gap(*sink));
                }
            }
            Item::Reply { .. } => {}
        }
    }

    /// Passes the edges that `step` lets through to [`Self::edge`].
    fn through(&mut self, collector: &mut Collector<'_>, step: impl FnOnce(&mut Narrow, &mut dyn FnMut(Of))) {
        let mut narrow = std::mem::replace(&mut self.narrow, Narrow::new(0));
        step(&mut narrow, &mut |(channel, edge)| self.edge(channel, edge, collector));
        self.narrow = narrow;
    }

    fn edge(&mut self, channel: usize, Edge { level, at, .. }: Edge, collector: &mut Collector<'_>) {
        const STIMULUS_LINE: usize = STIMULUS as usize;
        const ANSWER_LINE: usize = ANSWER as usize;
        match (channel, collector) {
            (STIMULUS_LINE, Collector::Responses(sink)) => self.stimulus(at, level, *sink),
            (ANSWER_LINE, Collector::Responses(sink)) => self.answer(at, level, *sink),
            (ANSWER_LINE, Collector::Wave(samples)) if !self.complete => {
                self.edges += 1;
                let lost = u64::from(std::mem::take(&mut self.gap));
                samples.take(Edge { level, at, lost });
                self.complete = self.count > 0 && self.edges > self.count;
            }
            _ => {}
        }
    }

    /// Converts half ticks to ns: the host's clock at the beginning, plus the instrument's time since then.
    fn at(&mut self, half_ticks: u64) -> u64 {
        let ns = rtscope_fpga::stream::nanos(half_ticks, self.clock);
        let first = *self.first.get_or_insert(ns);
        let at = self.origin + (ns - first);
        if ns == first {
            self.quiet_since = at;
        }
        if !self.complete {
            self.latest = at;
        }
        at
    }

    fn stimulus(&mut self, at: u64, level: bool, sink: &mut (dyn Sink + Send)) {
        if self.complete {
            return;
        }
        for stimuli in &mut self.stimuli {
            match stimuli.stimulus(at, level, sink) {
                Some(Closed::Answered | Closed::Late) => (self.unanswered, self.quiet_since) = (0, at),
                Some(Closed::Missed) => self.unanswered += 1,
                Some(Closed::None | Closed::Undecided) | None => {}
            }
        }
        self.complete = self.stimuli.iter().all(Stimuli::is_complete);
    }

    fn answer(&mut self, at: u64, level: bool, sink: &mut (dyn Sink + Send)) {
        if self.complete {
            return;
        }
        self.edges += 1;
        let edge = Edge { level, at, lost: 0 };
        self.stimuli.iter_mut().for_each(|a| a.answer(edge, sink));
        if let Some(at) = self.stimuli.iter().filter_map(Stimuli::answered_of).max() {
            self.stimuli.iter_mut().for_each(|a| a.overtaken(at));
        }
    }

    /// Whether nothing came back for long.
    fn silent(&self) -> bool {
        let quiet = self.latest.saturating_sub(self.quiet_since);
        if self.capture { false } else { self.unanswered >= SILENT.0 && quiet >= SILENT.1 }
    }

    fn counts(mut self, lost: &Losses, resolution: u64, collector: &mut Collector<'_>) -> RunCounts {
        self.through(collector, Narrow::flush);
        if let Collector::Responses(sink) = collector {
            self.stimuli.iter_mut().for_each(|a| a.close(self.latest, *sink));
        }
        let stimuli = self.stimuli.iter().map(Stimuli::stimuli).sum();
        RunCounts {
            stimuli,
            span_max: resolution,
            span_sum: resolution * stimuli,
            behind: 0,
            lost: lost.total() + u64::from(!self.marked),
            overflowed: lost.overflowed,
            edges: self.edges,
            narrow: self.narrow.removed(),
            elapsed: self.latest.saturating_sub(self.origin),
        }
    }
}

#[cfg(test)]
#[path = "fpga_tests.rs"]
mod tests;
