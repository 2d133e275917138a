//! Tests over lines and in kernel space, with modules that rtscope itself builds and loads.

use super::runs::records;
use super::{Lab, RT, STOCK, wanted};
use rtscope_record::{Distribution, Handler, Record, Space, Test, Verdict};

fn of(r: &Record, label: &str) -> Distribution {
    r.distributions().iter().find(|d| d.label() == label).unwrap_or_else(|| panic!("no {label}")).clone()
}

fn median(d: &Distribution) -> u64 {
    d.percentiles()["p50"]
}

fn sum(r: &Record, f: impl Fn(&Distribution) -> u64) -> u64 {
    r.distributions().iter().map(f).sum()
}

/// Measures in the lab, with the options `words`.
fn measured(lab: &Lab, kernel: &str, words: &str) -> Record {
    let said = lab.line(&format!("measure {words} --target lab:{kernel} --json --no-save"));
    // Injected faults make a record INVALID.
    let code = if words.contains("--inject") { 4 } else { 0 };
    said.ends_with(code).record()
}

#[test]
fn user_space_kernel_and_handlers_are_told_apart_and_come_again() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let plan = lab.0.file(
        "plan.toml",
        format!(
            "name = \"adam\"\ntargets = [\"lab:{STOCK}\", \"lab:{RT}\"]\n\
             tests = [\n{{ test = \"response\", loops = 300 }},\n{{ test = \"response\", loops = 300, space = \"kernel\" }},\n\
             {{ test = \"response\", loops = 300, space = \"kernel\", handler = \"threaded\" }},\n\
             {{ test = \"timer\", loops = 300, space = \"kernel\" }},\n\
             {{ test = \"periodic\", loops = 300, space = \"kernel\" }},\n{{ test = \"periodic\", loops = 300 }},\n]\n"
        ),
    );
    lab.run(&["campaign", "run", plan.to_str().unwrap(), "--quiet"]).ends_with(0);
    let all = records(&lab, "all");
    assert_eq!(all.len(), 12);
    let find = |rt: bool, test: Test, space: Space, handler: Option<Handler>| {
        let is_it = |r: &&Record| {
            let p = r.parts();
            p.target.contains("-rt") == rt && p.test == test && p.space == space && p.settings.handler == handler
        };
        all.iter().find(is_it).unwrap_or_else(|| panic!("no {test} {space} {handler:?}"))
    };
    for rt in [false, true] {
        let response = |space, handler| find(rt, Test::Response, space, handler);
        let user = response(Space::User, None);
        let hard = response(Space::Kernel, Some(Handler::Hard));
        let threaded = response(Space::Kernel, Some(Handler::Threaded));
        for r in [user, hard, threaded] {
            assert_eq!(r.verdict(), Verdict::Repeatable, "{:?}", r.parts().warnings);
            let counts = r.distributions().iter().map(|d| (d.label(), d.count(), d.missed(), d.spurious()));
            assert_eq!(counts.collect::<Vec<_>>(), [("rising", 150, 0, 0), ("falling", 150, 0, 0)]);
        }
        for edge in ["rising", "falling"] {
            let [user, hard, threaded] = [user, hard, threaded].map(|r| median(&of(r, edge)));
            assert!((500..4_000).contains(&hard), "rt {rt} {edge}: {hard} ns in the hard interrupt");
            assert!((6_000..40_000).contains(&user), "rt {rt} {edge}: {user} ns in user space");
            assert!(2 * hard < threaded && threaded < user, "rt {rt} {edge}: {hard}, {threaded}, {user} ns");
        }
        let names = |r: &Record| r.parts().lab.as_ref().unwrap().modules.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(user), ["rtscope_wire.ko"]);
        assert_eq!(names(hard), ["rtscope_wire.ko", "rtscope_response.ko"]);
        let compilers = hard.parts().lab.as_ref().unwrap().modules.iter().map(|m| m.compiler.as_deref().unwrap_or_default());
        assert!(
            compilers.clone().count() == 2 && compilers.clone().all(|c| c.starts_with("GCC: (")),
            "{:?}",
            compilers.collect::<Vec<_>>()
        );
        assert!(threaded.parts().instrument.as_ref().unwrap().dut.ends_with("rtscope_response, handler threaded"));
        let timer = find(rt, Test::Timer, Space::Kernel, Some(Handler::Hard));
        let d = of(timer, "cpu0");
        assert_eq!((timer.verdict(), d.count(), d.missed()), (Verdict::Repeatable, 300, 0));
        assert!(median(&d) < 4_000, "{} ns", median(&d));
        for (space, handler) in [(Space::User, None), (Space::Kernel, Some(Handler::Hard))] {
            let r = find(rt, Test::Periodic, space, handler);
            let grid = r.parts().instrument.as_ref().unwrap().grid.unwrap();
            // The wave is on a grid of its own clock: no error accumulates.
            assert!((290..=300).contains(&grid.points) && grid.drift_ppb.abs() < 20_000, "{grid:?}");
        }
    }
    // The same run again from the command line, with another id.
    let again = measured(&lab, RT, "response -l 300 --space kernel --handler threaded");
    let before = find(true, Test::Response, Space::Kernel, Some(Handler::Threaded));
    assert_eq!(again.fingerprint(), before.fingerprint());
}

