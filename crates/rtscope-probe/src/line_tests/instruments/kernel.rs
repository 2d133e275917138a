//! The instrument in the kernel module rtscope_wire, which drives stimuli and stamps answers in hard-IRQ
//! context. This module books its records.

use crate::line_tests::checked::LineTest;
use crate::line_tests::instrument::{Answers, Collector, Ended, Instrument, Order, Report, RunCounts};
use crate::lines::LineError;
use crate::measured::Failure;
use crate::protocol::ProbePlan;
use rtscope_record::InstrumentFacts;
use rtscope_samples::Edge;
use rtscope_samples::outcome::{Sink, StimulusOutcome};
use rtscope_sys::rt::now;
use rtscope_sys::wire_device::{ABI, CPU_ANY, DEVICE, Wire, WireConfig, WireEvent, WireInject, WireStatus, inject, kind, mode};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Longest wait before checking whether to stop, ns.
const POLL_INTERVAL: u64 = 50_000_000;
/// Time from START to the first stimulus, ns.
const LEAD: u64 = 1_000_000;
/// Largest ring, records of 64 bytes.
const RING: u64 = 1 << 17;

/// Converts who answers into the module's terms.
fn own_answers(answers: Answers) -> WireInject {
    let every = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    match answers {
        Answers::Device => WireInject::default(),
        Answers::NullWire => WireInject { mode: inject::NULL, ..WireInject::default() },
        Answers::Itself(i) => WireInject {
            mode: inject::ANSWER,
            other_every: every(i.slow_every),
            delay_ns: i.delay.0,
            other_delay_ns: i.slow.0,
            drop_every: every(i.drop_every),
            double_every: every(i.double_every),
        },
    }
}

fn failed(act: &str) -> impl FnOnce(io::Error) -> LineError {
    let act = act.to_owned();
    move |e| match e.raw_os_error() {
        Some(libc::EBUSY) => LineError::Busy { line: DEVICE.into(), by: "another instrument has it".into() },
        Some(libc::EPROTO | libc::ENOTTY) => LineError::Unable {
            line: DEVICE.into(),
            why: "the module rtscope_wire is of another version of rtscope: build it anew".into(),
        },
        Some(libc::EINVAL) => {
            LineError::Unable { line: DEVICE.into(), why: format!("the module refuses to {act} so: intervals are 10us and more") }
        }
        _ => LineError::io(DEVICE, act)(e),
    }
}

/// The module's open device.
struct Kernel {
    wire: Wire,
}

/// Opens the instrument if the lines are its own.
pub(super) fn open(_: &ProbePlan, test: &LineTest<'_>) -> Option<Result<Box<dyn Instrument>, Failure>> {
    let open = || Ok(Box::new(Kernel { wire: Wire::open(Path::new(DEVICE)).map_err(failed("open"))? }) as Box<dyn Instrument>);
    test.answer.is_wire().then(open)
}

impl Instrument for Kernel {
    fn describe(&self, facts: &mut InstrumentFacts) {
        facts.what = "the kernel module rtscope_wire on this machine, in hard-IRQ context".into();
    }

    fn calibrate(&mut self, order: &Order, stop: &AtomicBool, sink: &mut (dyn Sink + Send)) -> Result<Report, LineError> {
        carry_out(&mut self.wire, order, u64::MAX, stop, &mut Collector::Responses(sink))
    }

    fn dead_null_wire(&self) -> Option<(String, &'static str)> {
        None
    }

    fn run(&mut self, order: &Order, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Report, LineError> {
        let start = now();
        collector.start_at(start);
        // Stimuli end by their number, so that runs are repeatable; only a capture also ends by time.
        let end = order.duration.filter(|_| order.capture).map_or(u64::MAX, |d| start.saturating_add(d));
        carry_out(&mut self.wire, order, end, stop, collector)
    }
}

/// Carries out `order` and hands the outcomes to `collector`; ends at `end` (ns) at the latest.
fn carry_out(
    wire: &mut Wire,
    order: &Order,
    end: u64,
    stop: &AtomicBool,
    collector: &mut Collector<'_>,
) -> Result<Report, LineError> {
    // Room for all records if possible, so that nothing has to be read during the run: reading would disturb the DUT.
    let all = if order.count == 0 { RING } else { order.count.saturating_mul(2).saturating_add(64) };
    let ring = all.min(RING).next_power_of_two();
    let config = WireConfig {
        abi: ABI,
        mode: if order.capture { mode::CAPTURE } else { mode::STIMULATE },
        flags: 0,
        cpu: CPU_ANY,
        interval_min_ns: order.intervals.0,
        interval_max_ns: order.intervals.1,
        timeout_ns: order.timeout.clamp(1, order.intervals.0),
        start_delay_ns: LEAD,
        count: order.count,
        seed: order.seed,
        ring_records: u32::try_from(ring).unwrap_or(1 << 17),
        wake_records: 0,
        inject: own_answers(order.answers),
    };
    wire.configure(&config).map_err(failed("configure"))?;
    wire.start().map_err(failed("start"))?;
    let mut tally = Tally::default();
    let mut ended = Ended::Complete;
    let mut told = false;
    loop {
        let ready = wire.wait(now() + POLL_INTERVAL).map_err(failed("poll"))?;
        let over = now() >= end;
        if !told && (over || stop.load(Relaxed)) {
            ended = if over { Ended::Complete } else { Ended::Stopped };
            wire.stop().map_err(failed("stop"))?;
            told = true;
        }
        if !ready && !told {
            continue;
        }
        let mut room = [WireEvent::default(); 64];
        let n = match wire.read(&mut room) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => continue,
            Err(e) => return Err(failed("read")(e)),
        };
        room[..n].iter().for_each(|event| tally.take(event, collector));
    }
    let status = wire.status().map_err(failed("ask"))?;
    Ok((ended, tally.counts(&status)))
}

