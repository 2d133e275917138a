//! Parses names of kernels and architectures. Errors list the valid names.

use super::error::KernelError;
use super::name::{Arch, KernelName, Series, Source};
use std::str::FromStr;

impl FromStr for Arch {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        Self::ALL
            .into_iter()
            .find(|a| a.as_str() == text)
            .ok_or_else(|| KernelError::Name { name: text.to_owned(), why: "the architectures are amd64, arm64 and armhf".into() })
    }
}

impl KernelName {
    /// The name of a user's own kernel: letters, digits, `.`, `_` and `-`, at most 64 characters, beginning with a
    /// letter or digit.
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
    use rtscope_failure::Problem as _;

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
