//! The target `fake:FILE`: injected latencies come back; every figure is compared with one computed here from the list.

use crate::world::{World, adds_up, codes};
use rtscope_record::{Distribution, Quantile, Record, Verdict};

const INTERVAL: u64 = 1_000_000;

/// The samples, and the number of points passed over, that the injected list gives on the grid.
fn expected(latencies: &[u64], points: u64) -> (Vec<u64>, u64) {
    let (mut at, mut samples, mut missed) = (0, Vec::new(), 0);
    for latency in latencies.iter().cycle() {
        if at >= points {
            break;
        }
        samples.push(*latency);
        // A latency of k whole intervals reaches to the k-th point after its own; that point and those in between are passed
        // over.
        let passed = (latency / INTERVAL).min(points - at - 1);
        missed += passed;
        at += 1 + passed;
    }
    (samples, missed)
}

/// How long each point of the grid waited, sorted.
fn waited(latencies: &[u64], points: u64) -> Vec<u64> {
    let (mut point, mut all) = (0, Vec::new());
    for latency in latencies.iter().cycle() {
        let woken = point * INTERVAL + latency;
        while point < points && point * INTERVAL <= woken {
            all.push(woken - point * INTERVAL);
            point += 1;
        }
        if point == points {
            all.sort_unstable();
            return all;
        }
    }
    all
}

#[track_caller]
fn holds(d: &Distribution, mut samples: Vec<u64>, missed: u64) {
    samples.sort_unstable();
    let n = samples.len() as u64;
    assert_eq!((d.count(), d.missed()), (n, missed));
    assert_eq!((d.min(), d.max()), (samples.first().copied(), samples.last().copied()));
    let sum: u128 = samples.iter().map(|&s| u128::from(s)).sum();
    assert_eq!(
        d.parts().moments,
        rtscope_record::distribution::Moments::Exact { sum, sum_sq: samples.iter().map(|&s| u128::from(s).pow(2)).sum() }
    );
    let mean = d.mean().unwrap();
    assert!((mean - sum as f64 / n as f64).abs() <= 1e-9 * mean, "mean {mean}");
    let percentiles = d.percentiles();
    for q in Quantile::STANDARD {
        let Some(&value) = percentiles.get(&q.to_string()) else {
            assert!(n < q.samples_needed(), "{q} of {n} samples is not there");
            continue;
        };
        let exact = samples[usize::try_from(q.rank(n)).unwrap() - 1];
        let most = exact + exact / 1000;
        assert!(value >= exact && value <= most, "{q}: {value}, exactly {exact}");
    }
}

#[track_caller]
fn case(latencies: &[u64], points: u64, threads: usize) -> Record {
    let w = World::new();
    let lines: Vec<String> = latencies.iter().map(u64::to_string).collect();
    let file = w.file("latencies", format!("# injected\n\n{}\n", lines.join("\n")));
    let target = format!("fake:{}", file.display());
    let (duration, threads_text) = (format!("{points}ms"), threads.to_string());
    let args = ["measure", "timer", "-i", "1ms", "-D", &duration, "-t", &threads_text, "--target", &target, "--json"];
    let r = w.run(&args).ends_with(4).record();
    assert_eq!((r.verdict(), codes(&r).contains(&"fake")), (Verdict::Invalid, true));
    assert_eq!(r.distributions().len(), threads);
    adds_up(&r, |_| points);
    let (samples, missed) = expected(latencies, points);
    for d in r.distributions() {
        assert_eq!(d.parts().expected, Some(points));
        holds(d, samples.clone(), missed);
        let all = waited(latencies, points);
        for (name, value) in d.corrected_percentiles() {
            let exact = all[usize::try_from(name.parse::<Quantile>().unwrap().rank(points)).unwrap() - 1];
            assert!(value >= exact && value <= exact + exact / 1000, "corrected {name}: {value}, exactly {exact}");
        }
    }
    assert_eq!(w.records(), std::slice::from_ref(&r), "kept as printed");
    r
}

#[test]
fn constant() {
    for value in [0, 1, 999, 12_345, 999_999] {
        case(&[value], 10_000, 2);
    }
}

#[test]
fn two_valued() {
    case(&[5_000, 50_000], 10_000, 1);
    case(&[5_000, 5_000, 5_000, 777_777], 100_000, 1);
}

#[test]
fn one_in_a_thousand_late() {
    let mut latencies = vec![8_000; 999];
    latencies.push(654_321);
    case(&latencies, 200_000, 2);
}

#[test]
fn uniform() {
    // Knuth's 64-bit linear congruential generator (MMIX), upper bits.
    let mut state = 42u64;
    let latencies: Vec<u64> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 900_000
    })
    .take(50_000)
    .collect();
    case(&latencies, 300_000, 1);
    let wide: Vec<u64> = latencies.iter().map(|l| l * l / 1000).collect();
    let r = case(&wide, 300_000, 1);
    assert!(r.distributions()[0].missed() > 100_000, "the larger ones reach over many points");
}

#[test]
fn latencies_beyond_the_interval_pass_points_over() {
    let r = case(&[10_000, 10_000, 3_500_000], 10_000, 1);
    let d = &r.distributions()[0];
    assert!(d.missed() > 4_000 && codes(&r).contains(&"fake"));
    assert!(d.corrected_percentiles()["p50"] > d.percentiles()["p50"]);
    // A latency of exactly one interval reaches the next point, which is passed over.
    case(&[1_000_000], 1_000, 1);
    case(&[999_999, 1_000_000, 1_000_001, 2_000_000], 1_000, 1);
    case(&[3_600_000_000_000], 1_000, 1);
}

