//! Takes a run of the lab again and looks into the guest at chosen samples: the same run, so the same samples.

use crate::lab;
use crate::session::step::SessionStep;
use rtscope_explain::executed::{Question, explain};
use rtscope_explain::explained::Explained;
use rtscope_explain::log;
use rtscope_failure::{Explain as _, Failure};
use rtscope_lab::inside::{self, Inside};
use rtscope_lab::vm::Guest;
use rtscope_load::StopHandle;
use rtscope_probe::protocol::{PROTOCOL, ProbePlan};
use rtscope_record::distribution::Worst;
use rtscope_record::{Clock, Distribution, Record, Space, Test};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{BufReader, Seek as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many samples can be explained in one run.
pub const MOST: usize = 64;

/// A sample to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Its grid point, ns after the thread's first one.
    pub after: u64,
    /// Its latency, ns; `None` if the record does not say it.
    pub latency: Option<u64>,
}

impl Sample {
    /// One of the worst samples of `d`.
    pub fn worst(d: &Distribution, w: &Worst) -> Self {
        let first = d.parts().thread.as_ref().and_then(|t| t.first_at).unwrap_or(0);
        Self { after: w.at.saturating_sub(w.value).saturating_sub(first), latency: Some(w.value) }
    }
}

/// Refuses a record whose run can't be looked into; else its kernel as the lab's targets name it, with its parameters.
pub fn kernel_of(record: &Record) -> Result<String, Failure> {
    let p = record.parts();
    let Some(lab) = p.lab.as_ref().filter(|_| p.clock == Clock::Virtual) else {
        return Err(Failure::usage(
            format!("the run {} can't be taken again to the last bit: it was not taken in the lab's virtual time", record.id()),
            "measure with --target lab:KERNEL, and explain that run",
        ));
    };
    if p.test != Test::Timer || p.space != Space::User {
        return Err(Failure::usage(
            "only the timer test in user space can be explained so far",
            "measure timer --target lab:KERNEL under the same load",
        ));
    }
    if !["/amd64", "/arm64"].iter().any(|arch| lab.kernel.ends_with(arch)) {
        return Err(Failure::usage(
            format!("the run {} is of {}: only guests of amd64 and arm64 can be looked into so far", record.id(), lab.kernel),
            "measure with --target lab:KERNEL/amd64 or lab:KERNEL/arm64",
        ));
    }
    Ok(std::iter::once(&lab.kernel).chain(&lab.parameters).cloned().collect::<Vec<_>>().join("+"))
}

