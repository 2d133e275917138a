//! Which machine a record's findings are about: the machine under test and, where it affects the times, the instrument's machine.

use super::rules::findings;
use crate::policy::Policy;
use crate::record::RecordParts;
use crate::settings::Settings;
use crate::warning::{Effect, Warning};

/// Findings about a separate instrument machine that matter: what delays or falsifies its stimuli and time stamps.
const OF_INSTRUMENT: [&str; 13] = [
    "clocksource-coarse",
    "clocksource-slow",
    "clocksource-unusual",
    "clocksource-paravirtual",
    "no-high-resolution-timers",
    "virtual-machine",
    "frequency-scaling",
    "deep-idle-states",
    "throttled",
    "tracing-on",
    "kernel-debugging",
    "rtprio-limit",
    "rt-tasks",
];

/// The findings about the machines of a run, from the snapshots in its record.
pub fn of_machines(of: &RecordParts) -> Vec<Warning> {
    let instrument = of.instrument.as_ref().and_then(|i| i.system.as_deref());
    let mut found = match instrument {
        _ if of.system.is_unknown() => vec![unknown()],
        None => findings(&of.system, &of.settings),
        Some(_) => findings(&of.system, &of_dut(&of.settings)),
    };
    let lines = of.settings.lines.as_ref();
    if let Some(host) = instrument.filter(|_| lines.is_some_and(|l| !is_autonomous(&l.answer))) {
        let mut here = findings(host, &of.settings);
        here.retain(|w| OF_INSTRUMENT.contains(&w.code.as_str()));
        found.extend(here.into_iter().map(|w| Warning {
            code: format!("instrument-host-{}", w.code),
            message: format!("on the instrument's machine, whose times these are: {}", w.message),
            ..w
        }));
    }
    match &of.lab {
        Some(lab) => {
            let cpus = u32::try_from(of.system.cpu.online.len()).unwrap_or(u32::MAX);
            super::lab::in_the_lab(found, of.clock, cpus, lab.model)
        }
        None => found,
    }
}

/// Whether no task of the host makes this line's edges and time stamps.
pub(super) fn is_autonomous(line: &str) -> bool {
    line.starts_with("wire:") || line.starts_with("fpga:")
}

/// The finding that nothing is known about the machine whose latency was measured.
fn unknown() -> Warning {
    Warning::new(
        "machine-unknown",
        Effect::Inconclusive,
        "nothing is known of the DUT's machine: what answered was another program or machine, which rtscope did not start",
        "let rtscope bring the DUT: --dut ssh://HOST, or --dut own where it is on this machine",
    )
}

