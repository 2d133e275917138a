//! Files of jitterdebugger, rtla, oslat, stress-ng, the kernel's tracers and LAVA: every count is in the record, and what
//! contradicts itself is refused.

use rtscope_archive::Format;
use rtscope_archive::formats::{ImportOptions, detect, export, import};
use rtscope_record::{Distribution, Origin, Record, Space, Verdict};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tools").join(name);
    std::fs::read(path).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn text(name: &str) -> String {
    String::from_utf8(bytes(name)).unwrap()
}

fn options() -> ImportOptions {
    ImportOptions::new("file", SystemTime::UNIX_EPOCH)
}

fn all(bytes: &[u8]) -> Vec<Record> {
    let records = import(bytes, &options()).unwrap();
    for r in &records {
        assert_eq!((r.verdict() == Verdict::Valid, r.parts().origin), (false, Some(Origin::Imported)));
        // What is stored is what was read.
        assert_eq!(&serde_json::from_str::<Record>(&serde_json::to_string(r).unwrap()).unwrap(), r);
    }
    records
}

fn one(bytes: &[u8]) -> Record {
    let mut records = all(bytes);
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn refused(text: &str) -> String {
    import(text.as_bytes(), &options()).map(|r| panic!("{r:?}")).unwrap_err().to_string()
}

/// The lines of a text that a condition holds for.
fn lines_that(text: &str, is: impl Fn(&str) -> bool) -> String {
    text.split_inclusive('\n').filter(|l| is(l)).collect()
}

fn codes(r: &Record) -> Vec<&str> {
    r.parts().warnings.iter().map(|w| w.code.as_str()).collect()
}

/// The bins of a distribution in its unit, where it has bins of one unit.
fn bins(d: &Distribution) -> Vec<(u64, u64)> {
    d.parts().linear.clone().unwrap().counts
}

fn sum(histogram: &Value) -> u64 {
    histogram.as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
}

#[test]
fn every_format_is_found_by_looking() {
    let files = [
        ("jitterdebugger-lost.json", Format::Jitterdebugger),
        ("jitterdebugger-ns.json", Format::Jitterdebugger),
        ("jitterdebugger-a1.raw", Format::JitterdebuggerRaw),
        ("rtla61-timerlat.txt", Format::RtlaTimerlat),
        ("rtla61-osnoise.txt", Format::RtlaOsnoise),
        ("oslat24.json", Format::Oslat),
        ("stress-ng-fifo.txt", Format::StressNg),
        ("hwlat.txt", Format::Hwlat),
        ("timerlat.txt", Format::Timerlat),
        ("lava-result.txt", Format::Lava),
        ("lava-signals.txt", Format::Lava),
    ];
    for (name, format) in files {
        assert_eq!(detect(&bytes(name)), Some(format), "{name}");
    }
    assert_eq!(detect(&bytes("jitterdebugger-a1.raw")[..100]), Some(Format::JitterdebuggerRaw), "the beginning is enough");
    assert_eq!(detect(&[0; 56]), None, "zeros are no raw samples");
    assert_eq!(detect(b"the quick brown fox jumps ov"), None, "28 bytes of text are no raw sample");
}

#[test]
fn jitterdebugger_counts_what_its_histogram_lacks() {
    for (name, unit) in [("jitterdebugger-lost.json", 1000), ("jitterdebugger-a1.json", 1000), ("jitterdebugger-ns.json", 1)] {
        let theirs: Value = serde_json::from_slice(&bytes(name)).unwrap();
        let r = one(&bytes(name));
        assert_eq!(r.distributions().len(), theirs["cpu"].as_object().unwrap().len());
        let mut lost = 0;
        for (nr, d) in r.distributions().iter().enumerate() {
            let thread = &theirs["cpu"][nr.to_string()];
            let stated = |key: &str| thread[key].as_u64().unwrap();
            assert_eq!(d.label(), format!("thread{nr}"));
            assert_eq!((d.count(), d.overflow()), (stated("count"), stated("count") - sum(&thread["histogram"])), "{name}");
            assert_eq!((d.min(), d.max()), (Some(stated("min") * unit), Some(stated("max") * unit)));
            for (bin, n) in bins(d) {
                assert_eq!(thread["histogram"][bin.to_string()].as_u64(), Some(n));
            }
            assert_eq!(bins(d).len(), thread["histogram"].as_object().unwrap().len());
            lost += d.overflow();
        }
        assert_eq!(codes(&r).contains(&"histogram-incomplete"), lost > 0, "{name}");
        assert!(codes(&r).contains(&"cpus-unknown") && codes(&r).contains(&"missed-unknown"));
    }
    let r = one(&bytes("jitterdebugger-lost.json"));
    let lost: u64 = r.distributions().iter().map(Distribution::overflow).sum();
    assert!(lost > 0);
    let told = r.parts().warnings.iter().find(|w| w.code == "histogram-incomplete").unwrap();
    assert!(told.message.starts_with(&format!("{lost} samples")), "{}", told.message);
}

#[test]
fn contradictions_in_jitterdebuggers_results_are_refused_with_the_line() {
    const AVERAGE: &str = "\"avg\": 144.45";
    let good = text("jitterdebugger-a1.json");
    let line = |of: &str| good.lines().position(|l| l.contains(of)).unwrap() + 1;
    for (from, to) in [
        ("\"min\": 17", "\"min\": 16"),
        ("\"count\": 60", "\"count\": 6"),
        ("\"max\": 2404", "\"max\": 3"),
        (AVERAGE, "\"avg\": 15.00"),
        (AVERAGE, "\"avg\": 2405.00"),
        (AVERAGE, "\"avg\": 900.00"),
    ] {
        assert!(good.contains(from), "{from}");
        let told = refused(&good.replace(from, to));
        // Where the thread's figures end.
        assert!(told.starts_with(&format!("line {}: this thread: ", line("\"avg\"") + 2)), "{told}");
    }
    let bin = good.lines().find(|l| l.trim_start().starts_with("\"440\"")).unwrap();
    let told = refused(&good.replace(bin, &format!("{bin}\n{bin}")));
    assert_eq!(told, format!("line {}: `440` is there twice", line("\"440\"") + 1));
    let told = refused(&good.replace("\"max\": 2404", "\"max\": 900").replace(AVERAGE, "\"avg\": 93.00"));
    assert!(told.contains("the histogram, which ends at 1 ms"), "{told}");
    assert!(refused(&good[..good.len() / 2]).contains("invalid JSON: EOF"));
    assert!(refused(&good.replace("\"version\": 3", "\"version\": 9")).contains("version 9"));
}

#[test]
fn raw_samples_are_all_there() {
    let file = bytes("jitterdebugger-a1.raw");
    let r = one(&file);
    let d = &r.distributions()[0];
    let values: Vec<u64> = file.chunks(28).map(|c| u64::from_le_bytes(c[20..].try_into().unwrap())).collect();
    assert_eq!((r.distributions().len(), d.count(), d.overflow()), (1, values.len() as u64, 0));
    assert_eq!(d.max(), values.iter().max().map(|v| v * 1000));
    assert_eq!(d.mean(), Some(values.iter().sum::<u64>() as f64 * 1000.0 / values.len() as f64));
    assert!(codes(&r).contains(&"unit-assumed") && codes(&r).contains(&"count-unknown"));
    // The sample that results.json of the same run leaves out of its histogram.
    let json = one(&bytes("jitterdebugger-a1.json"));
    assert_eq!((json.distributions()[0].max(), json.distributions()[0].overflow() > 0), (d.max(), true));

    let ns = import(&file, &ImportOptions { nanoseconds: Some(true), ..options() }).unwrap().remove(0);
    assert_eq!(ns.distributions()[0].max(), values.iter().max().copied());
    let raw = ImportOptions { format: Some(Format::JitterdebuggerRaw), ..options() };
    let cut = import(&file[..file.len() - 3], &raw).unwrap_err().to_string();
    assert_eq!(cut, format!("sample {} (byte {}): the file ends within it: is it cut off?", values.len(), file.len() - 28));
    let mut swapped = file[28..56].to_vec();
    swapped.extend(&file[..28]);
    assert!(import(&swapped, &raw).unwrap_err().to_string().starts_with("sample 2 (byte 28): it was taken before"));
}

/// The columns of rtla's text: head, (index, count), and the lines below.
type Columns = BTreeMap<String, (Vec<(u64, u64)>, BTreeMap<String, String>)>;

fn rtla(text: &str) -> Columns {
    let mut heads = Vec::new();
    let mut columns = Columns::new();
    for line in text.lines().take_while(|l| !l.starts_with("ALL:")) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells[0] == "Index" {
            heads = cells[1..].iter().map(|h| (*h).to_owned()).collect();
        } else if !heads.is_empty() && cells.len() == heads.len() + 1 {
            for (head, cell) in heads.iter().zip(&cells[1..]) {
                let column = columns.entry(head.clone()).or_default();
                match cells[0].strip_suffix(':') {
                    Some(name) => drop(column.1.insert(name.into(), (*cell).into())),
                    None if *cell != "0" => column.0.push((cells[0].parse().unwrap(), cell.parse().unwrap())),
                    None => {}
                }
            }
        }
    }
    columns
}

