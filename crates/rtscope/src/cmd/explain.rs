//! `rtscope explain`: what the worst samples of a run of the lab were, and the traced sample of a machine's.

use super::explained::{keep, kept, kept_traces};
use super::meta::DIRECTORY;
use super::report::write;
use super::stop::stop_on_signals;
use super::style;
use crate::args::explain::Explain;
use crate::args::lab::guest_modules;
use crate::config::{Context, cache_root};
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use crate::select::Selection;
use rtscope_archive::KeptTrace;
use rtscope_explain::chart::folded;
use rtscope_explain::explained::Explained;
use rtscope_explain::groups::groups;
use rtscope_failure::{Explain as _, Failure};
use rtscope_lab::kernels::ToBoot;
use rtscope_lab::modules::{WantedModule, wanted};
use rtscope_lab::vm::{Guest, Guests, LabOptions};
use rtscope_load::StopHandle;
use rtscope_record::{Distribution, GuestModule, Record, Worst};
use rtscope_report::{perfetto, svg, table};
use rtscope_run::explain::{self, Sample};
use std::path::{Path, PathBuf};

/// Takes the run again and explains its worst samples.
pub(crate) fn run(context: &Context, a: &Explain) -> Result<Code, Failure> {
    let mut records = Selection::of(context, &a.selection)?.records()?;
    let other = if records.len() == 2 && a.selection.len() == 2 { records.pop() } else { None };
    let [record] = &records[..] else {
        return Err(Failure::usage(
            format!("{} runs are selected", records.len()),
            "name one, or two to have the same sample of both: `rtscope list` shows their ids",
        ));
    };
    if other.is_some() && a.top.is_some() {
        return Err(Failure::usage("--top is of one run, and two are named", "--worst N takes the N-th worst sample of the first"));
    }
    if record.parts().lab.is_none() && other.is_none() {
        if let Some(code) = traced(context, record, a)? {
            return Ok(code);
        }
    }
    let (d, samples) = chosen(record, a)?;
    let stop = stop_on_signals()?;
    let samples: Vec<Sample> = samples.iter().map(|w| Sample::worst(record, d, w)).collect();
    let all = || {
        let mut explained = take(context, record, d, &samples, &a.guest_module, &stop)?;
        if let Some(other) = &other {
            let there = same(record, d, other)?;
            let same = samples.iter().zip(&explained).map(|(s, e)| s.same(record, d, e)).collect::<Result<Vec<_>, _>>()?;
            explained.extend(take(context, other, there, &same, &a.guest_module, &stop)?);
        }
        Ok(explained)
    };
    let explained = match all() {
        Ok(explained) => explained,
        Err(_) if stop.is_stopped() => return Ok(Code::Interrupted),
        Err(e) => return Err(e),
    };
    let of = |e: &Explained| other.as_ref().filter(|other| other.id() == e.record).unwrap_or(record);
    if let Some(dir) = &a.files {
        explained.iter().try_for_each(|e| write_files(dir, of(e), e))?;
        kept_traces(context, record)?.iter().try_for_each(|t| write_trace(dir, record, t))?;
        if let (Some(other), [first, second]) = (&other, &explained[..]) {
            let picture = svg::pair([(record, first), (other, second)], svg::Use::File);
            write(&dir.join(format!("{}-{}.svg", record.id(), other.id())), picture.as_bytes())?;
        }
    }
    if a.json {
        output::json(&explained)?;
    } else if let (Some(other), [first, second]) = (&other, &explained[..]) {
        output::result(&table::explanations([(record, first), (other, second)], style()))?;
    } else {
        let mut text: Vec<String> = explained.iter().map(|e| table::explanation(record, e, style())).collect();
        if explained.len() > 1 {
            text.insert(0, table::explanation_groups(&groups(explained.iter().map(|e| &e.explanation))));
        }
        output::result(&text.join("\n"))?;
    }
    Ok(Code::Done)
}

