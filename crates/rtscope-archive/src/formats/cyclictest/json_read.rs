//! Reads cyclictest's `--json`. Known defects are repaired where the counts are sound: `-nan` as an average, quotes in
//! the command line.

use super::command::Command;
use super::table::{Average, Column, Table};
use crate::formats::error::ImportError;
use crate::formats::format::ImportOptions;
use crate::formats::imported::{SysInfo, moment};
use rtscope_record::{Effect, Record, System, ThreadInfo, Warning};
use serde_json::Value;
use std::collections::BTreeSet;

/// Reads cyclictest's JSON (`file_version` 1). It has no overflow counts: cycles that are in no bin are counted as
/// overflows.
pub fn read_json(bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let (json, repaired) = parse(bytes)?;
    let version = json.get("file_version").and_then(Value::as_u64);
    if version != Some(1) {
        return Err(ImportError::File("not cyclictest's JSON: `file_version` is not 1".into()));
    }
    let mut table = Table::new("cyclictest-json");
    if repaired {
        table.warnings.push(Warning::new(
            "json-repaired",
            Effect::Note,
            "the file was not valid JSON (an average that is not a number, or quotes in the command line) and was mended for reading",
            "no figure is affected; avoid quotes in cyclictest's options",
        ));
    }
    let text = |key: &str| json.get(key).and_then(Value::as_str);
    // The colon is part of the key in every version so far.
    let words = text("cmdline:").map(|c| c.split_ascii_whitespace().collect::<Vec<_>>()).filter(|w| !w.is_empty());
    table.command = words.map(|w| Command::of(&w));
    let shown = json.get("resolution_in_ns").and_then(Value::as_u64).map(|n| n != 0);
    table.decide_unit(options, shown);
    table.system = system(&json);
    table.started = text("start_time").and_then(moment);
    let end = text("end_time").and_then(moment);
    if let (Some(start), Some(end)) = (table.started, end) {
        table.elapsed_ns = u64::try_from(end.duration_since(start).as_nanos()).unwrap_or(0);
    }
    let sysname = json.pointer("/sysinfo/sysname").map(|v| ("sysname", v));
    let own = ["cmdline:", "rt_test_version:", "start_time", "end_time", "return_code"];
    for (key, value) in own.iter().filter_map(|&k| Some((k, json.get(k)?))).chain(sysname) {
        table.kept.json.push((key.into(), value.to_string()));
    }
    threads(&json, &mut table)?;
    // 2.4 writes an empty `histogram` even without -h, so that proves nothing; the key `overflow` is rtscope's, written
    // only with a histogram.
    let asked = table.command.as_ref().is_some_and(|c| c.histogram.is_some());
    let own = json.pointer("/thread/0/overflow").is_some();
    if asked || own || table.columns.iter().any(|c| !c.bins.is_empty()) {
        table.decide_size(None, 0);
    }
    table.into_record(bytes, options)
}

/// The JSON, and whether it had to be repaired.
fn parse(bytes: &[u8]) -> Result<(Value, bool), ImportError> {
    let first = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok((value, false)),
        Err(e) => e,
    };
    let text = String::from_utf8_lossy(bytes);
    let mended: Vec<String> = text.lines().map(mend).collect();
    let value = serde_json::from_str(&mended.join("\n")).map_err(|_| first)?;
    Ok((value, true))
}

/// Repairs the two things that cyclictest is known to write wrongly, in one line.
fn mend(line: &str) -> String {
    const CMDLINE: &str = "\"cmdline:\": \"";
    let line = line.trim();
    if let Some(inner) = line.strip_prefix(CMDLINE).and_then(|r| r.strip_suffix("\",")) {
        if serde_json::from_str::<String>(&format!("\"{inner}\"")).is_err() {
            return format!("\"cmdline:\": {},", Value::String(inner.into()));
        }
    }
    match line.strip_prefix("\"avg\": ").map(|v| v.trim_end_matches(',')) {
        Some("nan" | "-nan" | "inf" | "-inf") => "\"avg\": null,".into(),
        _ => line.into(),
    }
}

