//! `rtscope lab`: virtual machines with real kernels.

mod boot;
mod kernels;
mod model;
mod run;
mod verify;

use crate::args::lab::{Lab, LabCommand};
use crate::config::{Context, cache_root};
use crate::error::{Code, Failure};
use rtscope_lab::vm::{self, GuestError, Guests, LabOptions};
use rtscope_lab::{KernelName, MeasureError};

/// Carries out a command of `lab`.
pub(crate) fn run(context: &Context, a: &Lab) -> Result<Code, Failure> {
    match &a.command {
        LabCommand::Kernels(a) => kernels::run(context, a),
        LabCommand::Boot(a) => boot::boot(context, a),
        LabCommand::Shell(a) => boot::shell(context, a),
        LabCommand::Run(a) => run::run(context, a),
        LabCommand::Model(a) => model::run(context, a),
        LabCommand::Verify(a) => verify::run(context, a),
    }
}

/// A guest with all that it needs; what is fetched or built for it is told.
fn open(context: &Context, kernel: &KernelName, options: LabOptions) -> Result<vm::Lab, Failure> {
    let guests = Guests::new(cache_root()?);
    guests.open(kernel, options, &mut |what| context.say(what)).map_err(guest_failure)
}

fn guest_failure(e: GuestError) -> Failure {
    super::measure::failure(&MeasureError::from(e))
}
