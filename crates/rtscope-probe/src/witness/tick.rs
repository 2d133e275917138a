//! The tick: looks at threads and machine every half second, finds starved threads, and collects what was seen.

use super::machine::Machine;
use super::order::WitnessOrder;
use super::post::{Post, Shared};
use super::rescue;
use super::tasks::Table;
use super::threads::{self, Doing};
use crate::snapshot::Root;
use rtscope_record::Policy;
use rtscope_record::witness::{Change, Changed, MOST, Starved, ThreadState, Witness};
use rtscope_sys::rt;
use rtscope_sys::sched::{self, Continued};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// Time between two looks, ns.
const EVERY: u64 = 500_000_000;
/// The same if there are no looks during a run: longer than any run.
const NEVER: u64 = 366 * 86_400 * 1_000_000_000;
/// A wake-up that is late by this much more than waiting for a CPU explains was a pause, ns.
const PAUSE: u64 = 100_000_000;
/// Looking through all tasks may take at most one part in this many of the time.
const SHARE: u64 = 50;
/// How far a run may exceed its plan: by this many ns, or by one part in this many of the plan, whichever is more.
const BEYOND: (u64, u64) = (5_000_000_000, 10);
/// A shorter grid has no usable gaps, ns.
const SHORTEST: u64 = 200_000;
/// A gap begins at most this long after a grid point, and ends at least this long before the next one, ns.
const MARGIN: (u64, u64) = (50_000, 100_000);

/// Observations of one thread from outside.
#[derive(Debug, Default)]
struct Seen {
    states: Vec<ThreadState>,
    ran_on: Vec<u32>,
}

/// The last known progress of a thread.
#[derive(Debug, Clone, Copy)]
struct Progress {
    ran: Option<u64>,
    count: u64,
    since: u64,
}

/// The results of the tick.
#[derive(Debug, Default)]
pub(super) struct Notes {
    every: u64,
    looks: u32,
    longest_gap: u64,
    seen: HashMap<u32, Seen>,
    changes: Vec<Change>,
    told: (Vec<rtscope_record::witness::Rival>, Vec<rtscope_record::witness::OtherRun>, u32),
    cpus: Vec<rtscope_record::witness::CpuSeen>,
    left_out: u32,
}

pub(super) struct Tick {
    shared: Arc<Shared>,
    root: Root,
    planned: Option<u64>,
    /// The grid whose gaps to work in.
    grid: Option<u64>,
    /// Time between two looks, ns.
    every: u64,
    continued: Continued,
    machine: Machine,
    table: Table,
    progress: HashMap<u32, Progress>,
    notes: Notes,
    looked: u64,
    /// When all tasks may be looked through again, ns.
    thorough_from: u64,
}

impl Tick {
    /// Takes the look before the run. `crowded`: the tick shares its CPU with measured threads.
    pub(super) fn new(shared: Arc<Shared>, root: Root, order: &WitnessOrder, continued: Continued, crowded: bool) -> Self {
        let slept = sched::slept();
        let mut table = Table::new(&order.cpus, order.ours, rt::now().saturating_add(slept));
        table.look(&root, 0, &mut || ());
        let machine = Machine::before(&root, order, slept);
        let grid = order.grid.filter(|&interval| crowded && interval >= SHORTEST);
        let (planned, notes) = (order.planned, Notes::default());
        let every = if order.ends_only { NEVER } else { EVERY };
        let notes = Notes { every, ..notes };
        let progress = HashMap::new();
        Self { shared, root, planned, grid, every, continued, machine, table, progress, notes, looked: 0, thorough_from: 0 }
    }

    /// The main function of the tick's thread, on the CPUs in `place`, until the run is over.
    pub(super) fn run(mut self, place: &[u32]) -> Notes {
        self.shared.tick.store(rt::tid(), SeqCst);
        let _ = rt::come_before_ordinary_tasks();
        let _ = if place.is_empty() { Ok(()) } else { rt::pin_to(place) };
        self.looked = rt::now();
        while !self.is_over() {
            self.shared.looked.store(self.looked, SeqCst);
            let _ = self.shared.alarm.set(rt::now() + rescue::SILENCE.max(self.every.saturating_mul(2)));
            let every = if self.shared.ended.load(SeqCst) { EVERY / 5 } else { self.every };
            self.rest(rt::now() + every);
            if self.is_over() {
                break;
            }
            self.look();
        }
        self.last_look();
        self.notes
    }

