//! Parses names of kernels and architectures. Errors list the valid names.

use super::arch::Arch;
use super::error::KernelError;
use super::family::Family;
use super::name::{KernelName, Source};
use std::str::FromStr;

impl FromStr for Arch {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        Self::ALL.into_iter().find(|a| a.as_str() == text).ok_or_else(|| KernelError::Arch(text.to_owned()))
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
        Err(KernelError::Own(format!(
            "`{name}` can't be the name of a kernel of your own: use letters, digits, `.`, `_` and `-`, a letter or digit first, at most 64"
        )))
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
        // Its releases are numbered in order, with one kernel each. Other vendors have several.
        let newest = || Family::newest_release("fedora").map(|f| f.entry().series);
        let name = name.or_else(|| if source == "fedora" { newest() } else { None });
        match (source, name, parts.next()) {
            (vendor, Some(series), None) if Family::all().any(|f| f.entry().vendor == vendor) => {
                let (plain, rt) = series.strip_suffix("-rt").map_or((series, false), |s| (s, true));
                let family = Family::of(vendor, plain).ok_or_else(|| wrong(&series_of(vendor)))?;
                if family.flavour(arch, rt).is_none() {
                    return Err(wrong(&missing_flavour(family, arch, rt)));
                }
                Ok(Self { source: Source::Archive { family, rt }, arch })
            }
            ("own", Some(name), None) => Self::own(name, arch),
            _ => Err(wrong(
                "names are debian/SERIES/ARCH, such as debian/6.12-rt/amd64, ubuntu/SERIES/ARCH, fedora/SERIES/ARCH, raspberrypi/SERIES/ARCH or own/NAME/ARCH; the architecture may be left out",
            )),
        }
    }
}

/// The series of a vendor, for people.
fn series_of(vendor: &str) -> String {
    let mut all = Vec::new();
    for entry in Family::all().map(Family::entry).filter(|e| e.vendor == vendor) {
        all.push(entry.series.to_owned());
        all.extend(entry.flavours.iter().any(|f| f.rt).then(|| format!("{}-rt", entry.series)));
    }
    let last = all.pop().unwrap_or_default();
    format!("the series of {vendor} are {} and {last}", all.join(", "))
}

/// Why a family has no kernel for this, for people.
fn missing_flavour(family: Family, arch: Arch, rt: bool) -> String {
    let there: Vec<&str> = family.entry().flavours.iter().filter(|f| f.rt == rt).map(|f| f.arch.as_str()).collect();
    if there.is_empty() {
        return "it has no PREEMPT_RT kernel".into();
    }
    format!("there is none for {arch}, only for {}", there.join(" and "))
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
        let all: Vec<String> = KernelName::all_fetchable().iter().map(ToString::to_string).collect();
        for name in &all {
            assert_eq!(name.parse::<KernelName>().unwrap().to_string(), *name);
        }
        // What records and caches call a kernel stays.
        for series in ["6.1", "6.1-rt", "6.12", "6.12-rt", "13", "13-rt", "13-backports"] {
            for arch in ["amd64", "arm64", "armhf"] {
                assert!(all.contains(&format!("debian/{series}/{arch}")), "{series} {arch}");
            }
        }
        assert!(["ubuntu/24.04/amd64", "ubuntu/26.04-rt/amd64"].iter().all(|n| all.iter().any(|a| a == n)));
        assert_eq!("debian/6.12-rt".parse::<KernelName>().unwrap().arch(), Arch::host());
        let own: KernelName = "own/my-6.15/armhf".parse().unwrap();
        assert_eq!((own.arch(), own.to_string()), (Arch::Armhf, "own/my-6.15/armhf".to_owned()));
        assert_eq!(serde_json::to_string(&own).unwrap(), "\"own/my-6.15/armhf\"");
    }

    #[test]
    fn fedora_alone_is_its_newest_release() {
        let name: KernelName = "fedora".parse().unwrap();
        assert_eq!(name.to_string(), format!("fedora/44/{}", Arch::host()));
        assert_eq!("fedora".parse::<crate::kernels::ToBoot>().unwrap().kernel, name);
    }

    #[test]
    fn what_is_no_name_is_refused_with_what_there_is() {
        for (wrong, says) in [
            ("debian/5.10/amd64", "6.12-rt"),
            ("debian/6.12-rt-rt/amd64", "6.12-rt"),
            ("debian/6.12/riscv64", "armhf"),
            ("debian/14/amd64", "13-backports-rt"),
            ("debian/13-backports-rt/armhf", "only for amd64 and arm64"),
            ("ubuntu/24.04-rt/arm64", "only for amd64"),
            ("ubuntu/24.04-hwe-rt/amd64", "no PREEMPT_RT"),
            ("ubuntu/24.04/armhf", "only for amd64 and arm64"),
            ("ubuntu/6.8/amd64", "24.04-hwe"),
            ("ubuntu", "debian/SERIES/ARCH"),
            ("debian/6.12/amd64/x", "debian/SERIES/ARCH"),
            ("debian", "debian/SERIES/ARCH"),
            ("", "debian/SERIES/ARCH"),
            ("raspberry/13", "raspberrypi/SERIES/ARCH"),
            ("fedora/42", "43, 44 and rawhide"),
            ("own//amd64", "letters"),
            ("own/../amd64", "letters"),
        ] {
            let e = wrong.parse::<KernelName>().unwrap_err();
            assert!(e.to_string().contains(says) && e.is_usage(), "{wrong}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_name_that_stays_in_its_directory_or_refused(text in "((debian|ubuntu|own)/)?((6.12|13|24.04)(-rt)?(/arm64)?|[a-z0-9./-]{0,20})") {
            if let Ok(name) = text.parse::<KernelName>() {
                let text = name.to_string();
                prop_assert_eq!(text.split('/').count(), 3);
                prop_assert!(text.split('/').all(|p| !p.is_empty() && !p.starts_with('.')));
                prop_assert_eq!(text.parse::<KernelName>().unwrap(), name);
            }
        }
    }
}
