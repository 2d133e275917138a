//! `rtscope explain`: what the worst samples of a run of the lab were.

use super::measure::stop_on_signals;
use super::style;
use crate::args::explain::Explain;
use crate::args::lab::guest_modules;
use crate::config::{Context, cache_root};
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use crate::select::Selection;
use rtscope_explain::explanation::Explanation;
use rtscope_failure::Failure;
use rtscope_lab::kernels::KernelName;
use rtscope_lab::vm::{Guests, LabOptions};
use rtscope_record::{Distribution, Record, Worst};
use rtscope_run::explain;
use serde::Serialize;

/// An explained sample, as JSON.
#[derive(Serialize)]
struct Explained<'a> {
    record: &'a str,
    distribution: &'a str,
    at: u64,
    sentence: String,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

/// Takes the run again and explains its worst samples.
pub(crate) fn run(context: &Context, a: &Explain) -> Result<Code, Failure> {
    let mut records = Vec::new();
    Selection::of(context, &a.selection)?.each(Clone::clone, |record| {
        records.push(record);
        Ok(())
    })?;
    let [record] = &records[..] else {
        return Err(Failure::usage(format!("{} runs are selected", records.len()), "name one: `rtscope list` shows their ids"));
    };
    let kernel: KernelName = explain::kernel_of(record)?.parse()?;
    let (d, samples) = chosen(record, a)?;
    let stop = stop_on_signals()?;
    let cache = cache_root()?;
    let guest = Guests::new(&cache).open(&kernel, options(record, a)?, &mut |what| context.say(what))?;
    same_machine(record, guest.state())?;
    let progress = Progress::new("explain", 0, context.quiet);
    let outcome = explain::again(&guest, record, d, samples, &cache, &stop, &mut |step| progress.step(&step));
    progress.clear();
    let explained = match outcome {
        Ok(explained) => explained,
        Err(_) if stop.is_stopped() => return Ok(Code::Interrupted),
        Err(e) => return Err(e),
    };
    if a.json {
        let all: Vec<Explained<'_>> = explained
            .iter()
            .map(|(w, e)| Explained {
                record: record.id(),
                distribution: d.label(),
                at: w.at,
                sentence: e.sentence(),
                explanation: e,
            })
            .collect();
        output::json(&all)?;
    } else {
        let text: Vec<String> =
            explained.iter().map(|(w, e)| rtscope_report::table::explanation(record, d, w, e, style())).collect();
        output::result(&text.join("\n"))?;
    }
    Ok(Code::Done)
}

/// The distribution with the worst samples that are asked for, and these.
fn chosen<'a>(record: &'a Record, a: &Explain) -> Result<(&'a Distribution, &'a [Worst]), Failure> {
    let worst = |d: &&Distribution| d.parts().worst.first().map(|w| w.value);
    let found = record.distributions().iter().max_by_key(worst).filter(|d| !d.parts().worst.is_empty());
    let Some(d) = found else {
        return Err(Failure::usage(
            format!("the record {} has no worst samples", record.id()),
            "measure without --worst 0, and explain that run",
        ));
    };
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

/// What must be chosen of the guest for the record's run.
fn options(record: &Record, a: &Explain) -> Result<LabOptions, Failure> {
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
    if let Some(module) = lab.and_then(|l| l.modules.first()).filter(|_| a.guest_module.is_empty()) {
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
        modules: guest_modules(&a.guest_module)?,
        ..usual
    })
}

/// Refuses a record of another machine than the lab makes today.
fn same_machine(record: &Record, state: &str) -> Result<(), Failure> {
    let then = record.parts().lab.as_ref().map(|l| l.state.as_str()).unwrap_or_default();
    if then == state {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "the run {} started from another machine state than runs start from today: kernel, QEMU or rtscope have changed",
            record.id()
        ),
        "measure again with the same options, and explain that run; `rtscope show` prints what it was taken with",
    ))
}
