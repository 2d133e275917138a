//! Fedora's packages by a private dnf, as `apt` does it for Debian's: a configuration of its own, no root, nothing of the host's.

use super::apt::{Package, keyring, output, require, words_of};
use super::archive::Archive;
use super::error::DebianError;
use crate::cache;
use crate::kernels::Arch;
use rtscope_files::{Lock, digest};
use rtscope_sys as sys;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longest version that is believed.
const LONGEST: usize = 128;

/// dnf for one machine. A lock keeps a second process from using it at the same time.
#[derive(Debug)]
pub(crate) struct Dnf {
    dir: PathBuf,
    archive: &'static Archive,
    arch: Arch,
    /// rpm's name of the architecture.
    machine: &'static str,
    _lock: Lock,
}

impl Dnf {
    /// dnf for `archive`, prepared in the cache, with the keys that the user names.
    pub(crate) fn open(
        archive: &'static Archive,
        cache: &Path,
        (arch, machine): (Arch, &'static str),
        on_step: &mut dyn FnMut(&str),
    ) -> Result<Self, DebianError> {
        require([("dnf", "dnf dnf-plugins-core"), ("rpmkeys", "rpm"), ("bsdtar", "libarchive-tools")])?;
        let mirror = archive.mirror(arch, std::env::var(archive.variable).ok().as_deref())?;
        let keys = keyring(archive, cache, on_step)?;
        let dir = cache.join("dnf").join(archive.dir).join(arch.as_str());
        let made = |d: PathBuf| fs::create_dir_all(&d).map_err(DebianError::io(&d));
        ["none", "root", "cache", "log", "persist"].into_iter().try_for_each(|sub| made(dir.join(sub)))?;
        let dir = dir.canonicalize().map_err(DebianError::io(&dir))?;
        let lock = dir.join("lock");
        let lock = cache::lock(&lock, on_step).map_err(DebianError::io(&lock))?;
        let path = dir.join("dnf.conf");
        fs::write(&path, configuration(archive, &dir, &mirror, machine)?).map_err(DebianError::io(&path))?;
        let dnf = Self { dir, archive, arch, machine, _lock: lock };
        // The keys of this call only.
        let known = dnf.dir.join("keys");
        let _ = fs::remove_dir_all(&known);
        made(known)?;
        dnf.succeed(dnf.rpmkeys("--import").arg(&keys))?;
        Ok(dnf)
    }

    /// The newest version of a package in the archive.
    pub(crate) fn newest(&self, package: &str, on_step: &mut dyn FnMut(&str)) -> Result<String, DebianError> {
        on_step(&format!("reading {}'s index for {}", self.archive.vendor, self.arch));
        let format = "%{name} %{version}-%{release} %{arch}\n";
        let said = self.succeed(self.dnf("repoquery").args(["--refresh", "--latest-limit=1", "--qf", format, package]))?;
        let lines = said.lines().map(|l| l.split(' ').collect::<Vec<_>>());
        let mut fitting = lines.filter_map(|l| match l[..] {
            [name, version, machine] if name == package && machine == self.machine && is_version(version) => {
                Some(version.to_owned())
            }
            _ => None,
        });
        fitting.next().ok_or_else(|| DebianError::NotFound {
            wanted: package.into(),
            vendor: self.archive.vendor,
            arch: self.arch,
            said: String::new(),
        })
    }

    /// Downloads the packages in this version into `work`, checks that they are signed with the keys, and unpacks them into `root`.
    pub(crate) fn fetch(
        &self,
        names: &[&str],
        version: &str,
        (work, root): (&Path, &Path),
        on_step: &mut dyn FnMut(&str),
    ) -> Result<Vec<Package>, DebianError> {
        let wanted: Vec<String> = names.iter().map(|n| format!("{n}-{version}.{}", self.machine)).collect();
        on_step(&format!("downloading {}", wanted.join(", ")));
        self.succeed(self.dnf("download").arg("--destdir").arg(work).args(&wanted))?;
        let mut packages = Vec::new();
        for (name, wanted) in names.iter().zip(&wanted) {
            let file = work.join(format!("{wanted}.rpm"));
            // What is not signed at all passes without this level (rpmkeys(8)).
            let said = self.succeed(self.rpmkeys("--checksig").args(["--define", "_pkgverify_level all"]).arg(&file))?;
            if !said.trim_end().ends_with("signatures OK") {
                return Err(self.failed("rpmkeys --checksig", said.trim().to_owned()));
            }
            on_step(&format!("unpacking {wanted}"));
            let sha256 = digest::file(&file).map_err(DebianError::io(&file))?;
            self.succeed(sys::process::command("bsdtar").arg("-xf").arg(&file).arg("-C").arg(root))?;
            fs::remove_file(&file).map_err(DebianError::io(&file))?;
            packages.push(Package { name: (*name).into(), version: version.into(), arch: self.machine.into(), sha256 });
        }
        Ok(packages)
    }

    fn dnf(&self, what: &str) -> Command {
        let mut command = sys::process::command("dnf");
        let of = |option: &str, sub: &str| format!("{option}={}", self.dir.join(sub).display());
        // The release is in the addresses already; without one dnf refuses an empty root.
        command.args([what, "-q", "-y", "--releasever=0", &format!("--forcearch={}", self.machine)]);
        command.args([of("--config", "dnf.conf"), of("--installroot", "root")]);
        command
    }

    fn rpmkeys(&self, what: &str) -> Command {
        let mut command = sys::process::command("rpmkeys");
        command.arg(what).arg("--dbpath").arg(self.dir.join("keys"));
        command
    }

    fn succeed(&self, command: &mut Command) -> Result<String, DebianError> {
        let out = output(command)?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
        }
        let (said, also) = (String::from_utf8_lossy(&out.stderr), String::from_utf8_lossy(&out.stdout));
        let lines = || said.lines().chain(also.lines()).map(str::trim).filter(|l| !l.is_empty());
        let error = lines().find(|l| l.starts_with("Error: ")).or(lines().next()).unwrap_or("it said nothing");
        Err(self.failed(&words_of(command), error.to_owned()))
    }

