//! Comparisons: ratios, exact merging, and every finding.

use super::metrics::Figures;
use super::*;
use crate::edges::merged_figures;
use crate::fixtures::Build;
use crate::summary::time_model;
use proptest::prelude::*;
use rtscope_record::correction::Corrected;
use rtscope_record::{Clock, Distribution, DistributionError, Effect, Test, Verdict};

type Change = fn(&mut Build);

fn named(id: &str, b: Build) -> Record {
    let mut b = b;
    b.0.id = id.into();
    b.record()
}

fn codes(c: &Comparison) -> Vec<&str> {
    c.findings.iter().map(|f| f.code.as_str()).collect()
}

fn row<'a>(c: &'a Comparison, load: usize, metric: &str) -> &'a MetricRow {
    c.loads[load].rows.iter().find(|r| r.metric == metric).unwrap_or_else(|| panic!("no {metric}"))
}

#[test]
fn ratios_of_two_runs() {
    let a = named("a", Build::new("none").cpu(0, 1_000_000, &[10_000, 20_000, 30_000]));
    let b = named("b", Build::new("none").cpu(0, 1_000_000, &[5_000, 10_000, 15_000]));
    let c = compare(&[a], &[b]).unwrap();
    assert_eq!(codes(&c), [""; 0]);
    assert_eq!(row(&c, 0, "mean").ratio, Some(0.5));
    assert_eq!(row(&c, 0, "max").ratio, Some(0.5));
    assert_eq!((row(&c, 0, "samples").a, row(&c, 0, "missed").ratio), (Some(3.0), None));
    assert!(c.note.contains("one run a side: no interval can be given"));
    assert!(c.loads[0].rows.iter().all(|r| !r.metric.starts_with("corrected")), "nothing was omitted");
}

#[test]
fn several_runs_of_a_side_are_merged_exactly() {
    let a1 = named("a1", Build::new("full").cpu(0, 1_000_000, &[10_000, 20_000]));
    let a2 = named("a2", Build::new("full").cpu(0, 1_000_000, &[60_000]));
    let b = named("b", Build::new("full").cpu(0, 1_000_000, &[30_000, 3_000_000]));
    let c = compare(&[a1, a2], &[b]).unwrap();
    assert_eq!((c.loads[0].a_runs, c.loads[0].b_runs), (2, 1));
    assert_eq!(row(&c, 0, "mean").a, Some(30_000.0));
    assert_eq!(row(&c, 0, "samples").a, Some(3.0));
    assert_eq!(row(&c, 0, "missed").b, Some(3.0));
    assert!(row(&c, 0, "corrected p50").b > row(&c, 0, "p50").b, "the corrected view is shown where it differs");
    assert!(!c.note.contains("one run a side"));
}

#[test]
fn every_difference_is_a_finding() {
    let base = || Build::new("none").cpu(0, 1_000_000, &[10_000]);
    let cases: [(&str, Change); 7] = [
        ("clock-differs", |b| b.0.clock = Clock::Virtual),
        ("test-differs", |b| b.0.test = rtscope_record::Test::Periodic),
        ("space-differs", |b| b.0.space = rtscope_record::Space::Kernel),
        ("machine-differs", |b| b.0.system.virtualization = Some("kvm".into())),
        ("policy-differs", |b| b.0.settings.priority = 50),
        ("placement-differs", |b| b.0.settings.migrate = true),
        ("interrupted", |b| b.0.interrupted = true),
    ];
    for (code, change) in cases {
        let mut b = base();
        change(&mut b);
        let c = compare(&[named("a", base())], &[named("b", b)]).unwrap();
        assert!(codes(&c).contains(&code), "{code}: {:?}", codes(&c));
    }
    let other = Build::new("none").cpu(0, 2_000_000, &[10_000]);
    let c = compare(&[named("a", base())], &[named("b", other)]).unwrap();
    assert_eq!(codes(&c), ["interval-differs"]);
    assert!(c.findings[0].message.contains("1ms against 2ms"), "{}", c.findings[0].message);
    let c = compare(&[named("a", base())], &[named("a", base())]).unwrap();
    assert_eq!(codes(&c), ["same-run"]);
    let c = compare(&[named("a", base())], &[named("b", base().warn("load-died", Effect::Invalid))]).unwrap();
    assert_eq!((codes(&c), c.b.verdict), (vec!["side-invalid"], Verdict::Invalid));
}

