//! What a run asks of the machine while it lasts: no deep idle states, and locked memory.

use rtscope_record::{Effect, Settings, Warning};
use std::io::Write;

/// Keeps the CPUs out of deep idle states while the returned file is open (kernel
/// `Documentation/power/pm_qos_interface.rst`).
pub(crate) fn hold_dma_latency(s: &Settings, warnings: &mut Vec<Warning>) -> Option<std::fs::File> {
    if !s.hold_dma_latency {
        return None;
    }
    let path = "/dev/cpu_dma_latency";
    let held = std::fs::OpenOptions::new().write(true).open(path).and_then(|mut f| f.write_all(&0i32.to_ne_bytes()).map(|()| f));
    match held {
        Ok(file) => Some(file),
        Err(e) => {
            warnings.push(Warning::new(
                "dma-latency-not-held",
                Effect::Note,
                format!("{path}: {e}: idle states may add their exit latency"),
                "run as root, or give the user write access to /dev/cpu_dma_latency",
            ));
            None
        }
    }
}

pub(crate) fn memory_not_locked(e: &std::io::Error) -> Warning {
    Warning::new(
        "memory-not-locked",
        Effect::Invalid,
        format!("mlockall: {e}: page faults may be part of the latencies"),
        "run as root, or raise the limit: `ulimit -l unlimited` (memlock in /etc/security/limits.conf)",
    )
}
