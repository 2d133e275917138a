use super::*;
use proptest::prelude::*;
use rtscope_record::ThreadInfo;

proptest! {
    #[test]
    fn it_counts_what_a_plain_loop_counts(values in prop::collection::vec(prop_oneof![0u64..3_000, 0u64..1 << 40, any::<u32>().prop_map(u64::from)], 0..300), keep in 0u32..9) {
        let mut s = Sampler::new(keep, Some((100, 1_000)), false);
        for (i, &v) in values.iter().enumerate() { s.record(v, i as u64, 0); }
        let d = s.finish(|p| p.label = "x".into()).unwrap();
        let plain = Distribution::from_samples("x", &values, keep as usize).unwrap();
        prop_assert_eq!(d.histogram(), plain.histogram());
        prop_assert_eq!(d.parts().moments, plain.parts().moments);
        prop_assert_eq!((d.min(), d.max()), (plain.min(), plain.max()));
        let worst = |d: &Distribution| d.worst().iter().map(|w| w.value).collect::<Vec<_>>();
        prop_assert_eq!(worst(&d), worst(&plain));
        let l = d.parts().linear.clone().unwrap();
        let beyond = values.iter().filter(|&&v| v >= 100_000).count();
        prop_assert_eq!(l.total() + beyond as u64, values.len() as u64);
        prop_assert_eq!(l.overflow_at.len(), beyond.min(100));
    }
}

#[test]
fn a_full_ring_says_what_it_lost() {
    let ring = Ring::new(2);
    for i in 0..6 {
        ring.push(i, i * 10);
    }
    let mut seen = Vec::new();
    ring.drain(|c, v| seen.push((c, v)));
    assert_eq!(seen, [(0, 0), (1, 10), (2, 20), (3, 30)]);
    assert_eq!(ring.lost(), 2);
    ring.push(9, 9);
    ring.drain(|c, _| seen.push((c, 0)));
    assert_eq!(seen.last(), Some(&(9, 0)));
}

fn finish(s: Sampler) -> Distribution {
    s.finish(|_| ()).unwrap()
}

#[test]
fn the_log_of_overflows_has_as_many_places_as_there_are_bins_up_to_a_million() {
    assert_eq!([0, 100, 1 << 20, 1 << 21].map(overflow_room), [0, 100, 1 << 20, 1 << 20]);
}

#[test]
fn without_a_sample_there_is_no_extreme() {
    let d = Sampler::new(4, None, false).finish(|p| p.thread = Some(ThreadInfo::default())).unwrap();
    assert_eq!((d.count(), d.min(), d.max()), (0, None, None));
    assert_eq!(d.parts().thread.as_ref().unwrap().last, None);
}

#[test]
fn a_thread_has_the_last_of_its_samples() {
    let mut s = Sampler::new(4, None, false);
    for v in [30, 10, 20] {
        s.record(v, 0, 0);
    }
    let d = s.finish(|p| p.thread = Some(ThreadInfo::default())).unwrap();
    assert_eq!(d.parts().thread.as_ref().unwrap().last, Some(20));
}

#[test]
fn a_sample_is_the_highest_if_none_before_reached_it() {
    for keep in [0, 1, 3] {
        let mut s = Sampler::new(keep, None, false);
        let highest = [5, 5, 3, 9, 9, 8, 10].map(|v| s.record(v, 0, 0));
        assert_eq!(highest, [true, false, false, true, false, false, true], "{keep} are kept");
        assert_eq!(finish(s).max(), Some(10));
    }
}

#[test]
fn of_equal_samples_the_first_are_the_worst_and_their_times_count_from_the_start() {
    let mut s = Sampler::new(2, None, false);
    for (value, now) in [(7, 1_010), (4, 1_020), (7, 1_030), (7, 1_040)] {
        s.record(value, now, 1_000);
    }
    assert_eq!(finish(s).worst(), [Worst { value: 7, at: 10 }, Worst { value: 7, at: 30 }]);
}

