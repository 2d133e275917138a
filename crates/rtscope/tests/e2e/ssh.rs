//! Targets and DUTs over ssh, with a real server: every record arrives complete, whatever happens to the connection, and nothing
//! is left at the other end.

use crate::sshd::{Sshd, missing};
use crate::world::{World, adds_up, codes, cpus, end_of, installed, privileged, probe_of, signal, skip, wait_for};
use rtscope_record::{Distribution, Test, Verdict};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// A world with a server; `None`, after a note, if there can't be one.
fn board() -> Option<(World, Sshd)> {
    if let Some(why) = missing() {
        skip(why);
        return None;
    }
    let w = World::new();
    let sshd = Sshd::start(&w);
    Some((w, sshd))
}

fn line(of: &str) -> String {
    format!("soft:ssh-{of}-{}", std::process::id())
}

/// Waits until the run at the other end has begun.
#[track_caller]
fn has_begun(sshd: &Sshd) {
    wait_for("the run at the other end", || {
        let events = sshd.spools().into_iter().find_map(|d| fs::read_to_string(d.join("events")).ok())?;
        events.contains("\"progress\"").then_some(())
    });
}

#[test]
fn a_timer_run_is_taken_there_and_kept_here() {
    let Some((w, sshd)) = board() else { return };
    let said = end_of(sshd.command(&w, "measure timer -D 1s --json --target ssh://board/").spawn().unwrap()).measured();
    let r = said.record();
    assert_eq!((r.parts().target.as_str(), r.distributions().len()), ("ssh:board", cpus().len()));
    adds_up(&r, |_| 1000);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(r.parts().system.kernel.release, release.trim());
    assert!(!codes(&r).contains(&"connection-lost") && said.err.is_empty(), "{}", said.err);
    sshd.is_clean();
    assert_eq!(w.line("list target=ssh:board --json").out.matches("\"id\"").count(), 1);
    assert_eq!(w.records(), [r]);
}

#[test]
fn a_login_that_begins_a_line_is_no_hindrance() {
    let Some((w, sshd)) = board() else { return };
    for text in ["Welcome to the board\\n> ", "> "] {
        sshd.greets(text);
        let said = end_of(sshd.command(&w, "measure timer -D 300ms --json --target ssh:board").spawn().unwrap()).measured();
        adds_up(&said.record(), |_| 300);
        sshd.is_clean();
    }
}

#[test]
fn a_board_is_looked_at_for_the_first_time_and_is_in_the_list() {
    let Some((w, sshd)) = board() else { return };
    let says = |out: &str, parts: &[&str]| parts.iter().for_each(|part| assert!(out.contains(part), "no `{part}` in: {out}"));
    says(&w.line("board list").ends_with(0).out, &["no boards yet: rtscope board add"]);
    // Also without `ssh:`.
    let said = end_of(sshd.command(&w, "board add board -D 300ms").spawn().unwrap()).measured();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let there = format!("Linux {}", release.trim());
    says(&said.out, &[&there, "cpu0", "max us"]);
    // Before anything else the board has to allow a real-time priority.
    says(
        &said.out,
        if privileged() { &["Next: ", "--target ssh:board"] } else { &["INVALID priority-refused", "remedy: run as root"] },
    );
    sshd.is_clean();
    end_of(sshd.command(&w, "board add ssh://board/ -D 200ms --json").spawn().unwrap()).measured();
    let [newest, first] = &w.records()[..] else { panic!("two runs") };
    // What is INVALID says nothing about the board.
    let valid = [newest, first].into_iter().filter(|r| r.verdict() != Verdict::Invalid);
    let max = valid.filter_map(|r| r.merged().unwrap()?.max()).max();
    says(&w.line("board list").ends_with(0).out, &["ssh:board", release.trim()]);
    let boards: serde_json::Value = serde_json::from_str(&w.line("board list --json").ends_with(0).out).unwrap();
    assert_eq!((&boards[0]["target"], &boards[0]["runs"], boards[1].is_null()), (&"ssh:board".into(), &2.into(), true));
    assert_eq!(boards[0]["timer_max"].as_u64(), max);
    end_of(sshd.command(&w, "board add nowhere").spawn().unwrap()).ends_with(3);
    w.line("board add ssh:").ends_with(2);
}

