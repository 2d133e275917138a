//! `rtscope lab run`: any program in a guest, in virtual time.

use super::guest::open;
use crate::args::lab::Run;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use rtscope_failure::Failure;
use rtscope_lab::vm::LabOptions;
use rtscope_load::Load;
use rtscope_record::Effect;
use rtscope_run::lab;
use std::time::Duration;

/// Runs the program and prints its output.
pub(super) fn run(context: &Context, a: &Run) -> Result<Code, Failure> {
    let load = Load::parse(&a.load)?;
    let files = a.guest_file.iter().map(|text| match text.rsplit_once(':') {
        Some((here, there)) if !here.is_empty() && there.starts_with('/') => Ok((here.into(), there.into())),
        _ => Err(Failure::usage(format!("`{text}` is not FILE:PATH"), "--guest-file ./tool:/root/tool")),
    });
    let options = LabOptions { files: files.collect::<Result<_, _>>()?, ..a.guest.options()? };
    let guest = open(context, &a.kernel, options)?;
    let stop = crate::cmd::stop::stop_on_signals()?;
    let progress = Progress::new(&a.command[0], 0, context.quiet);
    let limit = Duration::from_nanos(a.limit.0);
    let outcome = lab::run(&guest, &a.command, load.name(), limit, &stop, &mut |step| progress.step(&step));
    progress.clear();
    let ran = match outcome {
        Ok(ran) => ran,
        Err(rtscope_lab::vm::VmError::Interrupted) => return Ok(Code::Interrupted),
        Err(e) => return Err(e.into()),
    };
    if a.json {
        output::json(&ran)?;
    } else {
        output::document(ran.stdout.as_bytes())?;
        if !ran.stderr.is_empty() {
            output::note(ran.stderr.trim_end());
        }
    }
    for w in ran.warnings.iter().filter(|w| w.effect != Effect::Note) {
        output::note(&format!("rtscope: warning: {}: {}", w.code, w.message));
    }
    match (ran.code, ran.signal) {
        (Some(0), _) if ran.warnings.iter().any(|w| w.effect == Effect::Invalid) => Ok(Code::Verdict),
        (Some(0), _) => Ok(Code::Done),
        (code, signal) => {
            let how = code.map_or_else(|| format!("signal {}", signal.unwrap_or(0)), |c| format!("exit status {c}"));
            output::note(&format!("rtscope: {} ended with {how}", a.command[0]));
            Ok(Code::Failed)
        }
    }
}