/// The settings as they apply to the DUT's machine: those of the DUT's task instead of the instrument's.
fn of_dut(s: &Settings) -> Settings {
    let dut = s.lines.as_ref().and_then(|l| l.dut.as_ref());
    let (priority, cpu) = dut.map_or((0, None), |d| (d.priority, d.cpu));
    Settings {
        threads: 1,
        cpus: cpu.into_iter().collect(),
        migrate: cpu.is_none(),
        policy: if priority == 0 { Policy::Other } else { Policy::Fifo },
        priority,
        // The DUT locks its memory; idle states are held off on the instrument's machine only.
        mlockall: true,
        hold_dma_latency: false,
        ..s.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::record::tests::parts;
    use crate::system::System;
    use crate::{DutSettings, Inject, InstrumentFacts, LineSettings, Test};

    fn machine(virtualization: Option<&str>, governor: &str) -> System {
        let mut s = System { virtualization: virtualization.map(Into::into), ..System::default() };
        s.kernel.release = "6.12".into();
        (s.limits.cap_sys_nice, s.limits.cap_ipc_lock) = (true, true);
        s.cpu.online = vec![0, 1];
        s.cpu.governor = [(0, governor.to_owned()), (1, governor.to_owned())].into();
        s.cpu.frequency_khz = [(0, (1_000_000, 2_000_000)), (1, (1_000_000, 2_000_000))].into();
        s
    }

    fn over(answer: &str, dut: System, instrument: Option<System>) -> RecordParts {
        let device = DutSettings { input: None, output: "gpio:b/1".into(), priority: 90, cpu: Some(1), inject: Inject::default() };
        let lines = LineSettings { dut: Some(device), answer: answer.into(), ..fixtures::lines() };
        let instrument = Some(InstrumentFacts { system: instrument.map(Box::new), ..InstrumentFacts::default() });
        let settings = Settings { lines: Some(lines), cpus: vec![0], ..Settings::default() };
        RecordParts { test: Test::Response, system: dut, instrument, settings, warnings: Vec::new(), ..parts() }
    }

    fn codes(of: &RecordParts) -> Vec<String> {
        of_machines(of).into_iter().map(|w| w.code).collect()
    }

    #[test]
    fn the_verdict_is_of_the_dut() {
        let (good, poor) = (|| machine(None, "performance"), || machine(Some("kvm"), "ondemand"));
        let has = |of: &RecordParts, code: &str| codes(of).iter().any(|c| c == code);
        // A poor machine under test, timed by a good one, and by an instrument that is independent of its host.
        for answer in ["gpio:a/2", "fpga:/dev/ttyUSB1"] {
            let of = over(answer, poor(), Some(good()));
            assert!(has(&of, "virtual-machine") && has(&of, "frequency-scaling"), "{:?}", codes(&of));
            assert!(!codes(&of).iter().any(|c| c.starts_with("instrument-host-")), "{:?}", codes(&of));
        }
        // A good machine under test, timed by a poor one, whose findings count only if its tasks make the times.
        let of = over("gpio:a/2", good(), Some(poor()));
        assert!(!has(&of, "virtual-machine") && !has(&of, "frequency-scaling"));
        assert!(has(&of, "instrument-host-virtual-machine") && has(&of, "instrument-host-frequency-scaling"), "{:?}", codes(&of));
        assert!(!codes(&over("fpga:/dev/ttyUSB1", good(), Some(poor()))).iter().any(|c| c.contains("virtual-machine")));
        // One machine for both.
        assert!(has(&over("gpio:a/2", poor(), None), "virtual-machine"));
        // The CPU that counts is the DUT's.
        let mut one = over("gpio:a/2", good(), Some(good()));
        one.system.cpu.governor.insert(0, "ondemand".into());
        assert!(!has(&one, "frequency-scaling"));
        one.system.cpu.governor.insert(1, "ondemand".into());
        assert!(has(&one, "frequency-scaling"));
    }

    #[test]
    fn a_machine_of_which_nothing_is_known_is_no_good_one() {
        let of = over("fpga:/dev/ttyUSB1", System::default(), Some(machine(None, "performance")));
        let found = of_machines(&of);
        assert_eq!(
            found.iter().map(|w| (w.code.as_str(), w.effect)).collect::<Vec<_>>(),
            [("machine-unknown", Effect::Inconclusive)]
        );
    }

    #[test]
    fn of_the_dut_its_own_task_is_looked_at() {
        let of = |priority, cpu, asked: Settings| {
            let mut of = over("gpio:a/2", machine(None, "performance"), None).settings;
            let dut = of.lines.as_mut().unwrap().dut.as_mut().unwrap();
            (dut.priority, dut.cpu) = (priority, cpu);
            let asked = Settings { lines: of.lines, ..asked };
            (of_dut(&asked), asked)
        };
        let (dut, asked) = of(
            90,
            Some(1),
            Settings {
                threads: 4,
                cpus: vec![0, 2],
                migrate: true,
                policy: Policy::Other,
                priority: 0,
                mlockall: false,
                ..Settings::default()
            },
        );
        let own = Settings {
            threads: 1,
            cpus: vec![1],
            migrate: false,
            policy: Policy::Fifo,
            priority: 90,
            mlockall: true,
            hold_dma_latency: false,
            ..asked
        };
        assert_eq!(dut, own);
        // An ordinary task that may migrate.
        let (dut, asked) = of(0, None, Settings { cpus: vec![0], ..Settings::default() });
        let own =
            Settings { cpus: Vec::new(), migrate: true, policy: Policy::Other, priority: 0, hold_dma_latency: false, ..asked };
        assert_eq!(dut, own);
    }

    #[test]
    fn a_finding_of_the_instruments_machine_says_so() {
        let of = over("gpio:a/2", machine(None, "performance"), Some(machine(Some("kvm"), "performance")));
        let found = of_machines(&of);
        let said = found.iter().find(|w| w.code == "instrument-host-virtual-machine").unwrap();
        let start = "on the instrument's machine, whose times these are: this is a virtual machine (kvm)";
        assert!(said.message.starts_with(start), "{}", said.message);
        assert_eq!(said.effect, Effect::Inconclusive);
    }
}
