//! `rtscope lab`: virtual machines with real kernels.

mod boot;
mod guest;
mod kernels;
mod model;
mod run;
mod shell;
mod verify;

use crate::args::lab::{Lab, LabCommand};
use crate::config::Context;
use crate::error::Code;
use rtscope_failure::Failure;

/// Carries out a command of `lab`.
pub(crate) fn run(context: &Context, a: &Lab) -> Result<Code, Failure> {
    match &a.command {
        LabCommand::Kernels(a) => kernels::run(context, a),
        LabCommand::Boot(a) => boot::boot(context, a),
        LabCommand::Shell(a) => shell::shell(context, a),
        LabCommand::Run(a) => run::run(context, a),
        LabCommand::Model(a) => model::run(context, a),
        LabCommand::Verify(a) => verify::run(context, a),
    }
}
