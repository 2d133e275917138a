use super::*;
use crate::load::LoadCourse;

const S: u64 = 1_000_000_000;
const HALF: u64 = S / 2;

/// The warnings for a run with steps of half a second: CPU time of the load and idle time, in percent of two CPUs.
fn course(fills_cpus: bool, steps: &[(u64, u64)]) -> Vec<(String, Effect)> {
    let step = |&(load, idle): &(u64, u64)| LoadStep { ns: HALF, load_ns: load * 2 * HALF / 100, idle_ns: idle * 2 * HALF / 100 };
    let course = LoadCourse { fills_cpus, cpus: Vec::new(), steps: steps.iter().map(step).collect() };
    let proof = LoadProof { name: "x".into(), ran_ns: HALF * steps.len() as u64, course: Some(course), ..LoadProof::default() };
    super::super::warnings(&proof).into_iter().map(|w| (w.code, w.effect)).collect()
}

fn repeated(parts: &[(usize, (u64, u64))]) -> Vec<(u64, u64)> {
    parts.iter().flat_map(|&(n, step)| std::iter::repeat_n(step, n)).collect()
}

fn slowed() -> Vec<(String, Effect)> {
    vec![("load-slowed".into(), Effect::Inconclusive)]
}

#[test]
fn a_load_that_takes_what_is_to_be_had_is_fine_however_busy_the_machine() {
    for fills in [false, true] {
        assert_eq!(course(fills, &repeated(&[(20, (99, 1))])), []);
        // Others take a third, then nearly half, then nothing.
        assert_eq!(course(fills, &repeated(&[(6, (66, 0)), (6, (55, 2)), (8, (97, 2))])), []);
        // A run of one look can only be judged as a whole.
        assert_eq!(course(fills, &[(80, 20)]), []);
        assert_eq!(course(fills, &[]), []);
    }
    // One worker on two CPUs.
    assert_eq!(course(false, &repeated(&[(10, (50, 48)), (4, (40, 20)), (10, (50, 49))])), []);
    // A load that mostly waits for a disk, at a varying rate.
    assert_eq!(course(false, &repeated(&[(4, (8, 90)), (4, (3, 95)), (4, (9, 90)), (4, (7, 90))])), []);
}

#[test]
fn a_load_that_was_halved_is_found_whenever_that_was() {
    // Stopped in the middle; at the beginning; half of the time in turns; throttled to a half throughout.
    for steps in [
        repeated(&[(10, (99, 0)), (10, (0, 99))]),
        repeated(&[(10, (0, 99)), (10, (99, 0))]),
        repeated(&[(4, (99, 0)), (16, (48, 50))]),
        repeated(&[(4, (50, 49)), (16, (24, 75))]),
    ] {
        assert_eq!(course(false, &steps), slowed(), "{steps:?}");
    }
    assert_eq!(course(true, &repeated(&[(20, (50, 50))])), slowed());
    // A load that mostly waits, from a tenth of the CPUs to a twentieth.
    assert_eq!(course(false, &repeated(&[(4, (10, 90)), (20, (5, 94))])), slowed());
}

#[test]
fn a_load_that_others_crowd_out_is_said_to_be() {
    let crowded = vec![("load-crowded".to_owned(), Effect::Inconclusive)];
    assert_eq!(course(true, &repeated(&[(4, (99, 1)), (20, (20, 0))])), crowded);
}

fn workers(change: impl FnOnce(&mut LoadWorkers)) -> LoadWorkers {
    let mut w = LoadWorkers {
        name: "cpu".into(),
        count: 4,
        cpu_ns: 18 * S,
        watched_ns: 40 * S,
        early_watched_ns: 8 * S,
        ..LoadWorkers::default()
    };
    change(&mut w);
    w
}

fn codes_of(command: &str, workers: Vec<LoadWorkers>) -> Vec<(String, Effect)> {
    let achieved = [("cpu.bogo_ops".to_owned(), 9.0)].into();
    let command = command.split(' ').map(Into::into).collect();
    let process = LoadProcess { command, exit_code: Some(0), achieved, workers, ..LoadProcess::default() };
    let proof = LoadProof { name: "x".into(), ran_ns: 10 * S, processes: vec![process], ..LoadProof::default() };
    super::super::warnings(&proof).into_iter().map(|w| (w.code, w.effect)).collect()
}

