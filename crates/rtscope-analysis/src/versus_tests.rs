//! Stock against RT: pairing, exact merging, records that must never share a ratio, and every finding.

use super::*;
use crate::fixtures::Build;
use proptest::prelude::*;
use rtscope_record::system::Preemption;
use rtscope_record::{Effect, Space, Test, Verdict};

type Change = fn(&mut Build);

const STOCK: &str = "6.12.95+deb12-amd64";
const RT: &str = "6.12.95+deb12-rt-amd64";

fn build(id: &str, release: &str, load: &str, samples: &[u64]) -> Build {
    let mut b = Build::new(load).cpu(0, 1_000_000, samples);
    b.0.id = id.into();
    b.0.clock = Clock::Virtual;
    b.0.lab = Some(rtscope_record::Lab::default());
    b.0.system.kernel.release = release.into();
    b.0.system.kernel.arch = "x86_64".into();
    b.0.system.kernel.preemption = if release.contains("-rt") { Preemption::Rt } else { Preemption::Voluntary };
    b.0.system.virtualization = Some("qemu".into());
    b
}

fn run(id: &str, release: &str, load: &str, samples: &[u64]) -> Record {
    build(id, release, load, samples).record()
}

fn codes(v: &Versus) -> Vec<&str> {
    v.findings.iter().map(|f| f.code.as_str()).collect()
}

fn labels(v: &Versus) -> Vec<Vec<&str>> {
    v.blocks.iter().map(|b| b.kernels.iter().map(|k| k.label.as_str()).collect()).collect()
}

#[test]
fn kernels_of_one_tree_have_names_of_their_own_at_each_place() {
    let of = |id: &str, release: &str, preemption: Preemption, arch: &str| {
        let mut b = build(id, release, "none", &[4_000; 1000]);
        b.0.system.kernel.preemption = preemption;
        b.0.system.kernel.arch = arch.into();
        b.record()
    };
    let records = [
        of("1", "6.17.13-none", Preemption::None, "x86_64"),
        of("2", "6.17.13-lazy", Preemption::Lazy, "x86_64"),
        of("3", "6.17.13-rt", Preemption::Rt, "x86_64"),
        // Another place: nothing there has the same short name.
        of("4", "6.17.13-none", Preemption::None, "aarch64"),
        of("5", "6.17.13-rt", Preemption::Rt, "aarch64"),
    ];
    let tally = VersusTally::of(&records);
    let all = variants(&tally, None).unwrap();
    let names: Vec<Vec<&str>> = all.places.iter().map(|p| p.rows.iter().map(|r| r.kernel.label.as_str()).collect()).collect();
    let wanted: [&[&str]; 2] = [&["6.17.13-none stock", "6.17.13-lazy stock", "6.17.13 RT"], &["6.17.13 stock", "6.17.13 RT"]];
    assert_eq!(names, wanted);
}

