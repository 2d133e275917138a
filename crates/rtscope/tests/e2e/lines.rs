//! Tests over software lines, from the command line to the record: counts are exact, lines are released, and errors say what to
//! do.

use crate::schema::holds_to_the_schema;
use crate::world::{Said, World, codes, end_of, privileged, signal, wait_for};
use rtscope_record::system::Preemption;
use rtscope_record::{Distribution, Record, Test, Verdict};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Two lines for this test only.
fn lines(of: &str) -> (String, String) {
    let id = std::process::id();
    (format!("soft:{of}-{id}-a"), format!("soft:{of}-{id}-b"))
}

/// The file of a line; it exists only while somebody uses the line.
fn file(line: &str) -> PathBuf {
    use std::os::unix::fs::MetadataExt;
    let uid = std::fs::metadata("/proc/self").unwrap().uid();
    PathBuf::from(format!("/dev/shm/rtscope-{uid}/line-{}", line.strip_prefix("soft:").unwrap()))
}

fn sum(r: &Record, f: impl Fn(&Distribution) -> u64) -> u64 {
    r.distributions().iter().map(f).sum()
}

fn labels(r: &Record) -> Vec<&str> {
    r.distributions().iter().map(Distribution::label).collect()
}

#[test]
fn a_response_is_measured_kept_and_shown() {
    let w = World::new();
    let (a, b) = lines("kept");
    let said: Said = w.line(&format!("measure response --stimulus {a} --answer {b} -i 2ms -l 200 --calibrate --json")).measured();
    let value: Value = serde_json::from_str(&said.out).unwrap();
    holds_to_the_schema(&value, "");
    let r = said.record();
    assert_eq!((r.parts().test, labels(&r)), (Test::Response, vec!["rising", "falling"]));
    assert_eq!(sum(&r, |d| d.parts().expected.unwrap()), 200);
    assert!(r.distributions().iter().all(|d| d.count() + d.missed() == 100), "{:?}", r.distributions());
    let i = r.parts().instrument.as_ref().unwrap();
    assert_eq!((i.warmup.as_ref().unwrap().stimuli, i.calibration.as_ref().unwrap().count), (10, 1000));
    assert_eq!((i.stimulus.as_ref().unwrap().name.clone(), i.lost), (a.clone(), 0));
    assert!(codes(&r).contains(&"software-line"));
    assert!(!file(&a).exists() && !file(&b).exists());
    let shown = w.line("show").measured().out;
    assert!(
        ["rising", "falling", "Instrument", "software line", "null wire", "uncertainty"].iter().all(|t| shown.contains(t)),
        "{shown}"
    );
}

#[test]
fn injected_faults_come_back_counted_exactly() {
    let w = World::new();
    let (a, b) = lines("inject");
    let words = format!("measure response --stimulus {a} --answer {b} -i 100ms --timeout 60ms -l 40 --warmup 0 --json --no-save");
    let inject = "delay=1ms,slow=80ms/10,drop=7,double=8";
    let r = w.line(&format!("{words} --inject {inject}")).ends_with(4).record();
    // Of 20 pulses, the 7th and 14th are dropped. Of 36 answers, the 10th, 20th and 30th are late, and the 8th, 16th, 24th and
    // 32nd are doubled; all of these are falling edges.
    let counts = |d: &Distribution| (d.count(), d.missed(), d.late(), d.spurious());
    assert_eq!(r.distributions().iter().map(counts).collect::<Vec<_>>(), [(18, 2, 0, 4), (15, 5, 3, 4)]);
    assert!(r.distributions().iter().all(|d| d.min() >= Some(1_000_000)));
    assert!(codes(&r).contains(&"injected"));
}

#[test]
fn a_wave_drifts_as_it_was_made_to() {
    let w = World::new();
    let (_, b) = lines("wave");
    let r =
        w.line(&format!("measure periodic --answer {b} -i 5ms -D 2s --inject skew=50000 --json --no-save")).ends_with(4).record();
    assert_eq!(labels(&r), ["rising late", "rising early", "falling late", "falling early"]);
    let grid = r.parts().instrument.as_ref().unwrap().grid.unwrap();
    // 5 %, whatever the machine does to single edges.
    assert!((40_000_000..60_000_000).contains(&grid.drift_ppb), "{grid:?}");
    assert!(r.distributions().iter().all(|d| d.parts().expected == Some(d.count() + d.missed() + d.dropped())));
    assert!(!file(&b).exists());
}

