//! Opens a guest for the commands of `rtscope lab`.

use crate::config::{Context, cache_root};
use rtscope_failure::Failure;
use rtscope_lab::KernelName;
use rtscope_lab::vm::{Guests, Lab, LabOptions};

/// A guest with all that it needs; what is fetched or built for it is told.
pub(super) fn open(context: &Context, kernel: &KernelName, options: LabOptions) -> Result<Lab, Failure> {
    let guests = Guests::new(cache_root()?);
    Ok(guests.open(kernel, options, &mut |what| context.say(what))?)
}