    fn is_over(&self) -> bool {
        self.shared.stop.load(SeqCst)
    }

    /// Sleeps until `at`, and detects pauses of the machine.
    fn rest(&mut self, at: u64) {
        let waited = threads::own_times().map_or(0, |t| t.1);
        loop {
            let now = rt::now();
            if now >= at || self.is_over() {
                break;
            }
            std::thread::park_timeout(Duration::from_nanos(at - now));
        }
        let now = rt::now();
        let late = now.saturating_sub(at);
        if late > PAUSE {
            let explained = threads::own_times().map_or(0, |t| t.1).saturating_sub(waited);
            if late.saturating_sub(explained) > PAUSE {
                self.change(Changed::Paused, rtscope_record::Nanos((late - explained) / 1_000_000 * 1_000_000).to_string(), now);
                // No thread could make progress during the pause.
                self.progress.values_mut().for_each(|p| p.since = now);
            }
        }
    }

    fn change(&mut self, what: Changed, to: String, now: u64) {
        let at = self.shared.since_start(now);
        self.put(Change { at, what, of: String::new(), from: String::new(), to });
    }

    fn put(&mut self, change: Change) {
        if self.notes.changes.len() < MOST {
            self.notes.changes.push(change);
        } else {
            self.notes.left_out += 1;
        }
    }

    fn look(&mut self) {
        let now = rt::now();
        self.notes.looks += 1;
        self.notes.longest_gap = self.notes.longest_gap.max(now.saturating_sub(self.looked));
        self.looked = now;
        let ended = self.shared.ended.load(SeqCst);
        let posts = self.shared.posts();
        let mut starving = None;
        for post in posts.iter().filter(|p| p.is_on_duty()) {
            self.breathe();
            let Some((doing, policy)) = self.thread(post, now) else { continue };
            if let Some(since) = self.is_starving(post, doing, policy, now) {
                if ended {
                    rescue::free_thread(&self.shared, post);
                } else {
                    starving.get_or_insert((post.label.clone(), since, doing.cpu));
                }
            }
        }
        self.reporter(now);
        if ended {
            return;
        }
        let thorough = now >= self.thorough_from;
        self.conditions(now, thorough);
        let beyond = self.planned.map_or(u64::MAX, |p| p.saturating_add(BEYOND.0.max(p / BEYOND.1)));
        let at = self.shared.since_start(now);
        let on_duty = posts.iter().find(|p| p.is_on_duty());
        if starving.is_none() && at > beyond {
            let cpu = on_duty.and_then(|p| threads::doing(p.tid.load(SeqCst)));
            starving = cpu.map(|doing| (String::new(), self.shared.start.load(SeqCst), doing.cpu));
        }
        if let Some((thread, since, cpu)) = starving {
            let mut nothing = || ();
            self.table.look(&self.root, at, &mut nothing);
            let by = self.table.culprit(cpu);
            rescue::end(&self.shared, &posts, Starved { at, thread, since: self.shared.since_start(since), by });
        }
    }

    /// Looks at one thread of the run from outside: what it does, and its policy if the kernel tells it; `None` when it is done.
    fn thread(&mut self, post: &Post, now: u64) -> Option<(Doing, Option<Policy>)> {
        let tid = post.tid.load(SeqCst);
        // Until it has entered, it is still being set up.
        let entered = post.first.get().is_some();
        let (state, doing) = (threads::state(tid, self.shared.since_start(now)), threads::doing(tid)?);
        // A thread gives up its priority after it has left, so what was read meanwhile means nothing.
        if post.left.load(SeqCst) {
            return None;
        }
        let policy = state.as_ref().map(ThreadState::kind);
        let seen = self.notes.seen.entry(tid).or_default();
        let ended = self.shared.ended.load(SeqCst);
        if !ended && !seen.ran_on.contains(&doing.cpu) {
            seen.ran_on.push(doing.cpu);
        }
        let before = seen.states.last().or(post.first.get().and_then(|l| l.state.as_ref()));
        if let Some(state) = state.filter(|s| entered && !ended && !before.is_some_and(|b| b.is_as(s))) {
            if seen.states.len() < MOST {
                seen.states.push(state);
            } else {
                self.notes.left_out += 1;
            }
        }
        Some((doing, policy))
    }

