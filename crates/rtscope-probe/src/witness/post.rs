//! The posts of a run's threads, and the state that these threads, the tick and the watchdog share.

use super::threads::OwnLook;
use rtscope_record::Policy;
use rtscope_record::witness::Starved;
use rtscope_samples::sampler::LiveCell;
use rtscope_sys::rt;
use rtscope_sys::sched::Alarm;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The post of one watched thread, which itself reports when it is ready and when it is done.
#[derive(Debug)]
pub struct Post {
    pub(super) label: String,
    pub(super) tid: AtomicU32,
    pub(super) left: AtomicBool,
    pub(super) first: OnceLock<OwnLook>,
    pub(super) last: OnceLock<OwnLook>,
    /// Shows its progress.
    pub(super) cell: Option<Arc<LiveCell>>,
    /// Without a sample for this long, ns, it is starved.
    pub(super) patience: u64,
    pub(super) shared: Arc<Shared>,
}

impl Post {
    /// Registers the calling thread at this post.
    pub fn arrive(&self) {
        self.tid.store(rt::tid(), SeqCst);
    }

    /// Called by the thread when it has its priority and CPU and is about to begin.
    pub fn enter(&self) {
        self.arrive();
        let _: Result<(), _> = self.first.set(OwnLook::take());
    }

    /// Called by the thread after its loop, before it gives up its priority and CPU.
    pub fn leave(&self) {
        let _: Result<(), _> = self.last.set(OwnLook::take());
        self.left.store(true, SeqCst);
    }

    /// Policy and priority with which the thread began, according to the kernel.
    pub fn began_as(&self) -> Option<(Policy, u8)> {
        let state = self.first.get()?.state.as_ref()?;
        Some((state.kind(), state.priority))
    }

    /// Whether the watchdog ended the run. A thread that then gives up its priority may wait forever.
    pub fn is_emergency(&self) -> bool {
        self.shared.ended.load(SeqCst)
    }

    pub(super) fn is_on_duty(&self) -> bool {
        self.tid.load(SeqCst) != 0 && !self.left.load(SeqCst)
    }
}

/// The state shared by the run's threads, the tick and the watchdog.
#[derive(Debug)]
pub(super) struct Shared {
    /// Start of the run, ns; 0 before it.
    pub(super) start: AtomicU64,
    pub(super) posts: Mutex<Vec<Arc<Post>>>,
    /// The run is over.
    pub(super) stop: AtomicBool,
    /// The watchdog ended the run.
    pub(super) ended: AtomicBool,
    /// The tick is done, so the watchdog may end.
    pub(super) over: AtomicBool,
    pub(super) starved: Mutex<Option<Starved>>,
    pub(super) alarm: Alarm,
    /// Time of the tick's last look, ns.
    pub(super) looked: AtomicU64,
    /// The tick's thread id.
    pub(super) tick: AtomicU32,
    /// Thread id of the reporter.
    pub(super) main: u32,
    /// All CPUs that this process may use.
    pub(super) allowed: Vec<u32>,
    /// The priority just below the run's own threads.
    pub(super) below: u8,
}

impl Shared {
    /// Time since the start of the run, ns.
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
