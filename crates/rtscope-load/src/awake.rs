//! Raises the priority of the thread that watches a load above the load itself.

use rtscope_record::Policy;
use rtscope_sys::rt;

/// Puts this thread ahead of ordinary tasks, so that the load it watches can't starve it. Does nothing where
/// that is not permitted; undone on drop.
pub struct Awake;

impl Awake {
    /// Takes effect at once.
    pub fn begin() -> Self {
        let _ = rt::come_before_ordinary_tasks();
        Self
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        let _ = rt::set_policy(Policy::Other, 0, 0);
    }
}
