//! What runs inside a guest, seen from outside: a plugin of QEMU logs every block of instructions around chosen samples.

use crate::cache;
use crate::kernels::Arch;
use crate::vm::Guest;
use elf::ElfBytes;
use elf::endian::LittleEndian;
use rtscope_explain::btf::{Btf, BtfError};
use rtscope_explain::clock::Layout;
use rtscope_explain::frame_pointers::FramePointers;
use rtscope_explain::orc::Orc;
use rtscope_explain::symbols::{SymbolError, Symbols};
use rtscope_explain::unwinder::Unwinder;
use rtscope_failure::Problem;
use rtscope_files::digest;
use rtscope_load::programs::find_program;
use rtscope_sys as sys;
use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The plugin's source, file by file.
const SOURCE: [(&str, &str); 3] = [
    ("window.c", include_str!("../plugin/window.c")),
    ("log.h", include_str!("../plugin/log.h")),
    ("qemu.h", include_str!("../plugin/qemu.h")),
];
/// Most of a log, bytes, which is kept in memory: some twenty million blocks, 40 to 80 virtual ms.
const MOST: u64 = 1 << 30;

/// Why a guest can't be looked into.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// There is no C compiler.
    #[error("looking into a guest takes a plugin for QEMU, and building it a C compiler: gcc is not installed")]
    NoCompiler,
    /// The compiler failed.
    #[error("the plugin for QEMU can't be built:\n{0}")]
    Build(String),
    /// The kernel is not one that can be read so.
    #[error("the kernel's file can't be looked into: {0}")]
    Kernel(String),
    /// QEMU has no plugins.
    #[error("the QEMU here, {0}, was built without plugins, and by a plugin guests are looked into")]
    NoPlugins(String),
    /// QEMU does not let a plugin see what it needs.
    #[error("the QEMU here, {qemu}, hides from plugins what it takes to look into guests: {functions}")]
    Hidden {
        /// Its version and program.
        qemu: String,
        /// Names of functions.
        functions: String,
    },
    /// QEMU does not load the plugin.
    #[error("the QEMU here, {qemu}, does not take the plugin that looks into guests: {why}")]
    NotTaken {
        /// Its version and program.
        qemu: String,
        /// What it says.
        why: String,
    },
    /// It does not say where its modules' functions are.
    #[error("the timers of kernel modules can't be watched in this kernel: {0}")]
    Modules(String),
    /// Its types.
    #[error(transparent)]
    Types(#[from] BtfError),
    /// What `/proc/kallsyms` says of it.
    #[error(transparent)]
    Symbols(#[from] SymbolError),
    /// A file.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
}

impl Problem for InsideError {
    fn remedy(&self) -> String {
        match self {
            Self::NoCompiler => "apt-get install gcc".into(),
            Self::Build(_) => "report this with the compiler's version".into(),
            Self::Modules(_) => "explain a run of the timer test in user space, or take one of Debian's kernels".into(),
            Self::Kernel(_) => {
                "take a kernel that was built with CONFIG_DEBUG_INFO_BTF=y, and for amd64 with CONFIG_UNWINDER_ORC=y, as Debian's are"
                    .into()
            }
            Self::NoPlugins(_) | Self::NotTaken { .. } => {
                "put QEMU 7.2 of Debian 12 or 10.0 of Debian 13 first in PATH (qemu-system-x86, for Arm guests qemu-system-arm), measure again, and explain that run".into()
            }
            Self::Hidden { .. } => {
                "take one that was built with --enable-modules, as Debian's are: first in PATH; then measure again, and explain that run".into()
            }
            Self::Types(e) => e.remedy(),
            Self::Symbols(e) => e.remedy(),
            Self::Io { .. } => "is the disk full, or the cache another user's?".into(),
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> InsideError {
    let path = path.to_path_buf();
    move |source| InsideError::Io { path, source }
}

/// Whose timers are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchedTimer {
    /// The sleeps of the thread with this id.
    Thread(u32),
    /// The sleeps of the thread with this name, of 8 bytes at most.
    Called(&'static str),
    /// The timer that this function of a kernel module is the callback of.
    Callback(ModuleFunction),
}

/// A function of a kernel module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleFunction {
    /// The module.
    pub module: &'static str,
    /// The function.
    pub function: &'static str,
}

impl fmt::Display for ModuleFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.module, self.function)
    }
}

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch<'a> {
    /// Whose timers.
    pub who: WatchedTimer,
    /// In which function a sample is over, if not with the thread's read of the clock, or with the callback. It may be after the next
    /// expiry is known.
    pub end: Option<ModuleFunction>,
    /// Whether a sample is seen to the begin of the next one: where it is over can't be told meanwhile.
    pub patient: bool,
    /// What `after` counts from, `CLOCK_MONOTONIC`, ns; `None`: the first expiry.
    pub from: Option<u64>,
    /// Expiries: the lowest time of each, ns, and how much higher it may be; ascending.
    pub after: &'a [(u64, u64)],
}

