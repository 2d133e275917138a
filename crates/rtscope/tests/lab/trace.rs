//! The kernel's own trace in guests, held against what the same run is seen to do from outside.

use super::module::build;
use super::{Lab, RT, STOCK, wanted};
use serde_json::Value;
use std::fs;

#[test]
fn a_stock_kernels_own_trace_names_the_cause_that_is_seen_from_outside() {
    if wanted() {
        named_as_seen_from_outside(STOCK);
    }
}

#[test]
fn an_rt_kernels_own_trace_names_the_cause_that_is_seen_from_outside() {
    if wanted() {
        named_as_seen_from_outside(RT);
    }
}

fn named_as_seen_from_outside(kernel: &str) {
    let lab = Lab::new();
    let file = build(&lab, kernel, "rtscope_hold");
    let target = format!("lab:{kernel}");
    // Limits far above what the tracer makes of other late wake-ups (145 us were seen): most of the latency is the hold's. The buffer holds some
    // 600 us of it. A run with the tracer takes long: each kernel has one of the causes, which are read alike on both.
    let (irqs, cause, hold_us, limit) =
        if kernel == STOCK { ("1", "interrupts were off", 350u32, "280us") } else { ("0", "preemption was off", 400, "320us") };
    let module = format!("{} hold_us={hold_us} irqs={irqs}", file.display());
    // An interrupt that ends where the hold begins makes one time without preemption with it: which seed has that is chance.
    let expected = f64::from(hold_us);
    let alone = |seed: u32| {
        let seed = seed.to_string();
        let measure =
            ["measure", "timer", "-i", "500us", "-D", "500ms", "--target", &target, "--trace", limit, "--trace-files", "why"];
        let said = lab.run(&[&measure[..], &["--guest-module", &module, "--seed", &seed]].concat()).ends_with(0).out;
        let (_, why) = said.split_once("why: ").unwrap_or_else(|| panic!("{said}"));
        let sentence = why.lines().next().unwrap();
        assert!(sentence.contains(cause) && sentence.contains("rtscope_hold["), "{sentence}");
        // "157.345 us: interrupts were off for 122.000 us, ..."
        let held: f64 = sentence.split(" for ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        // What else is off in the latency counts too.
        assert!(held >= expected - 3.0, "held {hold_us} us: {sentence}");
        (sentence.contains("from hold_thread on") && held < expected + 20.0).then_some(said)
    };
    let said = (1..=3).find_map(alone).unwrap_or_else(|| panic!("{cause}: not the hold alone with three seeds"));
    let (_, why) = said.split_once("why: ").unwrap();
    assert!(why.contains("taken with the function tracer and events") && said.contains("shorter run of the same test"));
    // The same run once more, tracer and all.
    let outside = lab.run(&["explain", "--json", "--guest-module", &module]).ends_with(0).out;
    let outside: Vec<Value> = serde_json::from_str(&outside).unwrap();
    let sentence = outside[0]["sentence"].as_str().unwrap();
    assert!(sentence.contains(cause) && sentence.contains("from hold_thread on"), "{sentence}");
    assert_eq!(outside[0]["traced"], Value::Null);
    if kernel == STOCK {
        let module = format!("{} hold_us=350 softirq=1", file.display());
        let measure =
            ["measure", "timer", "-i", "500us", "-D", "500ms", "--target", &target, "--trace", "280us", "--guest-module", &module];
        let said = lab.run(&measure).ends_with(0).out;
        assert!(said.contains("softirqs ran for ") && said.contains("softirq began in: hold_thread > "), "{said}");
        let outside = lab.run(&["explain", "--json", "--guest-module", &module]).ends_with(0).out;
        let outside: Vec<Value> = serde_json::from_str(&outside).unwrap();
        assert!(said.contains("> hold_softirq"), "{said}");
        // A tick that comes in the softirq may be its longest part.
        let (hold, softirq) = (&outside[0]["hold"], "do_softirq");
        assert!(hold["cause"] == "softirq" || hold["from"].to_string().contains(softirq), "{hold}");
    }
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    let texts = fs::read_dir(lab.0.path("why")).unwrap().map(|e| e.unwrap().path());
    let texts: Vec<String> =
        texts.filter(|p| p.extension().is_some_and(|e| e == "txt")).map(|p| fs::read_to_string(p).unwrap()).collect();
    assert!(!texts.is_empty() && texts.iter().all(|t| t.contains("ns late for the grid point")), "{}", texts.len());
}
