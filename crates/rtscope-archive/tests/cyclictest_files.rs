//! Files written by cyclictest: their contents are in the record, and come out of the archive and the exporters
//! unchanged.

use rtscope_archive::formats::{ImportError, ImportOptions, detect, export, import};
use rtscope_archive::{Archive, Format};
use rtscope_record::{Distribution, Moments, Record, Verdict};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(fixtures().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn named(ending: &str) -> Vec<String> {
    let names = std::fs::read_dir(fixtures()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|n| n.ends_with(ending) && !n.starts_with("adam-")).collect();
    names.sort();
    names
}

fn options(name: &str) -> ImportOptions {
    ImportOptions::new(name, SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_000_000))
}

fn read(text: &str) -> Result<Record, ImportError> {
    import(text.as_bytes(), &options("x.txt")).map(|mut r| r.remove(0))
}

/// Puts the record into an archive and reads it back, so that comparisons test what was stored.
fn archived(r: &Record) -> Record {
    let dir = tempfile::tempdir().unwrap();
    let mut a = Archive::open(&dir.path().join("a.db")).unwrap();
    a.insert(r).unwrap();
    a.get(r.id()).unwrap()
}

fn exported(r: &Record, format: Format) -> String {
    String::from_utf8(export(r, format).unwrap()).unwrap()
}

fn dialect_of(r: &Record) -> Format {
    if r.parts().source.as_ref().unwrap().format.ends_with('B') { Format::CyclictestB } else { Format::CyclictestA }
}

fn codes(r: &Record) -> Vec<&str> {
    r.parts().warnings.iter().map(|w| w.code.as_str()).collect()
}

/// The counts: bins, overflows and their cycles, extremes, averages.
type Counts = Vec<(Vec<(u64, u64)>, u64, u64, Vec<u64>, Option<u64>, Option<u64>)>;

fn counts(r: &Record) -> Counts {
    let one = |d: &Distribution| {
        let l = d.parts().linear.clone().unwrap();
        (l.counts, d.count(), d.overflow(), l.overflow_at, d.min(), d.max())
    };
    r.distributions().iter().map(one).collect()
}

#[test]
fn text_comes_back_byte_for_byte_in_its_own_dialect() {
    let mut seen = 0;
    for name in named(".txt") {
        let text = fixture(&name);
        if name.contains("live") || name.contains("verbose") {
            continue;
        }
        let record = archived(&read(&text).unwrap_or_else(|e| panic!("{name}: {e}")));
        assert_eq!(exported(&record, dialect_of(&record)), text, "{name}");
        seen += 1;
    }
    assert!(seen >= 15, "{seen} files");
}

#[test]
fn counts_survive_the_other_dialect_and_json() {
    for name in named(".txt") {
        let text = fixture(&name);
        if !text.contains("# Histogram\n") {
            continue;
        }
        let record = read(&text).unwrap();
        for format in [Format::CyclictestA, Format::CyclictestB] {
            let again = read(&exported(&record, format)).unwrap();
            assert_eq!(counts(&again), counts(&record), "{name} as {format}");
            if name.contains("live") {
                continue;
            }
            // Dialect B leaves empty rows out, so their number is lost; every other line comes back.
            let full = |t: &str| t.lines().filter(|l| !is_empty_row(l)).map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(full(&exported(&again, dialect_of(&record))), full(&text), "{name} as {format} and back");
        }
        let json = read(&exported(&record, Format::CyclictestJson)).unwrap();
        let without_cycles = |r: &Record| counts(r).into_iter().map(|c| (c.0, c.1, c.2, c.4, c.5)).collect::<Vec<_>>();
        assert_eq!(without_cycles(&json), without_cycles(&record), "{name} as JSON");
    }
}

fn is_empty_row(line: &str) -> bool {
    let mut cells = line.split_whitespace();
    cells.next().is_some_and(|c| c.bytes().all(|b| b.is_ascii_digit())) && cells.all(|c| c == "000000")
}

