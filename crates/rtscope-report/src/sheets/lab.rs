//! What the lab's figures depend on: maxima over seeds, and ratios over time models.

use crate::ReportError;
use crate::format::{clean, count, times, us_f64, us_opt};
use crate::names::kind_names;
use crate::sheet::{Cell, Columns, Mark, Sheet};
use crate::words::headline;
use rtscope_analysis::{Band, Seeds, clock_words};
use rtscope_record::{Distribution, Quantile, Record, Verdict};
use std::collections::BTreeSet;

/// The lab's runs of one kernel under one load, with any seeds.
struct Kind<'a> {
    name: &'a str,
    first: &'a Record,
    seeds: Seeds,
    verdict: Verdict,
    all: Option<Distribution>,
}

impl Kind<'_> {
    fn at(&self, q: Quantile) -> Cell<'static> {
        us_opt(self.all.as_ref().and_then(|d| d.value_at(q))).into()
    }
}

/// A row for each kernel and load of the lab's runs: figures over all seeds, and the seeds' maxima. `None` where nothing
/// has two seeds.
pub(crate) fn seeds(records: &[Record]) -> Result<Option<Sheet<'static>>, ReportError> {
    let every: Vec<&Record> = records.iter().collect();
    let names = kind_names(&every);
    let (mut done, mut several, mut rows) = (BTreeSet::new(), false, Vec::new());
    for name in &names {
        if !done.insert(name) {
            continue;
        }
        let own: Vec<&Record> = records.iter().zip(&names).filter(|(_, n)| *n == name).map(|(r, _)| r).collect();
        let Some(of) = Seeds::of(&own) else { return Ok(None) };
        several |= of.seeds > 1;
        let mut all: Option<Distribution> = None;
        for r in &own {
            let failed = |error| ReportError::Merge { id: r.id().into(), error };
            all = match (all, r.merged().map_err(failed)?) {
                (Some(sum), Some(d)) => Some(sum.merge(&d, "all", 1).map_err(failed)?),
                (sum, d) => sum.or(d),
            };
        }
        let verdict = own.iter().map(|r| r.verdict()).max().unwrap_or(Verdict::Invalid);
        rows.push(Kind { name, first: own[0], seeds: of, verdict, all });
    }
    if !several {
        return Ok(None);
    }
    let all = |k: &Kind<'_>, f: fn(&Distribution) -> u64| count(k.all.as_ref().map_or(0, f));
    let columns = Columns::new()
        .left("load", 0, |k: &Kind<'_>| k.name.into())
        .right("seeds", 1, |k| k.seeds.seeds.to_string().into())
        .right("mean us", 0, |k| us_f64(k.all.as_ref().and_then(Distribution::mean)).into())
        .right("p99.9 us", 1, |k| k.at(Quantile::STANDARD[4]))
        .right("p99.99 us", 4, |k| k.at(Quantile::STANDARD[5]))
        .group("max over seeds, us")
        .right("lowest", 2, |k| us_opt(Some(k.seeds.lowest)).into())
        .right("median", 0, |k| us_opt(Some(k.seeds.median)).into())
        .right("highest", 0, |k| Cell::main(us_opt(Some(k.seeds.highest))))
        .group("")
        .right("samples", 3, move |k| all(k, Distribution::count).into())
        .right("missed", 0, move |k| all(k, Distribution::missed).into())
        .whole("verdict", 0, |k| Cell::verdict(k.verdict))
        .whole("clock", 0, |k| Cell::clock(clock_words(k.first), true));
    let [title, about] = headline(&every);
    Ok(Some(columns.sheet_of(rows).titled(title).about(about)))
}

/// Ratios (`what`: "B/A of") over time models: each ratio, the range, and whether the conclusion flips. `None` without
/// any.
pub(crate) fn bands<'a>(bands: &'a [Band], what: &'a str) -> Option<Sheet<'a>> {
    let models: BTreeSet<u32> = bands.iter().flat_map(|b| b.ratios.keys().copied()).collect();
    let several = bands.iter().map(|b| &b.of).collect::<BTreeSet<_>>().len() > 1;
    let mut columns = Columns::new()
        .when(several, |c| c.left("kernels", 2, |b: &Band| clean(&b.of).into()))
        .left("load", 0, |b| b.load.as_str().into())
        .left(what, 0, |b| b.metric.as_str().into());
    for m in models {
        columns = columns.right(format!("model {m}"), 0, move |b| times(b.ratios.get(&m).copied()).into());
    }
    let columns =
        columns
            .left("range", 0, |b| Cell::main(format!("{} to {}", times(Some(b.low)), times(Some(b.high)))))
            .left("", 0, |b| if b.flips { Cell::marked("FLIPS", Mark::Bad) } else { "".into() });
    (!bands.is_empty()).then(|| columns.sheet(bands).titled("Over the time models"))
}