#[test]
fn what_becomes_of_workers_has_its_code() {
    let one = |change: fn(&mut LoadWorkers)| codes_of("stress-ng --cpu 4", vec![workers(|_| ()), workers(change)]);
    let code = |code: &str, effect| vec![(code.to_owned(), effect)];
    assert_eq!(one(|_| ()), []);
    // Idle time within a single look does not count.
    assert_eq!(one(|w| w.idle_ns = 3 * S / 10), []);
    // All stopped for half of the run; half of them for all of it.
    let (invalid, inconclusive) = (Effect::Invalid, Effect::Inconclusive);
    assert_eq!(one(|w| (w.idle_ns, w.longest_idle_ns, w.stopped) = (20 * S, 5 * S, 40)), code("load-frozen", invalid));
    assert_eq!(one(|w| (w.idle_ns, w.stopped) = (20 * S, 40)), code("load-frozen", invalid));
    // Stopped from the beginning: not a load that sleeps by design.
    assert_eq!(one(|w| (w.idle_ns, w.longest_idle_ns, w.early_idle_ns) = (40 * S, 10 * S, 8 * S)), code("load-frozen", invalid));
    assert_eq!(one(|w| (w.gone, w.idle_ns) = (2, 10 * S)), code("load-workers-lost", inconclusive));
    assert_eq!(one(|w| (w.gone, w.idle_ns) = (4, S / 10)), code("load-workers-lost", invalid));
    assert_eq!(one(|w| w.stopped = 1), code("load-stopped", inconclusive));
    assert_eq!(one(|w| w.idle_ns = 5 * S), code("load-frozen", inconclusive));
    assert_eq!(one(|w| w.reniced = 4), code("load-reniced", inconclusive));
    // A short idle time in a long run.
    assert_eq!(one(|w| w.longest_idle_ns = 9 * S / 10), []);
    // A load that sleeps by design does so from the beginning.
    assert_eq!(one(|w| (w.idle_ns, w.early_idle_ns, w.longest_idle_ns) = (22 * S, 4 * S, 2 * S)), []);
    // With `--all`, some stressors end or sleep.
    let all = codes_of("stress-ng --all 1", vec![workers(|w| w.gone = 4)]);
    assert_eq!(all, code("load-workers-lost", Effect::Note));
}

#[test]
fn the_gravest_of_a_process_is_told_once() {
    let many: Vec<LoadWorkers> = (0..9).map(|n| workers(|w| (w.name, w.gone) = (format!("s{n}"), 1))).collect();
    let process = LoadProcess { workers: many, ..LoadProcess::default() };
    let said = of_process(&LoadProof { name: "x".into(), ran_ns: S, ..LoadProof::default() }, &process).unwrap();
    assert!(said.message.contains("s3") && said.message.ends_with("; 5 more"), "{}", said.message);
}

#[test]
fn figures_that_no_run_gives_are_judged_without_a_panic() {
    let wild = workers(|w| {
        (w.idle_ns, w.watched_ns, w.early_idle_ns, w.early_watched_ns, w.longest_idle_ns) = (u64::MAX, 0, 1, 0, u64::MAX);
    });
    let step = LoadStep { ns: u64::MAX, load_ns: u64::MAX, idle_ns: u64::MAX };
    let course = LoadCourse { fills_cpus: true, cpus: Vec::new(), steps: vec![step; 70] };
    let process = LoadProcess { workers: vec![wild], ..LoadProcess::default() };
    let proof = LoadProof { processes: vec![process], course: Some(course), ran_ns: 0, ..LoadProof::default() };
    assert!(!super::super::warnings(&proof).is_empty());
}

/// The finding for one kind of workers in a run of 10 s.
fn failing(change: impl FnOnce(&mut LoadWorkers)) -> Option<(Effect, &'static str, String)> {
    workers(change).failing(10 * S)
}

#[allow(clippy::unnecessary_wraps)] // the type of what is compared
fn said(effect: Effect, code: &'static str, text: &str) -> Option<(Effect, &'static str, String)> {
    Some((effect, code, text.to_owned()))
}

#[test]
fn at_work_is_more_than_half_of_the_time() {
    let at_work = |cpu_ns, idle_ns| LoadWorkers { cpu_ns, idle_ns, watched_ns: 1000, ..LoadWorkers::default() }.at_work();
    assert!(at_work(1, 0) && at_work(1, 499));
    assert!(!at_work(1, 500) && !at_work(1, 1000) && !at_work(0, 0));
}

#[test]
fn who_sleeps_by_nature_did_so_for_a_tenth_of_the_beginning() {
    let sleeps = |early_idle_ns, stopped, gone| {
        LoadWorkers { early_idle_ns, early_watched_ns: 1000, stopped, gone, ..LoadWorkers::default() }.sleeps()
    };
    assert!(sleeps(100, 0, 0) && sleeps(1000, 0, 0));
    assert!(!sleeps(99, 0, 0) && !sleeps(0, 0, 0));
    assert!(!sleeps(1000, 1, 0) && !sleeps(1000, 0, 1));
}

