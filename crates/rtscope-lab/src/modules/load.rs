//! Loads modules for a run and unloads them after it; the journal knows of them meanwhile.

use super::{ModuleError, Target, WIRE, Wanted, build};
use crate::journal::{Entered, Journal, Undo};
use crate::kernels::Arch;
use crate::programs::find_program;
use rtscope_probe::lines::gpio;
use rtscope_sys as sys;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long a module may still be in use by a process that is ending.
const LINGER: Duration = Duration::from_secs(3);
/// The kernel's log.
const LOG: &str = "/dev/kmsg";

/// Where a module of a machine comes from.
enum Source {
    /// A file that is loaded as it is.
    File(PathBuf),
    /// One that modprobe finds and unpacks.
    Installed,
}

/// Modules of this machine that are loaded for a run. Dropping it unloads them.
#[derive(Debug)]
pub struct Loaded {
    names: Vec<&'static str>,
    entered: Option<Entered>,
}

impl Loaded {
    /// Loads what is wanted, in this order; writes it down in `journal` first. rtscope_wire may be there already: then it is used, and left
    /// there. Modules are looked for in `$RTSCOPE_MODULES`, then where the system has them (DKMS), then in `cache`, where they are built if this
    /// kernel's headers are installed.
    pub fn load(
        wanted: &[Wanted],
        journal: &Journal,
        cache: &Path,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<Option<Self>, ModuleError> {
        let missing: Vec<&Wanted> = wanted.iter().filter(|w| w.name != WIRE || !is_loaded(w.name)).collect();
        if missing.is_empty() {
            return Ok(None);
        }
        if let Some(there) = missing.iter().find(|w| is_loaded(w.name)) {
            return Err(ModuleError::Refused {
                module: there.name.into(),
                act: "loaded",
                why: "it is loaded already, by another run or by hand".into(),
                remedy: format!("wait for that run, or unload it: rmmod {}; or measure with it as it is: --dut none", there.name),
            });
        }
        let sources = missing.iter().map(|w| find(w.name, cache, on_step)).collect::<Result<Vec<_>, _>>()?;
        let undo = missing.iter().rev().map(|w| Undo::UnloadModule { name: w.name.into(), parameters: w.parameters.clone() });
        // From here on, dropping it undoes what was done.
        let mut loaded = Self { names: Vec::new(), entered: Some(journal.enter(undo.collect())?) };
        for (w, source) in missing.iter().zip(&sources) {
            match source {
                Source::File(file) => insert(file, w.name, &w.parameters)?,
                Source::Installed => probe(w)?,
            }
            loaded.names.push(w.name);
        }
        Ok(Some(loaded))
    }

    /// Unloads them, the last one first; an error says what is left.
    pub fn unload(mut self) -> Result<(), ModuleError> {
        self.undo()
    }

    fn undo(&mut self) -> Result<(), ModuleError> {
        while let Some(name) = self.names.pop() {
            // What is left then is left to the journal, too.
            remove(name)?;
        }
        self.entered.take().into_iter().for_each(Entered::close);
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // An error that ends a run is told by `unload`; the next start tries again.
        let _: Result<(), ModuleError> = self.undo();
    }
}

fn is_loaded(name: &str) -> bool {
    Path::new("/sys/module").join(name).exists()
}

fn find(name: &str, cache: &Path, on_step: &mut dyn FnMut(&str)) -> Result<Source, ModuleError> {
    let release = sys::host::uname().map_err(ModuleError::io(Path::new("uname")))?.release;
    let named = std::env::var_os(super::DIRECTORY).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(dir) = named {
        let file = dir.join(format!("{name}.ko"));
        return match fs::metadata(&file) {
            Ok(_) => Ok(Source::File(file)),
            Err(e) => Err(ModuleError::io(&file)(e)),
        };
    }
    let installed = Path::new("/lib/modules").join(&release);
    for dir in ["updates", "extra"] {
        match walk(&installed.join(dir), name) {
            Some(file) if file.extension().is_some_and(|e| e == "ko") => return Ok(Source::File(file)),
            Some(_) => return Ok(Source::Installed),
            None => {}
        }
    }
    let headers = installed.join("build");
    let version = sys::host::uname().map_or_else(|_| String::new(), |u| u.version);
    if !headers.join("Makefile").exists() {
        let remedy = format!(
            "apt-get install linux-headers-{release}; or build them elsewhere (make -C kernel KDIR=HEADERS) and name their directory: \
             {}=DIR; or let DKMS build them (kernel/README.md)",
            super::DIRECTORY
        );
        return Err(ModuleError::NoHeaders { kernel: release, remedy });
    }
    let target = Target { kernel: &release, identity: &version, arch: Arch::host(), headers: &headers };
    build(cache, &target, on_step).map(|dir| Source::File(dir.join(format!("{name}.ko"))))
}

/// The module's file somewhere below `dir`, compressed or not.
fn walk(dir: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(dir).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if entry.file_type().ok()?.is_dir() {
            return walk(&path, name);
        }
        let rest = path.file_name()?.to_str()?.strip_prefix(name)?.to_owned();
        [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].contains(&rest.as_str()).then_some(path)
    })
}

