//! The exact texts about a run, and their exact thresholds.

use super::tests::{changed, of, one, quiet, rival, state};
use super::*;
use crate::warning::Effect;
use crate::{Distribution, Settings};

#[test]
fn only_what_was_left_out_is_written() {
    let mut w = quiet();
    assert_eq!(serde_json::to_value(&w).unwrap().get("left_out"), None);
    w.left_out = 3;
    assert_eq!(serde_json::to_value(&w).unwrap()["left_out"], 3);
}

#[test]
fn a_state_is_the_same_whenever_it_was_seen() {
    let fifo = state(0, "fifo", 95, &[0]);
    assert!(fifo.is_as(&state(7, "fifo", 95, &[0])));
    for other in [state(0, "rr", 95, &[0]), state(0, "fifo", 94, &[0]), state(0, "fifo", 95, &[0, 1])] {
        assert!(!fifo.is_as(&other), "{other:?}");
    }
}

#[test]
fn states_and_rivals_in_words() {
    use crate::Policy::{Deadline, Fifo, Other, Rr};
    for (policy, priority, kind, words) in [
        ("fifo", 95, Fifo, "fifo 95 on CPUs 0-2"),
        ("rr", 1, Rr, "rr 1 on CPUs 0-2"),
        ("deadline", 0, Deadline, "deadline on CPUs 0-2"),
        ("other", 0, Other, "other on CPUs 0-2"),
        ("batch", 0, Other, "batch on CPUs 0-2"),
    ] {
        let s = state(0, policy, priority, &[0, 1, 2]);
        assert_eq!((s.kind(), s.in_words().as_str()), (kind, words));
    }
    assert_eq!(Rival { priority: 1, ..rival() }.in_words(), "hog (pid 12, fifo 1, CPU 0)");
    let first = Rival { policy: "deadline".into(), priority: 0, cpus: Vec::new(), ..rival() };
    assert_eq!(first.in_words(), "hog (pid 12, deadline)");
}

#[test]
fn the_line_counts_looks_and_names_the_first_six() {
    let in_words = |change: fn(&mut Witness)| {
        let mut w = quiet();
        change(&mut w);
        w.in_words()
    };
    assert_eq!(in_words(|w| w.looks = 1), "1 look, no change");
    assert_eq!(in_words(|w| w.looks = 0), "0 looks, no change");
    // The kernel's own threads are not reported.
    assert_eq!(in_words(|w| w.rivals.push(Rival { kernel: true, ..rival() })), "9 looks, no change");
    let run = |pid| OtherRun { pid, ..OtherRun::default() };
    let mut w = quiet();
    w.other_runs = (1..=6).map(run).collect();
    let six = "9 looks: another run, pid 1; another run, pid 2; another run, pid 3; another run, pid 4; another run, pid 5; another run, pid 6";
    assert_eq!(w.in_words(), six);
    w.other_runs = (1..=8).map(run).collect();
    assert_eq!(w.in_words(), format!("{six}; and 2 more"));
    let at = |at| Starved { at, ..Starved::default() };
    w = Witness { starved: Some(at(4_528_000_000)), ..quiet() };
    assert_eq!(w.in_words(), "9 looks: starved at 4.528 s");
}

#[test]
fn what_became_of_a_thread_in_short() {
    let short = |change: fn(&mut ThreadSeen)| {
        let mut w = quiet();
        change(&mut w.threads[0]);
        w.in_words().strip_prefix("9 looks").unwrap().to_owned()
    };
    assert_eq!(short(|t| t.states.push(state(1, "rr", 95, &[0]))), ": cpu0 became rr 95 on CPU 0 at 0.000 s");
    assert_eq!(short(|t| t.was_ordinary = Some(true)), ": cpu0 was an ordinary task between looks");
    assert_eq!(short(|t| (t.was_ordinary, t.states[0].policy) = (Some(true), "other".into())), ", no change");
    // A pinned thread must stay where it is.
    assert_eq!(short(|t| t.migrations = Some(1)), ": cpu0 was moved");
    assert_eq!(short(|t| (t.migrations, t.ran_on) = (None, vec![0, 3])), ": cpu0 was moved");
    assert_eq!(short(|t| (t.migrations, t.states[0].cpus) = (Some(9), vec![0, 1])), ", no change");
    assert_eq!(short(|t| t.states.clear()), ", no change");
}

