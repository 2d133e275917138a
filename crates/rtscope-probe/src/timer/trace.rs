//! Stops the kernel's tracer at the first latency above a limit, as `cyclictest --breaktrace --tracemark` does.

use crate::measured::Failure;
use crate::protocol::ProbePlan;
use std::fs::{File, OpenOptions};
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The tracer of a run, shared by its threads. The driver has made the instance.
#[derive(Debug)]
pub(super) struct Tracer {
    /// The limit, ns.
    pub(super) above: u64,
    on: File,
    marker: File,
    stopped: AtomicBool,
}

impl Tracer {
    /// Opens the instance of the plan; `None` if nothing is traced.
    pub(super) fn of(plan: &ProbePlan) -> Result<Option<Self>, Failure> {
        let (Some(above), Some(dir)) = (plan.settings.trace_above, &plan.trace) else { return Ok(None) };
        let open = |name: &str| {
            let path = Path::new(dir).join(name);
            OpenOptions::new().write(true).open(&path).map_err(|e| {
                Failure::machine(format!("{}: {e}", path.display()), "run as root; was the tracing instance removed meanwhile?")
            })
        };
        Ok(Some(Self { above: above.0, on: open("tracing_on")?, marker: open("trace_marker")?, stopped: AtomicBool::new(false) }))
    }

    /// Begins to record.
    pub(super) fn start(&self) -> Result<(), Failure> {
        (&self.on).write_all(b"1").map_err(|e| Failure::machine(format!("the tracer can't be started: {e}"), "report this"))
    }

    /// Marks and stops the trace, unless another thread was first. Returns whether this one was. Two system calls, no allocation.
    pub(super) fn stop(&self, due: u64, latency: u64) -> bool {
        if self.stopped.swap(true, Relaxed) {
            return false;
        }
        let mut text = [0u8; 96];
        let mut to = Cursor::new(&mut text[..]);
        // The text fits; and without its mark a trace is as good.
        let _ = write!(to, "rtscope: {latency} ns late for the grid point {due}");
        let len = usize::try_from(to.position()).unwrap_or(0);
        let _ = (&self.marker).write(&text[..len]);
        (&self.on).write_all(b"0").is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PROTOCOL;
    use rtscope_record::{Nanos, Settings, Space, Test};

    #[test]
    fn only_the_first_stops_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        for name in ["tracing_on", "trace_marker"] {
            std::fs::write(file(name), "").unwrap();
        }
        let mut plan = ProbePlan {
            protocol: PROTOCOL.into(),
            id: "x".into(),
            test: Test::Timer,
            space: Space::User,
            load: "none".into(),
            target: "local".into(),
            settings: Settings { trace_above: Some(Nanos(5)), ..Settings::default() },
            progress_ms: 0,
            picture: false,
            trace: None,
        };
        assert!(Tracer::of(&plan).unwrap().is_none(), "nobody has armed it");
        plan.trace = Some(dir.path().display().to_string());
        let tracer = Tracer::of(&plan).unwrap().unwrap();
        tracer.start().unwrap();
        assert!(tracer.stop(u64::MAX, u64::MAX) && !tracer.stop(1, 2));
        assert_eq!(std::fs::read_to_string(file("tracing_on")).unwrap(), "10");
        let marked = format!("rtscope: {0} ns late for the grid point {0}", u64::MAX);
        assert_eq!(std::fs::read_to_string(file("trace_marker")).unwrap(), marked);
        plan.trace = Some("/nowhere".into());
        assert!(Tracer::of(&plan).unwrap_err().message.contains("/nowhere/tracing_on"));
    }
}
