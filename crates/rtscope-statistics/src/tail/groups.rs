//! The envelope of several tails: for each level, the group that is worst.

use super::found::Study;
use serde::Serialize;

/// The worst of several groups, such as CPUs or loads, at a return period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Envelope {
    /// The period.
    pub period: f64,
    /// The highest level.
    pub level: f64,
    /// The group that has it.
    pub group: String,
    /// The highest upper end of an interval; `None` where a group has no such end.
    pub high: Option<f64>,
    /// The group that has it.
    pub high_group: String,
}

/// The envelope over the periods that all groups have; empty without groups.
pub fn envelope(groups: &[(String, Study)]) -> Vec<Envelope> {
    let Some((_, first)) = groups.first() else { return Vec::new() };
    let at = |period: f64| {
        let rows = groups.iter().map(|(name, s)| Some((name, s.levels.iter().find(|l| l.period.total_cmp(&period).is_eq())?)));
        let rows = rows.collect::<Option<Vec<_>>>()?;
        let worst = rows.iter().max_by(|a, b| a.1.level.total_cmp(&b.1.level))?;
        let end = |l: &super::found::ReturnLevel| l.interval.high.unwrap_or(f64::INFINITY);
        let widest = rows.iter().max_by(|a, b| end(a.1).total_cmp(&end(b.1)))?;
        Some(Envelope {
            period,
            level: worst.1.level,
            group: worst.0.clone(),
            high: widest.1.interval.high,
            high_group: widest.0.clone(),
        })
    };
    first.levels.iter().filter_map(|l| at(l.period)).collect()
}
