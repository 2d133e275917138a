//! Debian's control paragraphs, as printed by `apt-cache show` and `dpkg-deb -f`.

/// One paragraph: a package in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paragraph {
    fields: Vec<(String, String)>,
}

impl Paragraph {
    /// The first line of a field; empty when the field is missing.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.fields.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)).map_or("", |(_, v)| v)
    }

    /// The first alternative of each dependency, with its exact version (`= VERSION`) if it requires one.
    pub(crate) fn depends(&self) -> Vec<(&str, Option<&str>)> {
        let first = self.get("Depends").split(',').filter_map(|d| d.split('|').next()).map(str::trim).filter(|d| !d.is_empty());
        let parts =
            first.map(|d| d.split_once('(').map_or((d, None), |(name, rest)| (name.trim(), Some(rest.trim_end_matches(')')))));
        parts.map(|(name, version)| (name, version.and_then(|v| Some(v.strip_prefix('=')?.trim())))).collect()
    }
}

/// Parses paragraphs. Continuation lines of a field (descriptions, lists of files) are left out.
pub(crate) fn parse(text: &str) -> Vec<Paragraph> {
    let mut all = Vec::new();
    let mut fields = Vec::new();
    for line in text.lines().chain([""]) {
        if line.is_empty() {
            if !fields.is_empty() {
                all.push(Paragraph { fields: std::mem::take(&mut fields) });
            }
        } else if !line.starts_with([' ', '\t']) {
            fields.extend(line.split_once(':').map(|(k, v)| (k.to_owned(), v.trim().to_owned())));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO: &str = "\
Package: linux-headers-6.12.95+deb12-rt-amd64
Version: 6.12.95-1~bpo12+1
Depends: linux-base (>= 4.12~), linux-headers-6.12.95+deb12-common-rt (= 6.12.95-1~bpo12+1), a (= 1) | b, gcc-12
Description: text
 more: of it

Package: x
Version: 1:2
";

    #[test]
    fn paragraphs_are_read() {
        let two = parse(TWO);
        assert_eq!(two.len(), 2);
        assert_eq!((two[1].get("Package"), two[1].get("version"), two[1].get("more")), ("x", "1:2", ""));
        let expected = [
            ("linux-base", None),
            ("linux-headers-6.12.95+deb12-common-rt", Some("6.12.95-1~bpo12+1")),
            ("a", Some("1")),
            ("gcc-12", None),
        ];
        assert_eq!(two[0].depends(), expected);
        assert!(two[1].depends().is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([A-Z][a-z]{0,5}: ?[a-z(=|,) 0-9.]{0,20}\n| \\PC{0,9}\n|\n|\\PC{0,9}){0,12}") {
            for p in parse(&text) {
                let _ = p.depends();
            }
        }
    }
}
