use super::*;
use proptest::prelude::*;

const LEVEL: Level = Level { confidence: 0.95, rows: 1, seed: 1 };

fn runs(values: &[f64]) -> Runs<'_> {
    Runs { values, blocks: &[], step: 0.0 }
}

fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-4
}

#[test]
fn welchs_interval_as_r_has_it() {
    let a = [10.0, 11.0, 9.5, 10.4, 10.1];
    let b: Vec<f64> = a.iter().map(|v| v * 1.5).collect();
    let found = difference(runs(&a), runs(&b), LEVEL).unwrap();
    // R 4.2.2: t.test(log(b), log(a)).
    let [low, high] = found.interval.unwrap();
    assert!(close(found.estimate, 1.5) && close(low.ln(), 0.326_872_96) && close(high.ln(), 0.484_057_26), "{found:?}");
    let (few, many) = ([6.5, 6.6, 6.4, 6.9, 6.5], [36.0, 35.1, 37.2, 35.8]);
    let [low, high] = difference(runs(&few), runs(&many), LEVEL).unwrap().interval.unwrap();
    assert!(close(low.ln(), 1.658_469_7) && close(high.ln(), 1.742_121_3), "{low} {high}");
    assert_eq!((found.word, found.scale, found.delta), (Word::Worse, Scale::Ratio, 1.0));
    let [below, above] = found.noise.unwrap();
    assert!(below < 1.0 && 1.0 < above && above < 1.04, "{found:?}");
}

#[test]
fn too_few_runs_are_refused_with_their_number() {
    let found = difference(runs(&[10.0]), runs(&[1.0]), LEVEL).unwrap();
    assert_eq!((found.word, found.interval, found.noise), (Word::TooFew { runs: 5 }, None, None));
    // Two runs a side that vary much take many.
    let found = difference(runs(&[10.0, 20.0]), runs(&[1.0, 2.0]), LEVEL).unwrap();
    assert!(matches!(found.word, Word::TooFew { runs } if runs > 100) && found.interval.is_some(), "{found:?}");
    assert_eq!(difference(runs(&[]), runs(&[1.0]), LEVEL), None);
}

#[test]
fn what_was_rounded_is_not_exact() {
    let rounded = |values| Runs { values, blocks: &[], step: 1.0 };
    // Each run says 3 us and 4 us, cut to whole microseconds: both may be nearly the same.
    assert_eq!(difference(rounded(&[3.0; 9]), rounded(&[4.0; 9]), LEVEL).unwrap().word, Word::NoDifference);
    assert_eq!(difference(rounded(&[3.0; 3]), rounded(&[5.0; 3]), LEVEL).unwrap().word, Word::Worse);
    assert_eq!(difference(rounded(&[3.0; 3]), rounded(&[3.0; 3]), LEVEL).unwrap().word, Word::NoDifference);
    // Sums of unequally many equal figures differ in the last digits.
    assert_eq!(difference(runs(&[0.1; 3]), runs(&[0.1; 7]), LEVEL).unwrap().word, Word::NoDifference);
}

#[test]
fn a_zero_makes_it_a_difference() {
    let found = difference(runs(&[0.0, 1.0, 0.5]), runs(&[5.0, 6.0, 5.5]), LEVEL).unwrap();
    assert_eq!((found.scale, found.a, found.b, found.estimate), (Scale::Difference, 0.5, 5.5, 5.0));
    assert_eq!((found.word, found.runs_for_20_percent), (Word::Worse, None));
}

#[test]
fn blocks_within_runs_widen_the_interval() {
    let mut random = Seeded::new(3);
    let blocks: Vec<Vec<f64>> = (0..6).map(|_| (0..9).map(|_| 10.0 * random.uniform().ln().abs() + 1.0).collect()).collect();
    // Runs with one and the same median, of blocks that vary: only the blocks tell of the noise.
    let same: Vec<Vec<f64>> = blocks.iter().map(|_| blocks[0].clone()).collect();
    let median = {
        let mut all = blocks[0].clone();
        all.sort_by(f64::total_cmp);
        all[4]
    };
    let values = [median; 6];
    let with = difference(Runs { blocks: &same, ..runs(&values) }, Runs { blocks: &same, ..runs(&values) }, LEVEL).unwrap();
    let without = difference(runs(&values), runs(&values), LEVEL).unwrap();
    let [low, high] = without.interval.unwrap();
    assert!(low > 1.0 - 1e-9 && high < 1.0 + 1e-9, "{without:?}");
    let [low, high] = with.interval.unwrap();
    assert!(low < 0.9 && high > 1.1, "{with:?}");
}

proptest! {
    #[test]
    fn any_runs_have_an_answer(
        a in prop::collection::vec(-10.0..1e6f64, 1..8),
        b in prop::collection::vec(0.1..1e9f64, 1..8),
        rows in 1usize..50,
    ) {
        let level = Level { rows, ..LEVEL };
        let found = difference(runs(&a), runs(&b), level).unwrap();
        prop_assert!(found.estimate.is_finite());
        if let Some([low, high]) = found.interval {
            prop_assert!(low <= found.estimate * (1.0 + 1e-12) && found.estimate <= high * (1.0 + 1e-12) || found.scale == Scale::Difference);
            prop_assert!(low <= high);
        }
        prop_assert_eq!(difference(runs(&a), runs(&b), level).unwrap(), found, "the seed says all");
        // The other way round, better is worse; the noise is that of the other side.
        let turned = difference(runs(&b), runs(&a), level).unwrap();
        prop_assert!((turned.delta + difference(runs(&a), runs(&b), level).unwrap().delta).abs() < 1e-12);
    }
}
