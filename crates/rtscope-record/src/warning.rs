//! Warnings as data, and the verdict that follows from them.

use crate::limits;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Effect of a warning on the verdict, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Worth knowing; the verdict is not affected.
    Note,
    /// The figures are true of this run, but do not support general conclusions.
    Inconclusive,
    /// The figures do not show what they claim to show.
    Invalid,
}

/// Something that a reader of the figures must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Stable name for programs, such as `memory-not-locked`.
    pub code: String,
    /// Its effect on the verdict.
    pub effect: Effect,
    /// What was found and why it matters, for people.
    pub message: String,
    /// What to do about it: a command if there is one.
    pub remedy: String,
}

fn cut(text: String) -> String {
    if text.len() <= limits::REMARK { text } else { limits::cut(&text, limits::REMARK) }
}

impl Warning {
    /// A warning from its four parts; texts that are too long are cut.
    pub fn new(code: &str, effect: Effect, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code: code.into(), effect, message: cut(message.into()), remedy: cut(remedy.into()) }
    }
}

/// Whether the figures may be trusted, best first.
///
/// ```
/// use rtscope_record::{Clock, Effect, Origin, Verdict, Warning};
///
/// let note = Warning::new("missed-periods", Effect::Note, "a thread passed over 3 grid points", "a longer interval");
/// let refused = Warning::new("priority-refused", Effect::Invalid, "the threads ran as ordinary ones", "run as root");
/// assert_eq!(Verdict::of(&[]), Verdict::Valid);
/// assert_eq!(Verdict::of(&[note.clone()]), Verdict::Valid);
/// assert_eq!(Verdict::of(&[note, refused]), Verdict::Invalid);
/// // The origin limits what a record can claim, whatever its warnings.
/// assert_eq!(Origin::Imported.best(Clock::Host), Verdict::Inconclusive);
/// assert_eq!(Origin::Lab.best(Clock::Virtual), Verdict::Repeatable);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// Without the example.
#[cfg_attr(feature = "schema", schemars(description = "Whether the figures may be trusted, best first."))]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The figures show what they claim to show.
    Valid,
    /// The figures repeat to the last bit in the lab's virtual time. They are true of its time model, not of a real machine.
    Repeatable,
    /// The figures are true of this run, but do not support general conclusions.
    Inconclusive,
    /// The figures do not show what they claim to show.
    Invalid,
}

impl Verdict {
    /// Every verdict, the best first.
    pub const ALL: [Self; 4] = [Self::Valid, Self::Repeatable, Self::Inconclusive, Self::Invalid];

    /// Whether `--strict` accepts the verdict: the figures show what they claim to, of a machine or of the lab's model.
    pub fn passes_strict(self) -> bool {
        self <= Self::Repeatable
    }

    /// The verdict that `warnings` alone lead to: their worst effect. A record's verdict also depends on its origin.
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
            Self::Repeatable => "REPEATABLE",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_effect_is_the_verdict() {
        use Effect::{Inconclusive, Invalid, Note};
        let of = |effects: &[Effect]| Verdict::of(&effects.iter().map(|&e| Warning::new("c", e, "m", "r")).collect::<Vec<_>>());
        assert_eq!([of(&[]), of(&[Note])], [Verdict::Valid; 2]);
        assert_eq!(of(&[Inconclusive, Note]), Verdict::Inconclusive);
        assert_eq!(of(&[Note, Invalid, Inconclusive]), Verdict::Invalid);
    }

    #[test]
    fn verdicts_by_name_and_for_strict_users() {
        let seen = Verdict::ALL.map(|v| (format!("{v:13}|"), v.passes_strict()));
        let expected = [("VALID", true), ("REPEATABLE", true), ("INCONCLUSIVE", false), ("INVALID", false)];
        assert_eq!(seen, expected.map(|(name, passes)| (format!("{name:13}|"), passes)));
    }

    #[test]
    fn texts_are_kept_whole_up_to_their_limit() {
        let long = |n: usize| "x".repeat(n);
        let whole = Warning::new("c", Effect::Note, long(limits::REMARK), "mend it");
        assert_eq!((whole.message, whole.remedy), (long(limits::REMARK), "mend it".into()));
        let cut = Warning::new("c", Effect::Note, "m", long(limits::REMARK + 1)).remedy;
        assert!(cut.len() <= limits::REMARK && cut.starts_with("xxx"), "{}", cut.len());
    }
}
