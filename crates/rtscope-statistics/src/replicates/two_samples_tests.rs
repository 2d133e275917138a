use super::*;
use proptest::prelude::*;

/// R's `airquality$Ozone` of May and of August, without those not measured.
const MAY: [f64; 26] = [
    41.0, 36.0, 12.0, 18.0, 28.0, 23.0, 19.0, 8.0, 7.0, 16.0, 11.0, 14.0, 18.0, 14.0, 34.0, 6.0, 30.0, 11.0, 1.0, 11.0, 4.0, 32.0,
    23.0, 45.0, 115.0, 37.0,
];
const AUGUST: [f64; 26] = [
    39.0, 9.0, 16.0, 78.0, 35.0, 66.0, 122.0, 89.0, 110.0, 44.0, 28.0, 65.0, 22.0, 59.0, 23.0, 31.0, 44.0, 21.0, 9.0, 45.0, 168.0,
    73.0, 76.0, 118.0, 84.0, 85.0,
];
/// R's `PlantGrowth`: the control, and treatment 2.
const CONTROL: [f64; 10] = [4.17, 5.58, 5.18, 6.11, 4.5, 4.61, 5.17, 4.53, 5.33, 5.14];
const TREATED: [f64; 10] = [6.31, 5.12, 5.54, 5.5, 5.37, 5.29, 4.92, 6.15, 5.8, 5.26];
/// R's `sleep`.
const DRUG_1: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
const DRUG_2: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

#[track_caller]
fn is(a: &[f64], b: &[f64], w: f64, p: f64, d: f64) {
    let found = two_samples(a, b).unwrap();
    let close = |x: f64, y: f64| assert!((x - y).abs() < 1e-6 * y.abs().max(1e-3), "{x} for {y}");
    close(found.rank_sum.w, w);
    close(found.rank_sum.p.unwrap(), p);
    close(found.distance, d);
}

#[test]
fn the_figures_are_those_of_r() {
    // wilcox.test(exact = FALSE) and ks.test of R 4.2.2.
    is(&MAY, &AUGUST, 127.5, 0.000_120_807_83, 0.538_461_538_5);
    is(&CONTROL, &TREATED, 25.0, 0.064_022_101_28, 0.5);
    let found = two_samples(&DRUG_1, &DRUG_2).unwrap();
    assert!((found.rank_sum.w - 25.5).abs() < 1e-9 && (found.rank_sum.p.unwrap() - 0.069_328).abs() < 5e-7, "{found:?}");
    let found = two_samples(&MAY, &AUGUST).unwrap();
    assert!((found.cliff.delta + 0.622_781_1).abs() < 5e-8, "{found:?}");
    let [low, high] = found.cliff.interval.unwrap();
    assert!(low > -0.85 && low < -0.7 && high < -0.3 && high > -0.5, "{low} {high}");
}

#[test]
fn what_has_no_answer_has_none() {
    assert_eq!(two_samples(&[], &[1.0]), Err(TwoSampleError::Empty));
    assert_eq!(two_samples(&[1.0], &[f64::NAN]), Err(TwoSampleError::NotFinite));
    let same = two_samples(&[5.0; 4], &[5.0; 3]).unwrap();
    assert_eq!((same.rank_sum.p, same.cliff.delta, same.distance), (None, 0.0, 0.0));
    let one = two_samples(&[1.0], &[2.0]).unwrap();
    assert_eq!((one.cliff.delta, one.cliff.interval, one.distance), (-1.0, None, 1.0));
    let apart = two_samples(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]).unwrap();
    let [low, high] = apart.cliff.interval.unwrap();
    assert!(low <= -1.0 && high > -1.0 && high < 0.0, "not all that could be drawn lie apart: {apart:?}");
}

proptest! {
    #[test]
    fn every_pair_counts(a in prop::collection::vec(-9i32..9, 1..30), b in prop::collection::vec(-9i32..9, 1..30)) {
        let (a, b): (Vec<f64>, Vec<f64>) = (a.into_iter().map(f64::from).collect(), b.into_iter().map(f64::from).collect());
        let found = two_samples(&a, &b).unwrap();
        let pairs = || a.iter().flat_map(|x| b.iter().map(move |y| x.partial_cmp(y).unwrap()));
        let above = pairs().filter(|o| o.is_gt()).count() as f64;
        let equal = pairs().filter(|o| o.is_eq()).count() as f64;
        prop_assert!((found.rank_sum.w - (above + equal / 2.0)).abs() < 1e-6);
        let share = |all: &[f64], at: f64| all.iter().filter(|v| **v <= at).count() as f64 / all.len() as f64;
        let distance = a.iter().chain(&b).map(|at| (share(&a, *at) - share(&b, *at)).abs()).fold(0.0, f64::max);
        prop_assert!((found.distance - distance).abs() < 1e-12);
        // The other way round it is the opposite.
        let back = two_samples(&b, &a).unwrap();
        prop_assert!((back.cliff.delta + found.cliff.delta).abs() < 1e-12 && back.rank_sum.p == found.rank_sum.p);
        if let (Some([low, high]), Some(back)) = (found.cliff.interval, back.cliff.interval) {
            prop_assert!(-1.0 <= low && low <= found.cliff.delta + 1e-9 && found.cliff.delta <= high + 1e-9 && high <= 1.0);
            prop_assert!((back[0] + high).abs() < 1e-9 && (back[1] + low).abs() < 1e-9);
        }
    }
}
