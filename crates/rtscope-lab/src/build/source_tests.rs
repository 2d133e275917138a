//! Tests of sources, with trees of two files.

use super::*;
use proptest::prelude::*;
use rtscope_failure::Problem as _;

const MAKEFILE: &str =
    "# SPDX-License-Identifier: GPL-2.0\nVERSION = 6\nPATCHLEVEL = 13\nSUBLEVEL = 0\nEXTRAVERSION = -rc1\nNAME = Baby\n";

/// A tree in `dir`.
fn plant(dir: &Path) {
    fs::create_dir_all(dir.join("kernel")).unwrap();
    fs::write(dir.join("Makefile"), MAKEFILE).unwrap();
    fs::write(dir.join("kernel/Kconfig.preempt"), "config PREEMPT\n").unwrap();
}

fn of(cache: &Path, source: &BuildSource) -> Result<Tree, BuildError> {
    tree(cache, &Wanted { source, rt: false, arch: Arch::host(), update: false }, &StopHandle::new(), &mut |_| {})
}

#[test]
fn a_directory_is_what_its_files_are_whatever_git_does() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, home) = (dir.path().join("cache"), dir.path().join("linux"));
    plant(&home);
    let source = BuildSource::Tree(home.clone());
    let first = of(&cache, &source).unwrap();
    assert_eq!((first.name.as_str(), first.sha256.len()), ("6.13.0-rc1", 64));
    fs::create_dir(home.join(".git")).unwrap();
    fs::write(home.join(".git/index"), "1").unwrap();
    assert_eq!(of(&cache, &source).unwrap(), first);
    fs::write(home.join("kernel/fork.c"), "").unwrap();
    assert_ne!(of(&cache, &source).unwrap().sha256, first.sha256);
    fs::write(home.join(".config"), "").unwrap();
    let e = of(&cache, &source).unwrap_err();
    assert!(e.is_usage() && e.remedy().contains("mrproper"), "{e}");
}

#[test]
fn a_tarball_is_unpacked_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    plant(&dir.path().join("linux-6.13"));
    let file = dir.path().join("a:b.tar");
    let packed =
        sys::process::command("tar").args(["--force-local", "-cf"]).arg(&file).arg("-C").arg(dir.path()).arg("linux-6.13").status();
    assert!(packed.unwrap().success());
    let source = BuildSource::Tarball(file.clone());
    let first = of(&cache, &source).unwrap();
    assert!(first.dir.starts_with(cache.join("sources")) && first.dir.join("kernel/Kconfig.preempt").is_file());
    fs::write(first.dir.join("mark"), "").unwrap();
    assert_eq!(of(&cache, &source).unwrap(), first);
    assert!(first.dir.join("mark").is_file(), "unpacked again");
    // Neither what is no tarball nor a tarball of something else leaves a tree.
    fs::write(&file, "no tarball").unwrap();
    assert!(matches!(of(&cache, &source), Err(BuildError::Failed { .. })));
    let packed = sys::process::command("tar")
        .args(["--force-local", "-cf"])
        .arg(&file)
        .arg("-C")
        .arg(dir.path().join("linux-6.13"))
        .arg("Makefile")
        .status();
    assert!(packed.unwrap().success());
    assert!(of(&cache, &source).unwrap_err().is_usage());
    assert_eq!(fs::read_dir(cache.join("sources")).unwrap().flatten().filter(|e| e.path().join("Makefile").is_file()).count(), 1);
}

#[test]
fn what_is_no_tree_or_where_none_can_be_built_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let e = of(dir.path(), &BuildSource::Tree(dir.path().into())).unwrap_err();
    assert!(e.is_usage() && e.to_string().contains("not a kernel's tree"), "{e}");
    for wrong in ["li nux", "li:nux"] {
        plant(&dir.path().join(wrong));
        let e = of(dir.path(), &BuildSource::Tree(dir.path().join(wrong))).unwrap_err();
        assert!(e.is_usage() && e.to_string().contains("blank or a colon"), "{e}");
    }
}

#[test]
fn debians_patches_are_applied_in_the_order_of_their_list() {
    if find_program("patch").is_none() {
        return; // `./x test` installs it
    }
    let dir = tempfile::tempdir().unwrap();
    let (tree, rt, cache) = (dir.path().join("linux"), dir.path().join("debian/patches-rt"), dir.path().join("cache"));
    plant(&tree);
    fs::create_dir_all(&rt).unwrap();
    fs::create_dir_all(&cache).unwrap();
    let step = |from: &str, to: &str| {
        format!("--- a/kernel/Kconfig.preempt\n+++ b/kernel/Kconfig.preempt\n@@ -1 +1 @@\n-config {from}\n+config {to}\n")
    };
    fs::write(rt.join("b.patch"), step("PREEMPT", "HALF")).unwrap();
    fs::write(rt.join("a.patch"), step("HALF", "PREEMPT_RT")).unwrap();
    fs::write(rt.join("series"), "# a comment\nb.patch\n\na.patch\n").unwrap();
    let tarball = dir.path().join("linux_6.1.debian.tar");
    let pack = || {
        let tar = sys::process::command("tar").arg("-cf").arg(&tarball).arg("-C").arg(dir.path()).arg("debian").status();
        assert!(tar.unwrap().success());
    };
    pack();
    patch(&tree, &tarball, &cache, &StopHandle::new()).unwrap();
    assert_eq!(fs::read_to_string(tree.join("kernel/Kconfig.preempt")).unwrap(), "config PREEMPT_RT\n");
    // One that does not fit is an error that names it, not a tree with half of them.
    let e = patch(&tree, &tarball, &cache, &StopHandle::new()).unwrap_err();
    assert!(e.to_string().contains("b.patch"), "{e}");
}

#[test]
fn a_makefile_in_latin_1_is_one_too() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("linux");
    plant(&home);
    fs::write(home.join("Makefile"), [MAKEFILE.as_bytes(), b"# Copyright J\xf6rg\n"].concat()).unwrap();
    assert_eq!(of(dir.path(), &BuildSource::Tree(home)).unwrap().name, "6.13.0-rc1");
}

#[test]
fn a_makefile_says_its_version() {
    assert_eq!(version(MAKEFILE).unwrap(), "6.13.0-rc1");
    assert_eq!(version("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n").unwrap(), "6.12.117");
    for wrong in ["", "VERSION = x\nPATCHLEVEL = 1\n", "VERSION = 6\n", "VERSION := 6\nPATCHLEVEL := 1\n"] {
        assert_eq!(version(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn any_makefile_is_read(text in "((VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) ?=? ?[0-9a-z/ -]{0,4}\n){0,5}") {
        let _ = version(&text);
    }
}