#[test]
fn loads_on_one_side_are_named() {
    let r = |id, load| named(id, Build::new(load).cpu(0, 1_000_000, &[10_000]));
    let c = compare(&[r("a1", "none"), r("a2", "disk")], &[r("b1", "none"), r("b2", "full")]).unwrap();
    assert_eq!(c.loads.iter().map(|l| l.load.as_str()).collect::<Vec<_>>(), ["none"]);
    assert_eq!(codes(&c), ["load-on-one-side", "load-on-one-side"]);
    let error = compare(&[r("a", "none"), r("a2", "disk")], &[r("b", "full")]).unwrap_err();
    assert!(error.to_string().contains("no load in common"), "{error}");
    let c = compare(&[r("a", "none")], &[r("b", "full")]).unwrap();
    assert_eq!((c.loads[0].load.as_str(), codes(&c)), ("none / full", vec!["load-differs"]));
    assert_eq!(row(&c, 0, "mean").ratio, Some(1.0));
    assert_eq!(compare(&[], &[r("b", "full")]), Err(CompareError::Empty("A")));
    assert_eq!(compare(&[r("a", "full")], &[]), Err(CompareError::Empty("B")));
}

#[test]
fn jitter_is_compared_with_its_sign_and_late_answers_are_counted() {
    let wave = |id: &str, late: &[u64], early: &[u64]| {
        Build::lines(id, Test::Periodic, &[("rising late", late, 1), ("rising early", early, 0)]).record()
    };
    let c = compare(&[wave("a", &[4_000], &[2_000])], &[wave("b", &[2_000], &[6_000, 2_000])]).unwrap();
    let rows: Vec<_> = c.loads[0].rows.iter().map(|r| (r.metric.as_str(), r.a, r.b)).collect();
    assert_eq!(rows[0], ("earliest", Some(-2_000.0), Some(-6_000.0)));
    assert_eq!(rows[1], ("mean", Some(1_000.0), Some(-2_000.0)));
    assert_eq!(rows[3], ("latest", Some(4_000.0), Some(2_000.0)));
    assert_eq!(rows[4..], [("samples", Some(2.0), Some(3.0)), ("missed", Some(1.0), Some(1.0))]);
    let mut late = Build::lines("l", Test::Response, &[("rising", &[5], 0)]).0;
    let mut d = late.distributions.remove(0).into_parts();
    (d.missed, d.late, d.expected) = (2, 1, Some(3));
    late.distributions.push(Distribution::new(d).unwrap());
    let late = Record::new(late).unwrap();
    let c = compare(std::slice::from_ref(&late), std::slice::from_ref(&late)).unwrap();
    assert!(c.loads[0].rows.iter().any(|r| (r.metric.as_str(), r.a) == ("late", Some(1.0))));
}

/// A record whose threads have these intervals (0: unknown), while its settings say 1 ms.
fn of_threads(id: &str, intervals: &[u64]) -> Record {
    let mut b = Build::new("none");
    for (cpu, &interval) in (0..).zip(intervals) {
        b = b.cpu(cpu, 1_000_000, &[10_000]);
        let mut p = b.0.distributions.pop().unwrap().into_parts();
        (p.thread.as_mut().unwrap().interval, p.passed) = (interval, None);
        b.0.distributions.push(Distribution::new(p).unwrap());
    }
    named(id, b)
}

#[test]
fn the_interval_is_that_of_the_threads_where_they_have_one() {
    for (one, other, words) in [
        (&[1_000_000, 2_000_000][..], &[1_000_000, 1_000_000][..], Some("1ms+2ms against 1ms")),
        (&[2_000_000, 0], &[0, 0], Some("2ms against 1ms")),
        (&[2_000_000, 0], &[2_000_000], None),
        (&[0, 0], &[1_000_000], None),
    ] {
        let c = compare(&[of_threads("a", one)], &[of_threads("b", other)]).unwrap();
        let said: Vec<&str> =
            c.findings.iter().filter(|f| f.code == "interval-differs").map(|f| f.message.rsplit(": ").next().unwrap()).collect();
        assert_eq!(said, Vec::from_iter(words), "{one:?} {other:?}");
    }
}

#[test]
fn a_side_tells_its_kernels_and_whether_it_is_a_virtual_machine() {
    let guest = |id: &str, release: &str| {
        let mut b = Build::new("none").cpu(0, 1_000_000, &[10_000]);
        (b.0.system.kernel.release, b.0.system.virtualization) = (release.into(), Some("kvm".into()));
        named(id, b)
    };
    let bare = named("c", Build::new("none").cpu(0, 1_000_000, &[10_000]));
    let c = compare(&[guest("a", "6.12"), guest("b", "6.1"), bare.clone()], &[bare]).unwrap();
    // A record that does not name its kernel adds no kernel.
    assert_eq!((&c.a.kernels[..], &c.b.kernels[..]), (&["6.1".to_owned(), "6.12".to_owned()][..], &[][..]));
    assert_eq!((c.a.virtual_machine, c.b.virtual_machine), (true, false));
    assert_eq!(codes(&c).iter().filter(|c| **c == "virtual-machine").count(), 1);
}

