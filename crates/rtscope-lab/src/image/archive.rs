//! Writes a tree of files as a cpio archive (newc, Documentation/driver-api/early-userspace/buffer-format.rst):
//! sorted, owned by root, without times.

use super::error::ImageError;
use cpio::newc::{Builder, ModeFileType, trailer};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// An entry of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A directory, with its permission bits.
    Dir(u32),
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    /// A symbolic link.
    Link(String),
    /// A character device.
    Device {
        mode: u32,
        major: u32,
        minor: u32,
    },
}

/// The tree: entries by path, without a leading `/`.
#[derive(Debug, Default)]
pub(super) struct Tree(BTreeMap<String, Node>);

impl Tree {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds an entry, replacing one at the same path, and any missing parent directories.
    pub(super) fn add(&mut self, path: &str, node: Node) {
        for (end, _) in path.match_indices('/') {
            self.0.entry(path[..end].to_owned()).or_insert(Node::Dir(0o755));
        }
        self.0.insert(path.to_owned(), node);
    }

    /// Whether something is at `path`.
    pub(super) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}

/// Converts a guest path to a path of the tree, resolving the merged `/usr` (`/bin` to `usr/bin`); `None` if it
/// is not the absolute path of a file.
pub(super) fn guest_path(path: &str) -> Option<String> {
    let within = path.strip_prefix('/')?;
    if within.is_empty() || within.split('/').any(|p| p.is_empty() || p == "." || p == "..") {
        return None;
    }
    let (first, rest) = within.split_once('/').unwrap_or((within, ""));
    let merged = matches!(first, "bin" | "sbin" | "lib" | "lib64") && !rest.is_empty();
    Some(if merged { format!("usr/{within}") } else { within.to_owned() })
}

/// Writes the archive.
pub(super) fn write(tree: &Tree, path: &Path) -> Result<(), ImageError> {
    let file = rtscope_files::fresh(path).map_err(ImageError::io(path))?;
    let out = BufWriter::new(file);
    let file = write_to(tree, out)
        .and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error))
        .map_err(ImageError::io(path))?;
    file.sync_all().map_err(ImageError::io(path))
}

fn write_to<W: Write>(tree: &Tree, mut out: W) -> io::Result<W> {
    for (inode, (path, node)) in (1..).zip(&tree.0) {
        let entry = Builder::new(path).ino(inode);
        let (entry, bytes): (_, &[u8]) = match node {
            Node::Dir(mode) => (entry.mode(*mode).nlink(2).set_mode_file_type(ModeFileType::Directory), &[]),
            Node::File { mode, bytes } => (entry.mode(*mode).set_mode_file_type(ModeFileType::Regular), bytes),
            Node::Link(to) => (entry.mode(0o777).set_mode_file_type(ModeFileType::Symlink), to.as_bytes()),
            Node::Device { mode, major, minor } => {
                (entry.mode(*mode).rdev_major(*major).rdev_minor(*minor).set_mode_file_type(ModeFileType::Char), &[])
            }
        };
        let size = u32::try_from(bytes.len())
            .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, format!("{path} has over 4 GiB")))?;
        let mut writer = entry.write(out, size);
        writer.write_all(bytes)?;
        out = writer.finish()?;
    }
    trailer(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;
    use proptest::prelude::*;

    /// Name, mode and content of each entry.
    fn read(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let (mut from, mut entries) = (bytes, Vec::new());
        loop {
            let mut reader = Reader::new(from).unwrap();
            if reader.entry().is_trailer() {
                return entries;
            }
            assert_eq!((reader.entry().uid(), reader.entry().gid(), reader.entry().mtime()), (0, 0, 0));
            let mut content = Vec::new();
            io::copy(&mut reader, &mut content).unwrap();
            entries.push((reader.entry().name().to_owned(), reader.entry().mode(), content));
            from = reader.finish().unwrap();
        }
    }

    #[test]
    fn directories_come_before_what_is_in_them() {
        let mut tree = Tree::new();
        tree.add("usr/lib/x", Node::File { mode: 0o644, bytes: b"abc".to_vec() });
        tree.add("usr-x", Node::Link("usr".into()));
        tree.add("dev/null", Node::Device { mode: 0o666, major: 1, minor: 3 });
        let entries = read(&write_to(&tree, Vec::new()).unwrap());
        let names: Vec<(&str, u32)> = entries.iter().map(|e| (e.0.as_str(), e.1)).collect();
        let expected = [
            ("dev", 0o040_755),
            ("dev/null", 0o020_666),
            ("usr", 0o040_755),
            ("usr-x", 0o120_777),
            ("usr/lib", 0o040_755),
            ("usr/lib/x", 0o100_644),
        ];
        assert_eq!(names, expected);
        assert_eq!((&*entries[3].2, &*entries[5].2), (&b"usr"[..], &b"abc"[..]));
    }

    #[test]
    fn paths_of_the_guest_stay_in_it() {
        assert_eq!(guest_path("/bin/x").as_deref(), Some("usr/bin/x"));
        assert_eq!(guest_path("/usr/bin/x").as_deref(), Some("usr/bin/x"));
        assert_eq!(guest_path("/root/bin/x").as_deref(), Some("root/bin/x"));
        for wrong in ["x", "/", "/a/../b", "//a", "/a/"] {
            assert_eq!(guest_path(wrong), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_and_is_the_same_each_time(
            files in prop::collection::btree_map("[a-z]{1,9}(/[a-z]{1,9}){0,3}", prop::collection::vec(any::<u8>(), 0..40), 0..9)
        ) {
            let (mut forth, mut back) = (Tree::new(), Tree::new());
            for (path, bytes) in &files {
                forth.add(&format!("d/{path}.x"), Node::File { mode: 0o600, bytes: bytes.clone() });
            }
            for (path, bytes) in files.iter().rev() {
                back.add(&format!("d/{path}.x"), Node::File { mode: 0o600, bytes: bytes.clone() });
            }
            let archive = write_to(&forth, Vec::new()).unwrap();
            prop_assert_eq!(&archive, &write_to(&back, Vec::new()).unwrap());
            let mut found: Vec<_> = read(&archive).into_iter().filter(|e| e.1 == 0o100_600).map(|e| (e.0, e.2)).collect();
            let mut expected: Vec<_> = files.into_iter().map(|(p, b)| (format!("d/{p}.x"), b)).collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
