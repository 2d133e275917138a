//! Every table, made once from records or analyses, for terminal and page alike.

pub(crate) mod boards;
pub(crate) mod campaign;
pub(crate) mod comparison;
pub(crate) mod explanation;
pub(crate) mod hunt;
pub(crate) mod intervals;
pub(crate) mod kernels;
pub(crate) mod lab;
pub(crate) mod lab_kernels;
pub(crate) mod line_tests;
pub(crate) mod line_tests_by_load;
pub(crate) mod list;
pub(crate) mod loads;
pub(crate) mod papers;
pub(crate) mod record;
pub(crate) mod reference;
pub(crate) mod replicates;
pub(crate) mod tail;
pub(crate) mod variants;
pub(crate) mod versus;

/// Characters of a clock that still say whether it is a virtual machine's.
pub(crate) const CLOCK: usize = 12;

/// Characters of the longest of the usual loads' names.
pub(crate) const LOAD: usize = 11;
