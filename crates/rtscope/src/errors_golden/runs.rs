//! Sample errors about runs: loads, the lab and its kernels, targets, campaigns.

use super::{Told, absent, denied};
use rtscope_explain::btf::BtfError;
use rtscope_explain::executed::ExplainError;
use rtscope_explain::explained::{Explained, ExplainedError};
use rtscope_explain::log::LogError;
use rtscope_explain::symbols::SymbolError;
use rtscope_explain::trace::TraceError;
use rtscope_lab::build::{BuildError, Dropped};
use rtscope_lab::debian::DebianError;
use rtscope_lab::image::ImageError;
use rtscope_lab::inside::InsideError;
use rtscope_lab::kernels::{Arch, KernelError, KernelName};
use rtscope_lab::modules::ModuleError;
use rtscope_lab::vm::{GuestError, VmError};
use rtscope_load::kernel_modules::StillLoaded;
use rtscope_load::tracer::TracerError;
use rtscope_load::tuning::TuningError;
use rtscope_load::{JournalError, LoadError};
use rtscope_record::RecordError;
use rtscope_run::campaign::{CampaignError, CampaignPlanError, StateError};
use rtscope_run::lines::LineOptionsError;
use rtscope_run::session::MeasureError;
use rtscope_run::ssh::{Address, AddressError};
use rtscope_run::target::TargetError;
use std::path::PathBuf;

fn kernel() -> KernelName {
    "debian/6.12-rt/amd64".parse().unwrap()
}

fn cache() -> PathBuf {
    "/home/user/.cache/rtscope".into()
}

pub(super) fn add(told: &mut Told) {
    of_loads(told);
    of_the_lab(told);
    of_machines(told);
    of_insides(told);
    of_targets(told);
    of_campaigns(told);
}

fn of_insides(told: &mut Told) {
    variants!(told, BtfError:
        Damaged => [BtfError::Damaged("a type is cut off")],
        Missing => [BtfError::Missing("pid in struct task_struct".into())],
    );
    variants!(told, SymbolError:
        Line => [SymbolError::Line(7)],
        Hidden => [SymbolError::Hidden],
        Missing => [SymbolError::Missing("tk_core")],
    );
    variants!(told, InsideError:
        NoCompiler => [InsideError::NoCompiler],
        Build => [InsideError::Build("window.c:1:1: error: unknown type name".into())],
        Modules => [InsideError::Modules("the kernel has no symbol tick_program_event".into())],
        Kernel => [InsideError::Kernel("/home/user/.cache/rtscope/kernels/own/mine/amd64/vmlinux has no BTF".into())],
        NoPlugins => [InsideError::NoPlugins("10.0.13 (/opt/qemu/bin/qemu-system-x86_64)".into())],
        Hidden => [InsideError::Hidden {
            qemu: "10.0.13 (/opt/qemu/bin/qemu-system-x86_64)".into(),
            functions: "icount_update,icount_get".into(),
        }],
        NotTaken => [InsideError::NotTaken {
            qemu: "11.0.0 (/opt/qemu/bin/qemu-system-x86_64)".into(),
            why: "plugin requires API version 4, but this QEMU supports only a minimum version of 5".into(),
        }],
        Types => [InsideError::Types(BtfError::Damaged("it is too short"))],
        Symbols => [InsideError::Symbols(SymbolError::Hidden)],
        Io => [InsideError::Io { path: cache(), source: denied() }],
    );
    variants!(told, LogError:
        Damaged => [LogError::Damaged(480)],
        Full => [LogError::Full],
    );
    variants!(told, ExplainError:
        CutOff => [ExplainError::CutOff],
        NoClock => [ExplainError::NoClock],
        NotAnchored => [ExplainError::NotAnchored { whose: "the thread's", latency: 33_275, begin: "expiry", seen: "reads after 33_300 ns".into() }],
        Gap => [ExplainError::Gap { ns: 65_535, when: "1200 ns after the expiry".into(), function: "clear_page_rep".into() }],
    );
    variants!(told, TraceError:
        TooShort => [TraceError::TooShort(80)],
        Nothing => [TraceError::Nothing],
        NoThread => [TraceError::NoThread(4711)],
    );
    plain!(told, ExplainedError: Explained::read("{}").unwrap_err());
}