#[test]
fn rtlas_columns_are_records_of_their_own() {
    let files = [
        ("rtla61-timerlat.txt", 1000, 2),
        ("rtla618-timerlat-user.txt", 1000, 3),
        ("rtla618-timerlat-ns.txt", 1, 2),
        ("rtla61-osnoise.txt", 1000, 1),
    ];
    for (name, unit, kinds) in files {
        let (columns, records) = (rtla(&text(name)), all(&bytes(name)));
        assert_eq!(records.len(), kinds, "{name}");
        let mut seen = 0;
        for d in records.iter().flat_map(Record::distributions) {
            let (cpu, kind) = d.label().split_once(' ').unwrap();
            let tag = match kind {
                "irq" => "IRQ",
                "thread" => "Thr",
                "user" => "Usr",
                _ => "CPU",
            };
            let (rows, below) = &columns[&format!("{tag}-{:03}", cpu[3..].parse::<u32>().unwrap())];
            let stated = |key: &str| below[key].parse::<u64>().ok();
            assert_eq!(&bins(d), rows, "{name}: {}", d.label());
            assert_eq!((Some(d.count()), Some(d.overflow())), (stated("count"), stated("over")));
            assert_eq!((d.min(), d.max()), (stated("min").map(|v| v * unit), stated("max").map(|v| v * unit)));
            seen += 1;
        }
        assert_eq!(seen, columns.len());
    }
    let timerlat = all(&bytes("rtla61-timerlat.txt"));
    assert_eq!(timerlat[1].distributions()[0].overflow(), 2, "`over:` is kept");
    assert!(codes(&timerlat[1]).contains(&"overflow") && codes(&timerlat[0]).contains(&"other-quantity"));
    assert!(timerlat[0].id().ends_with("-irq") && timerlat[1].id().ends_with("-thread"));
    let user = all(&bytes("rtla618-timerlat-user.txt"));
    assert_eq!(user[2].parts().space, Space::User);
    assert!(codes(&all(&bytes("rtla618-timerlat-ns.txt"))[0]).contains(&"dropped"));
}

