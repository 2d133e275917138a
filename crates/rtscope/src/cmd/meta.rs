//! Commands about the program itself, and small tools: loads, raw samples, schema, completions, man pages.

use crate::args::Summarize;
use crate::args::values::Json;
use crate::error::Code;
use crate::output;
use rtscope_archive::raw;
use rtscope_failure::{Explain, Failure};
use rtscope_load::Load;
use rtscope_record::Nanos;
use std::path::Path;

/// Lists the loads that one can measure under.
pub(crate) fn loads(a: &Json) -> Result<Code, Failure> {
    let mut text = String::new();
    let mut rows = Vec::new();
    for (name, what) in Load::known() {
        let missing = Load::parse(name).map(|l| l.missing_tools()).unwrap_or_default();
        let note = if missing.is_empty() { String::new() } else { format!(" (missing here: {})", missing.join(", ")) };
        text += &format!("{name:<12} {what}{note}\n");
        rows.push(serde_json::json!({"name": name, "what": what, "missing": missing}));
    }
    for (name, what) in Load::with_arguments() {
        text += &format!("{name:<14}  {what}\n");
    }
    text += &format!("{:<14}  the load that `rtscope hunt` found worst on the target; worst:HASH a certain one\n", "worst");
    if a.json {
        output::json(&rows)?;
    } else {
        output::result(&text)?;
    }
    Ok(Code::Done)
}

/// Summarizes a file of raw samples.
pub(crate) fn summarize(a: &Summarize) -> Result<Code, Failure> {
    let width = if a.width == "u64" { raw::Width::U64 } else { raw::Width::U32 };
    let label = a.file.display().to_string();
    let d = if a.file.as_os_str() == "-" {
        let input = rtscope_files::standard_input().or_usage("standard input", "pipe samples in")?;
        raw::summarize(input, width, &label)
    } else {
        let file = rtscope_files::open_stream(&a.file).or_usage(&label, "name a file that exists")?;
        raw::summarize(file, width, &label)
    }
    .at(&label)?;
    if a.json {
        output::json(&d)?;
        return Ok(Code::Done);
    }
    let us = |ns: u64| format!("{:.3} us", Nanos(ns).as_micros_f64());
    let mut text = format!("samples {}\n", d.count());
    if let (Some(min), Some(max), Some(mean), Some(sd)) = (d.min(), d.max(), d.mean(), d.stddev()) {
        text += &format!("min {}\nmean {:.3} us\nmax {}\nstd {:.3} us\n", us(min), mean / 1e3, us(max), sd / 1e3);
    }
    for (name, value) in d.percentiles() {
        text += &format!("{name} {}\n", us(value));
    }
    output::result(&text)?;
    Ok(Code::Done)
}

/// Prints the JSON Schema of a record.
pub(crate) fn schema() -> Result<Code, Failure> {
    let text = serde_json::to_string_pretty(&rtscope_record::json_schema()).or_machine("the schema", "report this")?;
    output::document((text + "\n").as_bytes())?;
    Ok(Code::Done)
}

/// Prints the script that completes for a shell.
pub(crate) fn completions(shell: &str) -> Result<Code, Failure> {
    output::exact(&crate::completions::script(shell)?)?;
    Ok(Code::Done)
}

/// Remedy for a directory that can't be written.
pub(super) const DIRECTORY: &str = "name a directory that can be written";

/// Writes the man pages into a directory.
pub(crate) fn man(dir: &Path) -> Result<Code, Failure> {
    rtscope_files::output_dir(dir).or_machine(dir.display(), DIRECTORY)?;
    let mut cli = crate::args::command().disable_help_subcommand(true);
    cli.build();
    pages(&cli, dir).or_machine(dir.display(), DIRECTORY)?;
    Ok(Code::Done)
}

/// As `clap_mangen::generate_to`, but does not write through links.
fn pages(command: &clap::Command, dir: &Path) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        pages(below, dir)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    rtscope_files::write(&dir.join(page.get_filename()), &text, 0o666)
}
