//! The command line of `rtscope lab`.

use super::values::Json;
use clap::{Args, Subcommand};
use rtscope_failure::Failure;
use rtscope_lab::kernels::{Arch, KernelName, ToBoot};
use rtscope_lab::vm::{LabOptions, TimeModel};
use rtscope_record::Nanos;
use rtscope_record::units::seconds;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rtscope lab kernels                               which kernels there are, and which are fetched
  rtscope lab kernels fetch debian/6.12-rt/amd64    fetch one
  rtscope measure timer -D 5s --target lab:debian/6.12-rt   measure in it
  rtscope lab verify                                show that figures repeat, whatever this host does
  rtscope lab run debian/6.12-rt -- cyclictest -m -S -p90 -i1000 -l2000 -q
  rtscope lab shell debian/6.12-rt                  look around";

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
    /// Boot a kernel, and say whether it came up
    Boot(Boot),
    /// Look around in a guest: a shell on its console
    Shell(Shell),
    /// Run a program in a guest, the same again every time
    Run(Run),
    /// Cost of elementary operations in the lab's time and on this host, to judge the time models
    Model(Model),
    /// Show that runs repeat to the last bit: once more, with this host under full load, and from another boot
    Verify(Verify),
}

/// Options of `lab boot`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope lab boot debian/6.12-rt
  rtscope lab boot --vmlinuz bzImage --modules lib/modules/6.15.0 --config .config
It is then in the cache as own/boot, and `--target lab:own/boot` measures with it.")]
pub(crate) struct Boot {
    /// A kernel of the cache
    #[arg(required_unless_present = "vmlinuz", conflicts_with = "vmlinuz")]
    pub kernel: Option<ToBoot>,
    /// A kernel of your own (bzImage, Image, zImage)
    #[arg(long, value_name = "FILE")]
    pub vmlinuz: Option<PathBuf>,
    /// Its modules: the directory lib/modules/RELEASE
    #[arg(long, value_name = "DIR", requires = "vmlinuz")]
    pub modules: Option<PathBuf>,
    /// The configuration it was built with
    #[arg(long, value_name = "FILE", requires = "vmlinuz")]
    pub config: Option<PathBuf>,
    /// Its architecture: amd64, arm64, armhf [default: the host's]
    #[arg(long, requires = "vmlinuz")]
    pub arch: Option<Arch>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Options of `lab shell`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope lab shell debian/6.12-rt
The guest is the one that is measured in, in the host's time. `exit` ends it; nothing of it is kept. The command ends with
the exit status of the shell.")]
pub(crate) struct Shell {
    /// A kernel of the cache, or one that can be fetched
    pub kernel: ToBoot,
    #[command(flatten)]
    pub guest: GuestArgs,
}

/// Options of `lab run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope lab run debian/6.12-rt -- cyclictest -m -S -p90 -i1000 -l2000 -q
  rtscope lab run debian/6.12 --load network -- cyclictest -m -S -p90 -i1000 -l2000 -q
  rtscope lab run debian/6.1 -- sh -c 'uname -a; cat /proc/interrupts'
Its output is printed when it has ended. Exit code 3 if its own was not 0.")]
pub(crate) struct Run {
    /// A kernel of the cache, or one that can be fetched
    pub kernel: ToBoot,
    /// Run it under this load
    #[arg(long, default_value = "none", value_name = "LOAD")]
    pub load: String,
    /// Longest virtual time that it may take
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = seconds)]
    pub limit: Nanos,
    /// Put a file of this host into the guest first; may be repeated
    #[arg(long, value_name = "FILE:PATH")]
    pub guest_file: Vec<String>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// JSON: output, exit status, virtual time, the load's proof
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Options of `lab model`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope lab model                                     debian/6.12-rt in time models 1 and 2, beside this host
  rtscope lab model debian/6.12 debian/6.12-rt --model 2
  rtscope lab model --json | jq '.things[] | [.name, .host_ns]'
