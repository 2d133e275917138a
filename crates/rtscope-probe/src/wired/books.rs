//! What an instrument saw, booked: samples by edge, and every counter that explains an absent one.

use crate::timer::sampler::{LiveCell, Sampler};
use rtscope_record::lines::Phase;
use rtscope_record::{Distribution, DistributionError, DistributionParts};
use std::sync::Arc;

/// What became of a stimulus, or an edge that belongs to none. Levels are those of the stimulus; of a spurious edge its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answered in time, after so many ns.
    Answered {
        /// Rising.
        level: bool,
        /// From the stimulus to its answer, ns.
        latency: u64,
        /// When, ns.
        at: u64,
    },
    /// Not answered in time.
    Missed {
        /// Rising.
        level: bool,
    },
    /// Answered after its time-out; follows the `Missed` of the same stimulus.
    Late {
        /// Rising.
        level: bool,
    },
    /// An edge that belongs to no stimulus.
    Spurious {
        /// Rising.
        level: bool,
    },
}

/// What takes outcomes: `number` is that of the stimulus, from 1, or for a spurious edge that of the latest.
pub trait Sink {
    /// Books one outcome. Called from the loop: allocates nothing.
    fn take(&mut self, number: u64, outcome: Outcome);
    /// Samples so far, of both edges.
    fn samples(&self) -> u64;
}

/// A part of a run that is reported in a few figures.
#[derive(Debug)]
pub struct Brief {
    phase: Phase,
    samples: Vec<u64>,
}

impl Brief {
    /// With room for the samples of so many stimuli.
    pub fn new(stimuli: u64) -> Self {
        let mut samples = vec![0; usize::try_from(stimuli).unwrap_or(0)];
        rtscope_sys::rt::prefault(&mut samples);
        samples.clear();
        Self { phase: Phase::default(), samples }
    }

    /// The figures.
    pub fn finish(mut self) -> Phase {
        self.samples.sort_unstable();
        let s = &self.samples;
        self.phase.min = s.first().copied();
        // The lower of the two middle ones: a latency that was measured.
        self.phase.median = s.get(s.len().saturating_sub(1) / 2).copied();
        self.phase.max = s.last().copied();
        self.phase
    }
}

impl Sink for Brief {
    fn take(&mut self, _: u64, outcome: Outcome) {
        let p = &mut self.phase;
        match outcome {
            Outcome::Answered { latency, .. } => {
                p.stimuli += 1;
                p.count += 1;
                if self.samples.len() < self.samples.capacity() {
                    self.samples.push(latency);
                }
            }
            Outcome::Missed { .. } => {
                p.stimuli += 1;
                p.missed += 1;
            }
            Outcome::Late { .. } => p.late += 1,
            Outcome::Spurious { .. } => p.spurious += 1,
        }
    }

    fn samples(&self) -> u64 {
        self.phase.count
    }
}

/// One edge's samples and counters.
#[derive(Debug)]
struct Side {
    sampler: Sampler,
    missed: u64,
    late: u64,
    spurious: u64,
}

/// The books of a run.
#[derive(Debug)]
pub struct Books {
    /// Falling, rising.
    sides: [Side; 2],
    warmup: Brief,
    warmups: u64,
    start: u64,
}

/// Index of an edge's side, and the order of [`LABELS`].
fn side(level: bool) -> usize {
    usize::from(level)
}

/// Labels of the distributions, by index of the side.
pub const LABELS: [&str; 2] = ["falling", "rising"];

impl Books {
    /// Books that keep the `worst` highest samples of each edge, and report the first `warmups` stimuli apart.
    pub fn new(worst: u32, warmups: u64) -> Self {
        let new = || Side { sampler: Sampler::new(worst, None, false), missed: 0, late: 0, spurious: 0 };
        Self { sides: [new(), new()], warmup: Brief::new(warmups), warmups, start: 0 }
    }

    /// The times of worst samples count from `start`, ns.
    pub fn start_at(&mut self, start: u64) {
        self.start = start;
    }

    /// Live figures of falling and rising edges, for the reporter.
    pub fn live(&self) -> [Arc<LiveCell>; 2] {
        [self.sides[0].sampler.live(), self.sides[1].sampler.live()]
    }

