//! The FPGA instrument: it gives the stimuli and stamps all edges; here its stream is paired and booked.

use super::kernel::Taker;
use super::order::Order;
use super::stimulate::{Ended, RunCounts};
use crate::lines::LineError;
use rtscope_failure::Problem;
use rtscope_fpga::instrument::{ANSWER, CHANNELS, STIMULUS};
use rtscope_fpga::{FpgaError, Instrument, Item, Losses, Serial, Stimulus};
use rtscope_record::{Effect, Warning};
use rtscope_samples::Edge;
use rtscope_samples::narrow::{Narrow, Of};
use rtscope_samples::outcome::Sink;
use rtscope_samples::pairing::Closed;
use rtscope_samples::stimuli::Shape;
use rtscope_samples::stimuli::Stimuli;
use rtscope_sys::rt::now;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The longest that is waited without looking whether to stop.
const GLANCE: Duration = Duration::from_millis(50);
/// How often the instrument is asked whether it is alive, ns of the host.
const HEARTBEAT: u64 = 500_000_000;
/// How long a mark may take to come through all that is before it, ns of the host.
const PATIENCE: u64 = 2_000_000_000;
/// How often a mark is asked for at the end: one may be lost with other things.
const MARKS: u32 = 5;
/// A device that answered nothing for so many stimuli and so long is taken for dead.
const SILENT: (u64, u64) = (20, 2_000_000_000);
/// How long a device has to answer the edge to a new level of rest: the time-out, but at least and at most this, ns.
const SETTLE: (u64, u64) = (10_000_000, 1_000_000_000);

/// The instrument at the end of a serial port.
pub type Fpga = Instrument<Serial>;

/// In words, for the line `line`.
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

/// Opens the instrument at `path`, and asks who it is.
pub fn open(path: &str) -> Result<Fpga, LineError> {
    let line = format!("fpga:{path}");
    let port = Serial::open(Path::new(path)).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => {
            LineError::Busy { line: line.clone(), by: "another program has the port".into() }
        }
        // What is no terminal has no speed.
        _ if e.raw_os_error() == Some(libc::ENOTTY) => {
            LineError::Instrument { line: line.clone(), why: "it is not a serial port".into(), remedy: rtscope_fpga::BOARD.into() }
        }
        _ => LineError::io(&line, "open the port")(e),
    })?;
    Instrument::open(port).map_err(|e| failed(&line, e))
}

/// What a record must say of losses between instrument and host.
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

/// The null wire inside the instrument: its stimuli, stamped, stored, sent and paired as answers of their own, without a pin. What the loop
/// adds on purpose is taken off.
pub fn calibrate<S: Sink>(
    line: &str,
    fpga: &mut Fpga,
    order: &Order,
    stop: &AtomicBool,
    sink: &mut S,
) -> Result<(Ended, RunCounts), LineError> {
    carry_out(line, fpga, order, true, u64::MAX, stop, &mut Taker::Sink(sink))
}

/// Carries out `order`, books what comes of it, and ends at `end` (ns of the host) at the latest.
pub fn run<S: Sink>(
    line: &str,
    fpga: &mut Fpga,
    order: &Order,
    end: u64,
    stop: &AtomicBool,
    taker: &mut Taker<'_, S>,
) -> Result<(Ended, RunCounts), LineError> {
    carry_out(line, fpga, order, false, end, stop, taker)
}

fn carry_out<S: Sink>(
    line: &str,
    fpga: &mut Fpga,
    order: &Order,
    loopback: bool,
    end: u64,
    stop: &AtomicBool,
    taker: &mut Taker<'_, S>,
) -> Result<(Ended, RunCounts), LineError> {
    let result = measure(fpga, order, loopback, end, stop, taker).map_err(|e| failed(line, e));
    // At rest whatever happened; a port that is gone says so above.
    let _ = fpga.stop();
    result
}

fn measure<S: Sink>(
    fpga: &mut Fpga,
    order: &Order,
    loopback: bool,
    end: u64,
    stop: &AtomicBool,
    taker: &mut Taker<'_, S>,
) -> Result<(Ended, RunCounts), FpgaError> {
    let before = fpga.losses();
    let clock = fpga.identity().clock;
    let mut run = Run::new(order, clock);
    run.loop_adds = if loopback { fpga.identity().loop_adds() } else { 0 };
    let Shape { pulse, active_low, .. } = order.shape;
    if fpga.rest_at(active_low)? {
        // That was an edge: a device that answers it shall have done so before anything is stamped.
        std::thread::sleep(Duration::from_nanos(order.timeout.clamp(SETTLE.0, SETTLE.1)));
    }
    fpga.start(if order.capture { 1 << ANSWER } else { CHANNELS }, loopback)?;
    if !order.capture {
        let stimulus = Stimulus { shortest: order.intervals.0, longest: order.intervals.1, seed: order.seed, pulse };
        fpga.stimulate(&stimulus, &mut |item| run.take(item, taker))?;
    }
    let outcome = follow(fpga, &mut run, end, stop, taker).and_then(|ended| finish(fpga, &mut run, order, ended, taker));
    let ended = match outcome {
        // What was measured until then is kept, and says how it ended.
        Err(FpgaError::Port { .. } | FpgaError::Silent(_)) if run.edges > 0 => Ended::Gone,
        outcome => outcome?,
    };
    let lost = fpga.losses().since(&before);
    Ok((ended, run.own(&lost, fpga.identity().resolution_ps().div_ceil(1000), taker)))
}