#[test]
fn settings_are_held_against_the_kernel_as_it_is() {
    // Five runs each: with `preempt=full` a third of the time.
    let of = |release: &str, tuning: &str, machine: &str, scale: u64| {
        let run = |seed: u64| {
            let samples: Vec<u64> = (0..2000).map(|n| (9_000 + n % 600 + 37 * seed) / scale).collect();
            let mut b = build(&format!("{}{scale}{machine}{seed}", release.len()), release, "network", &samples);
            b.0.lab = Some(rtscope_record::Lab { seed, ..rtscope_record::Lab::default() });
            b.0.system.board = Some(machine.into());
            b.0.settings.tuning = tuning.parse().unwrap();
            b.record()
        };
        (0..5).map(run).collect::<Vec<Record>>()
    };
    let plain: Vec<Record> = [of(STOCK, "", "a", 1), of(RT, "", "b", 1), of(STOCK, "", "b", 1)].concat();
    assert_eq!(settings(&plain).unwrap(), None, "a stock kernel beside RT has no settings");
    assert_eq!(settings(&[]).unwrap(), None);
    let all: Vec<Record> = [plain, of(STOCK, "preempt=full", "a", 3)].concat();
    let found = settings(&all).unwrap().unwrap();
    assert!(found.has_settings());
    let [place] = found.places.as_slice() else { panic!("the machine without settings is left out: {found:?}") };
    assert_eq!(place.machine, "a");
    let labels: Vec<&str> = place.rows.iter().map(|r| r.kernel.label.as_str()).collect();
    assert_eq!(labels, ["6.12.95+deb12 stock", "6.12.95+deb12 stock with preempt=full"]);
    let mean = &place.rows[1].runs.as_ref().unwrap().rows[0];
    assert_eq!((mean.metric, mean.difference.word), ("mean", crate::replicates::Word::Better));
    let [low, high] = mean.difference.interval.unwrap();
    assert!(low > 0.3 && low < 1.0 / 3.0 && high > 1.0 / 3.0 && high < 0.36, "{low} to {high}");
    assert_eq!(found.findings, [], "that they are set up otherwise is what is asked");
    // Tests over lines too, each test by itself.
    let answers = |tuning: &str, n: u64| {
        let mut b = Build::lines(&format!("answers{n}"), Test::Response, &[("rising", &[40_000 + n; 50], 0)]);
        b.0.settings.tuning = tuning.parse().unwrap();
        b.record()
    };
    let both: Vec<Record> = [all.clone(), vec![answers("", 1), answers("thp=never", 2)]].concat();
    let found = settings(&both).unwrap().unwrap();
    let what: Vec<(&str, usize)> = found.places.iter().map(|p| (p.what.as_str(), p.rows.len())).collect();
    assert_eq!(what, [("", 2), ("response, user space", 2)]);
    assert_eq!(found.places[1].rows[0].figures.max, Some(40_001));
    let mut faster = build("faster", STOCK, "network", &[5_000; 100]);
    faster.0.settings.tuning = "thp=never".parse().unwrap();
    faster.0.settings.priority = 10;
    let slower = run("slower", STOCK, "network", &[5_000; 100]);
    let found = settings(&[slower, faster.record()]).unwrap().unwrap();
    let codes: Vec<&str> = found.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["policy-differs"], "{:?}", found.findings);
    // With the other machine, a comparison of all kernels has both places.
    let every = variants(&VersusTally::of(&all), None).unwrap();
    assert_eq!((every.places.len(), every.has_settings()), (2, true));
}

#[test]
fn a_pair_under_two_loads() {
    let records = [
        run("r1", RT, "none", &[4_000; 1000]),
        run("s1", STOCK, "none", &[6_000; 1000]),
        run("s2", STOCK, "full", &[[5_000; 998].as_slice(), &[150_000; 2]].concat()),
        run("r2", RT, "full", &[[5_000; 999].as_slice(), &[7_500]].concat()),
    ];
    let v = versus(&records).unwrap();
    assert_eq!(labels(&v), [["6.12.95+deb12 stock", "6.12.95+deb12 RT"]]);
    assert_eq!(codes(&v), [""; 0]);
    let b = &v.blocks[0];
    assert_eq!((b.series.as_str(), b.clock_words.as_str(), b.virtual_machine), ("6.12", "virtual in qemu, model 1", true));
    assert_eq!(b.loads.iter().map(|l| l.load.as_str()).collect::<Vec<_>>(), ["none", "full"]);
    let ratios = b.loads[0].ratios.unwrap();
    assert_eq!((ratios.mean, ratios.p99, ratios.p99_9, ratios.max), (Some(1.5), Some(1.5), Some(1.5), Some(1.5)));
    assert_eq!(b.loads[1].ratios.unwrap().max, Some(20.0));
    let stock = b.loads[1].figures[0].as_ref().unwrap();
    assert_eq!(
        (stock.p99, stock.p99_9, stock.max, stock.count),
        (Some(5_003), Some(150_000), Some(150_000), 1000),
        "never too low"
    );
    let o = b.overall.as_ref().unwrap();
    assert_eq!((o.stock_max, o.stock_load.as_str(), o.rt_max, o.rt_load.as_str()), (150_000, "full", 7_500, "full"));
    assert_eq!(o.ratio, Some(20.0));
    assert!(v.note.contains("gives the same figures again"), "{}", v.note);
}