#[test]
fn wide_rows_of_rtla_keep_every_count_and_the_extremes() {
    let name = "rtla61-timerlat-wide.txt";
    let columns = rtla(&text(name));
    for (r, head) in all(&bytes(name)).iter().zip(["IRQ-000", "Thr-000"]) {
        let (d, (rows, below)) = (&r.distributions()[0], &columns[head]);
        assert_eq!(d.histogram().total(), rows.iter().map(|r| r.1).sum::<u64>());
        assert_eq!(d.parts().resolution, 10_000);
        assert_eq!(d.max(), Some(below["max"].parse::<u64>().unwrap() * 1000));
        assert!(codes(r).contains(&"bins-unknown"));
        // No row has more or fewer samples than the text says.
        for &(index, n) in rows {
            let held: u64 = d.histogram().iter().filter(|b| b.1 / 10_000 == index / 10).map(|b| b.2).sum();
            assert_eq!(held, n, "{head} {index}");
        }
    }
}

#[test]
fn contradictions_in_rtlas_text_are_refused_with_the_line() {
    let good = text("rtla618-timerlat-user.txt");
    let lines: Vec<&str> = good.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        lines.join("\n") + "\n"
    };
    let at = |start: &str| lines.iter().position(|l| l.starts_with(start)).unwrap();
    let row = at("3 ");
    let told = refused(&with(row, &lines[row].replacen("118", "119", 1)));
    assert!(told.starts_with(&format!("line {}: cpu0 thread: ", at("count:") + 1)), "{told}");
    let told = refused(&with(row, &lines[row].replacen("118", "", 1)));
    assert_eq!(told, format!("line {}: 5 counts, but there are 6 columns", row + 1));
    let told = refused(&with(at("over:"), &lines[at("over:")].replacen('0', "4", 1)));
    assert!(told.starts_with(&format!("line {}: cpu0 irq: ", at("over:") + 1)), "{told}");
    let told = refused(&with(row, lines[row - 1]));
    assert_eq!(told, format!("line {}: index 2 is not above the one before it", row + 1));
    let told = refused(&with(lines.len() - 4, &lines[lines.len() - 4].replace("600", "601")));
    assert_eq!(told, format!("line {}: the columns of user give another figure for all CPUs", lines.len() - 3));
    // Of both CPUs and of all together, so that only the bins speak against it.
    let both = good.replace(lines[at("avg:")], &lines[at("avg:")].replace('7', "25"));
    let told = refused(&both.replace(lines[lines.len() - 2], &lines[lines.len() - 2].replace('7', "25")));
    assert!(told.starts_with(&format!("line {}: cpu0 user: the average is 25, but", at("avg:") + 1)), "{told}");
    let told = refused(&with(lines.len() - 2, &lines[lines.len() - 2].replace('7', "299")));
    assert_eq!(told, format!("line {}: the columns of user give another figure for all CPUs", lines.len() - 1));
    let told = refused(&with(row, "killed"));
    assert_eq!(told, format!("line {}: `killed` is no row of the histogram", row + 1));
    assert!(refused(&(lines[..at("max:")].join("\n") + "\n")).contains("the file ends without `max:`"));
    assert!(refused(good.trim_end()).ends_with("is it cut off?"));
    assert!(refused(&(good.clone() + &good)).contains("split the file"));
}

