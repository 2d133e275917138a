//! Software lines, `soft:NAME`: a page of memory shared by two threads or processes of one user. They need no
//! hardware and no privilege.
//!
//! The page is a file in the user's own directory in `/dev/shm`, which nobody else may enter, one file per
//! line. Locks on two of its bytes show who drives and who listens; the kernel releases them however a process
//! ends. The driver stamps an edge just before it becomes visible, so the listener's wake-up is not part of the
//! time stamp.

use super::{Abilities, Input, LineError, Output, Span};
use rtscope_record::lines::Stamp;
use rtscope_samples::Edge;
use rtscope_sys::rt::now;
use rtscope_sys::shared::{self, ByteLock, SLOTS, Shared};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// Marks the layout of the page: "rtsline" and its version.
const MAGIC: u64 = 0x7274_736c_696e_6501;
/// The byte that the driver locks.
const DRIVER: i64 = 0;
/// The byte that all listeners lock (shared).
const LISTENER: i64 = 1;

/// What a software line can do.
pub const ABILITIES: Abilities =
    Abilities { what: "software line (memory and futex, no hardware)", stamp: Stamp::Driver, tells_losses: true };

/// The file of a line. Lines belong to one user: root and an ordinary user do not share them.
fn place(name: &str) -> io::Result<PathBuf> {
    Ok(rtscope_files::user_dir()?.join(format!("line-{name}")))
}

/// One end of a line.
#[derive(Debug)]
struct End {
    path: PathBuf,
    file: File,
    shared: Shared,
}

