//! Splits the arguments of `NAME:ARGS` as a shell would, without running one.

use crate::tools::tool::Refused;

/// Splits at white space. Single or double quotes keep blanks; a backslash is an ordinary character.
pub(crate) fn split(text: &str) -> Result<Vec<String>, Refused> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (_, '\0') => return Err(Refused { word: text.replace('\0', "\\0"), reason: "it holds a NUL character" }),
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(Refused { word: text.into(), reason: "a quote is not closed" });
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn words_are_split_at_blanks_and_kept_by_quotes() {
        assert_eq!(words("--cpu 2  --cpu-method\tfft"), ["--cpu", "2", "--cpu-method", "fft"]);
        assert_eq!(words(r#"--a 'b c' "d 'e" x'y'z ''"#), ["--a", "b c", "d 'e", "xyz", ""]);
        assert_eq!(words("$(reboot) `x`; a|b"), ["$(reboot)", "`x`;", "a|b"]);
        assert!(split("--a 'b").is_err());
        assert!(split("--a \0").is_err());
        assert!(words("  ").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_split_or_refused(text in "\\PC{0,60}") {
            let _ = split(&text);
        }

        #[test]
        fn words_without_quotes_come_back(parts in proptest::collection::vec("[a-z0-9=,%$;|&/-]{1,9}", 0..8)) {
            prop_assert_eq!(split(&parts.join(" ")).unwrap(), parts);
        }
    }
}
