//! The output of `rtscope cyclictest`: the same kinds of lines as the real cyclictest's, and usable by plotting scripts.
#![allow(clippy::disallowed_methods)] // processes that tests start may inherit any signal state

use rtscope_archive::Format;
use rtscope_archive::formats::cyclictest::{
    Dialect, LiveLine, TextOptions, write_json, write_live, write_text, write_thread_line, write_verbose_header, write_verbose_line,
};
use rtscope_archive::formats::{ExportError, ImportOptions, export, import};
use rtscope_record::system::Preemption;
use rtscope_record::{Distribution, LinearBins, Nanos, Policy, Record, RecordParts, Settings, System, Test, ThreadInfo, fixtures};
use std::process::{Command, Stdio};
use std::time::SystemTime;

const BINS: u64 = 20;

/// A thread as the probe reports it: samples in ns, exact bins of 1 us, and the cycles that overflowed them.
fn thread(i: u32, samples: &[u64], missed: u64) -> Distribution {
    let mut p = Distribution::from_samples(&format!("cpu{i}"), samples, 4).unwrap().into_parts();
    let mut counts = std::collections::BTreeMap::new();
    for s in samples.iter().map(|s| s / 1000).filter(|&s| s < BINS) {
        *counts.entry(s).or_default() += 1;
    }
    let late = samples.iter().zip(0u64..).filter(|s| *s.0 >= BINS * 1000).map(|s| s.1);
    p.linear = Some(LinearBins {
        unit_ns: 1000,
        size: BINS,
        counts: counts.into_iter().collect(),
        overflow_at: late.take(usize::try_from(BINS).unwrap()).collect(),
    });
    p.missed = missed;
    p.expected = Some(p.count + missed);
    p.thread = Some(ThreadInfo {
        tid: 4000 + i,
        cpu: Some(i),
        policy: Some(Policy::Fifo),
        priority: 90,
        interval: 1_000_000,
        last: samples.last().copied(),
        first_at: Some(0),
    });
    Distribution::new(p).unwrap()
}

fn record(threads: Vec<Distribution>, settings: Settings) -> Record {
    let mut system = System { hostname: "board".into(), ..System::default() };
    system.kernel.release = "6.12.1-rt".into();
    system.kernel.preemption = Preemption::Rt;
    Record::new(RecordParts {
        id: "20261121T080000Z-1".into(),
        elapsed_ns: 2_000_000_000,
        settings,
        system,
        distributions: threads,
        ..fixtures::parts()
    })
    .unwrap()
}

fn two() -> Record {
    let first: Vec<u64> = (0..400).map(|i| 3_000 + i * 37).collect();
    let second: Vec<u64> = (0..390).map(|i| 5_500 + i * 61 % 31_000).collect();
    record(
        vec![thread(0, &first, 0), thread(1, &second, 10)],
        Settings { command: vec!["rtscope".into(), "a\"b".into()], ..Settings::default() },
    )
}

fn options() -> TextOptions {
    TextOptions {
        dialect: Dialect::A,
        histogram: Some(BINS),
        sum: false,
        nanoseconds: false,
        quiet: true,
        missed: false,
        header: true,
    }
}