impl End {
    fn open(name: &str, kind: ByteLock, byte: i64) -> Result<Self, LineError> {
        let line = format!("soft:{name}");
        let path = place(name).map_err(LineError::io(&line, "use the directory for this user's lines"))?;
        let mut patience = 20;
        loop {
            let file = rtscope_files::open_own(&path).map_err(LineError::io(&line, format!("open {}", path.display())))?;
            match shared::lock(&file, kind, byte) {
                Ok(()) => {}
                // An end that is being closed holds both locks for a moment.
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && patience > 0 => {
                    patience -= 1;
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    continue;
                }
                Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                    return Err(LineError::Busy { line, by: "another program or thread drives it".into() });
                }
                Err(e) => return Err(LineError::io(&line, "lock")(e)),
            }
            // The last user of a line removes its file. If it was removed before this lock was taken, open a new one.
            let named = std::fs::symlink_metadata(&path).map(|m| (m.dev(), m.ino()));
            let ours = file.metadata().map_err(LineError::io(&line, "stat"))?;
            if named.ok() != Some((ours.dev(), ours.ino())) {
                continue;
            }
            let shared = Shared::map(&file).map_err(LineError::io(&line, "mmap"))?;
            match shared.page().magic.compare_exchange(0, MAGIC, SeqCst, SeqCst) {
                Ok(_) | Err(MAGIC) => return Ok(Self { path, file, shared }),
                Err(_) => {
                    let why = format!("{} is not a software line of this version", path.display());
                    return Err(LineError::Unable { line, why });
                }
            }
        }
    }

    fn level(&self) -> bool {
        let page = self.shared.page();
        let head = page.head.load(Acquire);
        head > 0 && page.edges[slot(head - 1)].load(Acquire) & 1 == 1
    }

    fn is_locked(&self, byte: i64) -> Option<bool> {
        shared::is_locked(&self.file, byte).ok()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Whoever gets both locks is alone with the file. A process that opened it meanwhile will notice that its name
        // is gone.
        let alone = shared::lock(&self.file, ByteLock::Exclusive, DRIVER).is_ok()
            && shared::lock(&self.file, ByteLock::Exclusive, LISTENER).is_ok();
        if alone {
            let _: io::Result<()> = std::fs::remove_file(&self.path);
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // masked to the number of slots
fn slot(position: u64) -> usize {
    position as usize % SLOTS
}

/// The driver's end.
#[derive(Debug)]
pub struct SoftOutput {
    end: End,
    level: bool,
}

impl SoftOutput {
    /// Opens the line `name` and drives it low. Fails with [`LineError::Busy`] if it is already driven.
    pub fn open(name: &str) -> Result<Self, LineError> {
        let end = End::open(name, ByteLock::Exclusive, DRIVER)?;
        let level = end.level();
        let mut output = Self { end, level };
        output.set(false)?;
        Ok(output)
    }
}

impl Output for SoftOutput {
    fn set(&mut self, level: bool) -> Result<Span, LineError> {
        let page = self.end.shared.page();
        let before = now();
        if level == self.level {
            return Ok(Span { before, after: before });
        }
        self.level = level;
        let head = page.head.load(Relaxed);
        page.edges[slot(head)].store(before << 1 | u64::from(level), Release);
        page.head.store(head + 1, Release);
        let after = now();
        page.bell.fetch_add(1, SeqCst);
        shared::ring(&page.bell);
        Ok(Span { before, after })
    }

    fn has_listener(&self) -> Option<bool> {
        self.end.is_locked(LISTENER)
    }
}

/// A listener's end. It returns no edges from before it was opened.
#[derive(Debug)]
pub struct SoftInput {
    end: End,
    next: u64,
}

impl SoftInput {
    /// Opens the line `name` for listening.
    pub fn open(name: &str) -> Result<Self, LineError> {
        let end = End::open(name, ByteLock::Shared, LISTENER)?;
        let next = end.shared.page().head.load(Acquire);
        Ok(Self { end, next })
    }

    fn take(&mut self) -> Option<Edge> {
        let page = self.end.shared.page();
        let mut lost = 0;
        loop {
            let head = page.head.load(Acquire);
            if head == self.next {
                return None;
            }
            // Skip the oldest slot, because the driver may be about to overwrite it.
            let oldest = head.saturating_sub(SLOTS as u64 - 1);
            if self.next < oldest {
                lost += oldest - self.next;
                self.next = oldest;
            }
            let word = page.edges[slot(self.next)].load(Acquire);
            if page.head.load(Acquire) - self.next < SLOTS as u64 {
                self.next += 1;
                return Some(Edge { level: word & 1 == 1, at: word >> 1, lost });
            }
        }
    }
}

impl Input for SoftInput {
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError> {
        loop {
            let seen = self.end.shared.page().bell.load(SeqCst);
            if let Some(edge) = self.take() {
                return Ok(Some(edge));
            }
            if now() >= deadline {
                return Ok(None);
            }
            shared::wait(&self.end.shared.page().bell, seen, deadline);
        }
    }

    fn level(&mut self) -> Result<bool, LineError> {
        Ok(self.end.level())
    }

    fn has_driver(&self) -> Option<bool> {
        self.end.is_locked(DRIVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::Problem as _;

    fn name(of: &str) -> String {
        format!("test-{of}-{}", std::process::id())
    }

    #[test]
    fn edges_arrive_in_order_and_no_edge_is_no_edge() {
        let name = name("order");
        let mut input = SoftInput::open(&name).unwrap();
        assert_eq!(input.has_driver(), Some(false));
        let mut output = SoftOutput::open(&name).unwrap();
        assert_eq!((input.has_driver(), output.has_listener()), (Some(true), Some(true)));
        let first = output.set(true).unwrap();
        output.set(true).unwrap();
        let second = output.set(false).unwrap();
        assert!(first.before <= first.after && first.after <= second.before);
        assert_eq!(input.wait(0).unwrap(), Some(Edge { level: true, at: first.before, lost: 0 }));
        assert_eq!(input.wait(0).unwrap(), Some(Edge { level: false, at: second.before, lost: 0 }));
        assert_eq!(input.wait(now() + 1_000_000).unwrap(), None);
        assert!(!input.level().unwrap());
        drop((input, output));
        assert!(!place(&name).unwrap().exists(), "the last user removes it");
    }

    #[test]
    fn a_listener_that_is_too_slow_knows_what_it_lost() {
        let name = name("slow");
        let mut input = SoftInput::open(&name).unwrap();
        let mut output = SoftOutput::open(&name).unwrap();
        for i in 0..1000 {
            output.set(i % 2 == 0).unwrap();
        }
        let mut seen = 0;
        let mut lost = 0;
        while let Some(edge) = input.wait(0).unwrap() {
            seen += 1;
            lost += edge.lost;
        }
        assert_eq!((seen, seen + lost), (SLOTS as u64 - 1, 1000));
    }

    #[test]
    fn a_line_has_one_driver_and_waits_across_threads() {
        let name = name("driver");
        let mut output = SoftOutput::open(&name).unwrap();
        let error = SoftOutput::open(&name).unwrap_err();
        assert!(error.to_string().contains("in use") && error.remedy().contains("swapped"), "{error}");
        let mut input = SoftInput::open(&name).unwrap();
        let waiter = std::thread::spawn(move || input.wait(now() + 60_000_000_000).unwrap().unwrap());
        let span = output.set(true).unwrap();
        assert_eq!(waiter.join().unwrap().at, span.before);
        drop(output);
        SoftOutput::open(&name).unwrap();
    }
}
