//! Inserts modules into the running kernel. A refusal is explained, with a remedy.

use super::error::ModuleError;
use rtscope_load::programs::find_program;
use rtscope_probe::lines::gpio;
use rtscope_sys as sys;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;

/// The kernel's log.
const LOG: &str = "/dev/kmsg";

/// Loads a module from a file. The error includes what the kernel log says.
pub fn insert(file: &Path, name: &str, parameters: &[String]) -> Result<(), ModuleError> {
    let parameters: Vec<String> = parameters.iter().map(|p| with_label(p)).collect();
    let log = Log::open();
    let shown = file.file_name().map_or_else(|| name.to_owned(), |n| n.to_string_lossy().into_owned());
    sys::machine::load_module(file, &parameters).map_err(|e| refused(&shown, &e, &parameters, log.since(name)))
}

/// Loads an installed module.
pub(super) fn probe(name: &str, parameters: &[String]) -> Result<(), ModuleError> {
    let parameters: Vec<String> = parameters.iter().map(|p| with_label(p)).collect();
    let log = Log::open();
    let program = find_program("modprobe").unwrap_or_else(|| "modprobe".into());
    let out = sys::process::command(&program)
        .arg(name)
        .args(&parameters)
        .stdin(Stdio::null())
        .output()
        .map_err(ModuleError::io(&program))?;
    if out.status.success() {
        return Ok(());
    }
    let said = log.since(name).unwrap_or_else(|| String::from_utf8_lossy(&out.stderr).trim().to_owned());
    Err(ModuleError::Refused {
        module: name.into(),
        why: said,
        remedy: "run as root; is it built for this kernel? `dkms status`; the line's user: `gpioinfo`".into(),
    })
}

/// Converts `in=gpiochip0/3` to what the module expects: the chip's label.
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

/// The error for a refused module, with a remedy.
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
            (format!("it is not a module for this kernel, {release}"), "build it against this kernel's headers".to_owned())
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
    ModuleError::Refused { module: module.into(), why, remedy }
}

/// The kernel log from a certain moment on.
struct Log(Option<fs::File>);

impl Log {
    /// The log from now on; empty for users who may not read it.
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
        // Each read returns one record. An overwritten one gives an error, after which the next can be read.
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

/// The text about the module `name` in a record of /dev/kmsg, `PRIORITY,NUMBER,TIME,...;NAME: TEXT`.
fn of_record(record: &str, name: &str) -> Option<String> {
    let text = record.split_once(';')?.1.lines().next()?;
    text.strip_prefix(name)?.strip_prefix(": ").filter(|t| !t.contains("taint")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::Problem as _;

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
            (libc::ENOEXEC, "not a module for this kernel"),
        ] {
            let e = refused("x.ko", &io::Error::from_raw_os_error(errno), &lines, Some("why".into()));
            let text = e.to_string();
            assert!(text.contains(words) && text.contains("(the kernel says: why)") && !e.remedy().is_empty(), "{text}");
        }
    }

    #[test]
    fn what_is_no_chips_device_stays_as_it_is() {
        for text in ["in=rtscope-wire/0", "handler=hard", "out=GPIO17", "in=gpiochip9999/3"] {
            assert_eq!(with_label(text), text);
        }
    }
}
