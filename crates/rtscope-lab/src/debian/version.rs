//! The order of Debian's versions (deb-version(7)): digits by number, `~` before everything, letters before other characters.

use std::cmp::Ordering;

/// Compares two versions as dpkg does. Any text has a place in the order.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (Parts::of(a), Parts::of(b));
    part(a.epoch, b.epoch).then_with(|| part(a.upstream, b.upstream)).then_with(|| part(a.revision, b.revision))
}

/// `EPOCH:UPSTREAM-REVISION`; what is not there counts as 0.
struct Parts<'a> {
    epoch: &'a str,
    upstream: &'a str,
    revision: &'a str,
}

impl<'a> Parts<'a> {
    fn of(version: &'a str) -> Self {
        let (epoch, rest) = version.split_once(':').unwrap_or(("0", version));
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, "0"));
        Self { epoch, upstream, revision }
    }
}

/// Compares upstream parts or revisions: in turns a stretch without digits, then a number.
fn part(mut a: &str, mut b: &str) -> Ordering {
    while !(a.is_empty() && b.is_empty()) {
        let (words_a, words_b);
        (words_a, a) = cut(a, |c| !c.is_ascii_digit());
        (words_b, b) = cut(b, |c| !c.is_ascii_digit());
        let (number_a, number_b);
        (number_a, a) = cut(a, |c| c.is_ascii_digit());
        (number_b, b) = cut(b, |c| c.is_ascii_digit());
        let found = words(words_a, words_b).then_with(|| numbers(number_a, number_b));
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

/// The longest beginning whose characters all fit, and the rest.
fn cut(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !fits(c)).unwrap_or(text.len()))
}

fn words(a: &str, b: &str) -> Ordering {
    let rank = |c: Option<char>| match c {
        Some('~') => (0, '~'),
        None => (1, ' '),
        Some(c) if c.is_ascii_alphabetic() => (2, c),
        Some(c) => (3, c),
    };
    let (mut a, mut b) = (a.chars(), b.chars());
    loop {
        let (x, y) = (a.next(), b.next());
        let found = rank(x).cmp(&rank(y));
        if found != Ordering::Equal || x.is_none() {
            return found;
        }
    }
}

/// Compares numbers of any length.
fn numbers(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_are_ordered_as_dpkg_does() {
        for (lower, higher) in [
            ("6.12.95-1~bpo12+1", "6.12.117-1~deb12u1"),
            ("6.12.9-2", "6.12.95-1"),
            ("6.12.117-1~bpo12+1", "6.12.117-1~deb12u1"),
            ("6.12.117-1~deb12u1", "6.12.117-1"),
            ("6.12.115-1", "6.12.115-1.1"),
            ("6.8.0-31.31", "6.8.0-151.151"),
            ("7.0.0-43.43~24.04.1", "7.0.0-43.43"),
            ("99", "1:2"),
            ("1.a", "1.+"),
            ("1", "1a"),
        ] {
            assert_eq!((compare(lower, higher), compare(higher, lower)), (Ordering::Less, Ordering::Greater), "{lower} {higher}");
        }
        assert_eq!(compare("0:1.0-0", "1.00"), Ordering::Equal);
    }

    proptest! {
        #[test]
        fn any_texts_are_ordered(texts in prop::collection::vec("[0-9a-b.+~:-]{0,8}|\\PC{0,5}", 3)) {
            let [a, b, c] = &texts[..] else { unreachable!() };
            prop_assert_eq!(compare(a, b), compare(b, a).reverse());
            prop_assert_eq!(compare(a, a), Ordering::Equal);
            if compare(a, b) != Ordering::Greater && compare(b, c) != Ordering::Greater {
                prop_assert_ne!(compare(a, c), Ordering::Greater);
            }
        }
    }
}
