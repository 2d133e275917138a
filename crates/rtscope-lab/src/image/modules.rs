//! Kernel modules for a guest: the wanted ones and their dependencies, in loading order.
//!
//! A Debian package has no `modules.dep` (depmod runs at installation), so the dependencies are read from the
//! modules themselves.

use super::elf;
use super::error::ImageError;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use rtscope_files::digest;
use ruzstd::decoding::StreamingDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// A module, decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Module {
    /// File name, such as `null_blk.ko`.
    pub(super) name: String,
    /// The decompressed file.
    pub(super) bytes: Vec<u8>,
}

/// The result of a search for modules.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In loading order.
    pub(super) files: Vec<Module>,
    /// Modules that are neither files nor built in, sorted.
    pub(super) missing: Vec<String>,
}

impl Found {
    /// For a kernel that came without modules. It may have everything built in, but there is no list that says so.
    pub(super) fn none_of(wanted: &[&str]) -> Self {
        let missing: BTreeSet<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
        Self { files: Vec::new(), missing: missing.into_iter().collect() }
    }
}

/// Searches for `wanted` in `dir`, a `lib/modules/RELEASE` directory.
pub(super) fn find(dir: &Path, wanted: &[&str]) -> Result<Found, ImageError> {
    let mut search = Search { by_name: BTreeMap::new(), built_in: BTreeSet::new(), seen: BTreeSet::new(), found: Found::default() };
    for path in digest::files(dir).map_err(ImageError::io(dir))? {
        if let Some(name) = path.file_name().and_then(|n| n.to_str()).and_then(module_name) {
            search.by_name.insert(name, path);
        }
    }
    let list = rtscope_files::read_text(&dir.join("modules.builtin"), rtscope_files::SMALL).unwrap_or_default();
    search.built_in.extend(list.lines().filter_map(|l| module_name(l.rsplit('/').next().unwrap_or(l))));
    for name in wanted {
        search.take(&plain(name))?;
    }
    search.found.missing.sort();
    Ok(search.found)
}

struct Search {
    by_name: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
    seen: BTreeSet<String>,
    found: Found,
}

impl Search {
    /// Adds a module after everything it depends on.
    fn take(&mut self, name: &str) -> Result<(), ImageError> {
        if !self.seen.insert(name.to_owned()) || self.built_in.contains(name) {
            return Ok(());
        }
        let Some(path) = self.by_name.get(name).cloned() else {
            self.found.missing.push(name.to_owned());
            return Ok(());
        };
        let bytes = read(&path)?;
        let info = elf::modinfo(&bytes).map_err(|why| ImageError::unreadable(&path, why))?;
        let (before, after) = soft(&info);
        for name in before {
            self.take_soft(&name)?;
        }
        for (_, names) in info.iter().filter(|(k, _)| k == "depends") {
            for name in names.split(',').filter(|n| !n.is_empty()) {
                self.take(&plain(name))?;
            }
        }
        self.found.files.push(Module { name: format!("{name}.ko"), bytes });
        for name in after {
            self.take_soft(&name)?;
        }
        Ok(())
    }

    /// Adds a soft dependency, if the kernel has it.
    fn take_soft(&mut self, name: &str) -> Result<(), ImageError> {
        let there = soft_names(name).into_iter().find(|n| self.by_name.contains_key(n));
        there.map_or(Ok(()), |n| self.take(&n))
    }
}

/// The modules that may satisfy a soft dependency. It names a module, or the alias of an algorithm
/// (`crypto-crc32c`); for an alias the portable C implementation (`crc32c_generic`) works in every guest.
fn soft_names(name: &str) -> [String; 3] {
    let algorithm = plain(name.strip_prefix("crypto-").unwrap_or(name));
    [plain(name), format!("{algorithm}_generic"), algorithm]
}

/// The soft dependencies loaded before a module and after it, from `softdep=pre: a b post: c`.
fn soft(info: &[(String, String)]) -> (Vec<String>, Vec<String>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (_, text) in info.iter().filter(|(k, _)| k == "softdep") {
        let mut to = None;
        for word in text.split_whitespace() {
            match word {
                "pre:" => to = Some(&mut before),
                "post:" => to = Some(&mut after),
                _ => to.iter_mut().for_each(|t| t.push(word.to_owned())),
            }
        }
    }
    (before, after)
}

/// The module name with `_` for `-`: the kernel treats them as equal.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

/// The name of the module in a file of this name; `None` if it is not a module.
fn module_name(file: &str) -> Option<String> {
    let (name, end) = file.split_once(".ko")?;
    matches!(end, "" | ".xz" | ".gz" | ".zst").then(|| plain(name))
}

/// Largest module that is read, bytes.
const LARGEST: u64 = 256 << 20;

/// A module file's content, unpacked.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    let file = rtscope_files::open(path).map_err(ImageError::io(path))?;
    let mut bytes = Vec::new();
    match path.extension().and_then(|e| e.to_str()) {
        Some("ko") => file.take(LARGEST).read_to_end(&mut bytes),
        Some("xz") => XzReader::new(BufReader::new(file), true).take(LARGEST).read_to_end(&mut bytes),
        Some("gz") => MultiGzDecoder::new(BufReader::new(file)).take(LARGEST).read_to_end(&mut bytes),
        // Of the endings that `module_name` accepts, only `.ko.zst` is left.
        _ => StreamingDecoder::new(BufReader::new(file))
            .map_err(|e| ImageError::unreadable(path, e))?
            .take(LARGEST)
            .read_to_end(&mut bytes),
    }
    .map_err(ImageError::io(path))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn module_files_are_known_by_their_names() {
        assert_eq!(module_name("crc32c-intel.ko.xz").as_deref(), Some("crc32c_intel"));
        assert_eq!(module_name("null_blk.ko").as_deref(), Some("null_blk"));
        assert_eq!((module_name("modules.order"), module_name("a.ko.bak")), (None, None));
    }

    #[test]
    fn a_module_is_read_however_it_is_compressed() {
        use base64::Engine;
        let dir = tempfile::tempdir().unwrap();
        // "module" packed by `xz --check=crc32`, `gzip -n` and `zstd`, the way the kernel's build compresses modules.
        for (end, packed) in [
            ("ko", "bW9kdWxl"),
            ("ko.xz", "/Td6WFoAAAFpIt42AgAhARYAAAB0L+WjAQAFbW9kdWxlAAAAKCYkDAABGgbF6sh5kEKZDQEAAAAAAVla"),
            ("ko.gz", "H4sIAAAAAAAAA8vNTynNSQUAKCYkDAYAAAA="),
            ("ko.zst", "KLUv/QRYMQAAbW9kdWxlXYmpjQ=="),
        ] {
            let path = dir.path().join(format!("a.{end}"));
            let bytes = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(read(&path).unwrap(), b"module", "{end}");
            std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
            assert!(end == "ko" || read(&path).is_err(), "cut off: {end}");
        }
    }

    #[test]
    fn soft_dependencies_have_their_sides() {
        let info = [("softdep".to_owned(), "pre: a b post: c".to_owned()), ("softdep".to_owned(), "pre: d".to_owned())];
        let (before, after) = soft(&info);
        assert_eq!((before, after), (vec!["a".into(), "b".into(), "d".into()], vec!["c".to_owned()]));
        assert!(soft_names("crypto-crc32c").contains(&"crc32c_generic".to_owned()), "what ext4 of 6.1 wants");
    }

    proptest! {
        #[test]
        fn any_soft_dependency_is_read(text in "(pre:|post:| |[a-z]{1,4}){0,9}") {
            soft(&[("softdep".into(), text)]);
        }
    }
}
