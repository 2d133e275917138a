//! CSV, HdrHistogram and rtscope's own JSON, each checked by an independent reader where there is one.

use base64::Engine as _;
use hdrhistogram::Histogram as Oracle;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use rtscope_archive::Format;
use rtscope_archive::formats::{ExportError, ImportError, ImportOptions, detect, export, import};
use rtscope_record::{Distribution, LoadProof, Record, RecordParts, fixtures};
use std::time::SystemTime;

fn record(id: &str, samples: &[&[u64]]) -> Record {
    let one = |(i, s): (usize, &&[u64])| Distribution::from_samples(&format!("cpu {i}"), s, 3).unwrap();
    Record::new(RecordParts {
        id: id.into(),
        started: "2026-11-21T08:00:00.5Z".into(),
        load_proof: Some(LoadProof::default()),
        distributions: samples.iter().enumerate().map(one).collect(),
        ..fixtures::parts()
    })
    .unwrap()
}

fn samples() -> Vec<u64> {
    (0..5_000u64).map(|i| 3_000 + i * i % 90_001).collect()
}

fn text(r: &Record, f: Format) -> String {
    String::from_utf8(export(r, f).unwrap()).unwrap()
}

fn options() -> ImportOptions {
    ImportOptions::new("x", SystemTime::UNIX_EPOCH)
}

#[test]
fn own_records_come_back_from_json_in_every_arrangement() {
    let (a, b) = (record("a", &[&samples()]), record("b", &[&[1, 2, 3]]));
    let (one, other) = (text(&a, Format::Json), text(&b, Format::Json));
    let lines = format!("{}\n{}\n", serde_json::to_string(&a).unwrap(), serde_json::to_string(&b).unwrap());
    for (file, expected) in [
        (one.clone(), vec![a.clone()]),
        (format!("[{one},{other}]"), vec![a.clone(), b.clone()]),
        (lines, vec![a.clone(), b.clone()]),
        (format!("  {one}{other}"), vec![a.clone(), b.clone()]),
    ] {
        assert_eq!(detect(file.as_bytes()), Some(Format::Json));
        assert_eq!(import(file.as_bytes(), &options()).unwrap(), expected);
    }
    for broken in
        ["[]".to_owned(), one.replace("\"count\": 5000", "\"count\": 5001"), one[..one.len() / 2].to_owned(), format!("{one}x")]
    {
        let format = Some(Format::Json);
        let error = import(broken.as_bytes(), &ImportOptions { format, ..options() }).unwrap_err();
        assert!(matches!(error, ImportError::Json(_) | ImportError::File(_)), "{error}");
    }
}

#[test]
fn the_interval_log_is_read_by_the_hdrhistogram_crate() {
    let all = samples();
    let r = record("a", &[&all, &all[..7], &[]]);
    let log = text(&r, Format::Hdr);
    let entries: Vec<LogEntry> = IntervalLogIterator::new(log.as_bytes()).map(Result::unwrap).collect();
    assert!(matches!(entries.first(), Some(LogEntry::StartTime(t)) if t.as_millis() == 1_795_248_000_500), "{entries:?}");
    let mut found = Vec::new();
    for e in &entries {
        let LogEntry::Interval(i) = e else { continue };
        let bytes = base64::engine::general_purpose::STANDARD.decode(i.encoded_histogram()).unwrap();
        let h: Oracle<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(i.duration().as_secs(), 3);
        found.push((i.tag().unwrap().to_string(), h.len()));
    }
    assert_eq!(found, [("cpu_0".to_owned(), 5000), ("cpu_1".into(), 7), ("cpu_2".into(), 0)]);
}

