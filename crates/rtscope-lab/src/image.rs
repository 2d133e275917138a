//! The guest's initramfs. The same inputs give the same bytes, so that a machine state or a figure can be reproduced.

mod archive;
mod elf;
mod error;
mod modules;
mod tools;

pub(crate) use elf::{compiler, modinfo};
pub use error::ImageError;
pub(crate) use modules::read as read_module;
pub use tools::Tools;

use crate::cache;
use crate::kernels::{CachedKernel, KernelName};
use archive::{Node, Tree};
use rtscope_files::digest;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The sources that determine how an image is made. A change to them may change the image for the same inputs,
/// so they are part of its key.
const RECIPE: [&str; 5] = [
    include_str!("image.rs"),
    include_str!("image/archive.rs"),
    include_str!("image/modules.rs"),
    include_str!("image/tools.rs"),
    include_str!("image/applets.txt"),
];
/// Directory of the modules in the guest.
pub const MODULES_DIR: &str = "/lib/rtscope-modules";
/// The guest's list of modules: file names in loading order, one per line.
pub const MODULES_LIST: &str = "/etc/rtscope/modules";

/// A file of the host to put into an image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extra<'a> {
    /// Absolute path in the guest.
    pub(crate) guest: &'a str,
    /// The file.
    pub(crate) host: &'a Path,
    /// Permission bits, such as 0o755.
    pub(crate) mode: u32,
}

/// What an image is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contents<'a> {
    /// The kernel that will boot the image. The modules are its own.
    pub(crate) kernel: &'a CachedKernel,
    /// The static program that becomes `/init`.
    pub(crate) guest_program: &'a Path,
    /// Programs for the guest, of the kernel's architecture.
    pub(crate) tools: &'a Tools,
    /// Names of the modules to include; their dependencies are added. Built-in modules need no file.
    pub(crate) modules: &'a [&'a str],
    /// Further files.
    pub(crate) extra: &'a [Extra<'a>],
}

/// An image in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Image {
    /// The uncompressed cpio archive (newc).
    #[serde(skip)]
    pub(crate) path: PathBuf,
    /// The kernel that its modules are for.
    pub(crate) kernel: KernelName,
    /// SHA-256 of the archive.
    pub(crate) sha256: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// Module files in [`MODULES_DIR`], in loading order.
    pub(crate) modules: Vec<String>,
    /// Modules that were asked for, or their dependencies, that the kernel has neither as files nor built in.
    pub(crate) missing: Vec<String>,
}

/// The images in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Images {
    dir: PathBuf,
}

impl Images {
    /// The images in the cache at `cache_root`. The directory is made with the first image.
    pub(crate) fn new(cache_root: impl AsRef<Path>) -> Self {
        Self { dir: cache_root.as_ref().join("images") }
    }

    /// The image of `contents`, from the cache or built now.
    pub(crate) fn build(&self, contents: &Contents<'_>) -> Result<Image, ImageError> {
        let key = key(contents)?;
        let path = self.dir.join(format!("{key}.cpio"));
        let about = self.dir.join(format!("{key}.json"));
        if let Some(image) = read(&path, &about) {
            return Ok(image);
        }
        let lock = self.dir.join("lock");
        let _lock = cache::lock(&lock, &mut |_| {}).map_err(ImageError::io(&lock))?;
        if let Some(image) = read(&path, &about) {
            return Ok(image); // another process was quicker
        }
        let (tree, found) = tree(contents)?;
        // Only the holder of the lock uses this name. What a killed process left there is overwritten.
        let unfinished = self.dir.join("unfinished");
        archive::write(&tree, &unfinished)?;
        let image = Image {
            sha256: digest::file(&unfinished).map_err(ImageError::io(&unfinished))?,
            bytes: fs::metadata(&unfinished).map_err(ImageError::io(&unfinished))?.len(),
            path: path.clone(),
            kernel: contents.kernel.name.clone(),
            modules: found.files.iter().map(|f| f.name.clone()).collect(),
            missing: found.missing,
        };
        let text = serde_json::to_vec(&image).map_err(|e| ImageError::unreadable(&about, e))?;
        rtscope_files::write(&about, &text, 0o600).map_err(ImageError::io(&about))?;
        fs::rename(&unfinished, &path).map_err(ImageError::io(&path))?;
        Ok(image)
    }
}