fn system(json: &Value) -> System {
    let text = |key: &str| json.pointer(&format!("/sysinfo/{key}")).and_then(Value::as_str).unwrap_or_default().to_owned();
    let realtime = json.pointer("/sysinfo/realtime").and_then(Value::as_u64).unwrap_or(0);
    let (nodename, release, version, machine) = (text("nodename"), text("release"), text("version"), text("machine"));
    let mut s = SysInfo { nodename, release, version, machine, realtime, resolution_in_ns: None }.system();
    if let Some(version) = json.get("rt_test_version:").and_then(Value::as_str) {
        s.tools.insert("cyclictest".into(), version.into());
    }
    s
}

fn threads(json: &Value, table: &mut Table) -> Result<(), ImportError> {
    let wrong = |what: String| ImportError::File(what);
    let all = json.get("thread").and_then(Value::as_object).ok_or_else(|| wrong("there is no `thread` object in it".into()))?;
    let n = json.get("num_threads").and_then(Value::as_u64).ok_or_else(|| wrong("`num_threads` is missing".into()))?;
    if all.len() as u64 != n {
        return Err(wrong(format!("`num_threads` is {n}, but there are {} threads", all.len())));
    }
    let mut cpus = BTreeSet::new();
    let mut nodes = Vec::new();
    let mut repeated = false;
    for nr in 0..n {
        let t = all.get(&nr.to_string()).ok_or_else(|| wrong(format!("there is no thread {nr}")))?;
        let number = |key: &str| {
            t.get(key)
                .and_then(Value::as_u64)
                .ok_or_else(|| wrong(format!("thread {nr}: `{key}` is not a whole number from 0 to 2^64")))
        };
        let signed = |key: &str| t.get(key).and_then(Value::as_i64);
        let mut bins = Vec::new();
        for (bin, count) in t.get("histogram").and_then(Value::as_object).into_iter().flatten() {
            let pair = bin.parse::<u64>().ok().filter(|b| b.to_string() == *bin).zip(count.as_u64());
            let (bin, count) = pair.ok_or_else(|| wrong(format!("thread {nr}: `{bin}`: {count} is not a bin with a count")))?;
            if count > 0 {
                bins.push((bin, count));
            }
        }
        bins.sort_unstable();
        let cpu = signed("cpu").and_then(|c| u32::try_from(c).ok());
        repeated |= cpu.is_some_and(|c| !cpus.insert(c));
        nodes.push(signed("node").unwrap_or(0).to_string());
        let average = match t.get("avg") {
            Some(Value::Null) => Average::None,
            v => Average::Decimal(v.and_then(Value::as_f64).ok_or_else(|| wrong(format!("thread {nr}: `avg` is not a number")))?),
        };
        let interval = table.command.as_ref().and_then(|c| c.interval_ns(nr)).unwrap_or(0);
        let priority = table.command.as_ref().map_or(0, |c| c.settings(0).priority);
        table.columns.push(Column {
            label: format!("thread{nr}"),
            bins,
            count: number("cycles")?,
            min: number("min")?,
            max: number("max")?,
            average,
            overflow_at: Vec::new(),
            missed: t.get("missed").and_then(Value::as_u64).zip(t.get("expected").and_then(Value::as_u64)),
            dropped: 0,
            thread: ThreadInfo { cpu, interval, priority, ..ThreadInfo::default() },
        });
    }
    // CPUs are better labels, if each thread has its own.
    if !repeated && table.columns.iter().all(|c| c.thread.cpu.is_some()) {
        for c in &mut table.columns {
            c.label = c.thread.cpu.map(|cpu| format!("cpu{cpu}")).unwrap_or_default();
        }
    }
    table.kept.json.push(("node".into(), nodes.join(",")));
    Ok(())
}
