//! A kernel package that can be fetched.

use crate::debian::{Paragraph, compare_versions};

/// Longest name or version that is believed.
const LONGEST: usize = 128;

/// A kernel package in one version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) package: String,
    /// Its exact version; `None` if the metapackage leaves it open.
    pub(super) version: Option<String>,
    /// What the metapackage needs beside it.
    pub(super) beside: Vec<String>,
}

impl Candidate {
    /// The kernel to which a metapackage points, if it points to one.
    pub(super) fn of(metapackage: &Paragraph) -> Option<Self> {
        let depends = metapackage.depends();
        let (package, version) = depends.iter().find(|(name, _)| is_kernel(name))?;
        let beside = depends.iter().map(|(name, _)| *name).filter(|name| name != package && is_name(name));
        Some(Self {
            package: (*package).to_owned(),
            version: version.filter(|v| is_version(v)).map(str::to_owned),
            beside: beside.map(str::to_owned).collect(),
        })
    }

    /// The release, as `uname -r` prints it.
    pub(super) fn release(&self) -> &str {
        release(&self.package)
    }
}

/// A kernel's package, chosen: one version of it, with the packages that have the rest of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) package: String,
    pub(super) version: String,
    /// `NAME=VERSION` of the packages with its image, modules and configuration, where these are not in its own.
    pub(super) parts: Vec<String>,
}

impl Chosen {
    /// The release, as `uname -r` prints it.
    pub(super) fn release(&self) -> &str {
        release(&self.package)
    }
}

fn release(package: &str) -> &str {
    package.strip_prefix("linux-image-").unwrap_or(package)
}

/// Whether this names a kernel's package: its release begins with a number, and can be a part of a path.
fn is_kernel(name: &str) -> bool {
    is_name(name) && name.strip_prefix("linux-image-").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether this can be a package's name (Debian Policy 5.6.1). An index is foreign text, and names go to apt.
pub(super) fn is_name(text: &str) -> bool {
    let fit = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+.-".contains(&b);
    text.len() <= LONGEST && text.bytes().all(fit) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Whether this can be a package's version (Debian Policy 5.6.12).
pub(super) fn is_version(text: &str) -> bool {
    let fit = |b: u8| b.is_ascii_alphanumeric() || b"+.~:-".contains(&b);
    text.len() <= LONGEST && text.bytes().all(fit) && text.starts_with(|c: char| c.is_ascii_digit())
}

/// The highest version among `all` of a package, or the one that is asked for.
pub(super) fn version_of<'a>(all: &'a [Paragraph], package: &str, exact: Option<&str>) -> Option<&'a Paragraph> {
    let known = all.iter().filter(|p| p.get("Package") == package && is_version(p.get("Version")));
    let fitting = known.filter(|p| exact.is_none_or(|v| p.get("Version") == v));
    fitting.max_by(|a, b| compare_versions(a.get("Version"), b.get("Version")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debian::control::parse;
    use proptest::prelude::*;

    #[test]
    fn the_highest_version_is_taken_or_the_one_that_is_asked_for() {
        let all = parse(
            "Package: a\nVersion: 1.9-1\n\nPackage: a\nVersion: 1.10-1\n\nPackage: b\nVersion: 2\n\nPackage: a\nVersion: -o x\n",
        );
        assert_eq!(version_of(&all, "a", None).unwrap().get("Version"), "1.10-1");
        assert_eq!(version_of(&all, "a", Some("1.9-1")).unwrap().get("Version"), "1.9-1");
        assert_eq!((version_of(&all, "a", Some("2")), version_of(&all, "c", None)), (None, None));
    }

    #[test]
    fn what_a_metapackage_needs_beside_the_kernel_is_kept() {
        let ubuntu = "Package: linux-image-generic\nVersion: 6.8.0-151.151\n\
                      Depends: linux-image-6.8.0-151-generic, linux-modules-extra-6.8.0-151-generic, linux-firmware\n";
        let found = Candidate::of(&parse(ubuntu)[0]).unwrap();
        assert_eq!((found.release(), &found.version), ("6.8.0-151-generic", &None));
        assert_eq!(found.beside, ["linux-modules-extra-6.8.0-151-generic", "linux-firmware"]);
        for hostile in ["linux-image-../../x", "linux-image-6/../x", "linux-image-generic", "-o=Dir::Bin linux-image-6.1"] {
            assert_eq!(Candidate::of(&parse(&format!("Package: x\nDepends: {hostile}\n"))[0]), None, "{hostile}");
        }
    }

    proptest! {
        #[test]
        fn no_index_gives_a_name_that_is_an_option_or_leaves_its_directory(text in "(linux-image-[0-9]?)?\\PC{0,20}( \\(= \\PC{0,10}\\))?") {
            for p in parse(&format!("Package: x\nVersion: 1\nDepends: {text}\n")) {
                if let Some(c) = Candidate::of(&p) {
                    prop_assert!(!c.release().contains('/') && !c.release().starts_with(['.', '-']));
                    prop_assert!(c.version.is_none_or(|v| !v.starts_with('-') && !v.contains(' ')));
                }
            }
        }
    }
}
