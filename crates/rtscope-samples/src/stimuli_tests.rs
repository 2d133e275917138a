use super::*;
use crate::outcome::StimulusOutcome::{Answered, Missed, Spurious};
use proptest::prelude::*;
use rtscope_record::Nanos;

fn pulses(both_edges: bool, active_low: bool) -> Shape {
    Shape { pulse: Some(Nanos(100)), both_edges, active_low, ..Shape::default() }
}

/// Books these edges (channel, at, level) as the instrument's run does: channel 0 is the stimulus.
fn booked(shape: Shape, count: u64, edges: &[(u8, u64, bool)]) -> (Vec<(u64, StimulusOutcome)>, u64, bool) {
    let (mut all, mut seen) = (Stimuli::of(&shape, count, 1000), Vec::new());
    for &(channel, at, level) in edges {
        for a in &mut all {
            if channel == 0 {
                a.stimulus(at, level, &mut seen);
            } else {
                a.answer(Edge { level, at, lost: 0 }, &mut seen);
            }
        }
        if let Some(at) = all.iter().filter_map(Stimuli::answered_of).max() {
            for a in &mut all {
                a.overtaken(at);
            }
        }
    }
    (seen, all.iter().map(Stimuli::stimuli).sum(), all.iter().all(Stimuli::is_complete))
}

fn answered(level: bool, latency: u64, at: u64) -> StimulusOutcome {
    Answered { level, latency, at }
}

#[test]
fn a_pulse_that_is_over_before_its_answer_is_answered() {
    let edges = [(0, 1000, true), (0, 1100, false), (1, 1300, true), (1, 1450, false), (0, 2000, true), (0, 2100, false)];
    let (seen, stimuli, complete) = booked(pulses(true, false), 2, &edges);
    assert_eq!(seen, [(1, answered(true, 300, 1300)), (2, answered(false, 350, 1450))]);
    assert_eq!((stimuli, complete), (2, true));
    // Only the first edge of the pulse counts: the edge back is neither an answer nor spurious.
    let (seen, stimuli, complete) = booked(pulses(false, false), 1, &edges);
    assert_eq!(seen, [(1, answered(true, 300, 1300))]);
    assert_eq!((stimuli, complete), (1, true));
    // With the line resting high, a rise is the edge back.
    let turned: Vec<_> = edges.iter().map(|&(channel, at, level)| (channel, at, !level)).collect();
    assert_eq!(booked(pulses(false, true), 1, &turned).0, [(1, answered(false, 300, 1300))]);
    assert_eq!(booked(pulses(true, true), 2, &turned).0[1], (2, answered(true, 350, 1450)));
}

#[test]
fn an_edge_after_a_later_answer_answers_nothing_before_it() {
    // The rise of the second pulse is answered twice, which takes a fall between. That fall does not answer the fall of the first
    // pulse.
    let edges = [
        (0, 1000, true),
        (1, 1010, true),
        (1, 1020, false),
        (0, 1100, false),
        (0, 2000, true),
        (1, 2010, true),
        (1, 2020, false),
        (1, 2030, true),
        (0, 2100, false),
        (1, 2110, false),
        (0, 3000, true),
        (0, 3100, false),
    ];
    let seen = booked(pulses(true, false), 4, &edges).0;
    assert_eq!(
        seen,
        [
            (1, answered(true, 10, 1010)),
            (2, Spurious { level: false }),
            (3, answered(true, 10, 2010)),
            (2, Spurious { level: false }),
            (3, Spurious { level: true }),
            (2, Missed { level: false }),
            (4, answered(false, 10, 2110)),
        ]
    );
}

#[test]
fn a_gap_takes_both_edges_of_the_pulse_back() {
    let (mut all, mut seen) = (Stimuli::of(&pulses(true, false), 0, 1000), Vec::new());
    for a in &mut all {
        a.stimulus(1000, true, &mut seen);
        a.stimulus(1100, false, &mut seen);
        a.answer(Edge { level: true, at: 1200, lost: 0 }, &mut seen);
        a.gap(&mut seen);
        a.answer(Edge { level: false, at: 1300, lost: 0 }, &mut seen);
    }
    assert_eq!(seen, [(1, answered(true, 200, 1200))]);
    assert_eq!(all.iter().map(Stimuli::stimuli).sum::<u64>(), 1, "nobody knows what became of the fall");
}

