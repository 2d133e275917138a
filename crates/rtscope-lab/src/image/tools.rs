//! The guest's programs, from Debian packages of its architecture, with only the libraries they need.

use super::archive::{Node, Tree, guest_path};
use super::elf;
use super::error::ImageError;
use crate::cache;
use crate::debian::{Apt, Package};
use crate::kernels::Arch;
use rtscope_files::digest;
use rtscope_load::tools;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Debian packages beside those of the loads' tools.
const PACKAGES: [&str; 5] = ["busybox-static", "rt-tests", "iproute2", "e2fsprogs", "util-linux"];

/// Files taken from them, by path in the guest.
const FILES: [&str; 10] = [
    "/usr/bin/busybox",
    "/usr/bin/cyclictest",
    "/usr/bin/hackbench",
    "/usr/bin/ip",
    "/usr/bin/chrt",
    "/usr/bin/taskset",
    "/usr/bin/unshare",
    "/usr/bin/nsenter",
    "/usr/sbin/mke2fs",
    "/etc/mke2fs.conf",
];

/// The same for the tools that loads run: package and path.
fn of_loads() -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<_> = tools::in_guests().collect();
    all.dedup();
    all
}

fn packages() -> Vec<&'static str> {
    PACKAGES.into_iter().chain(of_loads().into_iter().map(|(package, _)| package)).collect()
}

/// All files, in the order with which the list of cached tools is compared.
fn files() -> Vec<&'static str> {
    let (shell, rest) = FILES.split_at(1);
    let of_loads = of_loads().into_iter().map(|(_, place)| place);
    shell.iter().copied().chain(of_loads).chain(rest.iter().copied()).collect()
}

/// Additional symbolic links.
const LINKS: [(&str, &str); 2] = [("usr/sbin/mkfs.ext4", "mke2fs"), ("usr/sbin/ip", "../bin/ip")];

/// The C library loads this at thread cancellation without listing it as needed.
const ALSO: &str = "libgcc_s.so.1";

/// The applets of Debian 12's busybox-static. The list is fixed because a busybox of another architecture can't
/// be asked, and all images shall have the same.
const APPLETS: &str = include_str!("applets.txt");

const MANIFEST: &str = "manifest.json";

/// The programs for guests of one architecture, as kept in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// The guests' architecture.
    pub(crate) arch: Arch,
    /// All downloaded packages with their exact versions, including those that no file was taken from.
    pub(crate) packages: Vec<Package>,
    /// SHA-256 over the files.
    pub(crate) sha256: String,
    /// Total size of the files, bytes.
    pub(crate) bytes: u64,
    /// The files that were taken, to notice when another version of rtscope needs others.
    taken: Vec<String>,
    #[serde(skip)]
    dir: PathBuf,
}

impl Tools {
    /// The tools from the cache. Fails if they are missing, incomplete, or chosen by another version of rtscope.
    pub(crate) fn get(cache_root: &Path, arch: Arch) -> Result<Self, ImageError> {
        let dir = cache_root.join("tools").join(arch.as_str());
        let text = rtscope_files::read(&dir.join(MANIFEST), rtscope_files::SMALL).map_err(|_| ImageError::NoTools { arch })?;
        let tools: Self = serde_json::from_slice(&text).map_err(|_| ImageError::NoTools { arch })?;
        let root = dir.join("root");
        let whole = digest::count(&root).is_ok_and(|(_, bytes)| bytes == tools.bytes);
        if tools.arch != arch || tools.taken != files() || !whole {
            return Err(ImageError::NoTools { arch });
        }
        Ok(Self { dir, ..tools })
    }

