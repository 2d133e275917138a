//! Locks of the lab's on-disk cache: whoever changes a part of it holds that part's lock.

use rtscope_files::Lock;
use std::io;
use std::path::Path;

/// Takes the lock `file` of a part of the cache. Tells `on_step` before it waits for another process.
pub(crate) fn lock(file: &Path, on_step: &mut dyn FnMut(&str)) -> io::Result<Lock> {
    let hint = |e: io::Error| io::Error::new(e.kind(), format!("{e}; make the cache writable, or name another: RTSCOPE_CACHE=DIR"));
    Lock::wait(Lock::open(file).map_err(hint)?, || on_step("waiting for another rtscope that is doing this"))
}