#[test]
fn oslats_last_bin_is_overflow_and_its_average_is_not_taken() {
    for name in ["oslat24.json", "oslat24-bias.json", "oslat24-wide.json"] {
        let theirs: Value = serde_json::from_slice(&bytes(name)).unwrap();
        let r = one(&bytes(name));
        let mut folded = 0;
        for (nr, d) in r.distributions().iter().enumerate() {
            let thread = &theirs["thread"][nr.to_string()];
            let histogram = thread["histogram"].as_object().unwrap();
            assert_eq!(d.label(), format!("cpu{}", thread["cpu"]));
            assert_eq!(d.count(), sum(&thread["histogram"]), "{name}");
            assert_eq!((d.min(), d.max()), (thread["min"].as_u64().map(|v| v * 1000), thread["max"].as_u64().map(|v| v * 1000)));
            let last = histogram.iter().max_by_key(|b| b.0.parse::<u64>().unwrap()).unwrap();
            let beyond = thread["max"].as_u64() > last.0.parse().ok();
            assert_eq!(d.overflow(), if beyond { last.1.as_u64().unwrap() } else { 0 });
            folded += d.overflow();
        }
        assert_eq!(codes(&r).contains(&"last-bin"), folded > 0, "{name}");
        assert!(codes(&r).contains(&"average-untrusted") && codes(&r).contains(&"other-quantity"));
        assert_eq!(codes(&r).contains(&"bins-shifted"), name.contains("bias"));
        assert_eq!(r.parts().system.kernel.release, "6.18.44-fc-v669");
        // Not the stated average, which may lie anywhere.
        let other = text(name).replace("\"avg\": 1", "\"avg\": 9");
        assert_eq!(one(other.as_bytes()).distributions()[0].mean(), r.distributions()[0].mean());
    }
    let odd = text("oslat24.json").replace("\"16\": 304", "\"13\": 304");
    assert!(refused(&odd).contains("`13` is there twice"), "{}", refused(&odd));
    let odd = text("oslat24.json").replace("-b 16", "-b 17");
    assert!(refused(&odd).contains("above the bin 16, which is not the last"), "{}", refused(&odd));
    assert_eq!(one(&bytes("oslat24.json")).distributions().iter().map(Distribution::overflow).collect::<Vec<_>>(), [304, 200]);
}

/// As 2.6 and later write it with `-W 500`: bins in us with three decimals, extremes in ns.
#[test]
fn oslats_mixed_units_are_told_apart() {
    let json = |min: u64| {
        format!(
            r#"{{"file_version": 1, "cmdline:": "oslat -W 500 -b 4 -D 1", "return_code": 0, "num_threads": 1, "thread": {{
            "0": {{"cpu": 3, "freq": 2597, "min": {min}, "avg": 412.5, "max": 90001, "duration": 1.000,
            "histogram": {{"0.500": 90, "1.000": 8, "2.000": 2}}}}}}}}"#
        )
    };
    let r = one(json(31).as_bytes());
    let d = &r.distributions()[0];
    assert_eq!((d.label(), d.count(), d.overflow(), d.min(), d.max()), ("cpu3", 100, 2, Some(31), Some(90_001)));
    assert_eq!(d.parts().resolution, 500);
    assert!(codes(&r).contains(&"mixed-units"));
    let told = refused(&json(501));
    assert!(told.starts_with("line 3: the minimum is 501, but there are samples in the bin up to 500"), "{told}");
}

