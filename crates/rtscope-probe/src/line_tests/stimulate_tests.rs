//! The loop with a fake device whose answers are known: every count must be exact.

use super::*;
use crate::line_tests::wires::Simulated;
use proptest::prelude::*;
use rtscope_record::Distribution;
use rtscope_samples::responses::ResponseSampler;

static NEVER: AtomicBool = AtomicBool::new(false);
const INTERVAL: u64 = 1_000_000;
const TIMEOUT: u64 = 400_000;

fn run(
    dut: impl FnMut(u64, bool) -> Vec<(u64, bool)>,
    stimuli: u64,
    warmups: u64,
) -> (Vec<Distribution>, RunCounts, Option<rtscope_record::lines::Phase>, Ended) {
    let (mut wires, mut books) = (Simulated::new(dut), ResponseSampler::new(4, warmups));
    let until = Until { stimuli, end: u64::MAX, stop: &NEVER };
    let (ended, own) = stimulate(&mut wires, &mut Schedule::new(INTERVAL, INTERVAL, 0), TIMEOUT, &until, &mut books).unwrap();
    let (distributions, warmup) = books.finish(|_| ()).unwrap();
    (distributions, own, warmup, ended)
}

/// (count, missed, late, spurious) of rising and falling.
fn counts(d: &[Distribution]) -> [(u64, u64, u64, u64); 2] {
    assert_eq!([d[0].label(), d[1].label()], ["rising", "falling"]);
    [0, 1].map(|i| (d[i].count(), d[i].missed(), d[i].late(), d[i].spurious()))
}

#[test]
fn a_device_that_answers_is_timed() {
    let mut n = 0;
    let (d, own, ..) = run(
        |at, level| {
            n += 1;
            vec![(at + if n % 10 == 0 { 90_000 } else { 5_000 }, level)]
        },
        1000,
        0,
    );
    assert_eq!(counts(&d), [(500, 0, 0, 0), (500, 0, 0, 0)]);
    // Every tenth stimulus is a falling edge.
    assert_eq!((d[0].min(), d[0].max(), d[1].min(), d[1].max()), (Some(5_000), Some(5_000), Some(5_000), Some(90_000)));
    assert_eq!(d[1].histogram().above(80_000).0, 100);
    assert_eq!((own.stimuli, own.edges, own.span_max, own.behind, own.elapsed), (1000, 1000, 7, 0, 1001 * INTERVAL));
}

#[test]
fn missed_late_doubled_and_unasked_are_counted_for_what_they_are() {
    let mut n = 0;
    let dut = |at: u64, level: bool| {
        n += 1;
        match n {
            // A pulse without an answer.
            3 | 4 => vec![],
            // Late, but before the next stimulus.
            5 => vec![(at + TIMEOUT + 1, level)],
            // Just in time: at the last ns of the time-out.
            7 => vec![(at + TIMEOUT, level)],
            // Late, after the next stimulus, which is itself answered later.
            8 => vec![(at + INTERVAL + 10, level)],
            9 => vec![(at + 20, level)],
            // Answered twice.
            11 => vec![(at + 5, level), (at + 6, !level), (at + 7, level)],
            // Edges without a stimulus.
            12 => vec![(at + 5, level), (at + 500_000, true), (at + 500_100, false)],
            // Late and doubled: the second edge answers nothing.
            13 => vec![(at + TIMEOUT + 5, level), (at + TIMEOUT + 6, !level), (at + TIMEOUT + 7, level)],
            _ => vec![(at + 5, level)],
        }
    };
    let (d, own, ..) = run(dut, 20, 0);
    // Rising: 3, 5, 13 missed, 5 and 13 late, spurious 11's third, 12's second, 13's third. Falling: 4 and 8 missed, 8 late.
    assert_eq!(counts(&d), [(7, 3, 2, 3), (8, 2, 1, 3)]);
    assert_eq!((d[0].max(), own.stimuli), (Some(TIMEOUT), 20));
}

