//! The test cases.

use super::world::{Case, World, codes, figure, files, kill, lacking};
use rtscope_load::{Isolation, Load, LoadError};

use std::time::{Duration, Instant};

const KINDS: [Isolation; 3] = [Isolation::Namespaces, Isolation::UserNamespace, Isolation::ProcessTree];

pub(crate) const ALL: &[(&str, Case)] = &[
    ("every_load_does_work_and_leaves_nothing", every_load),
    ("every_isolation_carries_the_full_load", every_isolation),
    ("nothing_survives_the_drivers_sigkill", driver_killed),
    ("nothing_survives_the_outer_supervisors_sigkill", outer_killed),
    ("nothing_survives_the_inits_sigkill", init_killed),
    ("nothing_survives_when_all_of_our_name_are_killed", all_killed),
    ("nothing_survives_a_sigkill_at_any_moment_of_the_start", killed_while_starting),
    ("a_tool_that_dies_is_told", tool_killed),
    ("what_is_stopped_ended_or_reniced_is_seen", tampered_with),
    ("fio_is_proved_by_what_it_moved_and_no_other_way", fio),
    ("a_load_that_would_fill_the_disk_is_ended", disk_filled),
    ("a_tool_that_is_stuck_is_killed_in_time", tool_stuck),
    ("a_worker_that_is_stuck_does_not_cost_the_figures", worker_stuck),
    ("a_load_that_can_not_start_is_told_and_leaves_nothing", can_not_start),
    ("a_start_can_be_ended", start_ended),
    ("a_dropped_load_leaves_nothing", dropped),
];

fn every_load(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for (load, figures) in [
        ("background", &["switch.bogo_ops", "pipe.bogo_ops", "sem.bogo_ops", "eventfd.bogo_ops", "sockpair.bogo_ops"][..]),
        ("calculation", &["cpu.bogo_ops", "matrix.bogo_ops"]),
        ("disk", &["hdd.bogo_ops", "sync-file.bogo_ops", "fallocate.bogo_ops"]),
        ("network", &["iperf3.bytes", "iperf3.gbit_per_s"]),
        ("stress-ng:--vm 1 --vm-bytes '16M'", &["vm.bogo_ops"]),
        ("full", &["switch.bogo_ops", "cpu.bogo_ops", "hdd.bogo_ops", "iperf3.bytes"]),
    ] {
        let mut handle = world.start(load, Isolation::Namespaces);
        assert!(handle.directory().starts_with(world.dir()));
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(handle.poll(), None, "{load}");
        let begin = Instant::now();
        let proof = handle.stop();
        assert!(begin.elapsed() < Duration::from_secs(120), "{load}: stopping took {:?}", begin.elapsed());
        assert_eq!(codes(&proof), Vec::<String>::new(), "{proof:#?}");
        assert_eq!(proof.name, load);
        assert!(proof.ran_ns >= 2_000_000_000);
        for name in figures {
            assert!(figure(&proof, name) > 0.0, "{load}: {name} in {proof:#?}");
        }
        world.assert_nothing_left();
    }
    None
}

fn every_isolation(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        let handle = world.start("full", isolation);
        let fallen_back = handle.start_warnings().iter().any(|w| w.code == "load-without-namespaces");
        let namespaces = isolation == Isolation::Namespaces && possible(&[]);
        let user = isolation != Isolation::ProcessTree && possible(&["--user", "--map-root-user"]);
        assert!(!(fallen_back && (namespaces || user)), "{:?}", handle.start_warnings());
        std::thread::sleep(Duration::from_secs(2));
        let proof = handle.stop();
        assert_eq!(codes(&proof), Vec::<String>::new(), "{proof:#?}");
        let expected = match (namespaces, user) {
            (true, _) => "PID, mount, IPC and network namespaces; iperf3 between two network namespaces",
            (_, true) => "PID, mount, IPC and network namespaces, in a user namespace; iperf3 between two network namespaces",
            _ => "process tree, no namespaces; iperf3 over loopback",
        };
        assert_eq!(proof.isolation, expected);
        world.assert_nothing_left();
    }
    None
}

