//! Runs with the kernel's tracer on, on this machine: the answer adds up, and nothing is left, whatever ends them.

use crate::world::{Said, World, codes, descendants, end_of, installed, root, signal, skip, wait_for};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Waits for the instance of this run, named by the process that keeps it; returns that process.
fn keeper_of(rtscope: u32) -> u32 {
    wait_for("an instance", || descendants(rtscope).into_iter().find(|pid| is_there(*pid)))
}

fn is_there(keeper: u32) -> bool {
    Path::new("/sys/kernel/tracing/instances").join(format!("rtscope-{keeper}")).exists()
}

/// Whether this machine lets itself be traced.
fn traceable() -> bool {
    let can = root() && Path::new("/sys/kernel/tracing/instances").is_dir();
    if !can {
        skip("this user can't trace the kernel here");
    }
    can
}

/// The journal's entries.
fn journal(w: &World) -> usize {
    fs::read_dir(w.path("state/rtscope/journal")).map_or(0, Iterator::count)
}

#[test]
fn the_parts_of_a_traced_sample_sum_to_its_latency() {
    if !traceable() {
        return;
    }
    let w = World::new();
    // Any wake-up takes longer than this.
    let said = w.line("measure timer -D 300ms -a 0 --trace 1us --trace-files why --json").ends_with(0);
    let record = said.record();
    assert!(codes(&record).contains(&"traced") && !codes(&record).contains(&"tracing-on"), "{:?}", codes(&record));
    let d = &record.distributions()[0];
    assert_eq!(d.parts().expected, Some(300), "the measurement goes on after the stop");
    assert!(said.err.contains("why: ") && said.err.contains("read from the kernel's trace"), "{}", said.err);
    let files: Vec<_> = fs::read_dir(w.path("why")).unwrap().map(|e| e.unwrap().path()).collect();
    let of = |end: &str| files.iter().find(|p| p.to_str().unwrap().ends_with(end)).map(|p| fs::read_to_string(p).unwrap()).unwrap();
    let text = of(".trace.txt");
    let latency: u64 = text.split("rtscope: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let folded: u64 = of(".folded").lines().map(|l| l.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!((folded, files.len()), (latency, 5));
    assert!(serde_json::from_str::<Value>(&of(".trace.json")).is_ok());
    let file = files.iter().find(|p| p.extension().is_some_and(|e| e == "dat")).unwrap();
    if installed("trace-cmd") {
        let report = w.command_of("trace-cmd").arg("report").arg(file).output().unwrap();
        let report = String::from_utf8_lossy(&report.stdout).into_owned();
        assert!(report.contains(&format!("rtscope: {latency} ns late")) && report.contains("sched_wakeup"), "{report}");
    }
    // The page shows it.
    w.line("report -o page.html").ends_with(0);
    assert!(fs::read_to_string(w.path("page.html")).unwrap().contains("Why it was late"));
    // Answer and trace are kept with the run, and give the same files.
    let again = w.line("explain --files again").ends_with(0);
    assert!(again.out.contains("read from the kernel's trace"), "{}", again.out);
    for file in &files {
        assert_eq!(
            fs::read(file).unwrap(),
            fs::read(w.path("again").join(file.file_name().unwrap())).unwrap(),
            "{}",
            file.display()
        );
    }
    w.line("explain --worst 2").ends_with(2).complains(&["only the sample at which its trace was stopped"]);
    assert_eq!(journal(&w), 0);
    let said = w.line("measure timer -D 100ms -a 0 --trace 10s").ends_with(0);
    assert!(said.out.contains("no latency was above 10s"), "{}", said.out);
}

#[test]
fn nothing_is_left_after_sigkill() {
    if !traceable() {
        return;
    }
    let w = World::new();
    let mut child = w.start("measure timer -D 1h -a 0 --trace 10s");
    let keeper = keeper_of(child.id());
    assert_eq!(journal(&w), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("its end", || (!is_there(keeper)).then_some(()));
    wait_for("the journal's", || (journal(&w) == 0).then_some(()));
}

#[test]
fn an_instance_whose_keeper_was_killed_too_is_removed_at_the_next_start() {
    if !traceable() {
        return;
    }
    let w = World::new();
    let child = w.start("measure timer -D 1h -a 0 --trace 10s");
    let keeper = keeper_of(child.id());
    for pid in [keeper, child.id()] {
        signal(pid, libc::SIGKILL);
    }
    end_of(child);
    assert!(is_there(keeper));
    let said = w.line("measure timer -D 100ms -a 0").measured();
    assert!(!is_there(keeper) && said.err.contains(&format!("removed the tracing instance rtscope-{keeper}")), "{}", said.err);
}

#[test]
fn what_can_not_be_traced_is_refused() {
    let w = World::new();
    let refused = |words: &str, why: &str| -> Said { w.line(words).ends_with(2).complains(&[why, "try: "]) };
    refused("measure timer --trace 1us --migrate", "stay on their CPUs");
    refused("measure timer --trace 1us --space kernel", "timer test in user space");
    refused("measure timer --trace 1us --target fake:x", "can't be had on fake:x");
    refused("measure timer --trace 1us --target ssh:board", "can't be had on ssh");
    w.line("measure timer --trace-files x").ends_with(2);
}
