//! Time models: the cost of operations in virtual time. Ratios are valid only between records of the same
//! model, which each record names.
//!
//! The duration of an instruction is QEMU's `shift`. The cost of copying a byte depends on the guest's
//! processor: if it claims fast string instructions (ERMS and the like), copies use `rep movsb`, which QEMU
//! counts as one instruction per byte, 50 times what a real processor with these instructions takes.

use crate::kernels::Arch;
use std::fmt;
use std::str::FromStr;

/// x86 flags that make the kernel and the C library choose byte-wise string instructions. A QEMU version knows
/// some of them; its guests can't see the others.
const STRINGS: [&str; 5] = ["erms", "fsrm", "fzrm", "fsrs", "fsrc"];

/// A model of the cost of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TimeModel {
    /// 1 ns per instruction, and a processor with fast string instructions, so that copying a byte also costs 1 ns.
    BytesCopied,
    /// 1 ns per instruction, without fast string instructions: copies go by words.
    #[default]
    WordsCopied,
    /// Like `WordsCopied`, with 2 ns per instruction.
    Slower,
}

impl TimeModel {
    /// All models, in the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::BytesCopied, Self::WordsCopied, Self::Slower];

    /// The model's number in a record.
    pub fn number(self) -> u32 {
        match self {
            Self::BytesCopied => 1,
            Self::WordsCopied => 2,
            Self::Slower => 3,
        }
    }

    /// An instruction of a run lasts 2^shift ns.
    pub(super) fn shift(self) -> u32 {
        u32::from(self == Self::Slower)
    }

    /// The `-icount` argument of a run.
    pub(super) fn icount(self) -> &'static str {
        if self == Self::Slower { "shift=1,sleep=off" } else { "shift=0,sleep=off" }
    }

    /// Flags that the guest's processor must not have, limited to those that this QEMU `knows`.
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
