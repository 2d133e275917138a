//! `rtscope measure` over lines: settings from the command line.

use crate::args::lines::LineArgs;
use crate::args::{Measure, MeasureTest};
use crate::error::Failure;
use rtscope_lab::Address;
use rtscope_lab::ssh::{AddressError, is_ssh};
use rtscope_probe::lines::LineSpec;
use rtscope_probe::protocol::DutPlan;
use rtscope_record::{DutSettings, LineSettings, Nanos, Settings};

/// Stimuli before the figures begin, unless told.
const WARMUP: u64 = 10;
/// Shortest interval that the search tries, unless told.
const SHORTEST: Nanos = Nanos(10_000);

/// Where the DUT is, if that is another machine.
pub(super) fn dut_address(a: &Measure) -> Result<Option<Address>, Failure> {
    let Some(text) = a.lines.dut.as_deref().filter(|who| is_ssh(who)) else { return Ok(None) };
    if super::lab_kernel(&a.target).is_some() {
        let message = format!("{text} has no wire into a virtual machine");
        return Err(Failure::usage(message, "measure with --target local, or let the guest have its own DUT"));
    }
    text.parse().map(Some).map_err(|e: AddressError| Failure::usage(e.to_string(), AddressError::remedy()))
}

/// Takes the DUT that is on another machine out of the settings: for the probe, it is somewhere else.
/// Its load is named for each run.
pub(super) fn take_dut(a: &Measure, settings: &mut Settings) -> Option<DutPlan> {
    let lines = settings.lines.as_mut().filter(|_| a.lines.dut.as_deref().is_some_and(is_ssh))?;
    let dut = lines.dut.take()?;
    settings.threads = 1;
    Some(DutPlan { settings: dut, wave: (a.test == MeasureTest::Periodic).then_some(settings.interval.0), load: "none".into() })
}

