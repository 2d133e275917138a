//! Fetches a Debian kernel: finds the exact package for a series and puts its files in place.

use super::candidate::Candidate;
use super::manifest::{CONFIG, VMLINUZ};
use super::{Arch, Kernel, KernelError, KernelName, Series, headers};
use crate::debian::{Apt, DebianError, Package, Paragraph, upstream};
use std::fs;
use std::path::Path;

/// Fetches the kernel into the empty directory `work`.
pub(super) fn fetch(
    cache: &Path,
    work: &Path,
    name: &KernelName,
    series: Series,
    rt: bool,
    on_step: &mut dyn FnMut(&str),
) -> Result<Kernel, KernelError> {
    let arch = name.arch();
    let apt = Apt::open(cache, arch, on_step)?;
    let flavour = arch.flavour(rt);
    // Two metapackages lead to the newest kernel: the suite's default, and the 6.12 that the security team
    // maintains for bookworm.
    let names = [format!("linux-image-{flavour}"), format!("linux-image-{}-{flavour}", series.as_str())];
    let candidates = candidates(&apt.show(&[&names[0], &names[1]])?, series);
    let root = work.join("root");
    fs::create_dir(&root).map_err(KernelError::io(&root))?;
    let (chosen, mut packages) = first_that_downloads(&apt, &candidates, work, &root, on_step)?
        .ok_or_else(|| apt.not_found(format!("a kernel {}-{flavour}", series.as_str())))?;
    let headers = headers::wanted(&apt, &chosen)?;
    let mut fetched = None;
    if let Some(wanted) = headers {
        packages.extend(headers::fetch_target(&apt, &wanted, work, &root, on_step)?);
        // The headers' build programs run on the host.
        let apt = if arch == Arch::host() {
            apt
        } else {
            drop(apt);
            Apt::open(cache, Arch::host(), on_step)?
        };
        if let Some(kbuild) = headers::fetch_kbuild(&apt, &wanted, work, &root, on_step)? {
            packages.extend(kbuild);
            fetched = Some(headers::place(&root, work, &wanted)?);
        }
    }
    on_step("computing checksums");
    place(&root, work, chosen.release())?;
    fs::remove_dir_all(&root).map_err(KernelError::io(&root))?;
    Kernel::enter(work, name, chosen.release(), packages, fetched)
}

/// The newest candidate that can be downloaded: an index may list files that the mirror no longer has.
fn first_that_downloads(
    apt: &Apt,
    candidates: &[Candidate],
    work: &Path,
    root: &Path,
    on_step: &mut dyn FnMut(&str),
) -> Result<Option<(Candidate, Vec<Package>)>, DebianError> {
    let mut first = None;
    for c in candidates {
        match apt.download(&[format!("{}={}", c.package, c.version)], work, on_step) {
            Ok(()) => {
                let chosen = Candidate { package: c.package.clone(), version: c.version.clone() };
                return Ok(Some((chosen, Package::unpack_all(work, root, on_step)?)));
            }
            Err(e) => {
                on_step(&format!("{} {} can't be downloaded ({e})", c.package, c.version));
                first.get_or_insert(e);
            }
        }
    }
    first.map_or(Ok(None), Err)
}

/// The kernels of a series to which the metapackages point, newest first.
fn candidates(metapackages: &[Paragraph], series: Series) -> Vec<Candidate> {
    let within = format!("{}.", series.as_str());
    let of_series = metapackages.iter().filter(|p| p.get("Version").starts_with(&within));
    let mut found: Vec<Candidate> = of_series
        .flat_map(Paragraph::depends)
        .filter(|(package, _)| package.starts_with(&format!("linux-image-{within}")))
        .filter_map(|(package, version)| Some(Candidate { package: package.to_owned(), version: version?.to_owned() }))
        .collect();
    found.sort_by_key(|c| std::cmp::Reverse(upstream(&c.version)));
    found.dedup();
    found
}

/// Moves image, configuration and modules to their places.
fn place(root: &Path, work: &Path, release: &str) -> Result<(), KernelError> {
    let moved = |from: &Path, to: &Path| fs::rename(from, to).map_err(KernelError::io(from));
    moved(&root.join(format!("boot/vmlinuz-{release}")), &work.join(VMLINUZ))?;
    moved(&root.join(format!("boot/config-{release}")), &work.join(CONFIG))?;
    fs::create_dir_all(work.join("lib/modules")).map_err(KernelError::io(work))?;
    // The headers package puts its own links beside the modules.
    let modules = root.join("lib/modules").join(release);
    for link in ["build", "source"] {
        let _ = fs::remove_file(modules.join(link));
    }
    moved(&modules, &work.join("lib/modules").join(release))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debian::control::parse;

    #[test]
    fn the_newest_of_the_series_comes_first() {
        let text = "\
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
        let found = candidates(&parse(text), Series::V6_12);
        let releases: Vec<&str> = found.iter().map(Candidate::release).collect();
        assert_eq!(releases, ["6.12.117+deb12-rt-amd64", "6.12.95+deb12-rt-amd64"]);
        assert_eq!(found[0].version, "6.12.117-1~deb12u1");
        assert_eq!(candidates(&parse(text), Series::V6_1).len(), 1);
    }
}
