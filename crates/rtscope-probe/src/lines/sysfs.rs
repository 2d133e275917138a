//! GPIO lines of the legacy sysfs interface, `sysfs:NUMBER`, for kernels without the character device. The task
//! that an edge wakes stamps it; edges during its sleep merge into one.

use super::{Abilities, Input, LineError, Output, Span};
use rtscope_record::lines::Stamp;
use rtscope_samples::Edge;
use rtscope_sys::rt::now;
use rtscope_sys::tty::wait_for;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The kernel's directory of GPIO lines.
pub const ROOT: &str = "/sys/class/gpio";

/// What such a line can do.
pub const ABILITIES: Abilities = Abilities { what: "GPIO line (sysfs)", stamp: Stamp::Listener, tells_losses: false };

/// An exported line. Dropping this unexports it, if this process exported it.
#[derive(Debug)]
struct Exported {
    line: String,
    root: PathBuf,
    number: u32,
    /// Directory of the line's files.
    dir: PathBuf,
    ours: bool,
}

/// The lines that are currently exported.
fn exported(root: &Path) -> BTreeSet<PathBuf> {
    let all = std::fs::read_dir(root).into_iter().flatten().flatten().map(|e| e.path());
    all.filter(|dir| dir.join("value").exists()).collect()
}

/// The one line that is exported now and was not before; `None` if there is not exactly one.
fn appeared(before: &BTreeSet<PathBuf>, now: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let mut new = now.difference(before);
    new.next().filter(|_| new.next().is_none()).cloned()
}

impl Exported {
    fn new(root: &Path, number: u32) -> Result<Self, LineError> {
        let line = format!("sysfs:{number}");
        if !root.is_dir() {
            let why = format!("this kernel has no {}: name the line by its chip, gpio:CHIP/OFFSET", root.display());
            return Err(LineError::Unable { line, why });
        }
        let dir = root.join(format!("gpio{number}"));
        let before = exported(root);
        let mut new = Self { line: line.clone(), root: root.into(), number, ours: !dir.exists(), dir };
        if new.ours {
            if let Err(source) = std::fs::write(root.join("export"), number.to_string()) {
                new.ours = false;
                return Err(match source.raw_os_error() {
                    Some(libc::EBUSY) => {
                        let by = "a driver of the kernel or the character device has it, or it is exported under another name";
                        LineError::Busy { line, by: by.into() }
                    }
                    Some(libc::EINVAL) => LineError::Unable { line, why: "no GPIO chip has this number".into() },
                    _ => LineError::Io { line, act: "export it".into(), source },
                });
            }
            // A chip that names its lines exports them under these names.
            if !new.dir.exists() {
                if let Some(dir) = appeared(&before, &exported(root)) {
                    new.dir = dir;
                }
            }
        }
        Ok(new)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn write(&self, name: &str, value: &str) -> Result<(), LineError> {
        std::fs::write(self.file(name), value).map_err(|e| match e.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::EIO | libc::EINVAL) => {
                let why = format!("its {name} can't be set to {value} ({e}); two lines, or their wires, may be swapped");
                LineError::Unable { line: self.line.clone(), why }
            }
            _ => LineError::io(&self.line, format!("set its {name} to {value}"))(e),
        })
    }

    fn value(&self) -> Result<File, LineError> {
        let options = OpenOptions::new().read(true).write(true).open(self.file("value"));
        options.or_else(|_| File::open(self.file("value"))).map_err(LineError::io(&self.line, "open its value"))
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        if self.ours {
            let _: io::Result<()> = std::fs::write(self.root.join("unexport"), self.number.to_string());
        }
    }
}

fn read(value: &File) -> io::Result<bool> {
    let mut digit = [0];
    value.read_exact_at(&mut digit, 0)?;
    Ok(digit == *b"1")
}

/// Open for driving.
#[derive(Debug)]
pub struct SysfsOutput {
    value: File,
    exported: Exported,
}

impl SysfsOutput {
    /// Exports the line as an output, low.
    pub fn open(root: &Path, number: u32) -> Result<Self, LineError> {
        let exported = Exported::new(root, number)?;
        exported.write("direction", "low")?;
        Ok(Self { value: exported.value()?, exported })
    }
}

