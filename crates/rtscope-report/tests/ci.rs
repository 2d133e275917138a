//! Formats of CI and labs: whole documents of sample records, and hostile texts.

mod sample;

use proptest::prelude::*;
use rtscope_analysis::Confidence;
use rtscope_report::ci::{self, Case, CaseOutcome, Suite};

fn documents() -> [(&'static str, String); 7] {
    let records: Vec<_> =
        sample::kernels(500).into_iter().take(2).chain(sample::virtual_machine(300).into_iter().take(1)).collect();
    let held: Vec<_> = records
        .iter()
        .flat_map(|r| {
            ["p99<1s", "max<1ns"]
                .map(|limit| limit.parse::<rtscope_analysis::Assertion>().unwrap().evaluate(r, Confidence::default()))
        })
        .collect();
    let suites: Vec<Suite> = records.iter().map(|r| ci::suite(r, &held).unwrap()).collect();
    [
        ("junit", ci::junit(&suites).unwrap()),
        ("tap", ci::tap(&suites)),
        ("lava", records.iter().zip(&suites).map(|(r, s)| ci::lava(s, &ci::statistics(r).unwrap())).collect()),
        ("openmetrics", ci::openmetrics(&records).unwrap()),
        ("summary", ci::summary(&records, &suites, &[]).unwrap()),
        ("latex", ci::latex(&records).unwrap()),
        ("kcidb", ci::kcidb(&records[..1]).unwrap().replace("},{", "},\n{")),
    ]
}

#[test]
fn whole_documents() {
    for (name, text) in documents() {
        insta::assert_snapshot!(format!("ci-{name}"), text);
    }
}

/// The texts of a Parquet file's rows, read by the library's own reader.
fn rows(bytes: Vec<u8>) -> Vec<Vec<(String, String)>> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let each = file.get_row_iter(None).unwrap().map(Result::unwrap);
    each.map(|row| row.get_column_iter().map(|(name, field)| (name.clone(), field.to_string())).collect()).collect()
}

#[test]
fn parquet_is_read_back() {
    let records: Vec<_> = sample::kernels(500).into_iter().take(2).chain(sample::board(300).into_iter().take(1)).collect();
    let figures = rows(ci::parquet(&records).unwrap());
    let wanted = records.iter().map(|r| match r.distributions().len() {
        1 => 1,
        n => n + 1,
    });
    assert_eq!(figures.len(), wanted.sum::<usize>());
    let of = |row: &[(String, String)], name: &str| row.iter().find(|(n, _)| n == name).unwrap().1.clone();
    let (first, merged) = (&figures[0], records[0].merged().unwrap().unwrap());
    assert_eq!((of(first, "samples"), of(first, "max_ns")), (merged.count().to_string(), merged.max().unwrap().to_string()));
    assert_eq!((of(first, "label"), of(first, "p99_999_ns")), ("\"all\"".into(), "null".into()), "500 samples do not support it");
    let buckets = rows(ci::parquet_buckets(&records).unwrap());
    let samples: u64 = buckets.iter().map(|b| of(b, "samples").parse::<u64>().unwrap()).sum();
    assert_eq!(samples, records.iter().flat_map(rtscope_record::Record::distributions).map(|d| d.histogram().total()).sum::<u64>());
    assert!(rows(ci::parquet(&[]).unwrap()).is_empty());
}

#[test]
fn nothing_passes_that_was_not_shown() {
    for r in sample::virtual_machine(300).iter().chain(&sample::kernels(300)) {
        let suite = ci::suite(r, &[]).unwrap();
        let passed = suite.cases[0].outcome == CaseOutcome::Passed;
        assert_eq!(passed, r.verdict().passes_strict(), "{}", r.verdict());
    }
}

/// Values of the lines of an exposition; panics where a line is none of OpenMetrics'.
fn metrics(text: &str) -> usize {
    let mut lines = 0;
    let mut family = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            if let Some(name) = rest.strip_prefix("TYPE ") {
                name.strip_suffix(" gauge").unwrap().clone_into(&mut family);
            }
            continue;
        }
        let (name, rest) = line.split_once('{').unwrap();
        assert_eq!(name, family, "each metric comes in one piece");
        let (labels, value) = rest.rsplit_once("} ").unwrap();
        value.parse::<f64>().unwrap();
        assert!(!labels.contains('\n'));
        lines += 1;
    }
    assert!(text.ends_with("# EOF\n"));
    lines
}

proptest! {
    #[test]
    fn hostile_texts(text in "(?s).{0,40}|[\\x00-\\x1f<>&\"'\u{fffe}\u{ffff}]{0,20}|]]>") {
        let mut parts = sample::virtual_machine(50).remove(0).into_parts();
        (parts.load, parts.target) = (text.clone(), text.clone());
        if let Ok(r) = rtscope_record::Record::new(parts) {
            let suite = ci::suite(&r, &[]).unwrap();
            let xml = ci::junit(std::slice::from_ref(&suite)).unwrap();
            let read = roxmltree::Document::parse(&xml).unwrap();
            prop_assert_eq!(read.descendants().filter(|n| n.has_tag_name("testcase")).count(), 1);
            prop_assert_eq!(metrics(&ci::openmetrics(std::slice::from_ref(&r)).unwrap()), 1 + ci::statistics(&r).unwrap().len());
            prop_assert_eq!(ci::markdown(std::slice::from_ref(&r)).unwrap().lines().count(), 3);
        }
        let case = |outcome| Case { name: text.clone(), outcome, output: text.clone() };
        let cases = vec![case(CaseOutcome::Passed), case(CaseOutcome::Failed(text.clone())), case(CaseOutcome::Error(text.clone())), case(CaseOutcome::Skipped(text.clone()))];
        let suite = Suite { name: text.clone(), elapsed_ns: 1, properties: vec![(text.clone(), text.clone())], cases };
        let xml = ci::junit(&[suite]).unwrap();
        let read = roxmltree::Document::parse(&xml).unwrap();
        for (tag, number) in [("testcase", 4), ("failure", 1), ("error", 1), ("skipped", 1)] {
            prop_assert_eq!(read.descendants().filter(|n| n.has_tag_name(tag)).count(), number, "{}", xml);
        }
    }
}
