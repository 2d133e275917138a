//! Tests of images, with a user's own kernel and placeholder tools. They need no network.

use super::*;
use crate::kernels::{Arch, Kernels};
use rtscope_failure::Problem as _;

struct World {
    dir: tempfile::TempDir,
    kernel: CachedKernel,
    tools: Tools,
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let at = |p: &str| dir.path().join(p);
    fs::create_dir_all(at("6.15.0/kernel")).unwrap();
    fs::write(at("6.15.0/modules.order"), "").unwrap();
    fs::write(at("6.15.0/modules.builtin"), "kernel/drivers/virtio-pci.ko\n").unwrap();
    fs::write(at("bzImage"), "Linux version 6.15.0").unwrap();
    fs::write(at("init"), "#!/bin/sh\n").unwrap();
    let own = KernelName::own("mine", Arch::Amd64).unwrap();
    let kernel = Kernels::new(&cache).add_own(&own, &at("bzImage"), Some(&at("6.15.0")), None, None).unwrap();
    let made = cache.join("tools/amd64");
    fs::create_dir_all(made.join("root/usr/bin")).unwrap();
    fs::write(made.join("root/usr/bin/busybox"), "busybox").unwrap();
    fs::write(made.join("root/usr/bin/taskset"), "taskset").unwrap();
    tools::enter(&made, Arch::Amd64, Vec::new()).unwrap();
    let tools = Tools::get(&cache, Arch::Amd64).unwrap();
    World { dir, kernel, tools }
}

impl World {
    fn build(&self, modules: &[&str], extra: &[Extra<'_>]) -> Result<Image, ImageError> {
        let init = self.dir.path().join("init");
        let contents = Contents { kernel: &self.kernel, guest_program: &init, tools: &self.tools, modules, extra };
        Images::new(self.dir.path().join("cache")).build(&contents)
    }
}

#[test]
fn the_same_inputs_make_the_same_bytes() {
    let w = world();
    let first = w.build(&["virtio_pci", "null-blk"], &[]).unwrap();
    assert_eq!((first.modules.len(), &*first.missing), (0, &["null_blk".to_owned()][..]));
    assert_eq!(w.build(&["virtio_pci", "null-blk"], &[]).unwrap(), first);
    let bytes = fs::read(&first.path).unwrap();
    assert_eq!((digest::bytes(&bytes), bytes.len() as u64), (first.sha256.clone(), first.bytes));
    // Rebuilt, even after the cached image was truncated.
    fs::write(&first.path, "half").unwrap();
    assert_eq!(w.build(&["virtio_pci", "null-blk"], &[]).unwrap(), first);
    assert_eq!(fs::read(&first.path).unwrap(), bytes);
    fs::write(w.dir.path().join("init"), "#!/bin/sh\nexit\n").unwrap();
    assert_ne!(w.build(&["virtio_pci", "null-blk"], &[]).unwrap().sha256, first.sha256);
}

#[test]
fn tools_in_the_cache_are_had_without_writing_there() {
    let w = world();
    Tools::fetch(&w.dir.path().join("cache"), Arch::Amd64, false, &mut |_| panic!("nothing is fetched")).unwrap();
    assert!(!w.dir.path().join("cache/tools/amd64.lock").exists());
}

#[test]
fn cpio_lists_what_is_in_it() {
    let w = world();
    let host = w.dir.path().join("init");
    let extra = [Extra { guest: "/bin/probe", host: &host, mode: 0o755 }];
    let image = w.build(&[], &extra).unwrap();
    let archive = fs::File::open(&image.path).unwrap();
    let Ok(out) = std::process::Command::new("cpio").arg("-itv").stdin(archive).output() else { return };
    let listed = String::from_utf8(out.stdout).unwrap();
    for part in [
        "init",
        "bin -> usr/bin",
        "usr/bin/probe",
        "usr/bin/sh -> busybox",
        "dev/console",
        "drwxrwxrwt",
        "etc/rtscope/modules",
        "etc/profile",
        "usr/sbin/mkfs.ext4 -> mke2fs",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let taskset = listed.lines().find(|l| l.ends_with("usr/bin/taskset")).unwrap();
    assert!(taskset.starts_with("-rw"), "no applet takes the place of the real one: {taskset}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let w = world();
    let host = w.dir.path().join("init");
    for guest in ["probe", "/", "/../x"] {
        assert!(w.build(&[], &[Extra { guest, host: &host, mode: 0 }]).unwrap_err().is_usage());
    }
    fs::write(&host, "words").unwrap();
    assert!(w.build(&[], &[]).unwrap_err().is_usage());
    let cache = w.dir.path().join("cache");
    assert!(matches!(Tools::get(&cache, Arch::Armhf), Err(ImageError::NoTools { arch: Arch::Armhf })));
    fs::write(cache.join("tools/amd64/root/usr/bin/busybox"), "half").unwrap();
    assert!(Tools::get(&cache, Arch::Amd64).is_err());
}
