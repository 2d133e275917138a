//! The FPGA instrument: it gives the stimuli and stamps all edges; here its stream is paired and booked.

use super::books::Sink;
use super::kernel::{Order, Taker};
use super::pairing::{Closed, Pairing};
use super::stimulate::{Ended, Own};
use crate::lines::{Edge, LineError};
use crate::sys::rt::now;
use rtscope_fpga::instrument::{ANSWER, CHANNELS, STIMULUS};
use rtscope_fpga::{FpgaError, Instrument, Item, Losses, Serial, Stimulus};
use rtscope_record::{Effect, Warning};
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

/// The instrument at the end of a serial port.
pub type Fpga = Instrument<Serial>;

/// In words, for the line `line`.
pub fn failed(line: &str, e: FpgaError) -> LineError {
    match e {
        FpgaError::Port { act, source } => LineError::io(line, act)(source),
        FpgaError::TooShort(_) | FpgaError::Refused(_) | FpgaError::SelfTest(_) | FpgaError::Silent(_) | FpgaError::Stranger(_) => {
            LineError::Instrument { line: line.into(), why: e.to_string() }
        }
    }
}

/// Opens the instrument at `path`, and asks who it is.
pub fn open(path: &str) -> Result<Fpga, LineError> {
    let line = format!("fpga:{path}");
    let port = Serial::open(Path::new(path)).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => {
            LineError::Busy { line: line.clone(), by: "another program has the port".into() }
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

/// Carries out `order`, books what comes of it, and ends at `end` (ns of the host) at the latest.
pub fn run<S: Sink>(
    line: &str,
    fpga: &mut Fpga,
    order: &Order,
    end: u64,
    stop: &AtomicBool,
    taker: &mut Taker<'_, S>,
) -> Result<(Ended, Own), LineError> {
    let result = measure(fpga, order, end, stop, taker).map_err(|e| failed(line, e));
    // At rest whatever happened; a port that is gone says so above.
    let _ = fpga.stop();
    result
}

fn measure<S: Sink>(
    fpga: &mut Fpga,
    order: &Order,
    end: u64,
    stop: &AtomicBool,
    taker: &mut Taker<'_, S>,
) -> Result<(Ended, Own), FpgaError> {
    let before = fpga.losses();
    let clock = fpga.identity().clock;
    let mut run = Run::new(order, clock);
    fpga.start(if order.capture { 1 << ANSWER } else { CHANNELS }, false)?;
    if !order.capture {
        let stimulus = Stimulus { shortest: order.intervals.0, longest: order.intervals.1, seed: order.seed };
        fpga.stimulate(&stimulus, &mut |item| run.take(item, taker))?;
    }
    let mut asked = now();
    let ended = loop {
        fpga.listen(GLANCE, &mut |item| run.take(item, taker))?;
        if run.complete {
            break Ended::Complete;
        }
        if run.silent() {
            break Ended::Silent;
        }
        if stop.load(Relaxed) {
            break Ended::Stopped;
        }
        if now() >= end {
            break Ended::Complete;
        }
        if now() - asked >= HEARTBEAT {
            asked = now();
            fpga.mark(&mut |item| run.take(item, taker))?;
        }
    };
    // No more of them; those under way are still paired, and an answer has its time.
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
    let lost = fpga.losses().since(&before).total() + u64::from(!run.marked);
    Ok((ended, run.own(lost, fpga.identity().resolution_ps().div_ceil(1000), taker)))
}

/// A run's stream, taken apart.
struct Run {
    clock: u32,
    capture: bool,
    /// Stimuli, or intervals of a wave; 0: no end.
    count: u64,
    pairing: Pairing,
    /// Something is missing since the latest stimulus: what answers it, or does not, can't be told.
    blind: bool,
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
            capture: order.capture,
            count: order.count,
            pairing: Pairing::new(order.timeout),
            blind: false,
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
                let at = self.at(at);
                match (channel, taker) {
                    (STIMULUS, Taker::Sink(sink)) => self.stimulus(at, level, *sink),
                    (ANSWER, Taker::Sink(sink)) => self.answer(at, level, *sink),
                    (ANSWER, Taker::Wave(books)) if !self.complete => {
                        self.edges += 1;
                        let lost = u64::from(std::mem::take(&mut self.gap));
                        books.take(Edge { level, at, lost });
                        self.complete = self.count > 0 && self.edges > self.count;
                    }
                    _ => {}
                }
            }
            Item::Time { at, mark, .. } => {
                self.at(at);
                self.marked |= mark;
            }
            Item::Gap => {
                self.gap = true;
                if let Taker::Sink(sink) = taker {
                    // An answer that is there stays; else nobody knows what became of the stimulus.
                    self.pairing.close(0, *sink);
                    self.blind = true;
                }
            }
            Item::Reply { .. } => {}
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
        let closed = if self.count > 0 && self.pairing.stimuli() >= self.count {
            self.complete = true;
            self.pairing.close(at, sink)
        } else {
            self.pairing.stimulus(at, level, sink)
        };
        self.blind = false;
        match closed {
            Closed::Answered | Closed::Late => (self.unanswered, self.quiet_since) = (0, at),
            Closed::Missed => self.unanswered += 1,
            Closed::None | Closed::Undecided => {}
        }
    }

    fn answer<S: Sink>(&mut self, at: u64, level: bool, sink: &mut S) {
        if self.complete {
            return;
        }
        self.edges += 1;
        if self.blind {
            return;
        }
        self.pairing.answer(Edge { level, at, lost: 0 }, sink);
    }

    /// Nothing came back for long.
    fn silent(&self) -> bool {
        let quiet = self.latest.saturating_sub(self.quiet_since);
        if self.capture { false } else { self.unanswered >= SILENT.0 && quiet >= SILENT.1 }
    }

    fn own<S: Sink>(mut self, lost: u64, resolution: u64, taker: &mut Taker<'_, S>) -> Own {
        if let Taker::Sink(sink) = taker {
            self.pairing.close(self.latest, *sink);
        }
        let stimuli = self.pairing.stimuli();
        Own {
            stimuli,
            span_max: resolution,
            span_sum: resolution * stimuli,
            behind: 0,
            lost,
            edges: self.edges,
            elapsed: self.latest.saturating_sub(self.origin),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wired::books::{Books, Outcome};

    /// Stimuli or edges, no device.
    fn order(capture: bool, count: u64) -> Order {
        Order {
            capture,
            intervals: (1_000_000, 1_000_000),
            timeout: 1_000_000,
            count,
            seed: 1,
            inject: super::super::kernel::NULL_WIRE,
        }
    }

    #[derive(Default)]
    struct Seen(Vec<(u64, Outcome)>);

    impl Sink for Seen {
        fn take(&mut self, number: u64, outcome: Outcome) {
            self.0.push((number, outcome));
        }
        fn samples(&self) -> u64 {
            0
        }
    }

    /// An edge at a time in us, of a clock whose half tick is 1 us.
    fn edge(channel: u8, at: u64, level: bool) -> Item {
        Item::Edge { channel, level, at }
    }

    fn seen(items: &[Item], count: u64) -> (Vec<String>, Own) {
        let mut run = Run::new(&order(false, count), 500_000);
        run.origin = 0;
        let mut sink = Seen::default();
        let mut taker = Taker::Sink(&mut sink);
        run.take(Item::Time { at: 0, mark: true, levels: 0 }, &mut taker);
        items.iter().for_each(|item| run.take(*item, &mut taker));
        let own = run.own(0, 6, &mut taker);
        let words = sink.0.iter().map(|(n, o)| match o {
            Outcome::Answered { latency, .. } => format!("{n} {latency}"),
            Outcome::Missed { .. } => format!("{n} missed"),
            Outcome::Late { .. } => format!("{n} late"),
            Outcome::Spurious { .. } => format!("{n} spurious"),
        });
        (words.collect(), own)
    }

    #[test]
    fn what_a_gap_hides_is_neither_missed_nor_spurious() {
        let (outcomes, own) = seen(
            &[
                edge(0, 1000, true),
                edge(1, 1050, true),
                edge(0, 2000, false),
                // Its answer is lost; the next stimulus too, and its answer comes.
                Item::Gap,
                edge(1, 3050, true),
                edge(0, 4000, false),
                edge(1, 4070, false),
                // Nothing is missing here: this one is missed.
                edge(0, 5000, true),
                edge(0, 6000, false),
                Item::Time { at: 6500, mark: true, levels: 0 },
            ],
            0,
        );
        assert_eq!(outcomes, ["1 50000", "2 70000", "3 missed"]);
        // The last one's time was not over.
        assert_eq!((own.stimuli, own.edges), (3, 3));
    }

    #[test]
    fn stimuli_beyond_the_number_are_left_out() {
        let all: Vec<Item> = (1..10).flat_map(|i| [edge(0, i * 1000, i % 2 == 1), edge(1, i * 1000 + 20, i % 2 == 1)]).collect();
        let (outcomes, own) = seen(&all, 4);
        assert_eq!(outcomes, ["1 20000", "2 20000", "3 20000", "4 20000"]);
        assert_eq!((own.stimuli, own.elapsed), (4, 5_000_000));
    }

    #[test]
    fn a_wave_says_where_edges_are_missing() {
        let mut books = super::super::periodic::WaveBooks::new(1_000_000, 4, 0);
        let mut run = Run::new(&order(true, 0), 500_000);
        let mut taker: Taker<'_, Books> = Taker::Wave(&mut books);
        for item in [edge(1, 1000, true), edge(1, 2010, false), Item::Gap, edge(1, 4000, false), edge(1, 5000, true)] {
            run.take(item, &mut taker);
        }
        assert_eq!(run.own(1, 6, &mut taker).edges, 4);
        let (distributions, ..) = books.finish(|_| ()).unwrap();
        let sum = |f: fn(&rtscope_record::Distribution) -> u64| distributions.iter().map(f).sum::<u64>();
        assert_eq!((sum(rtscope_record::Distribution::count), sum(rtscope_record::Distribution::dropped)), (2, 1));
    }

    #[test]
    fn a_silent_device_is_taken_for_dead() {
        let mut run = Run::new(&order(false, 0), 500_000);
        let mut sink = Seen::default();
        let mut taker = Taker::Sink(&mut sink);
        for i in 1..=21 {
            run.take(edge(0, i * 1000, i % 2 == 1), &mut taker);
        }
        assert!(!run.silent());
        run.take(Item::Time { at: 2_100_000, mark: true, levels: 0 }, &mut taker);
        assert!(run.silent());
    }
}