/// Adds up the totals independently, knowing only columns.
#[test]
fn the_counts_are_those_of_the_columns() {
    for name in named(".txt") {
        let text = fixture(&name);
        if !text.contains("# Histogram\n") {
            continue;
        }
        let record = read(&text).unwrap();
        let numbers = |start: &str| -> Vec<u64> {
            let line = text.lines().find_map(|l| l.strip_prefix(start)).unwrap();
            line.split_whitespace().map(|n| n.parse().unwrap()).collect()
        };
        for (i, d) in record.distributions().iter().enumerate() {
            let rows = text.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit()));
            let held: u64 = rows.map(|l| l.split_whitespace().nth(i + 1).unwrap().parse::<u64>().unwrap()).sum();
            assert_eq!(d.histogram().total(), held, "{name}");
            assert_eq!(d.overflow(), numbers("# Histogram Overflows:")[i], "{name}");
            assert_eq!(d.count(), held + d.overflow());
            let unit = d.parts().resolution;
            if d.count() > 0 {
                assert_eq!(d.min(), Some(numbers("# Min Latencies:")[i] * unit));
                assert_eq!(d.max(), Some(numbers("# Max Latencies:")[i] * unit));
            }
            assert_eq!(matches!(d.parts().moments, Moments::Exact { .. }), d.overflow() == 0);
        }
        assert_eq!(record.verdict(), Verdict::Inconclusive, "missed periods are unknown");
        assert!(codes(&record).contains(&"missed-unknown"));
        assert_eq!(codes(&record).contains(&"overflow"), record.distributions().iter().any(|d| d.overflow() > 0));
    }
}

#[test]
fn live_output_counts_by_its_last_lines() {
    for name in ["a24-live.txt", "a24-live-histogram.txt"] {
        let text = fixture(name);
        let record = archived(&read(&text).unwrap());
        let last: Vec<&str> = text.lines().filter(|l| l.starts_with("T:")).collect();
        let out = exported(&record, Format::CyclictestA);
        let own: Vec<&str> = out.lines().filter(|l| l.starts_with("T:")).collect();
        assert_eq!(own, last[last.len() - own.len()..], "{name}");
        assert_eq!(record.distributions().len(), 2);
        if let Some((_, histogram)) = text.split_once("# Histogram\n") {
            assert_eq!(out.split_once("# Histogram\n").unwrap().1, histogram);
        } else {
            assert!(codes(&record).contains(&"no-histogram"));
        }
    }
}

#[test]
fn the_unit_is_read_off_the_width_of_the_fields() {
    let d = |name: &str| read(&fixture(name)).unwrap().distributions()[0].clone();
    assert_eq!(d("a24-quiet.txt").parts().resolution, 1000);
    assert_eq!(d("a24-quiet-ns.txt").parts().resolution, 1);
    let text = fixture("b210-nanoseconds.txt");
    assert!(codes(&read(&text).unwrap()).contains(&"unit-assumed"), "nothing in the file shows the unit");
    let mut o = options("x");
    o.nanoseconds = Some(true);
    let ns = import(text.as_bytes(), &o).unwrap().remove(0);
    assert_eq!(ns.distributions()[0].parts().resolution, 1);
    assert_eq!(exported(&archived(&ns), Format::CyclictestB), text);
    // With its command line the file states the unit itself.
    let said = format!("# cyclictest -q -N -h 40000 -l 300 -i 1000 -t 2 -m -p 90\n{text}");
    let said = read(&said).unwrap();
    assert_eq!((said.distributions()[0].parts().resolution, codes(&said)), (1, vec!["missed-unknown", "overflow"]));
    assert_eq!(said.distributions()[0].parts().linear.as_ref().unwrap().size, 40_000);
    assert_eq!(said.parts().settings.loops, Some(300));
}