    /// If a thread, which has this policy now, has waited for a CPU for too long, since when.
    fn is_starving(&mut self, post: &Post, doing: Doing, policy: Option<Policy>, now: u64) -> Option<u64> {
        let count = post.cell.as_ref().map_or(0, |c| c.count.load(Relaxed).wrapping_add(c.missed.load(Relaxed)));
        let since = self.progressed(post.tid.load(SeqCst), doing, count, now);
        let patience = if self.shared.ended.load(SeqCst) {
            1
        } else {
            // Until it has its policy it waits like any other task.
            patience(post.began_as().map(|(policy, _)| policy).or(policy), post.patience)
        };
        let waited = now.saturating_sub(since);
        let ready = doing.state == 'R' && waited >= patience;
        // Not even runnable: stopped by a debugger, frozen ... End the run all the same, because one that never ends
        // gives no record. Before the start it waits for threads that are still being set up.
        let before = if self.shared.start.load(SeqCst) == 0 { rescue::ORDINARY } else { rescue::SILENCE };
        let stuck = post.cell.is_some() && waited >= patience.saturating_mul(4).max(before);
        (ready || stuck).then_some(since)
    }

    fn progressed(&mut self, tid: u32, doing: Doing, count: u64, now: u64) -> u64 {
        let p = self.progress.entry(tid).or_insert(Progress { ran: doing.ran, count, since: now });
        if (p.ran, p.count) != (doing.ran, count) {
            *p = Progress { ran: doing.ran, count, since: now };
        }
        p.since
    }

    /// The reporter must not starve either: without it no run ends.
    fn reporter(&mut self, now: u64) {
        let Some(doing) = threads::doing(self.shared.main) else { return };
        let since = self.progressed(self.shared.main, doing, 0, now);
        if doing.state == 'R' && now.saturating_sub(since) >= rescue::patience(0) {
            rescue::free_reporter(&self.shared);
        }
    }

    fn conditions(&mut self, now: u64, thorough: bool) {
        if self.continued.came() {
            self.change(Changed::Continued, String::new(), now);
            self.progress.values_mut().for_each(|p| p.since = now);
        }
        let at = self.shared.since_start(now);
        self.breathe();
        for change in self.machine.look(&self.root, at, sched::slept(), thorough) {
            self.put(change);
        }
        let (shared, grid) = (Arc::clone(&self.shared), self.grid);
        if thorough {
            let start = threads::own_times().map_or(0, |t| t.0);
            self.table.look(&self.root, at, &mut || breathe(&shared, grid));
            let cost = threads::own_times().map_or(0, |t| t.0).saturating_sub(start);
            self.thorough_from = now + (2 * EVERY - EVERY / 2).max(cost.saturating_mul(SHARE));
        } else {
            self.table.look_again(&self.root, &mut || breathe(&shared, grid));
        }
    }

    fn breathe(&self) {
        breathe(&self.shared, self.grid);
    }

    fn last_look(&mut self) {
        let now = rt::now();
        if self.looked > 0 {
            self.notes.longest_gap = self.notes.longest_gap.max(now.saturating_sub(self.looked));
        }
        if !self.shared.ended.load(SeqCst) {
            // No thread is measured any more.
            self.grid = None;
            self.conditions(now, true);
        }
        self.notes.cpus = self.machine.cpus(&self.root);
        self.notes.told = std::mem::take(&mut self.table).told();
    }
}

