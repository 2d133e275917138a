//! Ends a run, or the start of a load or machine, early.

use std::sync::{Arc, Mutex};

/// Ends a run early, from another thread or a signal watcher. Clones act on the same run.
#[derive(Clone, Default)]
pub struct StopHandle(Arc<Mutex<Stop>>);

#[derive(Default)]
struct Stop {
    asked: bool,
    action: Option<Box<dyn FnOnce() + Send>>,
}

impl StopHandle {
    /// A handle that has not been stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to end now and keep what was measured. A run that has not begun ends as soon as it begins.
    pub fn stop(&self) {
        let action = {
            let mut stop = self.lock();
            stop.asked = true;
            stop.action.take()
        };
        if let Some(act) = action {
            act();
        }
    }

    /// Whether [`Self::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.lock().asked
    }

    /// Sets what a target does when it is stopped, replacing any earlier action. Acts at once if it was stopped already.
    pub fn on_stop(&self, act: impl FnOnce() + Send + 'static) {
        let now = {
            let mut stop = self.lock();
            if stop.asked {
                true
            } else {
                stop.action = Some(Box::new(act));
                return;
            }
        };
        if now {
            act();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Stop> {
        // Nothing panics while it holds the lock; even then the state would be consistent.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl std::fmt::Debug for StopHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StopHandle").field(&self.is_stopped()).finish()
    }
}
