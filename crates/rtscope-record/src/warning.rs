//! Warnings as data, and the verdict that follows from them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a warning does to the verdict, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Worth knowing; the figures mean what they say.
    Note,
    /// True for this run, not for what one would conclude from it.
    Inconclusive,
    /// The figures mean something else than they say.
    Invalid,
}

/// Something that a reader of the figures must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// A stable name for programs, such as `memory-not-locked`.
    pub code: String,
    /// What it does to the verdict.
    pub effect: Effect,
    /// What was found and why it matters, for people.
    pub message: String,
    /// What mends it, a command where there is one.
    pub remedy: String,
}

impl Warning {
    /// A warning from its four parts.
    pub fn new(code: &str, effect: Effect, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code: code.into(), effect, message: message.into(), remedy: remedy.into() }
    }
}

/// Whether the figures may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// They mean what they say.
    Valid,
    /// True for this run, not for what one would conclude.
    Inconclusive,
    /// They mean something else than they say.
    Invalid,
}

impl Verdict {
    /// The verdict that `warnings` leave: the worst effect among them.
    pub fn of(warnings: &[Warning]) -> Self {
        match warnings.iter().map(|w| w.effect).max() {
            Some(Effect::Invalid) => Self::Invalid,
            Some(Effect::Inconclusive) => Self::Inconclusive,
            Some(Effect::Note) | None => Self::Valid,
        }
    }

    /// As written in a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Invalid => "INVALID",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
