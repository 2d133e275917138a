//! Signals at any moment: the samples so far are kept, and nothing is left running.

use crate::world::{PROGRAM, Said, World, children, descendants, end_of, privileged, probe_of, signal, wait_for};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn start(w: &World, words: &str) -> Child {
    // The tests themselves may run under nohup, whose ignored SIGHUP the program would respect.
    let mut command = w.command_of("env");
    command.args(["--default-signal=HUP", PROGRAM]).args(words.split_whitespace());
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
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
            rtscope_sys::kill(to, ending).unwrap();
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

/// From before the handler is installed until after the end: whatever was measured is in the archive, complete.
#[test]
fn ctrl_c_at_any_moment_loses_nothing() {
    let w = World::new();
    let mut kept = 0;
    let begin = |duration: &str| start(&w, &format!("measure timer -D {duration} --json --archive all.db"));
    // Delays from the start of the program; and from the start of the measurement, which is late on a busy machine.
    let starting = (0..24).map(|i| i * 15).chain([220, 225, 230, 235, 240]).map(|ms| ("200ms", ms));
    for (duration, delay) in starting.chain([("10s", 0), ("10s", 50)]) {
        let child = begin(duration);
        let pid = child.id();
        if duration == "10s" {
            probe_of(pid);
        }
        std::thread::sleep(Duration::from_millis(delay));
        rtscope_sys::kill(-i32::try_from(pid).unwrap(), libc::SIGINT).unwrap();
        let said = end_of(child);
        match said.code {
            // Before the handler is installed, nothing has been measured either.
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
    // The archive is intact.
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

/// A command that is started as scripts (`&`), nohup, cron and supervisors start programs, and worse: the signals that ask a
/// program to end are ignored, and all signals are blocked.
fn deaf(w: &World, words: &str) -> Command {
    let mut command = w.command_of("env");
    command.args(["--ignore-signal=INT,QUIT,HUP,CHLD", "--block-signal", PROGRAM]).args(words.split_whitespace());
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_run_that_was_started_with_signals_ignored_and_blocked_can_be_ended_and_says_how() {
    for ending in [libc::SIGINT, libc::SIGTERM] {
        let w = World::new();
        let child = deaf(&w, "measure timer -D 1h --json --quiet").spawn().unwrap();
        let pid = child.id();
        let probe = probe_of(pid);
        // This is what nohup is for.
        rtscope_sys::kill(-i32::try_from(pid).unwrap(), libc::SIGHUP).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert!(children(pid).contains(&probe));
        signal(pid, ending);
        let said = end_of(child).ends_with(130).complains(&["SIGINT is ignored here", &format!("kill -TERM {pid}")]);
        kept_in_part(&w, &said);
    }
}

#[test]
fn a_load_hears_its_end_however_the_program_was_started() {
    let w = World::on_disk();
    let r = end_of(deaf(&w, "measure timer -D 300ms --json --load background").spawn().unwrap()).measured().record();
    let proof = r.parts().load_proof.as_ref().unwrap();
    assert!(proof.processes.iter().all(|p| p.exit_code == Some(0)), "killed, not asked: {proof:?}");
}

/// On a real terminal: if Ctrl-C was switched off, it ends neither the program nor its probe; else it ends the run.
#[test]
fn a_terminals_ctrl_c_is_heard_unless_it_was_switched_off() {
    for off in [false, true] {
        let w = World::new();
        let trap = if off { "trap '' INT; " } else { "" };
        let line = format!("{trap}exec {PROGRAM} measure timer -D 1h --json --quiet >out 2>err");
        let mut terminal = w.command_of("script");
        terminal.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut terminal = terminal.spawn().unwrap();
        let (pid, probe) = wait_for("the probe", || {
            let below = descendants(terminal.id());
            let pid =
                *below.iter().find(|&&p| std::fs::read_to_string(format!("/proc/{p}/comm")).is_ok_and(|c| c == "rtscope\n"))?;
            Some((pid, *children(pid).first()?))
        });
        probe_of(pid);
        terminal.stdin.as_mut().unwrap().write_all(&[3]).unwrap();
        if off {
            std::thread::sleep(Duration::from_millis(300));
            assert!(children(pid).contains(&probe), "Ctrl-C ended it");
            signal(pid, libc::SIGINT);
        }
        assert_eq!(terminal.wait().unwrap().code(), Some(130), "off: {off}");
        let said = std::fs::read_to_string(w.path("err")).unwrap();
        assert_eq!(said.contains("SIGINT is ignored here"), off, "{said}");
        assert_eq!(w.records().len(), 1);
    }
}
