//! The description of a cached kernel, and its file `manifest.json`.

use super::{Arch, KernelError, KernelName};
use crate::debian::Package;
use rtscope_files::digest;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the manifest file.
pub(super) const MANIFEST: &str = "manifest.json";
/// Names within the kernel's directory.
pub(super) const VMLINUZ: &str = "vmlinuz";
pub(super) const CONFIG: &str = "config";
pub(super) const MODULES: &str = "lib/modules";

/// A kernel in the cache. Its paths are relative to its directory, so that a cache can be moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedKernel {
    /// Its name.
    pub name: KernelName,
    /// Its architecture.
    pub arch: Arch,
    /// Whether it is PREEMPT_RT, according to its configuration; `None` if it has no configuration.
    pub rt: Option<bool>,
    /// The release, as `uname -r` prints it, such as `6.12.95+deb12-rt-amd64`.
    pub release: String,
    /// The packages it came from, the kernel's own first. Empty for a user's own kernel.
    pub(crate) packages: Vec<Package>,
    /// Size of the image, bytes.
    pub(crate) vmlinuz_bytes: u64,
    /// SHA-256 of the image.
    pub vmlinuz_sha256: String,
    /// Its modules; `None` when it came without.
    pub(crate) modules: Option<Modules>,
    /// Directory of its headers, relative to the kernel's; `None` when there are none.
    pub(crate) headers: Option<String>,
    /// The kernel's directory in the cache.
    #[serde(skip)]
    dir: PathBuf,
}

/// A kernel's modules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Modules {
    /// Number of files.
    pub(crate) files: u64,
    /// Their total size, bytes.
    pub(crate) bytes: u64,
    /// SHA-256 over all of them: paths, lengths, contents.
    pub(crate) sha256: String,
}

impl Modules {
    /// Counts and hashes the modules in `dir`.
    pub(super) fn of(dir: &Path) -> Result<Self, KernelError> {
        let (files, bytes) = digest::count(dir).map_err(KernelError::io(dir))?;
        Ok(Self { files, bytes, sha256: digest::tree(dir).map_err(KernelError::io(dir))? })
    }
}

impl CachedKernel {
    /// Records the files in `dir`, which are already in place, and writes the manifest. `headers` is relative to `dir`.
    pub(super) fn enter(
        dir: &Path,
        name: &KernelName,
        release: &str,
        packages: Vec<Package>,
        headers: Option<String>,
    ) -> Result<Self, KernelError> {
        let vmlinuz = dir.join(VMLINUZ);
        let modules = dir.join(MODULES).join(release);
        let kernel = Self {
            name: name.clone(),
            arch: name.arch(),
            rt: rtscope_files::read_text(&dir.join(CONFIG), rtscope_files::SMALL).ok().map(|c| is_rt(&c)),
            release: release.to_owned(),
            packages,
            vmlinuz_bytes: fs::metadata(&vmlinuz).map_err(KernelError::io(&vmlinuz))?.len(),
            vmlinuz_sha256: digest::file(&vmlinuz).map_err(KernelError::io(&vmlinuz))?,
            modules: modules.is_dir().then(|| Modules::of(&modules)).transpose()?,
            headers,
            dir: dir.to_path_buf(),
        };
        let path = dir.join(MANIFEST);
        let text =
            serde_json::to_vec_pretty(&kernel).map_err(|e| KernelError::Damaged { name: name.clone(), why: e.to_string() })?;
        rtscope_files::write(&path, text.as_ref(), 0o600).map_err(KernelError::io(&path))?;
        Ok(kernel)
    }

