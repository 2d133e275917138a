//! Tests of whole orders, on trees whose Makefile only plays kconfig and compiler.

use super::*;
use crate::build::{BuildSource, Vary};
use crate::kernels::Arch;
use rtscope_failure::Problem as _;

/// Builds a kernel in no time: what it is asked for becomes its configuration, but for what the tree refuses.
const MAKEFILE: &str = r#"VERSION = 6
PATCHLEVEL = 13
SUBLEVEL = 0
EXTRAVERSION =
export PATH
allnoconfig:
	grep -v REFUSED "$$KCONFIG_ALLCONFIG" > $(O)/.config
	if grep -q 'PREEMPT_RT=y' $(O)/.config; then echo CONFIG_PREEMPTION=y >> $(O)/.config; fi
olddefconfig:
	cp $(O)/.config $(O)/.config.old
bzImage Image zImage:
	test ! -e $(CURDIR)/broken
	mkdir -p $(O)/arch/x86/boot $(O)/arch/arm64/boot $(O)/arch/arm/boot $(O)/include/config
	for f in x86/boot/bzImage arm64/boot/Image arm/boot/zImage; do cat $(O)/.config > $(O)/arch/$$f; done
	echo "6.13.0$(LOCALVERSION)" > $(O)/include/config/kernel.release
	touch $(O)/Makefile
	echo once >> $(O)/compiled
modules:
modules_install:
	mkdir -p "$(INSTALL_MOD_PATH)/lib/modules/6.13.0$(LOCALVERSION)"
	touch "$(INSTALL_MOD_PATH)/lib/modules/6.13.0$(LOCALVERSION)/modules.order"
"#;
const PREEMPT: &str = "choice\nconfig PREEMPT_NONE\nconfig PREEMPT_VOLUNTARY\nconfig PREEMPT\nconfig PREEMPT_RT\nendchoice\n";

struct World {
    dir: tempfile::TempDir,
    kernels: Kernels,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("linux");
        for sub in ["kernel", "arch/x86", "arch/arm64", "arch/arm"] {
            fs::create_dir_all(tree.join(sub)).unwrap();
        }
        fs::write(tree.join("Makefile"), MAKEFILE).unwrap();
        fs::write(tree.join("kernel/Kconfig.preempt"), PREEMPT).unwrap();
        for arch in ["x86", "arm64", "arm"] {
            fs::write(tree.join(format!("arch/{arch}/Kconfig")), "\tselect ARCH_SUPPORTS_RT\n").unwrap();
        }
        let kernels = Kernels::new(dir.path().join("cache"));
        Self { dir, kernels }
    }

    fn order(&self, vary: &[&str]) -> BuildOrder {
        let profile = self.dir.path().join("profile");
        fs::write(&profile, "CONFIG_SMP=y\n").unwrap();
        BuildOrder {
            source: BuildSource::Tree(self.dir.path().join("linux")),
            arch: Arch::host(),
            name: None,
            vary: vary.iter().map(|v| v.parse::<Vary>().unwrap()).collect(),
            profiles: vec![profile],
            base: None,
            jobs: 1,
            deb: None,
            update: false,
        }
    }

    /// `None` on a host without flex, bison or the like, which a kernel takes.
    fn build(&self, order: &BuildOrder) -> Option<Result<Set, BuildError>> {
        match build(&self.kernels, order, &StopHandle::new(), &mut |_| {}) {
            Err(BuildError::NoTools { .. }) => None,
            other => Some(other),
        }
    }
}

#[test]
fn a_pair_is_built_once_and_says_in_what_it_differs() {
    let w = World::new();
    let Some(built) = w.build(&w.order(&[])) else { return };
    let set = built.unwrap();
    let names: Vec<String> = set.kernels.iter().map(|b| b.kernel.name.to_string()).collect();
    let arch = Arch::host();
    assert_eq!(names, [format!("own/6.13.0-voluntary/{arch}"), format!("own/6.13.0-rt/{arch}")]);
    let said: Vec<_> = set.kernels.iter().map(|b| (b.kernel.release.as_str(), b.kernel.rt, b.seconds.is_some())).collect();
    assert_eq!(said, [("6.13.0-voluntary", Some(false), true), ("6.13.0-rt", Some(true), true)]);
    let options: Vec<String> = set.differences[0].options.iter().map(ToString::to_string).collect();
    assert_eq!(options, ["PREEMPTION: n -> y", "PREEMPT_RT: n -> y", "PREEMPT_VOLUNTARY: y -> n", "RCU_BOOST: n -> y"]);
    let kept = fs::read_to_string(set.kernels[1].kernel.dir().join("difference")).unwrap();
    assert!(
        kept.contains("  asked for:\n    PREEMPT_RT: n -> y\n") && kept.contains("  follows from it:\n    PREEMPTION: n -> y\n"),
        "{kept}"
    );
    // The same again: nothing is compiled, and the kernels are the same.
    let again = w.build(&w.order(&[])).unwrap().unwrap();
    assert!(again.kernels.iter().all(|b| b.seconds.is_none()));
    assert_eq!(again.kernels[1].kernel, set.kernels[1].kernel);
    let compiled = again.kernels[0].kernel.headers_dir().unwrap().join("compiled");
    assert_eq!(fs::read_to_string(compiled).unwrap(), "once\n");
}