#[test]
fn lines_are_measured_there() {
    let Some((w, sshd)) = board() else { return };
    let (a, b) = (line("a"), line("b"));
    let words = format!("measure response --stimulus {a} --answer {b} -i 2ms -l 200 --json --target ssh:board");
    let r = end_of(sshd.command(&w, &words).spawn().unwrap()).measured().record();
    assert_eq!((r.parts().test, r.distributions().iter().map(|d| d.count() + d.missed()).sum::<u64>()), (Test::Response, 200));
    sshd.is_clean();
}

#[test]
fn a_lost_connection_leaves_no_gap() {
    let Some((w, sshd)) = board() else { return };
    let child = sshd.command(&w, "measure timer -D 3s --json --target ssh:board --raw raw.csv").spawn().unwrap();
    has_begun(&sshd);
    sshd.cut();
    std::thread::sleep(Duration::from_millis(900));
    sshd.cut();
    let said = end_of(child).measured().complains(&["connection to ssh:board was lost, ", "connected to ssh:board again"]);
    let r = said.record();
    adds_up(&r, |_| 3000);
    // Every sample arrived, once.
    let raw = fs::read_to_string(w.path("raw.csv")).unwrap();
    let samples: u64 = r.distributions().iter().map(Distribution::count).sum();
    assert_eq!(raw.lines().count() as u64, samples + 1);
    let cycles: BTreeSet<&str> = raw.lines().skip(1).filter_map(|l| Some(l.rsplit_once(',')?.0)).collect();
    assert_eq!(cycles.len() as u64, samples);
    assert!(codes(&r).contains(&"connection-lost") && !r.parts().interrupted);
    sshd.is_clean();
}

#[test]
fn a_server_that_does_not_come_back_is_declared_and_one_that_does_has_the_record() {
    let Some((w, mut sshd)) = board() else { return };
    let mut command = sshd.command(&w, "measure timer -D 2s --json --target ssh:board");
    let child = command.env("RTSCOPE_SSH_PATIENCE", "1s").spawn().unwrap();
    has_begun(&sshd);
    sshd.end();
    end_of(child).ends_with(3).complains(&[
        "connection to ssh:board was lost, ",
        "all figures of this run are lost",
        "does not answer",
    ]);
    assert!(!w.archive().exists());
    assert_eq!(sshd.spools().len(), 1, "nobody could remove it");
    sshd.restart();
    // The next run removes it.
    let left = sshd.spools();
    let child = sshd.command(&w, "measure timer -D 2s --json --target ssh:board").spawn().unwrap();
    wait_for("its end", || (!left[0].exists()).then_some(()));
    has_begun(&sshd);
    // The whole run takes place while there is no server.
    sshd.end();
    wait_for("the run's end", || sshd.spools().into_iter().find(|d| d.join("done").exists()));
    sshd.restart();
    let r = end_of(child).measured().record();
    adds_up(&r, |_| 2000);
    sshd.is_clean();
}

#[test]
fn ctrl_c_reaches_the_other_end() {
    let Some((w, sshd)) = board() else { return };
    let child = sshd.command(&w, "measure timer -D 1h --json --target ssh:board").spawn().unwrap();
    has_begun(&sshd);
    signal(child.id(), libc::SIGINT);
    let r = end_of(child).ends_with(130).record();
    assert!(r.parts().interrupted && r.distributions().iter().all(|d| d.count() > 0));
    assert_eq!(w.records(), [r]);
    sshd.is_clean();
    // The same before anything is measured.
    for delay in [0, 100, 200, 300, 400] {
        let child = sshd.command(&w, "measure timer -D 1h --target ssh:board --no-save").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        signal(child.id(), libc::SIGTERM);
        let said = end_of(child);
        assert!(matches!(said.code, None | Some(130)), "after {delay} ms: {said:?}");
        sshd.is_clean();
    }
}

