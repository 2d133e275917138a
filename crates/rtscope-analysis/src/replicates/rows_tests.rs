use super::*;
use crate::fixtures::Build;
use rtscope_record::{Clock, Lab, Record};

fn run(at: u32, samples: &[u64]) -> Record {
    let mut b = Build::new("full").cpu(0, 1_000_000, samples);
    (b.0.id, b.0.started) = (format!("run-{at}"), format!("2026-01-01T00:{at:02}:00Z"));
    b.record()
}

fn seeded(seed: u64, samples: &[u64]) -> Record {
    let mut b = Build::new("full").cpu(0, 1_000_000, samples);
    (b.0.clock, b.0.lab) = (Clock::Virtual, Some(Lab { model: 2, seed, ..Lab::default() }));
    b.record()
}

fn kept(records: &[Record]) -> Kept {
    let mut all = Kept::default();
    for r in records {
        all.extend(&Kept::one(Run::of_record(r)));
    }
    all
}

fn ask<'a>(a: &'a Kept, b: &'a Kept) -> Question<'a> {
    Question { load: "full".into(), model: None, sides: [a, b] }
}

/// Two thousand latencies about `height`, of which each run has its own.
fn samples(height: u64, of_run: u64) -> Vec<u64> {
    (0..2_000u64).map(|i| height + (i * 7 + of_run * 13) % 97 * height / 400 + if i % 500 == of_run { height } else { 0 }).collect()
}

#[test]
fn stock_and_rt_differ_and_rt_and_rt_do_not() {
    let side = |height: u64, first: u32| -> Vec<Record> {
        (0..5).map(|i| run(first + 2 * i, &samples(height, u64::from(first + i)))).collect()
    };
    let (stock, rt, again) = (kept(&side(40_000, 0)), kept(&side(5_000, 1)), kept(&side(5_000, 20)));
    let questions = [ask(&stock, &rt)];
    let found = answers(&questions);
    assert_eq!((found[0].runs, found[0].rows.len(), found[0].corrected), ([5, 5], 4, true), "no blocks in these");
    assert!((found[0].each - (1.0 - 0.05 / 4.0)).abs() < 1e-12);
    for row in &found[0].rows {
        assert_eq!(row.difference.word, Word::Better, "{row:?}");
    }
    assert_eq!(findings(&found, &questions, ["A", "B"]), []);
    assert_eq!(found[0].against(None, 0.0), None);
    let questions = [ask(&rt, &again)];
    let found = answers(&questions);
    assert!(found[0].rows.iter().all(|r| r.difference.word == Word::NoDifference), "{found:?}");
    assert_eq!(findings(&found, &questions, ["A", "B"])[0].code, "not-interleaved");
    let worse = answers(&[ask(&rt, &stock)]);
    assert!(worse[0].against(None, 0.0).unwrap().contains("p99.9 is worse"));
    assert_eq!(worse[0].against(Some("p99.9"), 2_000.0), None, "eight times is less");
    assert!(worse[0].against(Some("block-max"), 0.0).unwrap().contains("not every run"), "what is not known does not pass");
}

#[test]
fn what_is_no_replicate_does_not_count() {
    let a = kept(&[seeded(1, &samples(9_000, 1)), seeded(2, &samples(9_000, 2)), seeded(1, &samples(9_000, 1))]);
    let mut invalid = run(9, &samples(9_000, 4)).into_parts();
    invalid.warnings.push(rtscope_record::Warning::new("x", rtscope_record::Effect::Invalid, "m", "r"));
    let b = kept(&[seeded(1, &samples(9_000, 1)), seeded(2, &samples(9_000, 2)), Record::new(invalid).unwrap()]);
    let questions = [ask(&a, &b)];
    let found = answers(&questions);
    assert_eq!((found[0].runs, found[0].again, found[0].invalid, found[0].identical), ([2, 2], [1, 0], [0, 1], true));
    assert!(matches!(found[0].rows[0].difference.word, Word::TooFew { .. }));
    let codes: Vec<String> = findings(&found, &questions, ["A", "B"]).into_iter().map(|f| f.code).collect();
    assert_eq!(codes, ["same-seed"]);
    assert_eq!(found[0].against(None, 0.0), None, "what is the same to the last bit is not worse");
    let other = kept(&[seeded(1, &samples(9_500, 1)), seeded(2, &samples(9_000, 2))]);
    assert!(answers(&[ask(&a, &other)])[0].against(None, 0.0).unwrap().contains("too few runs"));
}

