//! Distributions as JSON: each part has its key, and derived figures are checked to the last digit.

use super::*;
use crate::distribution::DistributionParts;
use crate::policy::Policy;
use serde_json::{Value, json};

fn of(samples: &[u64], change: impl FnOnce(&mut DistributionParts)) -> Distribution {
    let mut p = Distribution::from_samples("cpu0", samples, 2).unwrap().into_parts();
    change(&mut p);
    Distribution::new(p).unwrap()
}

fn written(d: &Distribution) -> Value {
    serde_json::to_value(d).unwrap()
}

fn read(json: Value) -> Result<Distribution, String> {
    serde_json::from_value(json).map_err(|e| e.to_string())
}

/// The error on reading `json` with `value` under `key`; empty if it can be read.
fn with(json: &Value, key: &str, value: impl Into<Value>) -> String {
    let mut changed = json.clone();
    changed[key] = value.into();
    read(changed).err().unwrap_or_default()
}

fn without(json: &Value, key: &str) -> Value {
    let mut changed = json.clone();
    changed.as_object_mut().unwrap().remove(key);
    changed
}

#[test]
fn each_part_has_its_name() {
    let d = of(&[1_500, 2_500], |p| {
        (p.missed, p.late, p.spurious, p.dropped, p.expected, p.resolution) = (7, 5, 6, 8, Some(17), 1);
        let (policy, last) = (Some(Policy::Fifo), Some(2_500));
        p.thread = Some(ThreadInfo { tid: 71, cpu: Some(3), policy, priority: 80, interval: 1_000, last, first_at: Some(9) });
        p.linear = Some(LinearBins { unit_ns: 1_000, size: 10, counts: vec![(1, 1), (2, 1)], overflow_at: vec![4] });
    });
    let json = written(&d);
    let expected = json!({
        "label": "cpu0", "count": 2, "min": 1_500, "max": 2_500, "mean": 2_000.0, "stddev": 500.0, "missed": 7, "late": 5, "spurious": 6,
        "overflow": 0, "dropped": 8, "expected": 17, "percentiles": {"p50": 1_500}, "sum": "4000", "sum_sq": "8500000", "resolution": 1,
        "worst": [{"value": 2_500, "at": 1}, {"value": 1_500, "at": 0}],
        "thread": {"tid": 71, "cpu": 3, "policy": "fifo", "priority": 80, "interval": 1_000, "last": 2_500, "first_at": 9},
        "linear": {"unit_ns": 1_000, "size": 10, "counts": [[1, 1], [2, 1]], "overflow_at": [4]},
        "histogram": hdr::encode(d.histogram()),
    });
    assert_eq!(json, expected);
    assert_eq!(read(json), Ok(d));
}

#[test]
fn what_is_absent_is_nothing() {
    let d = of(&[1_000, 3_000], |_| ());
    let json = written(&d);
    for key in ["late", "passed", "thread", "linear", "hdrhistogram_rule_percentiles"] {
        assert!(json.get(key).is_none(), "{key}");
    }
    // Older records lack these.
    for key in ["dropped", "expected", "resolution", "corrected_percentiles"] {
        assert_eq!(read(without(&json, key)), Ok(d.clone()), "{key}");
    }
    assert!(read(without(&json, "count")).is_err());
}

#[test]
fn both_sums_are_there_or_none() {
    let json = written(&of(&[1_000, 3_000], |_| ()));
    for key in ["sum", "sum_sq"] {
        assert_eq!(read(without(&json, key)).unwrap_err(), "cpu0: only one of the two sums is there");
        assert_eq!(with(&json, key, "1e3"), "cpu0: a sum is not a decimal number");
    }
    let foreign = of(&[1_000, 3_000], |p| p.moments = Moments::Reported { mean: 1_999.5 });
    let json = written(&foreign);
    assert_eq!((&json["mean"], &json["stddev"], json.get("sum"), json.get("sum_sq")), (&json!(1_999.5), &Value::Null, None, None));
    assert_eq!(read(json), Ok(foreign));
    let empty = of(&[], |p| p.moments = Moments::Reported { mean: 0.0 });
    assert_eq!(read(written(&empty)), Ok(empty));
}

#[test]
fn mean_and_deviation_are_what_the_sums_give_to_nine_digits() {
    let differ = "cpu0: mean or standard deviation differ from what the sums give";
    let json = written(&of(&[1_000_000, 3_000_000], |_| ()));
    for (key, own) in [("mean", 2_000_000.0), ("stddev", 1_000_000.0)] {
        let off = |by: f64| with(&json, key, own * (1.0 + by));
        assert_eq!([off(0.0), off(0.9e-9), off(-0.9e-9)], ["", "", ""], "{key}");
        assert_eq!([off(1.1e-9), off(-1.1e-9), with(&json, key, Value::Null)], [differ; 3], "{key}");
    }
    // Below 1 ns the tolerance is 1e-9 ns.
    let json = written(&of(&[0, 0, 0, 1], |_| ()));
    assert_eq!((with(&json, "mean", 0.25 + 0.9e-9), with(&json, "mean", 0.25 + 1.1e-9)), (String::new(), differ.to_owned()));
}

#[test]
fn percentiles_are_what_the_histogram_gives() {
    let differ = "cpu0: percentiles differ from what the histogram gives";
    let json = written(&of(&[1_000; 10], |_| ()));
    assert_eq!(json["percentiles"], json!({"p50": 1_000, "p90": 1_000}));
    for stated in [json!({}), json!({"p50": 1_000}), json!({"p50": 1_000, "p90": 1_001})] {
        assert_eq!(with(&json, "percentiles", stated), differ);
    }
}

#[test]
fn corrected_percentiles_go_by_the_name_of_what_they_rest_on() {
    let d = of(&[10, 3_500], |p| {
        p.passed = PassedOver::of_stalls([(2_500, 3)], 1_000).unwrap();
        (p.missed, p.expected) = (3, Some(5));
    });
    let json = written(&d);
    assert_eq!(json["corrected_percentiles"], json!({"p50": 1_500}));
    let differ = "cpu0: corrected percentiles differ from what samples and points passed over give";
    assert_eq!(with(&json, "corrected_percentiles", json!({"p50": 1_501})), differ);
    assert_eq!(read(json), Ok(d));
    // Without points passed over nothing is checked: an older record has the result of HdrHistogram's rule here.
    let older = of(&[10, 3_500], |_| ());
    assert_eq!(with(&written(&older), "corrected_percentiles", json!({"p50": 7})), "");

    let rule = Corrected::by_rule(&older, 1_000).unwrap();
    let json = serde_json::to_value(Wire::with(&older, rule.as_ref())).unwrap();
    assert_eq!((json.get("corrected_percentiles"), &json["hdrhistogram_rule_percentiles"]), (None, &json!({"p50": 1_500})));
    assert_eq!(read(json), Ok(older.clone()));
    let json = serde_json::to_value(Wire::with(&older, None)).unwrap();
    assert_eq!((json.get("corrected_percentiles"), json.get("hdrhistogram_rule_percentiles")), (None, None));
}
