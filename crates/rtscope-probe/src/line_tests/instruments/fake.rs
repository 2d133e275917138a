//! The instrument of the target `fake:FILE`: answers, or edges of a wave, with given latencies in simulated
//! time. It validates the way from an instrument to the report; loop, pairing and counts are the real ones.

use crate::fake::latencies;
use crate::line_tests::checked::LineTest;
use crate::line_tests::instrument::{Collector, Ended, Instrument, Order, Report, RunCounts};
use crate::line_tests::schedule::Schedule;
use crate::line_tests::stimulate::{Until, stimulate};
use crate::line_tests::wires::Simulated;
use crate::lines::LineError;
use crate::measured::Failure;
use crate::protocol::ProbePlan;
use rtscope_record::InstrumentFacts;
use rtscope_samples::Edge;
use rtscope_samples::outcome::Sink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Start of simulated time, ns.
const START: u64 = 1_000_000;
/// Most stimuli, or edges of a wave, in a run.
const MOST: u64 = 100_000_000;

/// The list of latencies, repeated from the start when it ends, and the position in it.
struct Fake {
    latencies: Arc<[u64]>,
    next: usize,
}

/// Opens the instrument if the target is a fake.
pub(super) fn open(plan: &ProbePlan, test: &LineTest<'_>) -> Option<Result<Box<dyn Instrument>, Failure>> {
    let file = plan.target.strip_prefix("fake:")?;
    let (s, shortest) = (test.settings, test.settings.interval.0.max(1));
    let stimuli = s.loops.or(s.duration.map(|d| d.0 / shortest));
    Some(match stimuli {
        None => Err(Failure::usage("a fake run needs an end", "give --duration or --loops")),
        Some(n) if n > MOST => Err(Failure::usage(format!("more than {MOST} stimuli were asked of a fake"), "ask for fewer")),
        Some(_) => latencies(file).map(|latencies| Box::new(Fake { latencies, next: 0 }) as Box<dyn Instrument>),
    })
}

impl Fake {
    fn latency(&mut self) -> u64 {
        let latency = self.latencies.get(self.next).copied().unwrap_or(0);
        self.next = (self.next + 1) % self.latencies.len().max(1);
        latency
    }

    fn answer(&mut self, order: &Order, stop: &AtomicBool, sink: &mut dyn Sink) -> Result<Report, LineError> {
        let mut schedule = Schedule::new(order.intervals.0, order.intervals.1, order.seed);
        let end = order.duration.map_or(u64::MAX, |d| START.saturating_add(d));
        let until = Until { stimuli: order.stimuli.unwrap_or(u64::MAX), end, stop };
        sink.start_at(START);
        let mut wires = Simulated::new(|at, level| vec![(at.saturating_add(self.latency()), level)]);
        stimulate(&mut wires, &mut schedule, order.timeout, &until, sink)
    }
}

impl Instrument for Fake {
    fn describe(&self, facts: &mut InstrumentFacts) {
        facts.what = "a fake: the latencies were given beforehand".into();
    }

    fn calibrate(&mut self, order: &Order, stop: &AtomicBool, sink: &mut (dyn Sink + Send)) -> Result<Report, LineError> {
        self.answer(order, stop, sink)
    }

    fn dead_null_wire(&self) -> Option<(String, &'static str)> {
        None
    }

    fn answers_itself(&self) -> bool {
        true
    }

    fn run(&mut self, order: &Order, stop: &AtomicBool, collector: &mut Collector<'_>) -> Result<Report, LineError> {
        let wave = match collector {
            Collector::Responses(sink) => return self.answer(order, stop, *sink),
            Collector::Wave(wave) => wave,
        };
        let semi_period = order.intervals.0;
        let intervals = order.stimuli.unwrap_or(u64::MAX).min(order.duration.map_or(u64::MAX, |d| d / semi_period.max(1)));
        let mut counts = RunCounts::default();
        wave.start_at(START);
        for point in 0..=intervals {
            if stop.load(Relaxed) {
                return Ok((Ended::Stopped, counts));
            }
            let at = START.saturating_add(point.saturating_mul(semi_period)).saturating_add(self.latency());
            wave.take(Edge { level: point % 2 == 0, at, lost: 0 });
            (counts.edges, counts.elapsed) = (counts.edges + 1, at - START);
        }
        Ok((Ended::Complete, counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_tests::instrument::Answers;
    use rtscope_record::Shape;
    use rtscope_samples::responses::ResponseSampler;
    use rtscope_samples::wave::WaveSampler;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn order(stimuli: u64) -> Order {
        Order {
            capture: false,
            intervals: (1_000_000, 1_000_000),
            timeout: 500_000,
            stimuli: Some(stimuli),
            duration: None,
            count: stimuli,
            seed: 1,
            answers: Answers::Device,
            shape: Shape::default(),
            again: false,
        }
    }

    #[test]
    fn answers_come_as_late_as_they_are_given() {
        let mut fake = Fake { latencies: Arc::from([10_000, 20_000, 600_000]), next: 0 };
        let mut samples = ResponseSampler::new(4, 0);
        let (ended, counts) = fake.run(&order(60), &NEVER, &mut Collector::Responses(&mut samples)).unwrap();
        assert_eq!((ended, counts.stimuli), (Ended::Complete, 60));
        let (all, _) = samples.finish(|_| ()).unwrap();
        let sums: Vec<_> = all.iter().map(|d| (d.count(), d.missed(), d.late(), d.min(), d.max())).collect();
        assert_eq!(sums, [(20, 10, 10, Some(10_000), Some(20_000)); 2]);
    }

    #[test]
    fn a_wave_is_as_late_as_it_is_given() {
        let mut fake = Fake { latencies: Arc::from([0, 7_000]), next: 0 };
        let mut wave = WaveSampler::new(1_000_000, 4, 0);
        let (ended, counts) = fake.run(&Order { capture: true, ..order(100) }, &NEVER, &mut Collector::Wave(&mut wave)).unwrap();
        assert_eq!((ended, counts.edges), (Ended::Complete, 101));
        let (all, _, grid) = wave.finish(|_| ()).unwrap();
        assert_eq!(
            all.iter().map(|d| (d.count(), d.max())).collect::<Vec<_>>(),
            [(0, None), (50, Some(7_000)), (50, Some(7_000)), (0, None)]
        );
        assert_eq!(grid.unwrap().points, 100);
    }
}
