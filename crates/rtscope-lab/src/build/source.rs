//! The tree that kernels are built from: Debian's, fetched and unpacked in the cache, one of a tarball, or the user's own.

use super::error::BuildError;
use super::kconfig;
use super::order::BuildSource;
use super::process;
use super::series::SERIES;
use crate::cache;
use crate::debian::{Apt, DEBIAN_12_SOURCES, DebianError, Package, Paragraph, compare_versions};
use crate::kernels::Arch;
use rtscope_files::digest;
use rtscope_load::StopHandle;
use rtscope_load::programs::find_program;
use rtscope_sys as sys;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A tree, ready to be built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// Its directory.
    pub(super) dir: PathBuf,
    /// SHA-256 of what it came from: a package, a tarball, or its files.
    pub(super) sha256: String,
    /// What it is, for people: `linux-source-6.12 6.12.117-1~deb12u1`.
    pub(super) about: String,
    /// What kernels built from it are called if nothing else is asked for.
    pub(super) name: String,
    /// What its Makefile says that it is: `6.13.0-rc1`.
    pub(super) version: String,
}

/// Which package the name of a series meant when it was fetched last.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fetched {
    /// The package, such as `linux-source-6.12`. Notes of an older rtscope have none.
    #[serde(default)]
    package: String,
    version: String,
    sha256: String,
}

/// The tree's package in one version.
struct Candidate {
    package: String,
    version: String,
    /// The source package that it is built from.
    source: String,
}

/// Every version of a package that the archive lists, newest first. A package that only depends on the one with the tree (Debian's
/// `linux-source`) stands for that one.
fn candidates(apt: &Apt, package: &str) -> Result<Vec<Candidate>, DebianError> {
    let newest_first = |name: &str| {
        apt.show(&[name]).map(|mut all| {
            all.sort_by(|a, b| compare_versions(b.get("Version"), a.get("Version")));
            all
        })
    };
    let mut found = newest_first(package)?;
    let whole = format!("{package}-");
    let tree =
        found.first().and_then(|p| p.depends().into_iter().find(|(name, _)| name.starts_with(&whole))).map(|(n, _)| n.to_owned());
    if let Some(tree) = &tree {
        found = newest_first(tree)?;
    }
    let package = tree.unwrap_or_else(|| package.to_owned());
    // "linux-6.12", "linux (6.12.1-1)", or nothing where it has the package's own name.
    let source = |p: &Paragraph| p.get("Source").split_whitespace().next().unwrap_or("linux").to_owned();
    Ok(found
        .iter()
        .map(|p| Candidate { package: package.clone(), version: p.get("Version").to_owned(), source: source(p) })
        .collect())
}

/// Which tree is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Where it comes from.
    pub(super) source: &'a BuildSource,
    /// A kernel with PREEMPT_RT is to be built from it.
    pub(super) rt: bool,
    /// For which architecture.
    pub(super) arch: Arch,
    /// Take Debian's newest even if one is in the cache.
    pub(super) update: bool,
}

/// The tree that is wanted.
pub(super) fn tree(
    cache: &Path,
    wanted: &Wanted<'_>,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(&str),
) -> Result<Tree, BuildError> {
    let sources = cache.join("sources");
    match wanted.source {
        BuildSource::Debian(series) => {
            fs::create_dir_all(&sources).map_err(BuildError::io(&sources))?;
            let lock = sources.join("lock");
            let _lock = cache::lock(&lock, on_step).map_err(BuildError::io(&lock))?;
            debian(cache, &sources, series, wanted, stop, on_step)
        }
        BuildSource::Tarball(file) => {
            fs::create_dir_all(&sources).map_err(BuildError::io(&sources))?;
            let lock = sources.join("lock");
            let _lock = cache::lock(&lock, on_step).map_err(BuildError::io(&lock))?;
            on_step(&format!("computing the checksum of {}", file.display()));
            let sha256 = digest::file(file).map_err(BuildError::io(file))?;
            let home = sources.join(&sha256[..32]);
            if !home.is_dir() {
                unpack(&sources, file, None, &home, stop, on_step)?;
            }
            of_dir(&home, sha256, file.display().to_string())
        }
        BuildSource::Tree(dir) => {
            let dir = fs::canonicalize(dir).map_err(BuildError::io(dir))?;
            // Before the whole of it is read.
            let tree = of_dir(&dir, String::new(), dir.display().to_string())?;
            if dir.join(".config").exists() || dir.join("include/config").exists() {
                let remedy = "run `make mrproper` there, which removes its .config and what was built, or name a clean copy";
                return Err(BuildError::ask(format!("{} was built in", dir.display()), remedy));
            }
            on_step(&format!("computing the checksum of {}", dir.display()));
            Ok(Tree { sha256: of_files(&dir).map_err(BuildError::io(&dir))?, ..tree })
        }
    }
}

