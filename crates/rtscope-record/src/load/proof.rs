//! Warnings from a load's proof about the figures that were taken under the load.

use super::course;
use super::kept::{LoadProcess, LoadProof};
use crate::warning::{Effect, Warning};

/// The warnings that follow from `proof` alone: the same for a run that has just ended and for an archived record.
pub fn warnings(proof: &LoadProof) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = proof.processes.iter().filter_map(|p| of_process(proof, p)).collect();
    warnings.extend(proof.processes.iter().filter(|p| !p.died_early).filter_map(|p| course::of_process(proof, p)));
    warnings.extend(course::of_load(proof));
    if let Some(kills) = proof.oom_kills.filter(|&k| k > 0) {
        warnings.push(Warning::new(
            "load-oom",
            Effect::Invalid,
            format!(
                "the kernel killed {kills} process(es) for lack of memory while the load ran: the load was not what its name says"
            ),
            "give the load less memory, or the machine more",
        ));
    }
    warnings
}

/// At most one warning from the figures of each process: the most serious.
fn of_process(proof: &LoadProof, process: &LoadProcess) -> Option<Warning> {
    let command = process.command.iter().take(12).cloned().collect::<Vec<_>>().join(" ");
    let load = &proof.name;
    let said =
        if process.stderr.is_empty() { String::new() } else { format!("; it said: {}", process.stderr.replace('\n', " / ")) };
    if process.died_early {
        let how = match (process.exit_code, process.signal) {
            (Some(code), _) => format!(" with exit status {code}"),
            (None, Some(signal)) => format!(" by signal {signal}"),
            (None, None) => String::new(),
        };
        return Some(Warning::new(
            "load-died",
            Effect::Invalid,
            format!("`{command}` ended{how} before the measurement did: part of it ran without the load `{load}`{said}"),
            "run again; if it happens again, choose a milder load or see what the command says",
        ));
    }
    // The receiving end of iperf3 ends after its client, which has the figures.
    let program = process.command.first().map_or("", String::as_str);
    if program == "iperf3" && process.command.iter().any(|a| a == "-s") {
        return None;
    }
    let is_work = |name: &str| matches!(unit(name), "bogo_ops" | "bytes");
    let work: Vec<(&String, f64)> = process.achieved.iter().filter(|(k, _)| is_work(k)).map(|(k, v)| (k, *v)).collect();
    // The kernel's account of the work, the same for any tool.
    let seen = |of: &str| process.achieved.iter().filter(|(k, _)| unit(k) == of).map(|(_, v)| *v).fold(0.0, f64::max);
    // More than any idle tool reaches: half a second and a tenth of one CPU, or 100 MB written, more than connections need.
    let cpu = seen("cpu_seconds");
    let worked = (cpu >= 0.5 && cpu * 1e9 >= 0.1 * proof.ran_ns as f64) || seen("bytes_written") >= 1e8;
    if work.is_empty() && worked {
        return Some(Warning::new(
            "load-figures-missing",
            Effect::Inconclusive,
            format!(
                "`{command}` was at work until it was told to end, by the kernel's account of it, but left no figures of its own of \
                 what it did{said}"
            ),
            "some stressors can't be ended in time: leave them out by a load of your own, stress-ng:ARGS",
        ));
    }
    if work.is_empty() {
        return Some(Warning::new(
            "load-unproven",
            Effect::Invalid,
            format!("`{command}` left no figures of what it did, so nothing shows that the load `{load}` was there{said}"),
            "run again, for longer; if it happens again, run the command by hand",
        ));
    }
    let (long, idle): (Vec<&str>, Vec<&str>) = work
        .iter()
        .filter(|(_, v)| *v <= 0.0)
        .map(|(k, _)| k.rsplit_once('.').map_or(k.as_str(), |(name, _)| name))
        .partition(|name| process.workers.iter().any(|w| w.name == *name && w.at_work()));
    if idle.is_empty() && !long.is_empty() {
        return Some(Warning::new(
            "load-uncounted",
            Effect::Note,
            format!(
                "these stressors of the load `{load}` finished no operation in this run, but the kernel saw them at work: {}",
                long.join(", ")
            ),
            "run for longer, where their own figures matter",
        ));
    }
    if idle.len() == work.len() {
        return Some(Warning::new(
            "load-idle",
            Effect::Invalid,
            format!(
                "`{command}` ran and did nothing (0 {}): the load `{load}` was not there{said}",
                if work.iter().all(|(k, _)| unit(k) == "bytes") { "bytes" } else { "bogo operations" }
            ),
            "run for longer; if it happens again, run the command by hand",
        ));
    }
    if !idle.is_empty() {
        // With `--all`, some stressors lack what they need on any machine; a chosen stressor is meant to run.
        let effect = if process.command.iter().any(|a| a == "--all") { Effect::Note } else { Effect::Inconclusive };
        return Some(Warning::new(
            "load-partly-idle",
            effect,
            format!("these stressors of the load `{load}` ran and did nothing: {}{said}", idle.join(", ")),
            "run for longer, or leave them out by a load of your own: stress-ng:ARGS",
        ));
    }
    (!ends_as_asked(program, process.exit_code)).then(|| {
        let how = process.exit_code.map_or_else(|| "had to be killed".to_owned(), |c| format!("ended with exit status {c}"));
        Warning::new(
            "load-exit",
            Effect::Note,
            format!("`{command}` worked, but {how}: a stressor of it failed or lacked something{said}"),
            "run the command by hand to see which",
        )
    })
}

