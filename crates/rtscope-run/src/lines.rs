//! Makes settings from the options of a test over lines, for the command line and campaigns alike.

use crate::ssh::Address;
use crate::target::is_lab;
use rtscope_failure::{Failure, Fault, Problem};
use rtscope_probe::line_tests::checked::LineTest;
use rtscope_probe::lines::LineSpec;
use rtscope_probe::protocol::DutPlan;
use rtscope_record::{DutSettings, Handler, LineOptions, LineSettings, Settings, Space, Test, Who};
use std::ops::Deref;

/// Lines of the instrument in the kernel (stimulus, answer), and the DUT's ends of them.
const WIRES: [&str; 4] = ["wire:stimulus", "wire:answer", "gpio:rtscope-wire/0", "gpio:rtscope-wire/1"];

/// Why the options give no settings. Always the request's fault (exit code 2).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct LineOptionsError {
    /// What is wrong.
    pub message: String,
    /// What to ask for instead.
    pub remedy: String,
}

impl Problem for LineOptionsError {
    fn remedy(&self) -> String {
        self.remedy.clone()
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

fn wrong<T>(message: impl Into<String>, remedy: impl Into<String>) -> Result<T, LineOptionsError> {
    Err(LineOptionsError { message: message.into(), remedy: remedy.into() })
}

/// The facts of a run that its lines depend on.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// What is measured.
    pub test: Test,
    /// Where the DUT's task runs.
    pub space: Space,
    /// The target is a virtual machine of the lab.
    pub in_lab: bool,
    /// The user brings a kernel module that answers.
    pub brings_dut: bool,
    /// The user named CPUs.
    pub cpus_named: bool,
    /// All other settings, as for a timer test with one thread on each of its CPUs.
    pub settings: &'a Settings,
}

/// The lines of a run, and their properties.
struct Ends {
    stimulus: Option<String>,
    answer: String,
    /// Whether stimulus and answer are software lines. Without a stimulus the first is `false`.
    soft: (bool, bool),
    wire: bool,
    /// The instrument has an internal null wire.
    inside: bool,
}

/// The settings of a run. For `timer` these are `about.settings`, with the handler if it runs in the kernel. Refuses what the
/// probe would refuse.
pub fn settings(options: &LineOptions, about: &About<'_>) -> Result<Settings, LineOptionsError> {
    let settings = Chosen(options).settings(about)?;
    if settings.lines.is_some() {
        LineTest::of(about.test, &settings).map_err(|e| LineOptionsError { message: e.message, remedy: e.remedy })?;
    }
    Ok(settings)
}

/// Address of the DUT's machine for a run on `target`, if it is another machine.
pub fn dut_address(options: &LineOptions, target: &str) -> Result<Option<Address>, Failure> {
    let Some(Who::Elsewhere(text)) = &options.dut else { return Ok(None) };
    if is_lab(target) {
        let message = format!("{text} has no wire into a virtual machine");
        return Err(Failure::usage(message, "measure with --target local, or let the guest have its own DUT"));
    }
    Ok(Some(text.parse::<Address>()?))
}

/// Takes a DUT on another machine out of the settings of a run of `test`, as the probe does not run it. The load of its plan is set for
/// each run.
pub fn take_dut(options: &LineOptions, test: Test, settings: &mut Settings) -> Option<DutPlan> {
    let lines = settings.lines.as_mut().filter(|_| Chosen(options).is_elsewhere())?;
    let dut = lines.dut.take()?;
    settings.threads = 1;
    Some(DutPlan { settings: dut, wave: (test == Test::Periodic).then_some(settings.interval.0), load: "none".into() })
}

/// The options that were chosen.
struct Chosen<'a>(&'a LineOptions);

impl Deref for Chosen<'_> {
    type Target = LineOptions;
    fn deref(&self) -> &LineOptions {
        self.0
    }
}