#[test]
fn stress_ngs_figures_are_kept_and_lost_samples_told() {
    let r = one(&bytes("stress-ng-fifo.txt"));
    let d = &r.distributions()[0];
    assert_eq!((d.count(), d.overflow(), d.min(), d.max(), d.mean()), (934, 934, Some(8626), Some(32_421), Some(14_192.32)));
    assert!(codes(&r).contains(&"no-histogram") && !codes(&r).contains(&"dropped"));
    assert!(d.percentiles().is_empty(), "its percentiles are not taken");
    assert_eq!(r.parts().source.as_ref().unwrap().kept.iter().filter(|l| l.contains('%')).count(), 9);

    let r = one(&bytes("stress-ng-dist.txt"));
    let d = &r.distributions()[0];
    assert_eq!((d.count(), d.overflow(), d.dropped(), d.max()), (5000, 0, 8261 - 5000, Some(603_604)));
    assert_eq!(d.histogram().iter().filter(|b| b.0 < 20_000).map(|b| b.2).sum::<u64>(), 4466);
    // Its own median is 13178 ns: the upper end of the bin is not below.
    assert_eq!(d.percentiles()["p50"], 19_999);
    assert!(codes(&r).contains(&"dropped") && codes(&r).contains(&"wide-bins"));
    assert_eq!(r.verdict(), Verdict::Invalid);

    let good = text("stress-ng-dist.txt");
    for (from, to, line) in [(" 4466", " 4467", 5), ("min: 7309", "min: 97309", 5), ("20000        520", "20001        520", 20)] {
        assert!(good.contains(from), "{from}");
        let told = refused(&good.replace(from, to));
        assert!(told.starts_with(&format!("line {line}: ")), "{told}");
    }
    assert!(refused(&(good.clone() + &good)).starts_with("line 54: a second run"));
    assert!(refused(&good.split_inclusive('\n').take(4).collect::<String>()).contains("is it cut off?"));
}

#[test]
fn hwlats_gaps_are_two_records() {
    let records = all(&bytes("hwlat.txt"));
    let values = |r: &Record| -> Vec<(String, u64, Option<u64>)> {
        r.distributions().iter().map(|d| (d.label().into(), d.count(), d.max())).collect()
    };
    let expected =
        |what: &str, of: [u64; 2]| vec![(format!("cpu0 {what}"), 3, Some(of[0])), (format!("cpu1 {what}"), 3, Some(of[1]))];
    assert_eq!(values(&records[0]), expected("inner", [2_152_000, 16_000]));
    assert_eq!(values(&records[1]), expected("outer", [33_000, 16_000]));
    let told = records[0].parts().warnings.iter().find(|w| w.code == "longest-only").unwrap();
    assert!(told.message.contains("(54 in all)"), "{}", told.message);
    assert!(codes(&records[0]).contains(&"nmis"));

    let good = text("hwlat.txt");
    let without = lines_that(&good, |l| !l.contains("#2 "));
    assert!(codes(&one_of(&without)).contains(&"dropped"));
    let lost = good.replace("6/6", "6/9");
    assert!(codes(&one_of(&lost)).contains(&"events-lost"));
    assert!(refused(&good.replace("#3 ", "#2 ")).starts_with("line 8: sample 2 is there twice"));
    assert!(refused(good.trim_end()).starts_with("line 11: the file ends within this line"));
}

fn one_of(text: &str) -> Record {
    all(text.as_bytes()).remove(0)
}