#[test]
fn what_crashed_is_ended_and_removed_by_the_next_run() {
    let Some((w, sshd)) = board() else { return };
    let mut child = sshd.command(&w, "measure timer -D 1h --target ssh:board").spawn().unwrap();
    has_begun(&sshd);
    child.kill().unwrap();
    child.wait().unwrap();
    let crashed = sshd.spools();
    let uid = fs::metadata("/proc/self").unwrap().uid();
    let stale = sshd.there().join(format!("rtscope-ssh-{uid}-stale"));
    fs::create_dir(&stale).unwrap();
    fs::write(stale.join("owner"), r#"{"boot":"an earlier one","pid":1,"start":1}"#).unwrap();
    assert!(crashed.len() == 1 && !sshd.workers().is_empty());
    // A follower ends when its connection is gone; until then somebody might still be there.
    wait_for("the follower's end", || {
        (sshd.workers_with("keep").is_empty() && sshd.workers_with("follow").is_empty()).then_some(())
    });
    end_of(sshd.command(&w, "measure timer -D 200ms --target ssh:board").spawn().unwrap()).measured();
    sshd.is_clean();
}

#[test]
fn a_target_that_can_not_be_used_says_why() {
    let Some((w, mut sshd)) = board() else { return };
    let fails = |sshd: &Sshd, code: i32, says: &[&str]| {
        let said = end_of(sshd.command(&w, "measure timer -D 1s --target ssh:board").spawn().unwrap());
        said.ends_with(code).complains(says);
        sshd.is_clean();
    };
    sshd.configure("nobody_known", "key");
    fails(&sshd, 3, &["the host key of ssh:board is not known", "ssh board"]);
    let other = fs::read_to_string(w.path("ssh/other.pub")).unwrap();
    let known = fs::read_to_string(w.path("ssh/known_hosts")).unwrap();
    w.file("ssh/other_known", format!("{} {other}", known.split(' ').next().unwrap()));
    sshd.configure("other_known", "key");
    fails(&sshd, 3, &["another host key", "ssh-keygen -R"]);
    sshd.configure("known_hosts", "other");
    fails(&sshd, 3, &["ssh:board refuses the login", "Permission denied", "ssh-copy-id"]);
    sshd.configure("known_hosts", "key");
    // A probe that is not a program, one of another version, and none at all.
    for (text, says) in [
        ("no program at all", vec!["does not run on ssh:board", "./x probe"]),
        ("#!/bin/sh\necho rtscope-probe 0.0.1\n", vec!["rtscope-probe 0.0.1", "./x probe"]),
        (
            concat!("#!/bin/sh\necho 'rtscope-probe ", env!("CARGO_PKG_VERSION"), " (commit abc, protocol rtscope-probe/0)'\n"),
            vec!["commit abc, protocol rtscope-probe/0)`, this is rtscope", "protocol rtscope-probe/1)", "./x probe"],
        ),
    ] {
        for arch in ["amd64", "arm64", "armhf"] {
            w.file(&format!("ssh/probes/rtscope-probe-{arch}"), text);
        }
        fails(&sshd, 3, &says);
    }
    fs::remove_dir_all(w.path("ssh/probes")).unwrap();
    fails(&sshd, 3, &["there is no probe for ssh:board", "rtscope-probe-", "./x probe"]);
    sshd.end();
    fails(&sshd, 3, &["ssh:board does not answer", "Connection refused"]);
    for (words, says) in [
        ("measure timer --target ssh:-oProxyCommand=x", "names no machine"),
        ("measure timer --target ssh:", "names no machine"),
        ("measure timer --target ssh:board --load disk --load-dir /var/tmp", "--load-dir"),
        ("measure response --stimulus soft:a --answer soft:b --dut ssh:-x", "names no machine"),
    ] {
        end_of(sshd.command(&w, words).spawn().unwrap()).ends_with(2).complains(&[says]);
    }
    assert!(!w.archive().exists());
}

#[test]
fn a_device_is_started_there_and_ended() {
    let Some((w, sshd)) = board() else { return };
    let (a, b) = (line("da"), line("db"));
    let words =
        format!("measure response --stimulus {a} --answer {b} -i 2ms -l 200 --json --dut ssh://board --inject drop=10 --warmup 0");
    let child = sshd.command(&w, &words).spawn().unwrap();
    // A DUT with injected faults makes the record INVALID, wherever the DUT is.
    let r = end_of(child).ends_with(4).record();
    assert!(crate::world::codes(&r).contains(&"injected"));
    // Of 100 pulses, each with two edges, every tenth is dropped.
    assert!(r.distributions().iter().all(|d| d.missed() >= 10), "{:?}", r.distributions());
    let i = r.parts().instrument.as_ref().unwrap();
    assert!(i.dut.starts_with("ssh:board: rtscope-probe in user space") && i.dut.contains("200 edges, 180 answers"), "{}", i.dut);
    assert_eq!(r.parts().target, "local");
    // Two machines, two snapshots: the record's is the DUT's.
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for system in [&r.parts().system, i.system.as_deref().unwrap()] {
        assert_eq!(system.kernel.release, release.trim());
    }
    assert_eq!(r.parts().settings.lines.as_ref().unwrap().dut.as_ref().unwrap().inject.drop_every, 10);
    assert!(!crate::world::codes(&r).contains(&"machine-unknown"));
    sshd.is_clean();

    let words = format!("measure periodic --answer {b} -i 2ms -D 300ms --json --dut ssh://board");
    let said = end_of(sshd.command(&w, &words).spawn().unwrap());
    let r = said.record();
    // On a busy machine a soft line may lose edges, and the record is INVALID for it.
    let _ = if crate::world::codes(&r).contains(&"edges-lost") { said.ends_with(4) } else { said.measured() };
    assert!(r.parts().test == Test::Periodic && r.distributions().iter().any(|d| d.count() > 0));
    sshd.is_clean();
}

#[test]
fn a_device_that_dies_or_can_not_be_says_why() {
    let Some((w, sshd)) = board() else { return };
    let (a, b) = (line("xa"), line("xb"));
    let words = format!("measure response --stimulus {a} --answer {b} -i 2ms -D 20s --json --dut ssh://board");
    let child = sshd.command(&w, &words).spawn().unwrap();
    let device = wait_for("the device", || sshd.workers_with("dut").first().copied());
    probe_of(child.id());
    signal(device, libc::SIGKILL);
    let r = end_of(child).ends_with(4).record();
    assert_eq!(r.verdict(), Verdict::Invalid);
    let died = r.parts().warnings.iter().find(|w| w.code == "dut-died").unwrap();
    assert!(died.message.contains("the DUT on ssh:board died") && died.message.contains("signal: 9"), "{died:?}");
    sshd.is_clean();

    let words = format!("measure response --stimulus {a} --answer {b} -D 1s --dut ssh:board --dut-in gpio:no-such-chip/1");
    end_of(sshd.command(&w, &words).spawn().unwrap()).ends_with(3).complains(&["gpio:no-such-chip/1"]);
    sshd.is_clean();

    // Both are ended together.
    let words = format!("measure response --stimulus {a} --answer {b} -i 2ms -D 1h --json --dut ssh://board");
    let child = sshd.command(&w, &words).spawn().unwrap();
    probe_of(child.id());
    signal(child.id(), libc::SIGINT);
    end_of(child).ends_with(130);
    sshd.is_clean();
}

#[test]
fn a_load_is_kept_up_there_and_proved() {
    let Some((w, sshd)) = board() else { return };
    if !installed("stress-ng") {
        return skip("stress-ng is not installed");
    }
    let child = sshd.command(&w, "measure timer -D 1s --json --target ssh:board --load calculation").spawn().unwrap();
    let r = end_of(child).measured().record();
    let proof = r.parts().load_proof.as_ref().unwrap();
    assert_eq!(r.parts().load, "calculation");
    assert!(!proof.processes.is_empty() && r.parts().system.tools.contains_key("stress-ng"), "{proof:?}");
    sshd.is_clean();
    // An interrupt ends everything at both ends.
    let before = sshd.workers().len();
    let child = sshd.command(&w, "measure timer -D 1h --json --target ssh:board --load calculation").spawn().unwrap();
    has_begun(&sshd);
    signal(child.id(), libc::SIGINT);
    let r = end_of(child).ends_with(130).record();
    assert!(r.parts().interrupted && r.parts().load_proof.is_some() && before == 0);
    sshd.is_clean();
    // If a DUT is there, the load runs beside the DUT.
    let words = format!("measure response --stimulus {} --answer {} -i 20ms -l 20 --json --dut ssh:board", line("la"), line("lb"));
    let r = end_of(sshd.command(&w, &format!("{words} --load calculation")).spawn().unwrap()).measured().record();
    assert!(r.parts().load == "calculation" && r.parts().load_proof.is_some(), "{:?}", r.parts().load_proof);
    sshd.is_clean();
}

#[test]
fn the_worst_load_there_is_hunted_and_has_a_name() {
    let Some((w, sshd)) = board() else { return };
    if !installed("stress-ng") {
        return skip("stress-ng is not installed");
    }
    let words = "hunt ssh://board --stressors clock --trial 200ms --budget 2m --json";
    if !privileged() {
        end_of(sshd.command(&w, words).spawn().unwrap()).ends_with(3).complains(&["no trial gave a figure"]);
        return skip("what is INVALID is no figure, and this user may not have a real-time priority");
    }
    let found = end_of(sshd.command(&w, words).spawn().unwrap()).ends_with(0).out;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["alone"], serde_json::json!(["clock"]), "{found}");
    let records = w.records();
    assert!(!records.is_empty() && records.iter().all(|r| r.id().starts_with("hunt-") && r.parts().target == "ssh:board"));
    assert!(records.iter().all(|r| r.parts().load_proof.is_some()), "each trial had its load, there");
    let child = sshd.command(&w, "measure timer -D 200ms --json --target ssh:board --load worst").spawn().unwrap();
    assert_eq!(end_of(child).measured().record().parts().load, found["ranking"][0]["load"].as_str().unwrap());
    let unknown = "hunt ssh:board --stressors no-such-one --budget 1s";
    end_of(sshd.command(&w, unknown).spawn().unwrap()).ends_with(2).complains(&["no stressor `no-such-one`"]);
    sshd.is_clean();
}

