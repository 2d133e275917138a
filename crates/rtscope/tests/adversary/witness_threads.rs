//! Attacks on a measuring thread during a run: its policy, its CPU, its share of the CPU. What the kernel reports counts, not
//! what was asked for.

use crate::arena::apart;
use crate::world::{World, codes, cpus, end_of, installed, privileged, probe_of, signal, skip};
use rtscope_record::{Effect, Policy, Record, Verdict};
use rtscope_sys::sched::{self, WantedScheduling};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than the time between two looks of the witness.
const LOOKS: Duration = Duration::from_millis(1100);

fn pause(of: Duration) {
    std::thread::sleep(of);
}

/// Starts a run on one CPU; returns it and its measuring thread once the run is under way.
pub(crate) fn under_way(w: &World, words: &str) -> (Child, u32) {
    let cpu = cpus()[0];
    let child = w.start(&format!("measure timer -a {cpu} -i 1ms --json --no-save {words}"));
    let probe = probe_of(child.id());
    let name = format!("rts-cpu{cpu}\n");
    let tasks = fs::read_dir(format!("/proc/{probe}/task")).unwrap().flatten();
    let measures = |t: &fs::DirEntry| fs::read_to_string(t.path().join("comm")).is_ok_and(|comm| comm == name);
    let tid = tasks.filter(measures).find_map(|t| t.file_name().to_str()?.parse().ok()).expect("the measuring thread");
    (child, tid)
}

fn be(tid: u32, policy: Policy, priority: u8) {
    sched::set(tid, &WantedScheduling { policy, priority, share: (0, 0), reset_on_fork: false }).unwrap();
}

#[track_caller]
pub(crate) fn message<'a>(r: &'a Record, code: &str) -> &'a str {
    let found = r.parts().warnings.iter().find(|w| w.code == code);
    found.map_or_else(|| panic!("no `{code}` among {:?}", codes(r)), |w| w.message.as_str())
}

/// Keeps a CPU busy at FIFO 99 until dropped, at most twenty seconds.
struct Hog(Child);

impl Hog {
    fn on(cpu: u32) -> Self {
        Self::doing(cpu, "while :; do :; done")
    }

    /// Lets the CPU go for 20 ms after some 100 ms, so that nobody starves.
    fn at_times_on(cpu: u32) -> Self {
        Self::doing(cpu, "while :; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; sleep 0.02; done")
    }

