//! Takes a run of the lab again and looks into the guest at chosen samples: the same run, so the same samples.

mod watched;

use self::watched::Watched;
use crate::lab;
use crate::session::step::SessionStep;
use rtscope_explain::executed::{Question, explain};
use rtscope_explain::explained::Explained;
use rtscope_explain::log::{self, Log};
use rtscope_failure::{Explain as _, Failure};
use rtscope_lab::inside::{self, Inside, Watch};
use rtscope_lab::vm::Guest;
use rtscope_load::StopHandle;
use rtscope_probe::protocol::{PROTOCOL, ProbePlan};
use rtscope_record::distribution::Worst;
use rtscope_record::{Distribution, Record, Test};
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
    /// Its grid point: ns after the thread's first one; of a test over lines ns since the start of the run.
    after: u64,
    /// By how much later it may be; of several the last one.
    within: u64,
    /// What the record says of it, ns: its latency, or how late a wave's edge was after the one before; `None` if it says nothing.
    value: Option<u64>,
    /// Of a wave when its edge came, ns since the start of the run.
    edge: Option<u64>,
}

impl Sample {
    /// One of the worst samples of `d`.
    pub fn worst(record: &Record, d: &Distribution, w: &Worst) -> Self {
        let first = d.parts().thread.as_ref().and_then(|t| t.first_at).unwrap_or(0);
        let semi_period = record.parts().settings.interval.0.max(1);
        let value = Some(w.value);
        match record.parts().test {
            Test::Timer => Self { after: w.at.saturating_sub(w.value).saturating_sub(first), within: 0, value, edge: None },
            Test::Response | Test::Sustained => Self { after: w.at.saturating_sub(w.value), within: 0, value, edge: None },
            // The grid point that the edge is of may lie as far before it as the wave was ever late.
            Test::Periodic => {
                let points = d.max().unwrap_or(0) / semi_period + 1;
                let after = (w.at + 1).saturating_sub(points.saturating_mul(semi_period));
                Self { after, within: w.at - after, value, edge: Some(w.at) }
            }
        }
    }

    /// In another run the sample at the same grid point, or of the same stimulus, as one of `record` that was `explained`.
    pub fn same(self, record: &Record, d: &Distribution, explained: &Explained) -> Result<Self, Failure> {
        let same = Self { value: None, edge: None, ..self };
        if record.parts().test == Test::Timer {
            return Ok(same);
        }
        // The runs began at other moments of their first grid point or stimulus.
        let half = record.parts().settings.interval.0 / 2;
        let after = Watched::of(record, d)?.after(explained.explanation.expiry);
        Ok(Self { after: after.saturating_sub(half), within: 2 * half - 1, ..same })
    }
}