    /// The distributions, rising first, and what the warm-up was. `complete` adds what the books do not know.
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

impl Sink for Books {
    fn take(&mut self, number: u64, outcome: Outcome) {
        if number <= self.warmups {
            return self.warmup.take(number, outcome);
        }
        match outcome {
            Outcome::Answered { level, latency, at } => {
                self.sides[side(level)].sampler.record(latency, at, self.start);
            }
            Outcome::Missed { level } => {
                let s = &mut self.sides[side(level)];
                s.missed += 1;
                s.sampler.show_missed(s.missed);
            }
            Outcome::Late { level } => self.sides[side(level)].late += 1,
            Outcome::Spurious { level } => self.sides[side(level)].spurious += 1,
        }
    }

    fn samples(&self) -> u64 {
        self.sides.iter().map(|s| s.sampler.count()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    fn answered(level: bool, latency: u64, at: u64) -> Outcome {
        Outcome::Answered { level, latency, at }
    }

    fn take(sink: &mut impl Sink, outcomes: &[(u64, Outcome)]) {
        for &(number, outcome) in outcomes {
            sink.take(number, outcome);
        }
    }

    #[test]
    fn a_brief_part_counts_everything() {
        let mut brief = Brief::new(9);
        for latency in [50, 10, 90, 70] {
            brief.take(1, answered(true, latency, 0));
        }
        let (missed, late) = (Outcome::Missed { level: true }, Outcome::Late { level: true });
        take(&mut brief, &[(5, missed), (5, late), (6, missed), (6, late), (7, missed)]);
        take(&mut brief, &[(7, Outcome::Spurious { level: false }); 4]);
        assert_eq!(brief.samples(), 4);
        let expected =
            Phase { stimuli: 7, count: 4, missed: 3, late: 2, spurious: 4, min: Some(10), median: Some(50), max: Some(90) };
        assert_eq!(brief.finish(), expected);
        let mut odd = Brief::new(9);
        for latency in [50, 10, 90, 70, 80] {
            odd.take(1, answered(true, latency, 0));
        }
        assert_eq!(odd.finish().median, Some(70));
        assert_eq!(Brief::new(9).finish(), Phase::default());
    }

    #[test]
    fn a_brief_part_allocates_nothing_for_more_than_was_planned() {
        let mut brief = Brief::new(2);
        for latency in [1, 2, 3] {
            brief.take(1, answered(true, latency, 0));
        }
        let phase = brief.finish();
        assert_eq!((phase.count, phase.max), (3, Some(2)));
    }

    #[test]
    fn each_edge_has_its_own_books() {
        let mut books = Books::new(8, 2);
        books.start_at(1_000);
        let live = books.live();
        // Two of warm-up; then of falling edges more than of rising ones.
        take(
            &mut books,
            &[
                (1, answered(true, 900, 1_900)),
                (2, Outcome::Missed { level: false }),
                (3, answered(true, 20, 3_020)),
                (4, answered(false, 40, 4_040)),
                (5, answered(false, 60, 5_060)),
                (6, Outcome::Missed { level: false }),
                (6, Outcome::Late { level: false }),
                (7, Outcome::Missed { level: true }),
                (7, Outcome::Late { level: true }),
                (8, Outcome::Missed { level: false }),
                (8, Outcome::Late { level: false }),
                (9, Outcome::Missed { level: false }),
                (9, Outcome::Spurious { level: true }),
                (9, Outcome::Spurious { level: false }),
                (9, Outcome::Spurious { level: true }),
            ],
        );
        assert_eq!(books.samples(), 3);
        assert_eq!(live.map(|l| (l.count.load(Relaxed), l.missed.load(Relaxed))), [(2, 3), (1, 1)]);
        let (all, warmup) = books.finish(|p| p.resolution = 1).unwrap();
        let figures: Vec<_> = all
            .iter()
            .map(|d| (d.label(), d.count(), d.missed(), d.late(), d.spurious(), d.parts().expected, d.worst()[0].at))
            .collect();
        assert_eq!(figures, [("rising", 1, 1, 1, 2, Some(2), 2_020), ("falling", 2, 3, 2, 1, Some(5), 4_060)]);
        let warmup = warmup.unwrap();
        assert_eq!((warmup.stimuli, warmup.missed, warmup.max), (2, 1, Some(900)));
        assert_eq!(Books::new(1, 0).finish(|_| ()).unwrap().1, None, "no warm-up was asked for");
    }
}
