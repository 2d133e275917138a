//! Debian packages of kernels: where they may go, and what they may be called. Both are looked at before anything is compiled.

use super::config::Config;
use super::error::BuildError;
use super::kconfig;
use super::order::BuildSource;
use super::source::Tree;
use crate::kernels::KernelName;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Refuses a directory for packages at or below the source's tree: nothing is written there, and with other files in it it would be
/// another source the next time.
pub(super) fn beside(source: &BuildSource, dir: &Path) -> Result<(), BuildError> {
    let BuildSource::Tree(tree) = source else { return Ok(()) };
    let tree = fs::canonicalize(tree).map_err(BuildError::io(tree))?;
    if !real(dir).map_err(BuildError::io(dir))?.starts_with(&tree) {
        return Ok(());
    }
    let message = format!("{} is in the source's tree {}, where nothing is written", dir.display(), tree.display());
    Err(BuildError::ask(message, "name a directory outside it: --deb DIR"))
}

/// Where a path leads, whose end may not be there yet.
fn real(path: &Path) -> std::io::Result<PathBuf> {
    let mut at = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        if part == Component::ParentDir {
            at.pop();
        } else {
            at.push(part);
            at = fs::canonicalize(&at).unwrap_or(at);
        }
    }
    Ok(at)
}

/// Refuses a kernel whose release, which ends in `suffix`, can't be in a package's name. The release is put together as the kernel's
/// build system does it (`scripts/setlocalversion`), but for what git may add.
pub(super) fn nameable(kernel: &KernelName, suffix: &str, tree: &Tree, config: &Config) -> Result<(), BuildError> {
    let parts = [
        ("its Makefile", tree.version.clone()),
        ("its localversion files", localversion(&tree.dir).map_err(BuildError::io(&tree.dir))?),
        (
            "CONFIG_LOCALVERSION",
            Some(config.get("LOCALVERSION").trim_matches('"')).filter(|v| *v != "n").unwrap_or_default().into(),
        ),
        ("what is varied", suffix.to_owned()),
    ];
    let Some((of, part)) = parts.iter().find(|(_, part)| !part.bytes().all(is_of_name)) else { return Ok(()) };
    let message = format!("{kernel} can't be a Debian package: its release has `{}`, from {of}", part.escape_debug());
    Err(BuildError::ask(message, "a package's name has a-z, 0-9, +, - and . alone: change that, or leave out --deb"))
}

/// Whether a package's name may have it.
fn is_of_name(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b)
}

/// What the tree's `localversion*` files add to the release.
fn localversion(tree: &Path) -> std::io::Result<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(tree)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    let is_one = |name: &[u8]| name.starts_with(b"localversion") && !name.contains(&b'~');
    files.retain(|p| p.file_name().is_some_and(|n| is_one(n.as_encoded_bytes())));
    files.sort();
    files.iter().map(|p| kconfig::text(p).map(|text| text.trim_end().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Arch;
    use rtscope_failure::Problem as _;

    #[test]
    fn nothing_is_put_into_the_tree() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("linux/kernel")).unwrap();
        std::os::unix::fs::symlink(at("linux"), at("link")).unwrap();
        let tree = BuildSource::Tree(at("link"));
        for wrong in ["linux", "linux/debs", "link/new/debs", "linux/kernel/../debs", "new/../linux/debs"] {
            let e = beside(&tree, &at(wrong)).unwrap_err();
            assert!(
                e.is_usage() && e.to_string().contains("in the source's tree") && e.remedy().contains("outside"),
                "{wrong}: {e}"
            );
        }
        for right in ["debs", ".", "linux-debs", "linux/../debs", "new/debs"] {
            beside(&tree, &at(right)).unwrap();
        }
        beside(&BuildSource::Debian("6.12".into()), &at("linux/debs")).unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "a directory was made");
    }

    #[test]
    fn what_no_package_can_be_called_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let tree = |version: &str| Tree {
            dir: home.path().into(),
            sha256: String::new(),
            about: String::new(),
            name: String::new(),
            version: version.into(),
        };
        let kernel = KernelName::own("mine-rt", Arch::Amd64).unwrap();
        let said = |version: &str, config: &str| nameable(&kernel, "-rt", &tree(version), &Config::parse(config));
        said("6.13.0-rc1", "CONFIG_LOCALVERSION=\"-board.1+\"\n").unwrap();
        said("6.13.0", "").unwrap();
        for (version, config, of) in [
            ("6.13.0-Vendor", "", "`6.13.0-Vendor`, from its Makefile"),
            ("6.13.0", "CONFIG_LOCALVERSION=\"-board_1\"\n", "`-board_1`, from CONFIG_LOCALVERSION"),
        ] {
            let e = said(version, config).unwrap_err();
            assert!(e.is_usage() && e.to_string().contains(of) && e.remedy().contains("--deb"), "{e}");
        }
        for (name, text) in [("localversion-rt", "-rt5\n"), ("localversion~", "-A\n"), ("version", "-B\n")] {
            fs::write(home.path().join(name), text).unwrap();
        }
        said("6.13.0", "").unwrap();
        fs::write(home.path().join("localversion"), "-BSP\n").unwrap();
        assert!(said("6.13.0", "").unwrap_err().to_string().contains("`-BSP-rt5`, from its localversion files"));
    }
}
