//! The samples of a response test for each edge, with counters for every stimulus and edge that gave no sample.

use crate::outcome::{LABELS, Sink, StimulusOutcome};
use crate::phase::PhaseSampler;
use crate::sampler::{LiveCell, Sampler};
use rtscope_record::lines::Phase;
use rtscope_record::{Distribution, DistributionError, DistributionParts};
use std::sync::Arc;

/// Samples and counters of one edge.
#[derive(Debug)]
struct Side {
    sampler: Sampler,
    missed: u64,
    late: u64,
    spurious: u64,
}

/// The samples of both edges, and the warm-up.
#[derive(Debug)]
pub struct ResponseSampler {
    /// Falling, rising.
    sides: [Side; 2],
    warmup: PhaseSampler,
    warmups: u64,
    start: u64,
}

/// Index of an edge's side, as in [`LABELS`].
fn side(level: bool) -> usize {
    usize::from(level)
}

impl ResponseSampler {
    /// Keeps the `worst` highest samples of each edge, and reports the first `warmups` stimuli separately.
    pub fn new(worst: u32, warmups: u64) -> Self {
        let new = || Side { sampler: Sampler::new(worst, None, false), missed: 0, late: 0, spurious: 0 };
        Self { sides: [new(), new()], warmup: PhaseSampler::new(warmups), warmups, start: 0 }
    }

    /// Live figures of falling and rising edges, for the reporter.
    pub fn live(&self) -> [Arc<LiveCell>; 2] {
        [self.sides[0].sampler.live(), self.sides[1].sampler.live()]
    }

    /// What the times of worst samples count from, ns.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The distributions, rising first, and the figures of the warm-up. `complete` fills in the other fields.
    pub fn finish(
        self,
        complete: impl Fn(&mut DistributionParts),
    ) -> Result<(Vec<Distribution>, Option<Phase>), DistributionError> {
        let [falling, rising] = self.sides;
        let mut all = Vec::new();
        for (s, label) in [(rising, LABELS[1]), (falling, LABELS[0])] {
            all.push(s.sampler.finish(|p| {
                p.label = label.into();
                (p.missed, p.late, p.spurious) = (s.missed, s.late, s.spurious);
                p.expected = p.count.checked_add(p.missed);
                complete(p);
            })?);
        }
        Ok((all, (self.warmups > 0).then(|| self.warmup.finish())))
    }
}

impl Sink for ResponseSampler {
    fn start_at(&mut self, start: u64) {
        self.start = start;
    }

    fn take(&mut self, number: u64, outcome: StimulusOutcome) {
        if number <= self.warmups {
            return self.warmup.take(number, outcome);
        }
        match outcome {
            StimulusOutcome::Answered { level, latency, at } => {
                self.sides[side(level)].sampler.record(latency, at, self.start);
            }
            StimulusOutcome::Missed { level } => {
                let s = &mut self.sides[side(level)];
                s.missed += 1;
                s.sampler.show_missed(s.missed);
            }
            StimulusOutcome::Late { level } => self.sides[side(level)].late += 1,
            StimulusOutcome::Spurious { level } => self.sides[side(level)].spurious += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    fn answered(level: bool, latency: u64, at: u64) -> StimulusOutcome {
        StimulusOutcome::Answered { level, latency, at }
    }

    fn take(sink: &mut impl Sink, outcomes: &[(u64, StimulusOutcome)]) {
        for &(number, outcome) in outcomes {
            sink.take(number, outcome);
        }
    }

    #[test]
    fn each_edge_has_its_own_books() {
        let mut books = ResponseSampler::new(8, 2);
        books.start_at(1_000);
        let live = books.live();
        // Two stimuli of warm-up, then more falling edges than rising ones.
        take(
            &mut books,
            &[
                (1, answered(true, 900, 1_900)),
                (2, StimulusOutcome::Missed { level: false }),
                (3, answered(true, 20, 3_020)),
                (4, answered(false, 40, 4_040)),
                (5, answered(false, 60, 5_060)),
                (6, StimulusOutcome::Missed { level: false }),
                (6, StimulusOutcome::Late { level: false }),
                (7, StimulusOutcome::Missed { level: true }),
                (7, StimulusOutcome::Late { level: true }),
                (8, StimulusOutcome::Missed { level: false }),
                (8, StimulusOutcome::Late { level: false }),
                (9, StimulusOutcome::Missed { level: false }),
                (9, StimulusOutcome::Spurious { level: true }),
                (9, StimulusOutcome::Spurious { level: false }),
                (9, StimulusOutcome::Spurious { level: true }),
            ],
        );
        assert_eq!(live.map(|l| (l.count.load(Relaxed), l.missed.load(Relaxed))), [(2, 3), (1, 1)]);
        let (all, warmup) = books.finish(|p| p.resolution = 1).unwrap();
        let figures: Vec<_> = all
            .iter()
            .map(|d| (d.label(), d.count(), d.missed(), d.late(), d.spurious(), d.parts().expected, d.worst()[0].at))
            .collect();
        assert_eq!(figures, [("rising", 1, 1, 1, 2, Some(2), 2_020), ("falling", 2, 3, 2, 1, Some(5), 4_060)]);
        let warmup = warmup.unwrap();
        assert_eq!((warmup.stimuli, warmup.missed, warmup.max), (2, 1, Some(900)));
        assert_eq!(ResponseSampler::new(1, 0).finish(|_| ()).unwrap().1, None, "no warm-up was asked for");
    }
}