/// A kernel as its guest runs it: where things are in memory.
#[derive(Debug)]
pub struct Inside {
    /// Its symbols, with those of its modules.
    pub symbols: Symbols,
    /// Of the timekeeper that is logged.
    pub layout: Layout,
    /// Its unwinder.
    pub unwinder: Unwinder,
    addresses: Vec<(&'static str, u64)>,
    /// Of timers and modules; what is missing where it is not as expected.
    timers: Result<Vec<(&'static str, u64)>, String>,
}

impl Inside {
    /// From the kernel that is booted (an ELF file with BTF; for arm64 an image), and from what `/proc/kallsyms` says in the guest.
    pub fn new(arch: Arch, kernel: &Path, kallsyms: &str) -> Result<Self, InsideError> {
        let bytes = rtscope_files::read(kernel, rtscope_files::LARGE).map_err(failed(kernel))?;
        let symbols = Symbols::parse(kallsyms)?;
        let types = if arch == Arch::Arm64 { types_in_image(&bytes, &symbols)? } else { section(&bytes, ".BTF").map(|s| s.1) };
        let types = types.ok_or_else(|| InsideError::Kernel(format!("{} has no BTF", kernel.display())))?;
        let btf = Btf::parse(types)?;
        let unwinder = if arch == Arch::Arm64 {
            Unwinder::FramePointers(FramePointers::new(&btf)?)
        } else {
            let no_tables = || InsideError::Kernel(format!("{} has no tables for unwinding (ORC)", kernel.display()));
            Unwinder::Orc(orc(&bytes, &btf).ok_or_else(no_tables)?)
        };
        let (current, preempt) = if arch == Arch::Arm64 { running_arm64(&btf, &symbols)? } else { running_amd64(&btf, &symbols)? };
        let within = btf.offset_of_a("timekeeper", "timekeeper")?.wrapping_add(btf.offset("timekeeper", "tkr_mono")?);
        let addresses = vec![
            ("sleep", symbols.address("hrtimer_nanosleep")?),
            ("percpu", symbols.address("__per_cpu_offset")?),
            ("current", current),
            ("preempt", preempt),
            ("pid", btf.offset("task_struct", "pid")?),
            ("comm", btf.offset("task_struct", "comm")?),
            ("stack", btf.offset("task_struct", "stack")?),
            ("timekeeper", symbols.address("tk_core")?.wrapping_add(within)),
            ("timekeepersize", btf.size("tk_read_base")?),
        ];
        let timers = timers(&btf, &symbols).map_err(|e| e.to_string());
        Ok(Self { layout: layout(&btf)?, symbols, unwinder, addresses, timers })
    }

    /// Whether the functions of modules that are loaded for a run are logged, so that the symbols need not have them.
    pub fn names_modules(&self) -> bool {
        self.timers.is_ok()
    }

    /// The argument of QEMU's `-plugin`: what `watch` says is logged to `log`.
    pub fn plugin(&self, plugin: &Path, log: &Path, watch: &Watch<'_>) -> Result<OsString, InsideError> {
        // QEMU reads a comma in a value as the end of it, unless it is doubled.
        let mut text = OsString::from(plugin.to_string_lossy().replace(',', ",,"));
        text.push(",out=");
        text.push(log);
        let mut words = match watch.who {
            WatchedTimer::Thread(thread) => format!(",thread={thread},most={MOST}"),
            WatchedTimer::Called(name) => format!(",called={name},most={MOST}"),
            WatchedTimer::Callback(place) => format!(",callback={place},most={MOST}"),
        };
        let of_modules = watch.end.is_some() || matches!(watch.who, WatchedTimer::Callback(_));
        let timers = match &self.timers {
            Err(e) if of_modules => return Err(InsideError::Modules(e.clone())),
            timers => timers.as_deref().unwrap_or_default(),
        };
        for (name, value) in self.addresses.iter().chain(timers) {
            let _ = write!(words, ",{name}={value:#x}");
        }
        let _ = watch.end.map_or(Ok(()), |place| write!(words, ",end={place}"));
        let _ = watch.from.map_or(Ok(()), |at| write!(words, ",from={at}"));
        words.push_str(if watch.patient { ",patient=1" } else { "" });
        for (at, width) in watch.after {
            let _ = if *width > 0 { write!(words, ",window={at}+{width}") } else { write!(words, ",window={at}") };
        }
        text.push(words);
        Ok(text)
    }
}

/// Where a kernel's timers are started and set, and where they and its modules have what must be known of them.
fn timers(btf: &Btf<'_>, symbols: &Symbols) -> Result<Vec<(&'static str, u64)>, InsideError> {
    let function = btf.offset("hrtimer", "function").or_else(|_| btf.offset("hrtimer", "__function"))?;
    Ok(vec![
        ("start", symbols.address("hrtimer_start_range_ns")?),
        ("program", symbols.address("tick_program_event")?),
        ("init", symbols.address("do_init_module")?),
        ("function", function),
        ("expires", btf.offset("hrtimer", "node")?.wrapping_add(btf.offset("timerqueue_node", "expires")?)),
        ("modulename", btf.offset("module", "name")?),
        ("kallsyms", btf.offset("module", "kallsyms")?),
        ("symtab", btf.offset("mod_kallsyms", "symtab")?),
        ("symbols", btf.offset("mod_kallsyms", "num_symtab")?),
        ("strtab", btf.offset("mod_kallsyms", "strtab")?),
    ])
}

/// Where the fields of a clock are.
fn layout(btf: &Btf<'_>) -> Result<Layout, BtfError> {
    let field =
        |name| btf.offset("tk_read_base", name).and_then(|at| usize::try_from(at).map_err(|_| BtfError::Damaged("an offset")));
    Ok(Layout {
        last: field("cycle_last")?,
        mult: field("mult")?,
        shift: field("shift")?,
        nsec: field("xtime_nsec")?,
        base: field("base")?,
    })
}

/// The per-CPU variables that hold the running task and `preempt_count`.
fn running_amd64(btf: &Btf<'_>, symbols: &Symbols) -> Result<(u64, u64), InsideError> {
    // Since 6.2 these two share a structure, until 6.15.
    let Ok(hot) = symbols.address("pcpu_hot") else {
        return Ok((symbols.address("current_task")?, symbols.address("__preempt_count")?));
    };
    let at = |field| btf.offset("pcpu_hot", field).map(|offset| hot.wrapping_add(offset));
    Ok((at("current_task")?, at("preempt_count")?))
}

/// The per-CPU variable that holds the running task, and where `preempt_count` is in a task.
fn running_arm64(btf: &Btf<'_>, symbols: &Symbols) -> Result<(u64, u64), InsideError> {
    let info = btf.offset("task_struct", "thread_info")?;
    Ok((symbols.address("__entry_task")?, info.wrapping_add(btf.offset("thread_info", "preempt_count")?)))
}

/// The tables for unwinding in an ELF file.
fn orc(vmlinux: &[u8], btf: &Btf<'_>) -> Option<Orc> {
    let ((at, ips), (_, entries)) = (section(vmlinux, ".orc_unwind_ip")?, section(vmlinux, ".orc_unwind")?);
    Orc::parse(ips, at, entries, btf)
}

/// The type information in an image, which lies in memory as in the file, from `_text` on.
fn types_in_image<'a>(image: &'a [u8], symbols: &Symbols) -> Result<Option<&'a [u8]>, SymbolError> {
    let text = symbols.address("_text")?;
    let at = |name| symbols.address(name).map(|at| usize::try_from(at.wrapping_sub(text)).unwrap_or(usize::MAX));
    Ok(image.get(at("__start_BTF")?..at("__stop_BTF")?))
}