/// Debian's tree of a series: the one that is in the cache, or with `update` the newest. For PREEMPT_RT with Debian's patches for it,
/// where the series has not got it: for all kernels of an order, so that these differ in nothing else.
fn debian(
    cache: &Path,
    sources: &Path,
    series: &str,
    wanted: &Wanted<'_>,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(&str),
) -> Result<Tree, BuildError> {
    let Some(of_name) = SERIES.iter().find(|s| s.name == series) else {
        return Err(BuildError::ask(format!("Debian has no source debian/{series}"), ""));
    };
    let patched = wanted.rt && of_name.patched.contains(&wanted.arch);
    let (suffix, with) = if patched { ("-rt", " with Debian's PREEMPT_RT patches") } else { ("", "") };
    let note = sources.join(format!("linux-source-{series}{suffix}.json"));
    let known = rtscope_files::read(&note, rtscope_files::SMALL).ok().and_then(|t| serde_json::from_slice::<Fetched>(&t).ok());
    let of = |f: &Fetched| {
        let home = sources.join(f.sha256.get(..32).unwrap_or("none"));
        let package = if f.package.is_empty() { format!("linux-source-{series}") } else { f.package.clone() };
        let tree = of_dir(&home, f.sha256.clone(), format!("{package} {}{with}", f.version))?;
        Ok(Tree { name: package.trim_start_matches("linux-source-").to_owned(), ..tree })
    };
    if let Some(tree) = known.filter(|_| !wanted.update).and_then(|f| of(&f).ok()) {
        return Ok(tree);
    }
    let apt = Apt::open_archive(of_name.archive, cache, Arch::host(), on_step)?;
    let source_apt = patched.then(|| Apt::open_archive(&DEBIAN_12_SOURCES, cache, Arch::host(), on_step)).transpose()?;
    let candidates = candidates(&apt, of_name.package)?;
    // Only the holder of the lock uses this name. What a killed process left there is removed.
    let work = sources.join("fetched");
    clear(&work)?;
    let (debs, root) = (work.join("debs"), work.join("root"));
    for dir in [&debs, &root] {
        fs::create_dir_all(dir).map_err(BuildError::io(dir))?;
    }
    let mut failed = None;
    let mut patches = None;
    for Candidate { package, version, source } in &candidates {
        if stop.is_stopped() {
            return Err(BuildError::Interrupted);
        }
        // The patches first: they are small, and of a version that has none the tree is of no use.
        let got = source_apt.as_ref().map(|a| a.download_patches((source, version), &work, on_step)).transpose();
        match got.and_then(|of| apt.download(&[format!("{package}={version}")], &debs, on_step).map(|()| of)) {
            Ok(of) => {
                (failed, patches) = (None, of);
                break;
            }
            // An index may list files that the mirror no longer has.
            Err(e) => {
                on_step(&format!("{package} {version} can't be downloaded ({e})"));
                failed.get_or_insert(e);
            }
        }
    }
    if let Some(e) = failed {
        return Err(e.into());
    }
    let packages = Package::unpack_all(&debs, &root, on_step)?;
    let found = packages.first().ok_or_else(|| apt.not_found(of_name.package))?;
    let sha256 = match &patches {
        Some(file) => digest::bytes(format!("{} {}", found.sha256, digest::file(file).map_err(BuildError::io(file))?).as_bytes()),
        None => found.sha256.clone(),
    };
    let package = found.name.clone();
    let fetched = Fetched { package: package.clone(), version: found.version.clone(), sha256 };
    let home = sources.join(&fetched.sha256[..32]);
    if !home.is_dir() {
        unpack(sources, &root.join(format!("usr/src/{package}.tar.xz")), patches.as_deref(), &home, stop, on_step)?;
    }
    clear(&work)?;
    let text = serde_json::to_vec_pretty(&fetched).unwrap_or_default();
    rtscope_files::write(&note, &text, 0o600).map_err(BuildError::io(&note))?;
    of(&fetched)
}

/// Unpacks a tarball with a tree into `home`, completely or not at all, with Debian's `patches` for PREEMPT_RT if there are any.
fn unpack(
    sources: &Path,
    file: &Path,
    patches: Option<&Path>,
    home: &Path,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    on_step(&format!("unpacking {}", file.file_name().unwrap_or(file.as_os_str()).to_string_lossy()));
    let work = sources.join("unpacked");
    clear(&work)?;
    fs::create_dir_all(&work).map_err(BuildError::io(&work))?;
    let unpacked = unpack_into(&work, sources, file, stop).and_then(|root| {
        if let Some(patches) = patches {
            on_step("applying Debian's PREEMPT_RT patches");
            patch(&root, patches, sources, stop)?;
        }
        fs::rename(&root, home).map_err(BuildError::io(home))
    });
    clear(&work)?;
    unpacked
}

