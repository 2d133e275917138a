//! Runs under a load with the whole program: the record has the load's proof, and the machine is left as it was.

use crate::world::{
    PROGRAM, Said, World, adds_up, codes, descendants, end_of, find_probe, installed, probe_of, processes, signal, skip, wait_for,
};
use rtscope_record::Verdict;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn lacking() -> Option<&'static str> {
    if !installed("stress-ng") || !installed("iperf3") {
        return Some("stress-ng or iperf3 is not installed");
    }
    (!crate::world::privileged()).then_some("no right to a real-time priority: a busy machine would starve the measuring threads")
}

fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// Everything that a measurement may change on a machine: scheduler settings, governors, idle states, links, namespaces, load
/// directories.
fn machine(w: &World) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut file = |path: PathBuf| {
        if let Ok(text) = fs::read_to_string(&path) {
            found.insert(path, text);
        }
    };
    let entries = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>();
    entries(Path::new("/proc/sys/kernel")).into_iter().filter(|p| p.to_string_lossy().contains("/sched_")).for_each(&mut file);
    for name in ["timer_migration", "nmi_watchdog"] {
        file(Path::new("/proc/sys/kernel").join(name));
    }
    for cpu in entries(Path::new("/sys/devices/system/cpu")) {
        file(cpu.join("cpufreq/scaling_governor"));
        file(cpu.join("online"));
        for state in entries(&cpu.join("cpuidle")) {
            file(state.join("disable"));
        }
    }
    for irq in entries(Path::new("/proc/irq")) {
        file(irq.join("smp_affinity"));
    }
    file("/proc/swaps".into());
    file("/sys/kernel/tracing/current_tracer".into());
    // Loads write below $TMPDIR, which is this test's own; other programs' files in /var/tmp are not looked at.
    for dir in ["/sys/class/net".into(), "/run/netns".into(), w.path("tmp"), w.path("state/rtscope/journal")] {
        let mut names: Vec<String> = entries(&dir).iter().map(|p| p.display().to_string()).collect();
        names.sort();
        found.insert(dir, names.join("\n"));
    }
    found
}

#[test]
fn six_loads_give_six_runs_and_leave_the_machine_as_it_was() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::on_disk();
    let before = machine(&w);
    let said = w.line("measure timer -D 1s --load all --json").ends_with(0);
    assert_eq!(machine(&w), before);
    let loads: Vec<String> = said
        .out
        .lines()
        .map(|l| {
            let r: rtscope_record::Record = serde_json::from_str(l).unwrap();
            adds_up(&r, |_| 1000);
            let load = r.parts().load.clone();
            match &r.parts().load_proof {
                None => assert_eq!(load, "none"),
                Some(proof) => {
                    assert_eq!(proof.name, load);
                    assert!(proof.processes.iter().all(|p| !p.died_early), "{proof:?}");
                    assert!(proof.processes.iter().any(|p| p.achieved.values().any(|&v| v > 0.0)), "{proof:?}");
                }
            }
            load
        })
        .collect();
    assert_eq!(loads, ["none", "background", "calculation", "disk", "network", "full"]);
    let page = w.line("report last=6 -o page.html").ends_with(0);
    assert!(fs::read_to_string(page.out.trim()).unwrap().contains("calculation"));
    assert_eq!(w.line("compare load=none load=full --json").ends_with(0).out.matches("load-differs").count(), 1);
}

#[test]
fn a_load_of_one_s_own() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::on_disk();
    let own = "stress-ng:--cpu 1 --cpu-method fft";
    let r = w.run(&["measure", "timer", "-D", "1s", "--json", "--load", own]).ends_with(0).record();
    adds_up(&r, |_| 1000);
    let proof = r.parts().load_proof.as_ref().unwrap();
    assert_eq!((r.parts().load.as_str(), proof.name.as_str()), (own, own));
    assert!(proof.processes.iter().any(|p| p.achieved.get("cpu.bogo_ops").is_some_and(|&n| n > 0.0)), "{proof:?}");
}