#[test]
fn what_one_side_has_is_shown_without_a_ratio() {
    let nothing = Build::new("none").cpu(0, 1_000_000, &[]).record();
    let stall = Build::new("none").cpu(0, 1_000_000, &[10_000, 3_500_000]).record();
    let mut counted = stall.clone().into_parts();
    let mut d = counted.distributions.remove(0).into_parts();
    (d.missed, d.late, d.passed, d.expected) = (1, 1, None, Some(3));
    counted.distributions.push(Distribution::new(d).unwrap());
    let counted = Record::new(counted).unwrap();
    let of = |a: &Record, b: &Record| compare(std::slice::from_ref(a), std::slice::from_ref(b)).unwrap();
    let there = |c: &Comparison, metric| (row(c, 0, metric).a.is_some(), row(c, 0, metric).b.is_some());
    for metric in ["p50", "corrected p50"] {
        assert_eq!(there(&of(&nothing, &stall), metric), (false, true), "{metric}");
        assert_eq!(there(&of(&stall, &nothing), metric), (true, false), "{metric}");
    }
    for (c, a, b) in [(of(&counted, &stall), 1.0, 0.0), (of(&stall, &counted), 0.0, 1.0)] {
        assert_eq!((row(&c, 0, "late").a, row(&c, 0, "late").b), (Some(a), Some(b)));
        assert!(!c.loads[0].rows.iter().any(|r| r.metric == "dropped"), "neither lost any");
    }
}

#[test]
fn a_guess_is_called_one_on_whichever_side_it_is() {
    let stall = || Build::new("none").cpu(0, 1_000_000, &[10_000, 3_500_000]);
    let (known, guess, nothing) = (stall().record(), stall().import().record(), Build::new("none").cpu(0, 1_000_000, &[]).record());
    let name = |a: &Record, b: &Record| {
        let c = compare(std::slice::from_ref(a), std::slice::from_ref(b)).unwrap();
        c.loads[0].rows.iter().map(|r| r.metric.clone()).find(|m| m != "p50" && m.contains("p50")).unwrap()
    };
    assert_eq!([name(&known, &known), name(&known, &nothing), name(&nothing, &known)], ["corrected p50"; 3]);
    assert_eq!(name(&guess, &known), "corrected p50 (A by HdrHistogram's rule)");
    assert_eq!(name(&known, &guess), "corrected p50 (B by HdrHistogram's rule)");
    let all = "p50 by HdrHistogram's rule";
    assert_eq!([name(&guess, &guess), name(&guess, &nothing), name(&nothing, &guess)], [all; 3]);
}

#[test]
fn jitter_is_shown_where_every_run_of_a_side_is_a_wave() {
    let of = |id: &str, test| Build::lines(id, test, &[("rising late", &[4_000], 0), ("rising early", &[2_000], 0)]).record();
    let (wave, other) = (of("p", Test::Periodic), of("r", Test::Response));
    let shown = |a: &[&Record]| {
        let a: Vec<Record> = a.iter().map(|r| (*r).clone()).collect();
        let c = compare(&a, std::slice::from_ref(&wave)).unwrap();
        c.loads[0].rows[0].metric.clone()
    };
    assert_eq!([shown(&[&wave]), shown(&[&wave, &wave])], ["earliest"; 2]);
    assert_eq!([shown(&[&wave, &other]), shown(&[&other, &wave])], ["min"; 2]);
}

fn in_model(id: &str, model: Option<u32>, load: &str, samples: &[u64]) -> Record {
    let mut b = Build::new(load).cpu(0, 1_000_000, samples);
    (b.0.id, b.0.clock) = (id.into(), Clock::Virtual);
    // A record that names no model is of model 1.
    b.0.lab = Some(
        model.map_or_else(rtscope_record::Lab::default, |model| rtscope_record::Lab { model, ..rtscope_record::Lab::default() }),
    );
    b.record()
}