/// Takes the run of `record` again in `guest` and explains `samples` of the thread that took `d`. What the lab keeps goes to `cache`.
pub fn again(
    guest: &Guest,
    record: &Record,
    d: &Distribution,
    samples: &[Sample],
    cache: &Path,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(SessionStep<'_>),
) -> Result<Vec<Explained>, Failure> {
    let thread = d.parts().thread.as_ref().filter(|t| t.tid > 0);
    let (Some(tid), Some(first)) = (thread.map(|t| t.tid), thread.and_then(|t| t.first_at)) else {
        return Err(Failure::usage(
            format!("the record {} does not say which thread took its samples, and from when on", record.id()),
            "measure again: records of this version do",
        ));
    };
    let inside = look(guest, cache, stop, on_step)?;
    let plugin = inside::plugin(cache, &mut |what| on_step(SessionStep::Preparing(what)))?;
    inside::check_qemu(guest, &plugin)?;
    let mut wanted: Vec<Sample> = samples.to_vec();
    wanted.sort_by_key(|w| w.after);
    let after: Vec<u64> = wanted.iter().map(|w| w.after).collect();
    // In memory: nothing is left wherever this ends.
    let mut log = File::from(memfd_create("rtscope-log", MemfdFlags::CLOEXEC).or_machine("a file in memory", "is memory free?")?);
    let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), log.as_raw_fd()));
    let watched = guest.with_plugin(inside.plugin(&plugin, &path, tid, &after));
    let plan = ProbePlan {
        protocol: PROTOCOL.into(),
        id: record.id().into(),
        test: record.parts().test,
        space: record.parts().space,
        load: record.parts().load.clone(),
        target: record.parts().target.clone(),
        settings: record.parts().settings.clone(),
        progress_ms: 0,
        trace: None,
    };
    let repeated = lab::measure(&watched, &plan, stop, on_step)?;
    if repeated.fingerprint() != record.fingerprint() {
        return Err(Failure::machine(
            format!(
                "the run is not the same again: its fingerprint is {}, that of {} is {}",
                repeated.fingerprint(),
                record.id(),
                record.fingerprint()
            ),
            "measure again with this version, and explain that run; `rtscope lab verify` shows whether runs repeat here",
        ));
    }
    let instruction_ns = guest.instruction_ns();
    let mut all = Vec::new();
    log.rewind().or_machine("the log of what ran", "report this")?;
    let mut log = BufReader::new(log);
    // Window by window: together they may be larger than memory.
    while let Some(bytes) = log::next_window(&mut log).or_machine("the log of what ran", "is memory free?")? {
        for (window, sample) in log::parse(&bytes)?.iter().zip(wanted.get(all.len()..).unwrap_or_default()) {
            let (symbols, layout, unwinder) = (&inside.symbols, &inside.layout, &inside.unwinder);
            let explanation = explain(window, &Question { latency: sample.latency, instruction_ns, symbols, layout, unwinder })?;
            let at = first.saturating_add(sample.after).saturating_add(explanation.latency);
            all.push(Explained::new(record.id(), d.label(), at, explanation));
        }
    }
    if all.len() != wanted.len() && wanted.iter().any(|w| w.latency.is_none()) {
        return Err(Failure::usage(
            format!("the run {} has no sample at that grid point: its thread passed over it, or the run was over", record.id()),
            "explain another sample: --worst N",
        ));
    }
    if all.len() != wanted.len() {
        return Err(Failure::machine(
            format!("of {} sleeps that were to be seen {} were", wanted.len(), all.len()),
            "report this with the record",
        ));
    }
    all.sort_by_key(|e| (std::cmp::Reverse(e.explanation.latency), e.at));
    Ok(all)
}

/// Where things are in the guest's memory: asked of the guest itself, in a run of its own, once for each state that runs start from.
fn look(guest: &Guest, cache: &Path, stop: &StopHandle, on_step: &mut dyn FnMut(SessionStep<'_>)) -> Result<Inside, Failure> {
    // A module that is loaded for a run has its symbols too.
    let kept = guest.options().modules.is_empty().then(|| cache.join("symbols").join(&guest.state()[..32]));
    if let Some(text) = kept.as_ref().and_then(|file| rtscope_files::read_text(file, rtscope_files::LARGE).ok()) {
        if let Ok(inside) = Inside::new(guest.arch(), guest.kernel_file(), &text) {
            return Ok(inside);
        }
    }
    let words = ["cat", "/proc/kallsyms"].map(str::to_owned);
    let said = lab::run(guest, &words, "none", Duration::from_secs(30), stop, on_step)?;
    if said.code != Some(0) {
        return Err(Failure::machine(
            format!("the guest does not list its kernel's symbols: {}", said.stderr.trim()),
            "take a kernel that was built with CONFIG_KALLSYMS_ALL=y, as Debian's for amd64 are, and for arm64 from 6.12 on",
        ));
    }
    let inside = Inside::new(guest.arch(), guest.kernel_file(), &said.stdout)?;
    if let Some(file) = kept {
        // Else the next run asks again.
        let _ =
            std::fs::create_dir_all(cache.join("symbols")).and_then(|()| rtscope_files::write(&file, said.stdout.as_ref(), 0o600));
    }
    Ok(inside)
}
