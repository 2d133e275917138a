//! Families of kernels that can be fetched: the one table of their names, packages, archives and compilers.

use super::arch::Arch;
use crate::debian::{Archive, DEBIAN, DEBIAN_12, DEBIAN_VARIABLE, DEBIANS_KEYS, Format, Keys};

/// A family of kernels: `VENDOR/SERIES` and `VENDOR/SERIES-rt`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// First part of its names, such as `debian`.
    pub(crate) vendor: &'static str,
    /// Second part of its names, without `-rt`, such as `6.12`.
    pub(crate) series: &'static str,
    /// Where its packages are.
    pub(crate) archive: &'static Archive,
    /// The flavour of its packages for each architecture, stock and PREEMPT_RT, where there are any.
    pub(crate) flavours: &'static [Flavour],
    /// The packages that lead to its newest kernel, with `*` for the flavour; Fedora's are the kernel's own, the first with its image.
    pub(crate) metapackages: &'static [&'static str],
    /// Which versions of these packages count.
    pub(crate) versions: Versions,
    /// What compiles modules for it.
    pub(crate) compiler: CompilerFor,
}

/// The flavour of a family's packages for an architecture, such as `rt-amd64`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flavour {
    pub(crate) arch: Arch,
    pub(crate) rt: bool,
    pub(crate) name: &'static str,
}

/// Which versions of a metapackage belong to a family: an archive may hold several families. Empty texts fit all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    /// What they begin with. Kernels then begin with it too.
    pub(crate) begin: &'static str,
    /// What is in them.
    pub(crate) have: &'static str,
    /// What is not in them.
    pub(crate) lack: Option<&'static str>,
}

/// What compiles modules for a family, and where the programs come from that its headers bring along.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CompilerFor {
    /// Nothing: its headers are not fetched.
    Nothing,
    /// The host's of the same name, else this one, fetched into the cache. The headers' programs run with the host's libraries.
    HostsOr(&'static Toolchain),
    /// This one of the family's own release, fetched into the cache. The headers' programs run with its libraries.
    Fetched(&'static Toolchain),
}

/// A compiler with the libraries that the headers' programs need, as packages of one release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Toolchain {
    /// Its directory in the cache, below `compilers`.
    pub(crate) dir: &'static str,
    /// Where its packages are.
    pub(crate) archive: &'static Archive,
    /// The compiler, such as `gcc-14`: name of the program and of the package.
    pub(crate) compiler: &'static str,
    /// Packages of the libraries that the headers' programs need.
    pub(crate) libraries: &'static [&'static str],
}

/// A family: a place in [`TABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Family(usize);

impl Family {
    /// Every family, in the table's order.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..TABLE.len()).map(Self)
    }

    /// The family of these names.
    pub(crate) fn of(vendor: &str, series: &str) -> Option<Self> {
        Self::all().find(|f| (f.entry().vendor, f.entry().series) == (vendor, series))
    }

    /// The family with the highest number of those of a vendor whose series are numbers.
    pub(crate) fn newest_release(vendor: &str) -> Option<Self> {
        let number = |f: &Self| f.entry().series.parse::<u32>().ok();
        Self::all().filter(|f| f.entry().vendor == vendor && number(f).is_some()).max_by_key(number)
    }

    /// What is known of it.
    pub(crate) fn entry(self) -> &'static Entry {
        &TABLE[self.0]
    }

    /// The flavour of its packages, if it has one for this.
    pub(crate) fn flavour(self, arch: Arch, rt: bool) -> Option<&'static str> {
        self.entry().flavours.iter().find(|f| (f.arch, f.rt) == (arch, rt)).map(|f| f.name)
    }

    /// The compiler to fetch for modules of its kernels for `target`; `None` if the host has it, as `installed` says of a program by its
    /// name, or if there is none.
    pub(crate) fn toolchain(self, target: Arch, installed: impl Fn(&str) -> bool) -> Option<&'static Toolchain> {
        match self.entry().compiler {
            CompilerFor::Nothing => None,
            CompilerFor::HostsOr(toolchain) => (!installed(&toolchain.program(target))).then_some(toolchain),
            CompilerFor::Fetched(toolchain) => Some(toolchain),
        }
    }

    /// The toolchain whose libraries its headers' programs run with; `None` if they run with the host's.
    pub(crate) fn runtime(self) -> Option<&'static Toolchain> {
        match self.entry().compiler {
            CompilerFor::Nothing | CompilerFor::HostsOr(_) => None,
            CompilerFor::Fetched(toolchain) => Some(toolchain),
        }
    }
}