#[test]
fn records_of_two_time_models_have_no_ratio() {
    let (old, new) = (in_model("a", None, "none", &[10_000]), in_model("b", Some(2), "none", &[5_000]));
    let e = compare(std::slice::from_ref(&old), std::slice::from_ref(&new)).unwrap_err();
    assert!(e.to_string().contains("A is in time model 1 of the lab, B in time model 2"), "{e}");
    assert!(compare(std::slice::from_ref(&old), &[in_model("c", Some(1), "none", &[5_000])]).is_ok());
    // Models that both sides have are compared; the others are named and enter no figure.
    let c = compare(&[old, new.clone()], &[in_model("c", Some(2), "none", &[20_000])]).unwrap();
    assert_eq!((c.loads.len(), c.loads[0].model, c.loads[0].a_runs, row(&c, 0, "max").ratio), (1, Some(2), 1, Some(4.0)));
    assert!(codes(&c).contains(&"model-on-one-side"), "{:?}", codes(&c));
    assert_eq!(c.bands, []);
    // Host time against virtual time is reported by a finding.
    let host = named("h", Build::new("none").cpu(0, 1_000_000, &[10_000]));
    assert!(codes(&compare(&[host], &[new]).unwrap()).contains(&"clock-differs"));
}

#[test]
fn several_models_on_both_sides_give_each_ratio_its_range() {
    let side = |id: &str, one: u64, two: u64| {
        [in_model(&format!("{id}1"), Some(1), "none", &[one]), in_model(&format!("{id}2"), Some(2), "none", &[two])]
    };
    let c = compare(&side("a", 10_000, 10_000), &side("b", 20_000, 5_000)).unwrap();
    assert_eq!(c.loads.iter().map(|l| (l.model, l.a_runs)).collect::<Vec<_>>(), [(Some(1), 1), (Some(2), 1)]);
    let max = c.bands.iter().find(|b| b.metric == "max").unwrap();
    assert_eq!((max.low, max.high, max.flips), (0.5, 2.0, true));
    assert!(codes(&c).contains(&"model-flips"), "{:?}", codes(&c));
    // With two loads, each has its ranges once.
    let under = |id: &str, load, max| [1, 2].map(|model| in_model(&format!("{id}{load}{model}"), Some(model), load, &[5_000, max]));
    let both = |id: &str, max| [under(id, "none", max), under(id, "disk", max)].concat();
    let c = compare(&both("a", 10_000), &both("b", 30_000)).unwrap();
    let of = |metric: &str| {
        let bands = c.bands.iter().filter(|b| b.metric == metric);
        bands.map(|b| (b.load.as_str(), b.ratios.len(), b.low)).collect::<Vec<_>>()
    };
    assert_eq!((of("min"), of("max")), (vec![("none", 2, 1.0), ("disk", 2, 1.0)], vec![("none", 2, 3.0), ("disk", 2, 3.0)]));
    assert!(c.bands.iter().all(|b| b.metric != "samples"), "of times only");
    let c = compare(&side("a", 10_000, 10_000), &side("b", 20_000, 15_000)).unwrap();
    assert!(c.bands.iter().all(|b| !b.flips) && !codes(&c).contains(&"model-flips"));
}

#[test]
fn of_many_runs_the_first_are_named_and_the_rest_counted() {
    let runs = |n: usize| -> Vec<Record> {
        let run =
            |i| named(&format!("x{i:02}"), Build::new("none").cpu(0, 1_000_000, &[10_000]).warn("load-died", Effect::Invalid));
        (0..n).map(run).collect()
    };
    let c = compare(&runs(12), &runs(10)).unwrap();
    let messages: Vec<&str> = c.findings.iter().map(|f| f.message.as_str()).collect();
    let ten = "x00, x01, x02, x03, x04, x05, x06, x07, x08, x09";
    let why = "its figures mean something else than they say";
    let expected = [
        format!("A holds INVALID runs ({ten} and 2 more): {why}"),
        format!("B holds INVALID runs ({ten}): {why}"),
        format!("A and B both hold {ten}"),
    ];
    assert_eq!(messages, expected);
    assert_eq!(c.a.ids.len(), 12);
}

/// Kind, load, time model (3: host time), samples, and whether another tool took them.
type Made = (u8, usize, u32, Vec<u64>, bool);