    /// The tools from the cache; fetched from Debian if they are missing, or when `update` asks for the newest.
    pub fn fetch(cache_root: &Path, arch: Arch, update: bool, on_step: &mut dyn FnMut(&str)) -> Result<Self, ImageError> {
        // Tools that are complete need neither the lock nor a writable cache.
        if let (false, Ok(tools)) = (update, Self::get(cache_root, arch)) {
            return Ok(tools);
        }
        let base = cache_root.join("tools");
        let lock = base.join(format!("{arch}.lock"));
        let _lock = cache::lock(&lock, on_step).map_err(ImageError::io(&lock))?;
        if !update {
            if let Ok(tools) = Self::get(cache_root, arch) {
                return Ok(tools);
            }
        }
        // Used only under the lock, so anything here was left by a killed process.
        let (work, dir) = (base.join(format!("{arch}.new")), base.join(arch.as_str()));
        clear(&work)?;
        let made = make(cache_root, arch, &work, on_step).and_then(|()| {
            clear(&dir)?;
            fs::rename(work.join("made"), &dir).map_err(ImageError::io(&dir))
        });
        clear(&work)?;
        made?;
        Self::get(cache_root, arch)
    }

    /// Puts the programs into an image's tree, and busybox's applets under the names that are still free.
    pub(super) fn place(&self, tree: &mut Tree) -> Result<(), ImageError> {
        let root = self.dir.join("root");
        for path in digest::files(&root).map_err(ImageError::io(&root))? {
            let within = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
            let mode = fs::metadata(&path).map_err(ImageError::io(&path))?.permissions().mode();
            // Keeps the user's umask from affecting the guest.
            let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
            let bytes = rtscope_files::read(&path, rtscope_files::LARGE).map_err(ImageError::io(&path))?;
            tree.add(&within, Node::File { mode, bytes });
        }
        for (link, to) in LINKS {
            tree.add(link, Node::Link(to.into()));
        }
        // busybox's shell prefers its own applets to the path; aliases in a login shell lead to the real tools.
        let mut aliases = String::new();
        for applet in APPLETS.split_whitespace() {
            let (bin, sbin) = (format!("usr/bin/{applet}"), format!("usr/sbin/{applet}"));
            match [&bin, &sbin].into_iter().find(|p| tree.has(p)) {
                Some(real) => aliases += &format!("alias {applet}=/{real}\n"),
                None => tree.add(&bin, Node::Link("busybox".into())),
            }
        }
        tree.add("etc/profile", Node::File { mode: 0o644, bytes: aliases.into() });
        Ok(())
    }
}

/// Makes `work/made`: a root directory with the files, and the manifest beside it.
fn make(cache: &Path, arch: Arch, work: &Path, on_step: &mut dyn FnMut(&str)) -> Result<(), ImageError> {
    let (debs, all, made) = (work.join("debs"), work.join("all"), work.join("made"));
    let root = made.join("root");
    for dir in [&debs, &all, &root] {
        fs::create_dir_all(dir).map_err(ImageError::io(dir))?;
    }
    let apt = Apt::open(cache, arch, on_step)?;
    // Absolute, because apt takes a relative path as one below its own directories.
    let debs = debs.canonicalize().map_err(ImageError::io(&debs))?;
    apt.download_closure(&packages(), &debs, on_step)?;
    on_step("unpacking the guest's tools");
    let packages = Package::unpack_all(&debs, &all, &mut |_| {})?;
    take(&all, &root)?;
    enter(&made, arch, packages)
}

/// Records the files in `made/root` in the manifest beside it.
pub(super) fn enter(made: &Path, arch: Arch, packages: Vec<Package>) -> Result<(), ImageError> {
    let root = made.join("root");
    let (_, bytes) = digest::count(&root).map_err(ImageError::io(&root))?;
    let sha256 = digest::tree(&root).map_err(ImageError::io(&root))?;
    let tools =
        Tools { arch, packages, sha256, bytes, taken: files().into_iter().map(str::to_owned).collect(), dir: PathBuf::new() };
    let manifest = made.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&tools).map_err(|e| ImageError::unreadable(&manifest, e))?;
    rtscope_files::write(&manifest, text.as_ref(), 0o600).map_err(ImageError::io(&manifest))
}