/// Adds to `settings`, which are those of one thread on each of its CPUs, what is asked of a test over lines.
pub(super) fn settings(a: &Measure, settings: Settings) -> Result<Settings, Failure> {
    let l = &a.lines;
    if a.test == MeasureTest::Timer {
        if *l == LineArgs::default() {
            return Ok(settings);
        }
        return Err(Failure::usage("`timer` has no lines", "measure response, periodic or sustained, or leave their options out"));
    }
    let timer_only = [
        (a.threads.is_some(), "--threads"),
        (a.smp, "--smp"),
        (a.distance.0 > 0, "--distance"),
        (a.priospread, "--priospread"),
        (a.breaktrace.is_some(), "--breaktrace"),
        (a.raw.is_some(), "--raw"),
    ];
    if let Some((_, flag)) = timer_only.iter().find(|(given, _)| *given) {
        return Err(Failure::usage(format!("{flag} is for `timer` only"), "leave it out"));
    }
    let parse = |name: &String| name.parse::<LineSpec>().map_err(|e| Failure::usage(e.to_string(), e.remedy()));
    let wave = a.test == MeasureTest::Periodic;
    // In the lab the kernel module is the instrument, unless lines are named.
    let by_module = l.stimulus.is_none() && l.answer.is_none() && super::lab_kernel(&a.target).is_some();
    let (stimulus, answer) = if by_module {
        ((!wave).then(|| "wire:stimulus".to_owned()), Some("wire:answer".to_owned()))
    } else {
        (l.stimulus.clone(), l.answer.clone())
    };
    let answer = answer.ok_or_else(|| Failure::usage("no line to watch is named", "--answer LINE, such as --answer soft:b"))?;
    let spec = parse(&answer)?;
    let (soft, wire) = (spec.is_soft(), spec.is_wire());
    // The FPGA instrument has a stimulus of its own, which need not be named.
    let stimulus = stimulus.or_else(|| (!wave).then_some(&spec)?.fpga_port().map(|port| format!("fpga:{port}:stimulus")));
    let stimulus_soft = stimulus.as_ref().map(parse).transpose()?.is_some_and(|s| s.is_soft());
    let null_wire = match l.calibrate.as_deref() {
        Some("") if stimulus_soft || wire => stimulus.clone(),
        Some("") => {
            let remedy = "wire another line straight to the stimulus, and name it: --calibrate=LINE";
            return Err(Failure::usage("only a software line can be its own null wire", remedy));
        }
        line => line.map(str::to_owned),
    };
    let (instrument_cpu, dut_cpu) = match settings.cpus.as_slice() {
        // Where the user names no CPU, instrument and DUT are on two of them, if there are two.
        [first, .., last] if a.affinity.is_none() => (Some(*last), Some(*first)),
        [_] if a.affinity.is_none() => (None, None),
        cpus => (cpus.first().copied(), cpus.get(1).copied()),
    };
    let elsewhere = l.dut.as_deref().is_some_and(is_ssh);
    let given = [&l.dut_in, &l.dut_out].iter().any(|d| d.is_some());
    let own = match l.dut.as_deref() {
        // One on another machine has the same settings; `take_dut` has them from here.
        Some(who) => who == "own" || elsewhere,
        None => given || (soft && (wave || stimulus_soft)) || (wire && a.space == "user"),
    };
    if own && a.space == "kernel" {
        let remedy = "load the module as the DUT: it answers from its loading on (--guest-module in the lab)";
        return Err(Failure::usage("the probe's own DUT is in user space", remedy));
    }
    let self_answer = (l.dut.as_deref() == Some("wire")).then(|| l.inject.unwrap_or_default());
    let missing = |what: &str| {
        Failure::usage(
            format!("the own DUT has no line to {what}"),
            "name the lines at its ends of the wires: --dut-in LINE --dut-out LINE",
        )
    };
    let dut = if own {
        let input = l.dut_in.clone().or_else(|| stimulus.clone().filter(|_| stimulus_soft));
        let input = input.or_else(|| wire.then(|| "gpio:rtscope-wire/0".to_owned()));
        let output = l.dut_out.clone().or_else(|| soft.then(|| answer.clone()));
        let output = output.or_else(|| wire.then(|| "gpio:rtscope-wire/1".to_owned()));
        Some(DutSettings {
            input: if wave { None } else { Some(input.ok_or_else(|| missing("listen to"))?) },
            output: output.ok_or_else(|| missing("drive"))?,
            priority: l.dut_priority.unwrap_or(settings.priority),
            // Of another machine's CPUs nothing is known.
            cpu: l.dut_cpu.or(dut_cpu.filter(|_| !elsewhere)),
            inject: l.inject.unwrap_or_default(),
        })
    } else if given || (l.inject.is_some() && self_answer.is_none()) || l.dut_priority.is_some() || l.dut_cpu.is_some() {
        return Err(Failure::usage(
            "the DUT is another program: it has no line, priority, CPU or faults to choose here",
            "--dut own",
        ));
    } else {
        None
    };
    let cpus: Vec<u32> = instrument_cpu.into_iter().chain(dut.as_ref().and_then(|d| d.cpu).filter(|_| !elsewhere)).collect();
    Ok(Settings {
        threads: if dut.is_some() { 2 } else { 1 },
        migrate: settings.migrate || cpus.is_empty(),
        cpus: if settings.migrate { Vec::new() } else { cpus },
        lines: Some(LineSettings {
            stimulus,
            answer,
            interval_max: l.interval_max,
            seed: l.interval_seed.unwrap_or(1),
            timeout: l.timeout.unwrap_or(settings.interval),
            warmup: l.warmup.unwrap_or(WARMUP),
            null_wire,
            shortest: (a.test == MeasureTest::Sustained).then(|| l.shortest.unwrap_or(SHORTEST.min(settings.interval))),
            self_answer,
            dut,
        }),
        ..settings
    })
}