/// Whether util-linux and iproute2, independently of rtscope, can make these namespaces and a veth pair in them.
fn possible(user: &[&str]) -> bool {
    let mut command = std::process::Command::new("unshare");
    command.args(user).args(["--pid", "--mount", "--ipc", "--net", "--fork", "--mount-proc"]);
    command.args(["ip", "link", "add", "rttest0", "type", "veth", "peer", "name", "rttest1"]);
    command.output().is_ok_and(|o| o.status.success())
}

fn driver_killed(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        let (mut driver, _) = world.driver("full", isolation);
        assert!(!world.named("stress-ng").is_empty() && !files(&world.dir()).is_empty());
        driver.kill().unwrap();
        driver.wait().unwrap();
        // The outer stage cleans up on its own: no replay.
        world.assert_nothing_left();
    }
    None
}

fn outer_killed(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        let mut handle = world.start("full", isolation);
        kill(handle.supervisor_pid(), libc::SIGKILL);
        let end = Instant::now() + Duration::from_secs(60);
        while handle.poll().is_none() {
            assert!(Instant::now() < end, "nobody noticed");
            std::thread::sleep(Duration::from_millis(10));
        }
        let proof = handle.stop();
        assert_eq!(proof.processes.len(), 4);
        assert!(codes(&proof).iter().all(|c| c == "load-died"), "{proof:#?}");
        world.assert_nothing_left_after_replay();
    }
    None
}

fn init_killed(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        let mut handle = world.start("full", isolation);
        let inits = world.named("rt-load-init");
        assert_eq!(inits.len(), 1);
        kill(inits[0], libc::SIGKILL);
        let end = Instant::now() + Duration::from_secs(60);
        while handle.poll().is_none() {
            assert!(Instant::now() < end, "nobody noticed");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(codes(&handle.stop()).iter().all(|c| c == "load-died"));
        world.assert_nothing_left();
    }
    None
}

/// As `pkill -9 -f` with the program's name would do.
fn all_killed(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        let (mut driver, supervisor) = world.driver("full", isolation);
        let stages = [vec![driver.id(), supervisor], world.named("rt-load-")].concat();
        for pid in stages {
            // A process that ended with another is gone already, as the rest should be.
            let _ = rtscope_sys::kill(i32::try_from(pid).unwrap(), libc::SIGKILL);
        }
        driver.wait().unwrap();
        world.assert_nothing_left_after_replay();
    }
    None
}

fn killed_while_starting(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        for delay in [0, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192] {
            let mut driver = world.spawn_driver("full", isolation);
            std::thread::sleep(Duration::from_millis(delay));
            driver.kill().unwrap();
            driver.wait().unwrap();
            world.assert_nothing_left();
        }
    }
    None
}