    fn failed(&self, program: &str, said: String) -> DebianError {
        DebianError::Apt { vendor: self.archive.vendor, variable: self.archive.variable, program: program.into(), said }
    }
}

/// Whether this can be a version and a release: an index is foreign text, and both go to dnf and into paths.
fn is_version(text: &str) -> bool {
    let fit = |b: u8| b.is_ascii_alphanumeric() || b"+._~^-".contains(&b);
    text.len() <= LONGEST && text.bytes().all(fit) && text.starts_with(|c: char| c.is_ascii_digit())
}

/// dnf's configuration: the archive's repositories and nothing of the host's. Packages are checked by [`Dnf::fetch`].
fn configuration(archive: &Archive, dir: &Path, mirror: &str, machine: &str) -> Result<String, DebianError> {
    let plain = |t: &&str| !t.contains(|c: char| c.is_whitespace() || c.is_control() || "$%,".contains(c));
    let unusable = || DebianError::Unusable(format!("dnf can't use a cache with blanks in its path: {}", dir.display()));
    let dir = dir.to_str().filter(plain).ok_or_else(unusable)?;
    let mut text = format!(
        "[main]\ncachedir={dir}/cache\npersistdir={dir}/persist\nlogdir={dir}/log\nreposdir={dir}/none\nvarsdir={dir}/none\n\
         pluginconfpath={dir}/none\nmodule_platform_id=\n"
    );
    for (_, path, id) in archive.suites {
        let path = path.replace('*', machine);
        text.push_str(&format!("[{id}]\nname={id}\nbaseurl={mirror}/{path}\nskip_if_unavailable=0\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debian::DEBIAN_12;
    use proptest::prelude::*;

    #[test]
    fn the_configuration_names_the_mirror_and_nothing_of_the_host() {
        let archive = Archive { suites: &[("", "releases/44/*/os", "fedora")], ..DEBIAN_12 };
        let text = configuration(&archive, Path::new("/c"), "http://mirror.example/fedora", "x86_64").unwrap();
        assert!(text.contains("[fedora]\nname=fedora\nbaseurl=http://mirror.example/fedora/releases/44/x86_64/os\n"), "{text}");
        assert!(text.lines().filter(|l| l.contains("=/")).all(|l| l.contains("=/c/")), "{text}");
        assert!(configuration(&archive, Path::new("/a b"), "http://m", "x86_64").is_err());
    }

    proptest! {
        #[test]
        fn a_version_stays_one_word_in_its_directory(text in "\\PC{0,20}") {
            if is_version(&text) {
                prop_assert!(!text.contains(['/', ' ']) && !text.starts_with(['-', '.']));
            }
        }
    }
}