#[test]
fn what_the_samples_do_not_support_is_absent() {
    let records = [run("s", STOCK, "none", &[4_000; 999]), run("r", RT, "none", &[4_000; 1000])];
    let v = versus(&records).unwrap();
    let l = &v.blocks[0].loads[0];
    assert_eq!((l.figures[0].as_ref().unwrap().p99_9, l.figures[1].as_ref().unwrap().p99_9), (None, Some(4_000)));
    assert_eq!((l.ratios.unwrap().p99_9, l.ratios.unwrap().p99), (None, Some(1.0)));
    // A maximum of 0 gives no ratio, nor does a kernel without samples.
    let v = versus(&[run("s", STOCK, "none", &[4_000]), run("r", RT, "none", &[0])]).unwrap();
    assert_eq!(v.blocks[0].loads[0].ratios.unwrap().max, None);
    let v = versus(&[run("s", STOCK, "none", &[4_000]), run("r", RT, "none", &[])]).unwrap();
    assert_eq!((v.blocks[0].loads[0].ratios, &v.blocks[0].overall), (None, &None));
}

#[test]
fn runs_of_one_kernel_and_load_are_merged_exactly_and_once() {
    let s1 = run("s1", STOCK, "full", &[10_000, 20_000]);
    let records = [s1.clone(), s1, run("s2", STOCK, "full", &[60_000]), run("r", RT, "full", &[5_000, 5_000])];
    let v = versus(&records).unwrap();
    let f = v.blocks[0].loads[0].figures[0].as_ref().unwrap();
    assert_eq!((f.runs, f.count, f.mean, f.max), (2, 3, Some(30_000.0), Some(60_000)));
    assert_eq!(f.all.as_ref().unwrap().count(), 3);
    assert!(v.note.contains("merge"));
}

#[test]
fn clocks_machines_and_spaces_never_meet() {
    let changes: [Change; 4] = [
        |b| b.0.clock = Clock::Host,
        |b| b.0.system.board = Some("another".into()),
        |b| b.0.space = Space::Kernel,
        |b| b.0.system.virtualization = Some("kvm".into()),
    ];
    for change in changes {
        let mut other = build("r", RT, "none", &[4_000]);
        change(&mut other);
        let error = versus(&[run("s", STOCK, "none", &[8_000]), other.record()]).unwrap_err();
        let VersusError::NoPair(known) = &error else { panic!("{error}") };
        assert!(known.contains("6.12.95+deb12 stock (clock virtual in qemu, model 1)"), "{known}");
        assert!(error.to_string().contains("measure the other kernel too"));
    }
    let mut host = [build("hs", STOCK, "none", &[9_000]), build("hr", RT, "none", &[3_000])];
    for b in &mut host {
        b.0.clock = Clock::Host;
    }
    let [hs, hr] = host.map(Build::record);
    let v = versus(&[run("s", STOCK, "none", &[8_000]), run("r", RT, "none", &[4_000]), hs, hr]).unwrap();
    let found: Vec<_> = v.blocks.iter().map(|b| (b.clock, b.loads[0].ratios.unwrap().max)).collect();
    assert_eq!(found, [(Clock::Host, Some(3.0)), (Clock::Virtual, Some(2.0))]);
    assert!(v.note.contains("chance"), "{}", v.note);
}

