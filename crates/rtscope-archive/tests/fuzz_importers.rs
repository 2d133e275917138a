//! Every importer with arbitrary bytes and with damaged files: an error or a record whose counts add up, never a panic.

use proptest::prelude::*;
use proptest::sample::Index;
use rtscope_archive::Format;
use rtscope_archive::formats::{ImportOptions, export, import};
use rtscope_record::{Distribution, Nanos, Record, Test};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.retain(|n| n.is_file() && !n.ends_with("README.md"));
    names.sort();
    names.extend(tools());
    let mut files: Vec<Vec<u8>> = names.iter().map(|n| std::fs::read(n).unwrap()).collect();
    let record = import(&files[0], &options(None)).unwrap().remove(0);
    files.push(export(&record, Format::Json).unwrap());
    files.push(serde_json::to_vec(&[&record, &record]).unwrap());
    assert!(files.len() > 45);
    files
});

/// Files of tools other than cyclictest.
fn tools() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tools");
    let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    names
}

fn options(format: Option<Format>) -> ImportOptions {
    ImportOptions { format, ..ImportOptions::new("fuzz", SystemTime::UNIX_EPOCH) }
}

/// What must hold for every accepted file: the record can be read again, and is exported or refused with a reason.
fn survives(bytes: &[u8], format: Option<Format>) {
    let Ok(records) = import(bytes, &options(format)) else { return };
    for r in records {
        let text = serde_json::to_string(&r).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), r);
        for d in r.distributions() {
            assert_eq!(d.histogram().total() + d.overflow(), d.count());
        }
        for to in Format::ALL {
            let Ok(file) = export(&r, to) else { continue };
            // The output of an exporter is accepted by the importer of the same format, with the same counts.
            if to.is_read() {
                let shown = to == Format::CyclictestJson && r.distributions().iter().any(|d| d.parts().linear.is_none());
                let again = import(&file, &ImportOptions { nanoseconds: Some(unit_is_ns(&r)), ..options(Some(to)) });
                if to == Format::Adam {
                    adam_keeps(&r, again.as_deref());
                    continue;
                }
                let again = again.unwrap_or_else(|e| panic!("{to}: {e}\n{}", String::from_utf8_lossy(&file))).remove(0);
                let counts = |r: &Record| r.distributions().iter().map(|d| (d.count(), d.min(), d.max())).collect::<Vec<_>>();
                assert_eq!(counts(&again), counts(&r), "{to}");
                assert!(shown || again.distributions().len() == r.distributions().len());
            }
        }
    }
}

/// Adam's text merges both edges, has a resolution of 0.1 us, and can't be read back as jitter.
fn adam_keeps(r: &Record, again: Result<&[Record], &rtscope_archive::formats::ImportError>) {
    if r.parts().test == Test::Periodic {
        assert!(again.is_err());
        return;
    }
    let again = again.unwrap_or_else(|e| panic!("{e}: {r:?}"));
    let sum = |r: &Record, f: fn(&Distribution) -> u64| r.distributions().iter().map(f).fold(0, u64::saturating_add);
    for f in [Distribution::count, Distribution::missed, Distribution::late, Distribution::spurious, Distribution::dropped] {
        assert_eq!(sum(&again[0], f), sum(r, f));
    }
}

fn unit_is_ns(r: &Record) -> bool {
    r.distributions().iter().any(|d| d.parts().resolution == 1)
}

fn formats() -> impl Strategy<Value = Option<Format>> {
    prop_oneof![Just(None), prop::sample::select(Format::ALL.to_vec()).prop_map(Some)]
}

/// A way to damage a file.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Cut(Index),
    Remove(Index),
    Double(Index),
    Swap(Index, Index),
    Number(Index, String),
    Insert(Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), 1u8..).prop_map(|(i, b)| Damage::Flip(i, b)),
        any::<Index>().prop_map(Damage::Cut),
        any::<Index>().prop_map(Damage::Remove),
        any::<Index>().prop_map(Damage::Double),
        any::<(Index, Index)>().prop_map(|(a, b)| Damage::Swap(a, b)),
        (any::<Index>(), "[0-9]{1,22}|-1|18446744073709551615|9223372036854775808|1000000|0")
            .prop_map(|(i, n)| Damage::Number(i, n)),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(i, b)| Damage::Insert(i, b)),
    ]
}