/// A section of an ELF file: its address, and its contents.
fn section<'a>(vmlinux: &'a [u8], name: &str) -> Option<(u64, &'a [u8])> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(vmlinux).ok()?;
    let header = file.section_header_by_name(name).ok()??;
    file.section_data(&header).ok().map(|(data, _)| (header.sh_addr, data))
}

/// The plugin, built now if it is not in the cache.
pub fn plugin(cache: &Path, on_step: &mut dyn FnMut(&str)) -> Result<PathBuf, InsideError> {
    let dir = cache.join("plugins");
    let text = SOURCE.map(|(_, text)| text).concat();
    let file = dir.join(format!("{}.so", &digest::bytes(text.as_bytes())[..32]));
    if file.is_file() {
        return Ok(file);
    }
    let compiler = find_program("gcc").ok_or(InsideError::NoCompiler)?;
    fs::create_dir_all(&dir).map_err(failed(&dir))?;
    let lock = dir.join("lock");
    let _lock = cache::lock(&lock, on_step).map_err(failed(&lock))?;
    if file.is_file() {
        return Ok(file); // another process was quicker
    }
    on_step("building the plugin for QEMU");
    for (name, text) in SOURCE {
        let source = dir.join(name);
        fs::write(&source, text).map_err(failed(&source))?;
    }
    let (source, made) = (dir.join(SOURCE[0].0), dir.join("unfinished.so"));
    let mut command = sys::process::command(&compiler);
    command.args(["-std=gnu11", "-O2", "-fPIC", "-shared", "-o"]).arg(&made).arg(&source);
    let out = command.stdin(Stdio::null()).output().map_err(failed(&compiler))?;
    if !out.status.success() {
        return Err(InsideError::Build(String::from_utf8_lossy(&out.stderr).trim().to_owned()));
    }
    fs::rename(&made, &file).map_err(failed(&file))?;
    Ok(file)
}

