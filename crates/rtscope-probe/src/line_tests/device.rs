//! The probe's own DUT: a thread beside the instrument, with its own lines, priority and CPU.

use super::dut::{self, Done};
use crate::lines::{Input, LineError, LineSpec, Output};
use crate::measured::Failure;
use crate::witness::Post;
use rtscope_record::{DutSettings, Effect, Inject, Policy, Warning};
use rtscope_sys::rt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// Stack size of the device's thread; `MCL_FUTURE` locks all of it.
const STACK: usize = 128 * 1024;
const PREFAULT: usize = 64 * 1024;

/// What a device does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// Answers every edge of its input line.
    Respond,
    /// Toggles its output line every this many ns.
    Wave(u64),
}

/// A running device. Dropping it ends it and releases its lines.
#[derive(Debug)]
pub struct Device {
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<Result<(), LineError>>>,
    /// What the device has counted so far.
    pub done: Arc<Done>,
    /// What the kernel refused to the device.
    pub warning: Option<Warning>,
}

struct Lines {
    input: Option<Box<dyn Input>>,
    output: Box<dyn Output>,
}

impl Device {
    /// Opens the lines, starts the device and waits until it listens. `post` is its post at the witness.
    pub fn start(settings: &DutSettings, duty: Duty, post: Option<Arc<Post>>) -> Result<Self, Failure> {
        let open = |name: &String| name.parse::<LineSpec>();
        let input = settings.input.as_ref().map(|name| open(name)?.input()).transpose()?;
        let lines = Lines { input, output: open(&settings.output)?.output()? };
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(Done::default());
        let (ready, is_ready) = channel();
        let job = Job { stop: Arc::clone(&stop), done: Arc::clone(&done), inject: settings.inject, duty };
        let (priority, cpu) = (settings.priority, settings.cpu);
        let run = move || {
            rt::prefault_stack::<PREFAULT>();
            // If nobody waits any more, the device is about to be stopped.
            let refused = take_place(priority, cpu);
            if let Some(p) = &post {
                p.enter();
            }
            let _: Result<(), _> = ready.send(refused);
            let ended = job.run(lines);
            if let Some(p) = &post {
                p.leave();
            }
            ended
        };
        let handle = std::thread::Builder::new().name("rts-dut".into()).stack_size(STACK).spawn(run);
        let handle = Some(handle.map_err(|e| Failure::machine(format!("thread of the DUT: {e}"), "end other programs"))?);
        let mut device = Self { stop, handle, done, warning: None };
        device.warning = is_ready.recv().unwrap_or(None);
        Ok(device)
    }

    /// Whether it has ended on its own.
    pub fn ended(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the device. Fails if it had ended before, with the reason.
    pub fn end(mut self) -> Result<(), Failure> {
        self.join()
    }

    fn join(&mut self) -> Result<(), Failure> {
        self.stop.store(true, SeqCst);
        let Some(handle) = self.handle.take() else { return Ok(()) };
        let ended = handle.join().map_err(|_| Failure::machine("the DUT's thread panicked", "report this with the lines above"))?;
        Ok(ended?)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // `end` reports errors; here they are dropped.
        let _: Result<(), Failure> = self.join();
    }
}

/// Gives the calling thread its CPU and priority. Returns a warning if they were refused.
pub fn take_place(priority: u8, cpu: Option<u32>) -> Option<Warning> {
    let pinned = cpu.map_or(Ok(()), rt::pin);
    let scheduled = if priority > 0 { rt::set_policy(Policy::Fifo, priority, 0) } else { Ok(()) };
    let what = match (pinned, scheduled) {
        (Ok(()), Ok(())) => return None,
        (Err(e), _) => format!("sched_setaffinity to CPU {}: {e}", cpu.unwrap_or(0)),
        (_, Err(e)) => format!("sched_setattr fifo priority {priority}: {e}"),
    };
    Some(Warning::new(
        "dut-priority-refused",
        Effect::Invalid,
        format!("the DUT: {what}: it answered as an ordinary task, so the latencies are not those of a real-time task"),
        "run as root, or allow it: `setcap cap_sys_nice,cap_ipc_lock+ep` on rtscope-probe, or rtprio in /etc/security/limits.conf",
    ))
}

struct Job {
    stop: Arc<AtomicBool>,
    done: Arc<Done>,
    inject: Inject,
    duty: Duty,
}

impl Job {
    fn run(self, mut lines: Lines) -> Result<(), LineError> {
        match (self.duty, &mut lines.input) {
            (Duty::Respond, Some(input)) => {
                dut::respond(input.as_mut(), lines.output.as_mut(), &self.inject, &self.stop, &self.done)
            }
            (Duty::Respond, None) => Ok(()),
            (Duty::Wave(semi_period), _) => {
                let first = rt::now() + semi_period;
                dut::wave(lines.output.as_mut(), first, semi_period, &self.inject, &self.stop, &self.done)
            }
        }
    }
}
