//! How Ctrl-C and other signals end a command early.

use crate::output;
use rtscope_failure::{Explain as _, Failure};
use rtscope_load::StopHandle;
use rtscope_sys::signals::Listener;

/// Ends the run early on SIGINT, SIGTERM or SIGHUP; the samples so far are kept. Prints a note if Ctrl-C does not work.
pub(crate) fn stop_on_signals() -> Result<StopHandle, Failure> {
    let stop = StopHandle::new();
    let ignores_ctrl_c = stop_quietly_on_signals(&stop)?;
    if ignores_ctrl_c {
        let pid = std::process::id();
        output::note(&format!(
            "rtscope: SIGINT is ignored here (started with & or nohup), so Ctrl-C does not end it: kill -TERM {pid} does"
        ));
    }
    Ok(stop)
}

/// As [`stop_on_signals`], without the note. Returns whether Ctrl-C does not work because SIGINT was ignored from the start.
pub(crate) fn stop_quietly_on_signals(stop: &StopHandle) -> Result<bool, Failure> {
    let listener = Listener::new().or_machine("signal handler", "report this")?;
    let ignores_ctrl_c = listener.ignores_ctrl_c();
    let stop = stop.clone();
    std::thread::spawn(move || {
        loop {
            listener.wait();
            // Also ends waits for other processes, which do not know about this run.
            rtscope_files::interrupt();
            stop.stop();
        }
    });
    Ok(ignores_ctrl_c)
}
