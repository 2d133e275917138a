//! In place of the picture of `measure --live` in a program that was built without it (`./x demo`).

use crate::error::left_out;
use rtscope_failure::Failure;
use rtscope_load::StopHandle;
use rtscope_run::session::SessionStep;

/// There is none.
pub(crate) enum LiveView {}

/// Fails.
pub(crate) fn check() -> Result<(), Failure> {
    Err(left_out("the picture of --live"))
}

impl LiveView {
    pub(crate) fn open(_title: &str, _end_ns: u64, _stop: &StopHandle) -> Result<Self, Failure> {
        Err(left_out("the picture of --live"))
    }

    pub(crate) fn step(&self, _step: &SessionStep<'_>) {
        match *self {}
    }

    pub(crate) fn close(self) {
        match self {}
    }
}