#[test]
fn times_are_cut_to_three_digits_or_a_few_more() {
    for (ns, words) in [
        (0, "0s"),
        (999, "999ns"),
        (12_345, "12.345us"),
        (123_456, "123us"),
        (1_234_567, "1.234ms"),
        (12_345_678, "12.345ms"),
        (123_456_789, "123ms"),
        (1_234_567_890, "1.234s"),
        (123_456_789_012, "123.456s"),
    ] {
        assert_eq!(crate::witness::words::amount(ns), words, "{ns}");
    }
    assert_eq!(crate::witness::words::seconds(61_002_999_999), "61.002 s");
}

#[test]
fn the_first_four_states_of_a_thread_are_told() {
    let became = |n: u64| {
        one(
            |w| w.threads[0].states.extend((1..=n).map(|at| state(at * 1_000_000_000, "rr", 9, &[0]))),
            "thread-changed",
            Effect::Invalid,
        )
    };
    let four = "cpu0 began as fifo 95 on CPU 0 and became rr 9 on CPU 0 (seen at 1.000 s), then rr 9 on CPU 0 (seen at 2.000 s), \
                then rr 9 on CPU 0 (seen at 3.000 s), then rr 9 on CPU 0 (seen at 4.000 s)";
    assert_eq!(became(4), format!("{four}: its figures are of both"));
    assert_eq!(became(6), format!("{four} and 2 more changes: its figures are of both"));
}

#[test]
fn a_pinned_thread_that_was_moved_says_where_and_how_often() {
    let moved = |migrations, ran_on: &[u32]| {
        let change = |w: &mut Witness| (w.threads[0].migrations, w.threads[0].ran_on) = (migrations, ran_on.to_vec());
        one(change, "thread-moved", Effect::Invalid)
    };
    let but = "its figures are not of that CPU alone";
    assert_eq!(moved(Some(2), &[0]), format!("cpu0 was pinned to CPU 0, the kernel moved it 2 times: {but}"));
    assert_eq!(moved(Some(0), &[0, 3]), format!("cpu0 was pinned to CPU 0, and was seen on CPU 3: {but}"));
    assert_eq!(
        moved(Some(2), &[3, 4]),
        format!("cpu0 was pinned to CPU 0, and was seen on CPUs 3-4, the kernel moved it 2 times: {but}")
    );
    // A thread may move if it was allowed several CPUs or asked to migrate.
    assert_eq!(of(|w| (w.threads[0].states[0].cpus, w.threads[0].migrations) = (vec![0, 1], Some(2))), []);
    let mut w = quiet();
    w.threads[0].migrations = Some(2);
    assert_eq!(findings(&w, &Settings { migrate: true, ..Settings::default() }, &[]), []);
}

#[test]
fn the_five_rivals_that_ran_most_are_named() {
    let message = |n: u32| {
        let rivals = (1..=n).map(|tid| Rival { tid, ran_ns: u64::from(tid) * 1_000_000, ..rival() }).collect();
        one(|w| w.rivals = rivals, "rivals-ran", Effect::Inconclusive)
    };
    let head = "real-time tasks of other programs at or above the measuring priority ran on measured CPUs meanwhile: ";
    assert_eq!(message(1), format!("{head}hog (pid 1, fifo 99, CPU 0) ran for 1ms"));
    let five = message(5);
    assert!(five.starts_with(&format!("{head}hog (pid 5, fifo 99, CPU 0) ran for 5ms; hog (pid 4")), "{five}");
    assert!(five.ends_with("hog (pid 1, fifo 99, CPU 0) ran for 1ms"), "{five}");
    assert!(message(6).ends_with("hog (pid 2, fifo 99, CPU 0) ran for 2ms; and 1 more"), "{}", message(6));
}

#[test]
fn another_run_says_from_when_to_when() {
    let said = |before_ns, first_at, last_at| {
        let run = OtherRun { pid: 9, command: "c".into(), threads: vec!["a".into(), "b".into()], before_ns, first_at, last_at };
        let said = one(|w| w.other_runs.push(run), "another-run", Effect::Inconclusive);
        said.strip_prefix("another run of rtscope measured on this machine at the same time: pid 9, `c`, ").unwrap().to_owned()
    };
    assert_eq!(said(0, 0, 0), "since about the start of this one, gone at the first look (its threads: a, b)");
    assert_eq!(said(0, 1_000_000_000, 1), "from 1.000 s of this one on, last seen at 0.000 s (its threads: a, b)");
    assert_eq!(said(2_000_000_000, 1, 3_000_000_000), "since 2.000 s before this one, last seen at 3.000 s (its threads: a, b)");
}

