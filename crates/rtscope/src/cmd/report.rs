//! `rtscope report` and `rtscope compare`.

use super::style;
use crate::args::{Compare, Report};
use crate::config::Context;
use crate::error::{Code, Failure};
use crate::{output, select};
use rtscope_record::Record;
use rtscope_report::{html, svg};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

/// Writes the page; its path is the only line on standard output.
pub(crate) fn report(context: &Context, a: &Report) -> Result<Code, Failure> {
    let records = select::records(context, &a.selection)?;
    let title = a.title.as_deref().unwrap_or_default();
    if a.output.as_os_str() == "-" {
        output::result(&page(&records, title)?)?;
    } else {
        page_to(&a.output, &records, title)?;
    }
    if let Some(dir) = &a.svg {
        std::fs::create_dir_all(dir)
            .map_err(|e| Failure::failed(format!("{}: {e}", dir.display()), "name a directory that can be written"))?;
        for r in &records {
            let text = svg::latency(r, svg::Axis::Linear, svg::Use::File);
            write(&dir.join(format!("{}.svg", r.id())), text.as_bytes())?;
        }
        versus_pictures(&records, dir)?;
    }
    if a.output.as_os_str() != "-" {
        let path = std::path::absolute(&a.output).unwrap_or_else(|_| a.output.clone());
        output::result(&format!("{}\n", path.display()))?;
    }
    Ok(Code::Done)
}

fn page(records: &[Record], title: &str) -> Result<String, Failure> {
    let options = html::Options { title, comparison: None, version: env!("CARGO_PKG_VERSION") };
    Ok(html::page(records, &options)?)
}

/// Writes the page of `records` into a file.
pub(crate) fn page_to(path: &Path, records: &[Record], title: &str) -> Result<(), Failure> {
    write(path, page(records, title)?.as_bytes())
}

/// Writes the plots of stock against RT, where the records hold a pair.
fn versus_pictures(records: &[Record], dir: &Path) -> Result<(), Failure> {
    let Ok(v) = rtscope_analysis::versus(records) else { return Ok(()) };
    let mut written = BTreeSet::new();
    for b in v.blocks.iter().filter(|b| b.is_pair()) {
        for l in &b.loads {
            let load = l.load.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            let stem = format!("stock-vs-rt-{}-{}-{load}", b.series, b.clock);
            // Another machine, or loads that differ in other characters only.
            let mut name = stem.clone();
            for n in 2.. {
                if written.insert(name.clone()) {
                    break;
                }
                name = format!("{stem}-{n}");
            }
            write(&dir.join(format!("{name}.svg")), svg::versus(b, l, svg::Use::File).as_bytes())?;
        }
    }
    Ok(())
}

/// Writes a file whole or not at all: beside it first, then in its place.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed =
        |e: std::io::Error| Failure::failed(format!("{}: {e}", path.display()), "free space there, or name another place with -o");
    if path.exists() && !path.is_file() {
        // A device or a pipe is written to, not replaced.
        return std::fs::OpenOptions::new().write(true).open(path).and_then(|mut f| f.write_all(bytes)).map_err(failed);
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let result = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    if result.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    result.map_err(failed)
}

/// Two selections side by side; the stock kernels of one against its RT kernels.
pub(crate) fn compare(context: &Context, a: &Compare) -> Result<Code, Failure> {
    let left = select::records(context, std::slice::from_ref(&a.a))?;
    let Some(b) = &a.b else { return versus(&left, a.json) };
    let right = select::records(context, std::slice::from_ref(b))?;
    let comparison = rtscope_analysis::compare(&left, &right).map_err(|e| Failure::usage(e.to_string(), ""))?;
    if a.json {
        output::json(&comparison)?;
    } else {
        output::result(&rtscope_report::table::comparison(&comparison, style()))?;
    }
    Ok(Code::Done)
}

fn versus(records: &[Record], json: bool) -> Result<Code, Failure> {
    let versus = rtscope_analysis::versus(records).map_err(|e| Failure::usage(e.to_string(), ""))?;
    if json {
        output::json(&versus)?;
    } else {
        output::result(&rtscope_report::table::versus_of(&versus, records, style()))?;
    }
    Ok(Code::Done)
}