fn of_loads(told: &mut Told) {
    variants!(told, JournalError:
        NoHome => [JournalError::NoHome],
        Write => [JournalError::Write { path: "/home/user/.local/state/rtscope".into(), source: denied() }],
    );
    plain!(told, StillLoaded: StillLoaded { module: "rtscope_wire".into(), source: std::io::Error::from_raw_os_error(libc::EAGAIN) });
    let load = || "disk".to_owned();
    variants!(told, LoadError:
        Unknown => [LoadError::Unknown { name: "quake".into(), known: "none, disk or full".into() }],
        Argument => [LoadError::Argument { tool: "stress-ng", word: "--oom".into(), reason: "it is not a worker of a load" }],
        Missing => [LoadError::Missing { load: load(), tool: "fio" }],
        Directory => [LoadError::Directory { path: "/mnt".into(), reason: "it is read-only".into() }],
        DiskFull => [LoadError::DiskFull { load: load(), path: "/var/tmp".into(), need_mib: 3000, free_mib: 12 }],
        Journal => [LoadError::Journal(JournalError::NoHome)],
        Supervisor => [LoadError::Supervisor { program: "/usr/bin/rtscope".into(), source: denied() }],
        Interrupted => [LoadError::Interrupted],
        Start => [LoadError::Start { load: load(), message: "fio ended at once".into(), remedy: "look at what it said".into() }],
    );
}

fn of_the_lab(told: &mut Told) {
    let unusable = || DebianError::Unusable("apt can't use a cache whose path has quotes in it; set RTSCOPE_CACHE".into());
    variants!(told, DebianError:
        Missing => [DebianError::Missing { what: "apt-get".into(), package: "apt" }],
        Unusable => [unusable()],
        NotFound => [DebianError::NotFound { wanted: "linux-image-rt".into(), vendor: "Debian", arch: Arch::Amd64, said: String::new() }],
        Apt => [DebianError::Apt { vendor: "Debian", variable: "RTSCOPE_DEBIAN_MIRROR", program: "apt-get".into(), said: "Temporary failure resolving 'deb.debian.org'".into() }],
        Io => [DebianError::Io { path: cache(), source: denied() }],
    );
    variants!(told, KernelError:
        Name => ["debian/7".parse::<KernelName>().unwrap_err()],
        NotFetched => [KernelError::NotFetched { name: kernel(), remedy: "rtscope lab kernels fetch debian/6.12-rt/amd64".into() }],
        Arch => [KernelError::Arch("riscv64".into())],
        Damaged => [KernelError::Damaged { name: kernel(), why: "vmlinuz has another checksum".into() }],
        Own => [KernelError::Own("/tmp/x has no Makefile: name a kernel's build directory".into())],
        Debian => [KernelError::Debian(unusable())],
        Io => [KernelError::Io { path: cache(), source: denied() }],
    );
    variants!(told, BuildError:
        Ask => [BuildError::Ask { message: "linux-source-6.1 6.1.192-2 has no PREEMPT_LAZY".into(), remedy: "leave lazy out".into() }],
        NoTools => [BuildError::NoTools {
            arch: Arch::Arm64,
            missing: vec!["flex".into(), "aarch64-linux-gnu-gcc".into(), "gelf.h".into()],
            packages: vec!["flex".into(), "gcc-aarch64-linux-gnu".into(), "libelf-dev".into()],
        }],
        Dropped => [BuildError::Dropped {
            kernel: "own/6.12-rt/amd64".into(),
            dropped: vec![Dropped { option: "TRANSPARENT_HUGEPAGE".into(), wanted: "y".into(), is: "n".into() }],
        }],
        Failed => [BuildError::Failed {
            what: "compiling own/6.12-rt/amd64".into(),
            said: "kernel/fork.c:7: error: unknown type name".into(),
            log: cache().join("builds/0badc0/log"),
        }],
        Interrupted => [BuildError::Interrupted],
        Debian => [BuildError::Debian(unusable())],
        Kernel => [BuildError::Kernel(KernelError::Own("/tmp/x has no Makefile: name a kernel's build directory".into()))],
        Io => [BuildError::Io { path: cache(), source: denied() }],
    );
    variants!(told, ImageError:
        Debian => [ImageError::Debian(unusable())],
        Unfit => [ImageError::Unfit("tool is not an absolute path of a file".into())],
        NoTools => [ImageError::NoTools { arch: Arch::Amd64 }],
        Unreadable => [ImageError::Unreadable { path: "/tmp/tool".into(), why: "it is no ELF file".into() }],
        Io => [ImageError::Io { path: cache(), source: denied() }],
    );
    let module = || "rtscope_wire".to_owned();
    variants!(told, ModuleError:
        Ask => [ModuleError::Ask { message: "a wave in the kernel has no hard handler".into(), remedy: "--handler soft".into() }],
        NoTool => [ModuleError::NoTool { kernel: "6.12".into(), program: "make".into(), package: "make".into() }],
        NoHeaders => [ModuleError::NoHeaders { kernel: "6.12".into(), remedy: "apt-get install linux-headers-6.12".into() }],
        Build => [ModuleError::Build { kernel: "6.12".into(), said: "wire.c:7: error".into(), log: "/tmp/log".into() }],
        Refused => [ModuleError::Refused { module: module(), why: "Operation not permitted".into(), remedy: "run as root".into() }],
        StillLoaded => [ModuleError::StillLoaded(StillLoaded { module: module(), source: denied() })],
        Journal => [ModuleError::Journal(JournalError::NoHome)],
        Io => [ModuleError::Io { path: cache(), source: denied() }],
    );
}

