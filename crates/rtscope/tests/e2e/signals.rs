//! Signals at any moment: what was measured is kept, and nothing is left running.

use crate::world::{Said, World, children, descendants, end_of, privileged, probe_of, signal, wait_for};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;

fn start(w: &World, words: &str) -> Child {
    let words: Vec<&str> = words.split_whitespace().collect();
    w.command(&words).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn kept_in_part(w: &World, said: &Said) {
    let r = said.record();
    assert!(r.parts().interrupted && crate::world::codes(&r).contains(&"interrupted"));
    for d in r.distributions() {
        assert!(d.count() > 0 && Some(d.count() + d.missed()) == d.parts().expected, "{}", d.label());
    }
    assert_eq!(w.records(), [r]);
}

#[test]
fn a_run_that_is_ended_early_keeps_what_it_measured() {
    for ending in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        for to_group in [false, true] {
            let w = World::new();
            let child = start(&w, "measure timer -D 1h --json");
            probe_of(child.id());
            std::thread::sleep(Duration::from_millis(200));
            let to = i32::try_from(child.id()).unwrap() * if to_group { -1 } else { 1 };
            rtscope_probe::sys::kill(to, ending).unwrap();
            let said = end_of(child).ends_with(130);
            kept_in_part(&w, &said);
        }
    }
}

#[test]
fn a_run_without_an_end_is_ended_by_ctrl_c_with_a_table() {
    let w = World::new();
    let child = start(&w, "measure timer --loops 100000000");
    probe_of(child.id());
    std::thread::sleep(Duration::from_millis(200));
    signal(child.id(), libc::SIGINT);
    let said = end_of(child).ends_with(130);
    assert!(said.out.contains("interrupted") && said.out.contains("cpu"), "{}", said.out);
}

/// From before the handler is there until after the end: whatever was measured is in the archive, whole.
#[test]
fn ctrl_c_at_any_moment_loses_nothing() {
    let w = World::new();
    let mut kept = 0;
    for delay in (0..24).map(|i| i * 15).chain([220, 225, 230, 235, 240]) {
        let child = start(&w, "measure timer -D 200ms --json --archive all.db");
        let pid = child.id();
        std::thread::sleep(Duration::from_millis(delay));
        rtscope_probe::sys::kill(-i32::try_from(pid).unwrap(), libc::SIGINT).unwrap();
        let said = end_of(child);
        match said.code {
            // Before the handler was there nothing was measured either.
            None => assert_eq!(said.out, "", "after {delay} ms"),
            Some(code) => {
                let fine = if privileged() { 0 } else { 4 };
                assert!(code == 130 || code == fine, "after {delay} ms: {said:?}");
                if said.out.is_empty() {
                    assert_eq!(code, 130, "after {delay} ms: {said:?}");
                } else {
                    let r = said.record();
                    let shown = w.line(&format!("show --json --archive all.db {}", r.id()));
                    assert_eq!(shown.record(), r, "after {delay} ms");
                    kept += 1;
                }
            }
        }
        wait_for("everything to be gone", || children(pid).is_empty().then_some(()));
    }
    assert!(kept > 0);
    assert_eq!(w.line("list --json --archive all.db").out.matches("\"id\"").count(), kept);
    w.line("verify --archive all.db").ends_with(0);
}

#[test]
fn ctrl_c_between_loads_keeps_the_runs_before() {
    let w = World::new();
    let child = start(&w, "measure timer -D 1s --json --load none,none,none");
    let first = probe_of(child.id());
    let pid = child.id();
    wait_for("the second probe", || children(pid).into_iter().find(|&c| c != first));
    probe_of(pid);
    std::thread::sleep(Duration::from_millis(100));
    signal(pid, libc::SIGINT);
    let said = end_of(child).ends_with(130);
    let runs = said.out.lines().count();
    assert!((1..=2).contains(&runs) && w.records().len() == runs, "{runs}");
}

#[test]
fn nothing_survives_sigkill() {
    let w = World::new();
    let mut child = start(&w, "measure timer -D 1h");
    let probe = probe_of(child.id());
    let all = descendants(child.id());
    assert!(all.contains(&probe));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the probe to be gone", || crate::world::processes().iter().all(|(p, _)| !all.contains(p)).then_some(()));
    // The archive is as good as before.
    w.line("measure timer -D 100ms --json").measured();
    w.line("verify").ends_with(0);
}

#[test]
fn a_killed_probe_is_told() {
    let w = World::new();
    let child = start(&w, "measure timer -D 1h");
    let probe = probe_of(child.id());
    std::thread::sleep(Duration::from_millis(400));
    signal(probe, libc::SIGKILL);
    end_of(child).ends_with(3).complains(&["the probe ended without a record", "signal: 9"]);
}
