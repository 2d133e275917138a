//! `rtscope measure --trace`: what the kernel's own trace says of the first latency above the limit.

use super::super::explain::{write_files, write_trace};
use super::super::explained::{keep, keep_trace};
use super::super::style;
use crate::args::Measure;
use crate::config::Context;
use base64::Engine as _;
use rtscope_archive::KeptTrace;
use rtscope_explain::explained::Explained;
use rtscope_explain::trace::{self, Traced};
use rtscope_failure::Failure;
use rtscope_record::findings::again::TRACED;
use rtscope_record::{Nanos, Record, Space, Test};
use rtscope_report::table;

/// Refuses what can't be traced.
pub(super) fn check(a: &Measure, test: Test, space: Space, target: &str) -> Result<(), Failure> {
    if a.trace.is_none() {
        return Ok(());
    }
    if test != Test::Timer || space != Space::User {
        return Err(Failure::usage("--trace is of the timer test in user space", "rtscope measure timer --trace 100us"));
    }
    if a.run.migrate || a.run.policy == rtscope_record::Policy::Deadline {
        return Err(Failure::usage("--trace needs threads that stay on their CPUs", "leave out --migrate and --policy deadline"));
    }
    if target.starts_with("fake:") || rtscope_run::ssh::is_ssh(target) {
        return Err(Failure::usage(
            format!("--trace can't be had on {target} so far"),
            "log in there and run `rtscope measure timer --trace` on the machine itself",
        ));
    }
    Ok(())
}

/// What was so late, as text. It is kept with the record, and written to files if asked for.
pub(super) fn why(context: &Context, record: &Record, traced: Option<&Traced>, a: &Measure) -> Result<String, Failure> {
    let cost = record.parts().warnings.iter().find(|w| w.code == TRACED).map(|w| w.message.clone()).unwrap_or_default();
    let Some(traced) = traced else {
        let above = a.trace.unwrap_or(Nanos(0));
        return Ok(format!("\nno latency was above {above}, so there is no trace\n{cost}\n"));
    };
    let trace = KeptTrace {
        distribution: traced.distribution.clone(),
        at: traced.at,
        text: traced.text.clone().into_bytes(),
        // Without it the text is as good.
        dat: base64::engine::general_purpose::STANDARD.decode(&traced.file).unwrap_or_default(),
    };
    // Both before it is read: they are all there is if it can't be.
    if !a.no_save {
        keep_trace(context, record, &trace)?;
    }
    if let Some(dir) = &a.trace_files {
        write_trace(dir, record, &trace)?;
    }
    let explained = Explained::new(record.id(), &traced.distribution, traced.at, trace::explain(traced)?);
    if !a.no_save {
        keep(context, record, std::slice::from_ref(&explained))?;
    }
    if let Some(dir) = &a.trace_files {
        write_files(dir, record, &explained)?;
    }
    Ok(format!("\nwhy: {}{cost}\n", table::explanation(record, &explained, style())))
}