#[test]
fn a_load_that_dies_makes_the_run_invalid() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::on_disk();
    let child = w.start("measure timer -D 3s --load calculation --json");
    probe_of(child.id());
    let tools: Vec<u32> = descendants(child.id()).into_iter().filter(|&p| name_of(p).starts_with("stress-ng")).collect();
    assert!(!tools.is_empty());
    kill_all(&tools);
    let said = end_of(child).ends_with(4);
    let r = said.record();
    assert_eq!((r.verdict(), codes(&r).contains(&"load-died")), (Verdict::Invalid, true), "{:?}", codes(&r));
    assert!(r.parts().load_proof.as_ref().unwrap().processes.iter().any(|p| p.died_early));
    assert_eq!(w.records(), [r], "an INVALID run is kept as well");
    assert_eq!(fs::read_dir(w.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_load_ends_with_a_killed_rtscope() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::on_disk();
    let before = machine(&w);
    let mut child = w.start("measure timer -D 1h --load full");
    probe_of(child.id());
    let all = descendants(child.id());
    assert!(all.iter().any(|&p| name_of(p).starts_with("stress-ng")) && all.iter().any(|&p| name_of(p) == "iperf3"));
    child.kill().unwrap();
    child.wait().unwrap();
    gone(&all);
    wait_for("the load's directory to be gone", || (machine(&w) == before).then_some(()));
}

/// Some may already have ended with the others.
fn kill_all(all: &[u32]) {
    for &pid in all {
        let _ = rtscope_sys::kill(i32::try_from(pid).unwrap(), libc::SIGKILL);
    }
}

#[track_caller]
fn gone(all: &[u32]) {
    wait_for("every process to be gone", || processes().iter().all(|(p, _)| !all.contains(p)).then_some(()));
}

#[test]
fn the_next_start_undoes_what_a_crash_left() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::on_disk();
    let before = machine(&w);
    let mut child = w.start("measure timer -D 1h --load disk");
    probe_of(child.id());
    let all = descendants(child.id());
    let own = Path::new(PROGRAM).canonicalize().unwrap();
    // The program and all stages of its supervisor at once: nobody is left to clean up.
    let stages = all.iter().filter(|p| fs::read_link(format!("/proc/{p}/exe")).is_ok_and(|e| e == own));
    let stages: Vec<u32> = std::iter::once(child.id()).chain(stages.copied()).collect();
    assert!(stages.len() > 2, "{stages:?}");
    for &stage in &stages {
        signal(stage, libc::SIGSTOP);
    }
    kill_all(&stages);
    child.wait().unwrap();
    gone(&all);
    let left = fs::read_dir(w.path("tmp")).unwrap().count();
    assert_eq!(left, 1, "the directory of the load");
    let said = w.line("measure timer -D 100ms --json").ends_with(0);
    assert!(said.err.contains("undone after a crash: removed ") && said.err.contains("rtscope-load-"), "{said:?}");
    assert_eq!(machine(&w), before);
    assert_eq!(w.line("measure timer -D 100ms --json").ends_with(0).err, "", "once is enough");
}

#[test]
fn ctrl_c_while_a_load_starts_or_runs() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::on_disk();
    let before = machine(&w);
    let child = w.start("measure timer -D 1h --load full --json");
    wait_for("the supervisor", || descendants(child.id()).into_iter().next());
    std::thread::sleep(std::time::Duration::from_millis(100));
    signal(child.id(), libc::SIGINT);
    let said = end_of(child).ends_with(130);
    // On a fast machine the load may already be up.
    assert!(said.out.is_empty() || said.record().parts().interrupted, "{said:?}");
    let child = w.start("measure timer -D 1h --load calculation --json");
    probe_of(child.id());
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal(child.id(), libc::SIGINT);
    let r = end_of(child).ends_with(130).record();
    assert!(r.parts().interrupted && r.parts().load_proof.is_some());
    assert_eq!(machine(&w), before);
}

