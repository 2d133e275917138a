//! Why there is no record of a session.

use crate::target::TargetError;
use rtscope_lab::modules::ModuleError;
use rtscope_lab::vm::{GuestError, VmError};
use rtscope_load::LoadError;
use rtscope_record::RecordError;

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The load can't be had.
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
    /// A kernel module that it needs can't be had, or let go.
    #[error("{what}; {remedy}", what = .0, remedy = .0.remedy())]
    Module(#[from] ModuleError),
    /// With the load's proof the record does not hold together.
    #[error("the record does not hold together: {0}")]
    Record(#[from] RecordError),
}

impl MeasureError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Load(e) => e.is_usage(),
            Self::Target(e) => e.is_usage(),
            Self::Vm(e) => e.is_usage(),
            Self::Guest(e) => e.is_usage(),
            Self::Module(e) => e.is_usage(),
            Self::Record(_) => false,
        }
    }

    /// It was ended before anything was measured (exit code 130).
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Load(LoadError::Interrupted) | Self::Vm(VmError::Interrupted) | Self::Target(TargetError::Interrupted))
    }
}
