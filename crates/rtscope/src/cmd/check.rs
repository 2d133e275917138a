//! `rtscope check`: reports what would spoil a measurement on this machine.

use super::style;
use crate::args::Check;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use rtscope_failure::Failure;
use rtscope_record::{Settings, System, Verdict, Warning};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    /// The best verdict that a measurement here could get.
    verdict: Verdict,
    findings: &'a [Warning],
    system: &'a System,
}

/// The priority that is checked for unless another is asked for, which is that of `measure`.
pub(crate) const PRIORITY: u8 = 95;

/// This machine, and what is found for a measurement at this priority.
pub(crate) fn here(priority: u8) -> (System, Vec<Warning>) {
    let system = rtscope_probe::snapshot::collect(&rtscope_probe::snapshot::Root::of_this_machine());
    let settings = Settings {
        priority,
        threads: u32::try_from(system.cpu.online.len()).unwrap_or(1),
        cpus: system.cpu.online.clone(),
        ..Settings::default()
    };
    let findings = rtscope_record::findings::findings(&system, &settings);
    (system, findings)
}

/// A machine in a line, with an empty one below it.
pub(crate) fn machine(system: &System) -> String {
    let k = &system.kernel;
    format!(
        "{} · Linux {} {} · {} ({}) · {} CPUs{}\n\n",
        system.board.as_deref().unwrap_or("unknown board"),
        k.release,
        k.arch,
        k.preemption.as_str(),
        if k.preemption_evidence.is_empty() { "no evidence found" } else { &k.preemption_evidence },
        system.cpu.online.len().max(system.cpu.allowed.len()),
        system.virtualization.as_ref().map(|v| format!(" · virtualization: {v}")).unwrap_or_default(),
    )
}

/// Checks this machine and prints the findings.
pub(crate) fn run(_context: &Context, a: &Check) -> Result<Code, Failure> {
    let (system, findings) = here(a.priority);
    let verdict = Verdict::of(&findings);
    if a.json {
        output::json(&Report { verdict, findings: &findings, system: &system })?;
    } else {
        output::result(&machine(&system))?;
        output::result(&rtscope_report::table::findings(&findings, style()))?;
        output::result(&format!("\nA measurement here can be {verdict} at best.\n"))?;
    }
    Ok(match verdict {
        Verdict::Invalid => Code::Verdict,
        Verdict::Inconclusive if a.strict => Code::Verdict,
        _ => Code::Done,
    })
}
