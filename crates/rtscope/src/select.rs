//! Selections: which records a command is about.

use crate::config::Context;
use crate::error::Failure;
use rtscope_archive::{Archive, Filter};
use rtscope_record::Record;
use std::path::Path;

/// Largest file that is taken for a record's JSON, bytes.
const LARGEST: u64 = 1 << 30;

/// The records that `words` select, oldest first; the latest when there is no word.
pub(crate) fn records(context: &Context, words: &[String]) -> Result<Vec<Record>, Failure> {
    if words.is_empty() {
        return records(context, &["latest".into()]);
    }
    let mut found: Vec<Record> = Vec::new();
    for word in words {
        for record in one(context, word)? {
            if !found.iter().any(|r| r.id() == record.id()) {
                found.push(record);
            }
        }
    }
    Ok(found)
}

fn one(context: &Context, word: &str) -> Result<Vec<Record>, Failure> {
    if Path::new(word).extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
        return file(word);
    }
    let archive = context.open()?;
    if word == "latest" {
        return Ok(vec![archive.latest()?]);
    }
    if word == "all" || word.contains('=') {
        return filtered(&archive, word);
    }
    word.split(',').filter(|id| !id.is_empty()).map(|id| archive.get(id).map_err(Failure::from)).collect()
}

fn file(path: &str) -> Result<Vec<Record>, Failure> {
    let size = std::fs::metadata(path).map_err(|e| Failure::usage(format!("{path}: {e}"), "name a file that exists"))?.len();
    if size > LARGEST {
        return Err(Failure::usage(format!("{path} has {size} bytes"), "a record's JSON is far smaller"));
    }
    let bytes = std::fs::read(path).map_err(|e| Failure::failed(format!("{path}: {e}"), "make it readable"))?;
    let mut options = rtscope_archive::formats::ImportOptions::new(path, std::time::SystemTime::now());
    options.format = Some(rtscope_archive::formats::Format::Json);
    rtscope_archive::formats::import(&bytes, &options)
        .map_err(|e| Failure::failed(format!("{path}: {e}"), "rtscope import reads other formats"))
}

fn filtered(archive: &Archive, word: &str) -> Result<Vec<Record>, Failure> {
    let runs = archive.list(&filter(word)?)?;
    if runs.is_empty() {
        return Err(Failure::usage(format!("no run in {} is selected by `{word}`", archive.path().display()), "rtscope list"));
    }
    let get = |id: &String| archive.get(id).map_err(Failure::from);
    // The list is newest first; a report reads like a log.
    runs.iter().rev().map(|r| get(&r.id)).collect()
}

/// `all`, or key=value terms separated by commas.
pub(crate) fn filter(word: &str) -> Result<Filter, Failure> {
    let mut f = Filter::default();
    if word == "all" {
        return Ok(f);
    }
    for term in word.split(',').filter(|t| !t.is_empty()) {
        let unknown = || {
            Failure::usage(
                format!("`{term}` is not a filter"),
                "use test=, load=, kernel=, target=, since=YYYY-MM-DD, until= or last=N",
            )
        };
        let (key, value) = term.split_once('=').ok_or_else(unknown)?;
        match key {
            "test" => f.test = Some(value.into()),
            "load" => f.load = Some(value.into()),
            "kernel" => f.kernel = Some(value.into()),
            "target" => f.target = Some(value.into()),
            "since" => f.since = Some(time(value)?),
            "until" => f.until = Some(time(value)?),
            "last" => f.limit = Some(value.parse().map_err(|_| unknown())?),
            _ => return Err(unknown()),
        }
    }
    Ok(f)
}

/// A day or an RFC 3339 time, UTC.
fn time(text: &str) -> Result<std::time::SystemTime, Failure> {
    let full = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let stamp: jiff::Timestamp =
        full.parse().map_err(|_| Failure::usage(format!("`{text}` is not a time"), "write 2026-11-21 or 2026-11-21T08:00:00Z"))?;
    Ok(stamp.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn filters_are_read() {
        let f = filter("load=full,kernel=6.12,last=3,since=2026-11-01").unwrap();
        assert_eq!((f.load.as_deref(), f.kernel.as_deref(), f.limit), (Some("full"), Some("6.12"), Some(3)));
        assert!(f.since.is_some());
        for bad in ["last=x", "colour=red", "load", "since=yesterday", "since=é1234567"] {
            assert!(filter(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_an_error(text in "\\PC{0,40}") {
            let _ = filter(&text);
        }
    }
}