#[test]
fn a_wave_is_drawn_as_the_papers_figures() {
    let w = World::new();
    let (_, b) = lines("drawn");
    let r = w.line(&format!("measure periodic --answer {b} -i 2ms -D 200ms --json")).measured().record();
    w.line("report all --svg pictures -o page.html").ends_with(0);
    // Without a real-time priority a run is INVALID, and of no figure; nor is one in user space on PREEMPT_RT.
    let stock = !matches!(r.parts().system.kernel.preemption, Preemption::Rt | Preemption::Unknown);
    let drawn = stock && r.verdict() != Verdict::Invalid;
    for number in 7..=11 {
        assert_eq!(w.path(format!("pictures/vinh-chau-fig-{number}.svg")).exists(), drawn, "Fig. {number}: {:?}", r.verdict());
    }
    if drawn {
        let read = |name: &str| fs::read_to_string(w.path(name)).unwrap();
        assert!(read("pictures/vinh-chau-fig-7.svg").contains(&format!("{} samples of 1 run", sum(&r, Distribution::count))));
        assert!(read("pictures/vinh-chau-fig-8.svg").contains("none of the runs that count is of this figure"));
        w.line("papers --paper vinh-chau -o papers.html").ends_with(0);
        let page = read("papers.html");
        for number in 7..=11 {
            assert!(page.contains(&format!("vinh-chau Fig. {number}: ")), "{number}");
        }
        w.line("papers --paper balci-2017 -o balci.html").ends_with(0);
        assert!(!read("balci.html").contains("vinh-chau Fig."));
    }
}

#[test]
fn the_sustained_frequency_is_below_that_of_the_service_time() {
    let w = World::new();
    let (a, b) = lines("sustained");
    let words = format!("measure sustained --stimulus {a} --answer {b} -i 40ms -D 500ms --inject delay=4ms --json --no-save");
    let said = w.line(&words);
    // On a machine that stalls for longer than the longest interval no limit can be found, and the error says so.
    if said.code == Some(3) {
        said.complains(&["was every stimulus answered"]);
        return;
    }
    let r = said.ends_with(4).record();
    let i = r.parts().instrument.as_ref().unwrap();
    assert!(i.sustained.unwrap().0 >= 4_000_000, "{i:?}");
    let last = i.search.last().unwrap();
    assert!(last.confirming && last.sustained && last.missed == 0);
    assert_eq!(sum(&r, |d| d.parts().expected.unwrap()), last.stimuli);
}

#[test]
fn a_device_of_its_own_and_lines_that_are_taken_or_swapped() {
    let w = World::new();
    let (a, b) = lines("two");
    let dut = w.start(&format!("dut response --in {a} --out {b} --json"));
    wait_for("the DUT's lines", || file(&b).exists().then_some(()));
    let measure = "measure response --dut none -i 2ms -l 50 --json --no-save --stimulus";
    let r = w.line(&format!("{measure} {a} --answer {b}")).measured().record();
    assert_eq!(sum(&r, |d| d.parts().expected.unwrap()), 50);
    assert!(r.parts().instrument.as_ref().unwrap().dut.contains("another program"));
    w.line(&format!("{measure} {b} --answer {a}")).ends_with(3).complains(&[&b, "in use", "swapped"]);
    w.line(&format!("dut response --in {a} --out {b}")).ends_with(3).complains(&[&b, "in use"]);
    signal(dut.id(), libc::SIGINT);
    let said = end_of(dut).ends_with(0);
    let done: Value = serde_json::from_str(&said.out).unwrap();
    assert!(done["answers"].as_u64().unwrap() >= 60, "{done}");
    assert!(!file(&a).exists() && !file(&b).exists());
}

#[test]
fn a_device_that_is_killed_ends_the_run_and_the_record_says_so() {
    let w = World::new();
    let (a, b) = lines("killed");
    let dut = w.start(&format!("dut response --in {a} --out {b}"));
    wait_for("the DUT's lines", || file(&b).exists().then_some(()));
    let measure =
        w.start(&format!("measure response --dut none --stimulus {a} --answer {b} -i 5ms --warmup 0 -D 1m --json --no-save"));
    crate::world::probe_of(measure.id());
    signal(dut.id(), libc::SIGKILL);
    end_of(dut);
    let r = end_of(measure).ends_with(4).record();
    assert!(codes(&r).contains(&"dut-silent"), "{:?}", codes(&r));
    assert!(sum(&r, Distribution::count) > 0 && sum(&r, Distribution::missed) >= 20);
}