/// Of a run of a machine, what the kernel's trace said when it was taken; `None` if it was not traced, so that nothing is known.
fn traced(context: &Context, record: &Record, a: &Explain) -> Result<Option<Code>, Failure> {
    let (explained, traces) = (kept(context, std::slice::from_ref(record))?, kept_traces(context, record)?);
    if explained.is_empty() && traces.is_empty() {
        return Ok(None);
    }
    if a.worst > 1 || a.top.is_some() {
        return Err(Failure::usage(
            format!(
                "the run {} was traced on a machine: only the sample at which its trace was stopped can be explained",
                record.id()
            ),
            "leave out --worst and --top",
        ));
    }
    if let Some(dir) = &a.files {
        explained.iter().try_for_each(|e| write_files(dir, record, e))?;
        traces.iter().try_for_each(|t| write_trace(dir, record, t))?;
    }
    if a.json {
        output::json(&explained)?;
    } else if explained.is_empty() {
        let what = "the kernel's trace of this run could not be read into an explanation; it is kept with the run";
        output::result(&format!("{what}: rtscope explain {} --files DIR writes it, for trace-cmd report\n", record.id()))?;
    } else {
        let text: Vec<String> = explained.iter().map(|e| table::explanation(record, e, style())).collect();
        output::result(&text.join("\n"))?;
    }
    Ok(Some(Code::Done))
}

/// Explains the worst sample of a run that had `modules` loaded; the answer in a sentence.
pub(crate) fn of_run(context: &Context, record: &Record, modules: &[String], stop: &StopHandle) -> Result<String, Failure> {
    let d = highest(record)?;
    let worst: Vec<Sample> = d.parts().worst.first().map(|w| Sample::worst(record, d, w)).into_iter().collect();
    let explained = take(context, record, d, &worst, modules, stop)?;
    Ok(explained.into_iter().next().map(|e| e.sentence).unwrap_or_default())
}

/// Takes the run of `record` again, which had `modules` loaded, explains `samples` of `d`, and keeps that.
fn take(
    context: &Context,
    record: &Record,
    d: &Distribution,
    samples: &[Sample],
    modules: &[String],
    stop: &StopHandle,
) -> Result<Vec<Explained>, Failure> {
    let kernel: ToBoot = explain::kernel_of(record)?.parse()?;
    let cache = cache_root()?;
    let p = record.parts();
    let wanted = wanted(p.test, p.space, &p.settings)?;
    let (guests, mut options) = (Guests::new(&cache), options(record, modules, &wanted)?);
    guests.add_modules(&kernel.kernel, &wanted, &mut options, &mut |what| context.say(what))?;
    let guest = guests.open(&kernel, options, &mut |what| context.say(what))?;
    same_machine(record, &guest)?;
    let progress = Progress::new("explain", 0, context.quiet);
    let outcome = explain::again(&guest, record, d, samples, &cache, stop, &mut |step| progress.step(&step));
    progress.clear();
    let explained = outcome?;
    keep(context, record, &explained)?;
    Ok(explained)
}

/// The distribution of `other` that has the grid points of `d`, one of `record`.
fn same<'a>(record: &Record, d: &Distribution, other: &'a Record) -> Result<&'a Distribution, Failure> {
    let grid = |r: &Record| {
        let (s, lines) = (&r.parts().settings, r.parts().settings.lines.as_ref());
        (r.parts().test, s.interval, lines.map(|l| (l.interval_max, l.seed)))
    };
    let same = other.distributions().iter().find(|o| o.label() == d.label());
    same.filter(|_| grid(record) == grid(other)).ok_or_else(|| {
        Failure::usage(
            format!("{} and {} have no grid point in common: their tests, intervals or threads differ", record.id(), other.id()),
            "take both with the same options",
        )
    })
}

/// The file of a sample of `distribution`, taken at `at`, in `dir`, which is made.
fn file_in(dir: &Path, record: &Record, distribution: &str, at: u64, end: &str) -> Result<PathBuf, Failure> {
    rtscope_files::output_dir(dir).or_machine(dir.display(), DIRECTORY)?;
    Ok(dir.join(format!("{}-{}-{at}.{end}", record.id(), distribution.replace('/', "_"))))
}

/// Writes the kernel's trace of a sample to `dir`.
pub(super) fn write_trace(dir: &Path, record: &Record, t: &KeptTrace) -> Result<(), Failure> {
    for (end, bytes) in [("trace.txt", &t.text), ("trace.dat", &t.dat)] {
        if !bytes.is_empty() {
            write(&file_in(dir, record, &t.distribution, t.at, end)?, bytes)?;
        }
    }
    Ok(())
}

