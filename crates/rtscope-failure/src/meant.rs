//! What a misspelt word was probably meant to be.

/// Longest word that is looked at, in bytes: the comparison takes the product of the lengths.
const LONGEST: usize = 64;

/// The one of `known` that `word` is nearest to: a third of its letters wrong at most, or its beginning.
pub fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let distance =
        |k: &str| if letters > 2 && k.starts_with(&word) { 0 } else { strsim::damerau_levenshtein(&word, &k.to_lowercase()) };
    let near = known.into_iter().map(|k| (distance(k), k)).filter(|(d, _)| *d <= (letters / 3).max(1) && *d < letters);
    // Of equally near ones that of the same length: letters are exchanged more often than left out.
    near.min_by_key(|(d, k)| (*d, k.chars().count().abs_diff(letters))).map(|(_, k)| k)
}

/// The remedy for a word that is none of `known`: the nearest of them, and `otherwise`.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    let asked = meant(word, known).map(|k| format!("did you mean `{k}`?"));
    [asked.as_deref(), Some(otherwise)].into_iter().flatten().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_is_found() {
        let loads = ["none", "background", "calculation", "disk", "network", "full"];
        for (word, want) in
            [("dsik", "disk"), ("calc", "calculation"), ("NETWORK", "network"), ("ful", "full"), ("backgruond", "background")]
        {
            assert_eq!(meant(word, loads), Some(want), "{word}");
        }
        for word in ["", "x", "zz", "idle", &"n".repeat(1000)] {
            assert_eq!(meant(word, loads), None, "{word}");
        }
        assert_eq!(meant("6.21-rt", ["6.1-rt", "6.12-rt"]), Some("6.12-rt"));
        assert_eq!(did_you_mean("dsk", loads, "rtscope loads"), "did you mean `disk`? rtscope loads");
        assert_eq!(did_you_mean("idle", loads, ""), "");
    }
}
