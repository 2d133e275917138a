//! `rtscope kernel`: kernels built here.

use crate::args::kernel::{Build, Kernel, KernelCommand};
use crate::cmd::stop::stop_on_signals;
use crate::config::{self, Context};
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use rtscope_failure::Failure;
use rtscope_lab::build::{self, BuildOrder, BuildStep, Built, Set};
use rtscope_lab::kernels::{Arch, Kernels};
use std::fmt::Write as _;

/// Carries out a command of `kernel`.
pub(crate) fn run(context: &Context, a: &Kernel) -> Result<Code, Failure> {
    match &a.command {
        KernelCommand::Build(a) => build(context, a),
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
