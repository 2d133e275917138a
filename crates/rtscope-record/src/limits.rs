//! Limits of length, number and size: for what a record may hold, and for what `measure` and `import` accept.

use rtscope_failure::Problem;

/// Longest label of a distribution, bytes.
pub const LABEL: usize = 256;
/// Longest name of a load or target and longest start time, bytes.
pub const NAME: usize = 4096;
/// Longest of all other texts, bytes.
pub const TEXT: usize = 65_535;
/// Longest text of a warning, bytes; longer ones are cut.
pub const REMARK: usize = 16_384;
/// Highest number of distributions.
pub const DISTRIBUTIONS: usize = 16_384;
/// Highest number of histogram slots in a record: some 100 bytes of a file can expand to 50,000.
pub const SLOTS: usize = 1 << 23;

/// Shortest interval, semi-period or time-out of tests over lines where software handles the edges, ns.
pub const SHORTEST: u64 = 2_000;
/// Longest interval, semi-period or time-out of tests over lines, ns.
pub const LONGEST: u64 = 3_600_000_000_000;
/// Highest number of warm-up stimuli.
pub const WARMUP: u64 = 100_000;
/// Highest number of worst samples to keep for each distribution.
pub const WORST: u32 = 10_000;

/// `text`, shortened to `most` bytes with an ellipsis if it is longer.
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
    /// What is too long or too many.
    what: &'static str,
    /// Its size, bytes or number.
    found: usize,
    /// The highest size allowed.
    most: usize,
}

impl Problem for TooLong {
    fn remedy(&self) -> String {
        "make it shorter, or several records of it".into()
    }
}

/// Checks the length of a text, or a number of things, against a limit.
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
        // Each of these characters has two bytes.
        assert_eq!([cut("µµµµ", 8), cut("µµµµ", 7), cut("µµµµ", 6)], ["µµµµ", "µµ…", "µ…"]);
    }

    #[test]
    fn as_much_as_may_be_is_not_too_much() {
        assert_eq!((check("the bytes", 3, 4), check("the bytes", 4, 4)), (Ok(()), Ok(())));
        assert_eq!(check("the bytes", 5, 4).unwrap_err().to_string(), "the bytes: 5, where a record may have 4 at most");
    }
}
