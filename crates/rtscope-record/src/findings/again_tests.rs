//! The warnings that follow from a record's content, each at its exact threshold.

use super::*;
use crate::fixtures::lines;
use crate::lines::{LineFacts, Trial};
use crate::record::tests::parts;
use crate::witness::Witness;
use crate::{
    Clock, DutSettings, Handler, Inject, InstrumentFacts, Lab, LineSettings, LoadProof, Nanos, Settings, Source, System, ThreadInfo,
};
use proptest::prelude::*;

/// A run of one thread at FIFO 95 for a second, without a finding.
fn clean() -> RecordParts {
    let mut system = System::default();
    system.kernel.release = "6.12".into();
    (system.limits.cap_sys_nice, system.limits.cap_ipc_lock) = (true, true);
    system.kernel.preemption = crate::system::Preemption::Rt;
    let mut d = Distribution::from_samples("cpu0", &vec![5_000; 1000], 4).unwrap().into_parts();
    let thread = ThreadInfo {
        tid: 1,
        cpu: Some(0),
        policy: Some(Policy::Fifo),
        priority: 95,
        interval: 1_000_000,
        last: None,
        first_at: None,
    };
    (d.thread, d.expected) = (Some(thread), Some(1000));
    RecordParts {
        warnings: Vec::new(),
        settings: Settings { cpus: vec![0], duration: Some(Nanos(1_000_000_000)), ..Settings::default() },
        system,
        load_proof: None,
        distributions: vec![Distribution::new(d).unwrap()],
        elapsed_ns: 1_000_000_000,
        ..parts()
    }
}

fn grave(of: &RecordParts) -> Vec<String> {
    missing(of).into_iter().filter(|w| w.effect > Effect::Note).map(|w| w.code).collect()
}

fn thread(of: &mut RecordParts, change: impl Fn(&mut crate::DistributionParts)) {
    let mut d = of.distributions[0].clone().into_parts();
    change(&mut d);
    of.distributions[0] = Distribution::new(d).unwrap();
}

#[test]
fn what_the_content_says_needs_no_warning() {
    type Change = fn(&mut RecordParts);
    assert_eq!(grave(&clean()), [""; 0]);
    let cases: [(&str, Change); 16] = [
        ("interrupted", |p| p.interrupted = true),
        ("fake", |p| p.target = "fake:f".into()),
        ("policy-other", |p| (p.settings.policy, p.distributions) = (Policy::Other, p.distributions.clone())),
        ("memory-not-locked-by-request", |p| p.settings.mlockall = false),
        ("priority-refused", |p| thread(p, |d| d.thread.as_mut().unwrap().policy = Some(Policy::Other))),
        ("priority-refused", |p| thread(p, |d| d.thread.as_mut().unwrap().priority = 50)),
        ("cut-short", |p| p.elapsed_ns = 500_000_000),
        ("cut-short", |p| p.settings.duration = Some(Nanos(2_000_000_000))),
        ("load-unproven", |p| p.load = "full".into()),
        ("no-samples", |p| p.distributions.clear()),
        ("no-samples", |p| p.distributions = vec![Distribution::from_samples("cpu0", &[], 0).unwrap()]),
        ("samples-lost", |p| thread(p, |d| (d.dropped, d.expected) = (1, Some(1001)))),
        ("virtual-machine", |p| p.system.virtualization = Some("kvm".into())),
        ("machine-unknown", |p| p.system = System::default()),
        ("edges-lost", |p| p.instrument = Some(InstrumentFacts { lost: 1, ..InstrumentFacts::default() })),
        ("lab-host-clock", |p| (p.lab, p.clock) = (Some(Lab::default()), Clock::Host)),
    ];
    for (code, change) in cases {
        let mut of = clean();
        change(&mut of);
        assert!(grave(&of).iter().any(|c| c == code), "{code}: {:?}", grave(&of));
        // Each warning is added once, and one with a milder effect does not replace it.
        of.warnings = missing(&of);
        assert_eq!(missing(&of), []);
        let w = of.warnings.iter_mut().find(|w| w.code == code).unwrap();
        w.effect = Effect::Note;
        assert_eq!(grave(&of), [code]);
    }
}

