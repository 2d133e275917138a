//! Kernel by kernel: average, maximum and standard deviation in the layout of Dewit's Table I.

use crate::ReportError;
use crate::format::{count, us_f64, us_opt};
use crate::sheet::{Cell, Columns, Sheet};
use crate::words::headline;
use rtscope_analysis::versus::KernelModel;
use rtscope_analysis::{clock_words, virtual_machine};
use rtscope_record::{Distribution, Record, Verdict};

struct Group<'a> {
    key: (String, &'static str, &'a str, String),
    virtual_machine: bool,
    verdict: Verdict,
    runs: usize,
    all: Option<Distribution>,
}

/// A row for each kernel, preemption model, load and clock: average, max and std (us), over its runs merged exactly.
pub(crate) fn kernels(records: &[Record]) -> Result<Sheet<'static>, ReportError> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for r in records {
        let p = r.parts();
        let failed = |error| ReportError::Merge { id: r.id().into(), error };
        let kernel = &p.system.kernel;
        let release = if kernel.release.is_empty() { "unknown" } else { kernel.release.as_str() };
        let added = KernelModel::of(r).added();
        let key = (format!("{release} {added}").trim_end().to_owned(), kernel.preemption.as_str(), p.load.as_str(), clock_words(r));
        let own = r.merged().map_err(failed)?;
        match groups.iter_mut().find(|g| g.key == key) {
            None => {
                groups.push(Group { key, virtual_machine: virtual_machine(r), verdict: r.verdict(), runs: 1, all: own });
            }
            Some(g) => {
                g.runs += 1;
                g.verdict = g.verdict.max(r.verdict());
                g.all = match (g.all.take(), own) {
                    (Some(a), Some(b)) => Some(a.merge(&b, "all", 1).map_err(failed)?),
                    (a, b) => a.or(b),
                };
            }
        }
    }
    let all = |g: &Group<'_>, f: fn(&Distribution) -> Option<f64>| us_f64(g.all.as_ref().and_then(f));
    let sum = |g: &Group<'_>, f: fn(&Distribution) -> u64| count(g.all.as_ref().map_or(0, f));
    let columns = Columns::new()
        .left("kernel", 0, |g: &Group<'_>| g.key.0.as_str().into())
        .left("preemption", 0, |g| g.key.1.into())
        .right("average us", 1, move |g| all(g, Distribution::mean).into())
        .right("max us", 0, |g| Cell::main(us_opt(g.all.as_ref().and_then(Distribution::max))))
        .right("std us", 1, move |g| all(g, Distribution::stddev).into())
        .left("load", 0, |g| g.key.2.into())
        .right("runs", 2, |g| g.runs.to_string().into())
        .right("samples", 3, move |g| sum(g, Distribution::count).into())
        .right("missed", 0, move |g| sum(g, Distribution::missed).into())
        .whole("verdict", 0, |g| Cell::verdict(g.verdict))
        .whole("clock", 0, |g| Cell::clock(g.key.3.as_str(), g.virtual_machine));
    let [title, about] = headline(&records.iter().collect::<Vec<_>>());
    Ok(columns.sheet_of(groups).titled(title).about(about))
}
