//! What runs need of the modules, and what no module can do.

use super::*;
use crate::lines::About;
use rtscope_record::LineOptions;

fn of(test: Test, space: Space, options: &LineOptions) -> Vec<(&'static str, String)> {
    let settings = Settings { interval: Nanos(500_000), cpus: vec![0], loops: Some(9), ..Settings::default() };
    let about = About { test, space, in_lab: true, brings_dut: false, cpus_named: false, settings: &settings };
    let settings = crate::lines::settings(options, &about).unwrap();
    wanted(test, space, &settings).unwrap().into_iter().map(|w| (w.name, w.parameters.join(" "))).collect()
}

#[test]
fn a_run_gets_the_modules_that_it_needs_and_no_other() {
    let none = LineOptions::default();
    let wire = (WIRE, String::new());
    assert_eq!(of(Test::Timer, Space::User, &none), []);
    assert_eq!(of(Test::Timer, Space::Kernel, &none), [(TIMER, String::new())]);
    assert_eq!(of(Test::Response, Space::User, &none), std::slice::from_ref(&wire));
    let answers = "in=rtscope-wire/0 out=rtscope-wire/1 handler=hard";
    assert_eq!(of(Test::Response, Space::Kernel, &none), [wire.clone(), (RESPONSE, answers.into())]);
    let wave = "out=rtscope-wire/1 semi_period_ns=500000 context=hard";
    assert_eq!(of(Test::Periodic, Space::Kernel, &none), [wire.clone(), (PERIODIC, wave.into())]);
    let soft = LineOptions { stimulus: Some("soft:a".into()), answer: Some("soft:b".into()), ..none };
    assert_eq!(of(Test::Response, Space::User, &soft), []);
    let gpio = LineOptions { stimulus: Some("gpio:rtscope-out0".into()), answer: Some("gpio:gpiochip0/5".into()), ..soft };
    assert_eq!(of(Test::Response, Space::User, &gpio), [wire]);
}

#[test]
fn what_is_injected_becomes_a_parameter() {
    let with = |inject: &str, handler| LineOptions {
        inject: Some(inject.parse().unwrap()),
        handler: Some(handler),
        ..LineOptions::default()
    };
    let slow = of(Test::Sustained, Space::Kernel, &with("delay=200us", Handler::Threaded));
    assert_eq!(slow[1].1, "in=rtscope-wire/0 out=rtscope-wire/1 handler=threaded service_ns=200000");
    let skewed = of(Test::Periodic, Space::Kernel, &with("skew=-100", Handler::Soft));
    assert_eq!(skewed[1].1, "out=rtscope-wire/1 semi_period_ns=499950 context=soft");
}

#[test]
fn waves_that_the_module_refuses_are_not_asked_for() {
    let dut = |inject: &str| DutSettings {
        input: None,
        output: "gpio:a/1".into(),
        priority: 0,
        cpu: None,
        inject: inject.parse().unwrap_or_default(),
    };
    let wave = |ns, inject: &str| super::dut(Test::Periodic, Nanos(ns), Handler::Hard, &dut(inject));
    assert!(wave(10_000, "").is_ok() && wave(1_000_000_000, "").is_ok());
    for refused in [wave(9_999, ""), wave(10_000, "skew=-1000"), wave(1_000_000_001, ""), wave(10_000, "slow=1ms/3")] {
        let error = refused.unwrap_err();
        assert!(error.is_usage() && !error.remedy().is_empty(), "{error}");
    }
}
