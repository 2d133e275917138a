//! An executor whose runs are ended after a time, as if they had failed.

use crate::campaign::{Executor, Run};
use crate::session::{MeasureError, SessionStep};
use rtscope_load::StopHandle;
use rtscope_record::Record;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Ends runs that take too long: some stressors hold a guest up for minutes.
#[derive(Debug)]
pub struct TimeLimited<E> {
    /// Takes the runs.
    pub executor: E,
    /// How long a run may take, wall time.
    pub limit: Duration,
}

impl<E: Executor> Executor for TimeLimited<E> {
    fn execute(
        &self,
        run: &Run,
        id: &str,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(SessionStep<'_>),
    ) -> Result<Record, MeasureError> {
        // The run has a handle of its own, so that the caller's is not asked when the limit ends the run.
        let own = StopHandle::new();
        let too_long = Arc::new(AtomicBool::new(false));
        let (passed_on, of_run) = (own.clone(), own.clone());
        stop.on_stop(move || passed_on.stop());
        let (ended, wait) = channel::<()>();
        let result = std::thread::scope(|scope| {
            let too_long = Arc::clone(&too_long);
            scope.spawn(move || {
                if wait.recv_timeout(self.limit) == Err(RecvTimeoutError::Timeout) {
                    too_long.store(true, Ordering::Release);
                    own.stop();
                }
            });
            let result = self.executor.execute(run, id, &of_run, on_step);
            drop(ended);
            result
        });
        if too_long.load(Ordering::Acquire) && !stop.is_stopped() {
            return Err(MeasureError::TooLong(self.limit));
        }
        result
    }
}
