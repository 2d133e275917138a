//! `kernel build` on a tree whose Makefile only plays kconfig and compiler; needs no network and no time.

use crate::world::{PROGRAM, World, end_of, installed, signal, skip, wait_for};
use serde_json::Value;

/// What it is asked for becomes its configuration; compiling takes as long as there is no file `go`.
const MAKEFILE: &str = r#"VERSION = 6
PATCHLEVEL = 13
SUBLEVEL = 0
EXTRAVERSION =
allnoconfig:
	grep -v REFUSED "$$KCONFIG_ALLCONFIG" > $(O)/.config
bzImage Image zImage:
	echo "  CC      kernel/fork.o"
	while [ ! -e $(CURDIR)/../go ]; do sleep 0.05; done
	mkdir -p $(O)/arch/x86/boot $(O)/arch/arm64/boot $(O)/arch/arm/boot $(O)/include/config
	for f in x86/boot/bzImage arm64/boot/Image arm/boot/zImage; do cat $(O)/.config > $(O)/arch/$$f; done
	echo "6.13.0$(LOCALVERSION)" > $(O)/include/config/kernel.release
	touch $(O)/Makefile
modules:
bindeb-pkg:
	for p in image headers libc-dev; do echo "$(KDEB_PKGVERSION)" > $(O)/../linux-$$p-6.13.0$(LOCALVERSION)_1_amd64.deb; done
modules_install:
	mkdir -p "$(INSTALL_MOD_PATH)/lib/modules/6.13.0$(LOCALVERSION)"
	touch "$(INSTALL_MOD_PATH)/lib/modules/6.13.0$(LOCALVERSION)/modules.order"
"#;

/// A tree in `linux`, and a profile; `None` on a host without the programs that a kernel takes.
fn world() -> Option<World> {
    if let Some(lacks) = ["make", "gcc", "flex", "bison", "bc", "perl", "tar"].into_iter().find(|p| !installed(p)) {
        skip(&format!("building a kernel needs {lacks}"));
        return None;
    }
    let w = World::new();
    for dir in ["linux/kernel", "linux/arch/x86", "linux/arch/arm64", "linux/arch/arm"] {
        std::fs::create_dir_all(w.path(dir)).unwrap();
    }
    w.file("linux/Makefile", MAKEFILE);
    w.file("linux/kernel/Kconfig.preempt", "choice\nconfig PREEMPT\nconfig PREEMPT_RT\nendchoice\n");
    for arch in ["x86", "arm64", "arm"] {
        w.file(&format!("linux/arch/{arch}/Kconfig"), "\tselect ARCH_SUPPORTS_RT\n");
    }
    w.file("profile", "CONFIG_SMP=y\n");
    Some(w)
}

#[test]
fn a_pair_is_built_and_its_difference_printed() {
    let Some(w) = world() else { return };
    w.file("go", "");
    let said = w.line("kernel build linux --profile profile --name mine").ends_with(0);
    for line in ["  asked for:\n", "    PREEMPT_RT: n -> y\n", "    PREEMPT_VOLUNTARY: y -> n\n", "own/mine-rt/"] {
        assert!(said.out.contains(line), "{}", said.out);
    }
    let set: Value =
        serde_json::from_str(&w.line("kernel build linux --profile profile --name mine --json").ends_with(0).out).unwrap();
    assert_eq!((&set["kernels"][1]["kernel"]["rt"], &set["kernels"][1]["seconds"]), (&true.into(), &Value::Null));
    assert_eq!(set["differences"][0]["options"][0]["option"], "PREEMPT_RT");
    assert!(w.line("lab kernels").ends_with(0).out.contains("6.13.0-rt"));
}

#[test]
fn debian_packages_are_made_where_they_are_asked_for() {
    let Some(w) = world() else { return };
    w.file("go", "");
    let line = "kernel build linux --profile profile --vary PREEMPT=rt --name mine --deb debs";
    let lacks = ["dpkg-buildpackage", "dh_listpackages", "rsync", "depmod", "cpio"].into_iter().find(|p| !installed(p));
    if let Some(lacks) = lacks {
        // Said before anything is compiled.
        w.line(line).ends_with(3).complains(&[lacks, "apt-get install"]);
        return;
    }
    let said = w.line(line).ends_with(0);
    for package in ["image", "headers"] {
        let file = format!("debs/linux-{package}-6.13.0-rt_1_amd64.deb");
        assert!(said.out.contains(&file) && w.path(&file).is_file(), "{}", said.out);
    }
    assert_eq!(std::fs::read_dir(w.path("debs")).unwrap().count(), 2, "libc's headers are of no use");
}

#[test]
fn what_can_not_be_built_is_refused_before_anything_is_compiled() {
    let Some(w) = world() else { return };
    for (words, says) in [
        ("debian/5.10", "debian/6.12"),
        ("nowhere", "nowhere"),
        ("linux --vary PREEMPT=fast", "`fast`"),
        ("linux --vary PREEMPT=lazy --profile profile", "6.13"),
        ("linux --vary REFUSED=y --profile profile", "REFUSED=y is n"),
        ("linux --profile none", "CONFIG_NAME=y"),
        ("linux --base none", "/proc/config.gz"),
        ("linux --name a/b --profile profile", "letters"),
    ] {
        w.line(&format!("kernel build {words}")).ends_with(2).complains(&[says]);
    }
}

#[test]
fn ctrl_c_ends_a_build_with_all_its_programs_and_it_goes_on() {
    let Some(w) = world() else { return };
    let mut command = w.command_of(PROGRAM);
    command.args(["kernel", "build", "linux", "--profile", "profile", "--vary", "PREEMPT=full"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let builds = w.path("cache/rtscope/builds");
    let compiles = || {
        let build = std::fs::read_dir(&builds).ok()?.flatten().next()?.path();
        std::fs::read_to_string(build.join("log")).ok().filter(|log| log.contains("  CC "))
    };
    wait_for("the build to compile", compiles);
    let below = crate::world::descendants(child.id());
    signal(child.id(), libc::SIGINT);
    end_of(child).ends_with(130).complains(&["the same command goes on"]);
    let gone = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |s| s.contains(") Z "));
    wait_for("make and its children to end", || below.iter().all(gone).then_some(()));
    w.file("go", "");
    w.line("kernel build linux --profile profile --vary PREEMPT=full").ends_with(0);
}
