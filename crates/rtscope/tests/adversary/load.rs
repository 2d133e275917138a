//! A load that does not do what its name says: frozen, halved, killed in part, held up. No such run is VALID, and each record
//! says why.

use crate::arena;
use crate::world::{World, descendants, end_of, find_probe, installed, processes, skip, wait_for};
use rtscope_record::{Effect, LoadWorkers, Record, Verdict, Warning};
use std::process::Child;
use std::time::{Duration, Instant};

/// The workers of the load of a running `rtscope`: the direct children of each stress-ng or fio, each with its descendants.
fn workers(rtscope: u32) -> Vec<Vec<u32>> {
    let all = processes();
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let below = descendants(rtscope);
    let tools = below.iter().copied().filter(|&p| matches!(name(p).trim(), "stress-ng" | "fio"));
    let direct = tools.flat_map(|tool| all.iter().filter(move |p| p.1 == tool).map(|p| p.0).collect::<Vec<_>>());
    direct.map(|w| std::iter::once(w).chain(descendants(w)).collect()).collect()
}

fn send(to: &[Vec<u32>], signal: i32) {
    for &pid in to.iter().flatten() {
        // Some may have ended with others.
        let _ = rtscope_sys::kill(i32::try_from(pid).unwrap(), signal);
    }
}

/// A started program once its probe measures. One that ends before is shown with what it said.
#[track_caller]
fn measuring(mut child: Child) -> Child {
    let ended = wait_for("the probe's measuring threads", || {
        let ended = child.try_wait().unwrap().is_some();
        (ended || find_probe(child.id()).is_some()).then_some(ended)
    });
    assert!(!ended, "it ended before it was seen to measure: {:?}", end_of(child));
    child
}

