//! `rtscope tail SELECTION`: bounds on the tails of runs, by their block maxima.

use super::super::tail_studies::of_series;
use super::plots;
use crate::args::tail::Tail;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::block_series::{BlockSeries, BlockTally, RecordBlocks};
use rtscope_failure::Failure;
use rtscope_record::Nanos;
use rtscope_report::table;
use rtscope_statistics::tail::{Envelope, Method, Request, Study, envelope};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    /// Names the form of this document.
    schema: &'static str,
    /// Of all latencies.
    unit: &'static str,
    /// Said with every figure.
    note: &'static str,
    series: Vec<One<'a>>,
    /// The worst of all series.
    envelope: Vec<Envelope>,
}

#[derive(Serialize)]
struct One<'a> {
    name: &'a str,
    runs: usize,
    /// Grid points of a block.
    block_points: u64,
    interval_ns: u64,
    answer: String,
    #[serde(flatten)]
    study: &'a Study,
}

/// Latencies are studied and printed in this unit.
const UNIT: &str = "us";

/// Studies the block maxima of a selection.
pub(super) fn run(context: &Context, a: &Tail, request: &Request) -> Result<Code, Failure> {
    let mut tally = BlockTally::default();
    Selection::of(context, &a.selection)?.each(RecordBlocks::of, |blocks| {
        tally.add(blocks);
        Ok(())
    })?;
    let by_threshold = matches!(request.method, Method::Thresholds(_));
    if tally.without() > 0 && !by_threshold {
        context.say(&format!("{} runs without block maxima are left out", tally.without()));
    }
    let mut all = if by_threshold { tally.latencies() } else { tally.series() };
    all.retain(|s| by_threshold || !s.maxima.is_empty());
    if all.is_empty() && by_threshold {
        return Err(Failure::usage("none of these runs has samples", "select others: rtscope list"));
    }
    if all.is_empty() {
        return Err(Failure::usage(
            "none of these runs has block maxima",
            "they are kept by timer tests in user space of 64 intervals and more: `rtscope measure timer -D 1m`",
        ));
    }
    let of = |series: &BlockSeries| of_series(series, request);
    let studies: Vec<(String, Study)> = all.iter().map(|s| Ok((s.name.clone(), of(s)?))).collect::<Result<_, Failure>>()?;
    let worst = envelope(&studies);
    if let Some(dir) = &a.svg {
        for (i, (_, study)) in studies.iter().enumerate() {
            let dir = if studies.len() == 1 { dir.clone() } else { dir.join((i + 1).to_string()) };
            plots::write(&dir, study, UNIT)?;
        }
    }
    if a.json {
        let one = |(s, (_, study)): (&'_ BlockSeries, &'_ (String, Study))| {
            (s.runs, s.points, s.interval, table::tail_sentence(study, UNIT))
        };
        let told: Vec<_> = all.iter().zip(&studies).map(one).collect();
        let series = told.into_iter().zip(&studies).map(|((runs, block_points, interval_ns, answer), (name, study))| One {
            name,
            runs,
            block_points,
            interval_ns,
            answer,
            study,
        });
        output::json(&Printed {
            schema: "rtscope-tail-runs/1",
            unit: UNIT,
            note: table::NO_GUARANTEE,
            series: series.collect(),
            envelope: worst,
        })?;
        return Ok(Code::Done);
    }
    let style = super::super::style();
    let mut out = String::new();
    for (series, (name, study)) in all.iter().zip(&studies) {
        let time = Nanos(series.interval.saturating_mul(series.points));
        let runs = if series.runs == 1 { "1 run".into() } else { format!("{} runs", series.runs) };
        out += &if by_threshold {
            format!("{name}: {} latencies, {runs}\n", series.counted.iter().map(|c| c.2).sum::<u64>())
        } else {
            format!("{name}: {} blocks of {time}, {runs}\n", series.maxima.len())
        };
        out += &if studies.len() == 1 { table::tail(study, UNIT, style) } else { table::tail_sentence(study, UNIT) + "\n\n" };
    }
    if studies.len() > 1 {
        out += &table::tail_envelope(&worst, request.confidence, style);
        out += &format!("\n{}\n", table::NO_GUARANTEE);
    }
    output::result(&out)?;
    Ok(Code::Done)
}
