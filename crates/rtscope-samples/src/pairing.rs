//! Which edge answers which stimulus: one set of rules for every instrument and for captures.
//!
//! The answer to a stimulus is the first edge to its level. If it comes after the time-out it is late, and the stimulus is missed
//! all the same. An edge to the opposite level is the late answer of the previous stimulus, if that was missed and none was
//! answered since. Once the line has gone to the level of the current stimulus, that answer can't come: the line must have left
//! this level before. Every other edge is spurious.

use crate::edge::Edge;
use crate::outcome::{Sink, StimulusOutcome};

/// A stimulus, and its state so far.
#[derive(Debug, Clone, Copy)]
struct Open {
    number: u64,
    level: bool,
    at: u64,
    deadline: u64,
    answered: bool,
    late: bool,
    /// A later stimulus was answered, so this one gets no answer.
    overtaken: bool,
}

/// What became of the previous stimulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// There was no stimulus.
    None,
    /// It was answered in time.
    Answered,
    /// It was answered, but after its time-out.
    Late,
    /// It was missed, without a late answer so far.
    Missed,
    /// Unknown: it was withdrawn because its time-out had not yet passed.
    Undecided,
}

/// Pairs the edges of an answer line with stimuli: the current one, and the late answer that the previous one may still get.
#[derive(Debug, Clone, Copy)]
pub struct Pairing {
    timeout: u64,
    open: Option<Open>,
    /// Level and number of the previous stimulus, if it was missed and its answer may still come.
    owed: Option<(bool, u64)>,
    stimuli: u64,
}

impl Pairing {
    /// Answers are in time until `timeout` ns after their stimulus.
    pub fn new(timeout: u64) -> Self {
        Self { timeout, open: None, owed: None, stimuli: 0 }
    }

    /// Stimuli so far.
    pub fn stimuli(&self) -> u64 {
        self.stimuli
    }

    /// Whether the current stimulus was answered in time.
    pub fn answered(&self) -> bool {
        self.open.is_some_and(|o| o.answered)
    }

    /// When the current stimulus was given, ns, if it was answered in time.
    pub fn answered_of(&self) -> Option<u64> {
        self.open.filter(|o| o.answered).map(|o| o.at)
    }

    /// Tells that a stimulus of another pairing, given at `at` ns, was answered: a current stimulus from before it gets no answer.
    pub fn overtaken(&mut self, at: u64) {
        if let Some(open) = self.open.as_mut().filter(|o| o.at < at) {
            open.overtaken = true;
        }
    }

    /// Takes the next stimulus, to `level` at `at` ns. A previous stimulus without an answer is missed.
    pub fn stimulus(&mut self, at: u64, level: bool, sink: &mut (impl Sink + ?Sized)) -> Closed {
        let closed = self.close(u64::MAX, sink);
        // If both stimuli were to the same level, their answers could not be told apart.
        self.owed = self.owed.filter(|o| o.0 != level);
        self.stimuli += 1;
        let deadline = at.saturating_add(self.timeout);
        self.open = Some(Open { number: self.stimuli, level, at, deadline, answered: false, late: false, overtaken: false });
        closed
    }

    /// Takes an edge of the answer line.
    pub fn answer(&mut self, edge: Edge, sink: &mut (impl Sink + ?Sized)) {
        let Some(open) = &mut self.open else {
            return sink.take(self.stimuli.max(1), StimulusOutcome::Spurious { level: edge.level });
        };
        if let Some((level, number)) = self.owed.filter(|o| o.0 == edge.level) {
            self.owed = None;
            return sink.take(number, StimulusOutcome::Late { level });
        }
        // An edge from before the stimulus may have been waiting to be read.
        if edge.level != open.level || edge.at < open.at || open.answered || open.late || open.overtaken {
            return sink.take(open.number, StimulusOutcome::Spurious { level: edge.level });
        }
        // The edge's own time counts, not when it was read: the instrument may have been woken late.
        if edge.at > open.deadline {
            open.late = true;
            return;
        }
        open.answered = true;
        self.owed = None;
        let latency = edge.at - open.at;
        sink.take(open.number, StimulusOutcome::Answered { level: open.level, latency, at: edge.at });
    }

