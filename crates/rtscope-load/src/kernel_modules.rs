//! The names of rtscope's kernel modules, and how a module is unloaded from the running kernel.

use rtscope_failure::Problem;
use rtscope_sys as sys;
use std::io;
use std::time::{Duration, Instant};

/// How long to wait for a process that is ending and still uses the module.
const LINGER: Duration = Duration::from_secs(3);

/// The module with the wire chip and the instrument.
pub const WIRE: &str = "rtscope_wire";
/// The DUT of the response test.
pub const RESPONSE: &str = "rtscope_response";
/// The DUT that generates a wave.
pub const PERIODIC: &str = "rtscope_periodic";
/// The timer test.
pub const TIMER: &str = "rtscope_timer";
/// All of them.
pub const ALL: [&str; 4] = [WIRE, RESPONSE, PERIODIC, TIMER];

/// The kernel refused to unload a module.
#[derive(Debug, thiserror::Error)]
#[error("the module {module} can't be unloaded: {source}")]
pub struct StillLoaded {
    /// Which.
    pub module: String,
    /// What the system said.
    pub source: io::Error,
}

impl Problem for StillLoaded {
    fn remedy(&self) -> String {
        format!("end what uses its lines or device (`gpioinfo`), then as root: rmmod {}", self.module)
    }
}

/// Unloads the module `name`. Waits a few seconds for processes that still use it; a module that is not loaded
/// is no error.
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