#[test]
fn nothing_is_taken_once_all_were_judged() {
    let mut all = Stimuli::of(&Shape::default(), 1, 1000);
    let (asking, mut seen) = (&mut all[0], Vec::new());
    assert_eq!((asking.stimulus(1000, true, &mut seen), asking.is_complete()), (Some(Closed::None), false));
    assert_eq!(asking.stimulus(2000, false, &mut seen), Some(Closed::Missed));
    assert!(asking.is_complete());
    assert_eq!(asking.stimulus(3000, true, &mut seen), None);
    asking.answer(Edge { level: true, at: 3010, lost: 0 }, &mut seen);
    assert_eq!((seen, asking.stimuli()), (vec![(1, Missed { level: true })], 1));
}

#[test]
fn only_edges_of_its_kind_ask() {
    let mut all = Stimuli::of(&pulses(false, false), 0, 1000);
    let (asking, mut seen) = (&mut all[0], Vec::new());
    assert_eq!(asking.stimulus(1000, false, &mut seen), None);
    asking.answer(Edge { level: false, at: 1010, lost: 0 }, &mut seen);
    assert_eq!((asking.stimuli(), seen.len()), (0, 0));
    assert_eq!(asking.stimulus(1100, true, &mut seen), Some(Closed::None));
    asking.answer(Edge { level: true, at: 1110, lost: 0 }, &mut seen);
    assert_eq!((asking.stimuli(), asking.answered_of()), (1, Some(1100)));
}

#[test]
fn a_gap_is_over_with_the_next_stimulus() {
    let mut all = Stimuli::of(&Shape::default(), 0, 1000);
    let (asking, mut seen) = (&mut all[0], Vec::new());
    asking.stimulus(1000, true, &mut seen);
    asking.gap(&mut seen);
    asking.answer(Edge { level: true, at: 1010, lost: 0 }, &mut seen);
    asking.stimulus(2000, false, &mut seen);
    asking.answer(Edge { level: false, at: 2010, lost: 0 }, &mut seen);
    assert_eq!((seen, asking.stimuli()), (vec![(1, answered(false, 10, 2010))], 1));
}

#[test]
fn numbers_are_the_runs() {
    let mut sink = Vec::new();
    for (every, before) in [(1, 0), (2, 1), (2, 0)] {
        Numbered { sink: &mut sink, every, before }.take(3, Missed { level: true });
    }
    assert_eq!(sink.iter().map(|s| s.0).collect::<Vec<_>>(), [3, 5, 6]);
}

proptest! {
    /// Every stimulus is answered or missed, and every edge of the answer to a level of stimuli is an answer, late or spurious.
    #[test]
    fn counts_add_up(
        steps in proptest::collection::vec((1u64..2000, any::<bool>()), 0..100),
        both in any::<bool>(),
        low in any::<bool>(),
    ) {
        let (mut at, mut levels, mut edges) = (0, [low, low], Vec::new());
        for (step, stimulates) in steps {
            at += step;
            let channel = u8::from(!stimulates);
            levels[usize::from(channel)] ^= true;
            edges.push((channel, at, levels[usize::from(channel)]));
        }
        let asks = |level: bool| both || level != low;
        let of = |channel: u8| edges.iter().filter(|e| e.0 == channel && asks(e.2)).count() as u64;
        // A last pulse, which is not counted, has every stimulus before it judged.
        let (expected_stimuli, expected_edges) = (of(0), of(1));
        let mut all = edges.clone();
        all.extend([(0, at + 5000, !low), (0, at + 5100, low)]);
        let (seen, stimuli, _) = booked(pulses(both, low), 0, &all);
        let count = |f: fn(&StimulusOutcome) -> bool| seen.iter().filter(|(_, o)| f(o)).count() as u64;
        let (answered, missed) = (count(|o| matches!(o, Answered { .. })), count(|o| matches!(o, Missed { .. })));
        let other = count(|o| matches!(o, StimulusOutcome::Late { .. } | Spurious { .. }));
        let open = if both { 2 } else { 1 };
        prop_assert_eq!(stimuli, expected_stimuli + open);
        prop_assert_eq!(answered + missed, expected_stimuli);
        prop_assert_eq!(answered + other, expected_edges);
    }
}
