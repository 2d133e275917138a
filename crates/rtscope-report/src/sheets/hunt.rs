//! The ranking of a hunt: loads by the latency that was found under them.

use crate::format::{clean, seconds, us_whole};
use crate::sheet::{Cell, Columns, Sheet};
use rtscope_record::Verdict;
use serde::Serialize;

/// A load of the ranking, with its worst trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HuntRow {
    /// The load.
    pub load: String,
    /// Maximum latency, ns.
    pub max: u64,
    /// That on the target which it is held against, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<u64>,
    /// How long the trial measured, ns.
    pub trial: u64,
    /// Seed of the lab's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// When the trial began, ns after the hunt's first one.
    pub found: u64,
    /// Its verdict.
    pub verdict: Verdict,
    /// Id of its record.
    pub record: String,
}

pub(crate) fn ranking(rows: &[HuntRow]) -> Sheet<'_> {
    let against = rows.iter().any(|r| r.against.is_some());
    let mut columns =
        Columns::new().left("load", 0, |r: &HuntRow| clean(&r.load).into()).right("max us", 0, |r| Cell::main(us_whole(r.max)));
    if against {
        columns =
            columns
                .right("against us", 0, |r| r.against.map_or_else(|| "-".into(), us_whole).into())
                .right("more by us", 0, |r| us_whole(r.max.saturating_sub(r.against.unwrap_or(0))).into());
    }
    columns
        .right("trial ms", 0, |r| format!("{}", r.trial as f64 / 1e6).into())
        .right("seed", 0, |r| r.seed.map_or_else(|| "-".into(), |s| s.to_string()).into())
        .right("found after s", 0, |r| seconds(r.found)[..seconds(r.found).len() - 5].to_owned().into())
        .whole("verdict", 0, |r| Cell::verdict(r.verdict))
        .whole("record", 0, |r| clean(&r.record).into())
        .sheet(rows)
}
