//! Kernels: which boot, and what the errors say if something is missing.

use super::{Lab, RT, arm_runs, wanted};
use crate::world::{PROGRAM, Said, said_by};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_kernel_of_ones_own_boots_and_is_measured_with() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    lab.line(&format!("lab kernels fetch {RT}")).ends_with(0);
    let all: Vec<Value> = serde_json::from_str(&lab.line("lab kernels --json").ends_with(0).out).unwrap();
    let kernel = all.iter().find(|r| r["name"] == RT).unwrap()["kernel"].clone();
    let [vmlinuz, config] = ["vmlinuz", "config"].map(|f| kernel[f].as_str().unwrap().to_owned());
    let booted = lab.run(&["lab", "boot", "--vmlinuz", &vmlinuz, "--config", &config, "--json"]).ends_with(0);
    let booted: Value = serde_json::from_str(&booted.out).unwrap();
    assert_eq!((&booted["kernel"], &booted["release"]), (&"own/boot/amd64".into(), &kernel["release"]));
    // Without its modules there is no disk, and the run says so.
    assert!(!booted["problems"].as_array().unwrap().is_empty(), "{booted}");
    let record = lab.line("measure timer -D 1s --target lab:own/boot --json --no-save").ends_with(0).record();
    assert!(record.parts().warnings.iter().any(|w| w.code == "guest-incomplete"));
    assert_eq!(record.parts().lab.as_ref().unwrap().kernel, "own/boot/amd64");
    lab.line("measure timer -D 1s --target lab:own/boot --load disk --no-save").ends_with(3);
}

#[test]
fn without_qemu_or_network_it_says_what_is_missing() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let unshared = |flags: &str, script: &str, cache: &std::path::Path| -> Said {
        let mut c = lab.0.command_of("unshare");
        c.args([flags, "sh", "-c", script, "sh", PROGRAM]).env("RTSCOPE_CACHE", cache);
        said_by(&mut c)
    };
    // Hidden only from this test's view of the machine.
    if !Command::new("unshare").args(["-mn", "true"]).status().is_ok_and(|s| s.success()) {
        println!("left out: no namespaces for this user");
        return;
    }
    let hide =
        "mount --bind /dev/null /usr/bin/qemu-system-x86_64 && exec \"$1\" measure timer -D 1s --target lab:debian/6.12/amd64";
    unshared("-m", hide, &super::cache()).ends_with(3).complains(&["qemu-system-x86_64", "apt-get install qemu-system-x86"]);
    let empty = lab.0.path("cache");
    let alone = "exec \"$1\" measure timer -D 1s --target lab:debian/6.12/amd64";
    unshared("-n", alone, &empty).ends_with(3).complains(&["network"]);
    let said = said_by(lab.command(&["lab", "boot", RT]).env("RTSCOPE_GUESTS", "/nowhere"));
    if said.code != Some(0) {
        said.ends_with(3).complains(&["rtscope-guest-amd64", "./x guest amd64"]);
    }
}

/// The papers' architectures: runs under a load repeat there too.
#[test]
fn arm_guests_measure_too() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    for kernel in ["debian/6.12-rt/arm64", "debian/6.12-rt/armhf"] {
        let arch = kernel.rsplit('/').next().unwrap();
        if !arm_runs(arch) {
            continue;
        }
        let run = || {
            lab.line(&format!("measure timer -D 150ms --target lab:{kernel} --load calculation --json --no-save"))
                .ends_with(0)
                .record()
        };
        let (first, second) = (run(), run());
        assert_eq!(first.fingerprint(), second.fingerprint(), "{kernel}");
        assert_eq!(first.distributions()[0].count() + first.distributions()[0].missed(), 150);
        assert!(first.parts().load_proof.is_some());
        if arch != "arm64" {
            continue;
        }
        let lines =
            |words: &str| lab.line(&format!("measure {words} -l 100 --target lab:{kernel} --json --no-save")).ends_with(0).record();
        let [task, module] = ["response", "response --space kernel"].map(&lines);
        for r in [&task, &module] {
            assert_eq!(r.distributions().iter().map(|d| (d.count(), d.missed())).collect::<Vec<_>>(), [(50, 0), (50, 0)]);
        }
        let max = |r: &rtscope_record::Record| r.merged().unwrap().unwrap().max().unwrap();
        assert!(4 * max(&module) < max(&task), "{} and {} ns", max(&module), max(&task));
        let (wave, again) = (lines("periodic --space kernel"), lines("periodic --space kernel"));
        assert_eq!(wave.fingerprint(), again.fingerprint());
        assert!(wave.parts().instrument.as_ref().unwrap().grid.unwrap().drift_ppb.abs() < 20_000);
    }
}

/// What Linux does with interrupts off holds up an IRQ, and no FIQ.
#[test]
fn a_fiq_is_not_held_up_as_an_irq_is() {
    if !wanted() || !arm_runs("armhf") {
        return;
    }
    let lab = Lab::new();
    let kernel = "debian/6.12/armhf";
    let hold = super::module::build(&lab, kernel, "rtscope_hold");
    let hold = format!("{} hold_us=300 irqs=1", hold.display());
    let target = format!("lab:{kernel}");
    let run = |handler: &str, more: &[&str]| {
        let words = ["measure", "timer", "--space", "kernel", "--handler", handler, "-D", "1s", "--target", &target];
        let record = lab.run(&[&words[..], more, &["--json", "--no-save"]].concat()).ends_with(0).record();
        let d = record.merged().unwrap().unwrap();
        assert_eq!((d.count(), d.missed(), d.dropped()), (1000, 0, 0), "{handler}");
        (record.fingerprint(), d.max().unwrap())
    };
    let held = ["--guest-module", &hold];
    let [(_, irq), (_, fiq)] = ["hard", "fiq"].map(|handler| run(handler, &held));
    assert!((280_000..330_000).contains(&irq), "{irq} ns by IRQ");
    assert!(fiq < 20_000, "{fiq} ns by FIQ");
    let full = ["--load", "full"];
    assert_eq!(run("fiq", &full), run("fiq", &full), "runs repeat");
}

/// Nothing but 32-bit Arm has one.
#[test]
fn a_fiq_is_refused_where_there_is_none() {
    if !wanted() {
        return;
    }
    let fiq = "measure timer --space kernel --handler fiq -D 1s --target lab:debian/6.12/amd64 --no-save";
    Lab::new().line(fiq).ends_with(3).complains(&["--handler fiq takes 32-bit Arm", "choose --handler hard"]);
}
