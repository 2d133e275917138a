//! Tests of the kernel cache, with a user's own kernels. They need no network.

use super::*;
use rtscope_failure::Problem as _;

/// A cache, and a kernel's files beside it.
fn world() -> (tempfile::TempDir, Kernels) {
    let dir = tempfile::tempdir().unwrap();
    let at = |p: &str| dir.path().join(p);
    fs::write(at("bzImage"), "..Linux version 6.15.0-test (me)").unwrap();
    fs::write(at("config"), "CONFIG_PREEMPT_RT=y\n").unwrap();
    fs::create_dir_all(at("lib/modules/6.15.0-mine/kernel/fs")).unwrap();
    fs::write(at("lib/modules/6.15.0-mine/modules.order"), "kernel/fs/a.ko\n").unwrap();
    fs::write(at("lib/modules/6.15.0-mine/kernel/fs/a.ko"), "module").unwrap();
    std::os::unix::fs::symlink("/", at("lib/modules/6.15.0-mine/build")).unwrap();
    let kernels = Kernels::new(at("cache"));
    (dir, kernels)
}

fn own() -> KernelName {
    KernelName::own("mine", Arch::Arm64).unwrap()
}

#[test]
fn an_own_kernel_is_added_listed_and_removed() {
    let (dir, kernels) = world();
    let modules = dir.path().join("lib/modules/6.15.0-mine");
    let vmlinuz = dir.path().join("bzImage");
    assert!(matches!(kernels.get(&own()), Err(KernelError::NotFetched { .. })));
    let added = kernels.add_own(&own(), &vmlinuz, Some(&modules), Some(&dir.path().join("config")), None).unwrap();
    assert_eq!((added.release.as_str(), added.rt, added.arch, added.version()), ("6.15.0-mine", Some(true), Arch::Arm64, None));
    assert_eq!(added.modules.as_ref().unwrap().files, 2);
    assert_eq!(fs::read(added.modules_dir().unwrap().join("kernel/fs/a.ko")).unwrap(), b"module");
    assert_eq!(kernels.get(&own()).unwrap(), added);
    added.verify().unwrap();
    let listed = kernels.list().unwrap();
    let fetchable = KernelName::all_fetchable().len();
    assert_eq!(listed.len(), fetchable + 1);
    assert_eq!(listed.iter().filter(|l| l.fetched.is_some()).map(|l| l.name.to_string()).collect::<Vec<_>>(), ["own/mine/arm64"]);
    // Added again without modules: the new kernel replaces the old one completely.
    let again = kernels.add_own(&own(), &vmlinuz, None, None, None).unwrap();
    assert_eq!((again.release.as_str(), again.rt, &again.modules), ("6.15.0-test", None, &None));
    assert!(kernels.remove(&own()).unwrap() && !kernels.remove(&own()).unwrap());
    assert_eq!(kernels.list().unwrap().len(), fetchable);
}

#[test]
fn a_damaged_kernel_is_not_given_out() {
    let (dir, kernels) = world();
    let modules = dir.path().join("lib/modules/6.15.0-mine");
    let kernel = kernels.add_own(&own(), &dir.path().join("bzImage"), Some(&modules), None, None).unwrap();
    let module = kernel.modules_dir().unwrap().join("kernel/fs/a.ko");
    fs::write(&module, "Module").unwrap();
    assert!(kernels.get(&own()).is_ok(), "the same size");
    assert!(kernel.verify().is_err());
    fs::write(&module, "mod").unwrap();
    assert!(matches!(kernels.get(&own()), Err(KernelError::Damaged { .. })));
    fs::write(&module, "module").unwrap();
    fs::write(kernel.vmlinuz(), "").unwrap();
    assert!(matches!(kernels.get(&own()), Err(KernelError::Damaged { .. })));
    fs::write(kernel.dir().join("manifest.json"), "{").unwrap();
    assert!(matches!(kernels.get(&own()), Err(KernelError::Damaged { .. })));
}

#[test]
fn what_fails_leaves_nothing_and_keeps_what_was() {
    let (dir, kernels) = world();
    let vmlinuz = dir.path().join("bzImage");
    let was = kernels.add_own(&own(), &vmlinuz, None, None, None).unwrap();
    for (vmlinuz, modules) in [("none", None), ("bzImage", Some("lib")), ("config", None)] {
        let modules = modules.map(|m| dir.path().join(m));
        let e = kernels.add_own(&own(), &dir.path().join(vmlinuz), modules.as_deref(), None, None).unwrap_err();
        assert!(e.is_usage(), "{e}");
        assert_eq!(kernels.get(&own()).unwrap(), was);
        assert_eq!(fs::read_dir(kernels.cache_root().join("kernels/.new")).unwrap().count(), 0);
    }
    let e = kernels.add_own(&"debian/6.1/amd64".parse().unwrap(), &vmlinuz, None, None, None).unwrap_err();
    assert!(e.is_usage());
    assert!(kernels.fetch(&own(), false, &mut |_| {}).unwrap_err().is_usage());
}

#[test]
fn a_cache_may_be_moved() {
    let (dir, kernels) = world();
    kernels.add_own(&own(), &dir.path().join("bzImage"), None, None, None).unwrap();
    let moved = dir.path().join("moved");
    fs::rename(kernels.cache_root(), &moved).unwrap();
    assert!(Kernels::new(&moved).get(&own()).unwrap().vmlinuz().starts_with(&moved));
}

#[test]
fn what_a_killed_process_left_is_cleared_away_but_not_what_one_is_at() {
    let (_dir, kernels) = world();
    let left = kernels.workplace(&own());
    fs::create_dir_all(left.join("new/half")).unwrap();
    let lock = kernels.lock(&own(), &mut |_| {}).unwrap();
    kernels.list().unwrap();
    assert!(left.is_dir());
    drop(lock);
    kernels.list().unwrap();
    assert!(!left.exists());
}
