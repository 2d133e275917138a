//! `compare` of whole runs, and `plan` from them.

use crate::world::World;
use serde_json::Value;

/// Writes a selection of `runs` records of some 20,000 latencies above `height` ns, each run by another generator; what is scripted is INVALID, so
/// the records are made those of a machine.
fn side(w: &World, name: &str, height: u64, runs: std::ops::Range<u64>) {
    let records: Vec<Value> = runs
        .map(|run| {
            let mut state = 1 + run * 1_000_003;
            let late = (0..20_000).map(|_| {
                state = state * 48_271 % 2_147_483_647;
                (height as f64 * (1.0 - (state as f64 / 2_147_483_647.0).ln() / 8.0)).round().to_string()
            });
            w.file("late.txt", late.collect::<Vec<_>>().join("\n"));
            let said = w.line("measure timer --target fake:late.txt -i 1ms -l 20000 --threads 1 --json --no-save").ends_with(4);
            let mut record: Value = serde_json::from_str(&said.out).unwrap();
            let started = format!("2026-01-01T{:02}:00:{:02}Z", run % 10, u64::from(height > 10_000));
            for (key, value) in
                [("id", format!("{name}-{run}")), ("started", started), ("target", "local".into()), ("verdict", "VALID".into())]
            {
                record[key] = value.into();
            }
            record["origin"] = "measured".into();
            record["warnings"] = Value::Array(Vec::new());
            record["system"]["limits"]["rtprio"] = 99.into();
            record
        })
        .collect();
    w.file(&format!("{name}.json"), serde_json::to_string(&records).unwrap());
}

fn words(json: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(json).unwrap();
    let rows = json["runs"][0]["rows"].as_array().unwrap();
    rows.iter().map(|r| format!("{} {}", r["metric"].as_str().unwrap(), r["word"].as_str().unwrap())).collect()
}

#[test]
fn differences_have_intervals_and_words() {
    let w = World::new();
    side(&w, "old", 10_000, 0..5);
    side(&w, "same", 10_000, 5..10);
    side(&w, "new", 13_000, 10..15);
    side(&w, "few", 13_000, 20..22);
    let all = ["mean", "p50", "p99", "p99.9", "block-max"];
    let each = |word: &str| all.map(|metric| format!("{metric} {word}"));
    assert_eq!(words(&w.line("compare old.json new.json --json").ends_with(0).out), each("worse"));
    assert_eq!(words(&w.line("compare new.json old.json --json").ends_with(0).out), each("better"));
    assert_eq!(words(&w.line("compare old.json same.json --json").ends_with(0).out), each("no_difference"));
    assert_eq!(words(&w.line("compare old.json few.json --json").ends_with(0).out), each("too_few"));
    let shown = w.line("compare old.json new.json").ends_with(0).out;
    assert!(shown.contains("Whole runs, load none (A 5 runs, B 5 runs") && shown.contains("max of 256ms us"), "{shown}");
    assert_eq!(shown, w.line("compare old.json new.json").ends_with(0).out, "the seed says all");
    let few = w.line("compare old.json few.json").ends_with(0).out;
    assert!(few.contains("too few runs: take "), "{few}");
    // The page has the forest plot and the maxima.
    w.line("compare old.json new.json --html page.html").ends_with(0);
    let page = std::fs::read_to_string(w.path("page.html")).unwrap();
    assert!(page.contains("B against A, whole runs") && page.contains("Maximum of each run"));
}

#[test]
fn ci_fails_on_what_is_worse_and_on_what_can_not_be_told() {
    let w = World::new();
    side(&w, "old", 10_000, 0..4);
    side(&w, "new", 13_000, 10..14);
    side(&w, "one", 10_000, 20..21);
    for (words, code, said) in [
        ("compare old.json new.json --fail-if worse", 1, "FAIL      load none: mean is worse, p50 is worse"),
        ("compare old.json new.json --fail-if worse:p99.9:20", 1, "FAIL      load none: p99.9 is worse"),
        ("compare old.json new.json --fail-if worse:p99.9:40", 0, "pass      not worse"),
        ("compare new.json old.json --fail-if worse --fail-if worse:mean", 0, "pass      not worse\npass      not worse"),
        ("compare old.json one.json --fail-if worse:mean", 1, "FAIL      load none: mean: too few runs, take "),
    ] {
        let out = w.line(words).ends_with(code).out;
        assert!(out.contains(said), "{words}: {out}");
    }
    let json = w.line("compare old.json new.json --fail-if worse --json").ends_with(1).complains(&["FAIL      load none"]);
    assert!(serde_json::from_str::<Value>(&json.out).is_ok(), "JSON alone on standard output");
    w.line("compare old.json new.json --fail-if better").ends_with(2).complains(&["write worse, worse:METRIC"]);
    w.line("compare old.json new.json --fail-if worse --table adam").ends_with(2).complains(&["cannot be used with"]);
}

