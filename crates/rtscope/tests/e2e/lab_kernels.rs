//! `lab kernels` with a kernel of the user's own; needs no network.

use crate::world::{Said, World, installed, skip};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[test]
fn an_empty_cache_lists_what_there_is() {
    let w = World::new();
    insta::assert_snapshot!("lab-kernels", w.line("lab kernels").ends_with(0).out);
    assert_eq!(w.line("lab kernels list --json").ends_with(0).out, w.line("lab kernels --json").ends_with(0).out);
}

#[test]
fn an_own_kernel_goes_in_and_out() {
    let w = World::new();
    w.file("bzImage", "Linux version 6.15.0-mine (me)");
    w.file("kernel.config", "CONFIG_PREEMPT_RT=y\n");
    let added = w.line("lab kernels add mine --arch armhf --vmlinuz bzImage --config kernel.config").ends_with(0).out;
    assert!(added.starts_with("own/mine/armhf 6.15.0-mine own sha256 "), "{added}");
    let row = |w: &World| {
        let all: Vec<Value> = serde_json::from_str(&w.line("lab kernels --json").ends_with(0).out).unwrap();
        all.into_iter().find(|r| r["name"] == "own/mine/armhf")
    };
    let kernel = row(&w).unwrap()["kernel"].clone();
    assert_eq!((&kernel["rt"], &kernel["release"], &kernel["version"]), (&true.into(), &"6.15.0-mine".into(), &Value::Null));
    let vmlinuz = kernel["vmlinuz"].as_str().unwrap();
    assert!(vmlinuz.starts_with(w.path("cache").to_str().unwrap()));
    let said: Said = w.command(&["lab", "kernels"]).env("COLUMNS", "80").output().unwrap().into();
    let out = said.ends_with(0).out;
    let own = out.lines().find(|l| l.starts_with("own/mine/armhf")).unwrap_or_default();
    assert!(own.contains("6.15.0-mine") && own.contains(" rt ") && own.ends_with(" MB"), "{out}");
    assert!(out.lines().all(|l| l.chars().count() <= 80), "{out}");
    w.line("lab kernels verify").ends_with(0);
    std::fs::write(vmlinuz, "linux version 6.15.0-mine (me)").unwrap();
    w.line("lab kernels verify").ends_with(3).complains(&["damaged", "not what was fetched"]);
    w.line("lab kernels remove own/mine/armhf").ends_with(0);
    assert!(row(&w).is_none());
}

#[test]
fn the_cache_is_where_it_is_said_to_be() {
    let w = World::new();
    w.file("bzImage", "Linux version 6.15.0 (me)");
    let said: crate::world::Said = w
        .command(&["lab", "kernels", "add", "x", "--vmlinuz", "bzImage"])
        .env("RTSCOPE_CACHE", w.path("c"))
        .output()
        .unwrap()
        .into();
    said.ends_with(0);
    assert!(w.path("c/kernels/own/x").is_dir() && !w.path("cache/rtscope").exists());
    let said: crate::world::Said = w.command(&["lab", "kernels"]).env("RTSCOPE_CACHE", "c").output().unwrap().into();
    said.ends_with(2).complains(&["RTSCOPE_CACHE"]);
}

/// Packages as Fedora's are named and laid out.
const SPEC: &str = "\
Name: kernel
Version: %{v}
Release: %{r}
Summary: made up
License: none
%global rel %{v}-%{r}.x86_64
%define __os_install_post %{nil}
%define debug_package %{nil}
%description
made up
%package core
Summary: made up
%description core
made up
%package modules-core
Summary: made up
%description modules-core
made up
%package modules
Summary: made up
%description modules
made up
%install
d=%{buildroot}/lib/modules/%{rel}
mkdir -p $d/kernel/fs
echo 'Linux version %{rel} (me)' > $d/vmlinuz
echo CONFIG_PREEMPT_DYNAMIC=y > $d/config
echo a > $d/kernel/a.ko
echo b > $d/kernel/fs/b.ko
%files core
/lib/modules/%{rel}/vmlinuz
/lib/modules/%{rel}/config
%files modules-core
/lib/modules/%{rel}/kernel/a.ko
%files modules
/lib/modules/%{rel}/kernel/fs/b.ko
";

