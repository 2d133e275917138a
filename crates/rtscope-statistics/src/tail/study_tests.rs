//! Tests of whole studies.

use super::*;
use crate::tail::law::Law;
use crate::tail::published::{PORTPIRIE, VENICE};
use crate::tail::request::Cut;
use crate::tail::{Cell, envelope, fit::drawn};

fn of(values: &[f64], method: Method) -> Study {
    study(&Series::Ordered(values.to_vec()), &Request { method, replicates: 199, ..Request::default() }).unwrap()
}

fn outcome(s: &Study, name: &str) -> GateOutcome {
    s.gates.iter().find(|g| g.name == name).unwrap().outcome
}

#[test]
fn port_pirie_has_a_bound_and_venice_has_none() {
    let s = of(&PORTPIRIE, Method::Maxima);
    assert!(s.bounded && s.gates.len() == 5, "{:?}", s.gates);
    let head = &s.levels[s.headline];
    assert!((head.level - 4.688_404).abs() < 1e-5 && (head.extrapolation - 100.0 / 65.0).abs() < 1e-12);
    assert!(head.bootstrap.unwrap().high.unwrap() > head.level);
    assert_eq!(s, of(&PORTPIRIE, Method::Maxima));
    // Venice sinks.
    let s = of(&VENICE, Method::Maxima);
    assert!(!s.bounded && outcome(&s, "runs") == GateOutcome::Failed, "{:?}", s.gates);
}

#[test]
fn sorted_values_have_no_order() {
    let mut values = PORTPIRIE.to_vec();
    values.sort_by(f64::total_cmp);
    let s = of(&values, Method::Maxima);
    assert!(!s.bounded && outcome(&s, "runs") == GateOutcome::NotAvailable && outcome(&s, "fit") == GateOutcome::Passed);
}

#[test]
fn independent_values_pass_and_clusters_do_not() {
    let law = Law { family: Family::Gpd, location: 0.0, scale: 5.0, shape: 0.1 };
    let values = drawn(&law, 20_000, 41);
    let s = of(&values, Method::Thresholds(vec![Cut::Above(0.05)]));
    assert!(s.bounded, "{:?}", s.gates);
    assert!((s.rate - 0.05).abs() < 1e-3 && s.thresholds.len() >= 6 && s.mean_residual_life.len() > 20);
    let head = &s.levels[s.headline];
    let truth = law.exceeded_with(head.probability);
    assert!(head.interval.low.unwrap() < truth && truth < head.interval.high.unwrap(), "{truth} {head:?}");
    let pairs: Vec<f64> = values.windows(3).map(|w| w[0].max(w[1]).max(w[2])).collect();
    let s = of(&pairs, Method::Thresholds(vec![Cut::Above(0.05)]));
    assert!(!s.bounded && outcome(&s, "clusters") == GateOutcome::Failed, "{:?}", s.gates);
    let request =
        Request { method: Method::Thresholds(vec![Cut::Above(0.05)]), decluster: Some(10), replicates: 99, ..Request::default() };
    let s = study(&Series::Ordered(pairs), &request).unwrap();
    assert_eq!(outcome(&s, "clusters"), GateOutcome::Passed);
    assert!(s.fitted < 700.0, "{}", s.fitted);
}

#[test]
fn values_without_a_maximum_of_the_likelihood_have_no_bound() {
    // The denser the nearer to their end: the likelihood grows up to the border.
    let values: Vec<f64> = (0..40u32).map(|i| 1.0 - (f64::from(i * 7 % 40) / 40.0).powi(3)).collect();
    let method = Method::Thresholds(vec![Cut::At(0.0)]);
    let request = Request { method, rounding: Rounding::Exact, replicates: 99, ..Request::default() };
    let s = study(&Series::Ordered(values), &request).unwrap();
    assert!(s.fit.at_border && !s.bounded && outcome(&s, "interval") == GateOutcome::Failed, "{:?} {:?}", s.fit, s.gates);
}

#[test]
fn blocks_are_made_of_series() {
    let law = Law { family: Family::Gpd, location: 0.0, scale: 5.0, shape: 0.0 };
    let values = drawn(&law, 10_050, 3);
    let s = of(&values, Method::BlockSize(100));
    assert!((s.fitted - 100.0).abs() < 1e-9 && s.block_size == Some(100));
    assert!(s.warnings.iter().any(|w| w.contains("last 50 values")), "{:?}", s.warnings);
    // The maximum of 100 exponential values: location 5 ln 100, scale 5.
    assert!((s.fit.law.location - 5.0 * 100f64.ln()).abs() < 2.0 && (s.fit.law.scale - 5.0).abs() < 1.5, "{:?}", s.fit.law);
    assert_eq!(of(&values, Method::Blocks(100)).fit.law, s.fit.law);
}

#[test]
fn a_histogram_has_no_bound_without_order() {
    let law = Law { family: Family::Gpd, location: 100.0, scale: 5.0, shape: 0.1 };
    let mut counts = std::collections::BTreeMap::new();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small positive numbers
    for v in drawn(&law, 200_000, 77) {
        *counts.entry(v.floor() as u64).or_insert(0u32) += 1;
    }
    let cell = |(low, count): (&u64, &u32)| Cell { low: *low as f64, high: (low + 1) as f64, count: f64::from(*count) };
    let o = Observed::of_cells(counts.iter().map(cell).collect()).unwrap();
    let request = Request { method: Method::Thresholds(Vec::new()), replicates: 99, ..Request::default() };
    let s = study(&Series::Counted(o), &request).unwrap();
    let shape = &s.parameters[1];
    assert!((shape.value - 0.1).abs() < 4.0 * shape.error.unwrap(), "{shape:?}");
    assert!(!s.bounded && outcome(&s, "fit") == GateOutcome::Passed && outcome(&s, "clusters") == GateOutcome::NotAvailable);
    let all = envelope(&[("cpu0".into(), s.clone()), ("cpu1".into(), s.clone())]);
    assert_eq!(all.len(), s.levels.len());
    assert!(envelope(&[]).is_empty());
}

#[test]
fn what_has_no_meaning_is_refused() {
    let refused = |request: Request| study(&Series::Ordered(PORTPIRIE.to_vec()), &request).unwrap_err().to_string();
    let usual = Request::default();
    assert!(refused(Request { periods: vec![1.0], ..usual.clone() }).contains("2 or more"));
    assert!(refused(Request { confidence: 1.0, ..usual.clone() }).contains("confidence"));
    assert!(refused(Request { decluster: Some(1), ..usual.clone() }).contains("clusters"));
    assert!(refused(Request { method: Method::Thresholds(vec![Cut::At(9.0)]), ..usual.clone() }).contains("highest value is 4.69"));
    assert!(refused(Request { method: Method::BlockSize(30), ..usual.clone() }).contains("a fit needs 10"));
    let request = Request { method: Method::Thresholds(vec![Cut::At(4.0)]), periods: vec![2.0], ..usual };
    assert!(refused(request).contains("below the threshold"));
}