#[test]
fn frozen_is_a_tenth_of_the_run_or_five_seconds_at_once() {
    // One worker that was idle once.
    let at_once = |ns, ran_ns| {
        let change = |w: &mut LoadWorkers| (w.count, w.idle_ns, w.longest_idle_ns, w.watched_ns) = (1, ns, ns, ran_ns);
        workers(change).failing(ran_ns)
    };
    let while_of = |percent: u32| format!("cpu did nothing for {percent} % of its time");
    let frozen = |percent, longest: &str| {
        said(Effect::Invalid, "load-frozen", &format!("{}, all of it at once for up to {longest} s", while_of(percent)))
    };
    assert_eq!(at_once(S, 10 * S), frozen(10, "1.0"));
    assert_eq!(at_once(S - 1, 10 * S), None);
    assert_eq!(at_once(ONE_LOOK_NS, 4 * S), frozen(10, "0.4"));
    assert_eq!(at_once(ONE_LOOK_NS - 1, S), None);
    assert_eq!(at_once(5 * S, 500 * S), frozen(1, "5.0"));
    assert_eq!(at_once(5 * S - 1, 500 * S), said(Effect::Inconclusive, "load-frozen", &while_of(1)));
    assert_eq!(at_once(S, 500 * S), said(Effect::Inconclusive, "load-frozen", &while_of(0)));
    assert_eq!(at_once(S - 1, 500 * S), None);
}