#[test]
fn kernels_find_the_partner_of_their_series() {
    let of = |releases: &[&str]| {
        let records: Vec<_> = releases.iter().enumerate().map(|(i, r)| run(&format!("x{i}"), r, "none", &[4_000])).collect();
        versus(&records).unwrap()
    };
    let v = of(&["6.12.107-rt-amd64", "6.12.95-amd64", "6.1.0-42-rt-amd64", "6.12.107-amd64", "6.1.0-42-amd64", "6.6.1-rt3"]);
    assert_eq!(
        labels(&v),
        [vec!["6.1.0-42 stock", "6.1.0-42 RT"], vec!["6.12.107 stock", "6.12.107 RT"], vec!["6.12.95 stock"], vec!["6.6.1 RT"],]
    );
    assert_eq!(codes(&v), ["no-partner", "no-partner"]);
    assert_eq!(v.blocks.iter().map(KernelPair::is_pair).collect::<Vec<_>>(), [true, true, false, false]);
    let v = of(&["6.12.95-amd64", "6.12.107-rt-amd64"]);
    assert_eq!((codes(&v), v.blocks.len()), (vec!["version-differs"], 1));
    let mut unknown = build("u", "6.12.107-amd64", "none", &[4_000]);
    unknown.0.system.kernel.preemption = Preemption::Unknown;
    let r = run("r", "6.12.107-rt-amd64", "none", &[4_000]);
    let error = versus(&[unknown.record(), r]).unwrap_err();
    assert!(error.to_string().contains("6.12.107 unknown preemption"), "{error}");
    assert_eq!(versus(&[]).unwrap_err(), VersusError::Empty);
}

#[test]
fn invalid_records_are_shown_without_a_ratio() {
    let invalid = |id: &str| build(id, STOCK, "full", &[900_000]).warn("load-died", Effect::Invalid).record();
    let rt = || run("r", RT, "full", &[5_000]);
    let v = versus(&[invalid("s"), rt()]).unwrap();
    let l = &v.blocks[0].loads[0];
    let f = l.figures[0].as_ref().unwrap();
    assert_eq!((f.verdict, f.max, l.ratios, &v.blocks[0].overall), (Verdict::Invalid, Some(900_000), None, &None));
    assert_eq!(codes(&v), ["invalid"]);
    // Next to a sound run it is left out, and named.
    let v = versus(&[invalid("s1"), run("s2", STOCK, "full", &[10_000]), rt()]).unwrap();
    let f = v.blocks[0].loads[0].figures[0].as_ref().unwrap();
    assert_eq!((f.verdict, f.max, f.left_out.as_slice()), (Verdict::Repeatable, Some(10_000), &["s1".to_owned()][..]));
    assert_eq!((codes(&v), v.blocks[0].loads[0].ratios.unwrap().max), (vec!["invalid-left-out"], Some(2.0)));
    assert_eq!(v.findings[0].message, "under full: left out of stock, since INVALID: s1");
}

#[test]
fn every_difference_is_a_finding() {
    let cases: [(&str, Change); 4] = [
        ("policy-differs", |b| b.0.settings.priority = 50),
        ("placement-differs", |b| b.0.settings.migrate = true),
        ("interrupted", |b| b.0.interrupted = true),
        ("count-differs", |b| *b = Build(build("r", RT, "none", &[4_000; 4]).0)),
    ];
    for (code, change) in cases {
        let mut b = build("r", RT, "none", &[4_000, 4_000]);
        change(&mut b);
        let s = run("s", STOCK, "none", &[4_000, 4_000]);
        let v = versus(&[s.clone(), b.record()]).unwrap();
        assert_eq!(codes(&v), [code]);
        assert!(v.findings[0].message.starts_with("under none: "), "{}", v.findings[0].message);
    }
    // Runs that are merged although they were measured differently.
    let mut other = Build::new("none").cpu(0, 2_000_000, &[4_000]).0;
    let s = build("s1", STOCK, "none", &[4_000]).0;
    (other.id, other.clock, other.lab, other.system) = ("s2".into(), s.clock, s.lab.clone(), s.system.clone());
    let v = versus(&[Build(s).record(), Build(other).record(), run("r", RT, "none", &[4_000])]).unwrap();
    assert_eq!(codes(&v), ["interval-differs", "count-differs", "same-seed"]);
    assert!(v.findings[0].message.contains("stock and RT differ in interval: 1ms, 2ms against 1ms"), "{:?}", v.findings);
}

