//! The posts that a run's threads take, and what these threads, the tick and the watchdog share.

use super::threads::OwnLook;
use rtscope_record::Policy;
use rtscope_record::witness::Starved;
use rtscope_samples::sampler::LiveCell;
use rtscope_sys::rt;
use rtscope_sys::sched::Alarm;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One thread that is looked after: it says itself when it is ready and when it is done.
#[derive(Debug)]
pub struct Post {
    pub(super) label: String,
    pub(super) tid: AtomicU32,
    pub(super) left: AtomicBool,
    pub(super) first: OnceLock<OwnLook>,
    pub(super) last: OnceLock<OwnLook>,
    /// Where its progress can be read.
    pub(super) cell: Option<Arc<LiveCell>>,
    /// Without a sample for so long it is starved, ns.
    pub(super) patience: u64,
    pub(super) shared: Arc<Shared>,
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

    pub(super) fn is_on_duty(&self) -> bool {
        self.tid.load(SeqCst) != 0 && !self.left.load(SeqCst)
    }
}

/// What the run's threads, the tick and the watchdog share.
#[derive(Debug)]
pub(super) struct Shared {
    /// When the run started, ns; 0 before.
    pub(super) start: AtomicU64,
    pub(super) posts: Mutex<Vec<Arc<Post>>>,
    /// The run is over.
    pub(super) stop: AtomicBool,
    /// The watchdog ended the run.
    pub(super) ended: AtomicBool,
    /// The tick is done: the watchdog may go.
    pub(super) over: AtomicBool,
    pub(super) starved: Mutex<Option<Starved>>,
    pub(super) alarm: Alarm,
    /// When the tick looked last, ns.
    pub(super) looked: AtomicU64,
    /// The tick's thread id.
    pub(super) tick: AtomicU32,
    /// The reporter's.
    pub(super) main: u32,
    /// All CPUs that the process may use.
    pub(super) allowed: Vec<u32>,
    /// The priority just below the run's own threads.
    pub(super) below: u8,
}

impl Shared {
    /// ns since the start of the run.
    pub(super) fn since_start(&self, now: u64) -> u64 {
        match self.start.load(SeqCst) {
            0 => 0,
            start => now.saturating_sub(start),
        }
    }

    pub(super) fn posts(&self) -> Vec<Arc<Post>> {
        lock(&self.posts).clone()
    }
}

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
