//! Filters of published latencies: `key=value` terms, separated by commas.

use super::error::ReferenceError;
use super::row::{KEYS, Reference};

/// Which published latencies are wanted; by default all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublishedFilter {
    terms: Vec<(&'static str, String)>,
}

impl PublishedFilter {
    /// Reads the terms in `words`: each is `key=value`; several are separated by commas, and all must hold.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Self, ReferenceError> {
        let mut terms = Vec::new();
        for term in words.iter().flat_map(|w| w.as_ref().split(',')).filter(|t| !t.is_empty()) {
            let unknown = || ReferenceError::Filter(term.to_owned());
            let (key, value) = term.split_once('=').ok_or_else(unknown)?;
            let key = KEYS.into_iter().find(|k| *k == key).ok_or_else(unknown)?;
            if value.is_empty() || key == "rt" && !["yes", "no"].contains(&value) {
                return Err(unknown());
            }
            terms.push((key, value.to_lowercase()));
        }
        Ok(Self { terms })
    }

    /// Whether all are wanted.
    pub fn is_all(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether `r` is wanted: names of tests, spaces, figures and evidence must be equal, other texts contain the value,
    /// whatever the case.
    pub fn takes(&self, r: &Reference) -> bool {
        let contains = |text: &str, value: &str| text.to_lowercase().contains(value);
        self.terms.iter().all(|(key, value)| match *key {
            "test" => r.test.as_str() == value,
            "space" => r.space.is_some_and(|s| s.as_str() == value),
            "figure" => r.figure.as_str() == value,
            "board" => contains(&r.board, value),
            "kernel" => contains(&r.kernel, value),
            "rt" => r.rt == (value == "yes"),
            "load" => contains(&r.load, value),
            "study" => contains(&r.study, value),
            "tool" => contains(&r.tool, value),
            _ => r.evidence.as_str() == value,
        })
    }
}