/// The kind of a line: every number becomes `9`, and padding becomes one blank, or none in a `T:` line, where any field
/// may be full. (Widths are tested elsewhere: real `T:` lines are reproduced to the byte.)
fn kind(line: &str) -> String {
    let most = usize::from(!line.starts_with("T:"));
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |p| start + p);
        let text = rest[..start].trim_end_matches(' ');
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', (start - text.len()).min(most)));
        out.push('9');
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// The kinds of lines in order, without repetitions and without the lists of cycle numbers.
fn kinds(text: &str) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = if line.starts_with("# Thread ") && !line.contains("Ids") { line.split_once(':').unwrap().0 } else { line };
        let kind = kind(line);
        if kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_lines_are_those_of_cyclictest() {
    let r = two();
    let with = |o: TextOptions| write_text(&r, &o).unwrap();
    assert_eq!(kinds(&with(options())), kinds(&fixture("a24-smp.txt")));
    assert_eq!(kinds(&with(TextOptions { sum: true, ..options() })), kinds(&fixture("a24-sum-overflow.txt")));
    assert_eq!(kinds(&with(TextOptions { dialect: Dialect::B, ..options() })), kinds(&fixture("b210-smp.txt")));
    assert_eq!(kinds(&with(TextOptions { dialect: Dialect::B, sum: true, ..options() })), kinds(&fixture("b210-sum-overflow.txt")));
    assert_eq!(kinds(&with(TextOptions { histogram: None, ..options() })), kinds(&fixture("a24-quiet.txt")));
    assert_eq!(kinds(&with(TextOptions { histogram: None, nanoseconds: true, ..options() })), kinds(&fixture("a24-quiet-ns.txt")));
    let broke = record(r.distributions().to_vec(), Settings { break_above: Some(Nanos(25_000)), ..Settings::default() });
    assert_eq!(kinds(&write_text(&broke, &options()).unwrap()), kinds(&fixture("a24-break.txt")));
    // The exact line for some figures, to test the widths.
    let lines = with(TextOptions { histogram: None, ..options() });
    assert_eq!(lines.lines().nth(1), Some("T: 0 ( 4000) P:90 I:1000 C:    400 Min:      3 Act:   17 Avg:   10 Max:      17"));
}

/// The same without the histogram's rows: of dialect B are those that have a count, which may be none.
fn kinds_without_rows(text: &str) -> Vec<String> {
    kinds(text).into_iter().filter(|kind| !kind.starts_with('9')).collect()
}

/// Runs the real cyclictest, where it is installed and allowed to run, and compares everything but the figures.
#[test]
fn the_lines_are_those_of_the_cyclictest_that_is_installed() {
    let run = |args: &[&str]| {
        let out = Command::new("cyclictest").args(args).stderr(Stdio::null()).output().ok()?;
        out.status.success().then(|| String::from_utf8(out.stdout).unwrap()).filter(|t| t.contains("dma_latency"))
    };
    let Some(first) = run(&["-q", "-l", "20", "-i", "1000", "-t", "2", "-m", "-p", "5", "-h", "20"]) else {
        #[allow(clippy::print_stderr)] // the reason why the test says nothing here
        {
            eprintln!("skipped: no cyclictest that may run with real-time priority");
        }
        return;
    };
    let r = two();
    let dialect = if first.contains("# Total:") { Dialect::A } else { Dialect::B };
    let options = TextOptions { dialect, ..options() };
    for (args, o) in [
        (&["-q", "-h", "20"][..], options),
        (&["-q", "-H", "20"], TextOptions { sum: true, ..options }),
        (&["-q"], TextOptions { histogram: None, ..options }),
        (&["-q", "-N"], TextOptions { histogram: None, nanoseconds: true, ..options }),
    ] {
        let all = [args, &["-l", "20", "-i", "1000", "-t", "2", "-m", "-p", "5"]].concat();
        let real = run(&all).unwrap();
        let compared = if dialect == Dialect::A { kinds } else { kinds_without_rows };
        assert_eq!(compared(&write_text(&r, &o).unwrap()), compared(&real), "{args:?}");
        // The real output, read and written again, is the same to the byte.
        let read = import(real.as_bytes(), &ImportOptions::new("x", SystemTime::now())).unwrap().remove(0);
        let format = if dialect == Dialect::A { Format::CyclictestA } else { Format::CyclictestB };
        assert_eq!(String::from_utf8(export(&read, format).unwrap()).unwrap(), real);
    }
}

