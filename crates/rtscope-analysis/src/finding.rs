//! What a reader of a comparison or table must beware of: a code, a message and a remedy. Also shortens long lists of
//! names.

use serde::Serialize;

/// Why a comparison must be read with care, or which part of it is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable name for programs, such as `clock-differs`.
    pub code: String,
    /// What was found and why it matters.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

pub(crate) fn finding(code: &str, message: String, remedy: impl Into<String>) -> Finding {
    Finding { code: code.into(), message, remedy: remedy.into() }
}

/// How many names a message lists; beyond that only a number is given.
pub const NAMED: usize = 10;

/// The first `most` of `names`, and how many more there are.
pub fn first_of<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let text = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