fn failed(usage: bool) -> VmError {
    VmError::Failed { message: "the guest's disk is full".into(), remedy: "take a smaller load".into(), usage }
}

fn of_machines(told: &mut Told) {
    let (console, file) = (|| "Kernel panic - not syncing".to_owned(), || PathBuf::from("/tmp/console"));
    variants!(told, VmError:
        NoQemu => [VmError::NoQemu { program: "qemu-system-x86_64", package: "qemu-system-x86" }],
        Start => [VmError::Start { program: "/usr/bin/qemu-system-x86_64".into(), reason: "cannot allocate memory".into() }],
        Control => [VmError::Control("cont: it closed the channel".into())],
        Silent => [VmError::Silent(std::time::Duration::from_secs(120))],
        Refused => [VmError::Refused("its memory is not the one that was kept".into())],
        Ended => [VmError::Ended { when: "while it booted".into(), console: console(), file: file() }],
        Hang => [VmError::Hang { what: "no word for 60s".into(), console: console(), file: file() }],
        Garbled => [VmError::Garbled("expected value at line 1 column 1".into())],
        Failed => [failed(true), failed(false)],
        Interrupted => [VmError::Interrupted],
        Io => [VmError::Io { what: "the mailbox".into(), source: std::io::Error::from_raw_os_error(libc::ENOSPC) }],
    );
    let no_program =
        || GuestError::NoProgram { arch: Arch::Amd64, name: "rtscope-guest-amd64".into(), me: "/usr/bin/rtscope".into() };
    let journal = || ModuleError::Journal(JournalError::NoHome);
    variants!(told, GuestError:
        Kernel => [GuestError::Kernel(KernelError::Own("/tmp/x has no Makefile: name a kernel's build directory".into()))],
        Image => [GuestError::Image(ImageError::NoTools { arch: Arch::Amd64 })],
        Module => [GuestError::Module(journal())],
        Vm => [GuestError::Vm(failed(false))],
        NoProgram => [no_program()],
    );
    let refused = || TracerError::Refused {
        message: "the kernel's tracer can't be set up: /sys/kernel/tracing/instances/rtscope-4711: Permission denied (os error 13)"
            .into(),
        remedy: "run as root, on a kernel with CONFIG_FTRACE; in a container, on the machine itself".into(),
    };
    variants!(told, TracerError:
        Refused => [refused()],
        Keeper => [TracerError::Keeper(denied())],
    );
    let unset = |usage| TuningError::Refused {
        message: "thp=never: this machine has no /sys/kernel/mm/transparent_hugepage/enabled: it has no transparent huge pages"
            .into(),
        remedy: "leave thp out there".into(),
        usage,
    };
    variants!(told, TuningError:
        Refused => [unset(false), unset(true)],
        Keeper => [TuningError::Keeper(denied())],
    );
    variants!(told, MeasureError:
        Load => [MeasureError::Load(LoadError::Interrupted)],
        Target => [MeasureError::Target(TargetError::Interrupted)],
        Vm => [MeasureError::Vm(VmError::Interrupted)],
        Guest => [MeasureError::Guest(no_program())],
        Module => [MeasureError::Module(journal())],
        Tracer => [MeasureError::Tracer(refused())],
        Tuning => [MeasureError::Tuning(unset(false))],
        TooLong => [MeasureError::TooLong(std::time::Duration::from_secs(30))],
        Record => [MeasureError::Record(RecordError::Label("cpu0".into()))],
    );
}