/// Unpacks a tarball into `work`. Returns the directory of the tree in it.
fn unpack_into(work: &Path, sources: &Path, file: &Path, stop: &StopHandle) -> Result<PathBuf, BuildError> {
    let file = fs::canonicalize(file).map_err(BuildError::io(file))?;
    let mut tar = sys::process::command("tar");
    // `--force-local`: a colon in the name is not another host's.
    tar.args(["--force-local", "--no-same-owner", "-xf"]).arg(&file).arg("-C").arg(work);
    let log = sources.join("unpack.log");
    let _ = fs::remove_file(&log);
    process::run(&mut tar, &format!("unpacking {}", file.display()), &log, stop, &mut |_| {})?;
    // The tree is what was unpacked, or the one directory in it.
    let mut within: Vec<PathBuf> = fs::read_dir(work).map_err(BuildError::io(work))?.flatten().map(|e| e.path()).collect();
    let root = if within.len() == 1 && within[0].is_dir() { within.remove(0) } else { work.to_path_buf() };
    of_dir(&root, String::new(), file.display().to_string())?;
    Ok(root)
}

/// Applies the patches for PREEMPT_RT of a source package (`debian/patches-rt` in its Debian part `tarball`) to a tree, in the order of
/// their list.
fn patch(root: &Path, tarball: &Path, sources: &Path, stop: &StopHandle) -> Result<(), BuildError> {
    if find_program("patch").is_none() {
        return Err(BuildError::NoTools { arch: Arch::host(), missing: vec!["patch".into()], packages: vec!["patch".into()] });
    }
    let work = sources.join("patches");
    clear(&work)?;
    fs::create_dir_all(&work).map_err(BuildError::io(&work))?;
    let log = sources.join("unpack.log");
    let mut tar = sys::process::command("tar");
    tar.args(["--force-local", "--no-same-owner", "-xf"]).arg(tarball).arg("-C").arg(&work).arg("debian/patches-rt");
    process::run(&mut tar, "unpacking the PREEMPT_RT patches", &log, stop, &mut |_| {})?;
    let dir = work.join("debian/patches-rt");
    let list = dir.join("series");
    let text = rtscope_files::read_text(&list, rtscope_files::SMALL).map_err(BuildError::io(&list))?;
    let named = text.lines().map(|l| l.split('#').next().unwrap_or_default().trim()).filter(|l| !l.is_empty());
    for name in named {
        let mut command = sys::process::command("patch");
        command.args(["--strip=1", "--silent", "--force", "--fuzz=0", "--no-backup-if-mismatch", "--directory"]).arg(root);
        command.arg("--input").arg(dir.join(name)).env("LC_ALL", "C").stdin(std::process::Stdio::null());
        process::run(&mut command, &format!("applying {name}"), &log, stop, &mut |_| {})?;
    }
    clear(&work)
}

/// A tree in a directory; an error if there is none.
fn of_dir(dir: &Path, sha256: String, about: String) -> Result<Tree, BuildError> {
    let makefile = kconfig::text(&dir.join("Makefile")).unwrap_or_default();
    let version = version(&makefile).filter(|_| dir.join("kernel/Kconfig.preempt").is_file());
    let Some(version) = version else {
        let remedy = "name the directory with the kernel's Makefile, Kconfig and kernel/, or a tarball of one";
        return Err(BuildError::ask(format!("{about} is not a kernel's tree"), remedy));
    };
    if about_blanks(dir) {
        let message = format!("{}: a kernel can't be built in a directory with a blank or a colon in its path", dir.display());
        return Err(BuildError::ask(message, "take another directory, or another cache: RTSCOPE_CACHE=DIR"));
    }
    Ok(Tree { dir: dir.to_path_buf(), sha256, about, name: version.clone(), version })
}

/// Whether a path has what the kernel's build system can't bear.
fn about_blanks(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|b| b.is_ascii_whitespace() || *b == b':')
}

/// The version that a kernel's Makefile begins with: `6.12.117`, `6.13.0-rc1`.
fn version(makefile: &str) -> Option<String> {
    let field = |name: &str| {
        let value = makefile.lines().take(20).find_map(|l| l.strip_prefix(name)?.trim_start().strip_prefix('='))?.trim();
        value.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)).then_some(value)
    };
    let number = |name| field(name).filter(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()));
    let (first, second) = (number("VERSION")?, number("PATCHLEVEL")?);
    Some(format!("{first}.{second}.{}{}", number("SUBLEVEL").unwrap_or("0"), field("EXTRAVERSION").unwrap_or_default()))
}

/// A digest of a tree's files, without git's.
fn of_files(dir: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
    entries.retain(|p| p.file_name().is_some_and(|n| n != ".git"));
    entries.sort();
    for path in entries {
        hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hash.update([0]);
        if path.is_symlink() {
            hash.update(fs::read_link(&path)?.as_os_str().as_encoded_bytes());
        } else if path.is_dir() {
            hash.update(digest::tree(&path)?);
        } else {
            hash.update(digest::file(&path)?);
        }
        hash.update([0]);
    }
    Ok(digest::hex(hash.finalize()))
}

fn clear(dir: &Path) -> Result<(), BuildError> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(BuildError::io(dir)(e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
