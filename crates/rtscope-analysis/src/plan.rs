//! How long to measure: samples, time and runs that a claim takes, what a time can claim, and the runs that a difference takes.

use crate::assertion::{Assertion, Metric, Op};
use crate::confidence::{Confidence, most};
use crate::effective::Bursts;
use crate::replicates::{Kept, METRICS, Run, spreads};
use rtscope_failure::{Fault, Problem};
use rtscope_record::correction::Corrected;
use rtscope_record::{Quantile, Record, Verdict};
use rtscope_statistics::replicates::{Level, Spread, runs_for};
use serde::Serialize;

/// In how many cases a plan holds: z of the normal distribution at 90 %.
const NINE_OF_TEN: f64 = 1.281_551_565_544_600_4;
/// More samples than this are planned by nobody: 30 years at 1 us.
const MOST: u64 = 1_000_000_000_000_000;

/// Why nothing can be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The claim is not that of a percentile below a limit.
    #[error("`{0}` is not a claim that more samples could show: a plan is for a percentile below a limit")]
    Claim(String),
    /// A record of the selection is INVALID.
    #[error("{0} is INVALID: nothing can be planned from it")]
    Invalid(String),
    /// The selection says nothing of the events.
    #[error("{0} does not say its interval, or holds no events: nothing can be planned from it")]
    Nothing(String),
}

