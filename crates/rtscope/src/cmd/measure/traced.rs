//! `rtscope measure --trace`: what the kernel's own trace says of the first latency above the limit.

use super::super::explain::write_files;
use super::super::explained::keep;
use super::super::meta::DIRECTORY;
use super::super::report::write;
use super::super::style;
use crate::args::Measure;
use crate::config::Context;
use base64::Engine as _;
use rtscope_explain::explained::Explained;
use rtscope_explain::trace::{self, Traced};
use rtscope_failure::{Explain as _, Failure};
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
    if let Some(dir) = &a.trace_files {
        rtscope_files::output_dir(dir).or_machine(dir.display(), DIRECTORY)?;
        let name = format!("{}-{}-{}", record.id(), traced.distribution.replace('/', "_"), traced.at);
        write(&dir.join(format!("{name}.trace.txt")), traced.text.as_bytes())?;
        let file = base64::engine::general_purpose::STANDARD.decode(&traced.file).unwrap_or_default();
        if !file.is_empty() {
            write(&dir.join(format!("{name}.trace.dat")), &file)?;
        }
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