/// Loads a module from a file; an error says what the kernel's log says of it.
pub fn insert(file: &Path, name: &str, parameters: &[String]) -> Result<(), ModuleError> {
    let parameters: Vec<String> = parameters.iter().map(|p| with_label(p)).collect();
    let log = Log::open();
    let shown = file.file_name().map_or_else(|| name.to_owned(), |n| n.to_string_lossy().into_owned());
    sys::machine::load_module(file, &parameters).map_err(|e| refused(&shown, &e, &parameters, log.since(name)))
}

/// Loads a module that is installed.
fn probe(w: &Wanted) -> Result<(), ModuleError> {
    let parameters: Vec<String> = w.parameters.iter().map(|p| with_label(p)).collect();
    let log = Log::open();
    let program = find_program("modprobe").unwrap_or_else(|| "modprobe".into());
    let out = sys::process::command(&program)
        .arg(w.name)
        .args(&parameters)
        .stdin(Stdio::null())
        .output()
        .map_err(ModuleError::io(&program))?;
    if out.status.success() {
        return Ok(());
    }
    let said = log.since(w.name).unwrap_or_else(|| String::from_utf8_lossy(&out.stderr).trim().to_owned());
    Err(ModuleError::Refused {
        module: w.name.into(),
        act: "loaded",
        why: said,
        remedy: "run as root; is it built for this kernel? `dkms status`; the line's user: `gpioinfo`".into(),
    })
}