fn made(side: &str, all: &[Made]) -> Vec<Record> {
    let one = |(i, (kind, load, model, samples, import)): (usize, &Made)| {
        let mut b = Build::new(["none", "disk", "full"][*load]).cpu(0, 1_000_000, samples);
        b.0.id = format!("{side}{i}");
        b.0.interrupted = *kind == 5;
        match kind {
            0 | 1 => b.0.test = [Test::Periodic, Test::Response][usize::from(*kind)],
            2 => b = b.warn("load-died", Effect::Invalid),
            _ => {}
        }
        if *model < 3 {
            (b.0.clock, b.0.lab) = (Clock::Virtual, Some(rtscope_record::Lab { model: *model, ..rtscope_record::Lab::default() }));
        }
        if *import { b.import().record() } else { b.record() }
    };
    all.iter().enumerate().map(one).collect()
}

/// The rows of records that are merged all at once.
fn whole(of_load: [&[&Record]; 2]) -> Result<Vec<MetricRow>, DistributionError> {
    let mut both = Vec::new();
    for records in of_load {
        let (mut all, mut views) = (None::<Distribution>, Vec::new());
        for r in records {
            let d = r.merged()?.unwrap();
            if d.count() > 0 {
                views.push(Corrected::of_record(r));
            }
            all = Some(match all {
                None => d,
                Some(sum) => sum.merge(&d, "all", 32)?,
            });
        }
        let waves = records.iter().all(|r| r.parts().test == Test::Periodic);
        let jitter = if waves { Some(merged_figures(records)?.0) } else { None };
        both.push((all, jitter, Corrected::merge(views.iter().map(Option::as_ref))));
    }
    let [a, b] = [0, 1].map(|i| {
        let (all, jitter, corrected) = &both[i];
        Figures { all: all.as_ref(), jitter: jitter.clone(), corrected: corrected.as_ref() }
    });
    Ok(metrics(&a, &b))
}

proptest! {
    /// Adding records one by one gives the same result as merging all at once, to the last digit.
    #[test]
    fn a_tally_is_the_whole(
        a in prop::collection::vec((0u8..8, 0usize..3, 1u32..4, prop::collection::vec(0u64..3_000_000, 0..6), prop::bool::ANY), 1..12),
        b in prop::collection::vec((0u8..8, 0usize..3, 1u32..4, prop::collection::vec(0u64..3_000_000, 0..6), prop::bool::ANY), 1..12),
        same_runs: bool,
    ) {
        let (a, b) = (made("a", &a), made("b", &b));
        let Ok(c) = compare_views(&a, &b, same_runs) else { return Ok(()) };
        prop_assert_eq!(&c.a.ids, &a.iter().map(|r| r.id().to_owned()).collect::<Vec<_>>());
        prop_assert_eq!(c.b.verdict, b.iter().map(Record::verdict).max().unwrap());
        let models = |side: &[Record]| side.iter().map(time_model).collect::<BTreeSet<_>>();
        let several = models(&a).union(&models(&b)).flatten().count() > 1;
        let picks: Vec<Option<Option<u32>>> =
            if several { models(&a).intersection(&models(&b)).map(|m| Some(*m)).collect() } else { vec![None] };
        let loads = |side: &[Record]| {
            let mut seen = BTreeSet::new();
            side.iter().map(|r| r.parts().load.clone()).filter(|l| seen.insert(l.clone())).collect::<Vec<_>>()
        };
        let pairs = match (loads(&a).as_slice(), loads(&b).as_slice()) {
            ([one], [other]) => vec![(one.clone(), other.clone())],
            (all, others) => all.iter().filter(|l| others.contains(l)).map(|l| (l.clone(), l.clone())).collect(),
        };
        let (mut rows, mut views) = (Vec::new(), Vec::new());
        for (load_a, load_b) in pairs {
            let load = if load_a == load_b { load_a.clone() } else { format!("{load_a} / {load_b}") };
            for pick in &picks {
                let under = |side: &'static str| {
                    let (all, load) = if side == "a" { (&a, &load_a) } else { (&b, &load_b) };
                    let picked = |r: &&Record| r.parts().load == *load && pick.is_none_or(|m| time_model(r) == m);
                    all.iter().filter(picked).collect::<Vec<_>>()
                };
                let (of_a, of_b) = (under("a"), under("b"));
                if of_a.is_empty() || of_b.is_empty() {
                    continue;
                }
                views.extend(agreement(&load, &of_a, &of_b, same_runs).unwrap());
                let model = Some(of_a[0]).filter(|r| r.parts().lab.is_some()).and_then(time_model);
                let figures = whole([&of_a, &of_b]).unwrap();
                rows.push(LoadRows { load: load.clone(), model, a_runs: of_a.len(), b_runs: of_b.len(), rows: figures });
            }
        }
        prop_assert_eq!(c.loads, rows);
        prop_assert_eq!(c.agreement, views);
    }
}