fn tool_killed(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for (load, name) in [("calculation", "stress-ng"), ("network", "iperf3")] {
        let mut handle = world.start(load, Isolation::Namespaces);
        let mut pids = world.named(name);
        pids.sort_unstable();
        kill(pids[0], libc::SIGKILL);
        let end = Instant::now() + Duration::from_secs(60);
        while handle.poll().is_none() {
            assert!(Instant::now() < end, "{load}: nobody noticed");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(handle.poll().unwrap().starts_with(name));
        let proof = handle.stop();
        assert!(proof.processes.iter().any(|p| p.died_early), "{proof:#?}");
        assert!(codes(&proof).contains(&"load-died".to_owned()));
        world.assert_nothing_left();
    }
    None
}

fn tampered_with(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for (load, name) in [("calculation", "stress-ng-cpu"), ("network", "iperf3")] {
        let handle = world.start(load, Isolation::Namespaces);
        let pids = world.named(name);
        assert_eq!(pids.len(), 2, "{pids:?}");
        std::thread::sleep(Duration::from_millis(700));
        kill(pids[0], libc::SIGSTOP);
        std::thread::sleep(Duration::from_millis(1500));
        kill(pids[0], libc::SIGCONT);
        let proof = handle.stop();
        let stopped: u32 = proof.processes.iter().flat_map(|p| &p.workers).map(|w| w.stopped).sum();
        assert!(stopped >= 2, "{proof:#?}");
        assert!(codes(&proof).iter().any(|c| c == "load-frozen" || c == "load-stopped"), "{proof:#?}");
        world.assert_nothing_left();
    }
    let handle = world.start("calculation", Isolation::Namespaces);
    kill(world.named("stress-ng-matri")[0], libc::SIGKILL);
    std::thread::sleep(Duration::from_secs(1));
    let proof = handle.stop();
    let gone = proof.processes[0].workers.iter().find(|w| w.name == "matrix").map(|w| (w.gone, w.count));
    assert_eq!(gone, Some((1, 2)), "{proof:#?}");
    // The course covers the whole load and every CPU.
    let course = proof.course.as_ref().unwrap();
    let by_cpu: u64 = course.cpus.iter().map(|c| c.load_ns).sum();
    let by_step: u64 = course.steps.iter().map(|s| s.load_ns).sum();
    assert!(by_step > 0 && by_cpu.abs_diff(by_step) <= by_step / 10 + 1_000_000, "{course:?}");
    let ran: u64 = course.steps.iter().map(|s| s.ns).sum();
    assert!(ran.abs_diff(proof.ran_ns) < proof.ran_ns / 2, "{proof:#?}");
    world.assert_nothing_left();
    None
}

fn fio(world: &World) -> Option<String> {
    const LOAD: &str = "fio:--rw=randrw --bs=4k --size=8m --numjobs=2";
    if !Load::parse(LOAD).unwrap().missing_tools().is_empty() {
        return Some("fio not installed".into());
    }
    // The first process is fio itself.
    let jobs = |world: &World| world.named("fio").split_off(1);
    for isolation in KINDS {
        let mut handle = world.start(LOAD, isolation);
        // All it writes is in the load's directory, and within the requested size.
        let own = handle.directory().join("0");
        std::thread::sleep(Duration::from_secs(3));
        let sizes: Vec<u64> = files(&own).iter().map(|f| f.metadata().unwrap().len()).collect();
        assert_eq!(sizes, [8 << 20, 8 << 20]);
        assert_eq!(jobs(world).len(), 2);
        assert_eq!(handle.poll(), None);
        let proof = handle.stop();
        assert_eq!(codes(&proof), Vec::<String>::new(), "{proof:#?}");
        for name in ["fio.bytes", "fio.iops", "fio.cpu_seconds"] {
            assert!(figure(&proof, name) > 0.0, "{name} in {proof:#?}");
        }
        assert!(figure(&proof, "fio.runtime_s") >= 2.0 && proof.processes[0].workers[0].count == 2, "{proof:#?}");
        world.assert_nothing_left();
    }
    // Frozen: one job of two, for half of the time.
    let handle = world.start(LOAD, Isolation::Namespaces);
    std::thread::sleep(Duration::from_millis(700));
    kill(jobs(world)[0], libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(1500));
    kill(jobs(world)[0], libc::SIGCONT);
    let said = codes(&handle.stop());
    assert!(said.iter().any(|c| c == "load-frozen" || c == "load-stopped"), "{said:?}");
    // Halved: one job of two is gone.
    let handle = world.start(LOAD, Isolation::Namespaces);
    kill(jobs(world)[0], libc::SIGKILL);
    std::thread::sleep(Duration::from_secs(1));
    let said = codes(&handle.stop());
    assert!(said.iter().any(|c| c == "load-workers-lost" || c == "load-frozen"), "{said:?}");
    // Dead: all jobs, and then fio itself.
    for dead in [jobs as fn(&World) -> Vec<u32>, |world| world.named("fio").into_iter().take(1).collect()] {
        let mut handle = world.start(LOAD, Isolation::Namespaces);
        for pid in dead(world) {
            kill(pid, libc::SIGKILL);
        }
        let end = Instant::now() + Duration::from_secs(60);
        while handle.poll().is_none() {
            assert!(Instant::now() < end, "nobody noticed");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(codes(&handle.stop()).contains(&"load-died".to_owned()));
        world.assert_nothing_left();
    }
    // Stuck: it leaves no figures, and nothing replaces them.
    let mut options = world.options(Isolation::Namespaces);
    options.stop_timeout = Duration::from_millis(600);
    let handle = Load::parse(LOAD).unwrap().start(&options).unwrap().unwrap();
    for pid in world.named("fio") {
        kill(pid, libc::SIGSTOP);
    }
    let said = codes(&handle.stop());
    assert!(said.iter().any(|c| c == "load-unproven" || c == "load-figures-missing"), "{said:?}");
    // A setting that fio itself rejects is reported.
    let e = Load::parse("fio:--rw=read --bs=4k --size=4k --nrfiles=1000").unwrap().start(&world.options(Isolation::Namespaces));
    assert!(matches!(e, Err(LoadError::Start { .. })), "{e:?}");
    world.assert_nothing_left();
    None
}

/// A separate file system, so that no disk of the machine is filled. Dropping this unmounts it.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn disk_filled(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    let dir = world.dir();
    let mount = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=2100m", "none"]).arg(&dir).output();
    if !mount.is_ok_and(|o| o.status.success()) {
        return Some("no privilege to mount a small file system".into());
    }
    let mounted = Mounted(dir.clone());
    let mut handle = world.start("stress-ng:--hdd 1 --hdd-bytes 1900M", Isolation::Namespaces);
    let end = Instant::now() + Duration::from_secs(60);
    while handle.poll().is_none() {
        assert!(Instant::now() < end, "nobody noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(handle.poll().unwrap().contains("MiB of the disk"));
    let proof = handle.stop();
    assert!(proof.processes[0].died_early && proof.processes[0].stderr.contains("ended by rtscope"), "{proof:#?}");
    assert!(codes(&proof).contains(&"load-died".to_owned()));
    world.assert_nothing_left();
    drop(mounted);
    None
}

fn tool_stuck(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        let mut options = world.options(isolation);
        options.stop_timeout = Duration::from_millis(600);
        let handle = Load::parse("calculation").unwrap().start(&options).unwrap().unwrap();
        let mut pids = world.named("stress-ng");
        pids.sort_unstable();
        for &pid in &pids {
            kill(pid, libc::SIGSTOP);
        }
        let begin = Instant::now();
        let proof = handle.stop();
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
        assert_eq!(proof.processes[0].signal, Some(libc::SIGKILL), "{proof:#?}");
        let codes = codes(&proof);
        assert!(codes.contains(&"load-unproven".to_owned()), "{codes:?}");
        world.assert_nothing_left();
    }
    None
}

fn worker_stuck(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        let mut options = world.options(isolation);
        options.stop_timeout = Duration::from_secs(9);
        let handle = Load::parse("calculation").unwrap().start(&options).unwrap().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        for pid in world.named("stress-ng-cpu") {
            kill(pid, libc::SIGSTOP);
        }
        let proof = handle.stop();
        assert!(figure(&proof, "matrix.bogo_ops") > 0.0, "{proof:#?}");
        assert_eq!(proof.processes[0].signal, None);
        world.assert_nothing_left();
    }
    None
}

fn can_not_start(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    for isolation in KINDS {
        let e = Load::parse("stress-ng:--no-such-stressor 1").unwrap().start(&world.options(isolation)).unwrap_err();
        assert!(matches!(e, LoadError::Start { .. }) && e.to_string().contains("no-such-stressor"), "{e}");
        world.assert_nothing_left();
    }
    let mut options = world.options(Isolation::Namespaces);
    options.up_timeout = Duration::ZERO;
    let e = Load::parse("full").unwrap().start(&options).unwrap_err();
    assert!(e.to_string().contains("was not up after 0 s"), "{e}");
    world.assert_nothing_left();
    options.reexec.program = "/no/such/program".into();
    assert!(matches!(Load::parse("full").unwrap().start(&options), Err(LoadError::Supervisor { .. })));
    options.reexec = rtscope_load::Reexec { program: "/bin/sh".into(), args: vec!["-c".into(), "echo oops >&2; exit 7".into()] };
    let e = Load::parse("full").unwrap().start(&options).unwrap_err();
    assert!(e.to_string().contains("oops"), "{e}");
    options.dir = Some("/proc/sys".into());
    assert!(matches!(Load::parse("full").unwrap().start(&options), Err(LoadError::Directory { .. } | LoadError::DiskFull { .. })));
    world.assert_nothing_left();
    None
}

fn start_ended(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    let options = world.options(Isolation::Namespaces);
    options.stop.stop();
    assert!(matches!(Load::parse("full").unwrap().start(&options), Err(LoadError::Interrupted)));
    world.assert_nothing_left();
    None
}

fn dropped(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    drop(world.start("full", Isolation::Namespaces));
    world.assert_nothing_left();
    None
}