#[test]
fn what_may_be_is_no_fault() {
    let fine: [fn(&mut RecordParts); 7] = [
        |p| (p.settings.break_above, p.elapsed_ns) = (Some(Nanos(1)), 1),
        |p| (p.settings.duration, p.settings.loops, p.elapsed_ns) = (None, Some(1000), 1),
        |p| (p.settings.priority_descends, p.settings.priority) = (true, 99),
        |p| thread(p, |d| d.thread.as_mut().unwrap().policy = None),
        |p| (p.load, p.load_proof) = ("full".into(), Some(LoadProof::default())),
        |p| (p.lab, p.clock, p.system.virtualization) = (Some(Lab::default()), Clock::Virtual, Some("qemu".into())),
        // Another tool's file has no machine, and its load is as its reader says.
        |p| {
            p.source = Some(Source { format: "f".into(), file: "f".into(), sha256: String::new(), kept: Vec::new() });
            (p.system, p.load) = (System::default(), "full".into());
        },
    ];
    for (i, change) in fine.into_iter().enumerate() {
        let mut of = clean();
        change(&mut of);
        assert_eq!(grave(&of), [""; 0], "{i}");
    }
}

proptest! {
    /// Whichever warnings are removed from a record, those that follow from its content come back.
    #[test]
    fn nothing_is_gained_by_taking_warnings_out(keep in prop::collection::vec(any::<bool>(), 16)) {
        let mut of = clean();
        of.interrupted = true;
        of.settings.mlockall = false;
        of.system.virtualization = Some("kvm".into());
        of.warnings = missing(&of);
        let before = crate::Verdict::of(&of.warnings);
        let mut at = keep.iter().cycle();
        of.warnings.retain(|_| *at.next().unwrap());
        let back = missing(&of);
        of.warnings.extend(back);
        prop_assert_eq!(crate::Verdict::of(&of.warnings), before);
        prop_assert_eq!(missing(&of), []);
    }
}

fn changed(change: impl FnOnce(&mut RecordParts)) -> RecordParts {
    let mut of = clean();
    change(&mut of);
    of
}

fn codes(of: impl IntoIterator<Item = Warning>) -> Vec<(String, Effect)> {
    of.into_iter().map(|w| (w.code, w.effect)).collect()
}

fn one(code: &str, effect: Effect) -> Vec<(String, Effect)> {
    vec![(code.to_owned(), effect)]
}

/// Settings over lines with this answer line and a DUT of this priority.
#[allow(clippy::unnecessary_wraps)] // the type in the settings
fn over(answer: &str, priority: Option<u8>) -> Option<LineSettings> {
    let own = |priority| DutSettings { input: None, output: "gpio:b/1".into(), priority, cpu: None, inject: Inject::default() };
    Some(LineSettings { dut: priority.map(own), answer: answer.into(), ..lines() })
}

#[test]
fn an_import_is_judged_by_its_figures_alone() {
    let import = |p: &mut RecordParts| (p.target, p.system, p.load) = ("import".into(), System::default(), "full".into());
    assert_eq!(codes(of_record(&changed(import))), []);
    let cut = changed(|p| {
        import(p);
        p.interrupted = true;
    });
    assert_eq!(codes(of_record(&cut)), one("interrupted", Effect::Inconclusive));
    let injected = changed(|p| (p.target, p.system, p.load) = ("fake:f".into(), System::default(), "full".into()));
    assert_eq!(codes(of_record(&injected)), one("fake", Effect::Invalid));
}

#[test]
fn the_gravest_comes_first_and_each_code_once() {
    let of = changed(|p| {
        p.interrupted = true;
        p.distributions = ["cpu0", "cpu1"].map(|label| Distribution::from_samples(label, &[], 0).unwrap()).into();
        p.witness = Some(Witness { longest_gap_ns: 9_000_000_000, ..Witness::default() });
    });
    let grave: Vec<_> = codes(of_record(&of)).into_iter().filter(|(_, effect)| *effect > Effect::Note).collect();
    let expected = [("no-samples", Effect::Invalid), ("unwitnessed", Effect::Inconclusive), ("interrupted", Effect::Inconclusive)];
    assert_eq!(grave, expected.map(|(code, effect)| (code.to_owned(), effect)));
}