fn damaged(file: &[u8], by: &[Damage]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for d in by {
        if bytes.is_empty() {
            break;
        }
        let lines: Vec<Vec<u8>> = bytes.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        match d {
            Damage::Flip(i, b) => {
                let at = i.index(bytes.len());
                bytes[at] ^= b;
            }
            Damage::Cut(i) => bytes.truncate(i.index(bytes.len())),
            Damage::Remove(i) => {
                let at = i.index(lines.len());
                bytes = lines.iter().enumerate().filter(|l| l.0 != at).flat_map(|l| l.1.clone()).collect();
            }
            Damage::Double(i) => {
                let at = i.index(lines.len());
                bytes = lines.iter().enumerate().flat_map(|(n, l)| l.repeat(if n == at { 2 } else { 1 })).collect();
            }
            Damage::Swap(a, b) => {
                let mut lines = lines;
                let (a, b) = (a.index(lines.len()), b.index(lines.len()));
                lines.swap(a, b);
                bytes = lines.concat();
            }
            Damage::Number(i, n) => {
                let at = i.index(bytes.len());
                let digit = |b: &u8| b.is_ascii_digit();
                let Some(start) = bytes[at..].iter().position(digit).map(|p| at + p) else { continue };
                let end = bytes[start..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |p| start + p);
                bytes.splice(start..end, n.bytes());
            }
            Damage::Insert(i, more) => {
                let at = i.index(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
        }
    }
    bytes
}

/// Text assembled from fragments of the formats.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("# Histogram\n".to_owned()),
        Just("# Total:".to_owned()),
        Just("# Min Latencies:".to_owned()),
        Just("# Avg Latencies:".to_owned()),
        Just("# Max Latencies:".to_owned()),
        Just("# Histogram Overflows:".to_owned()),
        Just("# Histogram Overflow at cycle number:\n".to_owned()),
        Just("# Thread 0:".to_owned()),
        Just(" # 00003 others\n".to_owned()),
        Just("T: 0 (    1) P:90 I:1000 C:".to_owned()),
        Just(" Min:      1 Act:    1 Avg:    1 Max:       1\n".to_owned()),
        Just("       0:".to_owned()),
        Just("\n".to_owned()),
        Just("Total BAD<samples=0 Bad_positive=0 and Bad_negative=0\n".to_owned()),
        Just("Samples: 9, average (mean) latency = 5.0usecs, \n".to_owned()),
        Just("median latency = 5.0usecs min latency = 4.0usecs, max latency [3]= 6.0usecs\n".to_owned()),
        Just("badmax latency = 0.0usecs\n".to_owned()),
        Just("The amount greater than mean is 4\n".to_owned()),
        Just("# RTLA timerlat histogram\nIndex   IRQ-000   Thr-000\n".to_owned()),
        Just("# RTLA osnoise histogram\nIndex   CPU-003\n".to_owned()),
        Just("over: ".to_owned()),
        Just("count:".to_owned()),
        Just("min:  ".to_owned()),
        Just("avg:  ".to_owned()),
        Just("max:  ".to_owned()),
        Just("ALL:        IRQ       Thr\n".to_owned()),
        Just("stress-ng: info:  [1] cyclic: ".to_owned()),
        Just("sched SCHED_FIFO: 100 ns delay, 9 samples\n".to_owned()),
        Just("mean: 5.00 ns, mode: 5 ns\n".to_owned()),
        Just("min: 3 ns, max: 9 ns, std.dev. 1.00\n".to_owned()),
        Just("latency distribution (2 ns intervals):\n".to_owned()),
        Just("  <...>-17 [001] d.... 1.000001: #1 inner/outer(us): 3/4 ts:1.000000001 count:2\n".to_owned()),
        Just("  <...>-17 [001] d.... 1.000001: #1 context    irq timer_latency ".to_owned()),
        Just(" ns\n".to_owned()),
        Just("t0-min-latency pass 3 us\n".to_owned()),
        Just("t0-avg-latency pass 4.5 us\n".to_owned()),
        Just("t0-max-latency pass 9 us\n".to_owned()),
        "[0-9]{1,20}",
        "[ \\t]",
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), format in formats()) {
        survives(&bytes, format);
    }

    #[test]
    fn text_of_the_right_pieces(text in pieces(), format in formats()) {
        survives(text.as_bytes(), format);
    }

    #[test]
    fn tests_over_lines(
        samples in prop::collection::vec(prop_oneof![0u64..1_000_000, 499_000u64..501_000, 0u64..1 << 40], 0..60),
        [missed, late, spurious] in prop::array::uniform3(0u64..5),
        interval in 1u64..1 << 40,
        periodic: bool,
    ) {
        let mut parts = import(&FILES[0], &options(None)).unwrap().remove(0).into_parts();
        (parts.source, parts.distributions, parts.settings.interval) = (None, Vec::new(), Nanos(interval));
        parts.test = if periodic { Test::Periodic } else { Test::Response };
        let labels = if periodic { ["rising late", "rising early"] } else { ["rising", "falling"] };
        for (label, samples) in labels.into_iter().zip([&samples[..], &samples[samples.len() / 2..]]) {
            let mut p = Distribution::from_samples(label, samples, 4).unwrap().into_parts();
            (p.missed, p.late, p.spurious) = (missed + late, late, spurious);
            p.expected = Some(p.count + p.missed);
            parts.distributions.push(Distribution::new(p).unwrap());
        }
        survives(&export(&Record::new(parts).unwrap(), Format::Json).unwrap(), None);
    }

    #[test]
    fn damaged_files(which in any::<Index>(), by in prop::collection::vec(damage(), 1..5)) {
        survives(&damaged(&FILES[which.index(FILES.len())], &by), None);
    }

    #[test]
    fn damaged_files_of_other_tools(which in any::<Index>(), by in prop::collection::vec(damage(), 1..5), named: bool) {
        let names = tools();
        let file = std::fs::read(&names[which.index(names.len())]).unwrap();
        // By name too, since damage may keep the format from being found.
        let format = rtscope_archive::formats::detect(&file).filter(|_| named);
        survives(&damaged(&file, &by), format);
    }

    #[test]
    fn small_histograms(rows in prop::collection::vec((0u64..30, 0u64..1 << 62, 0u64..3), 0..6), over in 0u64..5, max in 0u64..99, b: bool) {
        let mut rows = rows;
        rows.sort_unstable();
        rows.dedup_by_key(|r| r.0);
        let mut text = String::from("# Histogram\n");
        for (bin, n, m) in &rows {
            writeln!(text, "{bin:06} {n:06}\t{m:06}").unwrap();
        }
        let sum = |f: fn(&(u64, u64, u64)) -> u64| rows.iter().map(|r| u128::from(f(r))).sum::<u128>();
        if !b {
            writeln!(text, "# Total: {:09} {:09}", sum(|r| r.1), sum(|r| r.2)).unwrap();
        }
        let min = rows.iter().map(|r| r.0).min().unwrap_or(1_000_000);
        writeln!(text, "# Min Latencies: {min:05} {min:05}\n# Avg Latencies: {min:05} {min:05}\n# Max Latencies: {max:05} {max:05}").unwrap();
        writeln!(text, "# Histogram Overflows: {over:05} 00000").unwrap();
        survives(text.as_bytes(), None);
    }
}

#[test]
fn every_whole_file_is_read() {
    for file in FILES.iter() {
        assert!(import(file, &options(None)).is_ok(), "{}", String::from_utf8_lossy(&file[..80]));
        survives(file, None);
    }
}

/// A comment that the `-v` reader keeps may have a meaning in cyclictest's other texts.
#[test]
fn what_was_kept_of_one_format_is_not_misread_in_another() {
    for comment in ["# Thread Ids: \u{8a}", "# Thread Ids: x"] {
        let file = format!("{comment}\n       0:       0:       7\n       0:       1:       9\n");
        let r = import(file.as_bytes(), &options(Some(Format::CyclictestV))).unwrap().remove(0);
        assert!(r.parts().source.as_ref().unwrap().kept.iter().any(|l| l.contains("Thread Ids")), "{r:?}");
        let refused = export(&r, Format::CyclictestA).unwrap_err().to_string();
        assert!(refused.contains("would be misread"), "{refused}");
        survives(file.as_bytes(), Some(Format::CyclictestV));
    }
}
