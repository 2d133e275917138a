//! A capture as the instrument: recorded edges, booked by the same rules as those of a run.

use crate::edge::Edge;
use crate::outcome::Sink as _;
use crate::pairing::{Closed, Pairing};
use crate::responses::ResponseSampler;
use crate::wave::WaveSampler;
use rtscope_failure::{Fault, Problem};
use rtscope_record::lines::{GridError, Phase};
use rtscope_record::{Distribution, DistributionError, Nanos, limits};

/// What was recorded of a response test: edges in the order of their times, ns.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// Edges of the stimulus line.
    pub stimulus: &'a [Edge],
    /// Edges of the answer line.
    pub answer: &'a [Edge],
    /// When the recording ended, ns.
    pub end: u64,
}

/// The result of a recorded response test.
#[derive(Debug)]
pub struct Responses {
    /// Rising first.
    pub distributions: Vec<Distribution>,
    /// The figures of the warm-up.
    pub warmup: Option<Phase>,
    /// Stimuli that were judged.
    pub stimuli: u64,
    /// The recording ended before the time-out of the last stimulus, which is in no count.
    pub cut: bool,
}

/// Why recorded edges can't be booked.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// A parameter is outside the limits of a test over lines (usage).
    #[error("{what} of {found}: {most} at most, and not 0")]
    Beyond {
        /// Which parameter.
        what: &'static str,
        /// Its value.
        found: String,
        /// The highest value allowed.
        most: String,
    },
    /// The counts don't make a distribution.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
}

