//! How Adam's programs treat samples, and how lines that rtscope adds are marked.

/// The programs' limit for a good sample, ns.
pub(super) const BAD: u64 = 500_000;
/// The resolution of the programs' figures, ns.
pub(super) const RESOLUTION: u64 = 100;
/// Prefix of lines that only rtscope writes.
pub(super) const OWN: &str = "# rtscope: ";