#[test]
fn json_files() {
    for name in named(".json") {
        let text = fixture(&name);
        let record = archived(&read(&text).unwrap_or_else(|e| panic!("{name}: {e}")));
        let again = exported(&record, Format::CyclictestJson);
        let json: serde_json::Value = serde_json::from_str(&again).unwrap_or_else(|e| panic!("{name}: {e}"));
        // Every line of the file that is valid JSON is in the output, apart from commas before added keys.
        let lines = |t: &str| t.lines().map(|l| l.trim().trim_end_matches(',').to_owned()).collect::<Vec<_>>();
        let written = lines(&again);
        for line in lines(&text) {
            let expected = match line.as_str() {
                "\"avg\": -nan" => "\"avg\": 0.00",
                // 2.4 writes an empty histogram where there is none.
                "\"histogram\": {      }" => continue,
                l if l.contains("qu\"ote") => continue,
                l => l,
            };
            assert!(written.iter().any(|w| w == expected), "{name}: {expected}");
        }
        assert_eq!(json["schema"], "rtscope-cyclictest/1");
        assert_eq!(json["num_threads"], record.distributions().len());
        let twice = read(&again).unwrap();
        let parts = |r: &Record| r.distributions().iter().map(|d| (d.count(), d.overflow(), d.min(), d.max())).collect::<Vec<_>>();
        assert_eq!(parts(&twice), parts(&record), "{name}");
        assert_eq!(record.parts().system.hostname, "vm");
        assert_eq!(record.parts().started.get(..10), Some("2026-11-21"), "{name}");
        assert_eq!(codes(&record).contains(&"json-repaired"), name.contains("quote") || name.contains("no-cycles"), "{name}");
    }
}

#[test]
fn json_overflows_are_what_no_bin_holds() {
    let r = read(&fixture("a24-overflow.json")).unwrap();
    assert_eq!(r.distributions().iter().map(|d| (d.count(), d.overflow())).collect::<Vec<_>>(), [(300, 253), (300, 253)]);
    assert_eq!(r.distributions()[0].label(), "cpu0");
    assert!(codes(&r).contains(&"overflow"));
    assert_eq!(r.parts().settings.linear_bins, Some((8, 1000)));
    // The text of the same run has the same figures.
    let text = read(&fixture("a24-with-json.txt")).unwrap();
    let json = read(&fixture("a24.json")).unwrap();
    let bins = |r: &Record| r.distributions().iter().map(|d| d.parts().linear.clone().unwrap().counts).collect::<Vec<_>>();
    assert_eq!(bins(&text), bins(&json));
    for (t, j) in text.distributions().iter().zip(json.distributions()) {
        let (t, j) = (t.mean().unwrap(), j.mean().unwrap());
        assert!(t <= j && j < t + 1000.0, "the text cuts the average off to a whole microsecond: {t} {j}");
    }
}