fn of_targets(told: &mut Told) {
    let (message, remedy) = (|| "CPU 99 is not there".to_owned(), || "use 0 or 1".to_owned());
    variants!(told, TargetError:
        Usage => [TargetError::Usage { message: message(), remedy: remedy() }],
        Probe => [TargetError::Probe { message: message(), remedy: remedy() }],
        Start => [TargetError::Start { program: "/usr/bin/rtscope-probe".into(), source: absent() }],
        Garbled => [TargetError::Garbled { line: "hello, world".into(), reason: "expected value".into() }],
        Ended => [TargetError::Ended { how: "signal 9".into(), progress: ", after 1.5s and 3000 samples".into(), said: String::new() }],
        Pipe => [TargetError::Pipe(std::io::Error::from_raw_os_error(libc::EIO))],
        Interrupted => [TargetError::Interrupted],
        Record => [TargetError::Record("it is called `b`, the plan `a`".into())],
    );
    plain!(told, AddressError: "ssh:".parse::<Address>().unwrap_err());
    plain!(told, LineOptionsError: LineOptionsError { message: "`timer` has no lines".into(), remedy: "measure response".into() });
}

fn of_campaigns(told: &mut Told) {
    let path = || PathBuf::from("plan.toml");
    variants!(told, CampaignPlanError:
        Read => [CampaignPlanError::Read { path: path(), source: absent() }],
        Syntax => [CampaignPlanError::Syntax { path: path(), source: Box::new(toml::from_str::<toml::Table>("loads = ").unwrap_err()) }],
        Value => [CampaignPlanError::Value { path: path(), line: 3, message: "`quake` is not a load: use none, disk or full".into(), remedy: "`rtscope loads` lists them".into() }],
    );
    let busy = || StateError::Busy { who: "process 4711".into() };
    variants!(told, StateError:
        Io => [StateError::Io { path: "/tmp/state".into(), source: denied() }],
        Other => [StateError::Other { dir: "/tmp/state".into(), found: "the campaign `a`".into() }],
        Busy => [busy()],
    );
    variants!(told, CampaignError:
        State => [CampaignError::State(busy())],
        Keep => [CampaignError::Keep("/home/user/archive.db: no room left for the archive: free some space".into())],
    );
}
