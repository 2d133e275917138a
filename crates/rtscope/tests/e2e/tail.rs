//! `tail` on lists of numbers.

use crate::world::World;

/// Annual maximum sea levels at Port Pirie, m (Coles 2001, example 1.1).
const PORTPIRIE: &str = "\
# Port Pirie, 1923 to 1987
4.03 3.83 3.65 3.88 4.01 4.08 4.18 3.80 4.36 3.96 3.98 4.69 3.85 3.96 3.85 3.93 3.75 3.63 3.57 4.25 3.97 4.05
4.24 4.22 3.73 4.37 4.06 3.71 3.96 4.06 4.55 3.79 3.89 4.11 3.85 3.86 3.86 4.21 4.01 4.11 4.24 3.96 4.21 3.74
3.85 3.88 3.66 4.11 3.71 4.18 3.90 3.78 3.91 3.72 4.00 3.66 3.62 4.33 4.55 3.75 4.08 3.90 3.88 3.94 4.33
";

#[test]
fn a_published_list() {
    let w = World::new();
    w.file("portpirie.txt", PORTPIRIE);
    insta::assert_snapshot!("tail-portpirie", w.line("tail --values portpirie.txt --unit m").ends_with(0).out);
    let above = w.line("tail --values portpirie.txt --threshold 4,4.2 --return-level 200").ends_with(0).out;
    insta::assert_snapshot!("tail-portpirie-threshold", above);
}

#[test]
fn json_and_plots() {
    let w = World::new();
    w.file("portpirie.txt", PORTPIRIE);
    let said = w.line("tail --values portpirie.txt --threshold 3.8 --return-level 0.001 --svg plots --json").ends_with(0).out;
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&json["schema"], &json["family"]), (&"rtscope-tail/1".into(), &"gpd".into()));
    assert!((json["levels"][0]["period"].as_f64().unwrap() - 1000.0).abs() < 1e-9, "{json}");
    assert_eq!(json["gates"].as_array().unwrap().len(), 7);
    for plot in ["return-levels.svg", "mean-residual-life.svg"] {
        let text = std::fs::read_to_string(w.path(format!("plots/{plot}"))).unwrap();
        assert!(text.starts_with("<svg") && text.contains("<path") && !text.contains("NaN"), "{plot}");
    }
}

#[test]
fn what_can_not_be_fitted_is_refused() {
    let w = World::new();
    w.file("words.txt", "1\n2\nthree\n");
    w.file("few.txt", "1 2 3");
    w.file("same.txt", "7\n".repeat(50));
    for (line, said) in [
        ("tail --values words.txt", "words.txt: line 3: `three` is no number"),
        ("tail --values few.txt", "few.txt: 3 maxima: a fit needs 10 or more"),
        ("tail --values same.txt", "same.txt: all maxima are equal"),
        ("tail --values few.txt --threshold 9", "nothing exceeds the threshold 9"),
        ("tail --values few.txt --block-size 2", "1 blocks: a fit needs 10 or more"),
    ] {
        let out = w.line(line).ends_with(2);
        assert!(out.err.contains(said), "{line}: {}", out.err);
    }
    assert!(w.line("tail --values none.txt").ends_with(3).err.contains("none.txt"));
    assert!(w.line("tail --values /dev/zero").ends_with(3).err.contains("/dev/zero"));
}

