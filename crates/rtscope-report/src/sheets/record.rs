//! The tables of one record: each CPU or edge, percentiles raw and corrected, worst samples.

use crate::format::{NONE, count, seconds, us_f64, us_opt, us_whole};
use crate::sheet::{Cell, Columns, Mark, Sheet};
use crate::words;
use rtscope_analysis::summary::Row;
use rtscope_analysis::{Summary, virtual_machine};
use rtscope_record::{Record, Test, Worst};
use std::borrow::Cow;

/// The figures of all samples together; `None` for jitter, since early and late amounts have none in common.
pub(crate) fn merged(s: &Summary) -> Option<&Row> {
    s.merged.as_ref().filter(|_| s.test != Test::Periodic)
}

fn raw(r: &Row, percentile: &str) -> Cell<'static> {
    us_opt(r.percentile(percentile).and_then(|p| p.raw)).into()
}

/// The cell of a counter, whose column is left out where all rows have 0.
fn counter(n: u64) -> Cell<'static> {
    Cell::marked(count(n), if n > 0 { Mark::Doubtful } else { Mark::Quiet })
}

/// A row for each distribution, and one for all of them together.
pub(crate) fn distributions(s: &Summary) -> Sheet<'_> {
    let any = |f: fn(&Row) -> u64| s.rows.iter().any(|r| f(r) > 0);
    let rows = s.rows.iter().chain(merged(s).filter(|_| s.rows.len() > 1));
    let columns = Columns::new()
        .left("", 0, |r: &Row| r.label.as_str().into())
        .right("samples", 0, |r| count(r.count).into())
        .right("expected", 2, |r| r.expected.map_or_else(|| NONE.into(), count).into())
        .right("missed", 0, |r| Cell::trouble(r.missed))
        .right("min us", 0, |r| us_opt(r.min).into())
        .right("mean us", 0, |r| us_f64(r.mean).into())
        .right("max us", 0, |r| Cell::main(us_opt(r.max)))
        .right("std dev us", 1, |r| us_f64(r.stddev).into())
        .right("p99 us", 3, |r| raw(r, "p99"))
        .right("p99.9 us", 0, |r| raw(r, "p99.9"))
        .when(any(|r| r.late), |c| c.right("of them late", 0, |r| counter(r.late)))
        .when(any(|r| r.spurious), |c| c.right("spurious", 0, |r| counter(r.spurious)))
        .when(any(|r| r.overflow), |c| c.right("overflow", 0, |r| counter(r.overflow)))
        .when(any(|r| r.dropped), |c| c.right("dropped", 0, |r| counter(r.dropped)));
    columns.sheet(rows).titled(if s.test == Test::Timer { "Each CPU" } else { "Each edge" })
}

/// As [`distributions`] without what can be done without, and with verdict and clock.
pub(crate) fn bare<'s>(record: &'s Record, s: &'s Summary) -> Sheet<'s> {
    let rows = s.rows.iter().chain(merged(s).filter(|_| s.rows.len() > 1));
    let vm = virtual_machine(record);
    let columns = Columns::new()
        .left("", 0, |r: &Row| r.label.as_str().into())
        .right("samples", 0, |r| count(r.count).into())
        .right("missed", 0, |r| Cell::trouble(r.missed))
        .right("min us", 1, |r| us_opt(r.min).into())
        .right("mean us", 1, |r| us_f64(r.mean).into())
        .right("max us", 0, |r| Cell::main(us_opt(r.max)))
        .right("p99.9 us", 0, |r| raw(r, "p99.9"))
        .whole("verdict", 0, |_| Cell::verdict(s.verdict))
        .when(vm, |c| c.left("clock", 0, |_| Cell::clock(s.clock_words.clone(), true)).least(Some(super::CLOCK)));
    columns.sheet(rows)
}

/// Percentiles of all samples, raw and corrected, with notes about both.
pub(crate) fn percentiles(test: Test, all: &Row) -> Sheet<'_> {
    type Line<'a> = (&'a str, Cow<'a, str>, Cow<'a, str>);
    let head = format!("{} us", all.corrected_basis.unwrap_or("corrected"));
    let columns =
        Columns::new()
            .left("", 0, |l: &Line<'_>| l.0.into())
            .right("raw us", 0, |l| l.1.as_ref().into())
            .right(head, 0, |l| l.2.as_ref().into());
    let mut rows: Vec<Line<'_>> =
        all.percentiles.iter().map(|p| (p.name.as_str(), us_opt(p.raw).into(), us_opt(p.corrected).into())).collect();
    rows.extend([
        ("max", us_opt(all.max).into(), us_opt(all.corrected_max).into()),
        ("mean", us_f64(all.mean).into(), us_f64(all.corrected_mean).into()),
        ("samples", count(all.count).into(), all.corrected_count.map_or_else(|| NONE.into(), count).into()),
    ]);
    let rare = all.exceedance.zip(all.max).map(|(p, max)| {
        let (n, max) = (count(all.count), us_whole(max));
        match all.effective {
            Some(worth) => format!(
                "No sample in {n} exceeded {max} us. In their bursts they count as {} independent ones: p < {p:.2e} for the next one at 95 % (rule of three).",
                count(worth)
            ),
            None => format!("No sample in {n} exceeded {max} us. If they were independent, p < {p:.2e} for the next one at 95 % (rule of three)."),
        }
    });
    columns.sheet_of(rows).titled("Percentiles of all").noted(words::corrected(test, all)).noted(rare)
}

/// The worst samples that were kept, highest first, at most `most`; `None` where there are none.
pub(crate) fn worst(record: &Record, most: usize) -> Option<Sheet<'_>> {
    let mut all: Vec<(&Worst, &str)> =
        record.distributions().iter().flat_map(|d| d.worst().iter().map(move |w| (w, d.label()))).collect();
    if all.is_empty() {
        return None;
    }
    all.sort_by(|(a, la), (b, lb)| b.value.cmp(&a.value).then(a.at.cmp(&b.at)).then(la.cmp(lb)));
    let shown = all.len().min(most);
    let title = format!("Worst samples ({shown} of {} kept)", all.len());
    let columns = Columns::new()
        .right("us", 0, |w: &(&Worst, &str)| us_whole(w.0.value).into())
        .right("at s", 0, |w| seconds(w.0.at).into())
        .left("", 0, |w| w.1.into());
    all.truncate(shown);
    Some(columns.sheet_of(all).titled(title))
}