#[test]
fn a_campaign_goes_there() {
    let Some((w, sshd)) = board() else { return };
    let plan = "name = \"there\"\ntargets = [\"ssh://board\", \"local\"]\n[[tests]]\ntest = \"timer\"\nduration = \"200ms\"\n";
    w.file("there.toml", plan);
    let said = end_of(sshd.command(&w, "campaign run there.toml").spawn().unwrap()).measured();
    assert!(said.out.contains("ssh:board: timer"), "{}", said.out);
    let mut targets: Vec<String> = w.records().iter().map(|r| r.parts().target.clone()).collect();
    targets.sort();
    assert_eq!(targets, ["local", "ssh:board"]);
    sshd.is_clean();
}

#[test]
fn a_campaign_has_its_device_there() {
    let Some((w, sshd)) = board() else { return };
    let (a, b) = (line("pa"), line("pb"));
    let plan = |address: &str| {
        format!(
            "name = \"device\"\ntargets = [\"local\"]\n[[tests]]\ntest = \"response\"\nstimulus = \"{a}\"\nanswer = \"{b}\"\n\
             dut = \"{address}\"\ninterval = \"2ms\"\nloops = 100\nwarmup = 0\n"
        )
    };
    w.file("device.toml", plan("ssh://board"));
    // On a busy machine a soft line may lose edges, and the record is INVALID for it, but a record.
    let said = end_of(sshd.command(&w, "campaign run device.toml").spawn().unwrap());
    assert!(said.out.contains("local: response 2ms 100 loops, DUT on ssh:board"), "{}", said.out);
    let records = w.records();
    assert_eq!(records.len(), 1, "{}", said.err);
    let r = &records[0];
    let i = r.parts().instrument.as_ref().unwrap();
    assert!(i.dut.starts_with("ssh:board: rtscope-probe in user space") && i.dut.contains("100 edges"), "{}", i.dut);
    assert!(!crate::world::codes(r).contains(&"machine-unknown") && i.system.is_some());
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!((r.parts().target.as_str(), r.parts().system.kernel.release.as_str()), ("local", release.trim()));
    sshd.is_clean();
    // The same machine by another name for its address: the run is there already.
    w.file("device.toml", plan("ssh:board"));
    end_of(sshd.command(&w, "campaign run device.toml").spawn().unwrap());
    assert_eq!(w.records().len(), 1);
    end_of(sshd.command(&w, "campaign run device.toml --load-dir .").spawn().unwrap())
        .ends_with(2)
        .complains(&["no run of this plan has its load here"]);
}