#[test]
fn what_holds_under_every_load_is_said_once() {
    let of = |change: &dyn Fn(&str, &mut Build)| {
        let records: Vec<Record> = [("s1", STOCK, "none"), ("s2", STOCK, "disk"), ("r1", RT, "none"), ("r2", RT, "disk")]
            .map(|(id, release, load)| {
                let mut b = build(id, release, load, &[4_000; 2]);
                change(id, &mut b);
                b.record()
            })
            .into();
        let found = versus(&records).unwrap().findings;
        found.into_iter().map(|f| (f.code, f.message)).collect::<Vec<_>>()
    };
    assert_eq!(of(&|_, _| ()), []);
    let early = |name: &str| format!("{name} holds a run that was ended early");
    let interrupted = |message: String| ("interrupted".to_owned(), message);
    assert_eq!(of(&|id, b| b.0.interrupted = id.starts_with('r')), [interrupted(early("RT"))]);
    assert_eq!(of(&|id, b| b.0.interrupted = id == "r2"), [interrupted(format!("under disk: {}", early("RT")))]);
    // The same finding for another kernel under another load is reported separately.
    let both = of(&|id, b| b.0.interrupted = id == "s1" || id == "r2");
    let expected = [format!("under none: {}", early("stock")), format!("under disk: {}", early("RT"))];
    assert_eq!(both, expected.map(interrupted));
}

#[test]
fn the_longer_one_is_named_from_twice_the_samples_on() {
    let of = |stock: usize, rt: usize| {
        let v = versus(&[run("s", STOCK, "none", &vec![4_000; stock]), run("r", RT, "none", &vec![4_000; rt])]).unwrap();
        v.findings.first().map(|f| f.message.split(" has 2").next().unwrap().to_owned())
    };
    assert_eq!((of(3, 3), of(5, 3), of(3, 5)), (None, None, None));
    assert_eq!((of(6, 3), of(3, 6)), (Some("under none: stock".into()), Some("under none: RT".into())));
}

#[test]
fn of_two_loads_with_the_same_maximum_the_first_is_named() {
    let v = versus(&[
        run("s1", STOCK, "none", &[8_000]),
        run("s2", STOCK, "disk", &[8_000]),
        run("r1", RT, "none", &[3_000]),
        run("r2", RT, "disk", &[2_000]),
    ])
    .unwrap();
    let o = v.blocks[0].overall.as_ref().unwrap();
    assert_eq!((o.stock_load.as_str(), o.rt_load.as_str(), o.stock_max, o.rt_max), ("none", "none", 8_000, 3_000));
}

#[test]
fn a_kernel_alone_says_what_it_lacks() {
    let alone = |release: &str, preemption| {
        let mut b = build("x", release, "none", &[4_000]);
        b.0.system.kernel.preemption = preemption;
        let v = versus(&[run("s", STOCK, "none", &[4_000]), run("r", RT, "none", &[4_000]), b.record()]).unwrap();
        assert_eq!(codes(&v), ["no-partner"]);
        v.findings[0].message.clone()
    };
    let clock = "(clock virtual in qemu, model 1)";
    assert_eq!(alone("6.1.0-rt", Preemption::Rt), format!("no stock kernel stands beside 6.1.0 RT {clock}"));
    assert_eq!(alone("6.1.0", Preemption::Full), format!("no PREEMPT_RT kernel stands beside 6.1.0 stock {clock}"));
    assert_eq!(
        alone("odd", Preemption::Unknown),
        format!("odd unknown preemption {clock} has no known preemption model, so it can't be compared")
    );
}

#[test]
fn loads_of_one_kernel_only_and_other_tests_are_named() {
    let mut other = build("p", RT, "none", &[4_000]);
    other.0.test = Test::Periodic;
    let v = versus(&[
        run("s1", STOCK, "none", &[4_000]),
        run("s2", STOCK, "disk", &[4_000]),
        run("r", RT, "none", &[4_000]),
        other.record(),
    ])
    .unwrap();
    assert_eq!(codes(&v), ["other-tests", "load-on-one-side"]);
    assert!(v.findings[1].message.starts_with("under disk: RT was not measured"), "{:?}", v.findings);
    assert_eq!(v.blocks[0].loads[1].ratios, None);
}