#[test]
fn idle_is_told_by_its_share_and_from_one_look_on() {
    let kind = |found: Option<(Effect, &'static str, String)>| found.map(|(effect, code, _)| (effect, code));
    let idle = |idle_ns, watched_ns| failing(|w| (w.idle_ns, w.watched_ns) = (idle_ns, watched_ns));
    let frozen = Some((Effect::Invalid, "load-frozen"));
    let partly = |percent| said(Effect::Inconclusive, "load-frozen", &format!("cpu did nothing for {percent} % of its time"));
    assert_eq!(kind(idle(ONE_LOOK_NS, S)), frozen);
    assert_eq!(idle(ONE_LOOK_NS - 1, S / 2), None);
    assert_eq!(idle(15 * S, 40 * S), partly(38));
    assert_eq!(idle(4 * S, 40 * S), partly(10));
    assert_eq!(idle(4 * S - 1, 40 * S), None);
    assert_eq!(idle(ONE_LOOK_NS, 40 * S), None);
    // For a load that sleeps by design only additional idle time counts; nine tenths are too much for any load.
    let sleeps = |early_idle_ns, idle_ns| failing(|w| (w.early_idle_ns, w.idle_ns) = (early_idle_ns, idle_ns));
    assert_eq!(sleeps(4 * S, 23 * S), None);
    assert_eq!(sleeps(4 * S, 24 * S), partly(60));
    assert_eq!(kind(sleeps(4 * S, 36 * S)), frozen);
    assert_eq!(kind(sleeps(6 * S, 36 * S)), frozen);
    assert_eq!(sleeps(6 * S, 35 * S), partly(88));
}

#[test]
fn what_was_done_to_workers_is_counted() {
    assert_eq!(failing(|_| ()), None);
    assert_eq!(failing(|w| w.gone = 1), said(Effect::Inconclusive, "load-workers-lost", "1 of 4 workers of cpu ended too early"));
    assert_eq!(failing(|w| w.gone = 4), said(Effect::Invalid, "load-workers-lost", "4 of 4 workers of cpu ended too early"));
    assert_eq!(failing(|w| w.stopped = 3), said(Effect::Inconclusive, "load-stopped", "cpu was seen stopped by a signal 3 times"));
    let reniced = said(Effect::Inconclusive, "load-reniced", "2 of 4 workers of cpu were given another priority or policy");
    assert_eq!(failing(|w| w.reniced = 2), reniced);
}

/// The warning for a process with these workers.
fn warned(workers: Vec<LoadWorkers>) -> Warning {
    let process = LoadProcess { workers, ..LoadProcess::default() };
    of_process(&LoadProof { name: "x".into(), ran_ns: 10 * S, ..LoadProof::default() }, &process).unwrap()
}

#[test]
fn only_the_gravest_is_told_and_how_to_mend_it() {
    let of = |change: fn(&mut LoadWorkers)| warned(vec![workers(|w| w.stopped = 1), workers(change)]);
    let lost = of(|w| (w.name, w.gone) = ("vm".into(), 4));
    assert_eq!(lost.message, "the load `x` was not there all the time: 4 of 4 workers of vm ended too early");
    assert!(lost.remedy.starts_with("run again; if it happens again, see what ends or stops its processes"), "{}", lost.remedy);
    let stopped = of(|_| ());
    assert_eq!(stopped.remedy, "nobody may stop the load's processes while it is measured under; run again");
    let reniced = warned(vec![workers(|w| w.reniced = 4)]);
    assert_eq!(reniced.remedy, "see who changes priorities on this machine, and run again");
}

#[test]
fn four_kinds_of_workers_are_told() {
    let lost = |n: u32| warned((0..n).map(|n| workers(|w| (w.name, w.gone) = (format!("s{n}"), 1))).collect()).message;
    let four: Vec<String> = (0..4).map(|n| format!("1 of 4 workers of s{n} ended too early")).collect();
    let four = format!("the load `x` was not there all the time: {}", four.join("; "));
    assert_eq!(lost(4), four);
    assert_eq!(lost(6), format!("{four}; 2 more"));
}

/// The message for a load with exactly these steps.
fn of_steps(fills_cpus: bool, steps: Vec<LoadStep>) -> Option<String> {
    let course = LoadCourse { fills_cpus, cpus: Vec::new(), steps };
    of_load(&LoadProof { name: "x".into(), course: Some(course), ..LoadProof::default() }).map(|w| w.message)
}

#[test]
fn a_load_that_is_to_fill_the_cpus_takes_seven_tenths() {
    assert_eq!(course(true, &repeated(&[(20, (70, 30))])), []);
    assert_eq!(course(true, &repeated(&[(20, (69, 31))])), slowed());
    assert_eq!(course(false, &repeated(&[(20, (69, 31))])), []);
    // The time of one look is enough to see it; less is not.
    let one = |ns| of_steps(true, vec![LoadStep { ns, load_ns: 555, idle_ns: 445 }]);
    let half = "the load `x` used 56 % of the CPU time that other programs left, where it is to use all";
    assert_eq!(one(ONE_LOOK_NS).as_deref(), Some(half));
    assert_eq!(one(ONE_LOOK_NS - 1), None);
}

#[test]
fn a_course_is_judged_from_half_as_long_as_its_calibration_on() {
    // Six steps are 3 s; the first 2 s are the calibration.
    assert_eq!(course(false, &repeated(&[(4, (60, 0)), (2, (0, 99))])), slowed());
    assert_eq!(course(false, &repeated(&[(4, (40, 0)), (1, (0, 99))])), []);
    // A load that mostly waits takes 5 s.
    assert_eq!(course(false, &repeated(&[(4, (10, 90)), (6, (0, 99))])), slowed());
    assert_eq!(course(false, &repeated(&[(4, (10, 90)), (5, (0, 99))])), []);
}

#[test]
fn slowed_is_below_two_thirds_of_the_good_times() {
    assert_eq!(course(false, &repeated(&[(4, (80, 0)), (16, (45, 35))])), []);
    assert_eq!(course(false, &repeated(&[(4, (80, 0)), (16, (45, 36))])), slowed());
    let step = |load_ns, idle_ns| LoadStep { ns: HALF, load_ns, idle_ns };
    let mut steps = vec![step(HALF, 0); 4];
    steps.extend(vec![step(HALF / 4, HALF / 4 * 3); 12]);
    let message = "the load `x` used 43.8 % of the CPU time that other programs left, after 100.0 % in its good times: it was slowed or \
                   stopped";
    assert_eq!(of_steps(false, steps).as_deref(), Some(message));
}

#[test]
fn crowded_is_less_than_half_of_the_first_seconds() {
    assert_eq!(course(false, &repeated(&[(4, (80, 0)), (16, (30, 0))])), []);
    assert_eq!(course(false, &repeated(&[(4, (80, 0)), (16, (29, 0))])), [("load-crowded".to_owned(), Effect::Inconclusive)]);
    // A load that mostly waits has no rate to compare with.
    assert_eq!(course(false, &repeated(&[(4, (10, 90)), (16, (1, 9))])), []);
    let step = |load_ns| LoadStep { ns: HALF, load_ns, idle_ns: 0 };
    let mut steps = vec![step(2 * HALF); 4];
    steps.extend(vec![step(HALF / 4); 12]);
    let message = "other programs took the CPUs from the load `x`: it had 0.69 CPUs' time, after 2.00 in its first seconds";
    assert_eq!(of_steps(false, steps).as_deref(), Some(message));
}
