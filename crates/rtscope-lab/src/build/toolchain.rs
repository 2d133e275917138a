//! The programs that build a kernel on this host, and what of them its bytes depend on.

use super::config::Config;
use super::error::BuildError;
use crate::kernels::Arch;
use rtscope_load::programs::find_program;
use rtscope_sys as sys;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a kernel is built with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Toolchain {
    arch: Arch,
    /// Prefix of the compiler for another architecture, such as `aarch64-linux-gnu-`.
    prefix: String,
    /// Results of the compiler are kept and taken again.
    ccache: bool,
    /// Compiler and linker with their versions.
    pub(super) identity: String,
}

/// Programs that every kernel needs, with their Debian packages.
const PROGRAMS: [(&str, &str); 8] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("perl", "perl"),
    ("tar", "tar"),
];
/// What Debian packages of a kernel need besides.
const PACKAGING: [(&str, &str); 5] =
    [("dpkg-buildpackage", "dpkg-dev"), ("dh_listpackages", "debhelper"), ("rsync", "rsync"), ("depmod", "kmod"), ("cpio", "cpio")];
/// What some kernels need besides: an option, a program or header, and its package.
const BY_OPTION: [(&str, &str, &str); 6] = [
    ("KERNEL_XZ", "xz", "xz-utils"),
    ("KERNEL_ZSTD", "zstd", "zstd"),
    ("KERNEL_LZ4", "lz4", "lz4"),
    ("DEBUG_INFO_BTF", "pahole", "dwarves"),
    ("OBJTOOL", "gelf.h", "libelf-dev"),
    ("SYSTEM_TRUSTED_KEYRING", "openssl/opensslv.h", "libssl-dev"),
];
/// The multiarch name of an architecture, with which its compiler's programs begin.
fn triple(arch: Arch) -> &'static str {
    match arch {
        Arch::Amd64 => "x86_64-linux-gnu",
        Arch::Arm64 => "aarch64-linux-gnu",
        Arch::Armhf => "arm-linux-gnueabihf",
    }
}

/// The kernel's name of an architecture.
fn kernel_arch(arch: Arch) -> &'static str {
    match arch {
        Arch::Amd64 => "x86_64",
        Arch::Arm64 => "arm64",
        Arch::Armhf => "arm",
    }
}

/// Where the architecture's `Kconfig` is in a tree.
pub(super) fn kconfig(arch: Arch) -> &'static str {
    match arch {
        Arch::Amd64 => "arch/x86/Kconfig",
        Arch::Arm64 => "arch/arm64/Kconfig",
        Arch::Armhf => "arch/arm/Kconfig",
    }
}

/// The bootable image that make leaves in a build's directory.
pub(super) fn image(arch: Arch) -> &'static str {
    match arch {
        Arch::Amd64 => "arch/x86/boot/bzImage",
        Arch::Arm64 => "arch/arm64/boot/Image",
        Arch::Armhf => "arch/arm/boot/zImage",
    }
}

impl Toolchain {
    /// The host's programs for `arch`. The error names everything that is missing.
    pub(super) fn find(arch: Arch) -> Result<Self, BuildError> {
        let prefix = if arch == Arch::host() { String::new() } else { format!("{}-", triple(arch)) };
        let package = triple(arch).replace('_', "-");
        let mut wanted: Vec<(String, String)> = PROGRAMS.map(|(program, package)| (program.into(), package.into())).into();
        if !prefix.is_empty() {
            wanted.push((format!("{prefix}gcc"), format!("gcc-{package}")));
            wanted.push((format!("{prefix}ld"), format!("binutils-{package}")));
        }
        lack(arch, wanted.into_iter().filter(|(program, _)| find_program(program).is_none()))?;
        let identity = [format!("{prefix}gcc"), format!("{prefix}ld")].map(|program| version(&program)).join("\n");
        Ok(Self { arch, prefix, ccache: find_program("ccache").is_some(), identity })
    }

    /// Fails if what this configuration needs besides is missing.
    pub(super) fn check(&self, config: &Config) -> Result<(), BuildError> {
        let there = |what: &str| if Path::new(what).extension().is_some() { header(what) } else { find_program(what).is_some() };
        let missing = BY_OPTION.into_iter().filter(|(option, what, _)| config.get(option) == "y" && !there(what));
        lack(self.arch, missing.map(|(_, what, package)| (what.into(), package.into())))
    }