    /// Reads the manifest of the kernel in `dir`; `None` when there is none.
    pub(super) fn read(dir: &Path, name: &KernelName) -> Result<Option<Self>, KernelError> {
        let path = dir.join(MANIFEST);
        let text = match rtscope_files::read(&path, rtscope_files::SMALL) {
            Ok(text) => text,
            Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => return Ok(None),
            Err(e) => return Err(KernelError::io(&path)(e)),
        };
        let damaged = |why: String| KernelError::Damaged { name: name.clone(), why };
        let kernel: Self = serde_json::from_slice(&text).map_err(|e| damaged(format!("{}: {e}", path.display())))?;
        let plain = |p: &str| !p.starts_with('/') && !p.split('/').any(|c| c == "..");
        if kernel.name != *name || !plain(&kernel.release) || kernel.headers.as_deref().is_some_and(|h| !plain(h)) {
            return Err(damaged(format!("{} is of another kernel", path.display())));
        }
        Ok(Some(Self { dir: dir.to_path_buf(), ..kernel }))
    }

    /// Checks that the files exist with the right sizes, without reading them.
    pub(super) fn check_sizes(&self) -> Result<(), KernelError> {
        let damaged = |why: String| Err(KernelError::Damaged { name: self.name.clone(), why });
        let size = fs::metadata(self.vmlinuz()).map_or(0, |m| m.len());
        if size != self.vmlinuz_bytes {
            return damaged(format!("{} has {size} bytes instead of {}", self.vmlinuz().display(), self.vmlinuz_bytes));
        }
        if let (Some(modules), Some(dir)) = (&self.modules, self.modules_dir()) {
            let found = digest::count(&dir).map_err(KernelError::io(&dir))?;
            if found != (modules.files, modules.bytes) {
                return damaged(format!(
                    "{} has {} files with {} bytes instead of {} with {}",
                    dir.display(),
                    found.0,
                    found.1,
                    modules.files,
                    modules.bytes
                ));
            }
        }
        Ok(())
    }

    /// Reads every file and compares it with the checksum taken when it was fetched or added.
    pub fn verify(&self) -> Result<(), KernelError> {
        let damaged = |path: &Path| {
            Err(KernelError::Damaged { name: self.name.clone(), why: format!("{} is not what was fetched", path.display()) })
        };
        let vmlinuz = self.vmlinuz();
        if digest::file(&vmlinuz).map_err(KernelError::io(&vmlinuz))? != self.vmlinuz_sha256 {
            return damaged(&vmlinuz);
        }
        if let (Some(modules), Some(dir)) = (&self.modules, self.modules_dir()) {
            if Modules::of(&dir)? != *modules {
                return damaged(&dir);
            }
        }
        Ok(())
    }

    /// The kernel's directory in the cache.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The bootable image.
    pub fn vmlinuz(&self) -> PathBuf {
        self.dir.join(VMLINUZ)
    }

    /// The modules' directory, `.../lib/modules/RELEASE`.
    pub fn modules_dir(&self) -> Option<PathBuf> {
        self.modules.as_ref().map(|_| self.dir.join(MODULES).join(&self.release))
    }

    /// The configuration the kernel was built with.
    pub fn config(&self) -> Option<PathBuf> {
        Some(self.dir.join(CONFIG)).filter(|c| c.is_file())
    }

    /// The headers, for `make -C HEADERS M=DIR modules`.
    pub fn headers_dir(&self) -> Option<PathBuf> {
        self.headers.as_ref().map(|h| self.dir.join(h))
    }

    /// The exact version of the kernel's package; `None` for a user's own kernel.
    pub fn version(&self) -> Option<&str> {
        self.packages.first().map(|p| &*p.version)
    }
}

/// Whether this is the configuration of a PREEMPT_RT kernel.
fn is_rt(config: &str) -> bool {
    config.lines().any(|l| l == "CONFIG_PREEMPT_RT=y")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_says_whether_it_is_rt() {
        assert!(is_rt("CONFIG_X=m\nCONFIG_PREEMPT_RT=y\n"));
        assert!(!is_rt("# CONFIG_PREEMPT_RT is not set\nCONFIG_PREEMPT_RT_EXTRA=y\n"));
    }
}
