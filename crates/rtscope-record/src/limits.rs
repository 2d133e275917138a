//! How long, how many and how large: what a record may hold, and what `measure` and `import` alike may be asked for.

use rtscope_failure::Problem;

/// Longest label of a distribution, bytes.
pub const LABEL: usize = 256;
/// Longest name: of a load, a target, a start, bytes.
pub const NAME: usize = 4096;
/// Longest of all other texts, bytes.
pub const TEXT: usize = 65_535;
/// Longest text of a warning, bytes; a longer one is cut.
pub const REMARK: usize = 16_384;
/// Most distributions.
pub const DISTRIBUTIONS: usize = 16_384;
/// Most slots of histograms, all together: some 100 bytes of a file may hold 50,000 of them.
pub const SLOTS: usize = 1 << 23;

/// Shortest interval, semi-period or time-out of tests over lines, ns, where software takes the edges.
pub const SHORTEST: u64 = 2_000;
/// Longest interval, semi-period or time-out of tests over lines, ns.
pub const LONGEST: u64 = 3_600_000_000_000;
/// Most stimuli before the figures begin.
pub const WARMUP: u64 = 100_000;
/// Most worst samples to keep of each distribution.
pub const WORST: u32 = 10_000;

/// `text`, cut to `most` bytes where it is longer, with an ellipsis then.
pub fn cut(text: &str, most: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub(MARK.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned() + MARK
}

/// Something is too long for a record, or there is too much of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {found}, where a record may have {most} at most")]
pub struct TooLong {
    /// What.
    what: &'static str,
    /// How much of it there is, bytes or number.
    found: usize,
    /// How much there may be.
    most: usize,
}

impl Problem for TooLong {
    fn remedy(&self) -> String {
        "make it shorter, or several records of it".into()
    }
}

/// Holds a text, or a number of things, against what it may be.
pub fn check(what: &'static str, found: usize, most: usize) -> Result<(), TooLong> {
    if found > most { Err(TooLong { what, found, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_cut_fits(text in "\\PC{0,40}", most in 3usize..60) {
            let short = cut(&text, most);
            prop_assert!(short.len() <= most && (short == text || short.ends_with('…')));
        }
    }

    #[test]
    fn a_cut_text_ends_between_characters() {
        assert_eq!([cut("abcdef", 6), cut("abcdefg", 6)], ["abcdef", "abc…"]);
        // Two bytes each.
        assert_eq!([cut("µµµµ", 8), cut("µµµµ", 7), cut("µµµµ", 6)], ["µµµµ", "µµ…", "µ…"]);
    }

    #[test]
    fn as_much_as_may_be_is_not_too_much() {
        assert_eq!((check("the bytes", 3, 4), check("the bytes", 4, 4)), (Ok(()), Ok(())));
        assert_eq!(check("the bytes", 5, 4).unwrap_err().to_string(), "the bytes: 5, where a record may have 4 at most");
    }
}
