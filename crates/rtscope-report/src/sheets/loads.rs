//! Load by load: mean, maximum, minimum and standard deviation in the layout of Vinh & Chau's tables.

use crate::format::{NONE, count, us_f64, us_opt};
use crate::names::run_names;
use crate::sheet::{Cell, Columns, Sheet};
use crate::words::{RULE_NOTE, any_guess, by_test, corrected_cell, headline, hertz, mean, signed, signed_us, troubles};
use crate::{ReportError, summarize};
use rtscope_analysis::line_tests::EdgeFigures;
use rtscope_analysis::summary::{Percentile, Row};
use rtscope_analysis::{Summary, virtual_machine};
use rtscope_record::{Record, Test};

/// A record and the figures of its row.
struct Run<'a> {
    /// Index of the record.
    index: usize,
    name: String,
    record: &'a Record,
    s: Summary,
    /// The signed figures, for a test with jitter.
    jitter: Option<EdgeFigures>,
}

impl Run<'_> {
    fn all(&self) -> Option<&Row> {
        self.s.merged.as_ref()
    }

    fn at(&self, percentile: &str) -> Option<&Percentile> {
        self.all().and_then(|a| a.percentile(percentile))
    }

    /// A figure in us: `jitter` for signed samples, otherwise `latency`.
    fn us(&self, jitter: fn(&EdgeFigures) -> Option<i64>, latency: fn(&Row) -> Option<u64>) -> String {
        match &self.jitter {
            Some(j) => signed_us(self.s.test, jitter(j)),
            None => us_opt(self.all().and_then(latency)),
        }
    }

    /// The interval of the sustained frequency, ns.
    fn sustained(&self) -> Option<u64> {
        self.record.parts().instrument.as_ref().and_then(|i| i.sustained).map(|n| n.0)
    }

    fn drift(&self) -> String {
        let grid = self.record.parts().instrument.as_ref().and_then(|i| i.grid);
        grid.map_or_else(|| NONE.into(), |g| format!("{:+.3}", g.drift_ppb as f64 / 1e3))
    }
}

/// A table for each test, with a row for each record. Jitter has signs instead of percentiles; a sustained frequency
/// precedes the latencies measured at it.
pub(crate) fn loads(records: &[Record]) -> Result<Vec<Sheet<'static>>, ReportError> {
    let mut sheets = by_test(records).into_iter().map(|(test, of)| of_test(test, &of, records)).collect::<Result<Vec<_>, _>>()?;
    if let Some(last) = sheets.last_mut() {
        last.notes.extend(any_guess(records).then(|| RULE_NOTE.to_owned()));
    }
    Ok(sheets)
}

fn of_test(test: Test, members: &[usize], records: &[Record]) -> Result<Sheet<'static>, ReportError> {
    let own: Vec<&Record> = members.iter().map(|&i| &records[i]).collect();
    let runs = members.iter().zip(run_names(&own)).map(|(&index, name)| {
        let record = &records[index];
        let s = summarize(record)?;
        Ok(Run { index, name, record, jitter: signed(record)?, s })
    });
    let runs = runs.collect::<Result<Vec<Run<'_>>, ReportError>>()?;
    let [late, spurious] = [0, 1].map(|i| runs.iter().any(|r| troubles(&r.s)[i] > 0));
    let (wave, search) = (test == Test::Periodic, test == Test::Sustained);
    let unit = if search { "" } else { " us" };
    let [high, low] = if wave { ["latest", "earliest"] } else { ["max", "min"] };
    let columns = Columns::new()
        .left("load", 0, |r: &Run<'_>| Cell { run: Some(r.index), ..r.name.as_str().into() })
        .least(Some(super::LOAD))
        .when(search, |c| {
            c.right("sustained Hz", 0, |r| r.sustained().map_or_else(Cell::none, |ns| Cell::main(hertz(ns))))
                .right("edge every us", 1, |r| us_opt(r.sustained()).into())
                .group("latency at it, us")
        })
        .right(format!("mean{unit}"), 0, |r| mean_of(r).into())
        .right(format!("{high}{unit}"), 0, move |r| match r.us(|j| j.max, |a| a.max) {
            max if search => max.into(),
            max => Cell::main(max),
        })
        .right(format!("{low}{unit}"), if wave { 0 } else { 2 }, |r| r.us(|j| j.min, |a| a.min).into())
        .right(format!("std dev{unit}"), 2, |r| us_f64(r.jitter.as_ref().map_or_else(|| r.all()?.stddev, |j| j.stddev)).into())
        .group("")
        .right("samples", 3, |r| r.all().map_or_else(|| NONE.into(), |a| count(a.count)).into())
        .right("missed", 0, |r| Cell::trouble(r.all().map_or(0, |a| a.missed)))
        .when(late, |c| c.right("of them late", 0, |r| Cell::trouble(troubles(&r.s)[0])))
        .when(spurious, |c| c.right("spurious", 0, |r| Cell::trouble(troubles(&r.s)[1])))
        .when(wave, |c| c.right("drift ppm", 1, |r| r.drift().into()))
        .when(!wave, |c| {
            c.right("p99.9 us", 1, |r| us_opt(r.at("p99.9").and_then(|p| p.raw)).into())
                .right("p99.99 us", 5, |r| us_opt(r.at("p99.99").and_then(|p| p.raw)).into())
                .right("corr. p99.9", 4, |r| corrected_cell(r.all(), r.at("p99.9")).into())
        })
        .whole("verdict", 0, |r| Cell::verdict(r.s.verdict))
        .whole("clock", 0, |r| Cell::clock(r.s.clock_words.as_str(), virtual_machine(r.record)));
    let [title, about] = headline(&own);
    Ok(columns.sheet_of(runs).titled(title).about(about))
}

fn mean_of(r: &Run<'_>) -> String {
    match &r.jitter {
        Some(j) => mean(r.s.test, j.mean),
        None => us_f64(r.all().and_then(|a| a.mean)),
    }
}
