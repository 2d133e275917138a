//! SHA-256 of files and trees, in lower-case hexadecimal.

use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A digest's bytes in hexadecimal.
pub fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().fold(String::new(), |text, b| text + &format!("{b:02x}"))
}

/// The digest of bytes.
pub fn bytes(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}

/// The digest of a file's content.
pub fn file(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    feed(&mut hash, path)?;
    Ok(hex(hash.finalize()))
}

/// The digest of every file and link below `root`: paths, lengths and contents, in the order of their paths, without owners and
/// times.
pub fn tree(root: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    for path in files(root)? {
        let name = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_encoded_bytes();
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        let meta = fs::symlink_metadata(&path)?;
        if meta.is_symlink() {
            let to = fs::read_link(&path)?;
            hash.update((to.as_os_str().len() as u64).to_le_bytes());
            hash.update(to.as_os_str().as_encoded_bytes());
        } else {
            hash.update(meta.len().to_le_bytes());
            feed(&mut hash, &path)?;
        }
    }
    Ok(hex(hash.finalize()))
}

/// Number and total size (bytes) of the files below `root`, without links.
pub fn count(root: &Path) -> io::Result<(u64, u64)> {
    let mut found = (0, 0);
    for path in files(root)? {
        let meta = fs::symlink_metadata(&path)?;
        if meta.is_file() {
            found = (found.0 + 1, found.1 + meta.len());
        }
    }
    Ok(found)
}

/// Everything below `root` that is not a directory, sorted by path. Links are not followed.
pub fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() { open.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    found.sort();
    Ok(found)
}

fn feed(hash: &mut Sha256, path: &Path) -> io::Result<()> {
    io::copy(&mut crate::open(path)?, hash).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_what_its_files_are() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c"), "abc").unwrap();
        fs::write(root.join("d"), "").unwrap();
        assert_eq!(file(&root.join("a/b/c")).unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let first = tree(root).unwrap();
        assert_eq!((tree(root).unwrap(), count(root).unwrap()), (first.clone(), (2, 3)));
        fs::rename(root.join("d"), root.join("e")).unwrap();
        let renamed = tree(root).unwrap();
        fs::write(root.join("a/b/c"), "abd").unwrap();
        let changed = tree(root).unwrap();
        assert!(first != renamed && renamed != changed);
        std::os::unix::fs::symlink("nowhere", root.join("l")).unwrap();
        assert_ne!(tree(root).unwrap(), changed);
        assert_eq!(count(root).unwrap(), (2, 3));
    }
}