#[test]
fn block_maxima_of_runs() {
    let w = World::new();
    // Exponential, by a generator of Lehmer's: one value for each grid point, so that none repeats.
    let mut state = 1u64;
    let late = (0..20_000).map(|_| {
        state = state * 48_271 % 2_147_483_647;
        (-(state as f64 / 2_147_483_647.0).ln() * 10_000.0 + 1_000.0).round()
    });
    let late: Vec<String> = late.map(|v| format!("{v:.0}")).collect();
    w.file("late.txt", late.join("\n"));
    for _ in 0..2 {
        w.line("measure timer --target fake:late.txt -i 1ms -l 20000 --threads 1").ends_with(4);
    }
    let one: serde_json::Value = serde_json::from_str(&w.line("tail --json").ends_with(0).out).unwrap();
    let record: serde_json::Value = serde_json::from_str(&w.line("show latest --json").ends_with(4).out).unwrap();
    let blocks = &record["distributions"][0]["blocks"];
    assert_eq!((&blocks["points"], blocks["maxima"].as_array().unwrap().len()), (&256.into(), 78));
    // The same as of a list.
    let maxima: Vec<String> =
        blocks["maxima"].as_array().unwrap().iter().map(|m| (m.as_f64().unwrap() / 1e3).to_string()).collect();
    w.file("maxima.txt", maxima.join("\n"));
    let list: serde_json::Value = serde_json::from_str(&w.line("tail --values maxima.txt --json").ends_with(0).out).unwrap();
    let series = &one["series"][0];
    assert_eq!((&series["parameters"], &series["levels"]), (&list["parameters"], &list["levels"]));
    // What is scripted is INVALID, so that the series has no bound.
    let (of_runs, of_list) = (series["gates"].as_array().unwrap(), list["gates"].as_array().unwrap());
    assert_eq!((&of_runs[..of_list.len()], of_runs.len()), (&of_list[..], of_list.len() + 1));
    assert_eq!((&series["bounded"], &list["bounded"]), (&false.into(), &true.into()));
    let failed = "verdict failed: 1 of 1 runs are INVALID";
    assert!(series["answer"].as_str().unwrap().contains(failed), "{}", series["answer"]);
    assert_eq!((&series["block_points"], &series["interval_ns"], &series["runs"]), (&256.into(), &1_000_000.into(), &1.into()));
    let shown = w.line("tail").ends_with(0).out;
    assert!(shown.contains("none, thread0: 78 blocks of 256ms, 1 run\n") && shown.contains("Return levels"), "{shown}");
    let both = w.line("tail all --json").ends_with(0).out;
    let both: serde_json::Value = serde_json::from_str(&both).unwrap();
    assert_eq!((&both["series"][0]["runs"], both["series"][0]["values"].as_f64()), (&2.into(), Some(156.0)));
    w.line("measure timer --target fake:late.txt -i 1ms -l 63 --threads 1").ends_with(4);
    w.line("tail").ends_with(2).complains(&["none of these runs has block maxima"]);
    // All latencies, counted: no order, so no bound; the law is the exponential one that they are of, and passes the highest of 40,063.
    let json: serde_json::Value = serde_json::from_str(&w.line("tail all --threshold 5%,1% --json").ends_with(0).out).unwrap();
    let found = &json["series"][0];
    assert_eq!((&found["family"], found["values"].as_f64(), &found["bounded"]), (&"gpd".into(), Some(40_063.0), &false.into()));
    let shape = found["fit"]["law"]["shape"].as_f64().unwrap();
    let scale = found["fit"]["law"]["scale"].as_f64().unwrap();
    assert!(shape.abs() < 0.1 && (8.5..11.5).contains(&scale), "{shape} {scale}");
    let shown = w.line("tail all --threshold 5%").ends_with(0).out;
    assert!(shown.contains("40063 latencies, 3 runs") && shown.contains("No bound is given"), "{shown}");
    w.line("report all --tail -o page.html").ends_with(0);
    let page = std::fs::read_to_string(w.path("page.html")).unwrap();
    for part in [
        "How the tails end",
        "156 blocks of 256ms, 40063 latencies, 3 runs",
        "verdict failed: 2 of 2 runs are INVALID",
        "Return levels",
        "Mean residual life",
    ] {
        assert!(page.contains(part), "no `{part}`");
    }
    w.line("tail all --threshold 5% --decluster 3").ends_with(2).complains(&["cannot be used with"]);
}
