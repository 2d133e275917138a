//! `rtscope kernel`: kernels built here, and put on boards.

use super::board::address;
use crate::args::kernel::{Build, Install, Kernel, KernelCommand, Remove, To};
use crate::cmd::stop::stop_on_signals;
use crate::config::{self, Context};
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use rtscope_failure::Failure;
use rtscope_lab::build::{self, BuildOrder, BuildStep, Built, Set};
use rtscope_lab::kernels::{Arch, Kernels};
use rtscope_load::StopHandle;
use rtscope_run::ssh::{Removal, Running, Ssh};
use rtscope_run::target::TargetError;
use std::fmt::Write as _;

/// Carries out a command of `kernel`.
pub(crate) fn run(context: &Context, a: &Kernel) -> Result<Code, Failure> {
    match &a.command {
        KernelCommand::Build(a) => build(context, a),
        KernelCommand::Install(a) => install(context, a),
        KernelCommand::Try(a) => told(context, &a.to, |there, stop, say| {
            let now = there.try_kernel(a.wait.into(), stop, say)?;
            Ok(tried(&now, &a.to.to))
        }),
        KernelCommand::Keep(to) => told(context, to, |there, stop, _| {
            let release = there.keep_kernel(stop)?;
            Ok(format!("{release} is the kernel of every boot on {} now; away with it: rtscope kernel remove --to {0}\n", to.to))
        }),
        KernelCommand::Remove(a) => remove(context, a),
    }
}

fn build(context: &Context, a: &Build) -> Result<Code, Failure> {
    let kernels = Kernels::new(config::cache_root()?);
    let jobs = a.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get), usize::from);
    let order = BuildOrder {
        source: a.source.parse()?,
        arch: a.arch.unwrap_or_else(Arch::host),
        name: a.name.clone(),
        vary: a.vary.clone(),
        profiles: a.profile.clone(),
        base: a.base.clone(),
        jobs,
        deb: a.deb.clone(),
        update: a.update,
    };
    let stop = stop_on_signals()?;
    let progress = Progress::new("kernel", 0, context.quiet);
    let told = build::build(&kernels, &order, &stop, &mut |step| match step {
        BuildStep::Says(text) => progress.suspend(|| context.say(&format!("rtscope: {text}"))),
        BuildStep::Compiling { kernel, files: 0 } => progress.suspend(|| context.say(&format!("rtscope: compiling {kernel}"))),
        BuildStep::Compiling { kernel, files } => progress.say(format!("{kernel}: {files} files compiled")),
    });
    progress.clear();
    let set = told?;
    if a.json {
        output::json(&set)?;
    } else {
        output::result(&text(&set))?;
    }
    Ok(Code::Done)
}

fn install(context: &Context, a: &Install) -> Result<Code, Failure> {
    let to = &a.board.to.to;
    told(context, &a.board.to, |there, stop, say| {
        let (release, old) = there.install_kernel(&a.package, stop, say)?;
        if a.reboot {
            let now = there.try_kernel(a.board.wait.into(), stop, say)?;
            return Ok(tried(&now, to));
        }
        Ok(format!(
            "{release} is installed on {to}. One boot will be its own, the one after that is {}'s again.\nNext: rtscope kernel try --to {to}\n",
            old.release
        ))
    })
}

fn remove(context: &Context, a: &Remove) -> Result<Code, Failure> {
    let to = &a.board.to.to;
    told(context, &a.board.to, |there, stop, say| {
        let mut removal = there.remove_kernel(stop)?;
        if let (Removal::StillRuns { old, .. }, true) = (&removal, a.reboot) {
            say(format!("back to {old}"));
            there.reboot(a.board.wait.into(), stop, say)?;
            removal = there.remove_kernel(stop)?;
        }
        match removal {
            Removal::Removed(release) => Ok(format!("{release} is gone from {to}, and its boot loader is as it was\n")),
            Removal::StillRuns { release, old } => Err(TargetError::Probe {
                message: format!("{to} runs {release}, so that it can't be removed; from its next boot on it runs {old}"),
                remedy: format!("rtscope kernel remove --to {to} --reboot"),
            }),
        }
    })
}

/// What to do next with a kernel that boots.
fn tried(now: &Running, to: &str) -> String {
    format!(
        "{to} runs {}: {}\nThe boot after this one is the old kernel's again. Next:\n  rtscope board add {to}\n  rtscope kernel keep --to {to}\n  \
         or rtscope kernel remove --to {to} --reboot\n",
        now.release, now.version
    )
}

/// Does something on a board, and prints what came of it.
fn told(
    context: &Context,
    to: &To,
    work: impl FnOnce(&Ssh, &StopHandle, &mut dyn FnMut(String)) -> Result<String, TargetError>,
) -> Result<Code, Failure> {
    let there = Ssh::new(address(&to.to)?, config::ssh_options()?);
    let stop = stop_on_signals()?;
    match work(&there, &stop, &mut |text| context.say(&format!("rtscope: {text}"))) {
        Ok(text) => output::result(&text)?,
        Err(TargetError::Interrupted) => return Ok(Code::Interrupted),
        Err(e) => return Err(Failure::of(&e)),
    }
    Ok(Code::Done)
}

/// What was built, and in what it differs.
fn text(set: &Set) -> String {
    let mut text = format!("built from {}, sha256 {}\n", set.source, set.source_sha256);
    for line in set.compiler.lines() {
        let _ = writeln!(text, "  with {line}");
    }
    for Built { kernel, seconds, packages } in &set.kernels {
        let took = seconds.map_or("built before".into(), |s| format!("in {} min {:02} s", s / 60, s % 60));
        let _ = writeln!(text, "{} {} {took}, sha256 {}", kernel.name, kernel.release, kernel.vmlinuz_sha256);
        for package in packages {
            let _ = writeln!(text, "  {}", package.display());
        }
    }
    for difference in &set.differences {
        let _ = write!(text, "\n{difference}");
    }
    text
}