/// Refuses a record whose run can't be looked into; else its kernel as the lab's targets name it, with its parameters.
pub fn kernel_of(record: &Record) -> Result<String, Failure> {
    watched::check(record)?;
    let lab = record.parts().lab.clone().unwrap_or_default();
    if !["/amd64", "/arm64"].iter().any(|arch| lab.kernel.ends_with(arch)) {
        return Err(Failure::usage(
            format!("the run {} is of {}: only guests of amd64 and arm64 can be looked into so far", record.id(), lab.kernel),
            "measure with --target lab:KERNEL/amd64 or lab:KERNEL/arm64",
        ));
    }
    Ok(std::iter::once(lab.kernel).chain(lab.parameters).collect::<Vec<_>>().join("+"))
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
    let watched = Watched::of(record, d)?;
    let inside = look(guest, cache, stop, on_step)?;
    let plugin = inside::plugin(cache, &mut |what| on_step(SessionStep::Preparing(what)))?;
    inside::check_qemu(guest, &plugin)?;
    let mut wanted: Vec<Sample> = samples.to_vec();
    wanted.sort_by_key(|w| w.after);
    let after: Vec<(u64, u64)> = wanted.iter().map(|w| (w.after, w.within)).collect();
    let watch =
        Watch { who: watched.who, end: watched.answer(), patient: watched.is_patient(record), from: watched.began, after: &after };
    // In memory: nothing is left wherever this ends.
    let mut log = File::from(memfd_create("rtscope-log", MemfdFlags::CLOEXEC).or_machine("a file in memory", "is memory free?")?);
    let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), log.as_raw_fd()));
    let looked_into = guest.with_plugin(inside.plugin(&plugin, &path, &watch)?);
    let plan = ProbePlan {
        protocol: PROTOCOL.into(),
        id: record.id().into(),
        test: record.parts().test,
        space: record.parts().space,
        load: record.parts().load.clone(),
        target: record.parts().target.clone(),
        settings: record.parts().settings.clone(),
        progress_ms: 0,
        picture: false,
        trace: None,
    };
    let repeated = lab::measure(&looked_into, &plan, stop, on_step)?;
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
    let (mut symbols, layout, unwinder) = (inside.symbols, &inside.layout, &inside.unwinder);
    // A few windows at once: all of them together may be larger than memory.
    let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(4);
    loop {
        let mut texts = Vec::new();
        while texts.len() < at_once {
            match log::next_window(&mut log).or_machine("the log of what ran", "is memory free?")? {
                Some(bytes) => texts.push(bytes),
                None => break,
            }
        }
        if texts.is_empty() {
            break;
        }
        let logs = side_by_side(texts, |bytes| log::parse(&bytes)).into_iter().collect::<Result<Vec<Log>, _>>()?;
        let mut windows = Vec::new();
        for log in logs {
            // They were logged when their module was loaded, before it ran; what ran before can't have been in them.
            symbols.add(log.functions);
            windows.extend(log.windows);
        }
        let samples = wanted.get(all.len()..).unwrap_or_default().iter().copied();
        let told = side_by_side(windows.into_iter().zip(samples).collect(), |(window, sample)| {
            let latency = match sample.edge {
                Some(edge) => Some(watched.late(window.expiry, edge)?),
                None => sample.value,
            };
            let subject = watched.subject(&symbols)?;
            let question = Question { subject, latency, instruction_ns, symbols: &symbols, layout, unwinder };
            let mut explanation = explain(&window, &question)?;
            explanation.jitter = sample.value.filter(|_| sample.edge.is_some());
            let at = watched.taken(window.expiry, sample.after, explanation.latency);
            Ok::<_, Failure>(Explained::new(record.id(), d.label(), at, explanation))
        });
        for explained in told {
            all.push(explained?);
        }
    }
    if all.len() != wanted.len() && wanted.iter().any(|w| w.value.is_none()) {
        return Err(Failure::usage(
            format!("the run {} has no sample at that grid point: its thread passed over it, or the run was over", record.id()),
            "explain another sample: --worst N",
        ));
    }
    if all.len() != wanted.len() {
        return Err(Failure::machine(
            format!("of {} samples that were to be seen {} were", wanted.len(), all.len()),
            "report this with the record",
        ));
    }
    let recorded = |e: &Explained| e.explanation.jitter.unwrap_or(e.explanation.latency);
    all.sort_by_key(|e| (std::cmp::Reverse(recorded(e)), e.at));
    Ok(all)
}

/// Works on each item in a thread of its own; the results in the items' order.
fn side_by_side<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.into_iter().map(|item| scope.spawn(move || work(item))).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Where things are in the guest's memory: asked of the guest itself, in a run of its own, once for each state that runs start from.
/// What a run loads itself, the plugin tells; where it can't, it is asked of a run that loads it.
fn look(guest: &Guest, cache: &Path, stop: &StopHandle, on_step: &mut dyn FnMut(SessionStep<'_>)) -> Result<Inside, Failure> {
    let file = cache.join("symbols").join(&guest.state()[..32]);
    let kept = rtscope_files::read_text(&file, rtscope_files::LARGE).ok();
    let kept = kept.and_then(|text| Inside::new(guest.arch(), guest.kernel_file(), &text).ok());
    let inside = match kept {
        Some(inside) => inside,
        None => ask(&guest.without_modules(), Some(&file), stop, on_step)?,
    };
    if inside.names_modules() || guest.options().modules.is_empty() { Ok(inside) } else { ask(guest, None, stop, on_step) }
}

/// Asks a guest where things are in its memory, and keeps in `file` what it says.
fn ask(guest: &Guest, file: Option<&Path>, stop: &StopHandle, on_step: &mut dyn FnMut(SessionStep<'_>)) -> Result<Inside, Failure> {
    let words = ["cat", "/proc/kallsyms"].map(str::to_owned);
    let said = lab::run(guest, &words, "none", Duration::from_secs(30), stop, on_step)?;
    if said.code != Some(0) {
        return Err(Failure::machine(
            format!("the guest does not list its kernel's symbols: {}", said.stderr.trim()),
            "take a kernel that was built with CONFIG_KALLSYMS_ALL=y, as Debian's for amd64 are, and for arm64 from 6.12 on",
        ));
    }
    let inside = Inside::new(guest.arch(), guest.kernel_file(), &said.stdout)?;
    if let Some((file, dir)) = file.and_then(|file| Some((file, file.parent()?))) {
        // Else the next run asks again.
        let _ = std::fs::create_dir_all(dir).and_then(|()| rtscope_files::write(file, said.stdout.as_ref(), 0o600));
    }
    Ok(inside)
}