#[test]
fn a_run_may_take_a_second_or_a_tenth_longer() {
    const S: u64 = 1_000_000_000;
    let codes =
        |planned, real| of(|w| (w.planned_ns, w.real_ns) = (Some(planned), real)).into_iter().map(|w| w.code).collect::<Vec<_>>();
    for planned in [5 * S, 10 * S] {
        assert_eq!(codes(planned, planned + S), [""; 0]);
        assert_eq!(codes(planned, planned + S + 1), ["took-longer"]);
    }
    assert_eq!(codes(100 * S, 110 * S), [""; 0]);
    assert_eq!(codes(100 * S, 110 * S + 1), ["took-longer"]);
}

/// Distributions of cpu0, cpu1 ... with this worst latency and the time at which it was seen.
fn late(worst: &[(u64, u64)]) -> Vec<Distribution> {
    let of = |(i, &(value, at)): (usize, &(u64, u64))| {
        let mut p = Distribution::from_samples(&format!("cpu{i}"), &[value, 5], 1).unwrap().into_parts();
        p.worst[0].at = at;
        Distribution::new(p).unwrap()
    };
    worst.iter().enumerate().map(of).collect()
}

#[test]
fn a_pause_is_what_all_threads_have_in_common() {
    const MS: u64 = 1_000_000;
    let two = |change: &dyn Fn(&mut Witness), worst: &[(u64, u64)]| {
        let mut w = quiet();
        w.threads[0].waited_ns = Some(0);
        w.threads.push(ThreadSeen { label: "cpu1".into(), waited_ns: Some(0), ..w.threads[0].clone() });
        change(&mut w);
        findings(&w, &Settings::default(), &late(worst)).into_iter().map(|w| w.code).collect::<Vec<_>>()
    };
    let no = |_: &mut Witness| ();
    assert_eq!(two(&no, &[(300 * MS, 2000 * MS), (300 * MS, 2200 * MS)]), ["paused"], "100 ms in common");
    assert_eq!(two(&no, &[(300 * MS, 2000 * MS), (300 * MS, 2201 * MS)]), [""; 0], "99 ms in common");
    assert_eq!(two(&no, &[(300 * MS, 2000 * MS), (300 * MS, 4000 * MS)]), [""; 0], "nothing in common");
    assert_eq!(two(&no, &[(100 * MS, 2000 * MS)]), ["paused"]);
    assert_eq!(two(&no, &[(100 * MS - 1, 2000 * MS)]), [""; 0]);
    // If at least half of the delay was spent waiting for the CPU, it is the scheduler's; nothing is said of a thread whose wait
    // is unknown.
    let waited = |ns| move |w: &mut Witness| w.threads[0].waited_ns = ns;
    assert_eq!(two(&waited(Some(150 * MS - 1)), &[(300 * MS, 2000 * MS)]), ["paused"]);
    assert_eq!(two(&waited(Some(150 * MS)), &[(300 * MS, 2000 * MS)]), [""; 0]);
    assert_eq!(two(&waited(None), &[(300 * MS, 2000 * MS)]), [""; 0]);
    // Reported once, and not where a more serious warning reports it.
    for what in [Changed::Paused, Changed::Continued, Changed::Suspended] {
        let codes = two(&|w| w.changes.push(changed(what, "", "")), &[(300 * MS, 2000 * MS)]);
        assert_eq!(codes, [if what == Changed::Suspended { "suspended" } else { "paused" }]);
    }
    assert_eq!(two(&|w| w.starved = Some(Starved::default()), &[(300 * MS, 2000 * MS)]), ["starved"]);
    let mut w = quiet();
    w.threads[0].waited_ns = Some(0);
    let said = findings(&w, &Settings::default(), &late(&[(300 * MS, 2000 * MS)])).remove(0).message;
    assert!(said.starts_with("every thread was late by 0.300 s or more at 2.000 s, and none of them was waiting"), "{said}");
}

