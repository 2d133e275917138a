//! Which gates a study has, and what became of them.

use super::blocks::exceeding;
use super::gates::{
    ExtremalIndex, Gate, GateOutcome, extremal_index, kpss, kpss_lags, ljung_box, ljung_box_lags, rate, runs, usual_run,
};
use super::goodness::Goodness;
use super::request::Series;

/// The gates of a study.
pub(super) struct Gated {
    pub(super) gates: Vec<Gate>,
    pub(super) extremal_index: Option<ExtremalIndex>,
}

/// A test: statistic and p-value of values.
type Test<'a> = &'a dyn Fn(&[f64]) -> Option<(f64, f64)>;

/// The probability with which good data fail a gate.
const LEVEL: f64 = 0.05;

/// The gates before a fit of `fitted`, which is in its order where that is known.
pub(super) fn gates(
    series: &Series,
    fitted: Option<&[f64]>,
    threshold: Option<f64>,
    declustered: Option<usize>,
    goodness: &Goodness,
) -> Gated {
    let above = threshold.is_some();
    let level = LEVEL / if above { 6.0 } else { 4.0 };
    let what = match (above, declustered) {
        (false, _) => "block maxima",
        (true, None) => "exceedances",
        (true, Some(_)) => "cluster maxima",
    };
    let order = match (fitted, series) {
        (None, _) => Err("the order of the values is not known"),
        (Some(_), Series::Ordered(values)) if is_sorted(values) => {
            Err("the values are sorted, so their order in time is not known")
        }
        (Some(fitted), _) => Ok(fitted),
    };
    let gate = |name: &'static str, test: String, of: Test<'_>, bad: &str| match order {
        Ok(values) => Gate::judged(name, test, of(values), level, bad),
        Err(why) => Gate::not_available(name, test, level, why),
    };
    let n = fitted.map_or(0, <[f64]>::len);
    let (kpss_lags, box_lags) = (kpss_lags(n), ljung_box_lags(n));
    let mut gates = vec![
        gate(
            "stationarity",
            format!("KPSS, level, lag {kpss_lags}"),
            &|v| kpss(v, kpss_lags),
            &format!("the {what} drift: they are not of one law"),
        ),
        gate(
            "correlation",
            format!("Ljung-Box, {box_lags} lags"),
            &|v| ljung_box(v, box_lags),
            &format!("the {what} are correlated: each does not stand for itself"),
        ),
        gate(
            "runs",
            "runs about the median".into(),
            &runs,
            &format!("high and low {what} come in runs, or alternate, more than chance has them"),
        ),
    ];
    let mut index = None;
    if let Some(threshold) = threshold {
        let in_order = match (order, series) {
            (Ok(_), Series::Ordered(values)) => Ok(values.as_slice()),
            (Err(why), _) => Err(why),
            (Ok(_), Series::Counted(_)) => Err("the order of the values is not known"),
        };
        let test = "exceedances over time".to_owned();
        gates.push(match in_order {
            Ok(values) => {
                let bad = "exceedances are more frequent in one part of the series than in another";
                Gate::judged("rate", test, rate(values, threshold), level, bad)
            }
            Err(why) => Gate::not_available("rate", test, level, why),
        });
        index = in_order.ok().and_then(|values| {
            let run = declustered.unwrap_or_else(|| usual_run(values.len(), exceeding(values, threshold).len()));
            extremal_index(values, threshold, run)
        });
        gates.push(clusters(index, in_order.err(), declustered, level));
    }
    let p = goodness.p.map(|p| (goodness.distances.anderson_darling, p.anderson_darling));
    gates.push(Gate::judged(
        "fit",
        format!("Anderson-Darling, {} replicates", goodness.replicates),
        p,
        level,
        &format!("the law does not fit the {what}"),
    ));
    Gated { gates, extremal_index: index }
}

fn clusters(index: Option<ExtremalIndex>, unknown: Option<&str>, declustered: Option<usize>, level: f64) -> Gate {
    if let (Some(run), Some(i)) = (declustered, index) {
        let sentence = format!("met by declustering: {} clusters of {} exceedances", i.clusters, i.exceedances);
        let test = format!("extremal index, runs of {run}");
        return Gate { name: "clusters", test, statistic: Some(i.index), p: None, level, outcome: GateOutcome::Passed, sentence };
    }
    let Some(i) = index else {
        return Gate::not_available("clusters", "extremal index".into(), level, unknown.unwrap_or("there are too few exceedances"));
    };
    let bad = format!(
        "exceedances come in clusters (index {:.3}; independent ones {:.3}): fit their maxima (--decluster {})",
        i.index, i.independent, i.run
    );
    Gate::judged("clusters", format!("extremal index, runs of {}", i.run), Some((i.index, i.p)), level, &bad)
}

/// Whether the values ascend or descend all the way: no series of measurements does.
fn is_sorted(values: &[f64]) -> bool {
    values.len() >= 8 && (values.is_sorted() || values.windows(2).all(|w| w[0] >= w[1]))
}
