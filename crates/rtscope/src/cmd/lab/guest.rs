//! Opens a guest for the commands of `rtscope lab`.

use crate::config::{Context, cache_root};
use rtscope_failure::Failure;
use rtscope_lab::kernels::ToBoot;
use rtscope_lab::vm::{Guest, Guests, LabOptions};

/// Opens a guest and reports what is fetched or built for it.
pub(super) fn open(context: &Context, kernel: &ToBoot, options: LabOptions) -> Result<Guest, Failure> {
    let guests = Guests::new(cache_root()?);
    Ok(guests.open(kernel, options, &mut |what| context.say(what))?)
}
