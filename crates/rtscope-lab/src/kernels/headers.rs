//! A kernel's headers, made usable where they were unpacked: `make -C HEADERS M=DIR CONFIG_DEBUG_INFO_BTF_MODULES= modules`.

use super::arch::Arch;
use super::candidate::{Chosen, is_name, version_of};
use super::error::KernelError;
use super::family::Toolchain;
use super::name::KernelName;
use super::wrap::wrap_all;
use crate::debian::{Apt, Package};
use std::fs;
use std::path::{Path, PathBuf};

/// The packages that make up a kernel's headers.
#[derive(Debug)]
pub(super) struct Wanted {
    release: String,
    /// `NAME=VERSION` of the packages for the guest.
    target: Vec<String>,
    /// The package of the build programs, for the host; `None` if the headers bring them along.
    kbuild: Option<String>,
    version: String,
}

/// The headers' packages; `None` if the archive has none for this kernel.
pub(super) fn wanted(apt: &Apt, kernel: &Chosen) -> Result<Option<Wanted>, KernelError> {
    let release = kernel.release().to_owned();
    let package = format!("linux-headers-{release}");
    let all = apt.show(&[&package])?;
    let Some(own) = version_of(&all, &package, Some(&kernel.version)) else { return Ok(None) };
    let depends: Vec<_> = own.depends().into_iter().filter(|(name, _)| is_name(name)).collect();
    let mut target = vec![format!("{package}={}", kernel.version)];
    // Debian's `linux-headers-...-common`; Ubuntu's `linux-headers-6.8.0-151` and `linux-hwe-7.0-headers-7.0.0-43`.
    let common = depends.iter().filter(|(name, _)| name.starts_with("linux-") && name.contains("headers-"));
    target.extend(common.map(|(name, version)| format!("{name}={}", version.unwrap_or(&kernel.version))));
    let kbuild = depends.iter().find(|(name, _)| name.starts_with("linux-kbuild-")).map(|(name, _)| (*name).to_owned());
    Ok(Some(Wanted { release, target, kbuild, version: kernel.version.clone() }))
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
pub(super) fn fetch_programs(
    apt: &Apt,
    wanted: &Wanted,
    arch: Arch,
    work: &Path,
    root: &Path,
    on_step: &mut dyn FnMut(&str),
) -> Result<Option<Vec<Package>>, KernelError> {
    let host = Arch::host();
    let Some(kbuild) = &wanted.kbuild else {
        if arch == host {
            return Ok(Some(Vec::new()));
        }
        on_step(&format!("the headers' programs are for {arch}, not for {host}: modules can't be built for this kernel here"));
        return Ok(None);
    };
    let all = apt.show(&[kbuild])?;
    let found = version_of(&all, kbuild, Some(&wanted.version)).or_else(|| version_of(&all, kbuild, None));
    let Some(found) = found else {
        on_step(&format!("no {kbuild} for {host}: modules can't be built for this kernel"));
        return Ok(None);
    };
    apt.download(&[format!("{kbuild}={}", found.get("Version"))], work, on_step)?;
    Ok(Some(Package::unpack_all(work, root, on_step)?))
}

/// Moves the headers to their place in `work`, makes their absolute paths relative, and lets their programs run with
/// the toolchain's libraries. Returns their directory, relative to `work`.
pub(super) fn place(
    root: &Path,
    work: &Path,
    wanted: &Wanted,
    name: &KernelName,
    toolchain: Option<&Toolchain>,
) -> Result<String, KernelError> {
    let moved = |from: PathBuf, to: PathBuf| fs::rename(&from, to).map_err(KernelError::io(&from));
    let usr = work.join("headers/usr");
    fs::create_dir_all(&usr).map_err(KernelError::io(&usr))?;
    moved(root.join("usr/src"), usr.join("src"))?;
    // Links to the headers, for an installed kernel.
    let _ = fs::remove_dir_all(root.join("usr/lib/modules"));
    if root.join("usr/lib").is_dir() {
        moved(root.join("usr/lib"), usr.join("lib"))?;
    }
    let dir = format!("headers/usr/src/linux-headers-{}", wanted.release);
    let makefile = work.join(&dir).join("Makefile");
    // Ubuntu's is a relative link to the common one.
    if !makefile.is_symlink() {
        let text = rtscope_files::read_text(&makefile, rtscope_files::SMALL).map_err(KernelError::io(&makefile))?;
        fs::write(&makefile, relocate(&text)).map_err(KernelError::io(&makefile))?;
    }
    if let Some(toolchain) = toolchain {
        // From the kernel's directory to the cache: `kernels` and the parts of the name.
        let up = "../".repeat(1 + name.to_string().split('/').count());
        let runtime = PathBuf::from(up).join(toolchain.root(name.arch()));
        wrap_all(work, Path::new("headers"), &runtime).map_err(KernelError::io(work))?;
    }
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
