//! The fragments that configurations are made from: the lab's own, and files.

use super::config::Fragment;
use super::error::BuildError;
use crate::kernels::Arch;
use std::path::{Path, PathBuf};

/// The name of the lab's own profile.
const LAB: &str = "lab";

/// The lab's profile for an architecture.
fn lab(arch: Arch) -> [&'static str; 2] {
    let own = match arch {
        Arch::Amd64 => include_str!("lab-amd64.fragment"),
        Arch::Arm64 => include_str!("lab-arm64.fragment"),
        Arch::Armhf => include_str!("lab-armhf.fragment"),
    };
    [include_str!("lab.fragment"), own]
}

/// What the profiles ask for together.
pub(super) fn read(profiles: &[PathBuf], arch: Arch) -> Result<Fragment, BuildError> {
    let mut all = Fragment::default();
    for profile in profiles {
        if profile == Path::new(LAB) {
            for text in lab(arch) {
                all.extend(&parse(profile, text)?.where_known());
            }
            continue;
        }
        let text = rtscope_files::read_text(profile, rtscope_files::SMALL).map_err(|e| {
            BuildError::ask(format!("{}: {e}", profile.display()), "name `lab` or a file with lines such as CONFIG_NAME=y")
        })?;
        all.extend(&parse(profile, &text)?);
    }
    Ok(all)
}

fn parse(path: &Path, text: &str) -> Result<Fragment, BuildError> {
    let remedy = "a profile has lines such as CONFIG_NAME=y; what is a whole configuration is given with --base";
    Fragment::parse(text).map_err(|why| BuildError::ask(format!("{}: {why}", path.display()), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::Problem as _;

    #[test]
    fn profiles_are_put_together_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine");
        std::fs::write(&file, "# CONFIG_INET is not set\nCONFIG_DEBUG_INFO_BTF=y\n").unwrap();
        for arch in Arch::ALL {
            let text = read(&["lab".into(), file.clone()], arch).unwrap().text();
            assert!(text.contains("# CONFIG_INET is not set\n") && text.contains("CONFIG_DEBUG_INFO_BTF=y\n"), "{arch}");
            assert!(text.contains("CONFIG_HZ_250=y\n") && text.contains("# CONFIG_PREEMPT_DYNAMIC is not set\n"), "{arch}");
            assert!(read(&[file.clone(), "lab".into()], arch).unwrap().text().contains("CONFIG_INET=y\n"));
        }
        // PREEMPT_RT for 32-bit Arm excludes jump labels; the programs of its guests are Thumb code and sleep by a time of 32 bits.
        let text = read(&["lab".into()], Arch::Armhf).unwrap().text();
        for line in ["# CONFIG_JUMP_LABEL is not set\n", "CONFIG_ARM_THUMB=y\n", "CONFIG_COMPAT_32BIT_TIME=y\n"] {
            assert!(text.contains(line), "{line}");
        }
        std::fs::write(&file, "INET=y\n").unwrap();
        for wrong in [file, dir.path().join("none")] {
            let e = read(&[wrong], Arch::Amd64).unwrap_err();
            assert!(e.is_usage() && e.remedy().contains("CONFIG_NAME=y"), "{e}");
        }
    }
}