#[test]
fn how_long_to_measure() {
    let w = World::new();
    let out = w.line("plan p99.999<100us").ends_with(0).out;
    assert!(out.contains("299,572 of each thread") && out.contains("4 min 59 s at 1ms"), "{out}");
    side(&w, "old", 10_000, 0..5);
    let json = |words: &str| serde_json::from_str::<Value>(&w.line(words).ends_with(0).out).unwrap();
    let plan = json("plan p99.9<25us --from old.json --duration 1m --difference 20% --json");
    // Of exponential latencies, e^-12 are above 2.5 times the least height: one in 160,000.
    assert!(plan["claim"]["samples"].as_u64().unwrap() >= 2_995 && plan["runs"] == 5, "{plan}");
    let index = plan["extremal_index"].as_f64().unwrap();
    assert!((0.7..=1.0).contains(&index), "independent latencies: {index}");
    assert_eq!((&plan["time"]["samples"], plan["difference"]["rows"].as_array().unwrap().len()), (&60_000.into(), 5));
    // Twice the least height is passed by one in 3000: p99.99 can't be shown below it.
    assert_eq!(json("plan p99.99<20us --from old.json --json")["claim"]["samples"], Value::Null);
    // What is planned is enough for the assertion that it is for.
    let enough = json("plan p99<20us --from old.json --json")["claim"]["samples"].as_u64().unwrap();
    assert!(enough < 20_000, "{enough}");
    for (words, why) in [
        ("plan", "required"),
        ("plan max<5us", "is not a claim that more samples could show"),
        ("plan p99", "compares nothing"),
        ("plan --difference 20", "required"),
        ("plan p99<5us --from nothing.json", "nothing.json"),
        ("plan p99<5us --difference x --from old.json", "a percentage"),
    ] {
        w.line(words).ends_with(2).complains(&[why]);
    }
}

#[test]
fn new_runs_are_held_to_a_baseline() {
    let w = World::new();
    // Not everyone who runs the tests may have a real-time priority and lock memory, and a comparison takes no INVALID runs.
    let measure = "measure timer -D 300ms --policy other --no-mlockall --threads 1 -a 0 --no-save --quiet";
    let said = w.line(&format!("{measure} --repeat 3 --json"));
    assert_eq!(said.out.lines().count(), 3, "{}", said.out);
    w.file("base.json", said.out);
    // What the words are is the machine's affair; that they decide is not.
    let said = w.line(&format!("{measure} --repeat 3 --baseline base.json --fail-if worse:p50:900000"));
    let passed = said.out.ends_with("pass      not worse\n");
    assert!(passed || said.out.lines().last().unwrap().starts_with("FAIL      load none: "), "{}", said.out);
    assert!(
        said.out.contains("B, these runs, beside A, the baseline") && said.out.contains("Whole runs, load none"),
        "{}",
        said.out
    );
    let said = if passed { said.ends_with(0) } else { said };
    assert!(passed || said.code != Some(0), "what is not shown does not pass");
    // Verdicts, limits and the comparison as files of CI.
    let files = "--junit out.xml --summary summary.md --assert missed>=0";
    for _ in 0..2 {
        w.line(&format!("{measure} --repeat 3 --baseline base.json --fail-if worse:p50:900000 {files}"));
    }
    let (xml, markdown) =
        (std::fs::read_to_string(w.path("out.xml")).unwrap(), std::fs::read_to_string(w.path("summary.md")).unwrap());
    assert!(xml.contains("testsuites name=\"rtscope\" tests=\"7\"") && xml.contains("name=\"not worse:p50:900000\""), "{xml}");
    assert_eq!((xml.matches("<testcase name=\"verdict\"").count(), xml.matches("missed&gt;=0").count() >= 3), (3, true));
    assert!(xml.contains("classname=\"rtscope.timer none #3\""), "readers take cases of one name for one: {xml}");
    assert_eq!(markdown.matches("### rtscope").count(), 2, "it is appended to: {markdown}");
    assert!(markdown.contains("| of each run | baseline us | now us |"), "{markdown}");
    // One new run tells nothing.
    let one = w.line(&format!("{measure} --baseline base.json --fail-if worse"));
    assert!(one.out.contains("too few runs") && one.code != Some(0), "{}", one.out);
    for (words, why) in [
        ("--fail-if worse", "required"),
        ("--baseline nothing.json", "nothing.json"),
        ("--repeat 0", "0"),
        ("--repeat 2 --raw x.csv", "--raw takes one run"),
    ] {
        w.line(&format!("{measure} {words}")).ends_with(2).complains(&[why]);
    }
}

#[test]
fn exports_for_ci_and_labs() {
    let w = World::new();
    side(&w, "some", 10_000, 0..2);
    for (format, begins, holds) in [
        ("junit", "<?xml", "<testcase name=\"verdict\" classname=\"rtscope.timer none\">"),
        ("tap", "TAP version 14\n1..2\n", "ok 2 - rtscope.timer none \\#2: verdict"),
        ("lava", "lava-test-case rtscope.timer.none.verdict --result ", "timer.none.all.p99_9 --result "),
        ("kcidb", "{\"tests\":[{", "\"path\":\"rtscope.timer.none.all.p99_9\""),
        ("openmetrics", "# TYPE rtscope_dropped gauge\n", "quantile=\"0.999\"} "),
        ("markdown", "| run | load |", "| some-1 | none | local |"),
        ("latex", "% \\usepackage{booktabs}\n", "\\bottomrule"),
    ] {
        let out = w.line(&format!("export some.json --format {format}")).ends_with(0).out;
        assert!(out.starts_with(begins) && out.contains(holds), "{format}: {out}");
        w.line(&format!("export some.json --format {format} -o file")).ends_with(0);
        assert_eq!(std::fs::read_to_string(w.path("file")).unwrap(), out);
    }
    for format in ["parquet", "parquet-buckets"] {
        w.line(&format!("export some.json --format {format} -o file")).ends_with(0);
        let bytes = std::fs::read(w.path("file")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{format}");
    }
    w.line("export some.json --format xml").ends_with(2).complains(&["`xml` is not a format", "junit, tap"]);
}