#[test]
fn the_figures_are_those_of_the_record() {
    let text = write_text(&two(), &TextOptions { sum: true, missed: true, ..options() }).unwrap();
    let back = import(text.as_bytes(), &ImportOptions::new("x", SystemTime::UNIX_EPOCH)).unwrap().remove(0);
    for (own, read) in two().distributions().iter().zip(back.distributions()) {
        assert_eq!(own.parts().linear, read.parts().linear);
        assert_eq!((own.count(), own.missed(), own.parts().expected), (read.count(), read.missed(), read.parts().expected));
        assert_eq!(own.max().unwrap() / 1000 * 1000, read.max().unwrap());
        assert_eq!(read.overflow(), own.count() - own.parts().linear.as_ref().unwrap().total());
    }
    assert!(text.contains("\n# Missed: 00000 00010\n# Expected: 00400 00400\n\n"));
    assert!(text.contains("# Thread 1:"));
}

/// `cyclictest -q | tail -n 2`: a line of each thread, as from cyclictest.
#[test]
fn the_lines_that_only_rtscope_has_come_before_those_of_the_threads() {
    let text = write_text(&two(), &TextOptions { histogram: None, missed: true, ..options() }).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1..3], ["# Missed: 00000 00010", "# Expected: 00400 00400"]);
    assert!(lines[3].starts_with("T: 0 ") && lines[4].starts_with("T: 1 ") && lines.len() == 5, "{text}");
    let back = import(text.as_bytes(), &ImportOptions::new("x", SystemTime::UNIX_EPOCH)).unwrap().remove(0);
    assert_eq!(back.distributions().iter().map(Distribution::missed).collect::<Vec<_>>(), [0, 10]);
}

#[test]
fn an_empty_thread_is_printed_as_cyclictest_prints_it() {
    let r = record(vec![thread(0, &[], 0)], Settings { hold_dma_latency: true, ..Settings::default() });
    let o = TextOptions { histogram: Some(10), ..options() };
    let lines = |t: &str| t.lines().filter(|l| l.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&write_text(&r, &o).unwrap()), lines(&fixture("a24-no-cycles.txt")));
}

#[test]
fn live_lines() {
    let t =
        LiveLine { index: 1, tid: 77, priority: 5, interval: 250_000, count: 3, min: 1_999, last: 2_000, sum: 9_000, max: 5_001 };
    let none = LiveLine { index: 0, count: 0, ..t };
    let out = write_live("fifo", "0.01 0.41 0.66 1/88 21617\n", &[none, t], &options(), true);
    let real = fixture("a24-live.txt");
    let repeated: String = real.split_inclusive("\u{1b}[4A").nth(1).unwrap().trim_end_matches("\u{1b}[4A").into();
    assert_eq!(kinds(&out), kinds(&format!("\u{1b}[4A{repeated}")));
    assert!(out.contains("T: 0 (   77) P: 5 I:250 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n"));
    assert!(out.ends_with("T: 1 (   77) P: 5 I:250 C:      3 Min:      1 Act:    2 Avg:    3 Max:       5\n"));
    let mut ns = String::new();
    write_thread_line(&mut ns, &t, &TextOptions { nanoseconds: true, ..options() });
    assert_eq!(ns, "T: 1 (   77) P: 5 I:250 C:      3 Min:   1999 Act:    2000 Avg:    3000 Max:    5001\n");
}

