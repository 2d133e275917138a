//! `compare --values`: two lists of numbers.

use crate::world::World;
use serde_json::Value;

/// Ozone in New York, 1973, ppb, of the days on which it was measured (R's `airquality`; Chambers et al. 1983).
const MAY: &str = "# May\n41 36 12 18 28 23 19 8 7 16 11 14 18 14 34 6 30 11 1 11 4 32 23 45 115 37\n";
const AUGUST: &str = "39 9 16 78 35 66 122 89 110 44 28 65 22 59 23 31 44 21 9 45 168 73 76 118 84 85\n";

#[test]
fn published_lists() {
    let w = World::new();
    w.file("may.txt", MAY);
    w.file("august.txt", AUGUST);
    insta::assert_snapshot!("compare-values", w.line("compare --values may.txt august.txt").ends_with(0).out);
    let json: Value = serde_json::from_str(&w.line("compare --values may.txt august.txt --json").ends_with(0).out).unwrap();
    assert_eq!((&json["schema"], &json["rank_sum"]["w"]), (&"rtscope-compare-values/1".into(), &127.5.into()));
    assert!((json["rank_sum"]["p"].as_f64().unwrap() - 0.000_120_81).abs() < 5e-9, "R 4.2.2: {json}");
    let same = w.line("compare --values may.txt may.txt").ends_with(0).out;
    assert!(same.starts_with("No difference between may.txt and may.txt is shown."), "{same}");
}

#[test]
fn what_is_no_list_is_refused() {
    let w = World::new();
    w.file("may.txt", MAY);
    w.file("words.txt", "1\n2 x\n");
    w.file("none.txt", "# nothing\n");
    for (words, code, why) in [
        ("compare --values may.txt", 2, "required"),
        ("compare --values may.txt words.txt", 2, "words.txt: line 2: `x` is no number"),
        ("compare --values none.txt may.txt", 2, "none.txt: it holds no number"),
        ("compare --values may.txt no-such.txt", 3, "no-such.txt"),
        ("compare --values - -", 2, "standard input can be one of the lists"),
        ("compare --values may.txt may.txt --table adam", 2, "cannot be used with"),
    ] {
        w.line(words).ends_with(code).complains(&[why]);
    }
}
