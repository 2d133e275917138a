//! Moves a kernel's unpacked files to their places in the cache.

use super::KernelError;
use super::manifest::{CONFIG, MODULES, VMLINUZ};
use std::fs;
use std::path::{Path, PathBuf};

/// Moves image, configuration and modules from the unpacked packages at `root` to `work`. Newer packages of Debian have
/// all of them in the modules' directory, and that below `/usr`.
pub(super) fn place(root: &Path, work: &Path, release: &str) -> Result<(), KernelError> {
    let modules = work.join(MODULES).join(release);
    fs::create_dir_all(&modules).map_err(KernelError::io(&modules))?;
    for dir in ["lib/modules", "usr/lib/modules"] {
        let from = root.join(dir).join(release);
        if from.is_dir() {
            merge(&from, &modules)?;
        }
    }
    // A headers' package puts its own links beside the modules.
    for link in ["build", "source"] {
        let _ = fs::remove_file(modules.join(link));
    }
    for (there, name, here) in [("boot/vmlinuz-", "vmlinuz", VMLINUZ), ("boot/config-", "config", CONFIG)] {
        let of_boot = root.join(format!("{there}{release}"));
        let from = if of_boot.is_file() { of_boot } else { modules.join(name) };
        rename(&from, &work.join(here))?;
    }
    Ok(())
}

/// Moves everything in `from` to `to`. What two packages have, which none do, stays as the first had it.
fn merge(from: &Path, to: &Path) -> Result<(), KernelError> {
    for entry in fs::read_dir(from).map_err(KernelError::io(from))? {
        let entry = entry.map_err(KernelError::io(from))?;
        let (of, target): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        if fs::symlink_metadata(&target).is_err() {
            rename(&of, &target)?;
        } else if of.is_dir() && target.is_dir() {
            merge(&of, &target)?;
        }
    }
    Ok(())
}

fn rename(from: &Path, to: &Path) -> Result<(), KernelError> {
    fs::rename(from, to).map_err(KernelError::io(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }

    #[test]
    fn a_kernel_is_found_where_its_packages_have_it() {
        for files in [
            ["boot/vmlinuz-6.1", "boot/config-6.1", "lib/modules/6.1/kernel/a.ko", "lib/modules/6.1/kernel/fs/b.ko"],
            [
                "usr/lib/modules/6.1/vmlinuz",
                "usr/lib/modules/6.1/config",
                "usr/lib/modules/6.1/kernel/a.ko",
                "usr/lib/modules/6.1/kernel/fs/b.ko",
            ],
            ["boot/vmlinuz-6.1", "boot/config-6.1", "usr/lib/modules/6.1/kernel/a.ko", "lib/modules/6.1/kernel/fs/b.ko"],
        ] {
            let dir = tempfile::tempdir().unwrap();
            let (root, work) = (dir.path().join("root"), dir.path().join("work"));
            for file in files {
                write(&root, file);
            }
            place(&root, &work, "6.1").unwrap();
            for there in ["vmlinuz", "config", "lib/modules/6.1/kernel/a.ko", "lib/modules/6.1/kernel/fs/b.ko"] {
                assert!(work.join(there).is_file(), "{there} of {files:?}");
            }
            assert!(!work.join("lib/modules/6.1/vmlinuz").exists());
        }
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        assert!(place(&dir.path().join("root"), dir.path(), "6.1").is_err(), "no image");
    }
}