    /// Ends the current stimulus at `now` ns. If its time-out has not passed yet, it is withdrawn.
    pub fn close(&mut self, now: u64, sink: &mut (impl Sink + ?Sized)) -> Closed {
        let Some(open) = self.open.take() else { return Closed::None };
        if open.answered {
            return Closed::Answered;
        }
        if !open.late && !open.overtaken && now < open.deadline {
            self.stimuli -= 1;
            return Closed::Undecided;
        }
        sink.take(open.number, StimulusOutcome::Missed { level: open.level });
        if open.late {
            sink.take(open.number, StimulusOutcome::Late { level: open.level });
        }
        self.owed = (!open.late).then_some((open.level, open.number));
        if open.late { Closed::Late } else { Closed::Missed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(at: u64, level: bool) -> Edge {
        Edge { at, level, lost: 0 }
    }

    #[test]
    fn stimuli_to_one_level_do_not_take_each_others_answers() {
        let (mut pairing, mut seen) = (Pairing::new(100), Vec::new());
        assert_eq!(pairing.stimulus(1000, true, &mut seen), Closed::None);
        // Nothing answers the first; the second gets its own answer.
        assert_eq!(pairing.stimulus(2000, true, &mut seen), Closed::Missed);
        pairing.answer(edge(2050, true), &mut seen);
        assert_eq!(pairing.close(3000, &mut seen), Closed::Answered);
        let answered = StimulusOutcome::Answered { level: true, latency: 50, at: 2050 };
        assert_eq!(seen, [(1, StimulusOutcome::Missed { level: true }), (2, answered)]);
    }

    #[test]
    fn answers_come_in_the_order_of_their_stimuli() {
        use StimulusOutcome::{Answered, Late, Missed, Spurious};
        let (mut pairing, mut seen) = (Pairing::new(100), Vec::new());
        // Nothing answers the first pulse. The rise of the second is answered twice, which takes a fall between.
        pairing.stimulus(1000, true, &mut seen);
        pairing.stimulus(2000, false, &mut seen);
        pairing.stimulus(3000, true, &mut seen);
        for (at, level) in [(3010, true), (3020, false), (3030, true)] {
            pairing.answer(edge(at, level), &mut seen);
        }
        // The fall is missed; its answer comes before that to the next rise, so it is late.
        pairing.stimulus(4000, false, &mut seen);
        pairing.stimulus(5000, true, &mut seen);
        pairing.answer(edge(5010, false), &mut seen);
        pairing.answer(edge(5020, true), &mut seen);
        assert_eq!(
            seen,
            [
                (1, Missed { level: true }),
                (2, Missed { level: false }),
                (3, Answered { level: true, latency: 10, at: 3010 }),
                (3, Spurious { level: false }),
                (3, Spurious { level: true }),
                (4, Missed { level: false }),
                (4, Late { level: false }),
                (5, Answered { level: true, latency: 20, at: 5020 }),
            ]
        );
    }

    /// A rising stimulus at 1000 with a time-out of 100 ns, then these edges (at, level): what became of each.
    fn one(edges: &[(u64, bool)]) -> (Pairing, Vec<StimulusOutcome>) {
        let (mut pairing, mut seen) = (Pairing::new(100), Vec::new());
        pairing.stimulus(1000, true, &mut seen);
        for &(at, level) in edges {
            pairing.answer(edge(at, level), &mut seen);
        }
        assert!(seen.iter().all(|(number, _)| *number == 1));
        (pairing, seen.into_iter().map(|(_, outcome)| outcome).collect())
    }

    #[test]
    fn each_way_to_be_no_answer() {
        let answered = |latency| StimulusOutcome::Answered { level: true, latency, at: 1000 + latency };
        let spurious = |level| StimulusOutcome::Spurious { level };
        assert_eq!(one(&[(999, true)]).1, [spurious(true)], "from before the stimulus");
        assert_eq!(one(&[(1000, true)]).1, [answered(0)], "at once");
        assert_eq!(one(&[(1050, false)]).1, [spurious(false)], "to the other level");
        assert_eq!(one(&[(1100, true)]).1, [answered(100)], "in the last moment");
        assert_eq!(one(&[(1101, true)]).1, [], "late, which is booked with the stimulus' end");
        assert_eq!(one(&[(1050, true), (1060, true)]).1, [answered(50), spurious(true)]);
        assert_eq!(one(&[(1101, true), (1102, true)]).1, [spurious(true)]);
    }

    #[test]
    fn what_was_overtaken_is_missed_and_waits_no_more() {
        let overtaken = |at: u64| {
            let (mut pairing, mut seen) = (Pairing::new(100), Vec::new());
            pairing.stimulus(1000, true, &mut seen);
            pairing.overtaken(at);
            pairing.answer(edge(1050, true), &mut seen);
            (pairing.close(1060, &mut seen), seen.into_iter().map(|(_, outcome)| outcome).collect::<Vec<_>>())
        };
        let answered = (Closed::Answered, vec![StimulusOutcome::Answered { level: true, latency: 50, at: 1050 }]);
        assert_eq!((overtaken(999), overtaken(1000)), (answered.clone(), answered));
        let missed = vec![StimulusOutcome::Spurious { level: true }, StimulusOutcome::Missed { level: true }];
        assert_eq!(overtaken(1001), (Closed::Missed, missed));
    }

    #[test]
    fn the_end_comes_with_the_time_out() {
        for (now, closed, stimuli) in [(1099, Closed::Undecided, 2), (1100, Closed::Missed, 3), (1101, Closed::Missed, 3)] {
            let (mut pairing, mut seen) = (Pairing::new(100), Vec::new());
            pairing.stimulus(800, false, &mut seen);
            pairing.stimulus(900, false, &mut seen);
            pairing.stimulus(1000, true, &mut seen);
            assert_eq!((pairing.close(now, &mut seen), pairing.stimuli()), (closed, stimuli), "{now}");
        }
        // A late answer has already come: nothing more to wait for.
        let (mut pairing, mut seen) = (one(&[(1101, true)]).0, Vec::new());
        assert_eq!(pairing.close(1050, &mut seen), Closed::Late);
        assert_eq!(seen, [(1, StimulusOutcome::Missed { level: true }), (1, StimulusOutcome::Late { level: true })]);
        assert_eq!(pairing.close(2000, &mut seen), Closed::None);
    }

    #[test]
    fn the_stimulus_in_hand_says_whether_it_is_answered() {
        let of = |edges: &[(u64, bool)]| {
            let pairing = one(edges).0;
            (pairing.answered(), pairing.answered_of())
        };
        assert_eq!((of(&[(1050, true)]), of(&[(1101, true)]), of(&[])), ((true, Some(1000)), (false, None), (false, None)));
    }

    #[test]
    fn a_late_answer_is_owed_once() {
        let (mut pairing, mut seen) = (one(&[]).0, Vec::new());
        pairing.stimulus(2000, false, &mut seen);
        for at in [2010, 2020] {
            pairing.answer(edge(at, true), &mut seen);
        }
        let outcomes = [
            (1, StimulusOutcome::Missed { level: true }),
            (1, StimulusOutcome::Late { level: true }),
            (2, StimulusOutcome::Spurious { level: true }),
        ];
        assert_eq!(seen, outcomes);
        // A stimulus that already got its late answer gets no other.
        let (mut pairing, mut seen) = (one(&[(1101, true)]).0, Vec::new());
        pairing.stimulus(2000, false, &mut seen);
        pairing.answer(edge(2010, true), &mut seen);
        assert_eq!(seen.last(), Some(&(2, StimulusOutcome::Spurious { level: true })));
    }

    #[test]
    fn a_stimulus_whose_time_is_not_over_is_taken_back() {
        let (mut pairing, mut seen) = (Pairing::new(100), Vec::new());
        pairing.answer(edge(10, true), &mut seen);
        pairing.stimulus(1000, true, &mut seen);
        assert_eq!(pairing.close(1099, &mut seen), Closed::Undecided);
        assert_eq!((pairing.stimuli(), seen), (0, vec![(1, StimulusOutcome::Spurious { level: true })]));
    }
}