The same code times both. A lab's figure is the same every time; this host's is a median, and its own.")]
pub(crate) struct Model {
    /// Kernels of the cache, or ones that can be fetched
    #[arg(default_value = "debian/6.12-rt", value_name = "KERNEL")]
    pub kernels: Vec<ToBoot>,
    /// Time models
    #[arg(long = "model", value_name = "N", value_delimiter = ',', default_value = "1,2")]
    pub models: Vec<TimeModel>,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Options of `lab verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope lab verify                                    debian/6.12-rt under full load, 2 s
  rtscope lab verify debian/6.12 --load network -D 5s
Exit code 1 when any run differs from the first.")]
pub(crate) struct Verify {
    /// A kernel of the cache, or one that can be fetched
    #[arg(default_value = "debian/6.12-rt")]
    pub kernel: ToBoot,
    /// The load in the guest
    #[arg(long, default_value = "full", value_name = "LOAD")]
    pub load: String,
    /// Virtual time to measure
    #[arg(short = 'D', long, default_value = "2s", value_name = "TIME", value_parser = seconds)]
    pub duration: Nanos,
    /// The load on this host during the second run
    #[arg(long, default_value = "full", value_name = "LOAD")]
    pub host_load: String,
    /// Leave out the third run, which boots again
    #[arg(long)]
    pub no_boot: bool,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// What may be chosen of a guest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Targets of the lab")]
pub(crate) struct GuestArgs {
    /// Whose time: `virtual`, one nanosecond for each instruction, the same again every time; or `host` [default: virtual]
    #[arg(long, hide_short_help = true, value_name = "CLOCK", value_parser = ["virtual", "host"])]
    pub clock: Option<String>,
    /// Time model, what things cost in virtual time: 2, copies go by words; 1, a copied byte costs an instruction; 3, as 2 with instructions of 2 ns [default: 2]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub model: Option<TimeModel>,
    /// Seed of the run: the same seed gives the same figures [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// CPUs of the guest [default: 1; more of them make sense with --clock host]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub guest_cpus: Option<u32>,
    /// Memory of the guest, MiB [default: 512]
    #[arg(long, hide_short_help = true, value_name = "MIB", value_parser = clap::value_parser!(u32).range(256..=65536))]
    pub guest_memory: Option<u32>,
    /// A kernel module to load first, with its parameters: FILE.ko or 'FILE.ko hold_us=50'; may be repeated
    #[arg(long, hide_short_help = true, value_name = "FILE [PARAMETER=VALUE...]")]
    pub guest_module: Vec<String>,
    /// Boot for this run alone; do not start from the kept state
    #[arg(long, hide_short_help = true)]
    pub fresh_boot: bool,
}

impl GuestArgs {
    /// These options as the lab takes them.
    pub(crate) fn options(&self) -> Result<LabOptions, Failure> {
        let usual = LabOptions::default();
        Ok(LabOptions {
            clock: self.clock.as_deref().and_then(|c| c.parse().ok()).unwrap_or(usual.clock),
            model: self.model.unwrap_or(usual.model),
            cpus: self.guest_cpus.unwrap_or(usual.cpus),
            memory_mib: self.guest_memory.unwrap_or(usual.memory_mib),
            seed: self.seed.unwrap_or(usual.seed),
            keep_state: !self.fresh_boot,
            modules: guest_modules(&self.guest_module)?,
            files: Vec::new(),
        })
    }
}

/// The modules that `--guest-module` names: files with their parameters.
pub(crate) fn guest_modules(texts: &[String]) -> Result<Vec<(PathBuf, Vec<String>)>, Failure> {
    let module = |text: &String| {
        let mut words = text.split_whitespace().map(str::to_owned);
        let file = words.next().ok_or_else(|| Failure::usage("--guest-module names no file", "--guest-module FILE.ko"))?;
        Ok((file.into(), words.collect()))
    };
    texts.iter().map(module).collect()
}

const KERNELS: &str = "\
Names are debian/SERIES/ARCH with the series 6.1, 6.12 (both for Debian 12), 13 and 13-backports;
ubuntu/SERIES/ARCH with 24.04, 24.04-hwe and 26.04; fedora/SERIES/ARCH with 43, 44 and rawhide
(fedora alone is the newest release); raspberrypi/13/ARCH; or own/NAME/ARCH. With -rt
after the series it is the PREEMPT_RT kernel. The architectures are amd64, arm64 and armhf; without
one the host's is meant. The list has every name. A fetched kernel stays as it is until fetched
with --update. Kernels are kept in $RTSCOPE_CACHE, else $XDG_CACHE_HOME/rtscope, else
~/.cache/rtscope. $RTSCOPE_DEBIAN_MIRROR and $RTSCOPE_UBUNTU_MIRROR name other mirrors than
http://deb.debian.org/debian and http://archive.ubuntu.com/ubuntu. For Raspberry Pi OS,
$RTSCOPE_RASPBERRYPI_MIRROR and $RTSCOPE_RASPBERRYPI_KEYRING must name a mirror and its keys; for
Fedora, $RTSCOPE_FEDORA_MIRROR and $RTSCOPE_FEDORA_KEYS.

Examples:
  rtscope lab kernels
  rtscope lab kernels fetch debian/6.12/amd64 debian/6.12-rt/amd64
  rtscope lab kernels fetch debian/13-rt ubuntu/24.04
  rtscope lab kernels fetch --update debian/13-backports-rt
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
    List(Json),
    /// Fetch kernels with modules, configuration, headers and their compiler, and the guest's tools
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
    /// Fetch the newest version even if one is in the cache
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