#[test]
fn the_json_has_figures_and_no_histograms() {
    let v = versus(&[run("s", STOCK, "none", &[4_000; 1000]), run("r", RT, "none", &[2_000; 1000])]).unwrap();
    let json = serde_json::to_value(&v).unwrap();
    let block = &json["blocks"][0];
    assert_eq!((&block["kernels"][1]["role"], &block["clock"]), (&"rt".into(), &"virtual".into()));
    assert_eq!(block["loads"][0]["ratios"]["p99.9"], 2.0);
    assert_eq!(block["loads"][0]["figures"][0]["p99.9"], 4_000);
    assert_eq!(block["loads"][0]["figures"][0].get("all"), None);
}

#[test]
fn what_a_board_itself_gave_is_in_no_range_over_models() {
    let both = |id: &str, model: Option<u32>, load: &str| {
        [STOCK, RT].map(|release| {
            let mut b = build(&format!("{id}{}-{}", release.contains("-rt"), model.unwrap_or(0)), release, load, &[4_000]);
            b.0.lab = model.map(|model| rtscope_record::Lab { model, ..rtscope_record::Lab::default() });
            if model.is_none() {
                (b.0.clock, b.0.system.virtualization) = (rtscope_record::Clock::Host, None);
            }
            b.record()
        })
    };
    let in_models = [1, 2].map(|model| [both("n", Some(model), "none"), both("f", Some(model), "full")].concat()).concat();
    let lab = versus(&in_models).unwrap();
    assert_eq!(lab.bands.iter().filter(|b| b.metric == "max").map(|b| b.load.as_str()).collect::<Vec<_>>(), ["none", "full"]);
    let mut all = in_models;
    all.extend(both("h", None, "none"));
    let v = versus(&all).unwrap();
    assert_eq!((v.blocks.len(), v.bands), (3, lab.bands));
}

proptest! {
    /// Whatever is selected: each sound timer record is in exactly one figure, and every ratio is that of its figures.
    #[test]
    fn no_record_is_lost_or_counted_twice(
        runs in prop::collection::vec((0usize..6, 0usize..3, prop::bool::ANY, prop::bool::ANY, 1u64..1_000_000), 1..30),
    ) {
        const RELEASES: [&str; 6] = [STOCK, RT, "6.1.0-42-amd64", "6.1.0-42-rt-amd64", "6.12.107-amd64", "odd"];
        let records: Vec<Record> = runs.iter().enumerate().map(|(i, &(k, l, host, bad, value))| {
            let mut b = build(&format!("x{i}"), RELEASES[k], ["none", "disk", "full"][l], &[value]);
            if host { b.0.clock = Clock::Host; }
            if bad { b = b.warn("load-died", Effect::Invalid); }
            b.record()
        }).collect();
        let Ok(v) = versus(&records) else { return Ok(()) };
        let mut ids: Vec<&String> = v.blocks.iter().flat_map(|b| &b.loads).flat_map(|l| &l.figures).flatten()
            .flat_map(|f| f.ids.iter().chain(&f.left_out)).collect();
        ids.sort();
        let mut wanted: Vec<String> = records.iter().map(|r| r.id().to_owned()).collect();
        wanted.sort();
        prop_assert_eq!(ids, wanted.iter().collect::<Vec<_>>());
        for l in v.blocks.iter().flat_map(|b| &b.loads) {
            if let (Some(r), [Some(s), Some(t)]) = (l.ratios, l.figures.as_slice()) {
                prop_assert!(s.verdict != Verdict::Invalid && t.verdict != Verdict::Invalid);
                prop_assert_eq!(r.max, Some(s.max.unwrap() as f64 / t.max.unwrap() as f64));
            }
        }
    }
}