#[test]
fn the_stream_of_samples() {
    let mut out = String::new();
    write_verbose_header(&mut out, 2, 2, true, &[1500, 2000]);
    for (thread, cycle, value) in [(0, 0, 6_400), (0, 1, 12_000), (1, 0, 700)] {
        write_verbose_line(&mut out, thread, cycle, value, &options());
    }
    let real = fixture("a24-verbose.txt");
    assert_eq!(kinds(&out), kinds(&real));
    assert!(out.contains("\n       0:       1:      12\n       1:       0:       0\n"));
    let read = import(out.as_bytes(), &ImportOptions::new("x", SystemTime::UNIX_EPOCH)).unwrap().remove(0);
    assert_eq!(read.distributions().iter().map(Distribution::count).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn json_has_the_keys_of_cyclictest_in_their_order() {
    let text = write_json(&two(), &options()).unwrap();
    let keys = |t: &str| {
        let key = |l: &str| l.trim().strip_prefix('"').and_then(|l| l.split_once("\": ")).map(|k| k.0.to_owned());
        let mut keys: Vec<String> = t.lines().filter_map(key).filter(|k| !k.starts_with(|c: char| c.is_ascii_digit())).collect();
        keys.retain(|k| !["overflow", "missed", "expected", "schema"].contains(&k.as_str()));
        keys
    };
    assert_eq!(keys(&text), keys(&fixture("b210-overflow.json")));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["cmdline:"], "rtscope a\"b");
    assert_eq!(json["start_time"], "Sat, 21 Nov 2026 08:00:00 +0000");
    assert_eq!(json["end_time"], "Sat, 21 Nov 2026 08:00:02 +0000");
    assert_eq!((&json["sysinfo"]["realtime"], &json["thread"]["1"]["missed"]), (&1.into(), &10.into()));
    assert_eq!(json["thread"]["0"]["cpu"], 0);
}

#[test]
fn what_can_not_be_printed_exactly_is_refused() {
    let mut p = two().into_parts();
    let mut d = p.distributions.pop().unwrap().into_parts();
    d.linear = None;
    p.distributions.push(Distribution::new(d).unwrap());
    let r = Record::new(p.clone()).unwrap();
    assert!(matches!(export(&r, Format::CyclictestA), Err(ExportError::NoBins { label }) if label == "cpu1"));
    assert!(matches!(
        write_text(&two(), &TextOptions { nanoseconds: true, ..options() }),
        Err(ExportError::Unit { found: 1000, wanted: 1, .. })
    ));
    assert!(write_text(&r, &TextOptions { histogram: None, ..options() }).is_ok(), "the summary lines need no bins");
    p.test = Test::Response;
    assert!(matches!(export(&Record::new(p).unwrap(), Format::CyclictestB), Err(ExportError::Test(t)) if t == "response"));
}

/// OSADL's plotting script: the maximum by grep and sort, the data lines by dropping comments and blank lines, one column
/// for each core by cut. The test runs the same steps with the same tools.
#[test]
fn the_plotting_script_of_osadl_finds_its_columns() {
    let text = write_text(&two(), &TextOptions { missed: true, ..options() }).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("output");
    std::fs::write(&file, &text).unwrap();
    let sh = |script: &str| {
        let out = Command::new("sh").arg("-c").arg(script).arg("sh").arg(&file).output().unwrap();
        assert!(out.status.success(), "{script}");
        String::from_utf8(out.stdout).unwrap()
    };
    let max = sh(r#"grep "Max Latencies" "$1" | tr " " "\n" | sort -n | tail -1 | sed s/^0*//"#);
    assert_eq!(max.trim(), two().distributions().iter().map(|d| d.max().unwrap() / 1000).max().unwrap().to_string());
    for (i, d) in two().distributions().iter().enumerate() {
        let column = sh(&format!(r#"grep -v -e "^#" -e "^$" "$1" | tr " " "\t" | cut -f1,{}"#, i + 2));
        let rows: Vec<(u64, u64)> = column
            .lines()
            .map(|l| l.split_once('\t').unwrap())
            .map(|(bin, n)| (bin.parse().unwrap(), n.parse().unwrap()))
            .collect();
        assert!(rows.iter().map(|r| r.0).eq(0..BINS), "every bin is a row, so that no step of the stair is too wide");
        let filled: Vec<(u64, u64)> = rows.into_iter().filter(|r| r.1 > 0).collect();
        assert_eq!(filled, d.parts().linear.as_ref().unwrap().counts);
    }
}
