//! Which options the Kconfig files of a tree define.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// A file of a tree. Some vendors' are not UTF-8: what is not is replaced.
pub(super) fn text(path: &Path) -> io::Result<String> {
    rtscope_files::read(path, rtscope_files::SMALL).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Those of `options` that the tree at `dir` defines, on whatever architecture. Links are not followed.
pub(super) fn defined<'a>(dir: &Path, options: &BTreeSet<&'a str>) -> io::Result<BTreeSet<&'a str>> {
    let mut found = BTreeSet::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() && entry.file_name().as_encoded_bytes().starts_with(b"Kconfig") {
                let text = text(&entry.path())?;
                found.extend(text.lines().filter_map(|line| options.get(option(line)?)).copied());
            }
        }
    }
    Ok(found)
}

/// The option that a line begins to define.
fn option(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| ["config", "menuconfig"].contains(word))?;
    words.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_defined_in_some_kconfig_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("mm/deep")).unwrap();
        fs::write(dir.path().join("Kconfig"), "menuconfig A\n\tbool\n\tselect B\n").unwrap();
        // Also where it has a word in Latin-1.
        fs::write(dir.path().join("mm/deep/Kconfig.debug"), b"if A\n\tconfig C\n\t\tbool \"f\xfcr\"\nendif\n# config D\n").unwrap();
        fs::write(dir.path().join("mm/text"), "config E\n").unwrap();
        let all = ["A", "B", "C", "D", "E"].into();
        assert_eq!(defined(dir.path(), &all).unwrap(), ["A", "C"].into());
    }
}