/// Refuses a guest whose QEMU can't be looked into by `plugin`. Asks it: it loads the plugin, which answers and ends it.
pub fn check_qemu(guest: &Guest, plugin: &Path) -> Result<(), InsideError> {
    let words = format!("{},ask=1", plugin.to_string_lossy().replace(',', ",,"));
    let qemu = guest.qemu();
    let said = guest.ask_qemu(&["-M", "none", "-display", "none", "-plugin", &words]).map_err(failed(guest.qemu_program()))?;
    judge_qemu(&qemu, &said)
}

/// Judges what QEMU said, on standard output and standard error, when it was to load the plugin.
fn judge_qemu(qemu: &str, [out, error]: &[String; 2]) -> Result<(), InsideError> {
    let qemu = qemu.to_owned();
    let Some(answer) = out.lines().find_map(|l| l.strip_prefix("rtscope-plugin ")) else {
        if error.contains("plugin interface not enabled") || error.contains("-plugin: invalid option") {
            return Err(InsideError::NoPlugins(qemu));
        }
        let why = error.lines().next_back().unwrap_or("it says nothing");
        let why = why.rsplit_once("Could not load plugin ").map_or(why, |(_, why)| why.split_once(": ").map_or(why, |w| w.1));
        return Err(InsideError::NotTaken { qemu, why: why.to_owned() });
    };
    match answer.split(' ').find_map(|word| word.strip_prefix("hidden=")) {
        Some("") => Ok(()),
        functions => Err(InsideError::Hidden { qemu, functions: functions.unwrap_or_default().replace(',', ", ") }),
    }
}