/// Unit of a figure: the part of its name after the last point.
fn unit(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, unit)| unit)
}

/// Whether a tool that worked ends with this exit status when it is told to end.
fn ends_as_asked(program: &str, exit_code: Option<i32>) -> bool {
    match program {
        // An interrupted client exits with 1; one that had to be killed has still sent its bytes.
        "iperf3" => true,
        // fio exits with 128 after a signal, once it has printed its figures.
        "fio" => matches!(exit_code, Some(0 | 128)),
        _ => exit_code == Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LoadWorkers;
    use super::*;

    fn process(command: &str, achieved: &[(&str, f64)]) -> LoadProcess {
        LoadProcess {
            command: command.split(' ').map(Into::into).collect(),
            exit_code: Some(0),
            achieved: achieved.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
            ..LoadProcess::default()
        }
    }

    fn codes(processes: Vec<LoadProcess>, oom_kills: Option<u64>) -> Vec<(String, Effect)> {
        let proof = LoadProof { name: "full".into(), processes, oom_kills, ..LoadProof::default() };
        warnings(&proof).into_iter().map(|w| (w.code, w.effect)).collect()
    }

    #[test]
    fn a_load_that_worked_is_not_warned_of() {
        let stress = process("stress-ng --cpu 2", &[("cpu.bogo_ops", 9.0), ("cpu.bogo_ops_per_s", 3.0)]);
        let mut client = process("iperf3 -c x", &[("iperf3.bytes", 1e9), ("iperf3.retransmits", 0.0)]);
        client.exit_code = Some(1);
        let mut server = process("iperf3 -s -1", &[]);
        server.exit_code = Some(1);
        assert_eq!(codes(vec![stress, client, server], Some(0)), []);
    }

    #[test]
    fn the_kernels_account_proves_that_there_was_a_load_but_not_what_it_did() {
        let of = |figures: &[(&str, f64)]| {
            let processes = vec![process("stress-ng --all 1", figures)];
            let proof = LoadProof { name: "dewit".into(), processes, ran_ns: 10_000_000_000, ..LoadProof::default() };
            warnings(&proof).into_iter().map(|w| (w.code, w.effect)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[("stress-ng.cpu_seconds", 5.0)]), [("load-figures-missing".to_owned(), Effect::Inconclusive)]);
        assert_eq!(of(&[("stress-ng.cpu_seconds", 0.7)]), [("load-unproven".to_owned(), Effect::Invalid)]);
        assert_eq!(of(&[("iperf3.bytes_written", 1e9)]), [("load-figures-missing".to_owned(), Effect::Inconclusive)]);
        assert_eq!(of(&[("iperf3.bytes_written", 1e4)]), [("load-unproven".to_owned(), Effect::Invalid)]);
    }

    #[test]
    fn an_operation_that_outlasts_the_run_is_proved_by_what_the_kernel_saw() {
        let seen = |name: &str, cpu_ns, idle_ns| LoadWorkers {
            name: name.into(),
            count: 1,
            cpu_ns,
            watched_ns: 1_000_000_000,
            idle_ns,
            ..LoadWorkers::default()
        };
        let of = |workers: Vec<LoadWorkers>| {
            let figures = [("sync-file.bogo_ops", 3.0), ("fpunch.bogo_ops", 0.0)];
            codes(vec![LoadProcess { workers, ..process("stress-ng --sync-file 1 --fpunch 1", &figures) }], None)
        };
        let code = |code: &str, effect| vec![(code.to_owned(), effect)];
        assert_eq!(of(vec![seen("fpunch", 400_000_000, 0)]), code("load-uncounted", Effect::Note));
        // Waiting for the disk counts as work; sleeping does not, nor does the work of another stressor.
        assert_eq!(of(vec![seen("fpunch", 1, 300_000_000)]), code("load-uncounted", Effect::Note));
        assert_eq!(of(vec![seen("sync-file", 400_000_000, 0)]), code("load-partly-idle", Effect::Inconclusive));
        let one = process("stress-ng --fpunch 1", &[("fpunch.bogo_ops", 0.0)]);
        let alone = |w| codes(vec![LoadProcess { workers: vec![w], ..one.clone() }], None);
        assert_eq!(alone(seen("fpunch", 400_000_000, 0)), code("load-uncounted", Effect::Note));
        assert_eq!(alone(seen("fpunch", 0, 0)), code("load-idle", Effect::Invalid));
    }

    #[test]
    fn each_failing_has_its_code() {
        let mut died = process("stress-ng --cpu 2", &[("cpu.bogo_ops", 9.0)]);
        died.died_early = true;
        died.signal = Some(9);
        let mut odd = process("stress-ng --cpu 2", &[("cpu.bogo_ops", 9.0)]);
        odd.exit_code = Some(2);
        for (process, code, effect) in [
            (died, "load-died", Effect::Invalid),
            (process("stress-ng --cpu 2", &[]), "load-unproven", Effect::Invalid),
            (process("stress-ng --cpu 2", &[("cpu.bogo_ops", 0.0)]), "load-idle", Effect::Invalid),
            (process("iperf3 -c x", &[("iperf3.bytes", 0.0)]), "load-idle", Effect::Invalid),
            (
                process("stress-ng --cpu 2", &[("cpu.bogo_ops", 0.0), ("vm.bogo_ops", 1.0)]),
                "load-partly-idle",
                Effect::Inconclusive,
            ),
            (process("stress-ng --all 1", &[("cpu.bogo_ops", 0.0), ("vm.bogo_ops", 1.0)]), "load-partly-idle", Effect::Note),
            (odd, "load-exit", Effect::Note),
        ] {
            assert_eq!(codes(vec![process], None), [(code.to_owned(), effect)]);
        }
        assert_eq!(codes(Vec::new(), Some(2)), [("load-oom".to_owned(), Effect::Invalid)]);
    }

    #[test]
    fn half_a_second_and_a_tenth_of_a_cpu_is_work() {
        let of = |figure: &str, value: f64, ran_ns| {
            let processes = vec![process("stress-ng --all 1", &[(figure, value)])];
            let proof = LoadProof { name: "dewit".into(), processes, ran_ns, ..LoadProof::default() };
            warnings(&proof).into_iter().map(|w| w.code).collect::<Vec<_>>()
        };
        let (cpu, bytes) = ("stress-ng.cpu_seconds", "iperf3.bytes_written");
        assert_eq!(of(cpu, 0.5, 5_000_000_000), ["load-figures-missing"]);
        assert_eq!(of(cpu, 0.5, 5_000_000_001), ["load-unproven"]);
        assert_eq!(of(cpu, 0.499, 1_000_000_000), ["load-unproven"]);
        assert_eq!(of(bytes, 1e8, 5_000_000_000), ["load-figures-missing"]);
        assert_eq!(of(bytes, 1e8 - 1.0, 5_000_000_000), ["load-unproven"]);
    }

    #[test]
    fn only_the_receiving_end_of_iperf3_needs_no_figures() {
        assert_eq!(codes(vec![process("iperf3 -s -1", &[])], None), []);
        let unproven = [("load-unproven".to_owned(), Effect::Invalid)];
        assert_eq!(codes(vec![process("iperf3 -c x", &[])], None), unproven);
        assert_eq!(codes(vec![process("stress-ng -s 1", &[])], None), unproven);
    }

    #[test]
    fn stressors_that_did_nothing_are_named_without_those_at_work() {
        let figures = [("vm.bogo_ops", 1.0), ("fpunch.bogo_ops", 0.0), ("hdd.bogo_ops", 0.0)];
        let at_work = LoadWorkers { name: "fpunch".into(), count: 1, cpu_ns: 9, watched_ns: 10, ..LoadWorkers::default() };
        let processes = vec![LoadProcess { workers: vec![at_work], ..process("stress-ng --vm 1 --fpunch 1 --hdd 1", &figures) }];
        let said = warnings(&LoadProof { name: "full".into(), processes, ..LoadProof::default() });
        let [said] = said.as_slice() else { panic!("{said:?}") };
        assert_eq!((said.code.as_str(), said.effect), ("load-partly-idle", Effect::Inconclusive));
        assert_eq!(said.message, "these stressors of the load `full` ran and did nothing: hdd");
    }

    #[test]
    fn who_died_says_how_and_only_that() {
        let died = |exit_code, signal, stderr: &str| {
            let gone = LoadWorkers { name: "cpu".into(), count: 2, gone: 2, ..LoadWorkers::default() };
            let process = LoadProcess {
                died_early: true,
                workers: vec![gone],
                stderr: stderr.into(),
                exit_code,
                signal,
                ..process("stress-ng --cpu 2", &[("cpu.bogo_ops", 9.0)])
            };
            let said = warnings(&LoadProof { name: "full".into(), processes: vec![process], ..LoadProof::default() });
            let [said] = said.as_slice() else { panic!("{said:?}") };
            assert_eq!((said.code.as_str(), said.effect), ("load-died", Effect::Invalid));
            said.message.clone()
        };
        let rest = "before the measurement did: part of it ran without the load `full`";
        assert_eq!(died(Some(3), None, ""), format!("`stress-ng --cpu 2` ended with exit status 3 {rest}"));
        assert_eq!(died(None, Some(9), ""), format!("`stress-ng --cpu 2` ended by signal 9 {rest}"));
        assert_eq!(died(None, None, "a\nb"), format!("`stress-ng --cpu 2` ended {rest}; it said: a / b"));
    }

    #[test]
    fn a_failed_exit_is_told_of_who_worked() {
        let ended = |command: &str, figure: &str, exit_code| {
            let processes = vec![LoadProcess { exit_code, ..process(command, &[(figure, 9.0)]) }];
            let said = warnings(&LoadProof { name: "full".into(), processes, ..LoadProof::default() });
            said.into_iter().map(|w| w.message).collect::<Vec<_>>()
        };
        let but = "a stressor of it failed or lacked something";
        assert_eq!(ended("stress-ng --cpu 2", "cpu.bogo_ops", Some(0)), [""; 0]);
        assert_eq!(
            ended("stress-ng --cpu 2", "cpu.bogo_ops", Some(2)),
            [format!("`stress-ng --cpu 2` worked, but ended with exit status 2: {but}")]
        );
        assert_eq!(
            ended("stress-ng --cpu 2", "cpu.bogo_ops", None),
            [format!("`stress-ng --cpu 2` worked, but had to be killed: {but}")]
        );
        assert_eq!(ended("iperf3 -c x", "iperf3.bytes", None), [""; 0]);
        assert_eq!(ended("fio --rw=read", "fio.bytes", Some(128)), [""; 0]);
        assert_eq!(ended("fio --rw=read", "fio.bytes", Some(1)).len(), 1);
        assert_eq!(ended("fio --rw=read", "fio.bytes", None).len(), 1);
    }
}