fn made(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// A repository with one version of the kernel, signed or not.
fn repository(w: &World, path: &str, (version, release): (&str, &str), sign: bool) {
    let (at, top) = (w.path(path), w.path("build"));
    std::fs::create_dir_all(&at).unwrap();
    let define = |c: &mut Command, what: &str| {
        c.args(["--define", what]);
    };
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", "x86_64"]).arg(w.file("k.spec", SPEC));
    // As Fedora's are: rpm 6 makes packages of another format by itself, which bsdtar does not read.
    for what in [format!("_topdir {}", top.display()), format!("v {version}"), format!("r {release}"), "_rpmformat 4".into()] {
        define(&mut build, &what);
    }
    made(&mut build);
    for entry in std::fs::read_dir(top.join("RPMS/x86_64")).unwrap().map(Result::unwrap) {
        let file = at.join(entry.file_name());
        std::fs::rename(entry.path(), &file).unwrap();
        if sign {
            let mut command = Command::new("rpmsign");
            for what in ["__gpg /usr/bin/gpg".to_owned(), "_gpg_name one".into(), format!("_gpg_path {}", w.path("gpg").display())]
            {
                define(&mut command, &what);
            }
            made(command.arg("--addsign").arg(&file));
        }
    }
    made(Command::new("createrepo_c").arg("--quiet").arg(&at));
}

/// A new key by this name, and its public half as a file.
fn key(w: &World, name: &str) -> std::path::PathBuf {
    let gpg = |args: &[&str]| made(Command::new("gpg").args(["--batch", "--quiet", "--homedir"]).arg(w.path("gpg")).args(args));
    gpg(&["--passphrase", "", "--quick-gen-key", name, "rsa2048", "sign", "never"]);
    w.file(&format!("{name}.asc"), gpg(&["--armor", "--export", name]))
}

#[test]
fn a_kernel_of_fedoras_comes_from_the_mirror_and_with_the_keys_that_are_named() {
    let missing = ["dnf", "rpmbuild", "rpmsign", "rpmkeys", "createrepo_c", "bsdtar", "gpg"].into_iter().find(|p| !installed(p));
    if let Some(missing) = missing {
        return skip(&format!("{missing} is not installed"));
    }
    let w = World::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(w.path("gpg")).unwrap();
    let (one, other) = (key(&w, "one"), key(&w, "other"));
    repository(&w, "mirror/releases/44/Everything/x86_64/os", ("6.17.10", "300.fc44"), true);
    repository(&w, "mirror/updates/44/Everything/x86_64", ("6.18.2", "200.fc44"), true);
    let fetch = |name: &str, keys: &Path| -> Said {
        let mut command = w.command(&["lab", "kernels", "fetch", name, "--update"]);
        command.env("RTSCOPE_FEDORA_MIRROR", format!("file://{}", w.path("mirror").display())).env("RTSCOPE_FEDORA_KEYS", keys);
        // The guest's tools, which come after the kernel, are not of interest here.
        command.env("RTSCOPE_DEBIAN_MIRROR", "file:///nowhere").output().unwrap().into()
    };
    let cached = || {
        let all: Vec<Value> = serde_json::from_str(&w.line("lab kernels --json").ends_with(0).out).unwrap();
        all.into_iter().find(|r| r["name"] == "fedora/44/amd64").unwrap()["kernel"].clone()
    };
    fetch("fedora/44/amd64", &other).ends_with(3).complains(&["rpmkeys --checksig", "NOT OK"]);
    assert!(cached().is_null(), "what is not signed by the right key is not there");
    let said = fetch("fedora/44/amd64", &one);
    assert!(said.err.contains("unpacking kernel-core-6.18.2-200.fc44.x86_64"), "{said:?}");
    let kernel = cached();
    assert!(kernel.is_object(), "{said:?}");
    assert_eq!((&kernel["release"], &kernel["rt"]), (&"6.18.2-200.fc44.x86_64".into(), &false.into()));
    let packages: Vec<&str> = kernel["packages"].as_array().unwrap().iter().map(|p| p["package"].as_str().unwrap()).collect();
    assert_eq!(
        (packages, kernel["modules"]["files"].as_u64()),
        (vec!["kernel-core", "kernel-modules-core", "kernel-modules"], Some(2))
    );
    w.line("lab kernels verify").ends_with(0);
    // One that nobody signed.
    repository(&w, "mirror/updates/44/Everything/x86_64", ("6.19.1", "100.fc44"), false);
    fetch("fedora/44/amd64", &one).ends_with(3).complains(&["rpmkeys --checksig", "NOT OK"]);
    assert_eq!(cached()["release"], "6.18.2-200.fc44.x86_64", "the old one stays");
    fetch("fedora/43/amd64", &one).ends_with(3).complains(&["dnf repoquery", "RTSCOPE_FEDORA_MIRROR"]);
    w.line("lab kernels fetch fedora/rawhide/amd64").ends_with(2).complains(&["RTSCOPE_FEDORA_MIRROR=http"]);
    w.line("lab kernels fetch fedora/44-rt").ends_with(2).complains(&["no PREEMPT_RT"]);
}
