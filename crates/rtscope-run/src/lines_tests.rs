use super::*;
use rtscope_lab::modules::wanted;
use rtscope_load::kernel_modules::{PERIODIC, RESPONSE, TIMER, WIRE};
use rtscope_record::{Inject, Nanos, Shape};

fn about(test: Test, space: Space, in_lab: bool, settings: &Settings) -> About<'_> {
    About { test, space, in_lab, brings_dut: false, cpus_named: false, settings }
}

fn one_cpu() -> Settings {
    Settings { cpus: vec![0], duration: Some(Nanos(1_000_000_000)), ..Settings::default() }
}

#[test]
fn in_the_lab_nothing_needs_to_be_named() {
    let base = one_cpu();
    let none = LineOptions::default();
    for (test, space) in [(Test::Response, Space::User), (Test::Sustained, Space::Kernel), (Test::Periodic, Space::Kernel)] {
        let s = settings(&none, &about(test, space, true, &base)).unwrap();
        let (lines, kernel) = (s.lines.unwrap(), space == Space::Kernel);
        let dut = lines.dut.unwrap();
        assert_eq!(lines.answer, "wire:answer");
        assert_eq!((dut.output.as_str(), s.handler), ("gpio:rtscope-wire/1", kernel.then_some(Handler::Hard)));
        assert_eq!((dut.priority, s.threads), if kernel { (0, 1) } else { (95, 2) });
        assert_eq!(lines.stimulus.is_none(), test == Test::Periodic);
    }
    let error = settings(&none, &about(Test::Response, Space::Kernel, false, &base)).unwrap_err();
    assert!(error.message.contains("no line to watch"), "{error}");
}

#[test]
fn a_module_that_the_user_brings_is_the_dut() {
    let base = one_cpu();
    let about = About { brings_dut: true, ..about(Test::Response, Space::Kernel, true, &base) };
    let none = LineOptions::default();
    assert_eq!(settings(&none, &about).unwrap().lines.unwrap().dut, None);
    let own = LineOptions { dut: Some(Who::Own), ..none };
    assert!(settings(&own, &about).unwrap().lines.unwrap().dut.is_some());
}

#[test]
fn handlers_are_those_of_the_test() {
    let base = one_cpu();
    let with = |handler| LineOptions { handler: Some(handler), ..LineOptions::default() };
    let fits = [
        (Test::Response, Handler::Threaded, true),
        (Test::Sustained, Handler::Soft, false),
        (Test::Periodic, Handler::Soft, true),
        (Test::Periodic, Handler::Threaded, false),
        (Test::Timer, Handler::Soft, true),
        (Test::Timer, Handler::Threaded, false),
        (Test::Timer, Handler::Fiq, true),
        (Test::Periodic, Handler::Fiq, false),
        (Test::Response, Handler::Fiq, false),
    ];
    for (test, handler, fine) in fits {
        let made = settings(&with(handler), &about(test, Space::Kernel, true, &base));
        assert_eq!(made.is_ok(), fine, "{test} {handler}: {made:?}");
        assert!(made.is_err() || made.is_ok_and(|s| s.handler == Some(handler)));
        assert!(settings(&with(handler), &about(test, Space::User, true, &base)).is_err());
    }
}

#[test]
fn what_a_module_can_not_do_is_refused_at_once() {
    let base = one_cpu();
    let lines = |input: &str, output: &str| LineOptions {
        stimulus: Some("wire:stimulus".into()),
        answer: Some("wire:answer".into()),
        dut_in: Some(input.into()),
        dut_out: Some(output.into()),
        ..LineOptions::default()
    };
    let fine = lines("gpio:chip/3", "gpio:NAME");
    let of = |o: &LineOptions| settings(o, &about(Test::Response, Space::Kernel, false, &base));
    assert!(of(&fine).is_ok());
    let drop: Inject = "drop=3".parse().unwrap();
    for wrong in [
        lines("soft:a", "gpio:NAME"),
        lines("gpio:chip/3", "serial:/dev/ttyS0:rts"),
        LineOptions { inject: Some(drop), ..fine.clone() },
        LineOptions { dut_priority: Some(50), ..fine.clone() },
        LineOptions { dut_cpu: Some(0), ..fine },
    ] {
        let error = of(&wrong).unwrap_err();
        assert!(!error.remedy.is_empty(), "{error}");
    }
}

