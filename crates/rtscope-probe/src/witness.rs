//! The witness of a run: looks at its threads and the machine before the run, in a slow tick during it, and
//! after it. A watchdog ends a run that starves.
//!
//! The tick is a thread at FIFO 1, off the measured CPUs if there are others; on a measured CPU it works in the
//! gaps of the grid. Each look postpones an alarm. Only when no look comes, because something of higher
//! priority occupies all of the tick's CPUs, does the watchdog wake up: a deadline task, which precedes every
//! real-time priority and gives the tick a CPU. So the watchdog takes no time from a healthy run. The measuring
//! threads themselves take one look before their loop and one after it; nothing is added to the loop.

mod machine;
mod order;
mod post;
mod rescue;
mod tasks;
mod threads;
mod tick;

pub use order::WitnessOrder;
pub use post::Post;

use crate::measured::Failure;
use crate::snapshot::Root;
use post::{Shared, lock};
use rtscope_samples::sampler::LiveCell;
use rtscope_sys::rt;
use rtscope_sys::sched::{Alarm, Continued};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

/// Stack size of the two threads; `MCL_FUTURE` locks all of it. In optimized builds they were seen to touch 12 KiB.
const STACK: usize = if cfg!(debug_assertions) { 96 * 1024 } else { 48 * 1024 };

/// A running witness. Dropping it ends it without a result.
#[derive(Debug)]
pub struct RunningWitness {
    shared: Arc<Shared>,
    tick: Option<JoinHandle<tick::Notes>>,
    dog: Option<JoinHandle<()>>,
    /// CPUs that are not measured.
    free: Vec<u32>,
    planned: Option<u64>,
}

impl RunningWitness {
    /// Takes the look before the run and starts the tick and the watchdog. Must be called by the reporting thread
    /// before the measured threads are started: they inherit the blocked signals.
    pub fn start(root: Root, order: &WitnessOrder) -> Result<Self, Failure> {
        let failed = |what: &'static str| move |e| Failure::machine(format!("{what} of the witness: {e}"), "end other programs");
        let continued = Continued::new().map_err(failed("signals"))?;
        let allowed = rt::allowed_cpus().unwrap_or_default();
        let free: Vec<u32> = allowed.iter().copied().filter(|cpu| !order.cpus.contains(cpu)).collect();
        let priority = order.ours.filter(|(policy, _)| policy.has_priority()).map_or(99, |(_, priority)| priority);
        let shared = Arc::new(Shared {
            start: AtomicU64::new(0),
            posts: Mutex::default(),
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            over: AtomicBool::new(false),
            starved: Mutex::default(),
            alarm: Alarm::new().map_err(failed("alarm"))?,
            looked: AtomicU64::new(0),
            tick: AtomicU32::new(0),
            main: rt::tid(),
            allowed,
            below: priority.saturating_sub(1).max(1),
        });
        let tick = tick::Tick::new(Arc::clone(&shared), root, order, continued, free.is_empty());
        let (ours, place) = (Arc::clone(&shared), free.clone());
        let spawn = |name: &str| std::thread::Builder::new().name(name.into()).stack_size(STACK);
        let tick = spawn("rt-witness").spawn(move || tick.run(&place)).map_err(failed("thread"))?;
        let mut witness = Self { shared, tick: Some(tick), dog: None, free, planned: order.planned };
        witness.dog = Some(spawn("rt-watchdog").spawn(move || rescue::watch(&ours)).map_err(failed("thread"))?);
        Ok(witness)
    }

    /// A post for a future thread. `cell` shows its progress, expected at least once per `interval` ns.
    pub fn post(&self, label: &str, cell: Option<Arc<LiveCell>>, interval: u64) -> Arc<Post> {
        let post = Arc::new(Post {
            label: label.into(),
            tid: AtomicU32::new(0),
            left: AtomicBool::new(false),
            first: OnceLock::new(),
            last: OnceLock::new(),
            cell,
            patience: rescue::patience(interval),
            shared: Arc::clone(&self.shared),
        });
        lock(&self.shared.posts).push(Arc::clone(&post));
        post
    }

    /// The run starts at `start`, ns; the looks begin.
    pub fn begin(&self, start: u64) {
        self.shared.start.store(start, SeqCst);
        self.wake();
    }

    /// Whether the run was ended because it starved; it must then stop at once.
    pub fn ended_it(&self) -> bool {
        self.shared.ended.load(SeqCst)
    }

    /// CPUs for threads that only report; empty if all are measured.
    pub fn free_cpus(&self) -> &[u32] {
        &self.free
    }

    /// The run is over and took `real` ns. Returns what was seen of it.
    pub fn finish(mut self, real: u64) -> Result<rtscope_record::Witness, Failure> {
        self.shared.stop.store(true, SeqCst);
        self.wake();
        let failed = |_| Failure::machine("the witness panicked", "report this with the lines above");
        let notes = self.tick.take().map(JoinHandle::join).transpose().map_err(failed)?.unwrap_or_default();
        self.end_watchdog();
        self.dog.take().map(JoinHandle::join).transpose().map_err(failed)?;
        let starved = lock(&self.shared.starved).take();
        Ok(notes.told(&self.shared, starved, self.planned, real))
    }

    fn wake(&self) {
        self.tick.iter().for_each(|tick| tick.thread().unpark());
    }

    fn end_watchdog(&self) {
        self.shared.over.store(true, SeqCst);
        // A time in the past, so that the alarm goes off at once.
        let _ = self.shared.alarm.set(1);
    }
}

impl Drop for RunningWitness {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        self.wake();
        self.end_watchdog();
    }
}

#[cfg(test)]
mod tests;
