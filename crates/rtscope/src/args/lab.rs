//! The command line of `rtscope lab`.

use crate::error::Failure;
use clap::{Args, Subcommand};
use rtscope_lab::vm::LabOptions;
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

/// What may be chosen of a guest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Targets of the lab")]
pub(crate) struct GuestArgs {
    /// Whose time: `virtual`, one nanosecond for each instruction, the same again every time; or `host` [default: virtual]
    #[arg(long, value_name = "CLOCK", value_parser = ["virtual", "host"])]
    pub clock: Option<String>,
    /// Which of the possible runs: the same seed gives the same figures [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// CPUs of the guest [default: 1; more of them make sense with --clock host]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub guest_cpus: Option<u32>,
    /// Memory of the guest, MiB [default: 512]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(256..=65536))]
    pub guest_memory: Option<u32>,
    /// A kernel module to load first, with its parameters: FILE.ko or 'FILE.ko hold_us=50'; may be repeated
    #[arg(long, value_name = "FILE [PARAMETER=VALUE...]")]
    pub guest_module: Vec<String>,
    /// Boot for this run alone; do not start from the kept state
    #[arg(long)]
    pub fresh_boot: bool,
}

impl GuestArgs {
    /// As the lab takes them.
    pub(crate) fn options(&self) -> Result<LabOptions, Failure> {
        let usual = LabOptions::default();
        let modules = self.guest_module.iter().map(|text| {
            let mut words = text.split_whitespace().map(str::to_owned);
            let file = words.next().ok_or_else(|| Failure::usage("--guest-module names no file", "--guest-module FILE.ko"))?;
            Ok((file.into(), words.collect()))
        });
        Ok(LabOptions {
            clock: self.clock.as_deref().and_then(|c| c.parse().ok()).unwrap_or(usual.clock),
            cpus: self.guest_cpus.unwrap_or(usual.cpus),
            memory_mib: self.guest_memory.unwrap_or(usual.memory_mib),
            seed: self.seed.unwrap_or(usual.seed),
            keep_state: !self.fresh_boot,
            modules: modules.collect::<Result<_, Failure>>()?,
        })
    }
}

const KERNELS: &str = "\
Names are debian/SERIES/ARCH with the series 6.1, 6.1-rt, 6.12, 6.12-rt, or own/NAME/ARCH. The architectures are amd64, arm64
and armhf; without one the host's is meant. A fetched kernel stays as it is until it is fetched with --update.
They are kept in $RTSCOPE_CACHE, else $XDG_CACHE_HOME/rtscope, else ~/.cache/rtscope. $RTSCOPE_DEBIAN_MIRROR names another
mirror than http://deb.debian.org/debian.

Examples:
  rtscope lab kernels
  rtscope lab kernels fetch debian/6.12/amd64 debian/6.12-rt/amd64
  rtscope lab kernels fetch --update debian/6.1-rt
  rtscope lab kernels add mine --vmlinuz arch/x86/boot/bzImage --modules inst/lib/modules/6.15.0 --config .config
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
    /// Fetch kernels of Debian with modules, configuration and headers
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