#[test]
fn injected_answers_are_measured_and_counted_exactly() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let resolution = 300;
    let run = |words: &str| {
        let r = measured(&lab, RT, &format!("response --dut wire --warmup 0 {words}"));
        assert!(r.parts().warnings.iter().any(|w| w.code == "injected"));
        r
    };
    // Constant, except that one in a thousand comes after its time-out.
    let r = run("-l 3000 -i 300us --timeout 200us --inject delay=50us,slow=250us/1000");
    assert_eq!((sum(&r, Distribution::count), sum(&r, Distribution::missed), sum(&r, Distribution::late)), (2997, 3, 3));
    let all = r.merged().unwrap().unwrap();
    assert!(all.min().unwrap() >= 50_000 && all.max().unwrap() < 50_000 + resolution, "{:?} to {:?}", all.min(), all.max());
    // Two values: every second answer is a falling edge. Dropped and doubled ones are falling, too.
    let r = run("-l 2000 -i 300us --inject delay=50us,slow=120us/2,drop=100,double=50");
    let (rising, falling) = (of(&r, "rising"), of(&r, "falling"));
    assert_eq!((rising.count(), rising.missed(), rising.spurious()), (1000, 0, 0));
    assert_eq!((falling.count(), falling.missed(), falling.late()), (980, 20, 0));
    // 40 are doubled; 20 of these are dropped, so nobody sees them.
    assert_eq!(sum(&r, Distribution::spurious), 20);
    for (d, delay) in [(rising, 50_000), (falling, 120_000)] {
        assert!(d.min().unwrap() >= delay && d.max().unwrap() < delay + resolution, "{:?} to {:?}", d.min(), d.max());
    }
    let wrong = lab.line(&format!("measure response --target lab:{RT} --dut wire -i 300us --inject delay=299us"));
    wrong.ends_with(2).complains(&["come too late", "5us before the next stimulus"]);
}

#[test]
fn a_skewed_wave_drifts_by_as_much() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    for (words, ppm) in [
        ("-i 1ms -l 400 --inject skew=500", 500),
        ("-i 100us -l 2000 --space kernel --inject skew=-300", -300),
        ("-i 15ms -l 60 --space kernel --handler soft --inject skew=200", 200),
    ] {
        let r = measured(&lab, RT, &format!("periodic {words}"));
        let drift = r.parts().instrument.as_ref().unwrap().grid.unwrap().drift_ppb;
        assert!((drift - ppm * 1000).abs() < 20_000, "{words}: {drift} ppb");
        let signed = |side: &str| ["rising", "falling"].map(|edge| of(&r, &format!("{edge} {side}")).count()).iter().sum::<u64>();
        let (late, early) = (signed("late"), signed("early"));
        assert!(if ppm > 0 { late > early } else { early > late }, "{words}: {late} late, {early} early");
    }
}

#[test]
fn the_sustained_frequency_is_that_of_the_service_time() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let r = measured(&lab, RT, "sustained -i 8ms -D 500ms --inject delay=1ms");
    let i = r.parts().instrument.as_ref().unwrap();
    let found = i.sustained.unwrap().0;
    assert!((1_000_000..=1_050_000).contains(&found), "{found} ns: {:?}", i.search);
    assert_eq!(sum(&r, Distribution::missed), 0);
}

#[test]
fn a_line_that_can_not_be_had_is_named_with_what_to_do() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let fails = |words: &str, code: i32, complaints: &[&str]| {
        lab.line(&format!("measure response -l 100 --target lab:{RT} {words}")).ends_with(code).complains(complaints);
    };
    let swapped = "--space kernel --dut-in gpio:rtscope-wire/1 --dut-out gpio:rtscope-wire/0";
    fails(swapped, 3, &["in=rtscope-wire/1", "other direction", "swapped"]);
    fails("--space kernel --dut-in gpio:rtscope-wire/99", 3, &["in=rtscope-wire/99", "no such line"]);
    fails("--space kernel --dut none", 3, &["rtscope_response is not loaded", "insmod"]);
    fails("--dut-in gpio:rtscope-wire/1 --dut-out gpio:rtscope-wire/0", 2, &["gpio:rtscope-wire/1"]);
    fails("--dut none", 3, &["no edge came back on wire:answer", "swapped"]);
    fails("--space kernel --dut-in soft:a", 2, &["soft:a", "GPIO lines"]);
    fails("--space kernel --handler soft", 2, &["no soft handler", "--handler threaded"]);
}
