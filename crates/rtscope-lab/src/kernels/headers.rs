//! A kernel's headers, made usable where they were unpacked: `make -C HEADERS M=DIR CONFIG_DEBUG_INFO_BTF_MODULES= modules`.

use super::candidate::Candidate;
use super::{Arch, KernelError};
use crate::debian::{Apt, Package};
use std::fs;
use std::path::{Path, PathBuf};

/// The packages that make up a kernel's headers.
#[derive(Debug)]
pub(super) struct Wanted {
    release: String,
    /// `NAME=VERSION` of the packages for the guest.
    target: Vec<String>,
    /// The package of the build programs, for the host.
    kbuild: String,
    version: String,
}

/// The headers' packages; `None` if Debian has none for this kernel.
pub(super) fn wanted(apt: &Apt, kernel: &Candidate) -> Result<Option<Wanted>, KernelError> {
    let release = kernel.release().to_owned();
    let package = format!("linux-headers-{release}");
    let all = apt.show(&[&package])?;
    let Some(own) = all.iter().find(|p| p.get("Version") == kernel.version) else { return Ok(None) };
    let depends = own.depends();
    let mut target = vec![format!("{package}={}", kernel.version)];
    let common = depends.iter().filter(|(name, _)| name.contains("-common"));
    target.extend(common.map(|(name, version)| format!("{name}={}", version.unwrap_or(&kernel.version))));
    let kbuild = depends.iter().find(|(name, _)| name.starts_with("linux-kbuild-")).map(|(name, _)| (*name).to_owned());
    Ok(kbuild.map(|kbuild| Wanted { release, target, kbuild, version: kernel.version.clone() }))
}

/// Fetches the guest's header packages.
pub(super) fn fetch_target(
    apt: &Apt,
    wanted: &Wanted,
    work: &Path,
    root: &Path,
    on_step: &mut dyn FnMut(&str),
) -> Result<Vec<Package>, KernelError> {
    apt.download(&wanted.target, work, on_step)?;
    Ok(Package::unpack_all(work, root, on_step)?)
}

/// Fetches the build programs, in another version of the series if the host's architecture lacks this one;
/// `None` if it has none.
pub(super) fn fetch_kbuild(
    apt: &Apt,
    wanted: &Wanted,
    work: &Path,
    root: &Path,
    on_step: &mut dyn FnMut(&str),
) -> Result<Option<Vec<Package>>, KernelError> {
    let all = apt.show(&[&wanted.kbuild])?;
    let Some(found) = all.iter().find(|p| p.get("Version") == wanted.version).or(all.first()) else {
        on_step(&format!("no {} for {}: modules can't be built for this kernel", wanted.kbuild, Arch::host()));
        return Ok(None);
    };
    apt.download(&[format!("{}={}", wanted.kbuild, found.get("Version"))], work, on_step)?;
    Ok(Some(Package::unpack_all(work, root, on_step)?))
}

/// Moves the headers to their place in `work` and makes their absolute paths relative. Returns their directory,
/// relative to `work`.
pub(super) fn place(root: &Path, work: &Path, wanted: &Wanted) -> Result<String, KernelError> {
    let moved = |from: PathBuf, to: PathBuf| fs::rename(&from, to).map_err(KernelError::io(&from));
    let usr = work.join("headers/usr");
    fs::create_dir_all(&usr).map_err(KernelError::io(&usr))?;
    moved(root.join("usr/src"), usr.join("src"))?;
    moved(root.join("usr/lib"), usr.join("lib"))?;
    let dir = format!("headers/usr/src/linux-headers-{}", wanted.release);
    let makefile = work.join(&dir).join("Makefile");
    let text = rtscope_files::read_text(&makefile, rtscope_files::SMALL).map_err(KernelError::io(&makefile))?;
    fs::write(&makefile, relocate(&text)).map_err(KernelError::io(&makefile))?;
    Ok(dir)
}

/// Replaces `/usr/src/` in a headers' Makefile by a path relative to that Makefile.
fn relocate(makefile: &str) -> String {
    makefile.replace("/usr/src/", "$(dir $(lastword $(MAKEFILE_LIST)))../")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_makefile_finds_the_common_headers_beside_it() {
        assert_eq!(
            relocate("include /usr/src/linux-headers-6.1.0-56-common-rt/Makefile\n"),
            "include $(dir $(lastword $(MAKEFILE_LIST)))../linux-headers-6.1.0-56-common-rt/Makefile\n"
        );
    }
}
