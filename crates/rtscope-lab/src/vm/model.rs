//! Time models: what things cost in virtual time. A ratio is of records of one model only; the record names it.
//!
//! What an instruction lasts is QEMU's `shift`. What a copied byte costs follows from the processor that the guest believes to have: one that
//! claims fast string instructions (ERMS and the like) is given copies by `rep movsb`, which QEMU counts as an instruction for each byte, 50
//! times what a processor takes that has them.

use crate::kernels::Arch;
use std::fmt;
use std::str::FromStr;

/// Flags of x86 by which kernel and C library choose byte-wise string instructions. A version of QEMU knows some of them; what it does not know
/// its guests can't see.
const STRINGS: [&str; 5] = ["erms", "fsrm", "fzrm", "fsrs", "fsrc"];

/// A model of what things cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TimeModel {
    /// An instruction 1 ns; a processor with fast string instructions, so that a copied byte costs 1 ns as well.
    BytesCopied,
    /// An instruction 1 ns, and no fast string instructions: copies go by words.
    #[default]
    WordsCopied,
    /// The same, with instructions of 2 ns.
    Slower,
}

impl TimeModel {
    /// All of them, by their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::BytesCopied, Self::WordsCopied, Self::Slower];

    /// Its number in a record.
    pub fn number(self) -> u32 {
        match self {
            Self::BytesCopied => 1,
            Self::WordsCopied => 2,
            Self::Slower => 3,
        }
    }

    /// An instruction of a run lasts 2 to this ns.
    pub(super) fn shift(self) -> u32 {
        u32::from(self == Self::Slower)
    }

    /// `-icount` of a run.
    pub(super) fn icount(self) -> &'static str {
        if self == Self::Slower { "shift=1,sleep=off" } else { "shift=0,sleep=off" }
    }

    /// Flags that the guest's processor must not have, of those that a QEMU `knows`.
    pub(super) fn masked(self, arch: Arch, knows: &[String]) -> Vec<&'static str> {
        if self == Self::BytesCopied || arch != Arch::Amd64 {
            return Vec::new();
        }
        STRINGS.into_iter().filter(|flag| knows.iter().any(|k| k == flag)).collect()
    }
}

impl fmt::Display for TimeModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

impl FromStr for TimeModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|m| text.trim() == m.to_string());
        found.ok_or_else(|| {
            format!("`{text}` is not a time model: 1, 2 (the default) or 3; `rtscope lab model` shows what they are worth")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_qemu_knows_is_masked_and_only_where_copies_go_by_words() {
        let known = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let (old, new) = (known(&["avx2", "erms", "fsrm"]), known(&["erms", "fsrc", "fsrm", "fsrs", "fzrm"]));
        assert_eq!(TimeModel::default().masked(Arch::Amd64, &old), ["erms", "fsrm"]);
        assert_eq!(TimeModel::Slower.masked(Arch::Amd64, &new).len(), 5);
        for (model, arch) in [(TimeModel::BytesCopied, Arch::Amd64), (TimeModel::WordsCopied, Arch::Arm64)] {
            assert!(model.masked(arch, &new).is_empty());
        }
        assert_eq!("2".parse(), Ok(TimeModel::default()));
        assert!(["", "0", "4", "two", "02"].iter().all(|t| t.parse::<TimeModel>().is_err()));
        assert!(TimeModel::ALL.iter().all(|m| m.to_string().parse() == Ok(*m)));
    }
}