#[test]
fn a_device_that_dies_during_a_search_is_said_to_be_dead() {
    let w = World::new();
    let (a, b) = lines("searched");
    let dut = w.start(&format!("dut response --in {a} --out {b}"));
    wait_for("the DUT's lines", || file(&b).exists().then_some(()));
    let words = format!("measure sustained --dut none --stimulus {a} --answer {b} -i 100ms --shortest 100ms -D 1m --no-save");
    let measure = w.start(&words);
    // In the middle of the first trial, which takes 2 s: some stimuli have been answered.
    let page = || fs::read(file(&b)).unwrap();
    for _ in 0..4 {
        let before = page();
        wait_for("an answer", || (page() != before).then_some(()));
    }
    signal(dut.id(), libc::SIGKILL);
    end_of(dut);
    end_of(measure).ends_with(3).complains(&["the DUT died", &b]);
}

#[test]
fn mishaps_name_the_line_and_the_remedy() {
    let w = World::new();
    let (a, b) = lines("mishap");
    let both = format!("--stimulus {a} --answer {b}");
    for (words, code, says) in [
        ("measure response -D 1s".to_owned(), 2, vec!["--answer LINE"]),
        ("measure response --stimulus tin:can --answer soft:b -D 1s".into(), 2, vec!["tin:can", "gpio:CHIP/OFFSET"]),
        (format!("measure response --stimulus {a} --answer {a}"), 2, vec![&a, "--calibrate"]),
        (format!("measure response {both} -i 1ms --timeout 2ms"), 2, vec!["time-out", "--timeout"]),
        (format!("measure response {both} -i 2ms --interval-max 1ms"), 2, vec!["--interval-max"]),
        (format!("measure response {both} --raw x.csv"), 2, vec!["--raw"]),
        (format!("measure timer {both}"), 2, vec!["no lines"]),
        (format!("measure response {both} --inject melt=1"), 2, vec!["melt", "delay=TIME"]),
        (format!("measure response {both} --dut none -D 1s"), 3, vec![&a, "rtscope dut response"]),
        (format!("measure periodic --answer {b} --dut none -D 1s"), 3, vec![&b, "rtscope dut periodic"]),
        (format!("measure response {both} -i 1ms -l 50 --inject drop=1"), 3, vec!["no edge came back", &b, "swapped"]),
        ("measure response --stimulus gpio:no-such-chip/1 --answer soft:b --dut none".into(), 3, vec!["gpio:no-such-chip/1"]),
        ("measure response --stimulus serial:/dev/null:rts --answer soft:b --dut none".into(), 2, vec!["modem-control"]),
        ("dut response --in soft:x --out soft:x".into(), 2, vec!["soft:x", "two lines"]),
    ] {
        w.line(&words).ends_with(code).complains(&says);
    }
    assert!(!file(&a).exists() && !file(&b).exists() && !w.archive().exists());
    if privileged() {
        assert!(w.records().is_empty());
    }
}

