//! Why there is no record of a session.

use crate::target::TargetError;
use rtscope_failure::{Fault, Problem};
use rtscope_lab::modules::ModuleError;
use rtscope_lab::vm::{GuestError, VmError};
use rtscope_load::LoadError;
use rtscope_load::tracer::TracerError;
use rtscope_load::tuning::TuningError;
use rtscope_record::RecordError;

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The load can't be started.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The probe could not measure.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The virtual machine did not do its work.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// There is no such virtual machine.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// A kernel module can't be had, or can't be unloaded.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The kernel's tracer can't be used.
    #[error(transparent)]
    Tracer(#[from] TracerError),
    /// The machine can't be set up as asked.
    #[error(transparent)]
    Tuning(#[from] TuningError),
    /// It was ended because it took too long.
    #[error("it took longer than {} s and was ended", .0.as_secs())]
    TooLong(std::time::Duration),
    /// With the load's proof, the record does not add up.
    #[error("the record does not hold together: {0}")]
    Record(#[from] RecordError),
}

impl Problem for MeasureError {
    fn remedy(&self) -> String {
        match self {
            Self::Load(e) => e.remedy(),
            Self::Target(e) => e.remedy(),
            Self::Vm(e) => e.remedy(),
            Self::Guest(e) => e.remedy(),
            Self::Module(e) => e.remedy(),
            Self::Tracer(e) => e.remedy(),
            Self::Tuning(e) => e.remedy(),
            Self::TooLong(_) => "give each trial more time: --limit".into(),
            Self::Record(_) => "report this".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Load(e) => e.fault(),
            Self::Target(e) => e.fault(),
            Self::Vm(e) => e.fault(),
            Self::Guest(e) => e.fault(),
            Self::Module(e) => e.fault(),
            Self::Tracer(e) => e.fault(),
            Self::Tuning(e) => e.fault(),
            Self::TooLong(_) | Self::Record(_) => Fault::Machine,
        }
    }
}
