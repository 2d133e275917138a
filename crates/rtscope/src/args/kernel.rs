//! The command line of `rtscope kernel`.

use clap::{Args, Subcommand};
use rtscope_lab::build::Vary;
use rtscope_lab::kernels::Arch;
use rtscope_record::Nanos;
use rtscope_record::units::seconds;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rtscope kernel build debian/6.12                           the pair stock and PREEMPT_RT from Debian's source
  rtscope measure timer -D 5s --load network --target lab:own/6.12-rt   measure in one of them";

/// Options of `kernel`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Kernel {
    #[command(subcommand)]
    pub command: KernelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Build kernels that differ in the preemption model, or in another option, and in nothing else
    Build(Box<Build>),
    /// Install a kernel's package on a board, for one boot: the boot after that is the old kernel's again
    Install(Install),
    /// Reboot a board into the kernel that was installed there, for one boot, and wait until it answers
    Try(Reboot),
    /// Make the installed kernel, which runs, the one of every boot
    Keep(To),
    /// Remove the installed kernel from a board, and put its boot loader back
    Remove(Remove),
}

const INSTALL: &str = "\
The board must be booted by GRUB or by a Raspberry Pi's firmware, and have dpkg; as root, or with sudo that asks for no password. The new
kernel boots once: whether it panics (it reboots after 30 s), hangs and is switched off, or works, the boot after it is the old kernel's,
until `rtscope kernel keep`. What fails on the way is undone. docs/kernels.md says what is changed on the board.

Examples:
  rtscope kernel build debian/6.12 --base board.config --arch arm64 --deb debs
  rtscope kernel install debs/linux-image-6.12.95-rt_1_arm64.deb --to ssh:root@board --reboot
  rtscope board add ssh:root@board                     measure it
  rtscope kernel keep --to ssh:root@board              or: rtscope kernel remove --to ssh:root@board --reboot";

/// Options of `kernel install`.
#[derive(Debug, Args)]
#[command(after_help = INSTALL)]
pub(crate) struct Install {
    /// The package: linux-image-RELEASE_VERSION_ARCH.deb
    #[arg(value_name = "FILE")]
    pub package: PathBuf,
    #[command(flatten)]
    pub board: Reboot,
    /// Reboot into it at once, and wait until the board answers
    #[arg(long)]
    pub reboot: bool,
}

/// Options of `kernel remove`.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    pub board: Reboot,
    /// If it runs, reboot into the old one first
    #[arg(long)]
    pub reboot: bool,
}

/// A board that may be rebooted; options of `kernel try`.
#[derive(Debug, Args)]
pub(crate) struct Reboot {
    #[command(flatten)]
    pub to: To,
    /// How long to wait until it answers after a reboot
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = seconds)]
    pub wait: Nanos,
}

/// A board; options of `kernel keep`.
#[derive(Debug, Args)]
pub(crate) struct To {
    /// The board: ssh:[USER@]HOST[:PORT], or a name in ~/.ssh/config
    #[arg(long, value_name = "BOARD")]
    pub to: String,
}

const BUILD: &str = "\
Each is configured from nothing and the profile, or from --base; an option that was asked for and is not set is an error. In what
they differ is printed, with what follows from it, and kept beside each kernel. They are in the cache as own/NAME-VARIANT/ARCH,
for `lab:own/NAME-VARIANT`. What was built is taken again; what was interrupted goes on. ccache is used if it is installed.

Examples:
  rtscope kernel build debian/6.12                                      own/6.12-voluntary and own/6.12-rt
  rtscope kernel build debian/13-backports --vary PREEMPT=full,lazy,rt   three preemption models of Debian's newest kernel
  rtscope kernel build debian/6.12 --vary PREEMPT=rt --vary HZ=100,1000   own/6.12-rt-hz100 and own/6.12-rt-hz1000
  rtscope kernel build ~/linux --name mine --arch arm64                 a tree of your own, for another architecture
  rtscope kernel build ~/linux --base board.config --arch arm64 --deb debs   with a board's configuration, as Debian packages
  rtscope kernel build debian/6.12 --profile lab --profile btf.fragment   the lab's, and more";

/// Options of `kernel build`.
#[derive(Debug, Args)]
#[command(after_help = BUILD)]
pub(crate) struct Build {
    /// debian/6.1, debian/6.12, debian/13-backports (Debian's packages linux-source-SERIES; the last is the newest in Debian 13's
    /// backports), a directory with a kernel's tree, or a tarball of one
    pub source: String,
    /// For which architecture: amd64, arm64, armhf [default: the host's]
    #[arg(long)]
    pub arch: Option<Arch>,
    /// What the kernels' names begin with [default: the source's version]
    #[arg(long)]
    pub name: Option<String>,
    /// In what they differ: PREEMPT=none,voluntary,full,lazy,rt, HZ=100,250,1000, or any option with its values; may be repeated
    /// [default: PREEMPT=voluntary,rt]
    #[arg(long, value_name = "OPTION=VALUE,VALUE...")]
    pub vary: Vec<Vary>,
    /// Options that all of them have: `lab` (the lab's guests, loads and modules need these) or a file with lines such as
    /// CONFIG_NAME=y; may be repeated, the last counts [default: lab, with --base none]
    #[arg(long, value_name = "lab|FILE")]
    pub profile: Vec<PathBuf>,
    /// A whole configuration to start from, such as a board's
    #[arg(long, value_name = "FILE")]
    pub base: Option<PathBuf>,
    /// Also make Debian packages of each (image and headers), and put them into this directory
    #[arg(long, value_name = "DIR")]
    pub deb: Option<PathBuf>,
    /// Compilers at once [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Fetch Debian's newest source even if one is in the cache
    #[arg(long)]
    pub update: bool,
    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
}
