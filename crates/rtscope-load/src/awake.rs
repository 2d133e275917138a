//! The thread that watches a load comes before it.

use rtscope_record::Policy;
use rtscope_sys::rt;

/// Keeps this thread from waiting behind the load that it watches, as far as that is allowed; ordinary again when dropped.
pub struct Awake;

impl Awake {
    /// From now on.
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
