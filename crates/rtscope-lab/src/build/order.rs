//! What is to be built, as it is asked for, and what is told meanwhile.

use super::error::BuildError;
use super::series::SERIES;
use super::vary::Vary;
use crate::kernels::Arch;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a kernel's source comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildSource {
    /// Debian's package with a kernel's source, by its name without `debian/`: `6.12`, `13-backports`.
    Debian(String),
    /// A directory with a kernel's tree.
    Tree(PathBuf),
    /// A tarball of one.
    Tarball(PathBuf),
}

impl FromStr for BuildSource {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        // The command line's parser shows the message alone.
        let wrong = |what: String| {
            let known: Vec<String> = SERIES.iter().map(|s| format!("debian/{}", s.name)).collect();
            let message =
                format!("`{text}`: {what}; name {}, a directory with a kernel's tree, or a tarball of one", known.join(", "));
            BuildError::ask(message, "")
        };
        let path = PathBuf::from(text);
        if let Some(series) = text.strip_prefix("debian/").filter(|_| !path.exists()) {
            let known = SERIES.iter().any(|s| s.name == series);
            return if known { Ok(Self::Debian(series.to_owned())) } else { Err(wrong("Debian has no such source".into())) };
        }
        match std::fs::metadata(&path) {
            Ok(m) if m.is_dir() => Ok(Self::Tree(path)),
            Ok(m) if m.is_file() => Ok(Self::Tarball(path)),
            Ok(_) => Err(wrong("it is neither a file nor a directory".into())),
            Err(e) => Err(wrong(e.to_string())),
        }
    }
}

/// What is to be built.
#[derive(Debug, Clone)]
pub struct BuildOrder {
    /// From what.
    pub source: BuildSource,
    /// For which architecture.
    pub arch: Arch,
    /// What the kernels' names begin with; `None`: the source's version.
    pub name: Option<String>,
    /// In what they differ; nothing: PREEMPT=voluntary,rt.
    pub vary: Vec<Vary>,
    /// Files with a configuration's fragments, later ones before earlier ones; `lab` is the project's own. Nothing: `lab`, or
    /// with a `base` none.
    pub profiles: Vec<PathBuf>,
    /// A whole configuration to start from, in place of one with everything off.
    pub base: Option<PathBuf>,
    /// How many compilers at once.
    pub jobs: usize,
    /// A directory for Debian packages of the kernels; `None`: make none.
    pub deb: Option<PathBuf>,
    /// Take the newest source that Debian has, even if one is in the cache.
    pub update: bool,
}

/// What is told while it is built.
#[derive(Debug, Clone, Copy)]
pub enum BuildStep<'a> {
    /// Something is begun.
    Says(&'a str),
    /// A kernel is being compiled.
    Compiling {
        /// Which.
        kernel: &'a str,
        /// Files that this run of make has compiled.
        files: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_failure::Problem as _;

    #[test]
    fn sources_are_debians_directories_and_tarballs() {
        assert_eq!("debian/6.12".parse::<BuildSource>().unwrap(), BuildSource::Debian("6.12".into()));
        assert_eq!("debian/13-backports".parse::<BuildSource>().unwrap(), BuildSource::Debian("13-backports".into()));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("linux.tar.xz");
        std::fs::write(&file, "").unwrap();
        let of = |p: &std::path::Path| p.to_str().unwrap().parse::<BuildSource>().unwrap();
        assert_eq!(of(dir.path()), BuildSource::Tree(dir.path().into()));
        assert_eq!(of(&file), BuildSource::Tarball(file.clone()));
        for wrong in ["debian/6.12-rt", "debian/5.10", "debian/6.12/amd64", "/nowhere/linux", "/dev/null", ""] {
            let e = wrong.parse::<BuildSource>().unwrap_err();
            assert!(e.is_usage() && e.to_string().contains("debian/6.12"), "{wrong}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_source_or_refused(text in "(debian/)?[0-9./a-z-]{0,12}") {
            let _ = text.parse::<BuildSource>();
        }
    }
}