#[test]
fn a_file_imported_twice_is_one_run() {
    let of = |at: u32, sha256: &str| {
        let mut b = Build::new("full").cpu(0, 1_000_000, &samples(9_000, 1)).import();
        (b.0.id, b.0.source.as_mut().unwrap().sha256) = (format!("i{at}"), sha256.into());
        b.record()
    };
    let (a, b) = (kept(&[of(1, "x"), of(2, "x"), of(3, "y")]), kept(&[of(4, "z")]));
    let found = answers(&[ask(&a, &b)]);
    assert_eq!((found[0].runs, found[0].again, found[0].corrected), ([2, 1], [1, 0], false));
}

#[test]
fn figures_that_not_every_run_has_are_left_out() {
    let few = kept(&[run(1, &[5_000; 90]), run(3, &[5_100; 90]), run(5, &[5_200; 90])]);
    let many = kept(&[run(2, &samples(5_000, 1)), run(4, &samples(5_000, 2)), run(6, &samples(5_000, 3))]);
    let found = answers(&[ask(&few, &many)]);
    assert_eq!(found[0].rows.iter().map(|r| r.metric).collect::<Vec<_>>(), ["mean", "p50"]);
    assert_eq!(found[0].maxima.each_ref().map(Vec::len), [3, 3]);
    let nothing = answers(&[ask(&Kept::default(), &many)]);
    assert_eq!((nothing[0].rows.len(), nothing[0].identical), (0, false));
}

#[test]
fn blocks_of_several_lengths_are_made_equal() {
    let blocks = |points: u64, maxima: &[u64]| Blocks { interval: 1_000, points, maxima: maxima.to_vec() };
    let of = |list: Vec<Blocks>| {
        let mut r = Run::of_record(&run(1, &samples(5_000, 1))).unwrap();
        r.blocks = list;
        r
    };
    let (short, long) = (of(vec![blocks(64, &[1; 32])]), of(vec![blocks(128, &[2; 8]), blocks(128, &[3; 8])]));
    let (points, [a, b]) = common_blocks(&[vec![&short], vec![&long]]).unwrap();
    assert_eq!((points, a[0].len(), b[0].len(), median(&b[0])), (128_000, 16, 16, 2.5));
    let odd = of(vec![blocks(96, &[2; 32])]);
    assert!(common_blocks(&[vec![&short], vec![&odd]]).is_none(), "no doubled 64");
    let few = of(vec![blocks(1024, &[2; 9])]);
    assert!(common_blocks(&[vec![&short], vec![&few]]).is_none(), "two blocks of 1024 are left of 32 of 64");
    assert!(common_blocks(&[vec![&short], vec![&of(Vec::new())]]).is_none());
}

#[test]
fn of_very_many_runs_evenly_spaced_ones_are_kept() {
    let mut all = Kept::default();
    let one = Run::of_record(&run(1, &[5_000; 10])).unwrap();
    for at in 0..5_000u32 {
        all.push(&Arc::new(Run { id: at.to_string(), ..one.clone() }));
    }
    let ids: Vec<u32> = all.runs.iter().map(|r| r.id.parse().unwrap()).collect();
    assert_eq!((all.seen, ids.len()), (5_000, 625));
    assert!(ids.iter().enumerate().all(|(i, id)| *id as usize == i * 8), "{ids:?}");
    let found = answers(&[ask(&all, &all)]);
    assert_eq!((found[0].of, found[0].runs), ([5_000, 5_000], [625, 625]));
}