#[test]
fn a_time_without_a_look_is_said_from_five_looks_on() {
    const S: u64 = 1_000_000_000;
    let codes = |every, gap, more: fn(&mut Witness)| {
        let all = of(|w| {
            (w.every_ns, w.longest_gap_ns) = (every, gap);
            more(w);
        });
        all.into_iter().map(|w| w.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(S / 2, 5 * S, |_| ()), [""; 0]);
    assert_eq!(codes(S / 2, 5 * S + 1, |_| ()), ["unwitnessed"]);
    assert_eq!(codes(2 * S, 10 * S, |_| ()), [""; 0]);
    assert_eq!(codes(2 * S, 10 * S + 1, |_| ()), ["unwitnessed"]);
    // The witness could not look while it stood still.
    assert_eq!(codes(S / 2, 9 * S, |w| w.changes.push(changed(Changed::Paused, "", "4 s"))), ["paused"]);
    assert_eq!(codes(S / 2, 9 * S, |w| w.changes.push(changed(Changed::Continued, "", ""))), ["paused"]);
    assert_eq!(codes(S / 2, 9 * S, |w| w.starved = Some(Starved::default())), ["starved"]);
    assert_eq!(codes(S / 2, 9 * S, |w| w.changes.push(changed(Changed::Online, "0-1", "0"))), ["unwitnessed", "cpus-changed"]);
}

#[test]
fn a_change_says_of_what_and_from_what_to_what() {
    let said = |of: &str, from: &str, to: &str| {
        let change = Change { of: of.into(), ..changed(Changed::Cooling, from, to) };
        let said = one(|w| w.changes.push(change), "throttled-meanwhile", Effect::Inconclusive);
        said.split_once("while it was measured: ").unwrap().1.to_owned()
    };
    assert_eq!(said("fan", "0", "1"), "fan from 0 to 1, seen at 1.234 s");
    assert_eq!(said("", "", "12 s"), "for 12 s, seen at 1.234 s");
    assert_eq!(said("fan", "", ""), "fan seen at 1.234 s");
    assert_eq!(said("", "0", ""), "from 0 to , seen at 1.234 s");
}

#[test]
fn four_changes_of_a_kind_are_told() {
    let said = |n| one(|w| w.changes = vec![changed(Changed::Online, "0", "1"); n], "cpus-changed", Effect::Inconclusive);
    let change = "from 0 to 1, seen at 1.234 s";
    assert!(said(4).ends_with(&format!("interrupts: {change}, {change}, {change}, {change}")), "{}", said(4));
    assert!(said(6).ends_with(&format!("interrupts: {change}, {change}, {change}, {change} and 2 more")), "{}", said(6));
    // `jiffies` makes only a change of clock source INVALID.
    one(|w| w.changes.push(changed(Changed::Governor, "schedutil", "jiffies")), "governor-changed", Effect::Inconclusive);
}

#[test]
fn eight_cpus_are_told() {
    let cpus = |n: u32, seen: CpuSeen| move |w: &mut Witness| w.cpus = (0..n).map(|cpu| CpuSeen { cpu, ..seen.clone() }).collect();
    let stolen = |n| one(cpus(n, CpuSeen { steal_ns: Some(10_000_000), ..CpuSeen::default() }), "stolen", Effect::Inconclusive);
    assert!(stolen(8).ends_with(", CPU 6 10ms, CPU 7 10ms"), "{}", stolen(8));
    assert!(stolen(10).ends_with(", CPU 6 10ms, CPU 7 10ms and 2 more"), "{}", stolen(10));
    let varied =
        |n| one(cpus(n, CpuSeen { khz: Some((1_000_000, 2_000_000)), ..CpuSeen::default() }), "frequency-varied", Effect::Note);
    assert!(varied(8).ends_with(", CPU 7 1000 to 2000 MHz"), "{}", varied(8));
    assert!(varied(10).ends_with(", CPU 7 1000 to 2000 MHz and 2 more"), "{}", varied(10));
}

#[test]
fn a_tenth_of_the_highest_frequency_is_no_change() {
    let codes = |low| of(|w| w.cpus[0].khz = Some((low, 2_000_000))).into_iter().map(|w| w.code).collect::<Vec<_>>();
    assert_eq!(codes(1_800_000), [""; 0]);
    assert_eq!(codes(1_799_999), ["frequency-varied"]);
}

#[test]
fn the_most_interrupts_of_management_are_told() {
    let seen = |smis: &[u64]| {
        let cpus = smis.iter().map(|&n| CpuSeen { smis: Some(n), ..CpuSeen::default() }).collect();
        of(|w| w.cpus = cpus).into_iter().map(|w| w.message).collect::<Vec<_>>()
    };
    assert_eq!(seen(&[0, 0]), [""; 0]);
    assert!(seen(&[1, 4, 2])[0].starts_with("the firmware stopped the processor 4 times meanwhile"), "{:?}", seen(&[1, 4, 2]));
}
