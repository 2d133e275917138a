//! The lab's machine differs from what was asked for: a QEMU in PATH changes its processor, stays in between, or brings other
//! code. Runs only if `RTSCOPE_LAB_TESTS` is set, as in `./x test`.

use crate::world::{self, Said, World};
use rtscope_record::{Record, Verdict};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

const KERNEL: &str = "debian/6.12-rt/amd64";

/// Passes everything on to QEMU, unless `$ATTACK` tells it otherwise.
const WRAPPER: &str = "#!/bin/bash
args=(\"$@\")
case $ATTACK in
cpu) for i in \"${!args[@]}\"; do [[ ${args[$i]} == max,* ]] && args[$i]=max; done ;;
more) [[ \" $* \" == *\" -kernel \"* ]] && args+=(-cpu max) ;;
stay) /usr/bin/qemu-system-x86_64 \"$@\"; exit ;;
preload) export LD_PRELOAD=libm.so.6 ;;
esac
exec /usr/bin/qemu-system-x86_64 \"${args[@]}\"
";

fn wanted() -> bool {
    let wanted = std::env::var_os("RTSCOPE_LAB_TESTS").is_some();
    if !wanted {
        crate::world::skip("set RTSCOPE_LAB_TESTS=1, as ./x test does");
    }
    wanted
}

/// Kernels and states, kept between runs of the tests.
fn cache() -> std::path::PathBuf {
    std::env::var_os("RTSCOPE_CACHE").map_or_else(|| std::env::temp_dir().join("rtscope-lab-tests"), Into::into)
}

/// Measures in the lab; with `attack`, the wrapper is in front of QEMU.
fn measured(w: &World, more: &str, attack: Option<&str>) -> Said {
    let line = format!("measure timer -l 150 --load background --target lab:{KERNEL} --json --quiet {more}");
    let mut command = w.command(&line.split_whitespace().collect::<Vec<_>>());
    command.env("RTSCOPE_CACHE", cache());
    if let Some(attack) = attack {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", w.path("bin").display())).env("ATTACK", attack);
    }
    command.output().unwrap().into()
}

#[test]
fn a_wrapper_that_changes_the_machine_is_refused() {
    if !wanted() {
        return;
    }
    let w = World::new();
    let file = w.path("bin").join("qemu-system-x86_64");
    std::fs::create_dir(w.path("bin")).unwrap();
    std::fs::write(&file, WRAPPER).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let plain = measured(&w, "", None).ends_with(0).record();
    // A wrapper that changes nothing gives the same run. The record says that it was there, and identifies the real QEMU by its
    // hash.
    let passed = measured(&w, "", Some("none")).ends_with(0).record();
    assert_eq!(passed.fingerprint(), plain.fingerprint());
    let ran = |r: &Record| r.parts().lab.as_ref().unwrap().qemu_sha256.clone().unwrap();
    assert_eq!((ran(&passed), ran(&plain).len()), (ran(&plain), 64));
    let told = |r: &Record| r.parts().warnings.iter().any(|w| w.code == "qemu-wrapped");
    assert!(told(&passed) && !told(&plain));
    // The state is kept by now: the attack hits a run from that state, and one that boots for itself.
    for how in ["", "--fresh-boot"] {
        for (attack, why) in [
            ("cpu", "it does not run as it was told: `max,-erms,-fsrm"),
            ("more", "nothing was asked for"),
            ("stay", "what runs is process"),
            ("preload", "it runs with LD_PRELOAD"),
        ] {
            let said = measured(&w, how, Some(attack)).ends_with(3);
            assert_eq!(said.out, "", "{attack}");
            said.complains(&[why, "put QEMU itself first in PATH"]);
        }
    }
    let listed = w.line("list --json").ends_with(0).out;
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&listed).unwrap().len(), 2);
}