/// Writes pictures and traces of a sample to `dir`.
pub(super) fn write_files(dir: &Path, record: &Record, e: &Explained) -> Result<(), Failure> {
    let file = |end: &str| file_in(dir, record, &e.distribution, e.at, end);
    let whose = table::explanation_whose(record, e);
    write(&file("svg")?, svg::flame(&e.explanation, &whose, svg::Use::File).as_bytes())?;
    write(&file("folded")?, folded(&e.explanation.stacks).as_bytes())?;
    write(&file("trace.json")?, perfetto::trace(&e.explanation).as_bytes())
}

/// The distribution with the worst sample of all; edges that came too early are not late.
fn highest(record: &Record) -> Result<&Distribution, Failure> {
    let worst = |d: &&Distribution| d.parts().worst.first().map(|w| w.value);
    record.distributions().iter().filter(|d| !d.is_early()).max_by_key(worst).filter(|d| !d.parts().worst.is_empty()).ok_or_else(
        || {
            Failure::usage(
                format!("the record {} has no worst samples", record.id()),
                "measure without --worst 0, and explain that run",
            )
        },
    )
}

/// The distribution with the worst samples that are asked for, and these.
fn chosen<'a>(record: &'a Record, a: &Explain) -> Result<(&'a Distribution, &'a [Worst]), Failure> {
    let d = highest(record)?;
    let all = &d.parts().worst;
    let range = match (a.worst, a.top) {
        (n, None) => n - 1..n,
        (_, Some(n)) => 0..n.min(all.len()),
    };
    all.get(range).map(|samples| (d, samples)).ok_or_else(|| {
        Failure::usage(
            format!("--worst {}: the record {} has the {} worst samples of {}", a.worst, record.id(), all.len(), d.label()),
            "a smaller number; `measure --worst N` keeps more",
        )
    })
}

/// What must be chosen of the guest for the record's run, which had `modules` loaded beside those that its test needs.
fn options(record: &Record, modules: &[String], wanted: &[WantedModule]) -> Result<LabOptions, Failure> {
    let lab = record.parts().lab.as_ref();
    let usual = LabOptions::default();
    let number = |option: &str| {
        let words = lab.map_or(&[][..], |l| &l.machine);
        words.windows(2).find(|w| w[0] == option).and_then(|w| w[1].parse::<u32>().ok())
    };
    let cpus = number("-smp").unwrap_or(usual.cpus);
    if cpus > 1 {
        return Err(Failure::usage(
            format!(
                "the guest of the run {} had {cpus} CPUs: only one with a single CPU does the same while it is looked into",
                record.id()
            ),
            "measure without --guest-cpus, and explain that run",
        ));
    }
    let model = lab.map_or(Ok(usual.model), |l| l.model.to_string().parse());
    let model = model.map_err(|e| Failure::usage(format!("the record {}: {e}", record.id()), "update rtscope"))?;
    let brought = |m: &&GuestModule| wanted.iter().all(|w| m.name.strip_suffix(".ko") != Some(w.name));
    if let Some(module) = lab.and_then(|l| l.modules.iter().find(brought)).filter(|_| modules.is_empty()) {
        return Err(Failure::usage(
            format!("the run {} had the module {} loaded", record.id(), module.name),
            "name its file, with the parameters that it had: --guest-module 'FILE.ko NAME=VALUE'",
        ));
    }
    Ok(LabOptions {
        model,
        cpus,
        memory_mib: number("-m").unwrap_or(usual.memory_mib),
        seed: lab.map_or(usual.seed, |l| l.seed),
        modules: guest_modules(modules)?,
        ..usual
    })
}

/// Refuses a record of another machine than the lab makes today.
fn same_machine(record: &Record, guest: &Guest) -> Result<(), Failure> {
    let Some(then) = record.parts().lab.as_ref().filter(|then| then.state != guest.state()) else { return Ok(()) };
    let changed = guest.changed_since(then);
    let why = if changed.is_empty() { "kernel, QEMU or rtscope have changed".into() } else { changed.join("; ") };
    Err(Failure::usage(
        format!("the run {} started from another machine state than runs start from today: {why}", record.id()),
        "measure again here with the same options, and explain that run; or explain this one where it was taken",
    ))
}
