//! Every table, made once of records or of what the analysis makes of them, for the terminal and the page alike.

pub(crate) mod adam;
pub(crate) mod campaign;
pub(crate) mod comparison;
pub(crate) mod intervals;
pub(crate) mod kernels;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod loads;
pub(crate) mod record;
pub(crate) mod versus;
pub(crate) mod vinh_chau;
