//! The command line of `rtscope lab`.

use clap::{Args, Subcommand};
use rtscope_lab::{Arch, KernelName};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rtscope lab kernels                               which kernels there are, and which are fetched
  rtscope lab kernels fetch debian/6.12-rt/amd64    fetch one";

/// Options of `lab`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// The kernels that virtual machines boot: list, fetch, remove, add
    Kernels(Kernels),
}

const KERNELS: &str = "\
Names are debian/SERIES/ARCH with the series 6.1, 6.1-rt, 6.12 and 6.12-rt, or own/NAME/ARCH. The
architectures are amd64, arm64 and armhf; without one the host's is meant. A fetched kernel stays
as it is until it is fetched with --update. Kernels are kept in $RTSCOPE_CACHE, else
$XDG_CACHE_HOME/rtscope, else ~/.cache/rtscope. $RTSCOPE_DEBIAN_MIRROR names another mirror than
http://deb.debian.org/debian.

Examples:
  rtscope lab kernels
  rtscope lab kernels fetch debian/6.12/amd64 debian/6.12-rt/amd64
  rtscope lab kernels fetch --update debian/6.1-rt
  rtscope lab kernels add mine --vmlinuz bzImage --modules lib/modules/6.15.0 --config .config
  rtscope lab kernels remove own/mine
  rtscope lab kernels --json | jq -r '.[].name'";

/// Options of `lab kernels`.
#[derive(Debug, Args)]
#[command(after_help = KERNELS, args_conflicts_with_subcommands = true)]
pub(crate) struct Kernels {
    #[command(subcommand)]
    pub command: Option<KernelsCommand>,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelsCommand {
    /// Which kernels there are, and which are fetched (the default)
    List(super::Json),
    /// Fetch kernels of Debian with modules, configuration and headers, and the guest's tools
    Fetch(Fetch),
    /// Remove kernels from the cache
    Remove {
        /// Which
        #[arg(required = true, value_name = "NAME")]
        names: Vec<KernelName>,
    },
    /// Take a kernel of your own into the cache, as own/NAME/ARCH
    Add(Add),
    /// Compare the files of fetched kernels with their checksums
    Verify {
        /// Which [default: all that are fetched]
        #[arg(value_name = "NAME")]
        names: Vec<KernelName>,
    },
}

/// Options of `lab kernels fetch`.
#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// Which
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<KernelName>,
    /// Fetch the newest version also where one is there
    #[arg(long)]
    pub update: bool,
    /// What was fetched as JSON, one line each
    #[arg(long)]
    pub json: bool,
}

/// Options of `lab kernels add`.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// What to call it
    pub name: String,
    /// Its architecture: amd64, arm64, armhf [default: the host's]
    #[arg(long)]
    pub arch: Option<Arch>,
    /// The bootable image (bzImage, Image, zImage)
    #[arg(long, value_name = "FILE")]
    pub vmlinuz: PathBuf,
    /// Its modules: the directory lib/modules/RELEASE that `make modules_install` wrote
    #[arg(long, value_name = "DIR")]
    pub modules: Option<PathBuf>,
    /// The configuration it was built with (says whether it is PREEMPT_RT)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The directory that its modules are built against; it is referred to, not copied
    #[arg(long, value_name = "DIR")]
    pub headers: Option<PathBuf>,
}
