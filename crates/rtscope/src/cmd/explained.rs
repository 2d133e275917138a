//! Explanations, and the kernel's traces, that are kept in the archive with their records.

use crate::config::Context;
use rtscope_archive::{KeptExplanation, KeptTrace};
use rtscope_explain::explained::{Explained, LONGEST};
use rtscope_failure::{Explain as _, Failure};
use rtscope_record::Record;
use rtscope_run::explain::MOST;

/// Keeps explanations with their record, for its page. A record that came from a file and is not in the archive has no page there.
pub(crate) fn keep(context: &Context, record: &Record, all: &[Explained]) -> Result<(), Failure> {
    if !context.is_there() {
        return Ok(());
    }
    let kept = |e: &Explained| {
        let json = serde_json::to_string(e).or_machine("the explanation as JSON", "report this")?;
        Ok(KeptExplanation { distribution: e.distribution.clone(), at: e.at, json })
    };
    let kept = all.iter().map(kept).collect::<Result<Vec<_>, Failure>>()?;
    context.open_existing()?.keep_explanations(record.id(), &kept)?;
    Ok(())
}

/// Keeps the kernel's trace of a sample with its record.
pub(crate) fn keep_trace(context: &Context, record: &Record, trace: &KeptTrace) -> Result<(), Failure> {
    if context.is_there() {
        context.open_existing()?.keep_trace(record.id(), trace)?;
    }
    Ok(())
}

/// The traces that are kept with a record.
pub(crate) fn kept_traces(context: &Context, record: &Record) -> Result<Vec<KeptTrace>, Failure> {
    if context.is_there() { Ok(context.open_existing()?.traces(record.id())?) } else { Ok(Vec::new()) }
}

/// The kept explanations of `records`. Damaged ones are left out, and said; so are all if the archive can't be opened.
pub(crate) fn kept(context: &Context, records: &[Record]) -> Result<Vec<Explained>, Failure> {
    if !context.is_there() {
        return Ok(Vec::new());
    }
    let archive = match context.open_existing() {
        Ok(archive) => archive,
        // What is asked for may do without it: records come from files too.
        Err(e) => {
            context.say(&format!("kept explanations are left out: {}", e.in_one()));
            return Ok(Vec::new());
        }
    };
    let mut all = Vec::new();
    for record in records {
        for json in archive.explanations(record.id(), LONGEST, MOST)? {
            match Explained::read(&json) {
                Ok(e) if e.record == record.id() => all.push(e),
                Ok(_) => context.say(&format!("an explanation that is kept with {} is another record's: left out", record.id())),
                Err(e) => context.say(&format!("{}: {e}: left out", record.id())),
            }
        }
    }
    Ok(all)
}
