//! Waits that end when the process is asked to end; at present, those for a lock. A blocking call would resume after the signal's
//! handler.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// How often a wait checks.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Ends every current and future wait of this process. For signal handlers.
pub fn interrupt() {
    INTERRUPTED.store(true, SeqCst);
}

/// Whether [`interrupt`] was called.
pub fn interrupted() -> bool {
    INTERRUPTED.load(SeqCst)
}

/// Takes the exclusive lock (`flock`) of an open file. While another process holds it, calls `on_wait` once and waits.
/// `Interrupted` when the process is asked to end.
pub fn lock_patiently(file: &File, on_wait: impl FnOnce()) -> io::Result<()> {
    let mut on_wait = Some(on_wait);
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            done => return done,
        }
        if interrupted() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted while another process has the lock"));
        }
        if let Some(tell) = on_wait.take() {
            tell();
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