/// Its workers starved the run itself for a minute when they were a session, and with that an autogroup, of their own.
#[test]
fn a_load_is_in_the_schedulers_group_of_its_run_and_out_of_the_terminals_reach() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::on_disk();
    let line = format!("exec {PROGRAM} measure timer -D 1h --json --quiet --load calculation >out 2>err");
    let mut terminal = w.command_of("script");
    terminal.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut terminal = terminal.spawn().unwrap();
    let program = || descendants(terminal.id()).into_iter().find(|&p| name_of(p) == "rtscope" && find_probe(p).is_some());
    let rtscope = wait_for("the probe", program);
    // Process group, session and controlling terminal: proc_pid_stat(5).
    let of = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<i64> = stat.rsplit_once(") ").unwrap().1.split(' ').skip(2).take(3).map(|f| f.parse().unwrap()).collect();
        (fields[0], fields[1], fields[2])
    };
    let own = of(rtscope);
    assert_ne!(own.2, 0, "rtscope has no terminal");
    let load: Vec<u32> = descendants(rtscope).into_iter().filter(|&p| name_of(p).starts_with("stress-ng")).collect();
    assert!(!load.is_empty());
    for (group, session, terminal) in load.into_iter().map(of) {
        assert!(group != own.0 && session == own.1 && terminal == 0, "{group} {session} {terminal}, rtscope: {own:?}");
    }
    terminal.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    assert_eq!(terminal.wait().unwrap().code(), Some(130));
    let record = Said { code: None, out: fs::read_to_string(w.path("out")).unwrap(), err: String::new() }.record();
    let proof = record.parts().load_proof.as_ref().unwrap();
    assert!(record.parts().interrupted && proof.processes.iter().all(|p| p.exit_code == Some(0)), "{proof:?}");
}

/// iperf3 was killed between making a temporary file and removing it, and the file stayed.
#[test]
fn tools_make_their_temporary_files_where_the_load_is_cleared_away() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::on_disk();
    let own = w.path("tmp").display().to_string();
    let child = w.start("measure timer -D 1h --load network --json");
    // Another is asked for its version.
    let at_work = |pid: &u32| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        name_of(*pid) == "iperf3" && words.split('\0').any(|word| ["-c", "-s"].contains(&word))
    };
    let tool = wait_for("iperf3", || descendants(child.id()).into_iter().find(at_work));
    let environment = fs::read(format!("/proc/{tool}/environ"));
    signal(child.id(), libc::SIGINT);
    end_of(child).ends_with(130);
    // That of a tool in a user namespace can't be read.
    let Ok(environment) = environment else { return skip("another process' environment can't be read here") };
    assert!(!environment.is_empty());
    for word in environment.split(|b| *b == 0).map(String::from_utf8_lossy) {
        let temporary = ["TMPDIR=", "TEMP=", "TMP="].iter().find_map(|name| word.strip_prefix(name));
        assert!(temporary.is_none_or(|dir| dir == "."), "{word}, the user's {own}");
    }
}

/// Runs the program without stress-ng: in a mount namespace where a file that can't be run hides it.
fn without_stress_ng(w: &World, words: &str) -> Option<Said> {
    let Some(installed) =
        ["/usr/bin/stress-ng", "/bin/stress-ng", "/usr/local/bin/stress-ng"].iter().find(|p| Path::new(p).exists())
    else {
        return Some(w.line(words));
    };
    w.file("no-program", "");
    let script = format!("mount --bind no-program {installed} || exit 99; exec {PROGRAM} {words}");
    let said: Said = w.command_of("unshare").args(["-m", "sh", "-c", &script]).env("PATH", "/usr/bin:/bin").output().ok()?.into();
    (said.code != Some(99) && !said.err.contains("unshare:")).then_some(said)
}

#[test]
fn a_missing_tool_is_told_with_the_command_that_installs_it() {
    let w = World::on_disk();
    let Some(said) = without_stress_ng(&w, "measure timer -D 1 --load calculation") else {
        return skip("stress-ng can't be hidden here (needs root)");
    };
    said.ends_with(3).complains(&["stress-ng", "apt-get install stress-ng"]);
    assert!(without_stress_ng(&w, "loads").unwrap().ends_with(0).out.contains("missing here: stress-ng"));
    // What was measured before the unavailable load is shown and kept.
    let said = without_stress_ng(&w, "measure timer -D 1 --load none,calculation").unwrap();
    assert!(said.code == Some(3) && said.out.contains("cpu") && w.records().len() == 1, "{said:?}");
}