impl Output for SysfsOutput {
    fn set(&mut self, level: bool) -> Result<Span, LineError> {
        let before = now();
        let outcome = self.value.write_all_at(if level { b"1" } else { b"0" }, 0);
        let after = now();
        outcome.map_err(LineError::io(&self.exported.line, "drive"))?;
        Ok(Span { before, after })
    }

    fn has_listener(&self) -> Option<bool> {
        None
    }
}

/// Open for listening.
#[derive(Debug)]
pub struct SysfsInput {
    value: File,
    level: bool,
    exported: Exported,
}

impl SysfsInput {
    /// Exports the line as an input with both edges. Fails with [`LineError::Unable`] if it has no interrupts.
    pub fn open(root: &Path, number: u32) -> Result<Self, LineError> {
        let exported = Exported::new(root, number)?;
        exported.write("direction", "in")?;
        if !exported.file("edge").exists() {
            return Err(LineError::Unable { line: exported.line.clone(), why: "its chip gives no interrupts for edges".into() });
        }
        exported.write("edge", "both")?;
        let value = exported.value()?;
        // Reading clears what was signalled before.
        let level = read(&value).map_err(LineError::io(&exported.line, "read"))?;
        Ok(Self { value, level, exported })
    }
}

impl Input for SysfsInput {
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError> {
        let mut lost = 0;
        loop {
            if !wait_for(self.value.as_raw_fd(), libc::POLLPRI, deadline).map_err(LineError::io(&self.exported.line, "poll"))? {
                return Ok(None);
            }
            let at = now();
            let level = read(&self.value).map_err(LineError::io(&self.exported.line, "read"))?;
            if level != self.level {
                self.level = level;
                return Ok(Some(Edge { level, at, lost }));
            }
            // The level changed and changed back before it was read.
            lost += 2;
        }
    }

    fn level(&mut self) -> Result<bool, LineError> {
        read(&self.value).map_err(LineError::io(&self.exported.line, "read"))
    }

    fn has_driver(&self) -> Option<bool> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree like the kernel's, in which the lines 4 (with an `edge` file) and 5 (without) are already exported.
    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for n in [4, 5] {
            let line = dir.path().join(format!("gpio{n}"));
            std::fs::create_dir(&line).unwrap();
            std::fs::write(line.join("direction"), "in").unwrap();
            std::fs::write(line.join("value"), "0\n").unwrap();
        }
        std::fs::write(dir.path().join("gpio4/edge"), "none").unwrap();
        for name in ["export", "unexport"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        dir
    }

    #[test]
    fn a_line_is_set_up_and_driven() {
        let dir = tree();
        let of = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        let mut output = SysfsOutput::open(dir.path(), 5).unwrap();
        let span = output.set(true).unwrap();
        assert!(span.before <= span.after);
        assert_eq!((of("gpio5/direction").as_str(), of("gpio5/value").as_str()), ("low", "1\n"));
        let mut input = SysfsInput::open(dir.path(), 4).unwrap();
        assert_eq!((of("gpio4/direction").as_str(), of("gpio4/edge").as_str()), ("in", "both"));
        assert!(!input.level().unwrap());
        drop((input, output));
        assert_eq!((of("export").as_str(), of("unexport").as_str()), ("", ""), "they were exported by somebody else");
    }

    #[test]
    fn a_line_that_is_exported_by_its_name_is_found() {
        let dir = tree();
        let before = exported(dir.path());
        assert_eq!((before.len(), appeared(&before, &before)), (2, None));
        let export = |name: &str| {
            std::fs::create_dir(dir.path().join(name)).unwrap();
            std::fs::write(dir.path().join(name).join("value"), "0\n").unwrap();
            exported(dir.path())
        };
        assert_eq!(appeared(&before, &export("RELAY")), Some(dir.path().join("RELAY")));
        assert_eq!(appeared(&before, &export("LED")), None, "nobody can tell which");
    }

    #[test]
    fn a_line_without_edges_and_one_that_is_not_there() {
        let dir = tree();
        assert!(SysfsInput::open(dir.path(), 5).unwrap_err().to_string().contains("no interrupts"));
        assert!(SysfsInput::open(&dir.path().join("x"), 5).unwrap_err().to_string().contains("gpio:CHIP/OFFSET"));
        assert!(SysfsOutput::open(dir.path(), 6).is_err());
        assert_eq!(std::fs::read_to_string(dir.path().join("unexport")).unwrap(), "6", "what was exported is given back");
    }
}
