//! A stopped instrument: the missed points are counted, and the corrected percentiles show what the raw ones hide.

use crate::world::{Said, World, adds_up, codes, end_of, privileged, probe_of, signal};
use rtscope_record::Record;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

const STALL: Duration = Duration::from_millis(300);
/// Points of the 1 ms grid that a stall passes over, at least; the first point after it is met late.
const PASSED: u64 = 290;

fn start(w: &World) -> std::process::Child {
    let mut c = w.command(&["measure", "timer", "-i", "1ms", "-D", "3s", "--json"]);
    // Its own process group, so that a signal can reach all of it.
    c.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn record(said: Said) -> Record {
    let r = said.measured().record();
    adds_up(&r, |_| 3000);
    r
}

#[track_caller]
fn shows_the_stall(r: &Record) {
    assert!(codes(r).contains(&"missed-periods"), "{:?}", codes(r));
    for d in r.distributions() {
        assert!(d.missed() >= PASSED, "{}: {} missed", d.label(), d.missed());
        assert!(d.max() >= Some(PASSED * 1_000_000), "{}: max {:?}", d.label(), d.max());
        let (raw, corrected) = (d.percentiles(), d.corrected_percentiles());
        // A stall is one sample of 2,700; corrected, it is a tenth of all points: beyond p90 the views differ.
        assert!(corrected["p99"] > raw["p99"], "{}: raw {raw:?}, corrected {corrected:?}", d.label());
        assert!(corrected["p99"] >= 200_000_000, "{}: corrected {corrected:?}", d.label());
        assert_eq!(d.passed().map(|p| p.histogram.total()), Some(d.missed()), "{}: each is known", d.label());
    }
}

#[test]
fn a_stopped_probe_misses_periods_and_counts_them() {
    let w = World::new();
    let child = start(&w);
    let probe = probe_of(child.id());
    std::thread::sleep(Duration::from_millis(300));
    signal(probe, libc::SIGSTOP);
    std::thread::sleep(STALL);
    signal(probe, libc::SIGCONT);
    let r = record(end_of(child));
    shows_the_stall(&r);
    let shown = w.line("show").ends_with(if privileged() { 0 } else { 4 }).out;
    assert!(shown.contains("missed-periods") && shown.contains("corrected us"), "{shown}");
}

#[test]
fn a_stopped_process_group_misses_periods_and_counts_them() {
    let w = World::new();
    let child = start(&w);
    probe_of(child.id());
    std::thread::sleep(Duration::from_millis(300));
    let group = -i32::try_from(child.id()).unwrap();
    rtscope_sys::kill(group, libc::SIGSTOP).unwrap();
    std::thread::sleep(STALL);
    rtscope_sys::kill(group, libc::SIGCONT).unwrap();
    shows_the_stall(&record(end_of(child)));
}

#[test]
fn a_stopped_driver_costs_nothing() {
    let w = World::new();
    let child = start(&w);
    probe_of(child.id());
    signal(child.id(), libc::SIGSTOP);
    // Longer than the run: all that the probe sends waits in the pipe.
    std::thread::sleep(Duration::from_millis(3500));
    signal(child.id(), libc::SIGCONT);
    let r = record(end_of(child));
    assert!(!r.parts().interrupted);
    assert_eq!(w.records(), [r]);
}
