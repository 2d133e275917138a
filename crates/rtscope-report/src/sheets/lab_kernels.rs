//! The kernels that the lab can boot.

use crate::format::clean;
use crate::sheet::{Columns, Sheet};

/// A kernel of the lab; what is not known before it is fetched is `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabKernelRow {
    /// As targets name it, without `lab:`.
    pub name: String,
    /// Version of its package.
    pub version: String,
    /// Kernel release.
    pub release: String,
    /// `rt` or `stock`.
    pub rt: String,
    /// Its size in the cache, or why it is not there.
    pub cached: String,
}

pub(crate) fn lab_kernels(rows: &[LabKernelRow]) -> Sheet<'_> {
    Columns::new()
        .left("name", 0, |r: &LabKernelRow| clean(&r.name).into())
        .left("version", 2, |r| clean(&r.version).into())
        .left("release", 1, |r| clean(&r.release).into())
        .whole("rt", 0, |r| r.rt.as_str().into())
        .whole("in the cache", 0, |r| r.cached.as_str().into())
        .sheet(rows)
}