impl Chosen<'_> {
    fn settings(&self, about: &About<'_>) -> Result<Settings, LineOptionsError> {
        let handler = self.handler(about)?;
        let settings = Settings { handler, ..about.settings.clone() };
        if about.test == Test::Timer {
            if settings.migrate && handler.is_some() {
                return wrong("a timer in the kernel is pinned to its CPU", "leave --migrate out");
            }
            return if self.names_no_line() {
                Ok(settings)
            } else {
                wrong("`timer` has no lines", "measure response, periodic or sustained, or leave their options out")
            };
        }
        let ends = self.ends(about)?;
        let null_wire = match self.calibrate.as_deref() {
            Some("") if about.test == Test::Periodic => {
                return wrong("`periodic` has no stimulus to calibrate with", "leave --calibrate out");
            }
            Some("") if ends.soft.0 || ends.inside => ends.stimulus.clone(),
            Some("") => {
                let remedy = "wire another line straight to the stimulus, and name it: --calibrate=LINE";
                return wrong("only a software line can be its own null wire", remedy);
            }
            line => line.map(str::to_owned),
        };
        let (instrument_cpu, dut_cpu) = match settings.cpus.as_slice() {
            // If the user names no CPU, instrument and DUT get two different CPUs, if there are two.
            [first, .., last] if !about.cpus_named => (Some(*last), Some(*first)),
            [_] if !about.cpus_named => (None, None),
            cpus => (cpus.first().copied(), cpus.get(1).copied()),
        };
        let self_answer = (self.dut == Some(Who::Wire)).then(|| self.inject.unwrap_or_default());
        let dut = if self.is_own(about, &ends) {
            Some(self.dut(about, &ends, dut_cpu)?)
        } else if self.dut_in.is_some()
            || self.dut_out.is_some()
            || (self.inject.is_some() && self_answer.is_none())
            || self.dut_priority.is_some()
            || self.dut_cpu.is_some()
        {
            let message = "the DUT is another program: it has no line, priority, CPU or faults to choose here";
            return wrong(message, "--dut own");
        } else {
            None
        };
        let cpus: Vec<u32> =
            instrument_cpu.into_iter().chain(dut.as_ref().and_then(|d| d.cpu).filter(|_| !self.is_elsewhere())).collect();
        Ok(Settings {
            threads: if dut.is_some() && about.space == Space::User { 2 } else { 1 },
            migrate: settings.migrate || cpus.is_empty(),
            cpus: if settings.migrate { Vec::new() } else { cpus },
            lines: Some(LineSettings {
                stimulus: ends.stimulus,
                null_wire,
                self_answer,
                dut,
                ..LineOptions::settings(self, about.test, settings.interval, ends.answer)
            }),
            ..settings
        })
    }

    /// Handler of a task in kernel space; `None` in user space.
    fn handler(&self, about: &About<'_>) -> Result<Option<Handler>, LineOptionsError> {
        if about.space == Space::User {
            return if self.handler.is_none() {
                Ok(None)
            } else {
                wrong("a task in user space has no handler to choose", "--space kernel, or leave --handler out")
            };
        }
        let handler = self.handler.unwrap_or_default();
        let (fitting, remedy): (&[_], _) = match about.test {
            Test::Response | Test::Sustained => (&[Handler::Hard, Handler::Threaded], "--handler hard or --handler threaded"),
            Test::Periodic => (&[Handler::Hard, Handler::Soft], "--handler hard or --handler soft"),
            Test::Timer => {
                (&[Handler::Hard, Handler::Soft, Handler::Fiq], "--handler hard, --handler soft or, on 32-bit Arm, --handler fiq")
            }
        };
        if !fitting.contains(&handler) {
            return wrong(format!("`{}` in kernel space has no {handler} handler", about.test), remedy);
        }
        Ok(Some(handler))
    }

    fn ends(&self, about: &About<'_>) -> Result<Ends, LineOptionsError> {
        let parse =
            |name: &String| name.parse::<LineSpec>().map_err(|e| LineOptionsError { message: e.to_string(), remedy: e.remedy() });
        let wave = about.test == Test::Periodic;
        // In the lab the kernel module is the instrument, unless lines are named.
        let by_module = self.stimulus.is_none() && self.answer.is_none() && about.in_lab;
        let (stimulus, answer) = if by_module {
            ((!wave).then(|| WIRES[0].to_owned()), Some(WIRES[1].to_owned()))
        } else {
            (self.stimulus.clone(), self.answer.clone())
        };
        let Some(answer) = answer else {
            return wrong("no line to watch is named", "--answer LINE, such as --answer soft:b");
        };
        let spec = parse(&answer)?;
        // The FPGA instrument has a stimulus of its own, which need not be named.
        let stimulus = stimulus.or_else(|| (!wave).then_some(&spec)?.fpga_port().map(|port| format!("fpga:{port}:stimulus")));
        let stimulus_soft = stimulus.as_ref().map(parse).transpose()?.is_some_and(|s| s.is_soft());
        let (soft, wire, inside) = ((stimulus_soft, spec.is_soft()), spec.is_wire(), spec.is_autonomous());
        Ok(Ends { stimulus, answer, soft, wire, inside })
    }

    /// Whether the DUT is on another machine.
    fn is_elsewhere(&self) -> bool {
        matches!(self.dut, Some(Who::Elsewhere(_)))
    }

    /// Whether rtscope provides the DUT.
    fn is_own(&self, about: &About<'_>, ends: &Ends) -> bool {
        let kernel = about.space == Space::Kernel;
        let given = self.dut_in.is_some() || self.dut_out.is_some();
        let soft = ends.soft.1 && (about.test == Test::Periodic || ends.soft.0);
        match &self.dut {
            Some(who) => matches!(who, Who::Own | Who::Elsewhere(_)),
            // In the kernel too: a request for that gets the error that it is not possible.
            None => given || soft || (ends.wire && !(kernel && about.brings_dut)),
        }
    }

    /// Settings of the own DUT: a thread of the probe, or a kernel module.
    fn dut(&self, about: &About<'_>, ends: &Ends, cpu: Option<u32>) -> Result<DutSettings, LineOptionsError> {
        let wave = about.test == Test::Periodic;
        let kernel = about.space == Space::Kernel;
        let elsewhere = self.is_elsewhere();
        if kernel && elsewhere {
            let remedy = "run `rtscope dut --space kernel` there, and measure with --dut none";
            return wrong("a DUT that is started over ssh is in user space", remedy);
        }
        let missing = |what: &str| LineOptionsError {
            message: format!("the own DUT has no line to {what}"),
            remedy: "name the lines at its ends of the wires: --dut-in LINE --dut-out LINE".into(),
        };
        let input = self.dut_in.clone().or_else(|| ends.stimulus.clone().filter(|_| ends.soft.0));
        let input = input.or_else(|| ends.wire.then(|| WIRES[2].to_owned()));
        let output = self.dut_out.clone().or_else(|| ends.soft.1.then(|| ends.answer.clone()));
        let output = output.or_else(|| ends.wire.then(|| WIRES[3].to_owned()));
        let dut = DutSettings {
            input: if wave { None } else { Some(input.ok_or_else(|| missing("listen to"))?) },
            output: output.ok_or_else(|| missing("drive"))?,
            priority: if kernel { 0 } else { self.dut_priority.unwrap_or(about.settings.priority) },
            // The CPUs of another machine are unknown here.
            cpu: if kernel || elsewhere { self.dut_cpu } else { self.dut_cpu.or(cpu) },
            inject: self.inject.unwrap_or_default(),
        };
        if kernel {
            if self.dut_priority.is_some() {
                let remedy = "its interrupt decides; --handler threaded runs at FIFO 50";
                return wrong("a DUT in the kernel has no priority to choose", remedy);
            }
            // A DUT that no module can be is refused before anything is built or loaded.
            rtscope_lab::modules::dut(about.test, about.settings.interval, self.handler.unwrap_or_default(), &dut)
                .map_err(|e| LineOptionsError { message: e.to_string(), remedy: e.remedy() })?;
        }
        Ok(dut)
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
