//! Where packages come from: an archive's address, its suites, and the keys that sign them.

use super::error::DebianError;
use crate::kernels::Arch;
use std::path::{Path, PathBuf};

/// An archive of packages for one release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Archive {
    /// Directory of its index in the cache, below `apt`; empty for Debian 12's, which has none of its own.
    pub(crate) dir: &'static str,
    /// Whose packages they are, for people.
    pub(crate) vendor: &'static str,
    /// Its address for some architectures, the first that fits; none if the user must name it.
    pub(crate) mirrors: &'static [(&'static [Arch], &'static str)],
    /// The environment variable that names another address.
    pub(crate) variable: &'static str,
    /// What fetches its packages.
    pub(crate) format: Format,
    /// Source packages rather than binary ones.
    pub(crate) source: bool,
    /// Its suites: what follows the archive's address, the suite, its components. For dnf its repositories: nothing, the path below the
    /// address with `*` for the machine, the name.
    pub(crate) suites: &'static [(&'static str, &'static str, &'static str)],
    /// The keys that its index must be signed with.
    pub(crate) keys: Keys,
}

/// The format of an archive's packages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Debian's, by apt.
    Deb,
    /// Fedora's, by dnf.
    Rpm,
}

/// Where the keys come from that an archive's index must be signed with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// A file of this host.
    Host {
        /// The file.
        file: &'static str,
        /// The package that contains it.
        package: &'static str,
    },
    /// A file in a package of Debian 12.
    Packaged {
        /// The package.
        package: &'static str,
        /// The file, relative to the root.
        file: &'static str,
    },
    /// A file that the user names by this environment variable, and what it is, for people.
    Users(&'static str, &'static str),
}

/// Debian 12: the guests' tools, and the kernels built with its compiler.
pub(crate) const DEBIAN_12: Archive = Archive {
    dir: "",
    vendor: "Debian",
    mirrors: &[(&Arch::ALL, DEBIAN)],
    variable: DEBIAN_VARIABLE,
    format: Format::Deb,
    source: false,
    suites: &[("", "bookworm", "main"), ("", "bookworm-backports", "main"), ("-security", "bookworm-security", "main")],
    keys: DEBIANS_KEYS,
};

/// Debian 12's source packages.
pub(crate) static DEBIAN_12_SOURCES: Archive = Archive { dir: "source", source: true, ..DEBIAN_12 };

/// Debian's archive.
pub(crate) const DEBIAN: &str = "http://deb.debian.org/debian";
/// Selects a mirror other than deb.debian.org. The security archive is expected beside it, with `-security` appended.
pub(crate) const DEBIAN_VARIABLE: &str = "RTSCOPE_DEBIAN_MIRROR";
/// What Debian's index is signed with.
pub(crate) const DEBIANS_KEYS: Keys =
    Keys::Host { file: "/usr/share/keyrings/debian-archive-keyring.gpg", package: "debian-archive-keyring" };

impl Archive {
    /// The mirror, as text for people; the variable may hold something that is not an address.
    pub(crate) fn mirror_in_use(&self, arch: Arch) -> String {
        let set = std::env::var(self.variable).ok().filter(|t| !t.is_empty());
        set.or_else(|| Some(self.usual(arch)?.to_owned())).unwrap_or_else(|| format!("the mirror that ${} names", self.variable))
    }

    fn usual(&self, arch: Arch) -> Option<&'static str> {
        self.mirrors.iter().find(|(archs, _)| archs.contains(&arch)).map(|(_, mirror)| *mirror)
    }

    /// The mirror that is `set` or the usual one, checked to be an address.
    pub(super) fn mirror(&self, arch: Arch, set: Option<&str>) -> Result<String, DebianError> {
        let (vendor, variable) = (self.vendor, self.variable);
        let usual = self.usual(arch);
        let Some(text) = set.filter(|t| !t.is_empty()) else {
            return usual.map(str::to_owned).ok_or_else(|| {
                DebianError::Unusable(format!(
                    "rtscope knows no mirror of {vendor} for {arch}; name one: {variable}=http://HOST/PATH"
                ))
            });
        };
        let known = ["http://", "https://", "file:/"].iter().any(|s| text.starts_with(s));
        if !known || text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '[') {
            let such = usual.map_or_else(String::new, |u| format!("; such as {u}"));
            let why = format!("${variable} is `{text}`, which is not an address of a {vendor} mirror{such}");
            return Err(DebianError::Unusable(why));
        }
        Ok(text.trim_end_matches('/').to_owned())
    }

    /// The directory of its index for `arch`, in the cache at `cache`.
    pub(super) fn index_dir(&self, cache: &Path, arch: Arch) -> PathBuf {
        // An empty component would end the path with a slash.
        let apt = cache.join("apt");
        if self.dir.is_empty() { apt.join(arch.as_str()) } else { apt.join(self.dir).join(arch.as_str()) }
    }

    /// apt's list of sources.
    pub(super) fn sources(&self, arch: Arch, mirror: &str, keyring: &str) -> String {
        let line = |(beside, suite, components): &(&str, &str, &str)| {
            let (kind, of) = if self.source { ("deb-src", String::new()) } else { ("deb", format!("arch={arch} ")) };
            format!("{kind} [{of}signed-by={keyring}] {mirror}{beside} {suite} {components}\n")
        };
        self.suites.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::Problem as _;

    #[test]
    fn only_addresses_are_mirrors() {
        let mirror = |set| DEBIAN_12.mirror(Arch::Amd64, set);
        assert_eq!(mirror(None).unwrap(), DEBIAN);
        assert_eq!(mirror(Some("")).unwrap(), DEBIAN);
        assert_eq!(mirror(Some("https://mirror.example/debian/")).unwrap(), "https://mirror.example/debian");
        for wrong in ["mirror.example", "http://a b", "http://a\ndeb http://b", "[x] http://c"] {
            assert!(mirror(Some(wrong)).is_err_and(|e| e.is_usage()), "{wrong}");
        }
        let unknown = Archive { mirrors: &[], variable: "X_MIRROR", ..DEBIAN_12 };
        let e = unknown.mirror(Arch::Arm64, None).unwrap_err();
        assert!(e.is_usage() && e.to_string().contains("X_MIRROR="), "{e}");
        assert_eq!(unknown.mirror(Arch::Arm64, Some("file:/srv/x")).unwrap(), "file:/srv/x");
    }

    #[test]
    fn the_security_archive_lies_beside_the_mirror() {
        let text = DEBIAN_12.sources(Arch::Armhf, DEBIAN, "/k.gpg");
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("[arch=armhf signed-by=/k.gpg] http://deb.debian.org/debian-security bookworm-security main\n"));
        assert_eq!(DEBIAN_12.index_dir(Path::new("/c"), Arch::Armhf), Path::new("/c/apt/armhf"), "where it always was");
        let text = DEBIAN_12_SOURCES.sources(Arch::Amd64, DEBIAN, "/k.gpg");
        assert!(text.lines().all(|l| l.starts_with("deb-src [signed-by=/k.gpg] http")), "{text}");
    }
}
