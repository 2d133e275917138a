//! Names of kernels: `debian/6.12-rt/amd64`, `own/NAME/arm64`. Without its last part a name means the host's architecture.

use super::KernelError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Architecture of a guest, by Debian's word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// 64-bit PC.
    Amd64,
    /// 64-bit ARM.
    Arm64,
    /// 32-bit ARM with hardware floating point.
    Armhf,
}

impl Arch {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Amd64, Self::Arm64, Self::Armhf];

    /// The host's; `amd64` on a host of another kind, where every guest is emulated alike.
    pub fn host() -> Self {
        match std::env::consts::ARCH {
            "aarch64" => Self::Arm64,
            "arm" => Self::Armhf,
            _ => Self::Amd64,
        }
    }

    /// Debian's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Armhf => "armhf",
        }
    }

    /// The kernel flavour of Debian, such as `rt-armmp`.
    pub(crate) fn flavour(self, rt: bool) -> &'static str {
        match (self, rt) {
            (Self::Amd64, false) => "amd64",
            (Self::Amd64, true) => "rt-amd64",
            (Self::Arm64, false) => "arm64",
            (Self::Arm64, true) => "rt-arm64",
            (Self::Armhf, false) => "armmp",
            (Self::Armhf, true) => "rt-armmp",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Arch {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        Self::ALL
            .into_iter()
            .find(|a| a.as_str() == text)
            .ok_or_else(|| KernelError::Name { name: text.to_owned(), why: "the architectures are amd64, arm64 and armhf".into() })
    }
}

/// A series of Debian's kernels, built with Debian 12's compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// 6.1, from bookworm and bookworm-security.
    V6_1,
    /// 6.12, from bookworm-backports and bookworm-security.
    V6_12,
}

impl Series {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::V6_1, Self::V6_12];

    /// As in names: `6.12`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        }
    }
}

/// Where a kernel comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Built by Debian.
    Debian {
        /// Which series.
        series: Series,
        /// The PREEMPT_RT flavour.
        rt: bool,
    },
    /// The user's own, by the name it was added under.
    Own(String),
}

/// Name of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct KernelName {
    source: Source,
    arch: Arch,
}

impl KernelName {
    /// One of Debian's.
    pub fn debian(series: Series, rt: bool, arch: Arch) -> Self {
        Self { source: Source::Debian { series, rt }, arch }
    }

    /// A user's own: letters, digits, `.`, `_` and `-`, at most 64, the first a letter or digit.
    pub fn own(name: &str, arch: Arch) -> Result<Self, KernelError> {
        let fit = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        let starts = name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        if starts && name.len() <= 64 && name.bytes().all(fit) {
            return Ok(Self { source: Source::Own(name.to_owned()), arch });
        }
        let why =
            "a kernel's own name has letters, digits, `.`, `_` and `-`, begins with a letter or digit, and is at most 64 long";
        Err(KernelError::Name { name: name.to_owned(), why: why.into() })
    }

    /// Every kernel of Debian that can be fetched.
    pub fn all_debian() -> Vec<Self> {
        let mut all = Vec::new();
        for arch in Arch::ALL {
            for series in Series::ALL {
                all.extend([false, true].map(|rt| Self::debian(series, rt, arch)));
            }
        }
        all
    }

    /// Where it comes from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Its architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arch = self.arch;
        let text = match &self.source {
            Source::Debian { series, rt } => format!("debian/{}{}/{arch}", series.as_str(), if *rt { "-rt" } else { "" }),
            Source::Own(name) => format!("own/{name}/{arch}"),
        };
        f.pad(&text)
    }
}

impl FromStr for KernelName {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        let wrong = |why: &str| KernelError::Name { name: text.to_owned(), why: why.to_owned() };
        let mut parts = text.split('/');
        let (source, name, arch) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let arch =
            arch.map_or(Ok(Arch::host()), |a| a.parse().map_err(|_| wrong("the architectures are amd64, arm64 and armhf")))?;
        match (source, name, parts.next()) {
            ("debian", Some(series), None) => {
                let (series, rt) = series.strip_suffix("-rt").map_or((series, false), |s| (s, true));
                let series = Series::ALL.into_iter().find(|s| s.as_str() == series);
                let series = series.ok_or_else(|| wrong("Debian's series are 6.1, 6.1-rt, 6.12 and 6.12-rt"))?;
                Ok(Self::debian(series, rt, arch))
            }
            ("own", Some(name), None) => Self::own(name, arch),
            _ => Err(wrong(
                "names are debian/SERIES/ARCH, such as debian/6.12-rt/amd64, or own/NAME/ARCH; the architecture may be left out",
            )),
        }
    }
}

impl From<KernelName> for String {
    fn from(name: KernelName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for KernelName {
    type Error = KernelError;

    fn try_from(text: String) -> Result<Self, KernelError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for name in KernelName::all_debian() {
            assert_eq!(name.to_string().parse::<KernelName>().unwrap(), name);
        }
        assert_eq!(KernelName::all_debian().len(), 12);
        let host: KernelName = "debian/6.12-rt".parse().unwrap();
        assert_eq!(host, KernelName::debian(Series::V6_12, true, Arch::host()));
        let own: KernelName = "own/my-6.15/armhf".parse().unwrap();
        assert_eq!((own.arch(), own.to_string()), (Arch::Armhf, "own/my-6.15/armhf".to_owned()));
        assert_eq!(serde_json::to_string(&own).unwrap(), "\"own/my-6.15/armhf\"");
    }

    #[test]
    fn what_is_no_name_is_refused_with_what_there_is() {
        for (wrong, says) in [
            ("debian/5.10/amd64", "6.12-rt"),
            ("debian/6.12-rt-rt/amd64", "6.12-rt"),
            ("debian/6.12/riscv64", "armhf"),
            ("debian/6.12/amd64/x", "debian/SERIES/ARCH"),
            ("debian", "debian/SERIES/ARCH"),
            ("", "debian/SERIES/ARCH"),
            ("own//amd64", "letters"),
            ("own/../amd64", "letters"),
        ] {
            let e = wrong.parse::<KernelName>().unwrap_err();
            assert!(e.to_string().contains(says) && e.is_usage(), "{wrong}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_name_that_stays_in_its_directory_or_refused(text in "((debian|own)/)?[a-z0-9./-]{0,20}") {
            if let Ok(name) = text.parse::<KernelName>() {
                let text = name.to_string();
                prop_assert_eq!(text.split('/').count(), 3);
                prop_assert!(text.split('/').all(|p| !p.is_empty() && !p.starts_with('.')));
                prop_assert_eq!(text.parse::<KernelName>().unwrap(), name);
            }
        }
    }
}