/// Unloads the module `name`; waits a little for who still has it.
pub fn remove(name: &str) -> Result<(), ModuleError> {
    let end = Instant::now() + LINGER;
    loop {
        let error = match sys::machine::unload_module(name) {
            Ok(()) => return Ok(()),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
            Err(e) => e,
        };
        let in_use = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY));
        if !in_use || Instant::now() >= end {
            return Err(ModuleError::Refused {
                module: name.into(),
                act: "unloaded",
                why: error.to_string(),
                remedy: format!("end what uses its lines or device (`gpioinfo`), then as root: rmmod {name}"),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// `in=gpiochip0/3` as the kernel takes it: by the chip's label.
fn with_label(parameter: &str) -> String {
    let labelled = || {
        let (name, value) = parameter.split_once('=')?;
        let (chip, offset) = value.rsplit_once('/')?;
        let label = gpio::label_of(chip)?;
        let value = format!("{label}/{offset}");
        Some(if label.contains(' ') { format!("{name}=\"{value}\"") } else { format!("{name}={value}") })
    };
    labelled().unwrap_or_else(|| parameter.to_owned())
}

/// Why the kernel did not take a module, and what to do.
fn refused(module: &str, error: &io::Error, parameters: &[String], said: Option<String>) -> ModuleError {
    let lines: Vec<&str> =
        parameters.iter().map(String::as_str).filter(|p| p.starts_with("in=") || p.starts_with("out=")).collect();
    let lines = lines.join(" ");
    let (what, remedy) = match error.raw_os_error() {
        Some(libc::EPERM) => (
            "loading modules is not allowed here".to_owned(),
            "run as root; under Secure Boot or lockdown the module must be signed".to_owned(),
        ),
        Some(libc::ENOEXEC) => {
            let release = sys::host::uname().map(|u| u.release).unwrap_or_default();
            (format!("it is no module for this kernel, {release}"), "build it against this kernel's headers".to_owned())
        }
        Some(libc::ENOSYS) => ("this kernel takes no modules".to_owned(), "boot one that does, or measure in the lab".to_owned()),
        Some(libc::EEXIST) => ("it is loaded already".to_owned(), format!("unload it: rmmod {}", module.trim_end_matches(".ko"))),
        Some(libc::EBUSY) => (
            format!("a line of {lines} is in use"),
            "end the program or driver that has it (`gpioinfo` names it), or choose another line".to_owned(),
        ),
        Some(libc::ENODEV | libc::ENOENT) if !lines.is_empty() => (
            format!("there is no such line among {lines}"),
            "`gpioinfo` lists chips and lines; is the chip's driver (rtscope_wire?) loaded?".to_owned(),
        ),
        Some(libc::EOPNOTSUPP | libc::ENXIO) => (
            format!("{lines}: a line has the other direction, gives no interrupts, or its chip sleeps"),
            "are the DUT's two lines swapped? The line of --dut-in is the one that the stimulus is wired to".to_owned(),
        ),
        Some(libc::ENOKEY | libc::EKEYREJECTED) => (
            "it is not signed, and this kernel wants it to be".to_owned(),
            "sign it (kernel/README.md), or enrol its key".to_owned(),
        ),
        _ => (error.to_string(), "the kernel's log says more: dmesg | tail".to_owned()),
    };
    let why = said.map_or_else(|| what.clone(), |said| format!("{what} (the kernel says: {said})"));
    ModuleError::Refused { module: module.into(), act: "loaded", why, remedy }
}

/// The kernel's log from a moment on.
struct Log(Option<fs::File>);

impl Log {
    /// From now on; empty for who may not read it.
    fn open() -> Self {
        let open = || {
            let mut file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(LOG)?;
            file.seek(SeekFrom::End(0)).map(|_| file)
        };
        Self(open().ok())
    }

    /// The first line about the module `name`.
    fn since(self, name: &str) -> Option<String> {
        let mut file = self.0?;
        // One read gives one record; an overwritten one is an error, and the next follows.
        let mut room = [0; 8192];
        for _ in 0..1000 {
            let n = match file.read(&mut room) {
                Ok(0) => return None,
                Ok(n) => n,
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => continue,
                Err(_) => return None,
            };
            if let Some(said) = of_record(&String::from_utf8_lossy(&room[..n]), name) {
                return Some(said);
            }
        }
        None
    }
}

/// What a record of /dev/kmsg, `PRIORITY,NUMBER,TIME,...;NAME: TEXT`, says of the module `name`.
fn of_record(record: &str, name: &str) -> Option<String> {
    let text = record.split_once(';')?.1.lines().next()?;
    text.strip_prefix(name)?.strip_prefix(": ").filter(|t| !t.contains("taint")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_words_are_found() {
        let said =
            of_record("3,812,1234,-;rtscope_response: in=x/9: the chip has no such line\n SUBSYSTEM=x\n", "rtscope_response");
        assert_eq!(said.as_deref(), Some("in=x/9: the chip has no such line"));
        for other in [
            "",
            "3,1;",
            "6,1,2,-;usb 1-1: new",
            "4,1,2,-;rtscope_wire: loading out-of-tree module taints kernel.",
            "5,1,2,-;rtscope_wire: module verification failed: signature and/or required key missing - tainting kernel",
        ] {
            assert_eq!(of_record(other, "rtscope_wire"), None, "{other}");
        }
    }

    #[test]
    fn refusals_name_the_line_and_a_remedy() {
        let lines = ["in=a/1".to_owned(), "out=b/2".to_owned(), "handler=hard".to_owned()];
        for (errno, words) in [
            (libc::EBUSY, "in=a/1 out=b/2 is in use"),
            (libc::ENODEV, "no such line among in=a/1 out=b/2"),
            (libc::EOPNOTSUPP, "in=a/1 out=b/2: a line has the other direction"),
            (libc::EPERM, "not allowed"),
            (libc::ENOEXEC, "no module for this kernel"),
        ] {
            let e = refused("x.ko", &io::Error::from_raw_os_error(errno), &lines, Some("why".into()));
            let text = e.to_string();
            assert!(text.contains(words) && text.contains("(the kernel says: why)") && !e.remedy().is_empty(), "{text}");
        }
    }

    #[test]
    fn modules_are_found_below_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let dkms = dir.path().join("dkms");
        fs::create_dir(&dkms).unwrap();
        fs::write(dkms.join("rtscope_wire.ko.xz"), "").unwrap();
        fs::write(dkms.join("rtscope_wire_else.ko"), "").unwrap();
        assert_eq!(walk(dir.path(), "rtscope_wire"), Some(dkms.join("rtscope_wire.ko.xz")));
        assert_eq!(walk(dir.path(), "rtscope_timer"), None);
    }

    #[test]
    fn what_is_no_chips_device_stays_as_it_is() {
        for text in ["in=rtscope-wire/0", "handler=hard", "out=GPIO17", "in=gpiochip9999/3"] {
            assert_eq!(with_label(text), text);
        }
    }
}
