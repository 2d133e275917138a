//! The kernels in a cache: listed, fetched, added and removed, each completely or not at all.

use super::arch::Arch;
use super::compiler::FetchedCompiler;
use super::error::KernelError;
use super::family::Toolchain;
use super::manifest::CachedKernel;
use super::name::{KernelName, Source};
use super::{fetch, own};
use rtscope_files::Lock;
use rtscope_load::programs::find_program;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// An entry of [`Kernels::list`].
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// The name.
    pub name: KernelName,
    /// The kernel of this name in the cache, if it is there.
    pub fetched: Option<CachedKernel>,
    /// Size of all its files in the cache, bytes.
    pub bytes: u64,
}

/// Where kernels are assembled, relative to the cache.
const WORKPLACES: &str = "kernels/.new";

/// The kernels in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernels {
    cache: PathBuf,
}

impl Kernels {
    /// The kernels in the cache at `cache_root`. The directory is made with the first kernel.
    pub fn new(cache_root: impl Into<PathBuf>) -> Self {
        Self { cache: cache_root.into() }
    }

    /// The root directory of the cache.
    pub fn cache_root(&self) -> &Path {
        &self.cache
    }

    fn dir(&self, name: &KernelName) -> PathBuf {
        self.cache.join("kernels").join(name.to_string())
    }

    /// Where a kernel is assembled before it moves to its place, on the same file system. Each name has its own,
    /// used under the name's lock: anything here while nobody holds the lock was left by a killed process.
    fn workplace(&self, name: &KernelName) -> PathBuf {
        self.cache.join(WORKPLACES).join(name.to_string().replace('/', "+"))
    }

    fn lock_file(&self, workplace: &Path) -> PathBuf {
        self.cache.join("locks").join(workplace.file_name().unwrap_or_default())
    }

    fn lock(&self, name: &KernelName, on_step: &mut dyn FnMut(&str)) -> Result<Lock, KernelError> {
        let file = self.lock_file(&self.workplace(name));
        crate::cache::lock(&file, on_step).map_err(KernelError::io(&file))
    }

    /// Removes what killed processes left.
    fn sweep(&self) {
        for left in fs::read_dir(self.cache.join(WORKPLACES)).into_iter().flatten().flatten() {
            if let Some(_lock) = Lock::try_take(&self.lock_file(&left.path())) {
                // What can't be removed does no harm.
                let _ = clear(&left.path());
            }
        }
    }

    /// Every kernel that can be fetched, and the user's own, by name. A damaged one counts as not fetched.
    pub fn list(&self) -> Result<Vec<Listed>, KernelError> {
        self.sweep();
        let mut names = KernelName::all_fetchable();
        let own = self.cache.join("kernels/own");
        for arch in Arch::ALL {
            for entry in fs::read_dir(&own).into_iter().flatten().flatten() {
                let name = entry.file_name().to_str().and_then(|n| KernelName::own(n, arch).ok());
                names.extend(name.filter(|n| self.dir(n).is_dir()));
            }
        }
        names.sort();
        let listed = names.into_iter().map(|name| {
            let dir = self.dir(&name);
            let fetched = CachedKernel::read(&dir, &name).ok().flatten().filter(|k| k.check_sizes().is_ok());
            let (_, bytes) = if dir.is_dir() { rtscope_files::digest::count(&dir).map_err(KernelError::io(&dir))? } else { (0, 0) };
            Ok(Listed { name, fetched, bytes })
        });
        listed.collect()
    }

    /// The kernel `name`, if it is in the cache with the right file sizes. [`CachedKernel::verify`] checks the contents.
    pub fn get(&self, name: &KernelName) -> Result<CachedKernel, KernelError> {
        let Some(kernel) = CachedKernel::read(&self.dir(name), name)? else {
            let remedy = match name.source() {
                Source::Archive { .. } => format!("fetch it: rtscope lab kernels fetch {name}"),
                Source::Own(own) => format!("add it: rtscope lab kernels add {own} --arch {} --vmlinuz FILE", name.arch()),
            };
            return Err(KernelError::NotFetched { name: name.clone(), remedy });
        };
        kernel.check_sizes()?;
        Ok(kernel)
    }