    fn doing(cpu: u32, what: &str) -> Self {
        let words = ["20", "chrt", "-f", "99", "taskset", "-c", &cpu.to_string(), "sh", "-c", what].map(str::to_owned);
        Self(Command::new("timeout").args(words).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        // `timeout` passes the signal on.
        signal(self.0.id(), libc::SIGTERM);
        self.0.wait().unwrap();
    }
}

/// Whether the attacks of this file are possible here.
fn can_attack() -> bool {
    if !privileged() || !installed("chrt") || !installed("taskset") {
        skip("no right to a real-time priority, or no chrt and taskset");
        return false;
    }
    true
}

#[test]
fn a_quiet_run_is_witnessed() {
    apart(|| {
        let w = World::new();
        let r = w.line("measure timer -D 1200ms --json").measured().record();
        let seen = r.parts().witness.as_ref().unwrap();
        assert!(seen.looks >= 1 && seen.starved.is_none(), "{seen:?}");
        assert_eq!(seen.threads.len(), r.distributions().len());
        for (t, d) in seen.threads.iter().zip(r.distributions()) {
            let thread = d.parts().thread.as_ref().unwrap();
            assert_eq!((t.label.as_str(), t.tid, t.states.len()), (d.label(), thread.tid, 1), "{t:?}");
            assert_eq!((Some(t.states[0].kind()), t.states[0].priority), (thread.policy, thread.priority));
        }
        assert!(!codes(&r).iter().any(|c| ["thread-changed", "thread-moved", "starved"].contains(c)), "{:?}", codes(&r));
        let shown = w.line("show").out;
        assert!(shown.contains("witnessed: ") && shown.contains("Witness\n"), "{shown}");
    });
}

#[test]
fn a_thread_that_is_demoted_and_put_back_is_invalid() {
    apart(|| {
        if !can_attack() {
            return;
        }
        let w = World::new();
        let (child, tid) = under_way(&w, "-D 3s");
        be(tid, Policy::Other, 0);
        pause(LOOKS);
        be(tid, Policy::Fifo, 95);
        let r = end_of(child).ends_with(4).record();
        assert_eq!(r.verdict(), Verdict::Invalid);
        let said = message(&r, "thread-changed");
        assert!(said.contains("became other") && said.contains("then fifo 95"), "{said}");
        let states = &r.parts().witness.as_ref().unwrap().threads[0].states;
        assert_eq!(states.iter().map(|s| s.policy.as_str()).collect::<Vec<_>>(), ["fifo", "other", "fifo"]);
    });
}

#[test]
fn a_demotion_shorter_than_a_look_is_invalid() {
    apart(|| {
        if !can_attack() {
            return;
        }
        if !fs::read_to_string("/proc/self/sched").is_ok_and(|text| text.contains("se.avg.last_update_time")) {
            return skip("the kernel shows no accounts of its scheduler");
        }
        let w = World::new();
        let (child, tid) = under_way(&w, "-D 1500ms");
        be(tid, Policy::Other, 0);
        be(tid, Policy::Fifo, 95);
        let r = end_of(child).ends_with(4).record();
        message(&r, "thread-changed");
    });
}

#[test]
fn another_priority_in_the_middle_is_invalid() {
    apart(|| {
        if !can_attack() {
            return;
        }
        let w = World::new();
        let (child, tid) = under_way(&w, "-D 1500ms");
        be(tid, Policy::Fifo, 20);
        let r = end_of(child).ends_with(4).record();
        assert!(message(&r, "thread-changed").contains("fifo 20"));
    });
}

#[test]
fn a_thread_that_is_moved_and_put_back_is_invalid() {
    apart(|| {
        let all = cpus();
        if !can_attack() || all.len() < 2 {
            return skip("one CPU");
        }
        let w = World::new();
        let (child, tid) = under_way(&w, "-D 1500ms");
        // Too short for any look to see, but the kernel counts migrations.
        sched::allow(tid, &all[1..2]).unwrap();
        pause(Duration::from_millis(10));
        sched::allow(tid, &all[..1]).unwrap();
        let r = end_of(child).ends_with(4).record();
        message(&r, "thread-moved");
    });
}

#[test]
fn a_hog_for_a_while_is_named_with_what_it_took() {
    apart(|| {
        if !can_attack() || cpus().len() < 2 {
            return skip("one CPU");
        }
        let w = World::new();
        let (child, _) = under_way(&w, "-D 7s");
        let hog = Hog::at_times_on(cpus()[0]);
        // All tasks are looked through as rarely as that takes less than a fiftieth of the time: seconds apart on a busy machine.
        pause(Duration::from_secs(4));
        drop(hog);
        let r = end_of(child).measured().record();
        assert!(r.verdict() >= Verdict::Inconclusive);
        let said = message(&r, "rivals-ran");
        assert!(said.contains("sh (pid ") && said.contains("fifo 99"), "{said}");
        let rival = &r.parts().witness.as_ref().unwrap().rivals[0];
        assert!(rival.first_at > 0 && rival.ran_ns > 100_000_000, "{rival:?}");
    });
}

/// A run that is starved ends early, keeps its samples, and names the culprit.
#[track_caller]
fn starves(hogged: &[u32]) {
    let w = World::new();
    let (child, _) = under_way(&w, "-D 150s");
    let hogs: Vec<Hog> = hogged.iter().map(|&cpu| Hog::on(cpu)).collect();
    let start = Instant::now();
    let r = end_of(child).ends_with(4).record();
    let took = start.elapsed();
    drop(hogs);
    let said = message(&r, "starved");
    assert!(said.contains("made no progress") && said.contains("sh (pid ") && said.contains("fifo 99"), "{said}");
    assert!(took < Duration::from_secs(120) && r.distributions()[0].count() > 0, "{took:?}");
    let starved = r.parts().warnings.iter().find(|w| w.code == "starved").unwrap();
    assert_eq!((starved.effect, r.verdict(), r.parts().interrupted), (Effect::Invalid, Verdict::Invalid, false));
}

#[test]
fn a_run_that_starves_is_ended_and_says_by_whom() {
    apart(|| {
        if can_attack() {
            starves(&cpus()[..1]);
        }
    });
}

#[test]
fn a_run_that_starves_on_all_cpus_is_ended_too() {
    apart(|| {
        if can_attack() {
            starves(&cpus());
        }
    });
}