    /// Fails if what the kernel's build system makes Debian packages with is missing.
    pub(super) fn can_package(&self) -> Result<(), BuildError> {
        let missing = PACKAGING.into_iter().filter(|(program, _)| find_program(program).is_none());
        lack(self.arch, missing.map(|(program, package)| (program.into(), package.into())))
    }

    /// make in the tree `source`, with its results in `out`. The host's name, user and clock do not show in them.
    pub(super) fn make(&self, source: &Path, out: &Path, suffix: &str) -> Command {
        let mut command = sys::process::command("make");
        command.arg("-C").arg(source);
        let mut to = std::ffi::OsString::from("O=");
        to.push(out);
        command.arg(to).arg(format!("ARCH={}", kernel_arch(self.arch)));
        command.arg(format!("CROSS_COMPILE={}", self.prefix)).arg(format!("LOCALVERSION={suffix}"));
        if self.ccache {
            command.arg(format!("CC=ccache {}gcc", self.prefix)).arg("HOSTCC=ccache gcc");
        }
        for name in FOREIGN {
            command.env_remove(name);
        }
        for (name, value) in [("TIMESTAMP", "2024-01-01 00:00:00 UTC"), ("USER", "rtscope"), ("HOST", "lab"), ("VERSION", "1")] {
            command.env(format!("KBUILD_BUILD_{name}"), value);
        }
        command.env("LC_ALL", "C").stdin(Stdio::null());
        command
    }
}

/// Environment variables that would change the result.
const FOREIGN: [&str; 20] = [
    "ARCH",
    "CROSS_COMPILE",
    "CC",
    "LD",
    "LLVM",
    "KCFLAGS",
    "KCPPFLAGS",
    "KAFLAGS",
    "CFLAGS",
    "MAKEFLAGS",
    "M",
    "O",
    "W",
    "V",
    "C",
    "KBUILD_OUTPUT",
    "KBUILD_EXTMOD",
    "KCONFIG_CONFIG",
    "KCONFIG_ALLCONFIG",
    "LOCALVERSION",
];

/// An error that names what is missing, each with its package, if anything is.
fn lack(arch: Arch, missing: impl Iterator<Item = (String, String)>) -> Result<(), BuildError> {
    let (missing, mut packages): (Vec<String>, Vec<String>) = missing.unzip();
    packages.sort();
    packages.dedup();
    if missing.is_empty() { Ok(()) } else { Err(BuildError::NoTools { arch, missing, packages }) }
}

/// Whether the host's compiler finds a header: a kernel's build programs run here.
fn header(name: &str) -> bool {
    let native = Path::new("/usr/include").join(triple(Arch::host()));
    [PathBuf::from("/usr/include"), native, "/usr/local/include".into()].iter().any(|dir| dir.join(name).is_file())
}

/// The first line of what a program says of its version.
fn version(program: &str) -> String {
    let out = sys::process::command(program).arg("--version").env("LC_ALL", "C").stdin(Stdio::null()).output();
    let text = out.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::{Fault, Problem as _};

    #[test]
    fn everything_that_is_missing_is_named_with_its_package() {
        lack(Arch::Amd64, std::iter::empty()).unwrap();
        let missing = [("flex", "flex"), ("gelf.h", "libelf-dev"), ("gelf.h", "libelf-dev")];
        let e = lack(Arch::Arm64, missing.into_iter().map(|(a, b)| (a.into(), b.into()))).unwrap_err();
        assert_eq!(e.to_string(), "building a kernel for arm64 needs flex, gelf.h, gelf.h, which this host has not");
        assert_eq!((e.remedy().as_str(), e.fault()), ("apt-get install flex libelf-dev", Fault::Machine));
    }

    #[test]
    fn make_is_told_everything_and_inherits_nothing() {
        let tools = Toolchain { arch: Arch::Arm64, prefix: "aarch64-linux-gnu-".into(), ccache: true, identity: String::new() };
        let command = tools.make(Path::new("/src"), Path::new("/out"), "-rt");
        let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        let expected = ["-C", "/src", "O=/out", "ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-", "LOCALVERSION=-rt"];
        assert_eq!(words[..6], expected);
        assert_eq!(words[6..], ["CC=ccache aarch64-linux-gnu-gcc", "HOSTCC=ccache gcc"]);
        let set: Vec<_> = command.get_envs().filter(|(_, v)| v.is_some()).map(|(k, _)| k.to_string_lossy().into_owned()).collect();
        assert!(set.contains(&"KBUILD_BUILD_TIMESTAMP".to_owned()) && !set.contains(&"MAKEFLAGS".to_owned()), "{set:?}");
    }
}