#[test]
fn lines_of_hardware_need_no_task_of_the_host() {
    assert_eq!(
        ["wire:0", "fpga:/dev/ttyUSB1", "gpio:a/1", "soft:x", "a-wire:0"].map(is_autonomous),
        [true, true, false, false, false]
    );
}

#[test]
fn an_ordinary_task_is_told_where_it_makes_the_times() {
    let asked = |change: &dyn Fn(&mut RecordParts)| codes(of_request(&changed(change)));
    let ordinary = one("policy-other", Effect::Inconclusive);
    assert_eq!(asked(&|p| (p.space, p.settings.policy) = (Space::User, Policy::Other)), ordinary);
    assert_eq!(asked(&|p| (p.space, p.settings.policy) = (Space::User, Policy::Rr)), []);
    assert_eq!(asked(&|p| (p.space, p.settings.policy) = (Space::Kernel, Policy::Other)), []);
    for (policy, answer, dut, handler, said) in [
        (Policy::Other, "gpio:a/2", None, None, true),
        (Policy::Other, "gpio:a/2", Some(90), None, true),
        (Policy::Other, "gpio:a/2", Some(0), Some(Handler::Hard), true),
        (Policy::Other, "wire:0", None, None, false),
        (Policy::Other, "wire:0", Some(90), None, false),
        (Policy::Fifo, "gpio:a/2", None, None, false),
        (Policy::Fifo, "gpio:a/2", Some(90), None, false),
        (Policy::Fifo, "gpio:a/2", Some(0), None, true),
        (Policy::Fifo, "wire:0", Some(0), None, true),
        // A handler in the kernel is not a task.
        (Policy::Fifo, "gpio:a/2", Some(0), Some(Handler::Hard), false),
    ] {
        let change = |p: &mut RecordParts| {
            (p.settings.policy, p.settings.lines, p.settings.handler) = (policy, over(answer, dut), handler);
        };
        let expected = if said { ordinary.clone() } else { Vec::new() };
        assert_eq!(asked(&change), expected, "{policy} {answer} {dut:?} {handler:?}");
    }
}

#[test]
fn memory_is_locked_where_a_task_measures() {
    for (target, space, lines, said) in [
        ("local", Space::User, None, true),
        ("local", Space::Kernel, None, false),
        ("local", Space::Kernel, over("gpio:a/2", Some(0)), true),
        ("fake:f", Space::User, None, false),
    ] {
        let of = changed(|p| {
            (p.target, p.space, p.settings.handler) = (target.into(), space, Some(Handler::Hard));
            (p.settings.lines, p.settings.mlockall) = (lines, false);
        });
        let expected = if said { one("memory-not-locked-by-request", Effect::Inconclusive) } else { Vec::new() };
        assert_eq!(codes(of_request(&of)), expected, "{target} {space:?}");
        assert_eq!(codes(of_request(&RecordParts { settings: Settings { mlockall: true, ..of.settings.clone() }, ..of })), []);
    }
}

#[test]
fn a_thread_has_the_priority_that_was_asked_for_or_a_higher_one() {
    let had = |asked: Policy, policy: Option<Policy>, priority, more: fn(&mut Settings)| {
        let of = changed(|p| {
            p.settings.policy = asked;
            more(&mut p.settings);
            thread(p, |d| {
                let t = d.thread.as_mut().unwrap();
                (t.policy, t.priority) = (policy, priority);
            });
        });
        codes(of_threads(&of))
    };
    let refused = one("priority-refused", Effect::Invalid);
    assert_eq!(had(Policy::Fifo, Some(Policy::Fifo), 95, |_| ()), []);
    assert_eq!(had(Policy::Fifo, Some(Policy::Fifo), 96, |_| ()), []);
    assert_eq!(had(Policy::Fifo, Some(Policy::Fifo), 94, |_| ()), refused);
    assert_eq!(had(Policy::Fifo, Some(Policy::Rr), 95, |_| ()), refused);
    assert_eq!(had(Policy::Fifo, None, 0, |_| ()), []);
    assert_eq!(had(Policy::Fifo, Some(Policy::Fifo), 94, |s| s.priority_descends = true), []);
    assert_eq!(had(Policy::Fifo, Some(Policy::Other), 0, |s| s.priority_descends = true), refused);
    // Other policies have no priority, and a request for an ordinary task may get more.
    assert_eq!(had(Policy::Deadline, Some(Policy::Deadline), 0, |_| ()), []);
    assert_eq!(had(Policy::Other, Some(Policy::Fifo), 50, |_| ()), []);
    // A thread that only reads an instrument's stamps is an ordinary task.
    assert_eq!(had(Policy::Fifo, Some(Policy::Other), 0, |s| s.lines = over("wire:0", None)), []);
    assert_eq!(had(Policy::Fifo, Some(Policy::Other), 0, |s| s.lines = over("gpio:a/2", None)), refused);
}

