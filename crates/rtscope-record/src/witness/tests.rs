//! From observations to warnings: the effect of each on the verdict.

use super::*;
use crate::warning::{Effect, Verdict};
use crate::{Distribution, Settings, Warning};
use proptest::prelude::*;

pub(super) fn state(at: u64, policy: &str, priority: u8, cpus: &[u32]) -> ThreadState {
    ThreadState { at, policy: policy.into(), priority, cpus: cpus.to_vec() }
}

pub(super) fn thread(states: Vec<ThreadState>) -> ThreadSeen {
    ThreadSeen {
        label: "cpu0".into(),
        tid: 7,
        states,
        ran_on: vec![0],
        migrations: Some(0),
        was_ordinary: Some(false),
        ..Default::default()
    }
}

pub(super) fn quiet() -> Witness {
    Witness {
        looks: 9,
        every_ns: 500_000_000,
        longest_gap_ns: 510_000_000,
        planned_ns: Some(5_000_000_000),
        real_ns: 5_010_000_000,
        threads: vec![thread(vec![state(0, "fifo", 95, &[0])])],
        cpus: vec![CpuSeen { cpu: 0, steal_ns: Some(0), khz: Some((2_000_000, 2_100_000)), smis: Some(0) }],
        ..Default::default()
    }
}

pub(super) fn of(change: impl FnOnce(&mut Witness)) -> Vec<Warning> {
    let mut w = quiet();
    change(&mut w);
    findings(&w, &Settings::default(), &[])
}

/// The message of the only warning, which must have this code and effect.
#[track_caller]
pub(super) fn one(change: impl FnOnce(&mut Witness), code: &str, effect: Effect) -> String {
    let all = of(change);
    assert_eq!(all.iter().map(|w| (w.code.as_str(), w.effect)).collect::<Vec<_>>(), [(code, effect)]);
    all[0].message.clone()
}

pub(super) fn changed(what: Changed, from: &str, to: &str) -> Change {
    Change { at: 1_234_567_890, what, of: String::new(), from: from.into(), to: to.into() }
}

pub(super) fn rival() -> Rival {
    Rival {
        pid: 12,
        tid: 12,
        name: "hog".into(),
        policy: "fifo".into(),
        priority: 99,
        cpus: vec![0],
        ran_ns: 2_345_678_901,
        ..Rival::default()
    }
}

#[test]
fn a_quiet_run_says_nothing() {
    assert_eq!(of(|_| ()), []);
    assert_eq!(quiet().in_words(), "9 looks, no change");
    assert_eq!(Verdict::of(&findings(&Witness::default(), &Settings::default(), &[])), Verdict::Valid);
}

#[test]
fn a_thread_that_lost_its_priority_or_cpu_is_invalid_also_when_it_came_back() {
    let lost = |w: &mut Witness| w.threads[0].states.push(state(1_500_000_000, "other", 0, &[0]));
    let said = one(lost, "thread-changed", Effect::Invalid);
    assert!(said.contains("fifo 95 on CPU 0 and became other on CPU 0 (seen at 1.500 s)"), "{said}");
    let back = |w: &mut Witness| {
        lost(w);
        w.threads[0].states.push(state(2_000_000_000, "fifo", 95, &[0]));
    };
    assert!(one(back, "thread-changed", Effect::Invalid).contains("then fifo 95 on CPU 0 (seen at 2.000 s)"));
    one(|w| w.threads[0].states.push(state(1, "fifo", 95, &[0, 1])), "thread-changed", Effect::Invalid);
    let between = one(|w| w.threads[0].was_ordinary = Some(true), "thread-changed", Effect::Invalid);
    assert!(between.contains("between two of them"), "{between}");
    assert!(one(|w| w.threads[0].migrations = Some(2), "thread-moved", Effect::Invalid).contains("moved it 2 times"));
    one(|w| w.threads[0].ran_on.push(3), "thread-moved", Effect::Invalid);
}