#[test]
fn what_is_wrong_with_the_file_is_told() {
    let w = World::new();
    w.file("bad", "10\nx\n");
    w.file("bytes", [0xff, 0xfe, b'\n']);
    let run = |file: &str| w.line(&format!("measure timer -D 1s --target fake:{file}"));
    run("bad").ends_with(2).complains(&["line 2", "`x` is not a latency in ns"]);
    run("none").ends_with(2).complains(&["none", "No such file"]);
    run("bytes").ends_with(2);
    w.line("measure timer -D 1s --target fake:").ends_with(2).complains(&["names no file"]);
    assert!(!w.archive().exists(), "nothing was kept");
}

#[test]
fn an_empty_file_gives_no_sample_or_is_refused() {
    let w = World::new();
    w.file("empty", "# nothing\n");
    let said = w.line("measure timer -D 1s --target fake:empty --json");
    assert!(matches!(said.code, Some(2 | 4)), "{said:?}");
}

const LINES: &str = "--stimulus soft:a --answer soft:b --dut none";

#[test]
fn injected_answers_come_back() {
    let w = World::new();
    // Every third answer comes after the time-out of 500 us: missed, and late.
    w.file("lat", "10000\n20000\n600000\n");
    let said = w.line(&format!("measure response --target fake:lat {LINES} --timeout 500us --warmup 0 --loops 600 --json"));
    let r = said.ends_with(4).record();
    assert!(codes(&r).contains(&"fake") && r.verdict() == Verdict::Invalid);
    adds_up(&r, |_| 300);
    for d in r.distributions() {
        assert_eq!((d.count(), d.missed(), d.late(), d.spurious()), (200, 100, 100, 0), "{}", d.label());
        assert_eq!((d.min(), d.max(), d.mean()), (Some(10_000), Some(20_000), Some(15_000.0)));
    }
}

#[test]
fn an_injected_wave_comes_back() {
    let w = World::new();
    w.file("lat", "0\n7000\n");
    let said = w.line("measure periodic --target fake:lat --answer soft:b --dut none -i 1ms --warmup 0 --loops 1000 --json");
    let r = said.ends_with(4).record();
    let figures: Vec<_> = r.distributions().iter().map(|d| (d.label(), d.count(), d.max())).collect();
    let (late, early) = ((500, Some(7_000)), (500, Some(7_000)));
    assert_eq!(
        figures,
        [
            ("rising late", 0, None),
            ("rising early", early.0, early.1),
            ("falling late", late.0, late.1),
            ("falling early", 0, None)
        ]
    );
}

#[test]
fn the_search_finds_how_fast_an_injected_device_is() {
    let w = World::new();
    w.file("lat", "10000\n20000\n600000\n");
    let said = w.line(&format!("measure sustained --target fake:lat {LINES} -i 5ms -D 2s --json"));
    let r = said.ends_with(4).record();
    let found = r.parts().instrument.as_ref().and_then(|i| i.sustained).unwrap().0;
    assert!((600_000..=606_000).contains(&found), "{found}: the slowest answer takes 600 us, and the search stops at 1 %");
}

#[test]
fn a_fake_has_no_kernel_space() {
    let w = World::new();
    w.file("lat", "10000\n");
    w.line("measure timer --space kernel -D 1s --target fake:lat").ends_with(2);
}

#[test]
fn a_measurement_ends_with_the_line_that_is_looked_for() {
    let w = World::new();
    w.file("late", "1000\n2000\n3000\n2500000\n");
    let narrow = |words: &str| -> crate::world::Said {
        let words: Vec<&str> = words.split_whitespace().collect();
        w.command(&words).env("COLUMNS", "80").output().unwrap().into()
    };
    let base = "measure timer -D 1s -t 1 --target fake:late";
    let said = narrow(base);
    let last = said.out.lines().last().unwrap();
    assert!(last.starts_with("max 2500.00 us · p99.9 ") || last.starts_with("max 2500.00 us · missed "), "{last}");
    assert!(last.contains(" · missed 332 · ") || last.contains(" · missed 333 · ") || last.contains(" · missed 334 · "), "{last}");
    assert!(said.out.lines().all(|l| l.chars().count() <= 80) && said.out.contains("`rtscope show"), "{}", said.out);
    assert!(!said.out.contains("Percentiles of all") && !said.out.contains("Load proof"), "{}", said.out);
    // Several runs: a table, and the line is of the worst.
    let said = narrow("measure timer -D 1s -t 1 --target fake:late --load none,none");
    assert!(said.out.lines().last().unwrap().starts_with("worst, none"), "{}", said.out);
    // For scripts the table alone.
    let said = narrow(&format!("--quiet {base}"));
    assert_eq!(said.err, "");
    let lines: Vec<&str> = said.out.lines().filter(|l| !l.starts_with('(')).collect();
    assert!(lines.len() == 3 && lines[0].contains("max us") && lines[0].contains("verdict"), "{}", said.out);
}

#[test]
fn runs_of_different_tests_are_not_compared() {
    let w = World::new();
    w.file("one", "1000\n");
    w.line("measure timer -D 100ms --target fake:one");
    w.line("measure periodic --answer soft:w -i 1ms -D 100ms");
    for words in [
        "compare test=timer test=periodic",
        "compare test=timer test=periodic --html page.html",
        "compare all",
        "compare all --kernels",
    ] {
        let said = w.line(words).ends_with(2);
        said.complains(&["runs of different tests can't be compared", "test=", "docs/report.md"]);
    }
    assert!(!w.path("page.html").exists());
    let said = w.line("measure timer -D 100ms --target fake:one --baseline test=periodic").ends_with(2);
    said.complains(&["the baseline is of periodic"]);
    assert_eq!(w.records().len(), 2, "nothing was measured for it");
}
