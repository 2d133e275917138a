//! Commands on the archive: list, show, import, export, remove, verify.

use super::style;
use crate::args::{Export, Import, List, Remove, Show};
use crate::cmd::input::{Opened, nothing_of};
use crate::cmd::measure;
use crate::config::Context;
use crate::error::Code;
use crate::keys::Keys;
use crate::select::{self, Selection};
use crate::{origin, output};
use rtscope_analysis::{clock_and_machine, is_virtual};
use rtscope_archive::ArchiveError;
use rtscope_archive::capture::CaptureKind;
use rtscope_archive::formats::{self, Format, ImportOptions};
use rtscope_failure::{Explain, Failure, did_you_mean};
use rtscope_record::{Clock, Origin, Record, Space, Verdict};
use rtscope_report::table;

/// Lists the runs, newest first; prints an empty list if there is no archive. Damage is reported for each damaged run, and the
/// others are listed. A selection of none of the runs is an error, as for other commands.
pub(crate) fn list(context: &Context, a: &List) -> Result<Code, Failure> {
    let words = a.selection.join(",");
    let mut filter = select::filter(&words)?;
    filter.limit = a.limit.or(filter.limit);
    if !context.named && !context.is_there() {
        output::result(if a.json { "[]\n" } else { table::NO_RUNS })?;
        return Ok(Code::Done);
    }
    let archive = context.open_existing()?;
    let (mut code, mut any) = (Code::Done, false);
    let mut damaged = |e: &ArchiveError| {
        output::failure(&Failure { remedy: "rtscope verify".into(), ..Failure::of(e) });
        code = Code::Failed;
    };
    let mut out = output::Stream::new();
    if a.json {
        out.exact("[")?;
        let mut separator = "";
        archive.each_summary(&filter, |summary| {
            any = true;
            match summary {
                Ok(summary) => {
                    out.exact(std::mem::replace(&mut separator, ","))?;
                    out.json(&summary)
                }
                Err(e) => {
                    damaged(&e);
                    Ok(())
                }
            }
        })?;
        out.exact("]\n")?;
    } else {
        // Two passes: the first finds the columns' widths, so that no run is kept in memory.
        archive.frozen(|| {
            let (mut list, mut sound) = (table::List::new(style()), false);
            archive.each_summary(&filter, |summary| {
                any = true;
                match summary {
                    Ok(summary) => {
                        list.measure(&entry(&summary));
                        sound = true;
                    }
                    Err(e) => damaged(&e),
                }
                Ok::<(), Failure>(())
            })?;
            if !sound {
                return Ok(());
            }
            out.text(&list.head())?;
            archive.each_summary(&filter, |summary| summary.map_or(Ok(()), |s| out.text(&list.line(&entry(&s)))))?;
            out.text(&list.foot())
        })?;
    }
    out.finish()?;
    if !any {
        return match select::number(&archive)? {
            0 if a.json => Ok(code),
            0 => output::result(table::NO_RUNS).map(|()| code),
            _ => Err(select::none(&archive, if words.is_empty() { "-n 0" } else { &words })?),
        };
    }
    Ok(code)
}

fn entry(r: &rtscope_archive::RunSummary) -> table::ListedRun {
    // An unknown clock counts as virtual, an unknown verdict as the worst: the archive fails closed too.
    let clock = r.clock.parse().unwrap_or(Clock::Virtual);
    let origin = r.origin.parse().unwrap_or(Origin::Imported);
    table::ListedRun {
        id: r.id.clone(),
        started: r.started.clone(),
        test: r.test.clone(),
        load: r.load.clone(),
        interval: r.interval,
        target: r.target.clone(),
        kernel: r.kernel.clone(),
        preemption: r.preemption.clone(),
        clock: clock_and_machine(clock, r.virtualization.as_deref(), origin),
        virtual_machine: is_virtual(clock, r.virtualization.as_deref()),
        verdict: serde_json::from_value(r.verdict.clone().into()).unwrap_or(rtscope_record::Verdict::Invalid),
        count: r.count,
        missed: r.missed,
        mean: r.mean,
        p99_9: r.p99_9,
        max: r.max,
    }
}

/// Shows runs in full.
pub(crate) fn show(context: &Context, a: &Show) -> Result<Code, Failure> {
    let limits = measure::Limits::parse(&a.judge.limits)?;
    let selection = Selection::of(context, &a.selection)?;
    let (style, mut out) = (style(), output::Stream::new());
    let (mut held, mut verdict) = (Vec::new(), Verdict::Valid);
    let work = |r: &Record| {
        let shown = if a.json {
            measure::json_text(r, limits.confidence)
        } else {
            let intervals = a.judge.intervals.then(|| table::intervals(std::slice::from_ref(r), limits.confidence, style));
            let text = table::detail(r, style).map(|detail| detail + &intervals.unwrap_or_default());
            text.map(|text| output::harmless(text, style.colour)).map_err(Failure::from)
        };
        (shown, limits.held(r), r.verdict())
    };
    selection.each(work, |(shown, evaluations, own)| {
        held.extend(evaluations);
        verdict = verdict.max(own);
        out.exact(&shown?)
    })?;
    out.finish()?;
    measure::judged(&held, verdict, false, a.json)
}

