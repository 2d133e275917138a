//! A kernel that is made worse on purpose is found out, and by the right amount.

use super::{Lab, RT, wanted};
use rtscope_record::{Effect, Verdict};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds `kernel/test/NAME.c` for `kernel`, in the test's own directory.
pub(crate) fn build(lab: &Lab, kernel: &str, name: &str) -> PathBuf {
    lab.line(&format!("lab kernels fetch {kernel}")).ends_with(0);
    let all: Vec<Value> = serde_json::from_str(&lab.line("lab kernels --json").ends_with(0).out).unwrap();
    let cross: &[&str] = if kernel.ends_with("/armhf") { &["ARCH=arm", "CROSS_COMPILE=arm-linux-gnueabihf-"] } else { &[] };
    let kernel = &all.iter().find(|r| r["name"] == kernel).unwrap()["kernel"];
    let headers = kernel["headers_dir"].as_str().unwrap();
    let dir = lab.0.path(format!("module-{name}"));
    fs::create_dir(&dir).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/test").join(format!("{name}.c"));
    fs::copy(source, dir.join(format!("{name}.c"))).unwrap();
    fs::write(dir.join("Makefile"), format!("obj-m := {name}.o\n")).unwrap();
    // The compiler that rtscope fetched for it, if the host has another one.
    let host = std::env::var_os("PATH").unwrap_or_default();
    let fetched = kernel["compiler_dir"].as_str().map(PathBuf::from);
    let path = std::env::join_paths(fetched.into_iter().chain(std::env::split_paths(&host))).unwrap();
    let made = Command::new("make")
        .env("PATH", path)
        .args(["-C", headers, "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])
        .args(cross)
        .arg(format!("M={}", dir.display()))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    dir.join(format!("{name}.ko"))
}

#[test]
fn time_without_preemption_is_the_maximum() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let module = build(&lab, RT, "rtscope_hold");
    let measure = |hold_us: u64| {
        let module = format!("{} hold_us={hold_us}", module.display());
        let target = format!("lab:{RT}");
        let words =
            ["measure", "timer", "-i", "100us", "-D", "2s", "--json", "--no-save", "--target", &target, "--guest-module", &module];
        let record = lab.run(&words).ends_with(0).record();
        let lab = record.parts().lab.clone().unwrap();
        assert_eq!(
            (lab.modules[0].name.as_str(), &lab.modules[0].parameters),
            ("rtscope_hold.ko", &vec![format!("hold_us={hold_us}")])
        );
        record.merged().unwrap().unwrap()
    };
    for hold_us in [60, 1000] {
        let d = measure(hold_us);
        let max_us = d.max().unwrap() as f64 / 1000.0;
        // The holds are spread evenly over the 100 us grid: one begins just before a wake-up is due, which itself takes a few us.
        let expected = hold_us as f64;
        assert!((expected - 2.0..expected + 15.0).contains(&max_us), "held {hold_us} us, maximum {max_us} us");
        // Points that were passed over are counted: the whole grid is accounted for.
        assert_eq!(d.count() + d.missed(), 20_000);
        assert_eq!(d.missed() > 0, hold_us > 100, "{} missed", d.missed());
    }
    // A truncated module is refused with an error that names it.
    let own = fs::read(&module).unwrap();
    let broken = lab.0.file("broken.ko", &own[..own.len() / 2]);
    let said =
        lab.run(&["measure", "timer", "-D", "1s", "--target", &format!("lab:{RT}"), "--guest-module", broken.to_str().unwrap()]);
    said.ends_with(3).complains(&["broken.ko", "can't be loaded"]);
}

/// The CPU of a thread goes offline during the run, and comes back before its end or not.
#[test]
fn a_cpu_that_is_taken_away_in_the_middle_costs_the_verdict() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let module = build(&lab, RT, "rtscope_unplug");
    let target = format!("lab:{RT}");
    let module = format!("{} cpu=1 after_ms=1500", module.display());
    let line = "measure timer -D 4s --clock host --guest-cpus 2 --json --no-save --guest-module";
    let words: Vec<&str> = line.split_whitespace().chain([module.as_str(), "--target", &target]).collect();
    let said = lab.run(&words);
    let record = said.record();
    let found: Vec<(&str, Effect)> = record.parts().warnings.iter().map(|w| (&*w.code, w.effect)).collect();
    assert_eq!((said.code, record.verdict()), (Some(4), Verdict::Invalid), "{found:?}");
    for code in ["thread-moved", "cpus-changed"] {
        assert!(found.iter().any(|f| f.0 == code), "{code}: {found:?}");
    }
}
