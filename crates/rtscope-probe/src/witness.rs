//! The witness of a run: looks at its threads and at the machine before, in a slow tick meanwhile, and after; and a watchdog that ends a
//! run which starves.
//!
//! The tick is a thread at FIFO 1, off the measured CPUs where there are others; where it shares one, it works in the gaps of the grid.
//! It puts off an alarm at each look. Only when it does not, since something of a higher priority has all its CPUs, the watchdog wakes up:
//! a deadline task, before which no real-time priority comes, that gives the tick a place. So the watchdog takes no time from a run that
//! is well. The measuring threads themselves take one look before their loop and one after it; nothing is added to the loop.

mod machine;
mod order;
mod post;
mod rescue;
mod tasks;
mod threads;
mod tick;

pub use order::Order;
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

/// Stack of the two threads: `MCL_FUTURE` locks all of it. Optimized they were seen to touch 12 KiB.
const STACK: usize = if cfg!(debug_assertions) { 96 * 1024 } else { 48 * 1024 };

/// A witness at work. Dropped, it ends and tells nothing.
#[derive(Debug)]
pub struct Witness {
    shared: Arc<Shared>,
    tick: Option<JoinHandle<tick::Notes>>,
    dog: Option<JoinHandle<()>>,
    /// CPUs that are not measured.
    free: Vec<u32>,
    planned: Option<u64>,
}

impl Witness {
    /// Takes the look before the run and posts the tick and the watchdog. To be called by the thread that reports, before the measured
    /// ones are started: they inherit what signals are blocked.
    pub fn start(root: Root, order: &Order) -> Result<Self, Failure> {
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

    /// A post for a thread to come. `cell` shows its progress, of which there is some in every `interval` ns.
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

    /// The run starts at `start`, ns; from now on it is looked at.
    pub fn begin(&self, start: u64) {
        self.shared.start.store(start, SeqCst);
        self.wake();
    }

    /// Whether the run is to end at once.
    pub fn ended_it(&self) -> bool {
        self.shared.ended.load(SeqCst)
    }

    /// CPUs for those who only report; empty where all are measured.
    pub fn free_cpus(&self) -> &[u32] {
        &self.free
    }

    /// The run is over after `real` ns: what was seen of it.
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
        // In the past: it goes off at once.
        let _ = self.shared.alarm.set(1);
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        self.wake();
        self.end_watchdog();
    }
}

#[cfg(test)]
mod tests;