#[test]
fn a_run_lasts_nine_tenths_of_what_was_asked_for() {
    let cut = one("cut-short", Effect::Inconclusive);
    let of = |change: &dyn Fn(&mut RecordParts)| codes(of_threads(&changed(change)));
    assert_eq!(of(&|p| p.elapsed_ns = 900_000_000), []);
    assert_eq!(of(&|p| p.elapsed_ns = 899_999_999), cut);
    // The points of each thread's grid, and the interval before the first.
    let points = |n: usize| {
        move |p: &mut RecordParts| {
            let ran = Distribution::from_samples("cpu0", &vec![5_000; n], 1).unwrap().into_parts();
            let thread = p.distributions[0].parts().thread.clone();
            p.distributions.push(Distribution::new(crate::DistributionParts { thread, expected: Some(n as u64), ..ran }).unwrap());
        }
    };
    assert_eq!(of(&points(899)), []);
    assert_eq!(of(&points(898)), cut);
    // Reasons for which a run may end early.
    let ends: [fn(&mut RecordParts); 6] = [
        |p| p.interrupted = true,
        |p| p.settings.break_above = Some(Nanos(1)),
        |p| p.settings.loops = Some(1),
        |p| p.test = Test::Response,
        |p| p.space = Space::Kernel,
        |p| p.settings.duration = None,
    ];
    for (i, end) in ends.into_iter().enumerate() {
        let short = |p: &mut RecordParts| {
            p.elapsed_ns = 1;
            end(p);
        };
        assert_eq!(of(&short), [], "{i}");
    }
}

#[test]
fn a_load_without_proof_is_none() {
    for (load, proof, target, said) in [
        ("none", None, "local", false),
        ("none", Some(LoadProof::default()), "local", false),
        ("full", Some(LoadProof::default()), "local", false),
        ("full", None, "fake:f", false),
        ("full", None, "local", true),
    ] {
        let of = changed(|p| (p.load, p.load_proof, p.target) = (load.into(), proof, target.into()));
        assert_eq!(codes(of_load(&of)), if said { one("load-unproven", Effect::Invalid) } else { Vec::new() }, "{load} {target}");
    }
}

#[test]
fn what_is_missing_or_unasked_for_is_told_by_the_kind_of_test() {
    let with = |test, missed, spurious| {
        let of = changed(|p| {
            p.test = test;
            thread(p, |d| (d.missed, d.spurious, d.expected) = (missed, spurious, None));
        });
        of_distributions(&of).into_iter().map(|w| (w.code, w.effect, w.message)).collect::<Vec<_>>()
    };
    let note = |code: &str, message: &str| vec![(code.to_owned(), Effect::Note, message.to_owned())];
    for test in [Test::Timer, Test::Response, Test::Periodic, Test::Sustained] {
        assert_eq!(with(test, 0, 0), []);
    }
    assert_eq!(with(Test::Timer, 3, 0), note("missed-periods", "cpu0 passed over 3 grid points: see the corrected percentiles"));
    for test in [Test::Response, Test::Sustained] {
        assert_eq!(with(test, 3, 0), note("missed-answers", "cpu0: 3 stimuli were not answered in time"));
    }
    assert_eq!(with(Test::Periodic, 3, 0), []);
    assert_eq!(with(Test::Response, 0, 2), note("spurious-edges", "cpu0: 2 edges that nobody asked for"));
    assert_eq!(with(Test::Sustained, 0, 2), []);
}