impl Toolchain {
    /// The program that compiles for `target`: the compiler, for another architecture than the host's its cross compiler.
    pub(crate) fn program(&self, target: Arch) -> String {
        if target == Arch::host() { self.compiler.to_owned() } else { format!("{}-{}", target.triple(), self.compiler) }
    }
}

impl Versions {
    /// Whether a version fits.
    pub(crate) fn fit(&self, version: &str) -> bool {
        version.starts_with(self.begin) && version.contains(self.have) && !self.lack.is_some_and(|l| version.contains(l))
    }
}

/// Every family. A kernel's name is in records and paths, so that a row's vendor and series never change.
const TABLE: &[Entry] = &[
    Entry { series: "6.1", versions: Versions { begin: "6.1.", ..ANY }, ..OF_DEBIAN_12 },
    Entry {
        series: "6.12",
        // Two metapackages lead to the newest kernel: the suite's default, and the 6.12 that the security team
        // maintains for bookworm.
        metapackages: &["linux-image-*", "linux-image-6.12-*"],
        versions: Versions { begin: "6.12.", ..ANY },
        ..OF_DEBIAN_12
    },
    Entry { series: "13", versions: Versions { lack: Some("~bpo"), ..ANY }, ..OF_DEBIAN_13 },
    Entry {
        series: "13-backports",
        flavours: &[AMD64, RT_AMD64, ARM64, RT_ARM64, ARMMP],
        versions: Versions { have: "~bpo13+", ..ANY },
        ..OF_DEBIAN_13
    },
    Entry { series: "24.04", ..OF_UBUNTU_24_04 },
    Entry {
        series: "24.04-hwe",
        flavours: &[GENERIC, GENERIC_ARM64],
        metapackages: &["linux-image-*-hwe-24.04"],
        ..OF_UBUNTU_24_04
    },
    Entry {
        series: "26.04",
        archive: &UBUNTU_26_04,
        flavours: &[GENERIC, GENERIC_ARM64, REALTIME],
        compiler: CompilerFor::Fetched(&Toolchain {
            dir: "ubuntu-26.04",
            archive: &UBUNTU_26_04,
            compiler: "gcc-15",
            libraries: LIBRARIES,
        }),
        ..OF_UBUNTU_24_04
    },
    Entry { series: "43", archive: &FEDORA_43, ..OF_FEDORA },
    Entry { series: "44", archive: &FEDORA_44, ..OF_FEDORA },
    Entry { series: "rawhide", archive: &FEDORA_RAWHIDE, ..OF_FEDORA },
    Entry {
        vendor: "raspberrypi",
        archive: &RASPBERRY_PI_13,
        flavours: &[
            Flavour { arch: Arch::Arm64, rt: false, name: "rpi-v8" },
            Flavour { arch: Arch::Arm64, rt: true, name: "rpi-v8-rt" },
        ],
        series: "13",
        versions: ANY,
        ..OF_DEBIAN_13
    },
];

const OF_DEBIAN_12: Entry = Entry {
    vendor: "debian",
    series: "",
    archive: &DEBIAN_12,
    flavours: &[AMD64, RT_AMD64, ARM64, RT_ARM64, ARMMP, RT_ARMMP],
    metapackages: &["linux-image-*"],
    versions: ANY,
    compiler: CompilerFor::HostsOr(&Toolchain { dir: "debian-12", archive: &DEBIAN_12, compiler: "gcc-12", libraries: &[] }),
};

const OF_DEBIAN_13: Entry = Entry {
    archive: &DEBIAN_13,
    compiler: CompilerFor::Fetched(&Toolchain { dir: "debian-13", archive: &DEBIAN_13, compiler: "gcc-14", libraries: LIBRARIES }),
    ..OF_DEBIAN_12
};

const OF_UBUNTU_24_04: Entry = Entry {
    vendor: "ubuntu",
    archive: &UBUNTU_24_04,
    flavours: &[GENERIC, GENERIC_ARM64, REALTIME],
    compiler: CompilerFor::Fetched(&Toolchain {
        dir: "ubuntu-24.04",
        archive: &UBUNTU_24_04,
        compiler: "gcc-13",
        libraries: LIBRARIES,
    }),
    ..OF_DEBIAN_12
};

/// Its headers are not fetched: they want Fedora's own compiler.
const OF_FEDORA: Entry = Entry {
    vendor: "fedora",
    flavours: &[
        Flavour { arch: Arch::Amd64, rt: false, name: "x86_64" },
        Flavour { arch: Arch::Arm64, rt: false, name: "aarch64" },
    ],
    metapackages: &["kernel-core", "kernel-modules-core", "kernel-modules"],
    compiler: CompilerFor::Nothing,
    ..OF_DEBIAN_12
};

