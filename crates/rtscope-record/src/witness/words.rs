//! Times in words.

use crate::units::Nanos;

/// `1.234 s`
pub(super) fn seconds(ns: u64) -> String {
    format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1000)
}

/// A time with about three digits: `1.243s`, `12.3us`.
pub(super) fn amount(ns: u64) -> String {
    let digits = ns.checked_ilog10().unwrap_or(0).saturating_sub(2) / 3 * 3;
    let unit = 10u64.pow(digits.min(6));
    Nanos(ns / unit * unit).to_string()
}
