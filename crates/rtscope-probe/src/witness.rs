//! The witness of a run: looks at its threads and at the machine before, in a slow tick meanwhile, and after; and a watchdog that ends a
//! run which starves.
//!
//! The tick is a thread at FIFO 1, off the measured CPUs where there are others; where it shares one, it works in the gaps of the grid.
//! It puts off an alarm at each look. Only when it does not, since something of a higher priority has all its CPUs, the watchdog wakes up:
//! a deadline task, before which no real-time priority comes, that gives the tick a place. So the watchdog takes no time from a run that
//! is well. The measuring threads themselves take one look before their loop and one after it; nothing is added to the loop.

mod machine;
mod rescue;
mod tasks;
mod threads;
mod tick;

use crate::measured::Failure;
use crate::protocol::Plan;
use crate::snapshot::Root;
use crate::timer::sampler::LiveCell;
use rtscope_record::witness::Starved;
use rtscope_record::{Policy, Settings};
use rtscope_sys::rt;
use rtscope_sys::sched::{Alarm, Continued};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use threads::OwnLook;

/// From one look to the next, ns.
const EVERY: u64 = 500_000_000;
/// The same where there are none during a run.
const NEVER: u64 = 366 * 86_400 * 1_000_000_000;
/// Stack of the two threads: `MCL_FUTURE` locks all of it. Optimized they were seen to touch 12 KiB.
const STACK: usize = if cfg!(debug_assertions) { 96 * 1024 } else { 48 * 1024 };

/// What is to be witnessed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order {
    /// The measured CPUs, and those of the device under test.
    pub cpus: Vec<u32>,
    /// Tasks that come before or beside this policy and priority on these CPUs are rivals; `None`: none do, as in a hard interrupt.
    pub ours: Option<(Policy, u8)>,
    /// How long the run is to take, ns.
    pub planned: Option<u64>,
    /// The grid's interval, ns, where the CPUs have one in common.
    pub grid: Option<u64>,
    /// Looks only before and after, and none meanwhile: for a guest in virtual time, which has one CPU that every look would be taken from, and
    /// which nobody reaches from outside.
    pub ends_only: bool,
}

impl Order {
    /// This order as `plan` wants it: where progress is not to be told, since that would cost the guest, looks would cost it as well.
    #[must_use]
    pub fn for_plan(self, plan: &Plan) -> Self {
        Self { ends_only: plan.progress_ms == 0, ..self }
    }

    /// That of the timer test.
    pub fn of(s: &Settings, allowed: &[u32]) -> Self {
        let cpus = if s.cpus.is_empty() { allowed } else { &s.cpus };
        let mut cpus: Vec<u32> = cpus.iter().copied().take(if s.migrate { usize::MAX } else { s.threads as usize }).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let below = if s.priority_descends { u8::try_from(s.threads.saturating_sub(1)).unwrap_or(u8::MAX) } else { 0 };
        let priority = if s.policy.has_priority() { s.priority.saturating_sub(below).max(1) } else { 0 };
        let grid = (s.distance.0 == 0 && s.start_offset.0 == 0).then_some(s.interval.0);
        Self { cpus, ours: Some((s.policy, priority)), planned: s.duration.map(|d| d.0), grid, ends_only: false }
    }
}

/// One thread that is looked after: it says itself when it is ready and when it is done.
#[derive(Debug)]
pub struct Post {
    label: String,
    tid: AtomicU32,
    left: AtomicBool,
    first: OnceLock<OwnLook>,
    last: OnceLock<OwnLook>,
    /// Where its progress can be read.
    cell: Option<Arc<LiveCell>>,
    /// Without a sample for so long it is starved, ns.
    patience: u64,
    shared: Arc<Shared>,
}

impl Post {
    /// The calling thread is this one.
    pub fn arrive(&self) {
        self.tid.store(rt::tid(), SeqCst);
    }

    /// The calling thread has its priority and CPU, and is about to begin.
    pub fn enter(&self) {
        self.arrive();
        let _: Result<(), _> = self.first.set(OwnLook::take());
    }

    /// The loop is over; the thread still has what it had in it.
    pub fn leave(&self) {
        let _: Result<(), _> = self.last.set(OwnLook::take());
        self.left.store(true, SeqCst);
    }

    /// As which the thread began, as the kernel said.
    pub fn began_as(&self) -> Option<(Policy, u8)> {
        let state = self.first.get()?.state.as_ref()?;
        Some((state.kind(), state.priority))
    }

    /// The watchdog ended the run: whoever gives up his priority now may wait for ever.
    pub fn is_emergency(&self) -> bool {
        self.shared.ended.load(SeqCst)
    }

    fn is_on_duty(&self) -> bool {
        self.tid.load(SeqCst) != 0 && !self.left.load(SeqCst)
    }
}

/// What the run's threads, the tick and the watchdog share.
#[derive(Debug)]
struct Shared {
    /// When the run started, ns; 0 before.
    start: AtomicU64,
    posts: Mutex<Vec<Arc<Post>>>,
    /// The run is over.
    stop: AtomicBool,
    /// The watchdog ended the run.
    ended: AtomicBool,
    /// The tick is done: the watchdog may go.
    over: AtomicBool,
    starved: Mutex<Option<Starved>>,
    alarm: Alarm,
    /// When the tick looked last, ns.
    looked: AtomicU64,
    /// The tick's thread id.
    tick: AtomicU32,
    /// The reporter's.
    main: u32,
    /// All CPUs that the process may use.
    allowed: Vec<u32>,
    /// The priority just below the run's own threads.
    below: u8,
}

impl Shared {
    /// ns since the start of the run.
    fn since_start(&self, now: u64) -> u64 {
        match self.start.load(SeqCst) {
            0 => 0,
            start => now.saturating_sub(start),
        }
    }

    fn posts(&self) -> Vec<Arc<Post>> {
        lock(&self.posts).clone()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

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
