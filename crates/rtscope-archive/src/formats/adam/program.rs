//! What Adam's programs do with every sample, and how a line of rtscope's own is told from theirs.

/// The programs' limit of a sample that counts, ns.
pub(super) const BAD: u64 = 500_000;
/// What the programs' figures are rounded to, ns.
pub(super) const RESOLUTION: u64 = 100;
/// What the lines begin with that only rtscope writes.
pub(super) const OWN: &str = "# rtscope: ";
