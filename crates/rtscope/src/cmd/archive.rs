//! Commands on the archive: list, show, import, export, remove, verify.

use super::style;
use crate::args::{Export, Import, List, Remove, Show};
use crate::cmd::measure;
use crate::config::Context;
use crate::error::{Code, Failure};
use crate::{output, select};
use rtscope_analysis::{clock_and_machine, is_virtual};
use rtscope_archive::capture::Kind;
use rtscope_archive::formats::{self, Format, ImportOptions};
use rtscope_record::{Clock, Record, Space};
use rtscope_report::table;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

/// The runs, newest first.
pub(crate) fn list(context: &Context, a: &List) -> Result<Code, Failure> {
    let mut filter = select::filter(&a.selection.join(","))?;
    filter.limit = a.limit.or(filter.limit);
    let runs = context.open()?.list(&filter)?;
    if a.json {
        output::json(&runs)?;
    } else {
        let entries: Vec<table::Entry> = runs.iter().map(entry).collect();
        output::result(&table::list(&entries, style()))?;
    }
    Ok(Code::Done)
}

fn entry(r: &rtscope_archive::RunSummary) -> table::Entry {
    // A clock that is not known counts as virtual, a verdict as the worst: the archive fails closed too.
    let clock = r.clock.parse().unwrap_or(Clock::Virtual);
    table::Entry {
        id: r.id.clone(),
        started: r.started.clone(),
        test: r.test.clone(),
        load: r.load.clone(),
        target: r.target.clone(),
        kernel: r.kernel.clone(),
        preemption: r.preemption.clone(),
        clock: clock_and_machine(clock, r.virtualization.as_deref()),
        virtual_machine: is_virtual(clock, r.virtualization.as_deref()),
        verdict: serde_json::from_value(r.verdict.clone().into()).unwrap_or(rtscope_record::Verdict::Invalid),
        count: r.count,
        missed: r.missed,
        mean: r.mean,
        p99_9: r.p99_9,
        max: r.max,
    }
}

/// Runs in full.
pub(crate) fn show(context: &Context, a: &Show) -> Result<Code, Failure> {
    let assertions = measure::parse_assertions(&a.assertions)?;
    let records = select::records(context, &a.selection)?;
    for r in &records {
        if a.json { output::json(r)? } else { output::result(&table::detail(r, style())?)? }
    }
    measure::judge(&records, &assertions, false, a.json)
}

/// Reads foreign files into the archive: all of a file, or nothing of it.
pub(crate) fn import(context: &Context, a: &Import) -> Result<Code, Failure> {
    let captures = Kind::ALL.map(Kind::as_str);
    let format = a.format.as_deref().filter(|f| !captures.contains(f)).map(str::parse::<Format>).transpose();
    let format = format.map_err(|e| Failure::usage(format!("{e}; of captures: {}", captures.join(", ")), ""))?;
    let mut archive = context.open()?;
    for file in &a.files {
        let name = file.display().to_string();
        let (bytes, time) = read(file)?;
        let mut options = ImportOptions::new(&*name, time);
        options.format = format;
        options.load.clone_from(&a.load);
        options.space = a.space.as_deref().map(str::parse::<Space>).transpose().map_err(|e| Failure::usage(e, ""))?;
        options.nanoseconds = a.nsecs.then_some(true);
        // What another reader knows is no capture.
        let known = format.is_some() || a.format.is_none() && formats::detect(&bytes).is_some();
        let capture = if known { None } else { super::capture::kind(a.format.as_deref(), &bytes, &a.capture) };
        let records = match capture {
            Some(kind) => {
                let file = super::capture::File { name: &name, bytes: &bytes, time, load: a.load.as_deref(), space: options.space };
                vec![super::capture::import(&file, kind, &a.capture)?]
            }
            None => formats::import(&bytes, &options)
                .map_err(|e| Failure::failed(format!("{name}: {e}; nothing of this file was imported"), ""))?,
        };
        archive.insert_many(&records)?;
        for r in &records {
            if a.json {
                output::json(r)?;
            } else {
                output::result(&format!("{}\n", r.id()))?;
            }
            for w in &r.parts().warnings {
                context.say(&format!("{}: {}: {}", r.id(), w.code, w.message));
            }
        }
    }
    Ok(Code::Done)
}

fn read(file: &Path) -> Result<(Vec<u8>, SystemTime), Failure> {
    let failed =
        |e: std::io::Error| Failure::failed(format!("{}: {e}", file.display()), "name a readable file, or `-` for standard input");
    if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        return Ok((bytes, SystemTime::now()));
    }
    let bytes = std::fs::read(file).map_err(failed)?;
    let time = std::fs::metadata(file).and_then(|m| m.modified()).unwrap_or_else(|_| SystemTime::now());
    Ok((bytes, time))
}

/// Writes runs in a foreign format.
pub(crate) fn export(context: &Context, a: &Export) -> Result<Code, Failure> {
    let format: Format = a.format.parse().map_err(|e: String| Failure::usage(e, ""))?;
    let records: Vec<Record> = select::records(context, &a.selection)?;
    let mut out = Vec::new();
    for r in &records {
        let bytes =
            formats::export(r, format).map_err(|e| Failure::failed(format!("{}: {e}", r.id()), "choose another --format"))?;
        out.extend(bytes);
    }
    match &a.output {
        Some(path) => super::report::write(path, &out)?,
        None => output::bytes(&out)?,
    }
    Ok(Code::Done)
}

/// Removes runs.
pub(crate) fn remove(context: &Context, a: &Remove) -> Result<Code, Failure> {
    let mut archive = context.open()?;
    for id in &a.ids {
        let removed = archive.remove(id)?;
        output::result(&format!("{removed}\n"))?;
    }
    Ok(Code::Done)
}

/// Checks everything.
pub(crate) fn verify(context: &Context) -> Result<Code, Failure> {
    let n = context.open()?.check()?;
    output::result(&format!("{}: sound, {n} runs, all counts add up\n", context.archive.display()))?;
    Ok(Code::Done)
}