#[test]
fn the_warm_up_is_apart_and_not_hidden() {
    let mut n = 0;
    let dut = |at: u64, level: bool| {
        n += 1;
        match n {
            1 => vec![(at + 300_000, level)],
            2 => vec![],
            10 => vec![(at + TIMEOUT + 9, level)],
            _ => vec![(at + 50, level)],
        }
    };
    let (d, _, warmup, _) = run(dut, 110, 10);
    assert_eq!(counts(&d), [(50, 0, 0, 0), (50, 0, 0, 0)]);
    let w = warmup.unwrap();
    assert_eq!((w.stimuli, w.count, w.missed, w.late, w.spurious), (10, 8, 2, 1, 0));
    assert_eq!((w.min, w.median, w.max), (Some(50), Some(50), Some(300_000)));
}

#[test]
fn a_late_answer_across_the_end_of_the_warm_up_stays_with_its_stimulus() {
    let mut n = 0;
    let dut = |at: u64, level: bool| {
        n += 1;
        vec![(at + if n == 2 { INTERVAL + 30 } else { 50 }, level)]
    };
    let (d, _, warmup, _) = run(dut, 12, 2);
    let w = warmup.unwrap();
    assert_eq!((w.missed, w.late), (1, 1));
    assert_eq!(counts(&d), [(5, 0, 0, 0), (5, 0, 0, 0)]);
}

#[test]
fn a_device_that_dies_ends_the_run() {
    let mut n = 0;
    let dut = |at, level| {
        n += 1;
        if n > 100 { vec![] } else { vec![(at + 5, level)] }
    };
    let (d, own, _, ended) = run(dut, 1_000_000, 0);
    assert_eq!((ended, d[0].count() + d[1].count()), (Ended::Silent, 100));
    assert_eq!(own.stimuli, d.iter().map(|d| d.parts().expected.unwrap()).sum::<u64>());
    assert!((2000..2010).contains(&(own.stimuli - 100)), "2 s of silence: {}", own.stimuli);
}

#[test]
fn a_stop_leaves_no_stimulus_in_the_balance() {
    let stop = AtomicBool::new(false);
    let mut n = 0;
    let mut wires = Simulated::new(|_, level| {
        n += 1;
        if n == 7 {
            stop.store(true, Relaxed);
        }
        vec![(u64::MAX >> 1, level)]
    });
    let mut books = ResponseSampler::new(4, 0);
    let until = Until { stimuli: 100, end: u64::MAX, stop: &stop };
    let long = 10 * POLL_INTERVAL;
    let (ended, own) = stimulate(&mut wires, &mut Schedule::new(long, long, 0), long, &until, &mut books).unwrap();
    let (d, _) = books.finish(|_| ()).unwrap();
    assert_eq!((ended, own.stimuli), (Ended::Stopped, 6));
    assert_eq!(d.iter().map(Distribution::missed).sum::<u64>(), 6);
}

proptest! {
    /// Whatever comes back, every stimulus is answered or missed, and every edge is an answer, late or spurious.
    #[test]
    fn counts_add_up(
        plan in prop::collection::vec(prop::collection::vec((0u64..3 * INTERVAL, any::<bool>()), 0..4), 1..40),
        stray in prop::collection::btree_set((0u64..60 * INTERVAL, any::<bool>()), 0..20),
        timeout in 1u64..=INTERVAL,
    ) {
        let mut n = 0;
        let stimuli = plan.len() as u64;
        let mut wires = Simulated::new(|at, _| {
            n += 1;
            plan.get(n - 1).into_iter().flatten().map(|&(after, level)| (at + after, level)).collect()
        }).edges(stray);
        let mut books = ResponseSampler::new(4, 0);
        let until = Until { stimuli, end: u64::MAX, stop: &NEVER };
        let (_, own) = stimulate(&mut wires, &mut Schedule::new(INTERVAL / 2, 2 * INTERVAL, 5), timeout.min(INTERVAL / 2), &until, &mut books).unwrap();
        let (d, _) = books.finish(|_| ()).unwrap();
        let sum = |f: fn(&Distribution) -> u64| d.iter().map(f).sum::<u64>();
        prop_assert_eq!(sum(Distribution::count) + sum(Distribution::missed), stimuli);
        prop_assert_eq!(sum(Distribution::count) + sum(Distribution::late) + sum(Distribution::spurious), own.edges);
        prop_assert!(d.iter().all(|d| d.max().is_none_or(|max| max <= timeout)));
    }
}