/// It is refused before anything is built or booted.
#[test]
fn what_the_probe_would_refuse_is_refused_at_once() {
    let base = one_cpu();
    let over = |answer: &str| LineOptions { answer: Some(answer.into()), ..LineOptions::default() };
    let soft = LineOptions { stimulus: Some("soft:a".into()), ..over("soft:b") };
    let least = Shape { min_width: Some(Nanos(1_000)), ..Shape::default() };
    let of = |o: &LineOptions| {
        let refused = settings(o, &about(Test::Response, Space::User, false, &base)).unwrap_err();
        rtscope_failure::Failure::from(refused).in_one()
    };
    for (options, words) in [
        (LineOptions { timeout: Some(Nanos(1_000_001)), ..soft.clone() }, "not within the shortest interval"),
        (LineOptions { shape: least, ..soft.clone() }, "only the FPGA instrument sees how wide pulses are; --answer fpga:PORT"),
        (LineOptions { stimulus: Some("soft:b".into()), ..soft.clone() }, "is stimulus and answer"),
        (LineOptions { shape: Shape { both_edges: true, ..least }, ..over("fpga:/dev/ttyUSB1") }, "without pulses both edges ask"),
    ] {
        let told = of(&options);
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn a_timer_has_no_lines() {
    let base = one_cpu();
    let options = LineOptions { warmup: Some(3), ..LineOptions::default() };
    assert!(settings(&options, &about(Test::Timer, Space::User, true, &base)).is_err());
    let plain = LineOptions::default();
    assert_eq!(settings(&plain, &about(Test::Timer, Space::User, true, &base)).unwrap(), base);
    assert_eq!(settings(&plain, &about(Test::Timer, Space::Kernel, true, &base)).unwrap().handler, Some(Handler::Hard));
}

#[test]
fn pulses_and_the_loop_inside_are_an_instruments_of_its_own() {
    let base = one_cpu();
    let fpga = LineOptions { answer: Some("fpga:/dev/ttyUSB1".into()), ..LineOptions::default() };
    let pulse = Some(Nanos(20_000));
    for (with_pulse, all) in [(pulse, LineOptions::default()), (pulse, fpga.clone()), (None, LineOptions::default())] {
        let is_fpga = all.answer.is_some();
        let shape = Shape { pulse: with_pulse, active_low: true, ..Shape::default() };
        let made = settings(&LineOptions { shape, ..all }, &about(Test::Response, Space::User, true, &base));
        assert_eq!(made.is_ok(), is_fpga, "{made:?}");
    }
    let inside = LineOptions { calibrate: Some(String::new()), ..fpga };
    let of = |test| settings(&inside, &about(test, Space::User, false, &base));
    assert_eq!(of(Test::Response).unwrap().lines.unwrap().null_wire, Some("fpga:/dev/ttyUSB1:stimulus".into()));
    assert!(of(Test::Periodic).unwrap_err().message.contains("no stimulus"));
}

fn modules_of(test: Test, space: Space, options: &LineOptions) -> Vec<(&'static str, String)> {
    let base = Settings { interval: Nanos(500_000), ..one_cpu() };
    let settings = settings(options, &about(test, space, true, &base)).unwrap();
    wanted(test, space, &settings).unwrap().into_iter().map(|w| (w.name, w.parameters.join(" "))).collect()
}

#[test]
fn a_run_gets_the_modules_that_it_needs_and_no_other() {
    let none = LineOptions::default();
    let wire = (WIRE, String::new());
    assert_eq!(modules_of(Test::Timer, Space::User, &none), []);
    assert_eq!(modules_of(Test::Timer, Space::Kernel, &none), [(TIMER, String::new())]);
    assert_eq!(modules_of(Test::Response, Space::User, &none), std::slice::from_ref(&wire));
    let answers = "in=rtscope-wire/0 out=rtscope-wire/1 handler=hard";
    assert_eq!(modules_of(Test::Response, Space::Kernel, &none), [wire.clone(), (RESPONSE, answers.into())]);
    let wave = "out=rtscope-wire/1 semi_period_ns=500000 context=hard";
    assert_eq!(modules_of(Test::Periodic, Space::Kernel, &none), [wire.clone(), (PERIODIC, wave.into())]);
    let soft = LineOptions { stimulus: Some("soft:a".into()), answer: Some("soft:b".into()), ..none };
    assert_eq!(modules_of(Test::Response, Space::User, &soft), []);
    let gpio = LineOptions { stimulus: Some("gpio:rtscope-out0".into()), answer: Some("gpio:gpiochip0/5".into()), ..soft };
    assert_eq!(modules_of(Test::Response, Space::User, &gpio), [wire]);
}

#[test]
fn what_is_injected_becomes_a_parameter() {
    let with = |inject: &str, handler| LineOptions {
        inject: Some(inject.parse().unwrap()),
        handler: Some(handler),
        ..LineOptions::default()
    };
    let slow = modules_of(Test::Sustained, Space::Kernel, &with("delay=200us", Handler::Threaded));
    assert_eq!(slow[1].1, "in=rtscope-wire/0 out=rtscope-wire/1 handler=threaded service_ns=200000");
    let skewed = modules_of(Test::Periodic, Space::Kernel, &with("skew=-100", Handler::Soft));
    assert_eq!(skewed[1].1, "out=rtscope-wire/1 semi_period_ns=499950 context=soft");
}