/// Takes the stream until it is over; why.
fn follow<S: Sink>(
    fpga: &mut Fpga,
    run: &mut Run,
    end: u64,
    stop: &AtomicBool,
    taker: &mut Taker<'_, S>,
) -> Result<Ended, FpgaError> {
    let mut asked = now();
    loop {
        fpga.listen(GLANCE, &mut |item| run.take(item, taker))?;
        if run.complete {
            return Ok(Ended::Complete);
        }
        if run.silent() {
            return Ok(Ended::Silent);
        }
        if stop.load(Relaxed) {
            return Ok(Ended::Stopped);
        }
        if now() >= end {
            return Ok(Ended::Complete);
        }
        // Proof that it is alive; a reply is awaited, and sought again.
        if now() - asked >= HEARTBEAT {
            asked = now();
            fpga.mark(&mut |item| run.take(item, taker))?;
        }
    }
}

/// Gives no more stimuli, and takes what is still under way.
fn finish<S: Sink>(
    fpga: &mut Fpga,
    run: &mut Run,
    order: &Order,
    ended: Ended,
    taker: &mut Taker<'_, S>,
) -> Result<Ended, FpgaError> {
    fpga.rest(&mut |item| run.take(item, taker))?;
    if !run.complete && ended == Ended::Complete && !order.capture {
        let wait = now() + order.timeout + 1_000_000;
        while now() < wait {
            fpga.listen(Duration::from_nanos(wait - now()).min(GLANCE), &mut |item| run.take(item, taker))?;
        }
    }
    // What comes before a mark is all there was.
    for _ in 0..MARKS {
        run.marked = false;
        fpga.mark(&mut |item| run.take(item, taker))?;
        let wait = now() + PATIENCE;
        while !run.marked && now() < wait {
            fpga.listen(GLANCE, &mut |item| run.take(item, taker))?;
        }
        if run.marked {
            break;
        }
    }
    Ok(ended)
}

/// A run's stream, taken apart.
struct Run {
    clock: u32,
    /// What the loop inside adds to an answer, half ticks; 0 without it.
    loop_adds: u64,
    capture: bool,
    /// Stimuli, or intervals of a wave; 0: no end.
    count: u64,
    stimuli: Vec<Stimuli>,
    /// What is too narrow to be meant.
    narrow: Narrow,
    /// Edges lost before the next one.
    gap: bool,
    complete: bool,
    marked: bool,
    edges: u64,
    unanswered: u64,
    quiet_since: u64,
    /// The instrument's first time, and what the host's clock said then, so that times of both have one origin.
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
            narrow: Narrow::new(order.shape.min_width),
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

    fn take<S: Sink>(&mut self, item: Item, taker: &mut Taker<'_, S>) {
        match item {
            Item::Edge { channel, level, at } => {
                let at = self.at(if channel == ANSWER { at.saturating_sub(self.loop_adds) } else { at });
                let edge = Edge { level, at, lost: 0 };
                self.through(taker, |narrow, take| narrow.edge(channel.into(), edge, take));
            }
            Item::Time { at, mark, .. } => {
                let at = self.at(at);
                self.through(taker, |narrow, take| narrow.time(at, take));
                self.marked |= mark;
            }
            Item::Gap => {
                self.through(taker, Narrow::flush);
                self.gap = true;
                if let Taker::Sink(sink) = taker {
                    self.stimuli.iter_mut().for_each(|a| a.gap(*sink));
                }
            }
            Item::Reply { .. } => {}
        }
    }

    /// What `step` lets through is paired.
    fn through<S: Sink>(&mut self, taker: &mut Taker<'_, S>, step: impl FnOnce(&mut Narrow, &mut dyn FnMut(Of))) {
        let mut narrow = std::mem::replace(&mut self.narrow, Narrow::new(0));
        step(&mut narrow, &mut |(channel, edge)| self.edge(channel, edge, taker));
        self.narrow = narrow;
    }

    fn edge<S: Sink>(&mut self, channel: usize, Edge { level, at, .. }: Edge, taker: &mut Taker<'_, S>) {
        const STIMULUS_LINE: usize = STIMULUS as usize;
        const ANSWER_LINE: usize = ANSWER as usize;
        match (channel, taker) {
            (STIMULUS_LINE, Taker::Sink(sink)) => self.stimulus(at, level, *sink),
            (ANSWER_LINE, Taker::Sink(sink)) => self.answer(at, level, *sink),
            (ANSWER_LINE, Taker::Wave(books)) if !self.complete => {
                self.edges += 1;
                let lost = u64::from(std::mem::take(&mut self.gap));
                books.take(Edge { level, at, lost });
                self.complete = self.count > 0 && self.edges > self.count;
            }
            _ => {}
        }
    }

    /// The time of half ticks, ns of the host's clock as far as it began, then of the instrument's.
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

    fn stimulus<S: Sink>(&mut self, at: u64, level: bool, sink: &mut S) {
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

    fn answer<S: Sink>(&mut self, at: u64, level: bool, sink: &mut S) {
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

    /// Nothing came back for long.
    fn silent(&self) -> bool {
        let quiet = self.latest.saturating_sub(self.quiet_since);
        if self.capture { false } else { self.unanswered >= SILENT.0 && quiet >= SILENT.1 }
    }

    fn own<S: Sink>(mut self, lost: &Losses, resolution: u64, taker: &mut Taker<'_, S>) -> RunCounts {
        self.through(taker, Narrow::flush);
        if let Taker::Sink(sink) = taker {
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
