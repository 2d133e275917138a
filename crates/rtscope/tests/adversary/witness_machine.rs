//! Attacks on the machine, or on the whole probe, during a run.

use crate::arena::apart;
use crate::witness_threads::{message, under_way};
use crate::world::{World, codes, end_of, privileged, probe_of, signal, skip};
use rtscope_record::Verdict;
use std::fs;
use std::time::Duration;

fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// A changed kernel setting that is restored when dropped.
struct Put {
    path: &'static str,
    was: String,
}

impl Put {
    fn new(path: &'static str, value: &str) -> Option<Self> {
        let was = fs::read_to_string(path).ok()?;
        fs::write(path, value).ok().map(|()| Self { path, was })
    }
}

impl Drop for Put {
    fn drop(&mut self) {
        fs::write(self.path, &self.was).unwrap();
    }
}

#[test]
fn a_probe_that_is_stopped_for_a_moment_says_so() {
    apart(|| {
        let w = World::new();
        let child = w.start("measure timer -i 1ms -D 2s --json --no-save");
        let probe = probe_of(child.id());
        // Shorter than the time between two looks: only its end can be seen.
        signal(probe, libc::SIGSTOP);
        pause(150);
        signal(probe, libc::SIGCONT);
        let r = end_of(child).measured().record();
        assert!(r.verdict() >= Verdict::Inconclusive);
        assert!(message(&r, "paused").contains("SIGCONT"));
    });
}

#[test]
fn a_run_that_stood_still_is_no_starved_one_and_says_how_long_it_took() {
    apart(|| {
        let w = World::new();
        let child = w.start("measure timer -i 1ms -D 1500ms --json --no-save");
        let probe = probe_of(child.id());
        signal(probe, libc::SIGSTOP);
        pause(5000);
        signal(probe, libc::SIGCONT);
        let r = end_of(child).measured().record();
        let said = message(&r, "took-longer");
        assert!(said.contains("in place of 1.500 s"), "{said}");
        assert!(!codes(&r).contains(&"starved"), "{:?}", codes(&r));
        let changes = &r.parts().witness.as_ref().unwrap().changes;
        assert!(changes.iter().any(|c| c.what == rtscope_record::witness::Changed::Paused), "{changes:?}");
    });
}

#[test]
fn rt_throttling_that_is_changed_in_the_middle_is_said() {
    apart(|| {
        if !privileged() {
            return skip("settings of the kernel take root");
        }
        let w = World::new();
        let (child, _) = under_way(&w, "-D 2500ms");
        let Some(put) = Put::new("/proc/sys/kernel/sched_rt_runtime_us", "940000") else {
            end_of(child);
            return skip("the kernel's settings can't be written here");
        };
        pause(1100);
        let was = put.was.trim().to_owned();
        drop(put);
        let r = end_of(child).measured().record();
        let said = message(&r, "rt-throttling-changed");
        assert!(said.contains(&format!("from {was} to 940000")) && said.contains(&format!("from 940000 to {was}")), "{said}");
    });
}

#[test]
fn two_runs_at_once_name_each_other() {
    apart(|| {
        let w = World::new();
        let first = w.start("measure timer -i 1ms -D 4s --json --no-save");
        let one = probe_of(first.id());
        let second = w.start("measure timer -i 1ms -D 1500ms --json --no-save");
        let two = probe_of(second.id());
        let (a, b) = (end_of(first).measured().record(), end_of(second).measured().record());
        for (record, other, words) in [(a, two, "-D 1500ms"), (b, one, "-D 4s")] {
            let said = message(&record, "another-run");
            assert!(said.contains(&format!("pid {other}, ")) && said.contains(words), "{said}");
            assert!(record.verdict() >= Verdict::Inconclusive);
        }
    });
}
