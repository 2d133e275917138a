//! Captures of logic analyzers and oscilloscopes as instruments.

use crate::world::World;
use serde_json::Value;
use std::path::PathBuf;

fn fixture(name: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../rtscope-archive/tests/captures")).join(name);
    path.to_str().unwrap().to_owned()
}

fn import(w: &World, file: &str, how: &str) -> Value {
    let words: Vec<&str> = ["import", file, "--json"].into_iter().chain(how.split_whitespace()).collect();
    serde_json::from_str(&w.run(&words).ends_with(0).out).unwrap()
}

/// Count, missed, late, spurious, min and max of each distribution.
fn figures(record: &Value) -> Vec<(String, [u64; 6])> {
    let of = |d: &Value, key: &str| d[key].as_u64().unwrap_or(0);
    let all = record["distributions"].as_array().unwrap().iter();
    all.map(|d| (d["label"].as_str().unwrap().to_owned(), ["count", "missed", "late", "spurious", "min", "max"].map(|k| of(d, k))))
        .collect()
}

#[test]
fn one_capture_in_three_formats_gives_the_same_figures() {
    let w = World::new();
    let records: Vec<Value> = ["sigrok.sr", "sigrok.vcd", "sigrok-times.csv"]
        .iter()
        .map(|name| import(&w, &fixture(name), "--stimulus stim --answer resp --timeout 500us --load none"))
        .collect();
    // 40 stimuli: one pulse dropped, one answer 600 us late, one doubled.
    let wanted = [("rising".to_owned(), [18, 2, 1, 1, 10_000, 28_000]), ("falling".to_owned(), [19, 1, 0, 1, 11_000, 29_000])];
    for record in &records {
        assert_eq!(figures(record), wanted, "{}", record["source"]["file"]);
        assert_eq!(record["distributions"], records[0]["distributions"]);
        assert_eq!(
            (&record["test"], &record["load"], &record["verdict"]),
            (&"response".into(), &"none".into(), &"INCONCLUSIVE".into())
        );
        assert_eq!(record["origin"], "imported");
        assert_eq!(record["instrument"]["uncertainty"], 1000);
    }
    // Rising edges alone; and swapped channels show in the counts.
    let rising = import(&w, &fixture("sigrok.sr"), "--stimulus stim --answer resp --timeout 500us --stimulus-edges rising");
    assert_eq!(figures(&rising), [("rising".to_owned(), [18, 2, 1, 1, 10_000, 28_000])]);
    let swapped = import(&w, &fixture("sigrok.sr"), "--stimulus resp --answer stim --timeout 500us");
    assert_eq!(figures(&swapped)[0].1[0], 0, "{swapped}");
    assert_eq!(swapped["verdict"], "INVALID");
}

#[test]
fn a_wave_of_voltages_is_a_periodic_record() {
    let w = World::new();
    let record = import(&w, &fixture("sigrok-demo-analog.sr"), "--answer A0 --semi-period 48us --warmup 2");
    assert_eq!((&record["test"], &record["instrument"]["grid"]["mean_jitter"]), (&"periodic".into(), &2_000.into()));
    assert_eq!(record["instrument"]["grid"]["drift_ppb"], 41_666_667);
    assert_eq!(figures(&record)[0].1[4..], [2_000, 2_000]);
    assert_eq!(record["verdict"], "INCONCLUSIVE", "10 us of resolution are too coarse for 48 us");
}

#[test]
fn an_oscilloscope_has_thresholds() {
    let w = World::new();
    let mut text = "Source,CH1,CH2\nSecond,Volt,Volt\n".to_owned();
    for i in 0..4000 {
        // 100 us up, 100 us down; the answer follows after 20 us, with a slope of 4 us.
        let stimulus = if i % 200 >= 100 { 3.3 } else { 0.0 };
        let phase = (i + 200 - 120) % 200;
        let answer = if phase < 4 {
            3.3 * f64::from(phase) / 4.0
        } else if phase < 100 {
            3.3
        } else {
            0.0
        };
        text += &format!("{:.6e},{stimulus},{answer:.4}\n", f64::from(i) * 1e-6 - 0.002);
    }
    w.file("scope.csv", &text);
    let path = w.path("scope.csv");
    let record = import(
        &w,
        path.to_str().unwrap(),
        "--stimulus CH1 --answer ch2 --threshold 1.65 --hysteresis 0.4 --timeout 90us --stimulus-edges rising",
    );
    // The stimulus crosses the threshold half a sample before its first high one.
    assert_eq!(figures(&record), [("rising".to_owned(), [20, 0, 0, 0, 22_500, 22_500])]);
    let what = record["instrument"]["answer"]["what"].as_str().unwrap();
    assert!(what.contains("1.6500 V with 0.4000 V"), "{what}");
}

