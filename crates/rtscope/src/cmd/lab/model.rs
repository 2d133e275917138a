//! `rtscope lab model`: compares the costs of elementary operations in the lab and on this host.

use super::guest::open;
use crate::args::lab::Model;
use crate::cmd::stop::stop_on_signals;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use rtscope_failure::Failure;
use rtscope_lab::costs::{self, Cost};
use rtscope_lab::vm::{LabOptions, VmError};
use rtscope_record::time_model_meaning;
use rtscope_run::lab;
use serde::Serialize;

/// A guest: a kernel in a time model.
#[derive(Serialize)]
struct Guest {
    kernel: String,
    model: u32,
    meaning: &'static str,
}

/// An elementary operation, timed on all machines.
#[derive(Serialize)]
struct Thing {
    name: String,
    what: String,
    /// On this host, ns.
    host_ns: Option<f64>,
    /// In each guest, ns; in the order of the guests.
    lab_ns: Vec<Option<f64>>,
    /// Ratio of each guest's time to the host's.
    ratios: Vec<Option<f64>>,
    /// Why a machine can't do it, from the first machine that gives a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Serialize)]
struct Table {
    guests: Vec<Guest>,
    things: Vec<Thing>,
}

/// Times all operations in each guest and on this host.
pub(super) fn run(context: &Context, a: &Model) -> Result<Code, Failure> {
    let stop = stop_on_signals()?;
    let (mut guests, mut costs_of) = (Vec::new(), Vec::new());
    for kernel in &a.kernels {
        for &model in &a.models {
            let guest = open(context, kernel, LabOptions { model, ..LabOptions::default() })?;
            let progress = Progress::new(&format!("{kernel}, time model {model}"), 0, context.quiet);
            let costs = lab::costs(&guest, &stop, &mut |step| progress.step(&step));
            progress.clear();
            match costs {
                Ok(costs) => costs_of.push(costs),
                Err(VmError::Interrupted) => return Ok(Code::Interrupted),
                Err(e) => return Err(e.into()),
            }
            let number = model.number();
            guests.push(Guest { kernel: kernel.to_string(), model: number, meaning: time_model_meaning(number) });
        }
    }
    context.say("timing the same on this host");
    let table = Table { guests, things: things(&costs::measure(), &costs_of) };
    if a.json {
        output::json(&table)?;
    } else {
        output::result(&text(&table))?;
    }
    Ok(Code::Done)
}

fn things(host: &[Cost], guests: &[Vec<Cost>]) -> Vec<Thing> {
    let row = |h: &Cost| {
        let of: Vec<Option<&Cost>> = guests.iter().map(|g| g.iter().find(|c| c.name == h.name)).collect();
        let lab_ns: Vec<Option<f64>> = of.iter().map(|c| c.and_then(|c| c.ns)).collect();
        let ratio = |ns: &Option<f64>| ns.zip(h.ns).and_then(|(lab, host)| (host > 0.0).then_some(lab / host));
        Thing {
            name: h.name.clone(),
            what: h.what.clone(),
            host_ns: h.ns,
            ratios: lab_ns.iter().map(ratio).collect(),
            lab_ns,
            why: of.iter().flatten().find_map(|c| c.why.clone()).or_else(|| h.why.clone()),
        }
    };
    host.iter().map(row).collect()
}

fn text(t: &Table) -> String {
    let ns = |v: Option<f64>| v.map_or_else(|| "-".into(), |v| if v < 100.0 { format!("{v:.1}") } else { format!("{v:.0}") });
    let ratio = |v: &Option<f64>| v.map_or_else(|| "-".into(), |v| if v < 10.0 { format!("{v:.2}") } else { format!("{v:.0}") });
    let first = t.guests.first().map_or("", |g| g.kernel.as_str());
    let one = t.guests.iter().all(|g| g.kernel == first);
    let mut rows: Vec<Vec<String>> = vec![vec![if one { format!("{first}, ns") } else { "ns".into() }]];
    let head = |g: &Guest| if one { format!("model {}", g.model) } else { format!("{}, model {}", g.kernel, g.model) };
    rows[0].extend(t.guests.iter().map(head));
    rows[0].push("this host".into());
    rows[0].extend(t.guests.iter().map(|g| format!("{} / host", g.model)));
    for thing in &t.things {
        let mut row = vec![thing.what.clone()];
        row.extend(thing.lab_ns.iter().copied().map(ns));
        row.push(ns(thing.host_ns));
        row.extend(thing.ratios.iter().map(ratio));
        rows.push(row);
    }
    let widths: Vec<usize> = (0..rows[0].len()).map(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in &rows {
        let (first, rest) = (&row[0], &row[1..]);
        out += &format!("{first:w$}", w = widths[0]);
        for (cell, w) in rest.iter().zip(&widths[1..]) {
            out += &format!("  {cell:>w$}");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out.push('\n');
    let mut told = std::collections::BTreeSet::new();
    for g in t.guests.iter().filter(|g| told.insert(g.model)) {
        out += &format!("Time model {}: {}.\n", g.model, g.meaning);
    }
    for thing in &t.things {
        if let Some(why) = &thing.why {
            out += &format!("- {}: {why}.\n", thing.what);
        }
    }
    out + "The lab's figures are the same every time; this host's are medians, of this moment and machine.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_same_thing() {
        let cost = |name: &str, ns: Option<f64>, why: Option<&str>| Cost {
            name: name.into(),
            what: format!("the {name}"),
            ns,
            why: why.map(Into::into),
        };
        let host = [cost("copy", Some(20.0), None), cost("ipi", Some(1000.0), None), cost("cpuid", Some(0.0), None)];
        let guest =
            vec![cost("ipi", None, Some("there is one CPU")), cost("copy", Some(50.0), None), cost("cpuid", Some(1.0), None)];
        let table = Table {
            guests: vec![Guest { kernel: "k".into(), model: 2, meaning: time_model_meaning(2) }],
            things: things(&host, &[guest]),
        };
        assert_eq!(table.things.iter().map(|t| t.ratios[0]).collect::<Vec<_>>(), [Some(2.5), None, None]);
        let text = text(&table);
        assert!(text.contains("the copy  ") && text.contains("2.50") && text.contains("the ipi: there is one CPU"), "{text}");
    }
}