/// How long a thread of this policy may wait for a CPU, ns, if a real-time task in its place may wait for `patience`.
fn patience(policy: Option<Policy>, patience: u64) -> u64 {
    if policy.is_none_or(|policy| policy == Policy::Other) { patience.max(rescue::ORDINARY) } else { patience }
}

/// On a measured CPU, waits for the gap between two grid points, so that reading a file, which some kernels do
/// not interrupt, delays no sample.
fn breathe(shared: &Shared, grid: Option<u64>) {
    let (Some(interval), start) = (grid, shared.start.load(SeqCst)) else { return };
    let now = rt::now();
    if now <= start || shared.stop.load(SeqCst) {
        return;
    }
    let phase = (now - start) % interval;
    let (from, until) = ((interval / 8).min(MARGIN.0), interval - (interval / 4).clamp(MARGIN.1.min(interval / 2), 1_000_000));
    if phase < from {
        rt::sleep_until(rt::Instant::from_ns(now - phase + from));
    } else if phase > until {
        rt::sleep_until(rt::Instant::from_ns(now - phase + interval + from));
    }
}

impl Notes {
    /// Assembles the result: the threads' own looks, with what was seen of them from outside.
    pub(super) fn told(mut self, shared: &Shared, starved: Option<Starved>, planned: Option<u64>, real: u64) -> Witness {
        let mut w = Witness {
            looks: self.looks,
            every_ns: self.every,
            longest_gap_ns: self.longest_gap,
            planned_ns: planned,
            real_ns: real,
            changes: self.changes,
            cpus: self.cpus,
            left_out: self.left_out.saturating_add(self.told.2),
            ..Witness::default()
        };
        (w.rivals, w.other_runs) = (self.told.0, self.told.1);
        for post in shared.posts() {
            let tid = post.tid.load(SeqCst);
            let (first, last) = (post.first.get(), post.last.get());
            let mut t = threads::seen(&post.label, tid, first, last);
            if starved.is_some() {
                // Changes made by the rescue are not others' doing.
                (t.migrations, t.was_ordinary) = (None, None);
                t.ran_on.truncate(1);
            }
            let seen = self.seen.remove(&tid).unwrap_or_default();
            t.states.extend(seen.states);
            t.ran_on.extend(seen.ran_on);
            let at_end = last.and_then(|l| l.state.clone()).filter(|_| starved.is_none());
            if let Some(end) = at_end.filter(|end| t.states.last().is_some_and(|s| !s.is_as(end))) {
                t.states.push(ThreadState { at: shared.since_start(end.at), ..end });
            }
            t.ran_on.sort_unstable();
            t.ran_on.dedup();
            join(&mut w.threads, t);
        }
        w.starved = starved;
        w
    }
}

/// Merges the looks at a thread that ran several times (the instrument, in each trial of a search).
fn join(all: &mut Vec<rtscope_record::witness::ThreadSeen>, t: rtscope_record::witness::ThreadSeen) {
    let Some(same) = all.iter_mut().find(|old| old.label == t.label) else { return all.push(t) };
    let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    same.tid = t.tid;
    for state in t.states {
        if same.states.last().is_none_or(|last| !last.is_as(&state)) && same.states.len() < MOST {
            same.states.push(state);
        }
    }
    same.ran_on.extend(t.ran_on);
    same.ran_on.sort_unstable();
    same.ran_on.dedup();
    same.migrations = add(same.migrations, t.migrations);
    same.preempted = add(same.preempted, t.preempted);
    same.ran_ns = add(same.ran_ns, t.ran_ns);
    same.waited_ns = add(same.waited_ns, t.waited_ns);
    same.was_ordinary = same.was_ordinary.max(t.was_ordinary);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_task_may_wait_for_long() {
        let real_time = rescue::patience(1_000_000);
        assert_eq!(patience(Some(Policy::Fifo), real_time), real_time);
        // Also a thread that is still one while it is set up, or of which nothing is known.
        assert_eq!(patience(Some(Policy::Other), real_time), rescue::ORDINARY);
        assert_eq!(patience(None, real_time), rescue::ORDINARY);
        assert_eq!(patience(None, u64::MAX), u64::MAX);
    }
}