    /// The kernel `name`. It is fetched from its archive with modules, configuration and headers if it is not in the
    /// cache, or when `update` asks for the newest. `on_step` is told each step. The result is complete or not
    /// there; two processes that fetch it take turns.
    pub fn fetch(&self, name: &KernelName, update: bool, on_step: &mut dyn FnMut(&str)) -> Result<CachedKernel, KernelError> {
        let Source::Archive { family, rt } = *name.source() else {
            return Err(KernelError::Own(format!("`{name}` is a kernel of your own, to be added: use rtscope lab kernels add")));
        };
        self.sweep();
        let _lock = self.lock(name, on_step)?;
        if !update {
            if let Ok(kernel) = self.get(name) {
                return Ok(kernel);
            }
        }
        self.make(name, |work| fetch::fetch(&self.cache, work, name, family, rt, on_step))
    }

    /// The compiler for modules of the kernel `name`, fetched if it is not in the cache. `None` if the host's is taken.
    pub(crate) fn compiler(
        &self,
        name: &KernelName,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<Option<FetchedCompiler>, KernelError> {
        toolchain(name).map(|t| t.fetch(&self.cache, name.arch(), on_step)).transpose()
    }

    /// Fetches the compiler for modules of a kernel that has headers, if the host's won't do and it is not in the cache.
    pub fn fetch_compiler(&self, kernel: &CachedKernel, on_step: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        if kernel.headers.is_some() {
            self.compiler(&kernel.name, on_step)?;
        }
        Ok(())
    }

    /// The directory of that compiler's programs, for `PATH`, if it is in the cache.
    pub fn compiler_dir(&self, name: &KernelName) -> Option<PathBuf> {
        Some(toolchain(name)?.get(&self.cache, name.arch())?.programs())
    }

    /// Copies a user's own kernel into the cache as `own/NAME/ARCH`, replacing any of that name. `modules` is its
    /// `lib/modules/RELEASE` directory; `headers` is a directory for `make -C`, which is linked, not copied.
    pub fn add_own(
        &self,
        name: &KernelName,
        vmlinuz: &Path,
        modules: Option<&Path>,
        config: Option<&Path>,
        headers: Option<&Path>,
    ) -> Result<CachedKernel, KernelError> {
        self.add(name, &own::Files { vmlinuz, modules, config, headers, beside: &[] })
    }

    /// Copies a kernel into the cache as [`Self::add_own`] does, with further files beside it.
    pub(crate) fn add(&self, name: &KernelName, files: &own::Files<'_>) -> Result<CachedKernel, KernelError> {
        if !matches!(name.source(), Source::Own(_)) {
            return Err(KernelError::Own(format!("`{name}` is not a kernel of your own: use a name such as own/NAME/ARCH")));
        }
        let _lock = self.lock(name, &mut |_| {})?;
        self.make(name, |work| own::add(work, name, files))
    }

    /// Removes a kernel from the cache. Returns whether it was there.
    pub fn remove(&self, name: &KernelName) -> Result<bool, KernelError> {
        let dir = self.dir(name);
        let _lock = self.lock(name, &mut |_| {})?;
        if !dir.is_dir() {
            return Ok(false);
        }
        // Move it first, so that half a kernel is never found under its name.
        let work = self.workplace(name);
        clear(&work)?;
        fs::create_dir_all(work.parent().unwrap_or(&work)).map_err(KernelError::io(&work))?;
        fs::rename(&dir, &work).map_err(KernelError::io(&dir))?;
        clear(&work)?;
        Ok(true)
    }

    /// Lets `fill` assemble the kernel in an empty workplace, then moves it to its place. The caller holds the lock.
    fn make(
        &self,
        name: &KernelName,
        fill: impl FnOnce(&Path) -> Result<CachedKernel, KernelError>,
    ) -> Result<CachedKernel, KernelError> {
        let (work, dir) = (self.workplace(name), self.dir(name));
        clear(&work)?;
        let new = work.join("new");
        fs::create_dir_all(&new).map_err(KernelError::io(&new))?;
        let made = fill(&new).and_then(|_| {
            let parent = dir.parent().unwrap_or(&dir);
            fs::create_dir_all(parent).map_err(KernelError::io(parent))?;
            if dir.exists() {
                fs::rename(&dir, work.join("old")).map_err(KernelError::io(&dir))?;
            }
            fs::rename(&new, &dir).map_err(KernelError::io(&dir))
        });
        clear(&work)?;
        made?;
        self.get(name)
    }
}

/// The compiler to fetch for modules of the kernel `name`; `None` if the host's is taken.
fn toolchain(name: &KernelName) -> Option<&'static Toolchain> {
    let Source::Archive { family, .. } = *name.source() else { return None };
    family.toolchain(name.arch(), |program| find_program(program).is_some())
}

fn clear(dir: &Path) -> Result<(), KernelError> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(KernelError::io(dir)(e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