#[test]
fn what_was_ended_goes_on_and_what_changed_is_built_anew() {
    let w = World::new();
    let broken = w.dir.path().join("linux/broken");
    let order = BuildOrder { name: Some("x".into()), ..w.order(&["HZ=100,1000"]) };
    fs::write(&broken, "").unwrap();
    let Some(failed) = w.build(&order) else { return };
    let e = failed.unwrap_err();
    assert!(matches!(&e, BuildError::Failed { .. }) && e.to_string().contains("compiling own/x-hz100"), "{e}");
    assert!(e.remedy().contains("builds/"), "{}", e.remedy());
    fs::remove_file(&broken).unwrap();
    let set = w.build(&order).unwrap().unwrap();
    assert!(set.kernels.iter().all(|b| b.seconds.is_some()));
    assert_eq!(set.differences[0].options.iter().map(|c| c.option.as_str()).collect::<Vec<_>>(), ["HZ", "HZ_100", "HZ_1000"]);
    // Another tree is another build.
    fs::write(w.dir.path().join("linux/kernel/fork.c"), "").unwrap();
    assert!(w.build(&order).unwrap().unwrap().kernels.iter().all(|b| b.seconds.is_some()));
}

#[test]
fn what_kconfig_drops_is_named_before_anything_is_compiled() {
    let w = World::new();
    let order = w.order(&["REFUSED=n,y"]);
    let Some(refused) = w.build(&order) else { return };
    let e = refused.unwrap_err();
    assert!(e.is_usage() && e.to_string().ends_with("REFUSED=y is n"), "{e}");
    // Also where the tree has a text in Latin-1.
    for file in ["Kconfig", "kernel/Kconfig.preempt"] {
        fs::write(w.dir.path().join("linux").join(file), [PREEMPT.as_bytes(), b"# f\xfcr\n"].concat()).unwrap();
    }
    let profile = w.dir.path().join("profile");
    let order = BuildOrder { profiles: vec!["lab".into(), profile.clone()], ..w.order(&[]) };
    fs::write(&profile, "CONFIG_REFUSED=y\n").unwrap();
    let e = w.build(&order).unwrap().unwrap_err();
    assert!(e.is_usage() && e.to_string().ends_with("REFUSED=y is n"), "{e}");
    assert!(w.kernels.list().unwrap().iter().all(|l| l.fetched.is_none()));
}

#[test]
fn packages_are_refused_before_anything_is_made() {
    let w = World::new();
    let debs = w.dir.path().join("linux/debs");
    let order = BuildOrder { deb: Some(debs.clone()), ..w.order(&["HZ=100"]) };
    let e = build(&w.kernels, &order, &StopHandle::new(), &mut |_| {}).unwrap_err();
    assert!(e.is_usage() && e.to_string().contains("in the source's tree"), "{e}");
    assert!(!debs.exists() && !w.dir.path().join("cache").exists());
    // What the release would be is known once it is configured.
    let tree = w.dir.path().join("linux");
    fs::write(tree.join("localversion"), "-BSP\n").unwrap();
    let order = BuildOrder { deb: Some(w.dir.path().join("debs")), ..order };
    let Some(refused) = w.build(&order) else { return };
    let e = refused.unwrap_err();
    assert!(e.is_usage() && e.to_string().contains("`-BSP`"), "{e}");
    assert!(w.kernels.list().unwrap().iter().all(|l| l.fetched.is_none()));
}

#[test]
fn a_base_is_kept_but_for_what_is_varied() {
    let w = World::new();
    let base = w.dir.path().join("base");
    fs::write(&base, "CONFIG_BOARD=y\nCONFIG_PREEMPT_VOLUNTARY=y\n").unwrap();
    let order = BuildOrder { base: Some(base), profiles: Vec::new(), ..w.order(&["PREEMPT=full,rt"]) };
    let Some(built) = w.build(&order) else { return };
    let set = built.unwrap();
    for b in &set.kernels {
        let config = Config::parse(&fs::read_to_string(b.kernel.config().unwrap()).unwrap());
        assert_eq!(config.get("BOARD"), "y");
    }
}

#[test]
fn an_order_that_is_told_to_end_ends() {
    let w = World::new();
    let stop = StopHandle::new();
    stop.stop();
    match build(&w.kernels, &w.order(&[]), &stop, &mut |_| {}) {
        Err(BuildError::NoTools { .. }) => {}
        other => assert!(other.unwrap_err().is_interrupted()),
    }
}
