use super::*;
use rtscope_samples::outcome::StimulusOutcome;

/// Stimuli or edges, no device.
fn order(capture: bool, count: u64) -> Order {
    Order {
        capture,
        intervals: (1_000_000, 1_000_000),
        timeout: 1_000_000,
        stimuli: None,
        duration: None,
        count,
        seed: 1,
        answers: Answers::Device,
        shape: Shape::default(),
        again: false,
    }
}

/// An edge at `at` us, for a clock with half ticks of 1 us.
fn edge(channel: u8, at: u64, level: bool) -> Item {
    Item::Edge { channel, level, at }
}

fn seen(items: &[Item], count: u64) -> (Vec<String>, RunCounts) {
    let mut run = Run::new(&order(false, count), 500_000);
    run.origin = 0;
    let mut sink = Vec::new();
    let mut collector = Collector::Responses(&mut sink);
    run.take(Item::Time { at: 0, mark: true, levels: 0 }, &mut collector);
    for item in items {
        run.take(*item, &mut collector);
    }
    let counts = run.counts(&Losses::default(), 6, &mut collector);
    let words = sink.iter().map(|(n, o)| match o {
        StimulusOutcome::Answered { latency, .. } => format!("{n} {latency}"),
        StimulusOutcome::Missed { .. } => format!("{n} missed"),
        StimulusOutcome::Late { .. } => format!("{n} late"),
        StimulusOutcome::Spurious { .. } => format!("{n} spurious"),
    });
    (words.collect(), counts)
}

#[test]
fn what_a_gap_hides_is_neither_missed_nor_spurious() {
    let (outcomes, counts) = seen(
        &[
            edge(0, 1000, true),
            edge(1, 1050, true),
            edge(0, 2000, false),
            // Its answer is lost, and the next stimulus too; that one's answer arrives.
            Item::Gap,
            edge(1, 3050, true),
            edge(0, 4000, false),
            edge(1, 4070, false),
            // Nothing is lost here, so this stimulus is missed.
            edge(0, 5000, true),
            edge(0, 6000, false),
            Item::Time { at: 6500, mark: true, levels: 0 },
        ],
        0,
    );
    assert_eq!(outcomes, ["1 50000", "2 70000", "3 missed"]);
    // The time-out of the last stimulus was not over.
    assert_eq!((counts.stimuli, counts.edges), (3, 3));
}

#[test]
fn stimuli_beyond_the_number_are_left_out() {
    let all: Vec<Item> = (1..10).flat_map(|i| [edge(0, i * 1000, i % 2 == 1), edge(1, i * 1000 + 20, i % 2 == 1)]).collect();
    let (outcomes, counts) = seen(&all, 4);
    assert_eq!(outcomes, ["1 20000", "2 20000", "3 20000", "4 20000"]);
    assert_eq!((counts.stimuli, counts.elapsed), (4, 5_000_000));
}

#[test]
fn a_wave_says_where_edges_are_missing() {
    let mut samples = rtscope_samples::wave::WaveSampler::new(1_000_000, 4, 0);
    let mut run = Run::new(&order(true, 0), 500_000);
    let mut collector = Collector::Wave(&mut samples);
    for item in [edge(1, 1000, true), edge(1, 2010, false), Item::Gap, edge(1, 4000, false), edge(1, 5000, true)] {
        run.take(item, &mut collector);
    }
    assert_eq!(run.counts(&Losses::default(), 6, &mut collector).edges, 4);
    let (distributions, ..) = samples.finish(|_| ()).unwrap();
    let sum = |f: fn(&rtscope_record::Distribution) -> u64| distributions.iter().map(f).sum::<u64>();
    assert_eq!((sum(rtscope_record::Distribution::count), sum(rtscope_record::Distribution::dropped)), (2, 1));
}

#[test]
fn a_silent_device_is_taken_for_dead() {
    let mut run = Run::new(&order(false, 0), 500_000);
    let mut sink = Vec::new();
    let mut collector = Collector::Responses(&mut sink);
    for i in 1..=21 {
        run.take(edge(0, i * 1000, i % 2 == 1), &mut collector);
    }
    assert!(!run.silent());
    run.take(Item::Time { at: 2_100_000, mark: true, levels: 0 }, &mut collector);
    assert!(run.silent());
}
