//! A part of a run that is summarized in a few figures: a warm-up, a calibration, a trial.

use crate::memory::room;
use crate::outcome::{Sink, StimulusOutcome};
use rtscope_record::lines::Phase;

/// Collects a part of a run that is summarized in a few figures.
#[derive(Debug)]
pub struct PhaseSampler {
    phase: Phase,
    samples: Vec<u64>,
}

impl PhaseSampler {
    /// A sampler with room for the latencies of `stimuli` stimuli; further ones are only counted.
    pub fn new(stimuli: u64) -> Self {
        Self { phase: Phase::default(), samples: room(usize::try_from(stimuli).unwrap_or(0), 0) }
    }

    /// The figures of this part.
    pub fn finish(mut self) -> Phase {
        self.samples.sort_unstable();
        let s = &self.samples;
        self.phase.min = s.first().copied();
        // The lower of the two middle samples, so that the median is a latency that was measured.
        self.phase.median = s.get(s.len().saturating_sub(1) / 2).copied();
        self.phase.max = s.last().copied();
        self.phase
    }
}

impl Sink for PhaseSampler {
    fn take(&mut self, _: u64, outcome: StimulusOutcome) {
        let p = &mut self.phase;
        match outcome {
            StimulusOutcome::Answered { latency, .. } => {
                p.stimuli += 1;
                p.count += 1;
                if self.samples.len() < self.samples.capacity() {
                    self.samples.push(latency);
                }
            }
            StimulusOutcome::Missed { .. } => {
                p.stimuli += 1;
                p.missed += 1;
            }
            StimulusOutcome::Late { .. } => p.late += 1,
            StimulusOutcome::Spurious { .. } => p.spurious += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(level: bool, latency: u64, at: u64) -> StimulusOutcome {
        StimulusOutcome::Answered { level, latency, at }
    }

    fn take(sink: &mut impl Sink, outcomes: &[(u64, StimulusOutcome)]) {
        for &(number, outcome) in outcomes {
            sink.take(number, outcome);
        }
    }

    #[test]
    fn a_brief_part_counts_everything() {
        let mut brief = PhaseSampler::new(9);
        for latency in [50, 10, 90, 70] {
            brief.take(1, answered(true, latency, 0));
        }
        let (missed, late) = (StimulusOutcome::Missed { level: true }, StimulusOutcome::Late { level: true });
        take(&mut brief, &[(5, missed), (5, late), (6, missed), (6, late), (7, missed)]);
        take(&mut brief, &[(7, StimulusOutcome::Spurious { level: false }); 4]);
        let expected =
            Phase { stimuli: 7, count: 4, missed: 3, late: 2, spurious: 4, min: Some(10), median: Some(50), max: Some(90) };
        assert_eq!(brief.finish(), expected);
        let mut odd = PhaseSampler::new(9);
        for latency in [50, 10, 90, 70, 80] {
            odd.take(1, answered(true, latency, 0));
        }
        assert_eq!(odd.finish().median, Some(70));
        assert_eq!(PhaseSampler::new(9).finish(), Phase::default());
    }

    #[test]
    fn a_brief_part_allocates_nothing_for_more_than_was_planned() {
        let mut brief = PhaseSampler::new(2);
        for latency in [1, 2, 3] {
            brief.take(1, answered(true, latency, 0));
        }
        let phase = brief.finish();
        assert_eq!((phase.count, phase.max), (3, Some(2)));
    }
}
