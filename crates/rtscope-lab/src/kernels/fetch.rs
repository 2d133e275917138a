//! Fetches a kernel from an archive: finds the exact packages for a family and puts their files in place.

use super::candidate::{Candidate, Chosen, is_name, version_of};
use super::family::{Entry, Family};
use super::place::place;
use super::{Arch, CachedKernel, KernelError, KernelName, headers};
use crate::debian::{Apt, DebianError, Dnf, Format, Package, Paragraph, compare_versions};
use std::fs;
use std::path::Path;

/// Packages with parts of a kernel: what stands before its release in their names.
const PARTS: [&str; 4] = ["linux-base-", "linux-binary-", "linux-modules-", "linux-modules-extra-"];

/// Fetches the kernel into the empty directory `work`.
pub(super) fn fetch(
    cache: &Path,
    work: &Path,
    name: &KernelName,
    family: Family,
    rt: bool,
    on_step: &mut dyn FnMut(&str),
) -> Result<CachedKernel, KernelError> {
    let (arch, of) = (name.arch(), family.entry());
    let flavour = family.flavour(arch, rt).unwrap_or_default();
    if of.archive.format == Format::Rpm {
        return fetch_rpm(cache, work, name, (of, flavour), on_step);
    }
    let apt = Apt::open_archive(of.archive, cache, arch, on_step)?;
    let names: Vec<String> = of.metapackages.iter().map(|m| m.replace('*', flavour)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let candidates = candidates(&apt.show(&names)?, of);
    let root = work.join("root");
    fs::create_dir(&root).map_err(KernelError::io(&root))?;
    let (chosen, mut packages) = first_that_downloads(&apt, &candidates, work, &root, on_step)?
        .ok_or_else(|| apt.not_found(format!("a kernel {}/{} ({})", of.vendor, of.series, names.join(", "))))?;
    let release = chosen.release();
    place(&root, work, release)?;
    fs::remove_dir_all(&root).map_err(KernelError::io(&root))?;
    let mut fetched = None;
    if let Some(wanted) = headers::wanted(&apt, &chosen)? {
        fs::create_dir(&root).map_err(KernelError::io(&root))?;
        packages.extend(headers::fetch_target(&apt, &wanted, work, &root, on_step)?);
        // The headers' build programs run on the host.
        let apt = if arch == Arch::host() {
            apt
        } else {
            drop(apt);
            Apt::open_archive(of.archive, cache, Arch::host(), on_step)?
        };
        if let Some(programs) = headers::fetch_programs(&apt, &wanted, arch, work, &root, on_step)? {
            packages.extend(programs);
            fetched = Some(headers::place(&root, work, &wanted, name, family.runtime())?);
        }
        fs::remove_dir_all(&root).map_err(KernelError::io(&root))?;
    }
    on_step("computing checksums");
    CachedKernel::enter(work, name, release, packages, fetched)
}

/// The same by dnf. Its packages are named after what they have, and their version is the release.
fn fetch_rpm(
    cache: &Path,
    work: &Path,
    name: &KernelName,
    (of, machine): (&'static Entry, &'static str),
    on_step: &mut dyn FnMut(&str),
) -> Result<CachedKernel, KernelError> {
    let dnf = Dnf::open(of.archive, cache, (name.arch(), machine), on_step)?;
    let version = dnf.newest(of.metapackages[0], on_step)?;
    let release = format!("{version}.{machine}");
    let root = work.join("root");
    fs::create_dir(&root).map_err(KernelError::io(&root))?;
    let packages = dnf.fetch(of.metapackages, &version, (work, &root), on_step)?;
    place(&root, work, &release)?;
    fs::remove_dir_all(&root).map_err(KernelError::io(&root))?;
    on_step("its headers are not fetched: they want Fedora's own compiler, so there are no tests in kernel space with it");
    on_step("computing checksums");
    CachedKernel::enter(work, name, &release, packages, None)
}

/// The newest candidate that can be downloaded: an index may list files that the mirror no longer has.
fn first_that_downloads(
    apt: &Apt,
    candidates: &[Candidate],
    work: &Path,
    root: &Path,
    on_step: &mut dyn FnMut(&str),
) -> Result<Option<(Chosen, Vec<Package>)>, DebianError> {
    let mut first = None;
    for c in candidates {
        let Some(chosen) = choose(apt, c)? else { continue };
        match download(apt, &chosen, work, root, on_step) {
            Ok(packages) => return Ok(Some((chosen, packages))),
            Err(e) => {
                on_step(&format!("{} {} can't be downloaded ({e})", chosen.package, chosen.version));
                first.get_or_insert(e);
            }
        }
    }
    first.map_or(Ok(None), Err)
}

/// Downloads and unpacks a kernel. Its own package comes first.
fn download(
    apt: &Apt,
    chosen: &Chosen,
    work: &Path,
    root: &Path,
    on_step: &mut dyn FnMut(&str),
) -> Result<Vec<Package>, DebianError> {
    apt.download(&[format!("{}={}", chosen.package, chosen.version)], work, on_step)?;
    let mut packages = Package::unpack_all(work, root, on_step)?;
    if !chosen.parts.is_empty() {
        apt.download(&chosen.parts, work, on_step)?;
        packages.extend(Package::unpack_all(work, root, on_step)?);
    }
    Ok(packages)
}

/// The exact packages of a candidate; `None` if the index does not have its kernel.
fn choose(apt: &Apt, candidate: &Candidate) -> Result<Option<Chosen>, DebianError> {
    let package = &candidate.package;
    let all = apt.show(&[package])?;
    let Some(own) = version_of(&all, package, candidate.version.as_deref()) else { return Ok(None) };
    let mut chosen = Chosen { package: package.clone(), version: own.get("Version").to_owned(), parts: Vec::new() };
    for (name, version) in parts(own, candidate) {
        let all = apt.show(&[&name])?;
        let exact = version.as_deref().or(Some(&chosen.version));
        let Some(found) = version_of(&all, &name, exact).or_else(|| version_of(&all, &name, None)) else { return Ok(None) };
        chosen.parts.push(format!("{name}={}", found.get("Version")));
    }
    Ok(Some(chosen))
}

/// The packages with the rest of a kernel's files, by name, with the version that is asked for: of what kernel and
/// metapackage depend on, those that are named after the release.
fn parts(own: &Paragraph, candidate: &Candidate) -> Vec<(String, Option<String>)> {
    let release = candidate.release();
    let is_part = |name: &str| is_name(name) && PARTS.iter().any(|p| name.strip_prefix(p) == Some(release));
    let depends = own.depends();
    let of_kernel = depends.iter().map(|(name, version)| (*name, *version));
    let beside = candidate.beside.iter().map(|name| (name.as_str(), None));
    let mut found: Vec<(String, Option<String>)> = of_kernel
        .chain(beside)
        .filter(|(name, _)| is_part(name))
        .map(|(name, version)| (name.to_owned(), version.map(str::to_owned)))
        .collect();
    found.sort();
    // With a version before without one: the same package may be asked for in both ways.
    found.reverse();
    found.dedup_by(|a, b| a.0 == b.0);
    found
}

/// The kernels of a family to which the metapackages point, newest first.
fn candidates(metapackages: &[Paragraph], family: &Entry) -> Vec<Candidate> {
    let of_family = metapackages.iter().filter(|p| family.versions.fit(p.get("Version")));
    let mut found: Vec<(&str, Candidate)> = of_family
        .filter_map(|p| Some((p.get("Version"), Candidate::of(p)?)))
        .filter(|(_, c)| c.release().starts_with(family.versions.begin))
        .collect();
    found.sort_by(|(a, _), (b, _)| compare_versions(b, a));
    let mut found: Vec<Candidate> = found.into_iter().map(|(_, c)| c).collect();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debian::control::parse;

    const METAPACKAGES: &str = "\
Package: linux-image-rt-amd64
Version: 6.12.95-1~bpo12+1
Depends: linux-image-6.12.95+deb12-rt-amd64 (= 6.12.95-1~bpo12+1)

Package: linux-image-rt-amd64
Version: 6.1.192-2
Depends: linux-image-6.1.0-56-rt-amd64 (= 6.1.192-2)

Package: linux-image-6.12-rt-amd64
Version: 6.12.117-1~deb12u1
Depends: linux-image-6.12.117+deb12-rt-amd64 (= 6.12.117-1~deb12u1)
";

    fn of(vendor: &str, series: &str) -> &'static Entry {
        Family::of(vendor, series).unwrap().entry()
    }

    #[test]
    fn the_newest_of_the_series_comes_first() {
        let found = candidates(&parse(METAPACKAGES), of("debian", "6.12"));
        let releases: Vec<&str> = found.iter().map(Candidate::release).collect();
        assert_eq!(releases, ["6.12.117+deb12-rt-amd64", "6.12.95+deb12-rt-amd64"]);
        assert_eq!(found[0].version.as_deref(), Some("6.12.117-1~deb12u1"));
        assert_eq!(candidates(&parse(METAPACKAGES), of("debian", "6.1")).len(), 1);
    }

    #[test]
    fn backports_and_release_are_two_families_of_one_archive() {
        let text = "\
Package: linux-image-amd64
Version: 7.3.4-1~bpo13+1
Depends: linux-base-amd64 (= 7.3.4-1~bpo13+1), linux-image-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1)

Package: linux-image-amd64
Version: 6.12.117-1
Depends: linux-image-6.12.117+deb13-amd64 (= 6.12.117-1)

Package: linux-image-amd64
Version: 6.12.95-1
Depends: linux-image-6.12.95+deb13-amd64 (= 6.12.95-1)
";
        let releases = |series| -> Vec<String> {
            candidates(&parse(text), of("debian", series)).iter().map(|c| c.release().to_owned()).collect()
        };
        assert_eq!(releases("13"), ["6.12.117+deb13-amd64", "6.12.95+deb13-amd64"]);
        assert_eq!(releases("13-backports"), ["7.3.4+deb13-amd64"]);
    }

    #[test]
    fn a_kernel_may_lie_in_several_packages() {
        let kernel = &parse(
            "Package: linux-image-7.3.4+deb13-amd64\nVersion: 7.3.4-1~bpo13+1\nDepends: dracut | initramfs-tools, \
             linux-base-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1), linux-binary-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1), \
             linux-modules-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1), linux-base (>= 4), linux-modules-7.3.3+deb13-amd64\n",
        )[0];
        let candidate = |beside: &[&str], package: &str| Candidate {
            package: package.into(),
            version: None,
            beside: beside.iter().map(|b| (*b).to_owned()).collect(),
        };
        let found = parts(kernel, &candidate(&["linux-base-amd64", "linux-modules-amd64"], "linux-image-7.3.4+deb13-amd64"));
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["linux-modules-7.3.4+deb13-amd64", "linux-binary-7.3.4+deb13-amd64", "linux-base-7.3.4+deb13-amd64"]);
        assert!(found.iter().all(|(_, version)| version.as_deref() == Some("7.3.4-1~bpo13+1")));
        // Ubuntu leaves versions open, and some of the modules to its metapackage.
        let kernel = &parse("Package: linux-image-6.8.0-151-generic\nDepends: kmod, linux-modules-6.8.0-151-generic\n")[0];
        let beside = ["linux-modules-extra-6.8.0-151-generic", "linux-modules-6.8.0-151-generic", "linux-firmware"];
        let found = parts(kernel, &candidate(&beside, "linux-image-6.8.0-151-generic"));
        let expected = ["linux-modules-extra-6.8.0-151-generic", "linux-modules-6.8.0-151-generic"].map(|n| (n.to_owned(), None));
        assert_eq!(found, expected);
    }
}