#[test]
fn what_can_not_be_read_says_so() {
    let w = World::new();
    let said = w.run(&["import", &fixture("sigrok.sr")]).ends_with(2);
    assert!(
        said.err.contains("with the channels stim, resp, other") && said.err.contains("--stimulus 'stim' --answer 'resp'"),
        "{}",
        said.err
    );
    let said = w.run(&["import", &fixture("sigrok.sr"), "--answer", "D7"]).ends_with(2);
    assert!(said.err.contains("no channel `D7`"), "{}", said.err);
    w.file("samples.csv", "A,B\n0,0\n1,0\n");
    let said = w.line("import samples.csv --format capture-csv --answer A").ends_with(3);
    assert!(said.err.contains("nothing says when its rows were taken"), "{}", said.err);
    w.file("cut.vcd", "$timescale 1 us $end\n$var wire 1 ! a $end\n$enddefinitions $end\n#5 1!\n#4 0!\n");
    let said = w.line("import cut.vcd --answer a").ends_with(3);
    assert!(said.err.contains("line 5: `#4`: time goes backwards") && said.err.contains("nothing of this file"), "{}", said.err);
    w.file("scope.csv", "Time (s),A,B,C\n0,0,3.28,0\n1e-6,3.3,3.30,0\n2e-6,0,3.28,0\n3e-6,3.3,3.30,0\n");
    for (how, code, what) in [
        ("--stimulus A --answer B", 3, "channel B is between 3.280 V and 3.300 V"),
        (
            "--stimulus A --answer C --threshold 5",
            3,
            "channel A has no such edge, so nothing stimulated: it is between 0.000 V and",
        ),
        ("--answer C", 3, "channel C has fewer than two edges and so no wave: its level never changes"),
        ("--stimulus A --answer a", 2, "A can't be stimulus and answer at once"),
    ] {
        let said = w.line(&format!("import scope.csv {how}")).ends_with(code);
        assert!(said.err.contains(what), "{how}: {}", said.err);
    }
    w.file("levels.csv", "Time [s],A\n0,high\n1,low\n");
    let said = w.line("import levels.csv --answer A").ends_with(3);
    assert!(said.err.contains("no rows of numbers"), "who names a channel learns why it is no table: {}", said.err);
    assert_eq!(w.line("list --json").ends_with(0).out.trim(), "[]");
}

#[test]
fn slow_edges_are_cleaned_only_if_asked_and_what_was_removed_is_counted() {
    let w = World::new();
    // Ten pulses; each edge of the answer crosses the threshold three times within 40 ns.
    let mut vcd =
        "$timescale 1 ns $end\n$var wire 1 ! s $end\n$var wire 1 \" a $end\n$enddefinitions $end\n#0\n0!\n0\"\n".to_owned();
    for edge in 0..20u64 {
        let (at, level) = (1000 + 100_000 * edge, (edge + 1) % 2);
        let back = 1 - level;
        vcd += &format!("#{at}\n{level}!\n#{}\n{level}\"\n#{}\n{back}\"\n#{}\n{level}\"\n", at + 5000, at + 5020, at + 5040);
    }
    let file = w.file("slow.vcd", vcd + "#3000000\n");
    let file = file.to_str().unwrap();
    let raw = import(&w, file, "--stimulus s --answer a --timeout 50us");
    assert!(figures(&raw).iter().any(|d| d.1[3] > 0), "each bounce is an edge that nobody asked for: {raw}");
    assert_eq!(raw["instrument"]["narrow"], Value::Null);
    let clean = import(&w, file, "--stimulus s --answer a --timeout 50us --min-width 50ns");
    let wanted = [("rising".to_owned(), [10, 0, 0, 0, 5_040, 5_040]), ("falling".to_owned(), [10, 0, 0, 0, 5_040, 5_040])];
    assert_eq!(figures(&clean), wanted);
    assert_eq!((&clean["instrument"]["narrow"], &clean["settings"]["lines"]["min_width"]), (&20.into(), &50.into()));
    let shown = w.line("show").out;
    assert!(shown.contains("narrow-pulses") && shown.contains("20 shorter pulses were taken out"), "{shown}");
    // With lines on which no pulse's width is known.
    let refused = w.line("measure response --stimulus soft:a --answer soft:b --min-width 50ns -D 1s").ends_with(2);
    refused.complains(&["--min-width", "FPGA"]);
}