/// Running totals of the records.
#[derive(Debug, Default)]
struct Tally {
    next: u64,
    lost: u64,
    latest: u64,
    span_sum: u64,
    span_max: u64,
    stimuli: u64,
    skipped: u64,
}

impl Tally {
    fn take(&mut self, e: &WireEvent, collector: &mut Collector<'_>) {
        let gap = e.seq.saturating_sub(self.next);
        self.lost += gap;
        self.next = e.seq + 1;
        let level = e.level == 1;
        self.latest = self.latest.max(e.stimulus);
        if matches!(e.kind, kind::ANSWERED | kind::MISSED) {
            let span = e.stimulus_ns.saturating_sub(e.programmed_ns);
            self.stimuli += 1;
            self.span_sum += span;
            self.span_max = self.span_max.max(span);
        }
        let outcome = match e.kind {
            kind::ANSWERED => {
                StimulusOutcome::Answered { level, latency: e.answer_ns.saturating_sub(e.programmed_ns), at: e.answer_ns }
            }
            kind::MISSED => StimulusOutcome::Missed { level },
            kind::LATE => StimulusOutcome::Late { level },
            kind::SPURIOUS => StimulusOutcome::Spurious { level },
            kind::EDGE => {
                if let Collector::Wave(samples) = collector {
                    samples.take(Edge { level, at: e.answer_ns, lost: gap });
                }
                return;
            }
            kind::SKIPPED => {
                self.skipped += u64::from(e.count);
                return;
            }
            _ => return,
        };
        if let Collector::Responses(sink) = collector {
            sink.take(if e.stimulus == 0 { self.latest.max(1) } else { e.stimulus }, outcome);
        }
    }

    fn counts(&self, status: &WireStatus) -> RunCounts {
        RunCounts {
            overflowed: 0,
            stimuli: self.stimuli,
            span_max: self.span_max,
            span_sum: self.span_sum,
            behind: status.skipped.max(self.skipped),
            lost: self.lost + status.lost.saturating_sub(self.lost),
            narrow: 0,
            edges: status.edges,
            elapsed: status.ended_ns.saturating_sub(status.started_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_samples::responses::ResponseSampler;

    #[test]
    fn records_are_booked_for_what_they_are() {
        let mut samples = ResponseSampler::new(4, 1);
        let mut tally = Tally::default();
        let event = |seq, stimulus, kind, level, answer_ns| WireEvent {
            seq,
            stimulus,
            kind,
            level,
            answer_ns,
            programmed_ns: 1_000,
            stimulus_ns: 1_010,
            count: 1,
            ..WireEvent::default()
        };
        for e in [
            event(0, 1, kind::ANSWERED, 1, 9_000),
            event(1, 2, kind::ANSWERED, 0, 1_500),
            event(2, 0, kind::SPURIOUS, 1, 1_600),
            event(3, 3, kind::MISSED, 1, 0),
            event(4, 3, kind::LATE, 1, 7_000),
            event(5, 4, kind::SKIPPED, 0, 0),
            event(8, 7, kind::ANSWERED, 1, 1_700),
            event(9, 0, kind::DONE, 0, 9_999),
        ] {
            tally.take(&e, &mut Collector::Responses(&mut samples));
        }
        let counts =
            tally.counts(&WireStatus { lost: 2, edges: 5, skipped: 1, started_ns: 5, ended_ns: 105, ..WireStatus::default() });
        assert_eq!(
            counts,
            RunCounts {
                stimuli: 4,
                span_max: 10,
                span_sum: 40,
                behind: 1,
                lost: 2,
                overflowed: 0,
                edges: 5,
                narrow: 0,
                elapsed: 100
            }
        );
        let (d, warmup) = samples.finish(|_| ()).unwrap();
        assert_eq!((d[0].count(), d[0].missed(), d[0].late(), d[0].spurious(), d[0].max()), (1, 1, 1, 1, Some(700)));
        assert_eq!((d[1].count(), d[1].max(), warmup.unwrap().max), (1, Some(500), Some(8_000)));
    }
}