impl Problem for PlanError {
    fn remedy(&self) -> String {
        match self {
            Self::Claim(_) => "rtscope plan 'p99.99<100us'".into(),
            Self::Invalid(id) => format!("select others, or see its warnings: rtscope show {id}"),
            Self::Nothing(_) => "select runs of the timer test, or give --interval and no --from".into(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

/// What earlier runs tell a plan.
#[derive(Debug, Clone, Default)]
pub struct Pilot {
    /// How many.
    pub runs: usize,
    /// The shortest of them, ns.
    pub shortest_ns: Option<u64>,
    /// Interval of their grids, ns; the longest of several.
    pub interval_ns: u64,
    /// What their block maxima say of bursts; `None` where one run does not know.
    pub bursts: Option<Bursts>,
    unburst: bool,
    /// Of each label: events, and those beyond the limit of the claim.
    of_label: Vec<(String, u64, u64)>,
    replicates: Kept,
}

impl Pilot {
    /// Adds a run; `claim` is what it is to tell of.
    pub fn add(&mut self, r: &Record, claim: Option<&Assertion>) -> Result<(), PlanError> {
        if r.verdict() == Verdict::Invalid {
            return Err(PlanError::Invalid(r.id().into()));
        }
        let p = r.parts();
        let intervals = r.distributions().iter().filter_map(|d| d.parts().thread.as_ref()).map(|t| t.interval);
        let interval = intervals.max().filter(|i| *i > 0).or((p.settings.interval.0 > 0).then_some(p.settings.interval.0));
        self.interval_ns = self.interval_ns.max(interval.ok_or_else(|| PlanError::Nothing(r.id().into()))?);
        for d in r.distributions() {
            let view = Corrected::of(p, d).ok_or_else(|| PlanError::Nothing(r.id().into()))?;
            let beyond = claim.map_or(0, |c| {
                // `above` counts what is above a slot; a slot that holds the limit counts whole.
                let (above, within) = view.histogram.above(c.bound);
                let within = if view.max > c.bound || c.op == Op::Below { within } else { 0 };
                above + within + view.unanswered
            });
            match self.of_label.iter_mut().find(|l| l.0 == d.label()) {
                Some(l) => (l.1, l.2) = (l.1 + view.count(), l.2 + beyond),
                None => self.of_label.push((d.label().into(), view.count(), beyond)),
            }
        }
        let bursts = Bursts::of_record(r);
        self.unburst |= bursts.is_none();
        self.bursts = match (self.bursts, bursts) {
            _ if self.unburst => None,
            (Some(own), Some(more)) => Some(own.with(more)),
            (own, more) => own.or(more),
        };
        self.runs += 1;
        self.shortest_ns = Some(self.shortest_ns.map_or(p.elapsed_ns, |s| s.min(p.elapsed_ns)));
        let all = r.merged().ok().flatten();
        self.replicates.extend(&Kept::one(Run::of(r, all.as_ref(), Corrected::of_record(r).as_ref())));
        Ok(())
    }

    /// The label with the highest share beyond the limit: that share's events decide.
    fn worst(&self) -> Option<&(String, u64, u64)> {
        let share = |l: &&(String, u64, u64)| l.2 as f64 / l.1.max(1) as f64;
        self.of_label.iter().max_by(|a, b| share(a).total_cmp(&share(b)))
    }
}

/// What a claim takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimPlan {
    /// As it was given.
    pub claim: String,
    /// Independent samples of each thread if none is beyond the limit.
    pub least: u64,
    /// Independent samples of each thread with which it is shown in nine of ten cases, if as many exceed the limit as in the earlier runs;
    /// `None`: no number shows it.
    pub independent: Option<u64>,
    /// The same in samples as they come, in bursts.
    pub samples: Option<u64>,
    /// The time that these take, ns.
    pub duration_ns: Option<u64>,
    /// Runs as long as the shortest of the earlier ones.
    pub runs: Option<u64>,
    /// The thread of the earlier runs that exceeds the limit most often: its name, events and events beyond the limit.
    pub worst: Option<(String, u64, u64)>,
}

/// What a time can claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimePlan {
    /// The time, ns.
    pub duration_ns: u64,
    /// Samples of each thread.
    pub samples: u64,
    /// Independent samples that these are worth.
    pub independent: u64,
    /// Percentiles that can be claimed if none of the samples is beyond the limit.
    pub percentiles: Vec<String>,
    /// If none exceeds a limit, the next one does with a probability below this (rule of three, at the confidence of the plan).
    pub exceedance: Option<f64>,
}

/// What a difference between two sides takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DifferencePlan {
    /// Difference in percent.
    pub percent: f64,
    /// Loads that the comparison will have.
    pub loads: usize,
    /// For each figure: its name, how much runs vary (standard deviation of the logarithm), and runs a side; `None`: more than 10,000.
    pub rows: Vec<(String, Option<f64>, Option<usize>)>,
}

/// Plans a claim; with `pilot.runs` 0, of independent samples of which none is beyond the limit.
pub fn plan_claim(claim: &Assertion, confidence: Confidence, interval_ns: u64, pilot: &Pilot) -> Result<ClaimPlan, PlanError> {
    let q = match (claim.metric, claim.op) {
        (Metric::Percentile(q), Op::Below | Op::AtMost) if q.samples_needed() > 1 => q,
        _ => return Err(PlanError::Claim(claim.to_string())),
    };
    let (share, risk) = (1.0 - q.as_f64(), confidence.risk());
    let worst = pilot.worst().cloned();
    let rate = worst.as_ref().map_or(0.0, |w| w.2 as f64 / w.1.max(1) as f64);
    let independent = samples(share, rate, risk);
    let index = pilot.bursts.map_or(1.0, |b| b.index());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // capped
    let as_they_come = independent.map(|n| (n as f64 / index).ceil().min(MOST as f64) as u64);
    let duration_ns = as_they_come.map(|n| n.saturating_mul(interval_ns));
    let runs = duration_ns.zip(pilot.shortest_ns.filter(|s| *s > 0)).map(|(d, s)| d.div_ceil(s));
    Ok(ClaimPlan {
        claim: claim.to_string(),
        least: samples(share, 0.0, risk).unwrap_or(MOST),
        independent,
        samples: as_they_come,
        duration_ns,
        runs,
        worst,
    })
}

/// Samples with which "at most `share` are beyond" is shown in nine of ten cases if `rate` of them are.
fn samples(share: f64, rate: f64, risk: f64) -> Option<u64> {
    if rate >= share {
        return None;
    }
    let shows = |n: u64| {
        let expected = n as f64 * rate;
        most(n, share, risk).is_some_and(|k| expected + NINE_OF_TEN * expected.sqrt() <= k as f64)
    };
    // Beyond a billion allowed ones, `most` would take long.
    let high = std::iter::successors(Some(1u64), |n| n.checked_mul(2))
        .take_while(|n| *n <= MOST && *n as f64 * share < 1e9)
        .find(|n| shows(*n))?;
    let (mut low, mut high) = (high / 2, high);
    while high - low > 1 + high / 1_000_000 {
        let middle = low.midpoint(high);
        if shows(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// What `duration_ns` can claim.
pub fn plan_time(duration_ns: u64, confidence: Confidence, interval_ns: u64, pilot: &Pilot) -> TimePlan {
    let samples = duration_ns / interval_ns.max(1);
    let independent = pilot.bursts.map_or(samples, |b| b.effective(samples));
    let risk = confidence.risk();
    let shown = |q: &Quantile| most(independent, 1.0 - q.as_f64(), risk).is_some();
    let more = ["p99.9999", "p99.99999", "p99.999999"].into_iter().filter_map(|t| t.parse().ok());
    TimePlan {
        duration_ns,
        samples,
        independent,
        percentiles: Quantile::STANDARD.into_iter().chain(more).filter(shown).map(|q| q.to_string()).collect(),
        exceedance: (independent >= 30).then(|| -risk.ln() / independent as f64),
    }
}

/// Runs a side that show a difference of `percent` in a comparison of `loads` loads.
pub fn plan_difference(percent: f64, loads: usize, pilot: &Pilot) -> DifferencePlan {
    let level = Level { confidence: 0.95, rows: loads.max(1) * METRICS.len(), seed: 0 };
    let ratio = 1.0 + percent / 100.0;
    let row = |(metric, spread): (&str, Option<Spread>)| {
        (metric.to_owned(), spread.map(|s| s.seen), spread.and_then(|s| runs_for(s, ratio, level)))
    };
    DifferencePlan { percent, loads, rows: spreads(&pilot.replicates).into_iter().map(row).collect() }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