/// Takes a run under `load`, on which `attack` acts once it measures.
fn attacked(load: &str, duration: &str, attack: impl FnOnce(&Child)) -> Record {
    let w = World::on_disk();
    let mut command = w.command(&["measure", "timer", "-D", duration, "--json", "--load", load]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let child = measuring(child);
    attack(&child);
    let said = end_of(child);
    assert!(matches!(said.code, Some(0 | 4)), "{said:?}");
    said.record()
}

/// The gravest effect among the warnings with one of `codes`.
fn effect_of(r: &Record, codes: &[&str]) -> Option<Effect> {
    r.parts().warnings.iter().filter(|w| codes.contains(&w.code.as_str())).map(|w| w.effect).max()
}

fn seen(r: &Record) -> Vec<LoadWorkers> {
    r.parts().load_proof.iter().flat_map(|p| p.processes.iter().flat_map(|p| p.workers.clone())).collect()
}

fn lacking() -> bool {
    let lacking = !installed("stress-ng");
    if lacking {
        skip("stress-ng is not installed");
    }
    lacking
}

#[test]
fn a_frozen_load_is_invalid() {
    arena::apart(|| {
        if lacking() {
            return;
        }
        let r = attacked("calculation", "3s", |child| send(&workers(child.id()), libc::SIGSTOP));
        assert_eq!(
            (r.verdict(), effect_of(&r, &["load-frozen"])),
            (Verdict::Invalid, Some(Effect::Invalid)),
            "{:?}",
            r.parts().warnings
        );
    });
}

#[test]
fn a_load_that_is_stopped_for_half_of_the_run_or_by_turns_is_not_valid() {
    arena::apart(|| {
        if lacking() {
            return;
        }
        let r = attacked("calculation", "4s", |child| {
            let all = workers(child.id());
            send(&all, libc::SIGSTOP);
            std::thread::sleep(Duration::from_secs(2));
            send(&all, libc::SIGCONT);
        });
        assert_eq!(effect_of(&r, &["load-frozen"]), Some(Effect::Invalid), "{:?} {:?}", r.parts().warnings, seen(&r));
        // Half of the time, in turns that are shorter than the time between two looks of the supervisor.
        let r = attacked("calculation", "4s", |child| {
            let all = workers(child.id());
            let end = Instant::now() + Duration::from_secs(3);
            while Instant::now() < end {
                send(&all, libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(70));
                send(&all, libc::SIGCONT);
                std::thread::sleep(Duration::from_millis(70));
            }
        });
        let found = effect_of(&r, &["load-frozen", "load-stopped", "load-slowed"]);
        assert!(found >= Some(Effect::Inconclusive) && r.verdict() > Verdict::Valid, "{:?} {:?}", r.parts().warnings, seen(&r));
    });
}

#[test]
fn a_load_that_lost_half_of_its_workers_is_not_valid() {
    arena::apart(|| {
        if lacking() {
            return;
        }
        let r = attacked("calculation", "3s", |child| {
            let all = workers(child.id());
            assert!(all.len() >= 2, "{all:?}");
            send(&all[..all.len() / 2], libc::SIGKILL);
        });
        let found = effect_of(&r, &["load-frozen", "load-workers-lost", "load-died"]);
        assert!(found >= Some(Effect::Inconclusive) && r.verdict() > Verdict::Valid, "{:?} {:?}", r.parts().warnings, seen(&r));
    });
}

#[test]
fn a_load_that_was_put_behind_others_is_not_valid() {
    arena::apart(|| {
        if lacking() {
            return;
        }
        let r = attacked("calculation", "3s", |child| {
            for pid in workers(child.id()).into_iter().flatten() {
                let out = rtscope_sys::process::command("renice").args(["-n", "19", "-p", &pid.to_string()]).output();
                assert!(out.unwrap().status.success());
            }
        });
        assert_eq!(effect_of(&r, &["load-reniced"]), Some(Effect::Inconclusive), "{:?}", r.parts().warnings);
    });
}

/// Two jobs that each read and write a file small enough for this machine's memory.
const FIO: &str = "fio:--rw=randrw --bs=4k --size=16m --numjobs=2";

#[test]
fn a_fio_that_is_frozen_halved_or_put_behind_others_is_not_valid() {
    arena::apart(|| {
        if !installed("fio") {
            return skip("fio is not installed");
        }
        let codes = ["load-frozen", "load-stopped", "load-slowed", "load-workers-lost", "load-died", "load-reniced"];
        let caught = |duration: &str, least: Effect, attack: &dyn Fn(&[Vec<u32>])| {
            let r = attacked(FIO, duration, |child| {
                let all = workers(child.id());
                assert_eq!(all.len(), 2, "{all:?}");
                attack(&all);
            });
            assert!(effect_of(&r, &codes) >= Some(least), "{:?} {:?}", r.parts().warnings, seen(&r));
            assert!(r.verdict() > Verdict::Valid);
        };
        caught("3s", Effect::Invalid, &|all| send(all, libc::SIGSTOP));
        caught("3s", Effect::Invalid, &|all| send(all, libc::SIGKILL));
        caught("3s", Effect::Inconclusive, &|all| send(&all[..1], libc::SIGKILL));
        caught("3s", Effect::Inconclusive, &|all| {
            for pid in all.iter().flatten() {
                let out = rtscope_sys::process::command("renice").args(["-n", "19", "-p", &pid.to_string()]).output();
                assert!(out.unwrap().status.success());
            }
        });
        caught("4s", Effect::Inconclusive, &|all| {
            let end = Instant::now() + Duration::from_secs(3);
            while Instant::now() < end {
                send(all, libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(70));
                send(all, libc::SIGCONT);
                std::thread::sleep(Duration::from_millis(70));
            }
        });
    });
}

/// If the machine allows it: a quota of half a CPU, which shows in no signal and no process state.
#[test]
fn a_load_under_a_quota_is_not_valid() {
    arena::apart(|| {
        if lacking() {
            return;
        }
        let Some(group) = Group::of_half_a_cpu() else { return skip("no cgroup with a CPU controller can be made here") };
        let r = attacked("calculation", "5s", |child| {
            for pid in workers(child.id()).into_iter().flatten() {
                let _ = std::fs::write(group.0.join("cgroup.procs"), pid.to_string());
            }
        });
        // On a machine that is busy with other work, half a CPU is hardly less than the load would get.
        let course = r.parts().load_proof.as_ref().unwrap().course.clone().unwrap();
        let idle: u64 = course.steps.iter().map(|s| s.idle_ns).sum();
        let load: u64 = course.steps.iter().map(|s| s.load_ns).sum();
        if idle > load {
            assert!(effect_of(&r, &["load-slowed"]).is_some(), "{:?} {course:?}", r.parts().warnings);
        }
    });
}

/// A control group; removed when dropped.
struct Group(std::path::PathBuf);

impl Group {
    fn of_half_a_cpu() -> Option<Self> {
        for (root, quota) in
            [("/sys/fs/cgroup", ("cpu.max", "50000 100000")), ("/sys/fs/cgroup/cpu", ("cpu.cfs_quota_us", "50000"))]
        {
            let dir = std::path::Path::new(root).join(format!("rtscope-test-{}", std::process::id()));
            if std::fs::create_dir(&dir).is_ok() {
                let group = Self(dir);
                if group.0.join(quota.0).exists() && std::fs::write(group.0.join(quota.0), quota.1).is_ok() {
                    return Some(group);
                }
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_stressor_whose_operation_outlasts_the_run_is_not_called_idle() {
    arena::apart(|| {
        if lacking() {
            return;
        }
        for stressor in ["fpunch", "readahead", "madvise"] {
            let w = World::on_disk();
            let said = w.run(&["measure", "timer", "-D", "1s", "--json", "--load", &format!("stress-ng:--{stressor} 1")]);
            assert!(matches!(said.code, Some(0 | 4)), "{said:?}");
            let r = said.record();
            let found = effect_of(&r, &["load-died", "load-idle", "load-partly-idle", "load-unproven", "load-frozen"]);
            assert_eq!(found, None, "{stressor}: {:?} {:?}", r.parts().warnings, seen(&r));
            assert!(seen(&r).iter().any(|w| w.name == stressor && w.cpu_ns > 0), "{stressor}: {:?}", seen(&r));
        }
    });
}

/// A normal run of any load gets no such warning, however busy the machine is.
#[test]
fn a_load_that_does_its_work_is_not_accused() {
    arena::apart(|| {
        if lacking() || !installed("iperf3") {
            return skip("stress-ng or iperf3 is not installed");
        }
        let fio = installed("fio").then_some([FIO, "fio:--rw=randwrite --bs=4k --size=16m --direct=1 --sync=1", "fio:--rw=read"]);
        let loads = ["background", "calculation", "disk", "network", "full"].into_iter();
        for load in loads.chain(fio.into_iter().flatten()) {
            let said = World::on_disk().run(&["measure", "timer", "-D", "2s", "--json", "--load", load]);
            assert!(matches!(said.code, Some(0 | 4)), "{said:?}");
            let r = said.record();
            let accused = r.parts().warnings.iter().filter(|w| w.code.starts_with("load-") && w.effect > Effect::Note);
            // Other programs may take CPU time from the load; that warning is right. So is that workers were idle where others took all of it.
            let course = r.parts().load_proof.iter().flat_map(|p| &p.course);
            let starved = course.flat_map(|c| &c.steps).any(|s| s.load_ns + s.idle_ns < s.ns / 10);
            let right = |w: &Warning| w.code == "load-crowded" || starved && w.code == "load-frozen" && w.effect < Effect::Invalid;
            let accused: Vec<_> = accused.filter(|w| !right(w)).collect();
            assert!(accused.is_empty(), "{load}: {accused:?} {:?}", r.parts().load_proof);
        }
    });
}