#[test]
fn lost_samples_have_a_code_of_their_own_in_imports() {
    let lost = |source: Option<Source>| {
        let of = changed(|p| {
            p.source = source;
            thread(p, |d| (d.dropped, d.expected) = (7, None));
        });
        of_distributions(&of).into_iter().map(|w| (w.code, w.effect, w.message)).collect::<Vec<_>>()
    };
    let said = |code: &str| [(code.to_owned(), Effect::Invalid, "cpu0: 7 samples were taken and lost".to_owned())];
    assert_eq!(lost(None), said("samples-lost"));
    assert_eq!(
        lost(Some(Source { format: "f".into(), file: "f".into(), sha256: String::new(), kept: Vec::new() })),
        said("dropped")
    );
}

#[test]
fn what_an_instrument_says_of_itself() {
    let of = |instrument: InstrumentFacts, own: &[&str]| {
        let warnings = own.iter().map(|code| Warning::new(code, Effect::Note, "m", "r")).collect();
        codes(of_lines(&changed(|p| (p.instrument, p.warnings) = (Some(instrument), warnings))))
    };
    assert_eq!(of(InstrumentFacts::default(), &[]), []);
    assert_eq!(of(InstrumentFacts { lost: 1, ..InstrumentFacts::default() }, &[]), one("edges-lost", Effect::Invalid));
    let stamped = |stamp| {
        let answer = Some(LineFacts { name: "gpio:a/2".into(), what: String::new(), stamp });
        of(InstrumentFacts { answer, ..InstrumentFacts::default() }, &[])
    };
    assert_eq!(stamped(Stamp::Listener), one("edges-stamped-after-wake-up", Effect::Note));
    for stamp in [Stamp::Kernel, Stamp::Driver, Stamp::Outside] {
        assert_eq!(stamped(stamp), []);
    }
    let search = |held: &[bool], own: &[&str]| {
        let trial = |&sustained: &bool| Trial {
            interval: Nanos(1),
            given: Nanos(1),
            stimuli: 1,
            missed: 0,
            spurious: 0,
            max: None,
            overflowed: 0,
            sustained,
            confirming: false,
        };
        of(InstrumentFacts { search: held.iter().map(trial).collect(), ..InstrumentFacts::default() }, own)
    };
    let limited = one("search-limited", Effect::Inconclusive);
    assert_eq!(search(&[true, true], &[]), limited);
    assert_eq!(search(&[true, true], &["governor"]), limited);
    assert_eq!(search(&[true, false], &[]), []);
    // Limited by the instrument, or already reported.
    assert_eq!(search(&[true, true], &["instrument-limited"]), []);
    assert_eq!(search(&[true, true], &["search-limited"]), []);
}

#[test]
fn what_the_lines_are_is_told() {
    let of = |lines: Option<LineSettings>| codes(of_lines(&changed(|p| p.settings.lines = lines)));
    assert_eq!(of(over("gpio:a/2", None)), []);
    assert_eq!(of(over("gpio:a/2", Some(90))), []);
    assert_eq!(of(over("soft:x", Some(90))), one("software-line", Effect::Inconclusive));
    let injected = one("injected", Effect::Invalid);
    let wrong = Inject { drop_every: 7, ..Inject::default() };
    let itself = over("wire:0", None).map(|l| LineSettings { self_answer: Some(Inject::default()), ..l });
    assert_eq!(of(itself), injected);
    let mut lines = over("gpio:a/2", Some(90));
    lines.as_mut().unwrap().dut.as_mut().unwrap().inject = wrong;
    assert_eq!(of(lines), injected);
}

#[test]
fn an_edge_that_is_late_every_time_has_samples() {
    let jitter = |label: &str, samples: &[u64]| Distribution::from_samples(label, samples, 0).unwrap();
    let found = |distributions: Vec<Distribution>| {
        let mut of = clean();
        (of.test, of.distributions) = (crate::Test::Periodic, distributions);
        grave(&of).iter().any(|c| c == "no-samples")
    };
    let late = vec![jitter("rising late", &[5, 5]), jitter("rising early", &[])];
    assert!(!found(late.clone()));
    let other_edge = vec![jitter("falling late", &[]), jitter("falling early", &[])];
    assert!(found([late, other_edge].concat()));
}
