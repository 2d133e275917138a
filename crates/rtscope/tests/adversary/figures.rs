//! Figures that claim more than was measured: events without a sample, and limits that pass because such events are left out.

use crate::world::World;
use serde_json::Value;

/// Takes a timer run with injected latencies over `points` grid points at 1 ms; returns its record.
fn injected(w: &World, latencies: &[u64], points: u64) -> Value {
    let lines: Vec<String> = latencies.iter().map(u64::to_string).collect();
    w.file("latencies", lines.join("\n"));
    let said = w.line(&format!("measure timer -i 1ms -D {points}ms -t 1 --target fake:latencies --json")).ends_with(4);
    serde_json::from_str(&said.out).unwrap()
}

/// Nine of ten points are 10 us late, the tenth 1.5 ms: no sample shows the half millisecond that the point after it waits.
fn tenth_late() -> Vec<u64> {
    let mut latencies = vec![10_000; 10];
    latencies[9] = 1_500_000;
    latencies
}

#[test]
fn points_that_a_late_task_passes_over_are_in_the_corrected_view() {
    let w = World::new();
    let r = injected(&w, &tenth_late(), 10_000);
    let d = &r["distributions"][0];
    assert_eq!((&d["count"], &d["missed"]), (&9_091.into(), &909.into()));
    assert_eq!((&d["percentiles"]["p90"], &d["corrected_percentiles"]["p90"]), (&10_007.into(), &500_223.into()));
    assert_eq!(
        (&d["passed"]["min"], &d["passed"]["max"], &d["passed"]["sum"]),
        (&500_000.into(), &500_000.into(), &"454500000".into())
    );
    let shown = w.line("show").ends_with(4).out;
    assert!(shown.contains("corrected us") && !shown.contains("HdrHistogram"), "{shown}");
}

#[test]
fn points_that_were_passed_over_can_not_be_taken_out() {
    let w = World::new();
    let r = injected(&w, &tenth_late(), 1_000);
    let refused = |name: &str, change: fn(&mut Value)| {
        let mut r = r.clone();
        r["id"] = format!("20261122T000000Z-{name}").into();
        change(&mut r);
        w.file("forged.json", r.to_string());
        let said = w.line("import forged.json");
        assert!(said.code != Some(0), "{name}: {said:?}");
    };
    // A record without the latencies of its misses does not match its fingerprint; nor does one whose misses are shorter.
    refused("gone", |r| drop(r["distributions"][0].as_object_mut().unwrap().remove("passed")));
    refused("earlier", |r| (r["distributions"][0]["passed"]["min"], r["distributions"][0]["passed"]["max"]) = (1.into(), 1.into()));
    refused("fewer", |r| {
        let d = &mut r["distributions"][0];
        (d["missed"], d["expected"]) = (0.into(), d["count"].clone());
    });
    refused("better", |r| r["distributions"][0]["corrected_percentiles"]["p90"] = 10_007.into());
}

#[test]
fn what_others_measured_is_corrected_by_a_rule_and_its_name() {
    let w = World::new();
    let r = injected(&w, &tenth_late(), 1_000);
    // A record from before misses had latencies; its fingerprint does not cover them.
    let mut old = r.clone();
    old["id"] = "20261101T000000Z-old".into();
    old.as_object_mut().unwrap().remove("fingerprint");
    old["distributions"][0].as_object_mut().unwrap().remove("passed");
    w.file("old.json", old.to_string());
    w.line("import old.json").ends_with(0);
    let shown = w.line("show 20261101T000000Z-old").ends_with(4).out;
    assert!(shown.contains("by HdrHistogram's rule us") && !shown.contains("corrected us"), "{shown}");
    let said = w.line("show 20261101T000000Z-old --json").ends_with(4).out;
    let d = serde_json::from_str::<Value>(&said).unwrap()["distributions"][0].clone();
    assert!(d.get("corrected_percentiles").is_none() && d["hdrhistogram_rule_percentiles"]["p90"].is_u64(), "{d}");
}

/// Saves the record as if a real machine had taken it, with root's rights: limits are not judged for a fake's.
fn as_measured(w: &World) {
    let kept = w.records().pop().unwrap();
    let mut parts = kept.into_parts();
    parts.warnings.clear();
    parts.system.limits.rtprio = 99;
    (parts.target, parts.origin) = ("local".into(), None);
    w.file("r.json", serde_json::to_string(&rtscope_record::Record::new(parts).unwrap()).unwrap());
}

#[test]
fn a_limit_does_not_pass_by_what_was_omitted() {
    let w = World::new();
    // Every 1000 ms a stall of 300 ms; otherwise 10 us late.
    let mut second = vec![10_000; 700];
    second[699] = 300_010_000;
    injected(&w, &second, 60_000);
    as_measured(&w);
    let show = |limit: &str| w.run(&["show", "r.json", "--assert", limit]);
    for limit in ["p99.9<25us", "p99<25us", "p90<25us", "max<25us", "mean<25us"] {
        let said = show(limit).ends_with(1);
        assert!(said.out.contains(&format!("FAIL      {limit}")), "{said:?}");
    }
    // Only an explicit `raw` limit is judged by the samples alone.
    show("raw p99<25us").ends_with(0);
    show("raw p99.9<25us").ends_with(1);
}

#[test]
fn a_percentile_is_not_claimed_from_too_few_samples() {
    let w = World::new();
    injected(&w, &[10_000], 1_000);
    as_measured(&w);
    let said = w.run(&["show", "r.json", "--assert", "p99.9<25us"]).ends_with(1);
    assert!(said.out.contains("not shown p99.9<25us") && said.out.contains("1,995 more samples"), "{said:?}");
    assert!(said.out.contains("95 % confidence"), "{said:?}");
    w.run(&["show", "r.json", "--assert", "p99<25us"]).ends_with(0);
    w.run(&["show", "r.json", "--assert", "p99<25us", "--confidence", "99.999"]).ends_with(1);
    for wrong in ["0", "100", "-1", "nan", "95%%"] {
        w.run(&["show", "r.json", "--assert", "p99<25us", "--confidence", wrong]).ends_with(2);
    }
    let shown = w.run(&["show", "r.json", "--intervals"]).ends_with(0).out;
    assert!(shown.contains("at most us"), "{shown}");
    let said = w.run(&["show", "r.json", "--json", "--confidence", "99"]).ends_with(0).out;
    let own: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(own["intervals"]["confidence"], "99 %");
    let of = own["intervals"]["distributions"]["thread0"].as_array().unwrap();
    let p999 = of.iter().find(|p| p["percentile"] == "p99.9").unwrap();
    assert!(p999["high"].is_null() && p999["low"].is_u64(), "{p999}");
}
