//! The kernel's own trace in guests, held against what the same run is seen to do from outside.

use super::module::build;
use super::{Lab, RT, STOCK, wanted};
use serde_json::Value;
use std::fs;

#[test]
fn the_kernels_own_trace_names_the_cause_that_is_seen_from_outside() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    for kernel in [STOCK, RT] {
        let file = build(&lab, kernel, "rtscope_hold");
        let target = format!("lab:{kernel}");
        for (irqs, cause, hold_us) in [("1", "interrupts were off", 120u64), ("0", "preemption was off", 700)] {
            let module = format!("{} hold_us={hold_us} irqs={irqs}", file.display());
            let measure = ["measure", "timer", "-D", "500ms", "--target", &target, "--trace", "90us", "--trace-files", "why"];
            let said = lab.run(&[&measure[..], &["--guest-module", &module]].concat()).ends_with(0).out;
            let (_, why) = said.split_once("why: ").unwrap_or_else(|| panic!("{said}"));
            let sentence = why.lines().next().unwrap();
            assert!(sentence.contains(cause) && sentence.contains("from hold_thread on"), "{sentence}");
            assert!(sentence.contains("rtscope_hold["), "{sentence}");
            // "157.345 us: interrupts were off for 122.000 us, ..."
            let held: f64 = sentence.split(" for ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert!((held - hold_us as f64).abs() < 5.0, "held {hold_us} us: {sentence}");
            assert!(why.contains("taken with the function tracer and events") && said.contains("shorter run of the same test"));
            // The same run once more, tracer and all.
            let outside = lab.run(&["explain", "--json", "--guest-module", &module]).ends_with(0).out;
            let outside: Vec<Value> = serde_json::from_str(&outside).unwrap();
            let sentence = outside[0]["sentence"].as_str().unwrap();
            assert!(sentence.contains(cause) && sentence.contains("from hold_thread on"), "{sentence}");
            assert_eq!(outside[0]["traced"], Value::Null);
        }
        if kernel == STOCK {
            let module = format!("{} hold_us=300 softirq=1", file.display());
            let measure = ["measure", "timer", "-D", "500ms", "--target", &target, "--trace", "90us", "--guest-module", &module];
            let said = lab.run(&measure).ends_with(0).out;
            assert!(said.contains("softirqs ran for ") && said.contains("softirq began in: hold_thread > "), "{said}");
            let outside = lab.run(&["explain", "--json", "--guest-module", &module]).ends_with(0).out;
            let outside: Vec<Value> = serde_json::from_str(&outside).unwrap();
            let from = &outside[0]["hold"]["from"];
            assert!(said.contains("> hold_softirq") && from.as_array().unwrap().contains(&"hold_softirq".into()), "{said}\n{from}");
            assert_eq!(outside[0]["hold"]["cause"], "softirq");
        }
        fs::remove_dir_all(file.parent().unwrap()).unwrap();
    }
    let texts = fs::read_dir(lab.0.path("why")).unwrap().map(|e| e.unwrap().path());
    let texts: Vec<String> =
        texts.filter(|p| p.extension().is_some_and(|e| e == "txt")).map(|p| fs::read_to_string(p).unwrap()).collect();
    assert!(texts.len() == 4 && texts.iter().all(|t| t.contains("ns late for the grid point")), "{}", texts.len());
}