proptest! {
    /// Adding records one by one gives the same result as merging all at once.
    #[test]
    fn a_tally_is_the_whole(
        runs in prop::collection::vec((0usize..2, 0usize..2, 0u8..6, 1u64..4, prop::collection::vec(0u64..3_000_000, 0..4)), 1..20),
    ) {
        let records: Vec<Record> = runs.iter().enumerate().map(|(i, (kernel, load, kind, seed, samples))| {
            let mut b = build(&format!("x{i}"), [STOCK, RT][*kernel], ["none", "full"][*load], samples);
            b.0.lab = Some(rtscope_record::Lab { seed: *seed, ..rtscope_record::Lab::default() });
            match kind {
                0 => b = b.warn("load-died", Effect::Invalid),
                1 => b = b.import(),
                2 => b.0.test = Test::Response,
                3 => b.0.interrupted = true,
                _ => {}
            }
            b.record()
        }).collect();
        let Ok(v) = versus(&records) else { return Ok(()) };
        for f in v.blocks.iter().flat_map(|b| &b.loads).flat_map(|l| &l.figures).flatten() {
            let merged: Vec<&Record> = records.iter().filter(|r| f.ids.iter().any(|id| id == r.id())).collect();
            prop_assert!(f.left_out.is_empty() || f.verdict != Verdict::Invalid);
            let mut all: Option<rtscope_record::Distribution> = None;
            for d in merged.iter().filter_map(|r| r.merged().unwrap()) {
                all = Some(match all { None => d, Some(sum) => sum.merge(&d, "all", 1).unwrap() });
            }
            prop_assert_eq!(&f.all, &all);
            prop_assert_eq!(f.seeds, crate::Seeds::of(&merged));
            prop_assert_eq!(Some(f.verdict), merged.iter().map(|r| r.verdict()).max());
            prop_assert_eq!(f.interrupted, merged.iter().any(|r| r.parts().interrupted));
        }
    }
}

fn modelled(id: &str, release: &str, model: u32, seed: u64, samples: &[u64]) -> Record {
    let mut b = build(id, release, "full", samples);
    b.0.lab = Some(rtscope_record::Lab { model, seed, ..rtscope_record::Lab::default() });
    b.record()
}

#[test]
fn time_models_never_meet_in_a_ratio_and_give_it_a_range() {
    let e = versus(&[modelled("s", STOCK, 1, 1, &[9_000]), modelled("r", RT, 2, 1, &[3_000])]).unwrap_err();
    assert!(matches!(&e, VersusError::NoPair(known) if known.contains("model 1") && known.contains("model 2")), "{e}");
    let v = versus(&[
        modelled("s1", STOCK, 1, 1, &[90_000]),
        modelled("r1", RT, 1, 1, &[3_000]),
        modelled("s2", STOCK, 2, 1, &[2_000]),
        modelled("r2", RT, 2, 1, &[4_000]),
    ])
    .unwrap();
    assert_eq!(v.blocks.iter().map(|b| (b.model, b.is_pair())).collect::<Vec<_>>(), [(Some(1), true), (Some(2), true)]);
    assert_eq!(v.blocks.iter().map(|b| b.loads[0].ratios.unwrap().max).collect::<Vec<_>>(), [Some(30.0), Some(0.5)]);
    let max = v.bands.iter().find(|b| b.metric == "max").unwrap();
    assert_eq!((max.low, max.high, max.flips), (0.5, 30.0, true));
    assert!(codes(&v).contains(&"model-flips"));
}

#[test]
fn maxima_are_over_the_seeds() {
    let of = |release: &str, all: &[u64]| -> Vec<Record> {
        let run = |(i, max): (usize, &u64)| {
            modelled(&format!("{}-{i}", if release == RT { "rt" } else { "stock" }), release, 2, i as u64 + 1, &[1_000, *max])
        };
        all.iter().enumerate().map(run).collect()
    };
    let v = versus(&[of(STOCK, &[30_000, 20_000, 90_000]), of(RT, &[5_000, 7_000, 6_000])].concat()).unwrap();
    let [stock, rt] = [0, 1].map(|i| v.blocks[0].loads[0].figures[i].as_ref().unwrap().seeds.unwrap());
    assert_eq!((stock.seeds, stock.lowest, stock.median, stock.highest), (3, 20_000, 30_000, 90_000));
    assert_eq!((rt.lowest, rt.median, rt.highest), (5_000, 6_000, 7_000));
    assert!(v.note.contains("over the seeds"), "{}", v.note);
}
