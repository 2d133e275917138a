//! Writes a record as cyclictest's `--json`: its keys in its order and its number formats, plus a few keys at the end of
//! each object (`overflow`, `missed`, `expected`, `schema`).

use super::kept::Kept;
use super::options::{Dialect, TextOptions};
use super::table::printed_extremes;
use crate::formats::error::ExportError;
use rtscope_record::system::Preemption;
use rtscope_record::{Distribution, Moments, Record, Test};
use serde_json::Value;
use std::fmt::Write;

/// Name and version of the added keys.
const SCHEMA: &str = "rtscope-cyclictest/1";

/// Writes the whole file. `options` decides about the unit and whether histograms are written.
pub fn write_json(record: &Record, options: &TextOptions) -> Result<String, ExportError> {
    let p = record.parts();
    if p.test != Test::Timer {
        return Err(ExportError::Test(p.test.to_string()));
    }
    let kept = Kept::of(record).unwrap_or_default();
    let quoted = |text: &str| Value::String(text.into()).to_string();
    let time = |ns: u64| {
        let start = p.started.parse::<jiff::Timestamp>().unwrap_or_default();
        let end = start.checked_add(std::time::Duration::from_nanos(ns)).unwrap_or(start);
        quoted(&end.strftime("%a, %d %b %Y %T +0000").to_string())
    };
    let or = |key: &str, own: String| kept.json(key).map_or(own, str::to_owned);
    let kernel = &p.system.kernel;
    let mut out = String::from("{\n  \"file_version\": 1,\n");
    // Writing to a String can't fail, here and below.
    let mut put = |indent: &str, key: &str, value: &str, last: bool| {
        let _ = writeln!(out, "{indent}\"{key}\": {value}{}", if last { "" } else { "," });
    };
    put("  ", "cmdline:", &or("cmdline:", quoted(&p.settings.command.join(" "))), false);
    put("  ", "rt_test_version:", &or("rt_test_version:", quoted(env!("CARGO_PKG_VERSION"))), false);
    put("  ", "start_time", &or("start_time", time(0)), false);
    put("  ", "end_time", &or("end_time", time(p.elapsed_ns)), false);
    put("  ", "return_code", &or("return_code", "0".into()), false);
    put("  ", "sysinfo", "{", true);
    put("    ", "sysname", &or("sysname", quoted("Linux")), false);
    put("    ", "nodename", &quoted(&p.system.hostname), false);
    put("    ", "release", &quoted(&kernel.release), false);
    put("    ", "version", &quoted(&kernel.version), false);
    put("    ", "machine", &quoted(&kernel.arch), false);
    put("    ", "realtime", if kernel.preemption == Preemption::Rt { "1" } else { "0" }, true);
    out.push_str("  },\n");
    let all = record.distributions();
    let _ = writeln!(out, "  \"num_threads\": {},", all.len());
    let _ = writeln!(out, "  \"resolution_in_ns\": {},", u8::from(options.nanoseconds));
    out.push_str("  \"thread\": {\n");
    let nodes: Vec<&str> = kept.json("node").map(|n| n.split(',').collect()).unwrap_or_default();
    for (i, d) in all.iter().enumerate() {
        thread(&mut out, i, d, nodes.get(i).copied().unwrap_or("0"), options)?;
        out.push_str(if i + 1 == all.len() { "    }\n" } else { "    },\n" });
    }
    let _ = writeln!(out, "  }},\n  \"schema\": \"{SCHEMA}\"\n}}");
    Ok(out)
}

fn thread(out: &mut String, i: usize, d: &Distribution, node: &str, options: &TextOptions) -> Result<(), ExportError> {
    let p = d.parts();
    let _ = writeln!(out, "    \"{i}\": {{");
    let mut overflow = None;
    if options.histogram.is_some() {
        let label = || d.label().to_owned();
        let bins = p.linear.as_ref().ok_or_else(|| ExportError::NoBins { label: label() })?;
        if bins.unit_ns != options.unit_ns() {
            return Err(ExportError::Unit { label: label(), found: bins.unit_ns, wanted: options.unit_ns() });
        }
        overflow = Some(d.count() - bins.total());
        let rows: Vec<String> = bins.counts.iter().map(|(bin, n)| format!("\n        \"{bin}\": {n}")).collect();
        let _ = writeln!(out, "      \"histogram\": {{{}\n      }},", rows.join(","));
    } else if options.dialect == Dialect::A {
        // Up to rt-tests 2.6 the key is written even without a histogram.
        out.push_str("      \"histogram\": {\n      },\n");
    }
    let (min, max) = printed_extremes(d, options);
    let unit = options.unit_ns();
    let average = match p.moments {
        _ if d.count() == 0 => 0.0,
        // As cyclictest computes it: the sum in its unit, divided by the cycles.
        Moments::Exact { sum, .. } if p.resolution == unit => (sum / u128::from(unit)) as f64 / d.count() as f64,
        Moments::Exact { .. } | Moments::Reported { .. } => d.mean().unwrap_or(0.0) / unit as f64,
    };
    let cpu = p.thread.as_ref().and_then(|t| t.cpu).map_or(-1, i64::from);
    let or_null = |n: Option<u64>| n.map_or_else(|| "null".to_owned(), |n| n.to_string());
    for (key, value) in [
        ("cycles", d.count().to_string()),
        ("min", min.to_string()),
        ("max", max.to_string()),
        ("avg", format!("{average:.2}")),
        ("cpu", cpu.to_string()),
        ("node", node.to_owned()),
        ("missed", or_null(p.expected.map(|_| d.missed()))),
    ] {
        let _ = writeln!(out, "      \"{key}\": {value},");
    }
    if let Some(overflow) = overflow {
        let _ = writeln!(out, "      \"overflow\": {overflow},");
    }
    let _ = writeln!(out, "      \"expected\": {}", or_null(p.expected));
    Ok(())
}