#[test]
fn the_percentile_table_agrees_with_the_hdrhistogram_crate() {
    let all = samples();
    let mut oracle = Oracle::<u64>::new(3).unwrap();
    for &s in &all {
        oracle.record(s).unwrap();
    }
    let table = text(&record("a", &[&all]), Format::Hgrm);
    let rows: Vec<Vec<f64>> = table
        .lines()
        .skip(2)
        .take_while(|l| !l.starts_with('#'))
        .map(|l| l.split_whitespace().map(|c| c.parse().unwrap()).collect())
        .collect();
    assert!(rows.len() > 40, "{table}");
    let max = *all.iter().max().unwrap();
    for row in &rows {
        let (value, level, seen) = (row[0], row[1], row[2]);
        assert!(seen / 5000.0 >= level - 1e-12);
        // At level 0 the crate gives the lowest value of the slot; the table gives the highest, as at every level.
        let expected = if level == 0.0 { oracle.highest_equivalent(3_000) } else { oracle.value_at_quantile(level).min(max) };
        assert!((value - expected as f64).abs() < 0.5, "{row:?}: {expected}");
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let below = oracle.count_between(0, value as u64);
        assert!((below as f64 - seen).abs() < 0.5, "{row:?}: {below}");
    }
    assert_eq!(rows.last().unwrap()[..3], [max as f64, 1.0, 5000.0]);
    assert!(rows.windows(2).all(|w| w[0][1] < w[1][1] && w[0][2] <= w[1][2]));
    let empty = text(&record("b", &[&[]]), Format::Hgrm);
    assert!(empty.contains("Total count    =            0"));
}

#[test]
fn csv_holds_every_count() {
    let r = record("a", &[&samples(), &[5, 5, u64::MAX >> 2]]);
    let csv = text(&r, Format::Csv);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("label,low_ns,high_ns,count"));
    let mut totals = std::collections::BTreeMap::<&str, u64>::new();
    for l in lines {
        let cells: Vec<&str> = l.split(',').collect();
        let [low, high, n] = [1, 2, 3].map(|i| cells[i].parse::<u64>().unwrap());
        assert!(low <= high);
        *totals.entry(cells[0]).or_default() += n;
    }
    assert_eq!(totals.into_iter().collect::<Vec<_>>(), [("cpu 0", 5000), ("cpu 1", 3)]);
    assert!(csv.contains("cpu 1,5,5,2\n"));
    let imported = include_bytes!("fixtures/b210-others.txt");
    let r = import(imported, &options()).unwrap().remove(0);
    insta::assert_snapshot!(text(&r, Format::Csv), @r"
    label,low_ns,high_ns,count
    thread0,3000,3999,28
    thread0,4000,4999,16
    thread0,5000,5999,21
    thread0,6000,6999,16
    thread0,7000,7999,28
    thread0,8000,,291
    ");
}

#[test]
fn a_record_without_equal_width_bins_gets_them_and_every_count_with_them() {
    let mut values = samples();
    values.extend([999, 1_000, 16_383, 16_384, 98_000_000, 101_000_000, 3_000_000_000]);
    let r = record("a", &[&values]);
    for f in [Format::CyclictestA, Format::CyclictestB] {
        let out = text(&r, f);
        let rows = out.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
        let rows: Vec<(u64, u64)> = rows
            .map(|l| {
                let mut w = l.split_whitespace();
                (w.next().unwrap().parse().unwrap(), w.next().unwrap().parse().unwrap())
            })
            .collect();
        let held: u64 = rows.iter().map(|r| r.1).sum();
        assert_eq!(held, values.iter().filter(|&&v| v < 100_000_000).count() as u64);
        assert_eq!(rows.iter().find(|r| r.0 == 0).map(|r| r.1), Some(values.iter().filter(|&&v| v < 1_000).count() as u64));
        assert!(out.contains("# Histogram Overflows: 00002"), "{out}");
        assert!(out.contains("# Max Latencies: 3000000"));
    }
    assert!(matches!(export(&r, Format::CyclictestV), Err(ExportError::NoSamples)));
    assert!(text(&r, Format::CyclictestJson).contains("\"cycles\": 5007"));
}

#[test]
fn formats_have_names() {
    for f in Format::ALL {
        assert_eq!(f.to_string().parse(), Ok(f));
        assert!(f.is_read() || f.is_written());
    }
    assert_eq!("cyclictest".parse(), Ok(Format::CyclictestA));
    assert!("xml".parse::<Format>().unwrap_err().contains("cyclictest-json"));
}
