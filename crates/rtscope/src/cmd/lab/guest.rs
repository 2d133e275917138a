//! Opens a guest for the commands of `rtscope lab`, and says what its failures are to the user.

use crate::cmd::run::failure;
use crate::config::{Context, cache_root};
use crate::error::Failure;
use rtscope_lab::kernels::KernelName;
use rtscope_lab::vm::{Guest, GuestError, Guests, LabOptions};
use rtscope_run::session::MeasureError;

/// A guest with all that it needs; what is fetched or built for it is told.
pub(super) fn open(context: &Context, kernel: &KernelName, options: LabOptions) -> Result<Guest, Failure> {
    let guests = Guests::new(cache_root()?);
    guests.open(kernel, options, &mut |what| context.say(what)).map_err(guest_failure)
}

pub(super) fn guest_failure(e: GuestError) -> Failure {
    failure(&MeasureError::from(e))
}
