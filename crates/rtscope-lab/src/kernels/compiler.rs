//! Compilers of other releases than the host's, in the cache: modules for a kernel are built with the compiler that
//! built the kernel, and its headers' programs may run with that release's libraries.

use super::arch::Arch;
use super::error::KernelError;
use super::family::Toolchain;
use super::wrap::{keep_links_within, wrap_all};
use crate::cache;
use crate::debian::{Apt, Package};
use rtscope_files::digest;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const MANIFEST: &str = "manifest.json";
/// The root directory of the unpacked packages.
const ROOT: &str = "root";
/// Where a toolchain's programs are, relative to its root: the first is for `PATH`. Before gcc 13 those that gcc itself starts were
/// beside its libraries.
const PROGRAMS: [&str; 4] = ["usr/bin", "usr/libexec", "usr/lib/gcc", "usr/lib/gcc-cross"];

/// A compiler in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FetchedCompiler {
    /// The compiler, such as `gcc-14`; a cross compiler's program has the architecture before it.
    pub(crate) name: String,
    /// All packages that were fetched for it.
    pub(crate) packages: Vec<Package>,
    /// Total size of its files, bytes.
    bytes: u64,
    #[serde(skip)]
    dir: PathBuf,
}

impl Toolchain {
    /// Its directory for guests of an architecture, relative to the cache.
    fn dir(&self, target: Arch) -> PathBuf {
        Path::new("compilers").join(self.dir).join(format!("{}-{target}", Arch::host()))
    }

    /// The root directory of its packages, relative to the cache.
    pub(super) fn root(&self, target: Arch) -> PathBuf {
        self.dir(target).join(ROOT)
    }

    /// The packages to fetch: the compiler, for another architecture its cross compiler, and the libraries.
    fn wanted(&self, target: Arch) -> Vec<String> {
        let cross = format!("{}-{}", self.compiler, target.triple().replace('_', "-"));
        let compiler = if target == Arch::host() { self.compiler.to_owned() } else { cross };
        [compiler].into_iter().chain(self.libraries.iter().map(|l| (*l).to_owned())).collect()
    }

    /// The compiler for guests of an architecture, if it is in the cache with all its files.
    pub(crate) fn get(&self, cache_root: &Path, target: Arch) -> Option<FetchedCompiler> {
        let dir = cache_root.join(self.dir(target));
        let text = rtscope_files::read(&dir.join(MANIFEST), rtscope_files::SMALL).ok()?;
        let found: FetchedCompiler = serde_json::from_slice(&text).ok()?;
        let whole = digest::count(&dir.join(ROOT)).is_ok_and(|(_, bytes)| bytes == found.bytes);
        (whole && found.name == self.compiler).then_some(FetchedCompiler { dir, ..found })
    }

    /// The same, fetched if it is not there.
    pub(crate) fn fetch(
        &self,
        cache_root: &Path,
        target: Arch,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<FetchedCompiler, KernelError> {
        if let Some(found) = self.get(cache_root, target) {
            return Ok(found);
        }
        let dir = cache_root.join(self.dir(target));
        let lock = dir.with_extension("lock");
        let _lock = cache::lock(&lock, on_step).map_err(KernelError::io(&lock))?;
        if let Some(found) = self.get(cache_root, target) {
            return Ok(found); // another process was quicker
        }
        // Used only under the lock, so anything here was left by a killed process.
        let work = dir.with_extension("new");
        clear(&work)?;
        let made = self.make(cache_root, target, &work, on_step).and_then(|made| {
            clear(&dir)?;
            fs::rename(work.join("made"), &dir).map_err(KernelError::io(&dir))?;
            Ok(FetchedCompiler { dir: dir.clone(), ..made })
        });
        clear(&work)?;
        made
    }

    /// Makes `work/made`: a root directory with the packages, and the manifest beside it.
    fn make(
        &self,
        cache_root: &Path,
        target: Arch,
        work: &Path,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<FetchedCompiler, KernelError> {
        let (debs, made) = (work.join("debs"), work.join("made"));
        let root = made.join(ROOT);
        for dir in [&debs, &root] {
            fs::create_dir_all(dir).map_err(KernelError::io(dir))?;
        }
        let apt = Apt::open_archive(self.archive, cache_root, Arch::host(), on_step)?;
        // Absolute, because apt takes a relative path as one below its own directories.
        let debs = debs.canonicalize().map_err(KernelError::io(&debs))?;
        let wanted = self.wanted(target);
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        apt.download_closure(&wanted, &debs, on_step)?;
        on_step(&format!("unpacking {}", self.compiler));
        let packages = Package::unpack_all(&debs, &root, &mut |_| {})?;
        // What only people read.
        let _ = fs::remove_dir_all(root.join("usr/share"));
        keep_links_within(&root).map_err(KernelError::io(&root))?;
        for dir in PROGRAMS.iter().filter(|d| root.join(d).is_dir()) {
            wrap_all(&root, Path::new(dir), Path::new("")).map_err(KernelError::io(&root))?;
        }
        let (_, bytes) = digest::count(&root).map_err(KernelError::io(&root))?;
        let compiler = FetchedCompiler { name: self.compiler.to_owned(), packages, bytes, dir: PathBuf::new() };
        let manifest = made.join(MANIFEST);
        let text = serde_json::to_vec_pretty(&compiler).map_err(|e| KernelError::io(&manifest)(e.into()))?;
        rtscope_files::write(&manifest, text.as_ref(), 0o600).map_err(KernelError::io(&manifest))?;
        Ok(compiler)
    }
}

impl FetchedCompiler {
    /// The directory of its programs, for `PATH`.
    pub(crate) fn programs(&self) -> PathBuf {
        self.dir.join(ROOT).join(PROGRAMS[0])
    }
}

fn clear(dir: &Path) -> Result<(), KernelError> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(KernelError::io(dir)(e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::family::Family;
    use super::*;

    #[test]
    fn a_compiler_is_whole_or_not_there() {
        let cache = tempfile::tempdir().unwrap();
        let toolchain = Family::of("debian", "13").unwrap().runtime().unwrap();
        let target = Arch::host();
        assert!(toolchain.get(cache.path(), target).is_none());
        let root = cache.path().join(toolchain.root(target));
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::write(root.join("usr/bin/gcc-14"), "12345").unwrap();
        fs::write(root.join("../manifest.json"), r#"{"name": "gcc-14", "packages": [], "bytes": 5}"#).unwrap();
        let found = toolchain.get(cache.path(), target).unwrap();
        assert!(found.programs().join("gcc-14").is_file());
        fs::write(root.join("usr/bin/gcc-14"), "1234").unwrap();
        assert!(toolchain.get(cache.path(), target).is_none());
        fs::write(root.join("../manifest.json"), "{").unwrap();
        assert!(toolchain.get(cache.path(), target).is_none());
    }

    #[test]
    fn another_architecture_takes_the_cross_compiler() {
        let toolchain = Family::of("debian", "13").unwrap().runtime().unwrap();
        assert_eq!(toolchain.wanted(Arch::host())[0], "gcc-14");
        let other = Arch::ALL.into_iter().find(|a| *a != Arch::host()).unwrap();
        assert_eq!(toolchain.wanted(other)[0], format!("gcc-14-{}", other.triple()));
        assert!(toolchain.wanted(other).contains(&"libelf1t64".to_owned()));
    }
}