/// Copies [`files`] and the libraries they need from the unpacked packages.
fn take(all: &Path, root: &Path) -> Result<(), ImageError> {
    let libraries = library_dirs(all);
    let library = |name: &str| libraries.iter().map(|d| format!("{d}/{name}")).find(|p| real(all, p).is_some());
    let mut open: Vec<String> = files().into_iter().map(str::to_owned).collect();
    open.extend(library(ALSO));
    let mut seen = BTreeSet::new();
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let Some(from) = real(all, &path) else {
            return Err(ImageError::unreadable(Path::new(&path), "it is not in the packages that should have it"));
        };
        let to = root.join(path.trim_start_matches('/'));
        let dir = to.parent().unwrap_or(root);
        fs::create_dir_all(dir).map_err(ImageError::io(dir))?;
        fs::copy(&from, &to).map_err(ImageError::io(&from))?;
        if path.starts_with("/etc/") {
            continue;
        }
        let bytes = fs::read(&from).map_err(ImageError::io(&from))?;
        let needs = elf::needs(&bytes).map_err(|why| ImageError::unreadable(&from, why))?;
        open.extend(needs.interpreter.as_deref().and_then(guest_path).map(|p| format!("/{p}")));
        for name in &needs.libraries {
            let found = library(name);
            let why = || format!("it needs {name}, which is in none of the packages");
            open.push(found.ok_or_else(|| ImageError::unreadable(&from, why()))?);
        }
    }
    Ok(())
}

/// The library search path: `/usr/lib/TRIPLET`, `/usr/lib`.
fn library_dirs(all: &Path) -> Vec<String> {
    let mut dirs = BTreeSet::new();
    for lib in ["lib", "usr/lib"] {
        for entry in fs::read_dir(all.join(lib)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.contains("-linux-gnu") && entry.path().is_dir() {
                dirs.insert(format!("/usr/lib/{name}"));
            }
        }
    }
    dirs.into_iter().chain(["/usr/lib".to_owned()]).collect()
}

/// The file at the guest path `path` (`/usr/...` or `/etc/...`), following links within `all`. Debian 12's
/// packages have files in `/bin` and `/lib` as well as below `/usr`; in a guest these are the same directories.
fn real(all: &Path, path: &str) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..8 {
        let below_usr = path.strip_prefix("/usr/").unwrap_or(path.trim_start_matches('/'));
        let places = [all.join(path.trim_start_matches('/')), all.join(below_usr)];
        let place = places.into_iter().find(|p| fs::symlink_metadata(p).is_ok())?;
        if !place.is_symlink() {
            return place.is_file().then_some(place);
        }
        let to = fs::read_link(&place).ok()?;
        path = guest_path(&normal(&Path::new(&path).parent()?.join(to)))?;
        path.insert(0, '/');
    }
    None
}

/// The path with `.` and `..` resolved.
fn normal(path: &Path) -> String {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(p) => parts.push(p.to_string_lossy().into_owned()),
            Component::ParentDir => {
                parts.pop();
            }
            _ => {}
        }
    }
    format!("/{}", parts.join("/"))
}

fn clear(dir: &Path) -> Result<(), ImageError> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(ImageError::io(dir)(e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_within_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let all = dir.path();
        fs::create_dir_all(all.join("lib/x-linux-gnu")).unwrap();
        fs::create_dir_all(all.join("usr/lib/x-linux-gnu")).unwrap();
        fs::create_dir_all(all.join("lib64")).unwrap();
        fs::write(all.join("lib/x-linux-gnu/ld-2.so"), "").unwrap();
        symlink("/lib/x-linux-gnu/ld-2.so", all.join("lib64/ld.so")).unwrap();
        symlink("../../lib/x-linux-gnu/ld-2.so", all.join("usr/lib/a.so")).unwrap();
        symlink("/etc/passwd", all.join("usr/lib/out")).unwrap();
        symlink("loop", all.join("usr/lib/loop")).unwrap();
        let target = Some(all.join("lib/x-linux-gnu/ld-2.so"));
        assert_eq!(real(all, "/usr/lib64/ld.so"), target);
        assert_eq!((real(all, "/usr/lib/out"), real(all, "/usr/lib/loop"), real(all, "/usr/lib")), (None, None, None));
        assert_eq!(library_dirs(all), ["/usr/lib/x-linux-gnu", "/usr/lib"]);
    }

    #[test]
    fn paths_are_made_plain() {
        assert_eq!(normal(Path::new("/usr/lib/../../lib/./x")), "/lib/x");
        assert_eq!(normal(Path::new("/../../x")), "/x");
    }
}
