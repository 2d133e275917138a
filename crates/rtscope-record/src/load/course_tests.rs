use super::*;

const S: u64 = 1_000_000_000;
const HALF: u64 = S / 2;

/// A run of one step each half a second: CPU time of the load and of nobody, in hundredths of two CPUs.
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
        // In a run of one look there is nothing to be said but of the whole.
        assert_eq!(course(fills, &[(80, 20)]), []);
        assert_eq!(course(fills, &[]), []);
    }
    // One worker on two CPUs.
    assert_eq!(course(false, &repeated(&[(10, (50, 48)), (4, (40, 20)), (10, (50, 49))])), []);
    // One that mostly waits for a disk, more and less.
    assert_eq!(course(false, &repeated(&[(4, (8, 90)), (4, (3, 95)), (4, (9, 90)), (4, (7, 90))])), []);
}

#[test]
fn a_load_that_was_halved_is_found_whenever_that_was() {
    // Stopped in the middle, at the beginning; half of the time by turns; throttled to a half throughout.
    for steps in [
        repeated(&[(10, (99, 0)), (10, (0, 99))]),
        repeated(&[(10, (0, 99)), (10, (99, 0))]),
        repeated(&[(4, (99, 0)), (16, (48, 50))]),
        repeated(&[(4, (50, 49)), (16, (24, 75))]),
    ] {
        assert_eq!(course(false, &steps), slowed(), "{steps:?}");
    }
    assert_eq!(course(true, &repeated(&[(20, (50, 50))])), slowed());
    // One that mostly waits, from a tenth of the CPUs to a twentieth.
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
    // A look without work is none.
    assert_eq!(one(|w| w.idle_ns = 3 * S / 10), []);
    // All stopped for half of the run; half of them, for all of it.
    let (invalid, inconclusive) = (Effect::Invalid, Effect::Inconclusive);
    assert_eq!(one(|w| (w.idle_ns, w.longest_idle_ns, w.stopped) = (20 * S, 5 * S, 40)), code("load-frozen", invalid));
    assert_eq!(one(|w| (w.idle_ns, w.stopped) = (20 * S, 40)), code("load-frozen", invalid));
    // Stopped from the beginning: not a load that sleeps.
    assert_eq!(one(|w| (w.idle_ns, w.longest_idle_ns, w.early_idle_ns) = (40 * S, 10 * S, 8 * S)), code("load-frozen", invalid));
    assert_eq!(one(|w| (w.gone, w.idle_ns) = (2, 10 * S)), code("load-workers-lost", inconclusive));
    assert_eq!(one(|w| (w.gone, w.idle_ns) = (4, S / 10)), code("load-workers-lost", invalid));
    assert_eq!(one(|w| w.stopped = 1), code("load-stopped", inconclusive));
    assert_eq!(one(|w| w.idle_ns = 5 * S), code("load-frozen", inconclusive));
    assert_eq!(one(|w| w.reniced = 4), code("load-reniced", inconclusive));
    // A long run, a short time.
    assert_eq!(one(|w| w.longest_idle_ns = 9 * S / 10), []);
    // One that sleeps by nature does so from the beginning.
    assert_eq!(one(|w| (w.idle_ns, w.early_idle_ns, w.longest_idle_ns) = (22 * S, 4 * S, 2 * S)), []);
    // Of all stressors, some end and sleep.
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
