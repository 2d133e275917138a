//! Adam's text: read as the programs print it, written with figures worked out by hand, and read again.

use rtscope_archive::Format;
use rtscope_archive::formats::{ExportError, ImportError, ImportOptions, detect, export, import};
use rtscope_record::{
    Clock, Distribution, Effect, Moments, Nanos, Record, RecordParts, Settings, Space, Test, Verdict, Warning, fixtures,
};
use std::time::SystemTime;

fn options() -> ImportOptions {
    ImportOptions::new("report.txt", SystemTime::UNIX_EPOCH)
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn read(text: &str) -> Result<Record, ImportError> {
    import(text.as_bytes(), &options()).map(|mut r| r.remove(0))
}

fn codes(r: &Record) -> Vec<&str> {
    r.parts().warnings.iter().map(|w| w.code.as_str()).collect()
}

fn record(test: Test, parts: &[(&str, &[u64], [u64; 3])]) -> Record {
    let one = |&(label, samples, [missed, late, spurious]): &(&str, &[u64], [u64; 3])| {
        let mut p = Distribution::from_samples(label, samples, 3).unwrap().into_parts();
        (p.missed, p.late, p.spurious, p.expected) = (missed, late, spurious, Some(p.count + missed));
        Distribution::new(p).unwrap()
    };
    Record::new(RecordParts {
        id: "20261121T080000Z-abc".into(),
        elapsed_ns: 12_700_000_000,
        test,
        space: Space::Kernel,
        load: "none\n# rtscope: counts: missed 9, late 9, spurious 9, dropped 9".into(),
        settings: Settings { interval: Nanos(15_000_000), ..Settings::default() },
        distributions: parts.iter().map(one).collect(),
        ..fixtures::parts()
    })
    .unwrap()
}

fn written(r: &Record) -> String {
    String::from_utf8(export(r, Format::Adam).unwrap()).unwrap()
}

#[test]
fn the_programs_own_text() {
    // 2000 samples from 40,000 to 99,977 ns; without the first, their mean is 68,109 ns.
    let r = read(&fixture("adam-plain.txt")).unwrap();
    let d = &r.distributions()[0];
    assert_eq!((r.parts().test, r.parts().space, r.parts().elapsed_ns), (Test::Response, Space::User, 12_000_000_000));
    assert_eq!((d.label(), d.count(), d.dropped(), d.parts().expected), ("both edges", 1_999, 1, Some(2_000)));
    assert_eq!((d.min(), d.max(), d.parts().resolution), (Some(40_000), Some(100_000), 100));
    assert!((d.mean().unwrap() - 68_134.0).abs() < 1.0, "68.1 us is of 2000, one of which was not added: {:?}", d.mean());
    assert_eq!((d.stddev(), d.value_at("p50".parse().unwrap())), (None, None));
    assert_eq!(
        codes(&r),
        [
            "no-histogram",
            "edges-not-told-apart",
            "first-sample-dropped",
            "missed-unknown",
            "f32-sums",
            "space-unknown",
            "system-unknown"
        ]
    );
    assert_eq!(r.verdict(), Verdict::Inconclusive);
    assert_eq!(written(&r), fixture("adam-plain.txt"), "it comes out as it was");
    let kernel = ImportOptions { space: Some(Space::Kernel), load: Some("full".into()), ..options() };
    let r = import(fixture("adam-plain.txt").as_bytes(), &kernel).unwrap().remove(0);
    assert_eq!((r.parts().space, r.parts().load.as_str(), codes(&r).contains(&"space-unknown")), (Space::Kernel, "full", false));
}

#[test]
fn samples_that_it_calls_bad() {
    // Samples of 612, 801 and 530 us: the text has only the last one.
    let r = read(&fixture("adam-bad.txt")).unwrap();
    let d = &r.distributions()[0];
    assert_eq!((d.count(), d.min(), d.max()), (1_999, Some(40_000), Some(530_500)));
    assert!((d.mean().unwrap() - 69_034.5).abs() < 1.0, "all samples, the bad ones too: {:?}", d.mean());
    assert!(r.parts().warnings.iter().any(|w| w.code == "maximum-unknown" && w.effect == Effect::Invalid));
    let r = read(&fixture("adam-negative.txt")).unwrap();
    let d = &r.distributions()[0];
    assert_eq!((d.count(), d.dropped()), (1_998, 2));
    // 68.2 us times the denominator 1996 is the sum of 1995 good samples.
    assert!((d.mean().unwrap() - 68_234.2).abs() < 1.0, "{:?}", d.mean());
    assert!(codes(&r).contains(&"dropped"));
}

#[test]
fn a_response_record_in_its_layout() {
    let r =
        record(Test::Response, &[("rising", &[60_000, 110_000, 250_000], [2, 1, 0]), ("falling", &[40_000, 800_000], [0, 0, 3])]);
    let text = written(&r);
    let lines: Vec<&str> = text.lines().collect();
    // The four below 500 us: mean 115 us, deviations -55, -5, 135, -75, variance 26,900 / 4. Slots limit the precision
    // to 0.1 %.
    assert_eq!(
        lines[..6],
        [
            "",
            "Total testing Time elapsed in secs = 12",
            "",
            "Total BAD<samples=1 Bad_positive=1 and Bad_negative=0",
            "L100toBAD=2",
            "L200toBAD=1"
        ]
    );
    assert_eq!(lines[6..8], ["L50to100=1", "Samples: 5, average (mean) latency = 115.0usecs, "]);
    assert_eq!(lines[8], "Samples: 5, average (badmean - with all bads) latency = 252.0usecs, ");
    assert!(lines[9].starts_with("Variance is: 67") && lines[9].ends_with("and standard deviation is: 82.0 "), "{}", lines[9]);
    assert_eq!(lines[10], "median latency = 110.0usecs min latency = 40.0usecs, max latency [-1]= 250.0usecs");
    assert_eq!(lines[11], "badmax latency = 800.0usecs");
    assert_eq!(lines[12], "The amount greater than mean is 2 (40%) and the amount smaller or equal is 3 (60%)");
    assert!(lines[13..].iter().all(|l| l.starts_with("# rtscope: ")), "{text}");
    assert!(
        lines.contains(&"# rtscope: rising: samples 3, missed 2, min 60.000 us, mean 140.000 us, stdev 80.416 us, max 250.000 us")
    );

    assert_eq!(detect(text.as_bytes()), Some(Format::Adam));
    let again = read(&text).unwrap();
    let d = &again.distributions()[0];
    assert_eq!((d.count(), d.missed(), d.late(), d.spurious(), d.dropped()), (5, 2, 1, 3, 0), "not what the load's name says");
    assert_eq!((d.min(), d.max()), (Some(40_000), Some(800_000)));
    assert!(matches!(d.parts().moments, Moments::Reported { mean } if (mean - 252_000.0).abs() < 0.1));
    assert_eq!(codes(&again), ["no-histogram", "edges-not-told-apart", "system-unknown"]);
    assert_eq!(again.parts().space, Space::Kernel);
    let mut lab = r.into_parts();
    (lab.clock, lab.system.virtualization) = (Clock::Virtual, Some("qemu, really".into()));
    lab.warnings.push(Warning::new("load-died", Effect::Invalid, "it died", ""));
    let again = read(&written(&Record::new(lab).unwrap())).unwrap();
    assert_eq!((again.parts().clock, again.parts().system.virtualization.as_deref()), (Clock::Virtual, Some("qemu  really")));
    assert_eq!((again.verdict(), codes(&again).contains(&"source-verdict")), (Verdict::Invalid, true));
}

#[test]
fn a_periodic_record_in_its_layout() {
    let parts: [(&str, &[u64], [u64; 3]); 2] = [("rising late", &[1_000, 3_000], [0; 3]), ("rising early", &[2_000], [0; 3])];
    let text = written(&record(Test::Periodic, &parts));
    // Intervals of 15,001, 15,003 and 14,998 us: mean 15,000.667, variance 38/9.
    for line in [
        "Samples: 3, average (mean) latency = 15000.7usecs, ",
        "Variance is: 4.2, and standard deviation is: 2.1 ",
        "median latency = 15001.0usecs min latency = 14998.0usecs at i=-1, max latency = 15003.0usecs at i=-1",
        "The amount greater than mean is 2 (66%) and the amount smaller or equal is 1 (33%)",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    let error = read(&text).unwrap_err().to_string();
    assert!(error.contains("semi-period"), "{error}");
}

#[test]
fn other_records_are_refused_and_empty_ones_written() {
    let timer = record(Test::Timer, &[("cpu0", &[5], [0; 3])]);
    assert!(matches!(export(&timer, Format::Adam), Err(ExportError::NotOverLines(t)) if t == "timer"));
    let text = written(&record(Test::Response, &[("rising", &[], [4, 0, 0])]));
    assert!(!text.contains("nan") && !text.contains("inf"), "{text}");
    let again = read(&text).unwrap();
    assert_eq!((again.distributions()[0].count(), again.distributions()[0].missed()), (0, 4));
}

#[test]
fn several_reports_in_one_file() {
    let both = fixture("adam-plain.txt") + &fixture("adam-bad.txt");
    let records = import(both.as_bytes(), &options()).unwrap();
    assert_eq!(records.iter().map(|r| r.distributions()[0].max()).collect::<Vec<_>>(), [Some(100_000), Some(530_500)]);
    assert_ne!(records[0].id(), records[1].id());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let plain = fixture("adam-plain.txt");
    for (from, to, wanted) in [
        ("Samples: 2000, average (mean)", "Samples: many, average (mean)", "line 8: no number of samples"),
        ("min latency = 40.0", "min latency = 4.x", "not a time in us"),
        ("min latency = 40.0", "min latency = 140.0", "do not add up"),
        ("Bad_positive=0", "Bad_positive=7", "Bad_positive=7 and Bad_negative=0"),
        ("badmax latency = 0.0usecs\n", "", "ends without `badmax latency =`"),
        ("Samples: 2000, average (mean)", "Samples: 0, average (mean)", ""),
        ("The amount greater than mean", "The amount", ""),
    ] {
        let text = plain.replacen(from, to, 1);
        assert_ne!(text, plain);
        match read(&text) {
            Err(e) => assert!(e.to_string().contains(wanted), "{e}"),
            Ok(_) => assert!(wanted.is_empty(), "{to} was taken"),
        }
    }
    assert!(read(&plain.replace("The amount greater", "").repeat(2)).unwrap_err().to_string().contains("a second"));
}