/// The image at `path`, if its size is right.
fn read(path: &Path, about: &Path) -> Option<Image> {
    let image: Image = serde_json::from_slice(&rtscope_files::read(about, rtscope_files::SMALL).ok()?).ok()?;
    (fs::metadata(path).ok()?.len() == image.bytes).then(|| Image { path: path.to_path_buf(), ..image })
}

/// A digest of everything that determines the image.
fn key(c: &Contents<'_>) -> Result<String, ImageError> {
    let recipe = digest::bytes(RECIPE.concat().as_bytes());
    let of = |path: &Path| digest::file(path).map_err(ImageError::io(path));
    let kernel = c.kernel.modules.as_ref().map_or("none", |m| &m.sha256);
    let mut text = format!("{recipe}\n{}\n{kernel}\n{}\n{}\n", c.kernel.name, of(c.guest_program)?, c.tools.sha256);
    for m in c.modules {
        text += &format!("{m}\n");
    }
    for e in c.extra {
        text += &format!("{:?} {} {:o}\n", e.guest, of(e.host)?, e.mode);
    }
    Ok(digest::bytes(text.as_bytes()))
}

/// Puts every file in its place.
fn tree(c: &Contents<'_>) -> Result<(Tree, modules::Found), ImageError> {
    let arch = c.kernel.arch;
    if c.tools.arch != arch {
        return Err(ImageError::Unfit(format!("the tools are for {}, the kernel {} is not", c.tools.arch, c.kernel.name)));
    }
    let init = rtscope_files::read(c.guest_program, rtscope_files::LARGE).map_err(ImageError::io(c.guest_program))?;
    elf::check_static(&init, arch).map_err(|why| ImageError::Unfit(format!("{}: {why}", c.guest_program.display())))?;
    let mut tree = Tree::new();
    for (link, to) in [("bin", "usr/bin"), ("sbin", "usr/sbin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")] {
        tree.add(link, Node::Link(to.into()));
    }
    for dir in ["proc", "sys", "dev", "run", "root", "disk", "usr/sbin", "usr/lib64"] {
        tree.add(dir, Node::Dir(0o755));
    }
    for dir in ["tmp", "var/tmp"] {
        tree.add(dir, Node::Dir(0o1777));
    }
    tree.add("dev/console", Node::Device { mode: 0o600, major: 5, minor: 1 });
    tree.add("dev/null", Node::Device { mode: 0o666, major: 1, minor: 3 });
    for (path, text) in [
        ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
        ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
        ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ] {
        tree.add(path, Node::File { mode: 0o644, bytes: text.into() });
    }
    c.tools.place(&mut tree)?;
    let found = match c.kernel.modules_dir() {
        Some(dir) => modules::find(&dir, c.modules)?,
        None => modules::Found::none_of(c.modules),
    };
    for f in &found.files {
        tree.add(&format!("usr{MODULES_DIR}/{}", f.name), Node::File { mode: 0o644, bytes: f.bytes.clone() });
    }
    let list = found.files.iter().fold(String::new(), |list, f| list + &f.name + "\n");
    tree.add(MODULES_LIST.trim_start_matches('/'), Node::File { mode: 0o644, bytes: list.into() });
    tree.add("init", Node::File { mode: 0o755, bytes: init });
    for e in c.extra {
        let guest = archive::guest_path(e.guest)
            .ok_or_else(|| ImageError::Unfit(format!("{} is not an absolute path of a file", e.guest)))?;
        let bytes = rtscope_files::read(e.host, rtscope_files::LARGE).map_err(ImageError::io(e.host))?;
        tree.add(&guest, Node::File { mode: e.mode & 0o7777, bytes });
    }
    Ok((tree, found))
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