#[test]
fn timerlats_contexts_are_records_of_their_own() {
    let good = text("timerlat.txt");
    let records = all(good.as_bytes());
    assert_eq!(records.len(), 2);
    for (r, context) in records.iter().zip(["irq", "thread"]) {
        for (cpu, d) in r.distributions().iter().enumerate() {
            let of = |l: &&str| l.contains(&format!("[{cpu:03}]")) && l.contains(&format!("context {context:>6} timer_latency"));
            let values: Vec<u64> =
                good.lines().filter(of).map(|l| l.split_whitespace().rev().nth(1).unwrap().parse().unwrap()).collect();
            assert_eq!((d.label(), d.count()), (format!("cpu{cpu} {context}").as_str(), 20));
            assert_eq!((d.min(), d.max()), (values.iter().min().copied(), values.iter().max().copied()));
            assert_eq!(d.mean(), Some(values.iter().sum::<u64>() as f64 / 20.0));
        }
        assert!(codes(r).contains(&"events-left-out"));
    }
    // The first three activations were overwritten.
    let late: String = lines_that(&good, |l| !["#1 ", "#2 ", "#3 "].iter().any(|n| l.contains(n)));
    let r = one_of(&late);
    assert_eq!((r.distributions()[0].count(), r.distributions()[0].dropped(), r.verdict()), (17, 3, Verdict::Invalid));
    let again = refused(&(good.clone() + &lines_that(&good, |l| l.contains("#20 "))));
    assert!(again.contains("activation 20 of CPU 0 after 20"), "{again}");
    let odd = refused(&good.replace("[000] d.h1.    54.028", "000    54.028").replacen("[000]", "[0x0]", 1));
    assert!(odd.starts_with("line 6: "), "{odd}");
}

#[test]
fn lavas_results_state_no_count() {
    for name in ["lava-result.txt", "lava-signals.txt"] {
        let r = one(&bytes(name));
        let figures: Vec<_> =
            r.distributions().iter().map(|d| (d.label(), d.count(), d.overflow(), d.min(), d.max(), d.mean())).collect();
        let expected = [
            ("thread0", 2, 2, Some(12_000), Some(40_000), Some(20_450.0)),
            ("thread1", 2, 2, Some(11_000), Some(324_000), Some(16_600.0)),
        ];
        assert_eq!(figures, expected, "{name}");
        assert!(codes(&r).contains(&"count-unknown") && codes(&r).contains(&"no-histogram"));
    }
    let calls = "+ lava-test-case t0-min-latency --result pass --measurement 3 --units us\n\
        2026-01-01 <8>[ 1.0] <LAVA_SIGNAL_TESTCASE TEST_CASE_ID=t0-min-latency RESULT=pass UNITS=us MEASUREMENT=3.0>\n\
        <TEST_CASE_ID=t0-avg-latency RESULT=pass MEASUREMENT=4.5 UNITS=us>\n\
        lava-test-case t0-max-latency --result fail --measurement 90 --units us\n\
        iteration-2-t0-min-latency pass 1 us\niteration-2-t0-avg-latency pass 2 us\niteration-2-t0-max-latency pass 3 us\n\
        i0-min-latency pass 1 us\ni0-avg-latency pass 1 us\ni0-max-latency pass 1 us\n";
    let records = all(calls.as_bytes());
    let labels: Vec<&str> = records.iter().map(|r| r.distributions()[0].label()).collect();
    assert_eq!(labels, ["irq0", "thread0", "iteration 2 thread0"]);
    assert!(codes(&records[1]).contains(&"tool-failed"));
    assert_eq!(records[0].distributions()[0].count(), 1);

    let good = text("lava-result.txt");
    let told = refused(&good.replace("t1-max-latency pass 324 us\n", ""));
    assert_eq!(told, "line 5: `t1` has no `max`: is the file cut off?");
    assert!(refused(&good.replace("324 us", "324 furlongs")).starts_with("line 6: the units `furlongs`"));
    assert!(
        refused(&good.replace("max-latency pass 324 us", "max-latency pass"))
            .starts_with("line 6: `t1-max-latency` has no measurement")
    );
    assert!(refused(&good.replace("avg-latency pass 16.6", "avg-latency pass 1")).contains("are not minimum, average and maximum"));
    assert!(refused(&(good.clone() + &good.replace("324", "325"))).starts_with("line 13: another `t1-max-latency` than at line 6"));
}

#[test]
fn other_tools_figures_do_not_pass_for_cyclictests() {
    let r = one(&bytes("jitterdebugger-a1.json"));
    let told = export(&r, Format::CyclictestA).unwrap_err().to_string();
    assert!(told.contains("another tool (jitterdebugger)"), "{told}");
    assert!(String::from_utf8(export(&r, Format::Csv).unwrap()).unwrap().contains("thread0"));
    assert!(export(&r, Format::Lava).unwrap_err().to_string().contains("does not write it"));
}