#[test]
fn what_costs_something_else_has_no_ratio() {
    if !wanted() {
        return;
    }
    let w = World::new();
    let [old, new] = ["--model 1", "--model 2"].map(|model| measured(&w, model, None).ends_with(0).record());
    let model = |r: &Record| r.parts().lab.as_ref().unwrap().model;
    assert_eq!((model(&old), model(&new)), (1, 2));
    // The guest's processor agrees with what was asked for.
    let has = |r: &Record| {
        let processor = r.parts().lab.as_ref().unwrap().processor.clone().unwrap();
        assert!(processor.cpuid.iter().any(|word| word.starts_with("7.0.ebx=")), "{processor:?}");
        // QEMU 7.2 does not offer FSRM; later versions may.
        ["erms", "fsrm"].map(|flag| processor.flags.iter().any(|f| f == flag))
    };
    assert_eq!((has(&old)[0], has(&new)), (true, [false; 2]));
    assert_ne!(old.fingerprint(), new.fingerprint());
    let said = w.line(&format!("compare {} {}", old.id(), new.id())).ends_with(2);
    said.complains(&["A is in time model 1 of the lab, B in time model 2", "there is no ratio"]);
    // Side by side, each run shows its time model; and no machine is called `(none)`.
    let both = w.line("list").ends_with(0).out;
    let shown = w.line("show all").ends_with(0).out;
    for model in [1, 2] {
        assert!(shown.contains(&format!("{KERNEL}, time model {model}")), "{shown}");
    }
    assert!(!both.contains("(none)") && !shown.contains("(none)"), "{shown}");
    assert!(shown.contains("one seed (1)"), "{shown}");
    w.line("report all -o page.html").ends_with(0);
    let page = std::fs::read_to_string(w.path("page.html")).unwrap();
    let visible = page.split("<script type=\"application/json\"").next().unwrap();
    assert!(visible.contains("time model 1") && visible.contains("time model 2") && visible.contains("one seed"));
    assert!(!visible.contains("(none)"));
}

#[test]
fn what_is_fetched_from_the_network_is_said_before() {
    if !wanted() {
        return;
    }
    let w = World::new();
    let mut command = w.command(&["measure", "timer", "-l", "10", "--target", "lab:debian/6.12-rt/amd64", "--quiet"]);
    // Nothing answers at this address.
    let said: Said = command.env("RTSCOPE_DEBIAN_MIRROR", "http://127.0.0.1:9/debian").output().unwrap().into();
    said.ends_with(3).complains(&[
        "rtscope: fetching the kernel debian/6.12-rt/amd64 and the guest's tools",
        "from http://127.0.0.1:9/debian, once; kept in",
        "error:",
    ]);
}

#[test]
fn a_wait_for_somebody_elses_lock_ends_by_a_signal() {
    let w = World::new();
    let lock = w.path("cache/rtscope/locks/debian+6.12+amd64");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let held = std::fs::File::create(&lock).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let fetch = vec!["lab", "kernels", "fetch", "debian/6.12/amd64"];
    let measure = vec!["measure", "timer", "-l", "10", "--target", "lab:debian/6.12/amd64"];
    let commands = if std::env::var_os("RTSCOPE_LAB_TESTS").is_some() { vec![fetch, measure] } else { vec![fetch] };
    let all = commands.iter().flat_map(|c| [(c, libc::SIGTERM), (c, libc::SIGINT)]);
    for (words, signal) in all {
        let mut command = w.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        assert!(child.try_wait().unwrap().is_none(), "{words:?}: it waits");
        world::signal(child.id(), signal);
        let began = Instant::now();
        let said = world::end_of(child);
        assert!(said.code != Some(0) && began.elapsed() < Duration::from_secs(60), "{words:?}: {said:?}");
    }
}

/// A run in the lab whose machine is stopped from outside again and again.
fn paused(w: &World, line: &str) -> Record {
    let mut command = w.command(&line.split_whitespace().collect::<Vec<_>>());
    command.env("RTSCOPE_CACHE", cache()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The QEMU process changes during the run: one is asked for its version, and one may boot first.
    let is = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.starts_with("qemu-system"));
    let tell = |signal: &str, pid: u32| {
        let told = std::process::Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status().unwrap();
        told.success()
    };
    let mut pauses = 0;
    while child.try_wait().unwrap().is_none() && pauses < 6 {
        std::thread::sleep(Duration::from_millis(400));
        if let Some(qemu) = world::descendants(child.id()).into_iter().find(is).filter(|&pid| tell("-STOP", pid)) {
            std::thread::sleep(Duration::from_millis(400));
            pauses += usize::from(tell("-CONT", qemu));
        }
    }
    assert!(pauses > 2, "{line}: it was too quick to be paused");
    world::end_of(child).ends_with(0).record()
}

#[test]
fn a_machine_that_is_paused_is_harmless_in_virtual_time_and_not_valid_in_the_hosts() {
    if !wanted() {
        return;
    }
    let w = World::new();
    let line = format!("measure timer --target lab:{KERNEL} --json --quiet -D");
    let virtual_time = format!("{line} 400ms --load network");
    let args: Vec<&str> = virtual_time.split_whitespace().collect();
    let plain: Said = w.command(&args).env("RTSCOPE_CACHE", cache()).output().unwrap().into();
    let stopped = paused(&w, &virtual_time);
    assert_eq!((stopped.fingerprint(), stopped.verdict()), (plain.ends_with(0).record().fingerprint(), Verdict::Repeatable));
    assert!(paused(&w, &format!("{line} 3s --clock host")).verdict() > Verdict::Valid);
}