const ANY: Versions = Versions { begin: "", have: "", lack: None };
/// What the headers' programs are linked with (`modpost`, `objtool`, `sign-file`).
const LIBRARIES: &[&str] = &["libelf1t64", "libdw1t64", "libssl3t64", "zlib1g"];

const AMD64: Flavour = Flavour { arch: Arch::Amd64, rt: false, name: "amd64" };
const RT_AMD64: Flavour = Flavour { arch: Arch::Amd64, rt: true, name: "rt-amd64" };
const ARM64: Flavour = Flavour { arch: Arch::Arm64, rt: false, name: "arm64" };
const RT_ARM64: Flavour = Flavour { arch: Arch::Arm64, rt: true, name: "rt-arm64" };
const ARMMP: Flavour = Flavour { arch: Arch::Armhf, rt: false, name: "armmp" };
const RT_ARMMP: Flavour = Flavour { arch: Arch::Armhf, rt: true, name: "rt-armmp" };
const GENERIC: Flavour = Flavour { arch: Arch::Amd64, rt: false, name: "generic" };
const GENERIC_ARM64: Flavour = Flavour { arch: Arch::Arm64, rt: false, name: "generic" };
const REALTIME: Flavour = Flavour { arch: Arch::Amd64, rt: true, name: "realtime" };

pub(crate) static DEBIAN_13: Archive = Archive {
    dir: "debian-13",
    vendor: "Debian",
    mirrors: &[(&Arch::ALL, DEBIAN)],
    variable: DEBIAN_VARIABLE,
    format: Format::Deb,
    source: false,
    suites: &[
        ("", "trixie", "main"),
        ("", "trixie-updates", "main"),
        ("", "trixie-backports", "main"),
        ("-security", "trixie-security", "main"),
    ],
    keys: DEBIANS_KEYS,
};

const UBUNTU: Archive = Archive {
    dir: "",
    vendor: "Ubuntu",
    mirrors: &[(&[Arch::Amd64], "http://archive.ubuntu.com/ubuntu"), (&Arch::ALL, "http://ports.ubuntu.com/ubuntu-ports")],
    variable: "RTSCOPE_UBUNTU_MIRROR",
    format: Format::Deb,
    source: false,
    suites: &[],
    keys: Keys::Packaged { package: "ubuntu-keyring", file: "usr/share/keyrings/ubuntu-archive-keyring.gpg" },
};

static UBUNTU_24_04: Archive = Archive {
    dir: "ubuntu-24.04",
    // `universe` has the real-time kernel as it was before it became a part of Ubuntu Pro.
    suites: &[("", "noble", "main"), ("", "noble-updates", "main universe"), ("", "noble-security", "main")],
    ..UBUNTU
};

static UBUNTU_26_04: Archive = Archive {
    dir: "ubuntu-26.04",
    suites: &[("", "resolute", "main"), ("", "resolute-updates", "main"), ("", "resolute-security", "main")],
    ..UBUNTU
};

/// No mirror and no keys: whoever wants these kernels names both.
static RASPBERRY_PI_13: Archive = Archive {
    dir: "raspberrypi-13",
    vendor: "Raspberry Pi OS",
    mirrors: &[],
    variable: "RTSCOPE_RASPBERRYPI_MIRROR",
    format: Format::Deb,
    source: false,
    suites: &[("", "trixie", "main")],
    keys: Keys::Users("RTSCOPE_RASPBERRYPI_KEYRING", "a keyring as gpg --export writes it"),
};

/// No mirror and no keys: whoever wants these kernels names both.
const FEDORA: Archive = Archive {
    dir: "",
    vendor: "Fedora",
    mirrors: &[],
    variable: "RTSCOPE_FEDORA_MIRROR",
    format: Format::Rpm,
    source: false,
    suites: &[],
    keys: Keys::Users("RTSCOPE_FEDORA_KEYS", "its keys as text, such as RPM-GPG-KEY-fedora-44-primary"),
};

static FEDORA_43: Archive = Archive {
    dir: "fedora-43",
    suites: &[("", "releases/43/Everything/*/os", "fedora"), ("", "updates/43/Everything/*", "updates")],
    ..FEDORA
};

static FEDORA_44: Archive = Archive {
    dir: "fedora-44",
    suites: &[("", "releases/44/Everything/*/os", "fedora"), ("", "updates/44/Everything/*", "updates")],
    ..FEDORA
};

static FEDORA_RAWHIDE: Archive =
    Archive { dir: "fedora-rawhide", suites: &[("", "development/rawhide/Everything/*/os", "rawhide")], ..FEDORA };

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;
