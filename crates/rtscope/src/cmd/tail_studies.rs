//! Studies of the tails of runs, for `tail SELECTION` and `report --tail`.

use rtscope_analysis::block_series::{BlockSeries, BlockTally, RecordBlocks};
use rtscope_failure::{Explain as _, Failure};
use rtscope_record::{Nanos, Record};
use rtscope_report::html::TailOf;
use rtscope_statistics::tail::{Cell, Gate, Method, Observed, Request, Series, Study, study};

/// Of each series of `records`: the study of its block maxima, and of its latencies above the usual thresholds.
pub(super) fn tails(records: &[Record]) -> Vec<TailOf> {
    let tally = || {
        let mut all = BlockTally::default();
        for r in records {
            all.add(RecordBlocks::of(r));
        }
        all
    };
    let (blocks, latencies) = (tally().series(), tally().latencies());
    let above = Request { method: Method::Thresholds(Vec::new()), ..Request::default() };
    let one = |all: &BlockSeries| {
        let of = blocks.iter().find(|b| b.name == all.name && b.interval == all.interval && !b.maxima.is_empty());
        let runs = if all.runs == 1 { "1 run".to_owned() } else { format!("{} runs", all.runs) };
        let held = of
            .map_or_else(String::new, |b| format!("{} blocks of {}, ", b.maxima.len(), Nanos(b.interval.saturating_mul(b.points))));
        let why = |e: Failure| e.message;
        TailOf {
            name: all.name.clone(),
            about: format!("{held}{} latencies, {runs}", all.counted.iter().map(|c| c.2).sum::<u64>()),
            blocks: of
                .map_or_else(|| Err("these runs have no block maxima".into()), |b| of_series(b, &Request::default()).map_err(why)),
            latencies: of_series(all, &above).map_err(why),
        }
    };
    latencies.iter().map(one).collect()
}

/// Studies the block maxima of a series; with thresholds, all its latencies. Held to the verdicts of its runs.
pub(super) fn of_series(series: &BlockSeries, request: &Request) -> Result<Study, Failure> {
    let values = if matches!(request.method, Method::Thresholds(_)) {
        let cell = |&(low, high, n): &(u64, u64, u64)| Cell { low: low as f64 / 1e3, high: high as f64 / 1e3, count: n as f64 };
        Series::Counted(Observed::of_cells(series.counted.iter().map(cell).collect()).at(&series.name)?)
    } else {
        Series::Ordered(series.maxima.iter().map(|ns| *ns as f64 / 1e3).collect())
    };
    let mut found = study(&values, request).at(&series.name)?;
    let against = (series.invalid > 0).then(|| format!("{} of {} runs are INVALID", series.invalid, series.runs));
    found.hold_to(Gate::told("verdict", "the runs' verdicts", against, "no run is INVALID"));
    Ok(found)
}
