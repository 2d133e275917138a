//! `rtscope lab`: virtual machines with real kernels.

mod kernels;

use crate::args::lab::{Lab, LabCommand};
use crate::config::Context;
use crate::error::{Code, Failure};

/// Carries out a command of `lab`.
pub(crate) fn run(context: &Context, a: &Lab) -> Result<Code, Failure> {
    match &a.command {
        LabCommand::Kernels(a) => kernels::run(context, a),
    }
}