#[test]
fn live_figures_follow() {
    let mut s = Sampler::new(1, None, false);
    let live = s.live();
    let figures = |l: &LiveCell| [&l.count, &l.missed, &l.min, &l.last, &l.sum, &l.max].map(|n| n.load(Relaxed));
    assert_eq!(figures(&live), [0, 0, u64::MAX, 0, 0, 0]);
    for v in [20, 50, 10, 30] {
        s.record(v, 0, 0);
    }
    s.show_missed(3);
    assert_eq!(figures(&live), [4, 3, 10, 30, 110, 50]);
}

#[test]
fn wake_ups_before_their_time_are_counted() {
    let mut s = Sampler::new(1, None, false);
    for _ in 0..3 {
        s.early();
    }
    assert_eq!(finish(s).parts().spurious, 3);
}

#[test]
fn a_sum_may_exceed_64_bits() {
    let mut s = Sampler::new(1, None, false);
    for _ in 0..3 {
        s.record(1 << 63, 0, 0);
    }
    assert_eq!(finish(s).parts().moments, Moments::Exact { sum: 3 << 63, sum_sq: 3 << 126 });
}

#[test]
fn a_counter_may_go_round() {
    const SEVENS: u64 = (1 << 32) + 2;
    let mut s = Sampler::new(0, None, false);
    s.record(9, 0, 0);
    s.counts[7] = u32::MAX - 1;
    for _ in 0..4 {
        s.record(7, 0, 0);
    }
    assert_eq!((s.counts[7], s.full.as_slice(), s.full.capacity()), (2, [7].as_slice(), FULL), "nothing was allocated");
    // As if all of them had been recorded.
    s.live.count.store(SEVENS + 1, Relaxed);
    s.live.sum.store(7 * SEVENS + 9, Relaxed);
    s.sum_sq = u128::from(49 * SEVENS + 81);
    assert_eq!(finish(s).histogram().slots().collect::<Vec<_>>(), [(7, SEVENS), (9, 1)]);
}

#[test]
fn what_is_below_a_second_finds_its_counter_in_the_array() {
    let mut s = Sampler::new(1, None, false);
    s.record((1 << 30) - 1, 0, 0);
    assert!(s.far.is_empty());
    for _ in 0..FAR {
        s.record(1 << 30, 0, 0);
    }
    assert_eq!((s.far.len(), s.far.capacity()), (FAR, FAR), "nothing was allocated");
    let slot = slot_of(1 << 30);
    assert_eq!(finish(s).histogram().slots().collect::<Vec<_>>(), [(slot - 1, 1), (slot, FAR as u64)]);
}

#[test]
fn bins_are_of_equal_width_and_their_overflows_are_logged_while_there_is_room() {
    let mut s = Sampler::new(0, Some((3, 10)), false);
    for v in [0, 9, 10, 30, 29, 99, 31, 32, 19] {
        s.record(v, 0, 0);
    }
    assert_eq!(s.linear.as_ref().unwrap().overflow_at.capacity(), 3, "nothing was allocated");
    let bins = LinearBins { unit_ns: 10, size: 3, counts: vec![(0, 2), (1, 2), (2, 1)], overflow_at: vec![3, 5, 6] };
    assert_eq!(finish(s).parts().linear, Some(bins));
}

#[test]
fn a_ring_has_every_sample_with_its_cycle() {
    assert!(Sampler::new(1, None, false).ring().is_none());
    let mut s = Sampler::new(1, None, true);
    let ring = s.ring().unwrap();
    for v in [30, 10, 20] {
        s.record(v, 0, 0);
    }
    let mut seen = Vec::new();
    ring.drain(|cycle, value| seen.push((cycle, value)));
    assert_eq!((seen, ring.lost()), (vec![(0, 30), (1, 10), (2, 20)], 0));
}

#[test]
fn a_sampler_is_on_the_grid_that_it_is_given() {
    assert_eq!(Sampler::new(1, None, false).passed.interval(), 0);
    assert_eq!(Sampler::new(1, None, false).on_grid(250).passed.interval(), 250);
}