/// Reads foreign files into the archive: each file whole, or nothing of it.
pub(crate) fn import(context: &Context, a: &Import) -> Result<Code, Failure> {
    let captures = CaptureKind::ALL.map(CaptureKind::as_str);
    let format = a.format.as_deref().filter(|f| !captures.contains(f)).map(str::parse::<Format>).transpose();
    let read = || Format::ALL.into_iter().filter(|f| f.is_read()).map(Format::as_str).chain(captures);
    let format = format.map_err(|e| {
        let remedy = did_you_mean(a.format.as_deref().unwrap_or_default(), read(), "");
        Failure::usage(format!("{e}; of captures: {}", captures.join(", ")), remedy)
    })?;
    let keys = Keys::load()?;
    // An archive is created only once there is something to keep.
    let mut archive = if context.is_there() { Some(context.open()?) } else { None };
    for file in &a.files {
        let name = file.display().to_string();
        let opened = Opened::new(file, context.largest_input)?;
        let mut options = ImportOptions::new(&*name, opened.time);
        options.format = format;
        options.load.clone_from(&a.load);
        options.space = a.space.as_deref().map(str::parse::<Space>).transpose().or_usage("--space", "user or kernel")?;
        options.nanoseconds = a.nsecs.then_some(true);
        // A file in a format that `formats` knows is not a capture.
        let known = format.is_some() || a.format.is_none() && formats::detect(&opened.start).is_some();
        let capture = if known { None } else { super::capture::kind(a.format.as_deref(), &opened.start, &a.capture) };
        let records = match capture {
            Some(kind) => {
                let file = super::capture::File { name: &name, time: opened.time, load: a.load.as_deref(), space: options.space };
                vec![super::capture::import(&file, &mut opened.streamed()?, kind, &a.capture)?]
            }
            None => {
                let stated = formats::import(&opened.held()?, &options).map_err(|e| nothing_of(&name, e))?;
                let mut records = Vec::with_capacity(stated.len());
                for record in stated {
                    let settled = origin::settle(record, archive.as_ref(), &keys)?;
                    if let Some(said) = settled.said {
                        context.say(&format!("{}: {said}", settled.record.id()));
                    }
                    records.push(settled.record);
                }
                records
            }
        };
        let archive = match &mut archive {
            Some(archive) => archive,
            none => none.insert(context.open()?),
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

/// Writes runs in a foreign format.
pub(crate) fn export(context: &Context, a: &Export) -> Result<Code, Failure> {
    if let Some(write) = super::ci::format(&a.format) {
        let bytes = write(&Selection::of(context, &a.selection)?.records()?)?;
        return match &a.output {
            Some(path) => super::report::write(path, &bytes),
            None => output::document(&bytes),
        }
        .map(|()| Code::Done);
    }
    let written = || Format::ALL.into_iter().filter(|f| f.is_written()).map(Format::as_str).chain(super::ci::NAMES);
    let unknown =
        |e: String| Failure::usage(format!("{e}, {}", super::ci::NAMES.join(", ")), did_you_mean(&a.format, written(), ""));
    let format: Format = a.format.parse().map_err(unknown)?;
    let selection = Selection::of(context, &a.selection)?;
    let work = |r: &Record| formats::export(r, format).at(r.id());
    match &a.output {
        Some(path) => super::report::write_by(path, |file| {
            selection.each(work, |bytes| file.write_all(&bytes?).map_err(|e| super::report::unwritten(path, &e)))
        })?,
        None => {
            let mut out = output::Stream::new();
            selection.each(work, |bytes| out.document(&bytes?))?;
            out.finish()?;
        }
    }
    Ok(Code::Done)
}

/// Removes all runs that are named, or none. What selects runs elsewhere is refused: too many would be gone with one word.
pub(crate) fn remove(context: &Context, a: &Remove) -> Result<Code, Failure> {
    if let Some(word) = a.ids.iter().find(|w| w.contains(['=', ',']) || *w == "all" || *w == "latest") {
        return Err(Failure::usage(
            format!("`{word}` is a selection; to remove runs, name each by its id"),
            "`rtscope list` shows ids, of a selection too",
        ));
    }
    let removed = context.open_existing()?.remove_all(&a.ids)?;
    output::result(&(removed.join("\n") + "\n"))?;
    Ok(Code::Done)
}

/// Checks the whole archive.
pub(crate) fn verify(context: &Context) -> Result<Code, Failure> {
    let archive = context.open_existing()?;
    let sound = archive.check()?;
    let (n, signed, keys) = (sound.runs, sound.signed, Keys::load()?);
    let mut text = format!("{}: sound, {n} runs, all counts add up\n", context.archive.display());
    for (id, key) in &signed {
        let who = match keys.known.iter().find(|k| k.key == *key) {
            Some(k) => format!("signed by {} ({})", k.name, k.fingerprint),
            None => format!("signed by a key that you do not trust ({})", rtscope_record::record::key_fingerprint(key)),
        };
        text += &format!("{id}: {who}\n");
    }
    text += &format!("{} of {n} are signed, and every signature holds\n", signed.len());
    output::result(&text)?;
    Ok(Code::Done)
}
