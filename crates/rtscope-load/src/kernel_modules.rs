//! rtscope's kernel modules by their names, and how one is let go by the kernel that runs.

use rtscope_sys as sys;
use std::io;
use std::time::{Duration, Instant};

/// How long a module may still be in use by a process that is ending.
const LINGER: Duration = Duration::from_secs(3);

/// The module with the wire chip and the instrument.
pub const WIRE: &str = "rtscope_wire";
/// The DUT that answers.
pub const RESPONSE: &str = "rtscope_response";
/// The DUT that makes a wave.
pub const PERIODIC: &str = "rtscope_periodic";
/// The timer test.
pub const TIMER: &str = "rtscope_timer";
/// All of them.
pub const ALL: [&str; 4] = [WIRE, RESPONSE, PERIODIC, TIMER];

/// A module that the kernel did not let go. Its text says why, [`StillLoaded::remedy`] what to do.
#[derive(Debug, thiserror::Error)]
#[error("the module {module} can't be unloaded: {source}")]
pub struct StillLoaded {
    module: String,
    source: io::Error,
}

impl StillLoaded {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        format!("end what uses its lines or device (`gpioinfo`), then as root: rmmod {}", self.module)
    }
}

/// Unloads the module `name`; waits a little for who still has it.
pub fn remove(name: &str) -> Result<(), StillLoaded> {
    let end = Instant::now() + LINGER;
    loop {
        let source = match sys::machine::unload_module(name) {
            Ok(()) => return Ok(()),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
            Err(e) => e,
        };
        let in_use = matches!(source.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY));
        if !in_use || Instant::now() >= end {
            return Err(StillLoaded { module: name.into(), source });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
