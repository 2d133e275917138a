//! What a reader of a comparison or a table must beware of: a code, the words and the remedy; and lists of names that stay short.

use serde::Serialize;

/// Why a comparison must be read with care, or which part of it is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable name for programs, such as `clock-differs`.
    pub code: String,
    /// What was found and why it matters.
    pub message: String,
    /// What mends it.
    pub remedy: String,
}

pub(crate) fn finding(code: &str, message: String, remedy: impl Into<String>) -> Finding {
    Finding { code: code.into(), message, remedy: remedy.into() }
}

/// Names that a message holds; of more only the number is told.
pub const NAMED: usize = 10;

/// The first `most` of `names`, and how many more there are.
pub fn first_of<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let text = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