#[test]
fn json_whose_counts_are_unsound_is_refused() {
    let text = fixture("a24-overflow.json");
    for (from, to, why) in [
        ("\"3\": 42", "\"3\": 420", "the bins hold"),
        ("\"min\": 3", "\"min\": 2", "minimum"),
        ("\"max\": 50", "\"max\": 6", "maximum"),
        ("\"cycles\": 300", "\"cycles\": -300", "cycles"),
        ("\"num_threads\": 2", "\"num_threads\": 3", "num_threads"),
        ("\"7\": 1", "\"7x\": 1", "not a bin"),
        ("\"7\": 1", "\"07\": 1", "not a bin"),
        ("\"7\": 1", "\"7\": 1.5", "not a bin"),
        ("\"avg\": 18.94", "\"avg\": 1e9", "mean"),
        ("\"avg\": 18.94", "\"avg\": -nan", "no average"),
        ("\"file_version\": 1", "\"file_version\": 2", "file_version"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = read(&text.replacen(from, to, 1)).map(|r| r.id().to_owned()).unwrap_err().to_string();
        assert!(error.contains(why), "{from} -> {to}: {error}");
    }
}

#[test]
fn one_sample_that_json_counts_but_does_not_bin_is_tolerated_and_told() {
    let text = fixture("a24-overflow.json").replace("\"max\": 50", "\"max\": 7").replace("\"cycles\": 300", "\"cycles\": 48");
    let r = read(
        &text
            .replacen("\"max\": 37", "\"max\": 9", 1)
            .replace("\"avg\": 18.94", "\"avg\": 3.00")
            .replace("\"avg\": 16.01", "\"avg\": 3.50"),
    )
    .unwrap();
    assert_eq!(r.distributions().iter().map(|d| (d.count(), d.overflow())).collect::<Vec<_>>(), [(48, 1), (48, 1)]);
    assert_eq!(codes(&r).iter().filter(|c| **c == "unsettled").count(), 1, "the second overflowed");
    let again = read(&exported(&r, Format::CyclictestA)).unwrap();
    assert_eq!(again.distributions()[0].count(), 48);
}

#[test]
fn a_stream_of_samples_gives_exact_figures() {
    let text = fixture("a24-verbose.txt");
    assert_eq!(detect(text.as_bytes()), Some(Format::CyclictestV));
    let r = archived(&read(&text).unwrap());
    assert_eq!(r.distributions().len(), 2);
    for (i, d) in r.distributions().iter().enumerate() {
        let own: Vec<u64> = text
            .lines()
            .filter_map(|l| l.strip_prefix(&format!("{i:8}:")))
            .map(|l| l.rsplit(':').next().unwrap().trim().parse().unwrap())
            .collect();
        assert_eq!((d.count(), d.parts().dropped), (own.len() as u64, 0));
        assert_eq!(d.max(), own.iter().max().map(|m| m * 1000));
        assert_eq!(
            d.parts().moments,
            Moments::Exact {
                sum: own.iter().map(|&v| u128::from(v) * 1000).sum(),
                sum_sq: own.iter().map(|&v| u128::from(v * 1000).pow(2)).sum()
            }
        );
        let thread = d.parts().thread.clone().unwrap();
        assert_eq!(thread.interval, [1_000_000, 1_500_000][i], "the printed interval has the distance added");
        assert_eq!(thread.last, own.last().map(|v| v * 1000));
    }
    assert_eq!(codes(&r), ["missed-unknown", "settings-unknown", "unit-assumed"]);
    assert!(export(&r, Format::CyclictestV).unwrap_err().to_string().contains("raw samples"));
    let again = read(&exported(&r, Format::CyclictestA)).unwrap();
    assert_eq!(counts(&again), counts(&r));
}

#[test]
fn lost_samples_of_a_stream_are_counted() {
    let text = fixture("a24-verbose.txt");
    let mut lines: Vec<&str> = text.lines().collect();
    let gone = lines.iter().position(|l| l.starts_with("       0:      17:")).unwrap();
    lines.remove(gone);
    let r = read(&(lines.join("\n") + "\n")).unwrap();
    assert_eq!((r.distributions()[0].count(), r.distributions()[0].dropped()), (199, 1));
    assert_eq!((r.verdict(), r.distributions()[1].dropped()), (Verdict::Invalid, 0));
    // Only every fourth sample, with -o 4.
    let reduced = read(&fixture("a24-verbose-reduced.txt")).unwrap();
    let d = &reduced.distributions()[0];
    assert_eq!(d.count(), 50);
    assert!((147..=150).contains(&d.dropped()), "{}", d.dropped());
    let swapped = "       0:       5:       6\n       0:       4:       6\n";
    assert!(read(swapped).unwrap_err().to_string().starts_with("line 2: cycle 4 after cycle 5"));
    // A latency of 0 is printed under the number of the previous cycle.
    let zeros = "       0:       0:       6\n       0:       0:       0\n       0:       0:       0\n       0:       3:       1\n";
    let zeros = read(zeros).unwrap();
    assert_eq!((zeros.distributions()[0].count(), zeros.distributions()[0].dropped()), (4, 0));
}

/// Changes to a file, each with a part of the message that it must cause.
#[test]
fn files_that_contradict_themselves_are_refused_with_the_line() {
    let a = fixture("a24-sum-overflow.txt");
    let line = |start: &str| a.lines().position(|l| l.starts_with(start)).unwrap() + 1;
    let with = |start: &str, new: &str| {
        let at = line(start);
        let lines: Vec<&str> = a.lines().enumerate().map(|(i, l)| if i + 1 == at { new } else { l }).collect();
        (at, lines.join("\n") + "\n\n")
    };
    let log = a.lines().find(|l| l.starts_with("# Thread 1:")).unwrap();
    let late = log.replacen(log.split(' ').nth(3).unwrap(), "99999", 1);
    let cases = [
        ("000008", "000008 000008\t000000", "2 counts"),
        ("000008", "000008 000008\t000000\t000009", "sum column"),
        ("000008", "000008 x\t000000\t000008", "not a whole number"),
        ("000008", "000008 -1\t000000\t000008", "not a whole number"),
        ("000008", "000008 99999999999999999999\t000000\t000008", "not a whole number"),
        ("000008", "000007 000008\t000000\t000008", "not above"),
        ("000008", "some other text", "neither a row"),
        ("# Total:", "# Total: 000000001 000000197 000000390", "last number"),
        ("# Total:", "# Total: 000000194 000000197 000000391", "totals"),
        ("# Max Latencies:", "# Max Latencies: 00040 00031 00041", "last number"),
        ("# Histogram Overflows:", "# Histogram Overflows: 00007 00003 00011", "last number"),
        ("# Histogram Overflows:", "# Histogram Overflows: 00008 00003 00011", "overflows"),
        ("# Histogram Overflows:", "# Histogram Overflows: 00007", "1 numbers"),
        ("# Avg Latencies:", "# Avg Latencies: 00013 00013 00013 00013", "4 numbers"),
        ("# Thread 1:", "# Thread 0: 00001", "second overflow log"),
        ("# Thread 1:", "# Thread 7: 00001 00002 00003", "thread 7"),
        ("# Thread 1:", "# Thread 1: 00001 00002 # 00001 othe", "others"),
        ("# Thread 1:", &late, "at cycle 99999"),
        ("# Thread 1:", "# nothing", "overflow log of thread 1"),
        ("# Min Latencies:", "# Histogram", "second histogram"),
        ("# Avg Latencies:", "# Min Latencies: 00001 00002", "second"),
    ];
    for (start, new, why) in cases {
        let (at, text) = with(start, new);
        let error = read(&text).map(|r| r.id().to_owned()).unwrap_err().to_string();
        assert!(error.contains(why), "{new}: {error}");
        assert!(error.starts_with("line "), "{new}: {error}, changed line {at}");
    }
    for (start, new, why) in [
        ("# Min Latencies:", "# Min Latencies: 00005 00009", "minimum"),
        ("# Max Latencies:", "# Max Latencies: 00012 00031 00031", "maximum"),
        ("# Max Latencies:", "# Max Latencies: 00019 00031 00031", "maximum"),
        ("# Avg Latencies:", "# Avg Latencies: 99999 00013", "mean"),
    ] {
        let error = read(&with(start, new).1).map(|r| r.id().to_owned()).unwrap_err().to_string();
        assert!(error.contains(why), "{new}: {error}");
    }
}

#[test]
fn cut_off_files_are_refused() {
    for name in ["a24-sum-overflow.txt", "b210-others.txt", "a24-others.txt"] {
        let text = fixture(name);
        let sums = |r: &Record| r.distributions().iter().map(|d| (d.count(), d.overflow(), d.max())).collect::<Vec<_>>();
        let whole = sums(&read(&text).unwrap());
        let counted = text.find("# Histogram Overflows:").unwrap();
        for cut in 0..text.len() {
            match read(&text[..cut]) {
                // The counts are all there; only the cycle numbers of overflows may be missing.
                Ok(r) => assert!(cut > counted && sums(&r) == whole, "{name} cut at {cut}"),
                Err(_) => assert!(cut < text.trim_end().len(), "{name} cut at {cut}"),
            }
        }
    }
    let text = fixture("a24-quiet.txt");
    let last = text.rfind("T: 1").unwrap();
    for cut in last + 1..text.len() - 1 {
        let whole = text[..cut].trim_end().len() == text.trim_end().len();
        assert!(read(&text[..cut]).is_err() || whole, "cut at {cut}: {}", &text[last..cut]);
    }
    let text = fixture("a24-verbose.txt");
    for cut in text.len() - 20..text.len() - 1 {
        let cut = &text[..cut];
        let last = cut.lines().next_back().unwrap();
        assert!(read(cut).is_err() || last.trim().is_empty() || last.len() == 26, "{last}");
    }
}

#[test]
fn missed_periods_that_rtscope_wrote_are_read() {
    let text = fixture("a24-smp.txt");
    let (start, end) = text.trim_end().rsplit_once('\n').unwrap();
    let record = read(&text).unwrap();
    let n = |i: usize| record.distributions()[i].count();
    let text = format!("{start}\n{end}\n# Missed: 00300 00000\n# Expected: {:05} {:05}\n\n", n(0) + 300, n(1));
    let own = archived(&read(&text).unwrap());
    assert_eq!((own.distributions()[0].missed(), own.distributions()[0].parts().expected), (300, Some(n(0) + 300)));
    assert!(!codes(&own).contains(&"missed-unknown"));
    assert_eq!(exported(&own, Format::CyclictestA), text);
    let json = read(&exported(&own, Format::CyclictestJson)).unwrap();
    assert_eq!(json.distributions()[0].missed(), 300);
    let wrong = text.replace("# Missed: 00300", "# Missed: 00301");
    assert!(read(&wrong).unwrap_err().to_string().contains("do not add up"));
}

#[test]
fn comments_prompts_and_foreign_line_ends_do_no_harm() {
    let text = fixture("b210-smp.txt");
    let dressed = format!("board 7, kernel \u{fe}\n$ sudo cyclictest -q -h 400 -l 2000 -i 1000 -S -m -p 90\n{text}done\n")
        .replace('\n', "\r\n");
    let r = read(&dressed).unwrap();
    assert_eq!(
        counts(&r).iter().map(|c| c.1).collect::<Vec<_>>(),
        counts(&read(&text).unwrap()).iter().map(|c| c.1).collect::<Vec<_>>()
    );
    assert_eq!((r.parts().settings.priority, r.parts().settings.linear_bins), (90, Some((400, 1000))));
    assert_eq!(exported(&archived(&r), Format::CyclictestB), dressed.replace("\r\n", "\n"));
    let latin = [b"# caf\xe9\n", text.as_bytes()].concat();
    assert_eq!(counts(&import(&latin, &options("x")).unwrap()[0]), counts(&read(&text).unwrap()));
}

#[test]
fn importing_the_same_file_again_gives_the_same_record() {
    let text = fixture("a24-smp.txt");
    assert_eq!(read(&text).unwrap(), read(&text).unwrap());
    let other = read(&fixture("b210-smp.txt")).unwrap();
    assert_ne!(read(&text).unwrap().id(), other.id());
}

#[test]
fn what_is_no_format_is_refused() {
    for text in [
        "",
        "\n",
        "hello",
        "{",
        "[]",
        "{}",
        "# Histogram\n",
        "T: 0\n",
        "\u{0}\u{1}",
        "# Min Latencies: 1\n",
        "{\"file_version\": 1}",
    ] {
        assert!(read(text).is_err(), "{text:?}");
    }
    for format in [Format::Csv, Format::Hdr, Format::Hgrm] {
        let o = ImportOptions { format: Some(format), ..options("x") };
        assert!(matches!(import(b"x", &o), Err(ImportError::NotRead(_))));
    }
}