#[test]
fn who_was_free_to_migrate_may() {
    let mut w = quiet();
    (w.threads[0].states[0].cpus, w.threads[0].migrations, w.threads[0].ran_on) = (vec![0, 1], Some(9), vec![0, 1]);
    assert_eq!(findings(&w, &Settings { migrate: true, ..Settings::default() }, &[]), []);
    // The scheduler for ordinary tasks handles an ordinary task anyway.
    let other =
        |w: &mut Witness| w.threads[0] = ThreadSeen { was_ordinary: Some(true), ..thread(vec![state(0, "other", 0, &[0])]) };
    assert_eq!(of(other), []);
}

#[test]
fn starved_runs_name_who_starved_them() {
    let starved = |by| Starved { at: 4_528_000_000, thread: "cpu0".into(), since: 1_502_000_000, by };
    let said = one(|w| w.starved = Some(starved(Some(rival()))), "starved", Effect::Invalid);
    for part in ["cpu0 made no progress from 1.502 s", "hog (pid 12, fifo 99, CPU 0) kept CPU 0", "2.345 s"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(one(|w| w.starved = Some(starved(None)), "starved", Effect::Invalid).contains("could not be seen"));
    let late = Starved { thread: String::new(), ..starved(None) };
    assert!(one(|w| w.starved = Some(late), "starved", Effect::Invalid).contains("the run of 5s had not ended after 4.528 s"));
}

#[test]
fn rivals_by_name_with_what_they_took() {
    let said = one(|w| w.rivals.push(Rival { first_at: 1_000_000_000, ..rival() }), "rivals-ran", Effect::Inconclusive);
    assert!(said.contains("hog (pid 12, fifo 99, CPU 0) ran for 2.345s, first seen at 1.000 s"), "{said}");
    one(|w| w.rivals.push(Rival { kernel: true, ..rival() }), "kernel-rivals-ran", Effect::Note);
    let many = of(|w| w.rivals = vec![rival(); 9]);
    assert!(many[0].message.ends_with("and 4 more"), "{}", many[0].message);
}

#[test]
fn other_runs_by_name() {
    let run = OtherRun {
        pid: 99,
        command: "rtscope measure timer".into(),
        threads: vec!["rts-cpu0".into()],
        before_ns: 2_000_000_000,
        first_at: 0,
        last_at: 5_000_000_000,
    };
    let said = one(|w| w.other_runs.push(run.clone()), "another-run", Effect::Inconclusive);
    for part in ["pid 99", "`rtscope measure timer`", "since 2.000 s before this one", "rts-cpu0", "last seen at 5.000 s"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let later = OtherRun { before_ns: 0, first_at: 3_000_000_000, ..run };
    assert!(one(|w| w.other_runs.push(later), "another-run", Effect::Inconclusive).contains("from 3.000 s of this one on"));
}

#[test]
fn a_run_that_took_longer_is_not_silent() {
    let said = one(|w| w.real_ns = 632_000_000_000, "took-longer", Effect::Inconclusive);
    assert!(said.contains("632.000 s in place of 5.000 s"), "{said}");
    assert_eq!(of(|w| w.real_ns = 5_900_000_000), []);
    assert_eq!(of(|w| (w.real_ns, w.planned_ns) = (632_000_000_000, None)), []);
}

#[test]
fn what_the_machine_did() {
    for (what, code) in [
        (Changed::Clocksource, "clocksource-changed"),
        (Changed::Governor, "governor-changed"),
        (Changed::RtThrottling, "rt-throttling-changed"),
        (Changed::FairServer, "rt-throttling-changed"),
        (Changed::Online, "cpus-changed"),
        (Changed::ThrottleCount, "throttled-meanwhile"),
        (Changed::Cooling, "throttled-meanwhile"),
        (Changed::Firmware, "throttled-meanwhile"),
        (Changed::Suspended, "suspended"),
        (Changed::Paused, "paused"),
        (Changed::Continued, "paused"),
    ] {
        let said = one(|w| w.changes.push(changed(what, "this", "that")), code, Effect::Inconclusive);
        assert!(said.contains("from this to that, seen at 1.234 s"), "{said}");
    }
    one(|w| w.changes.push(changed(Changed::Clocksource, "tsc", "jiffies")), "clocksource-changed", Effect::Invalid);
    let said = one(|w| w.cpus[0].steal_ns = Some(30_000_000), "stolen", Effect::Inconclusive);
    assert!(said.contains("CPU 0 30ms"), "{said}");
    assert!(one(|w| w.cpus[0].khz = Some((800_000, 2_000_000)), "frequency-varied", Effect::Note).contains("800 to 2000 MHz"));
    assert!(one(|w| w.cpus[0].smis = Some(3), "smis", Effect::Note).contains("3 times"));
    one(|w| w.longest_gap_ns = 9_000_000_000, "unwitnessed", Effect::Inconclusive);
}

#[test]
fn all_late_together_and_not_for_want_of_a_cpu_was_a_pause() {
    let d = |label: &str, samples: &[u64]| Distribution::from_samples(label, samples, 4).unwrap();
    let mut w = quiet();
    w.threads[0].waited_ns = Some(1_000_000);
    w.threads.push(ThreadSeen { label: "cpu1".into(), waited_ns: Some(0), ..w.threads[0].clone() });
    let both = |a: u64, b: u64| {
        let mut all = vec![d("cpu0", &[a, 5]), d("cpu1", &[b, 5])].into_iter().map(Distribution::into_parts).collect::<Vec<_>>();
        for p in &mut all {
            p.worst[0].at = 2_000_000_000;
        }
        all.into_iter().map(|p| Distribution::new(p).unwrap()).collect::<Vec<_>>()
    };
    let codes =
        |w: &Witness, d: &[Distribution]| findings(w, &Settings::default(), d).into_iter().map(|w| w.code).collect::<Vec<_>>();
    assert_eq!(codes(&w, &both(300_000_000, 301_000_000)), ["paused"]);
    assert_eq!(codes(&w, &both(300_000_000, 9_000)), [""; 0], "one thread alone may be the kernel's doing");
    w.threads[1].waited_ns = Some(290_000_000);
    assert_eq!(codes(&w, &both(300_000_000, 301_000_000)), [""; 0], "it waited for its CPU");
}

#[test]
fn one_line_holds_the_essentials() {
    let mut w = quiet();
    w.threads[0].states.push(state(1_500_000_000, "other", 0, &[0]));
    w.rivals.push(rival());
    w.changes.push(changed(Changed::Online, "0-1", "0"));
    assert_eq!(
        w.in_words(),
        "9 looks: cpu0 became other on CPU 0 at 1.500 s; cpus-changed from 0-1 to 0, seen at 1.234 s; hog (pid 12, fifo 99, CPU 0) ran 2.345s"
    );
}

#[test]
fn a_witness_survives_the_record() {
    let mut w = quiet();
    w.changes.push(changed(Changed::RtThrottling, "950000", "-1"));
    w.rivals.push(rival());
    w.starved = Some(Starved::default());
    let text = serde_json::to_string(&w).unwrap();
    assert_eq!(serde_json::from_str::<Witness>(&text).unwrap(), w);
    assert_eq!(serde_json::from_str::<Witness>("{}").unwrap(), Witness::default());
}

proptest! {
    #[test]
    fn no_observation_can_make_the_rules_fail(at in any::<u64>(), n in any::<u64>(), k in any::<u32>(), text in "\\PC{0,30}") {
        let mut w = quiet();
        w.real_ns = n;
        w.planned_ns = Some(at);
        w.longest_gap_ns = n;
        w.threads[0].states.push(ThreadState { at, policy: text.clone(), priority: 0, cpus: vec![k] });
        w.threads[0].migrations = Some(n);
        w.threads[0].ran_on = vec![k, u32::MAX];
        w.cpus = vec![CpuSeen { cpu: k, steal_ns: Some(n), khz: Some((at, n)), smis: Some(at) }];
        w.changes = vec![Change { at, what: Changed::Governor, of: text.clone(), from: text.clone(), to: text.clone() }];
        w.rivals = vec![Rival { ran_ns: n, first_at: at, name: text.clone(), ..rival() }];
        w.starved = Some(Starved { at, thread: text, since: n, by: None });
        let _ = (findings(&w, &Settings::default(), &[]), w.in_words());
    }
}