impl Problem for RecordedError {
    fn remedy(&self) -> String {
        match self {
            Self::Beyond { .. } => "ask for one within that".into(),
            Self::Distribution(e) => e.remedy(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Beyond { .. } => Fault::Usage,
            Self::Distribution(_) => Fault::Machine,
        }
    }
}

/// Checks the parameters against the limits of a measurement; `time` is in ns.
fn check(what: &'static str, time: u64, warmup: u64, worst: u32) -> Result<(), RecordedError> {
    let beyond = |what, found: String, most: String| Err(RecordedError::Beyond { what, found, most });
    if time == 0 || time > limits::LONGEST {
        return beyond(what, Nanos(time).to_string(), Nanos(limits::LONGEST).to_string());
    }
    if warmup > limits::WARMUP {
        return beyond("a warm-up", warmup.to_string(), limits::WARMUP.to_string());
    }
    if worst > limits::WORST {
        return beyond("a number of worst samples", worst.to_string(), limits::WORST.to_string());
    }
    Ok(())
}

/// Books recorded responses with a time-out of `timeout` ns. The first `warmup` stimuli are reported separately, and the `worst`
/// highest samples of each edge are kept. An edge at the same time as a stimulus may be its answer.
pub fn responses(recorded: &Recorded<'_>, timeout: u64, warmup: u64, worst: u32) -> Result<Responses, RecordedError> {
    check("a time-out", timeout, warmup, worst)?;
    let mut samples = ResponseSampler::new(worst, warmup);
    samples.start_at(recorded.stimulus.first().map_or(0, |e| e.at));
    let mut pairing = Pairing::new(timeout);
    let mut answers = recorded.answer.iter().peekable();
    for stimulus in recorded.stimulus {
        while let Some(answer) = answers.next_if(|a| a.at < stimulus.at) {
            pairing.answer(*answer, &mut samples);
        }
        pairing.stimulus(stimulus.at, stimulus.level, &mut samples);
    }
    for answer in answers {
        pairing.answer(*answer, &mut samples);
    }
    let cut = pairing.close(recorded.end, &mut samples) == Closed::Undecided;
    let (distributions, warmup) = samples.finish(|_| {})?;
    Ok(Responses { distributions, warmup, stimuli: pairing.stimuli(), cut })
}

/// The result of a recorded wave.
#[derive(Debug)]
pub struct Wave {
    /// Late and early jitter of each edge.
    pub distributions: Vec<Distribution>,
    /// The figures of the warm-up.
    pub warmup: Option<Phase>,
    /// The wave against its grid.
    pub grid: Option<GridError>,
}

/// Books a recorded wave with this semi-period, ns.
pub fn wave(edges: &[Edge], semi_period: u64, warmup: u64, worst: u32) -> Result<Wave, RecordedError> {
    check("a semi-period", semi_period, warmup, worst)?;
    let mut samples = WaveSampler::new(semi_period, worst, warmup);
    samples.start_at(edges.first().map_or(0, |e| e.at));
    for edge in edges {
        samples.take(*edge);
    }
    let (distributions, warmup, grid) = samples.finish(|_| {})?;
    Ok(Wave { distributions, warmup, grid })
}

/// The median of the intervals between edges, ns; the lower of two middle ones.
pub fn usual_interval(edges: &[Edge]) -> Option<u64> {
    let mut all: Vec<u64> = edges.windows(2).map(|e| e[1].at.saturating_sub(e[0].at)).collect();
    let middle = all.len().checked_sub(1)? / 2;
    Some(*all.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edges(all: &[(u64, bool)]) -> Vec<Edge> {
        all.iter().map(|&(at, level)| Edge { at, level, lost: 0 }).collect()
    }

    fn counts(d: &Distribution) -> (u64, u64, u64, u64) {
        (d.count(), d.missed(), d.late(), d.spurious())
    }

    #[test]
    fn every_edge_is_accounted_for() {
        let stimulus = edges(&[(1000, true), (2000, false), (3000, true), (4000, false), (5000, true), (6000, false)]);
        let answer = edges(&[
            (500, true),   // no stimulus yet
            (1010, true),  // in time
            (2000, false), // in time, at once
            (3600, true),  // late
            (5010, false), // late, for the stimulus at 4000: before the answer to 5000
            (5020, true),  // in time
            (5600, true),  // spurious
        ]);
        let r = responses(&Recorded { stimulus: &stimulus, answer: &answer, end: 6100 }, 500, 0, 8).unwrap();
        assert_eq!((r.stimuli, r.cut), (5, true), "the last stimulus had 100 of its 500 ns");
        assert_eq!(counts(&r.distributions[0]), (2, 1, 1, 2));
        assert_eq!(counts(&r.distributions[1]), (1, 1, 1, 0));
        assert_eq!((r.distributions[0].min(), r.distributions[0].max()), (Some(10), Some(20)));
        assert_eq!(usual_interval(&stimulus), Some(1000));
        assert_eq!(usual_interval(&stimulus[..1]), None);
        let at = |times: &[u64]| usual_interval(&edges(&times.iter().map(|&at| (at, true)).collect::<Vec<_>>()));
        assert_eq!((at(&[0, 9, 12]), at(&[0, 9, 10, 15]), at(&[0, 9, 10, 15, 27])), (Some(3), Some(5), Some(5)));
    }

    #[test]
    fn what_a_measurement_may_not_be_asked_a_recording_may_not_either() {
        let nothing = Recorded { stimulus: &[], answer: &[], end: 0 };
        let of = |time, warmup, worst| {
            let refused = [responses(&nothing, time, warmup, worst).err(), wave(&[], time, warmup, worst).err()];
            refused.map(|e| e.map(|e| e.to_string()))
        };
        for time in [1, limits::LONGEST] {
            assert_eq!(of(time, limits::WARMUP, limits::WORST), [None, None]);
        }
        let both = |what: [&str; 2], rest: &str| what.map(|what| Some(format!("{what} of {rest} at most, and not 0")));
        let longest = Nanos(limits::LONGEST);
        for time in [0, limits::LONGEST + 1] {
            assert_eq!(of(time, 0, 0), both(["a time-out", "a semi-period"], &format!("{}: {longest}", Nanos(time))));
        }
        let (warmup, worst) = (limits::WARMUP, limits::WORST);
        assert_eq!(of(1, warmup + 1, 0), both(["a warm-up"; 2], &format!("{}: {warmup}", warmup + 1)));
        assert_eq!(of(1, 0, worst + 1), both(["a number of worst samples"; 2], &format!("{}: {worst}", worst + 1)));
    }

    proptest! {
        #[test]
        fn counts_add_up(steps in proptest::collection::vec((0u64..2000, any::<bool>(), any::<bool>()), 0..80), timeout in 1u64..1500) {
            let (mut at, mut stimulus, mut answer) = (0, Vec::new(), Vec::new());
            for (step, level, stimulates) in steps {
                at += step;
                (if stimulates { &mut stimulus } else { &mut answer }).push(Edge { at, level, lost: 0 });
            }
            let r = responses(&Recorded { stimulus: &stimulus, answer: &answer, end: at }, timeout, 0, 4).unwrap();
            let sum = |f: fn(&Distribution) -> u64| r.distributions.iter().map(f).sum::<u64>();
            prop_assert_eq!(sum(Distribution::count) + sum(Distribution::missed), r.stimuli);
            prop_assert_eq!(r.stimuli + u64::from(r.cut), stimulus.len() as u64);
            // Every edge of the answer is an answer, late or spurious.
            prop_assert_eq!(sum(Distribution::count) + sum(Distribution::late) + sum(Distribution::spurious), answer.len() as u64);
        }
    }
}