#[cfg(test)]
#[path = "inside_tests.rs"]
mod versions_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_qemu_answers_is_judged() {
        let judge = |out: &str, error: &str| judge_qemu("10.0", &[out.to_owned(), error.to_owned()]);
        judge("rtscope-plugin version=4 target=x86_64 hidden=", "").unwrap();
        let error = |out: &str, error: &str| judge(out, error).unwrap_err().to_string();
        let said = error("rtscope-plugin version=1 target=x86_64 hidden=icount_update,icount_get", "");
        assert!(said.ends_with("hides from plugins what it takes to look into guests: icount_update, icount_get"), "{said}");
        for none in
            ["qemu-system-x86_64: -plugin x.so,ask=1: plugin interface not enabled in this build", "q: -plugin: invalid option"]
        {
            assert!(matches!(judge("", none), Err(InsideError::NoPlugins(_))), "{none}");
        }
        let said = error(
            "",
            "qemu-system-x86_64: Could not load plugin /a/x.so: plugin requires API version 1, but this QEMU supports only a minimum version of 2",
        );
        assert!(
            said.ends_with("looks into guests: plugin requires API version 1, but this QEMU supports only a minimum version of 2"),
            "{said}"
        );
        assert!(error("", "").ends_with("it says nothing"));
        assert!(judge("rtscope-plugin", "").is_err() && judge("rtscope-plugin version=4", "").is_err());
    }

    #[test]
    fn types_lie_in_an_image_where_they_do_in_memory() {
        let text = |end: &str| format!("ffffc35c37c00000 T _text\nffffc35c37c00004 R __start_BTF\n{end} R __stop_BTF\n");
        let types = |end: &str| types_in_image(b"text type data", &Symbols::parse(&text(end)).unwrap()).unwrap();
        assert_eq!(types("ffffc35c37c00009"), Some(&b" type"[..]));
        assert_eq!([types("ffffc35c37c00100"), types("ffffc35c37c00001"), types("0")], [None; 3]);
        assert!(types_in_image(b"", &Symbols::parse("ffffc35c37c00000 T _stext").unwrap()).is_err());
    }

    #[test]
    fn a_comma_in_the_caches_path_does_not_end_the_plugins_name() {
        let layout = Layout { last: 0, mult: 8, shift: 12, nsec: 16, base: 24 };
        let (symbols, unwinder) = (Symbols::default(), Unwinder::Orc(Orc::default()));
        let inside = Inside {
            symbols,
            layout,
            unwinder,
            addresses: vec![("sleep", 0x10)],
            timers: Err("the kernel has no symbol f".into()),
        };
        let (plugin, log) = (Path::new("/a,b/window.so"), Path::new("/proc/7/fd/3"));
        let sleeps =
            Watch { who: WatchedTimer::Thread(145), end: None, patient: false, from: None, after: &[(1_000, 0), (2_000, 9)] };
        let text = inside.plugin(plugin, log, &sleeps).unwrap();
        let expected = format!("/a,,b/window.so,out=/proc/7/fd/3,thread=145,most={MOST},sleep=0x10,window=1000,window=2000+9");
        assert_eq!(text.to_str(), Some(expected.as_str()));
        let place = |function| ModuleFunction { module: "m", function };
        let timer =
            Watch { who: WatchedTimer::Callback(place("f")), end: Some(place("g")), patient: true, from: Some(5), after: &[] };
        assert!(inside.plugin(plugin, log, &timer).unwrap_err().to_string().ends_with("no symbol f"));
        let text = Inside { timers: Ok(vec![("init", 7)]), ..inside }.plugin(plugin, log, &timer).unwrap();
        let end = format!(",callback=m:f,most={MOST},sleep=0x10,init=0x7,end=m:g,from=5,patient=1");
        assert!(text.to_str().unwrap().ends_with(&end), "{text:?}");
    }
}