#[test]
fn adams_tables_pictures_and_text_of_a_record() {
    let w = World::new();
    let (a, b) = lines("adam");
    let r = w.line(&format!("measure response --stimulus {a} --answer {b} -i 2ms -l 60 --worst 100 --json")).measured().record();
    let shown = w.line("compare latest --below 1ns --below 1h").ends_with(0).out;
    // On a busy machine answers may be missed: then the shares differ, and columns for late answers replace others.
    for part in ["Response latency in us", "min/max (wcrl)", "below 1ns", "below 1h", "PREEMPT_RT"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let json: Value = serde_json::from_str(&w.line("compare latest --table adam --below 1h --json").ends_with(0).out).unwrap();
    let share = &json["groups"][0]["both"]["shares"][0];
    assert_eq!((share["below"].as_u64(), share["of"].as_u64()), (Some(sum(&r, Distribution::count)), Some(60)));
    assert_eq!(json["groups"][0]["edges"][1]["edge"], "falling");
    w.line("report latest -o page.html --svg pictures --below 50us").ends_with(0);
    let page = std::fs::read_to_string(w.path("page.html")).unwrap();
    assert!(page.contains("id=\"lines\"") && page.contains("below 50us") && w.path("pictures/response-worst.svg").exists());

    w.line("export latest --format adam -o report.txt").ends_with(0);
    let text = std::fs::read_to_string(w.path("report.txt")).unwrap();
    assert!(text.contains(&format!("Samples: {}, average (mean)", sum(&r, Distribution::count))), "{text}");
    let again = w.line("import report.txt --json").ends_with(0).record();
    assert_eq!(
        (sum(&again, Distribution::count), sum(&again, Distribution::missed)),
        (sum(&r, Distribution::count), sum(&r, Distribution::missed))
    );

    // The same run as another instrument would have seen it.
    let mut other = r.clone().into_parts();
    other.id += "-scope";
    other.instrument.as_mut().unwrap().what = "an oscilloscope".into();
    std::fs::write(w.path("scope.json"), serde_json::to_string(&Record::new(other).unwrap()).unwrap()).unwrap();
    let id = r.id();
    let json: Value = serde_json::from_str(&w.line(&format!("compare {id} scope.json --json")).ends_with(0).out).unwrap();
    let offset = &json["agreement"][0]["edges"][0]["offset"];
    assert_eq!((offset["how"].as_str(), offset["mean"].as_f64()), (Some("pairs"), Some(0.0)), "{offset}");
    let shown = w.line(&format!("compare {id} scope.json --html both.html")).ends_with(0).out;
    assert!(
        shown.contains("The same run, two instruments")
            && std::fs::read_to_string(w.path("both.html")).unwrap().contains("an oscilloscope")
    );
}

#[test]
fn in_the_kernel_what_is_missing_or_refused_is_said_and_nothing_is_left() {
    let w = World::new();
    fs::create_dir(w.path("modules")).unwrap();
    w.file("modules/rtscope_wire.ko", "no module");
    w.file("modules/rtscope_timer.ko", "no module");
    let run = |words: &str, modules: &Path| -> Said {
        w.command(&words.split_whitespace().collect::<Vec<_>>()).env("RTSCOPE_MODULES", modules).output().unwrap().into()
    };
    let timer = "measure timer -D 200ms --space kernel";
    run(timer, &w.path("nowhere")).ends_with(3).complains(&["nowhere/rtscope_timer.ko"]);
    run(timer, &w.path("modules")).ends_with(3).complains(&["rtscope_timer.ko can't be loaded"]);
    let wire = "--space kernel --stimulus wire:stimulus --answer wire:answer";
    run(&format!("measure response -D 200ms {wire}"), &w.path("modules")).ends_with(3).complains(&["rtscope_response.ko"]);
    w.file("modules/rtscope_response.ko", "no module");
    run(&format!("measure response -D 200ms {wire}"), &w.path("modules"))
        .ends_with(3)
        .complains(&["rtscope_wire.ko can't be loaded"]);
    let dut = "dut response --space kernel --in gpio:no-such-chip/0 --out gpio:no-such-chip/1";
    run(dut, &w.path("modules")).ends_with(3).complains(&["rtscope_response.ko can't be loaded"]);
    let journal = w.path("state").join("rtscope/journal");
    assert_eq!(fs::read_dir(&journal).unwrap().count(), 0, "nothing is left to be undone");
    for (words, complaint) in [
        ("dut response --space kernel --in soft:a --out soft:b", "not a line for a kernel module"),
        ("dut response --space kernel --in gpio:a/0 --out gpio:a/1 --priority 50", "no priority"),
        ("dut response --space kernel --in gpio:a/0 --out gpio:a/1 --handler soft", "no soft handler"),
        ("dut periodic --space kernel --out gpio:a/1 --semi-period 5us", "semi-period"),
        ("dut response --in soft:a --out soft:b --handler hard", "no handler to choose"),
        ("measure timer --space kernel --migrate", "pinned"),
        ("measure timer --space kernel --raw x.csv", "--raw"),
        ("measure timer --handler soft", "no handler to choose"),
        ("measure response --space kernel --stimulus soft:a --answer soft:b --dut own", "not a line for a kernel module"),
        ("measure response --space kernel --stimulus soft:a --answer soft:b", "not a line for a kernel module"),
        ("measure periodic --space kernel --answer soft:b", "not a line for a kernel module"),
    ] {
        w.line(words).ends_with(2).complains(&[complaint]);
    }
}

#[test]
fn a_run_breaks_at_the_missed_that_it_was_given() {
    let w = World::new();
    let (a, b) = lines("broken");
    // One of ten pulses is not answered: two stimuli.
    let words =
        format!("--stimulus {a} --answer {b} --inject drop=10 -i 2ms --timeout 1ms -D 1h --break-missed 3 --json --no-save");
    let r = w.line(&format!("measure response {words}")).ends_with(4).record();
    let missed: u64 = r.distributions().iter().map(Distribution::missed).sum();
    assert!(missed >= 3 && !r.parts().interrupted, "{missed}");
    assert_eq!(r.parts().settings.lines.as_ref().unwrap().shape.break_missed, Some(3));
    assert!(codes(&r).contains(&"broken"), "{:?}", codes(&r));
    w.line(&format!("measure sustained {words}")).ends_with(2).complains(&["can't break at 3 missed"]);
    w.line("measure response --stimulus soft:a --answer soft:b --break-missed 0").ends_with(2).complains(&["can't break at 0"]);
}
