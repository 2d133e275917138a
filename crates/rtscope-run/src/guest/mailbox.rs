//! The guest's end of the mailbox.

use rtscope_lab::vm::messages::{
    GuestFacts, JOB, JOB_LEN_AT, Job, MAGIC, MAGIC_AT, MAILBOX_PCI, NOW_AT, PAUSE, PAUSE_PCI, SAID, SAID_LEN_AT, SIZE, Said,
};
use rtscope_sys as sys;
use rtscope_sys::mapped::{Mapped, WORD};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a guest that was not paused checks for its job.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Bytes kept free for the final failure message when the rest did not fit.
const RESERVE: usize = 4096;

/// The mailbox device, mapped.
pub(super) struct Mailbox {
    memory: Mapped,
    said: usize,
    overflowed: bool,
}

impl Mailbox {
    /// Finds and maps the device. The error is text for users.
    pub(super) fn find() -> Result<Self, String> {
        Ok(Self { memory: region(MAILBOX_PCI, 2, SIZE)?, said: 0, overflowed: false })
    }

    /// Says that the guest is ready, and pauses the machine: QEMU does not execute one more instruction. (Meanwhile virtual time
    /// may or may not move on to the next timer; whoever resumes this state sets the time from the value stored here.)
    pub(super) fn pause(&mut self, facts: &GuestFacts) -> Result<(), String> {
        let pause = region(PAUSE_PCI, 0, 1)?;
        self.say(&Said::Ready(facts.clone()));
        let said = |e: io::Error| e.to_string();
        self.memory.write(NOW_AT, &sys::machine::counter_ns().to_le_bytes()).map_err(said)?;
        self.memory.write(MAGIC_AT, &MAGIC.to_le_bytes()).map_err(said)?;
        pause.write_byte(0, PAUSE).map_err(said)
    }

    /// Waits for the job. After a pause it is already there; only a guest in the host's time may have to wait.
    pub(super) fn await_job(&self) -> Result<Job, String> {
        loop {
            let mut len = [0; 8];
            self.memory.read(JOB_LEN_AT, &mut len).map_err(|e| e.to_string())?;
            if u64::from_le_bytes(len) > 0 {
                return self.job();
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Reads the job that the host left.
    fn job(&self) -> Result<Job, String> {
        let mut len = [0; 8];
        self.memory.read(JOB_LEN_AT, &mut len).map_err(|e| e.to_string())?;
        let len = usize::try_from(u64::from_le_bytes(len)).unwrap_or(usize::MAX);
        if len > SAID - JOB {
            return Err(format!("it is said to have {len} bytes"));
        }
        let mut text = vec![0; len.next_multiple_of(WORD)];
        self.memory.read(JOB, &mut text).map_err(|e| e.to_string())?;
        serde_json::from_slice(&text[..len]).map_err(|e| e.to_string())
    }

    /// Sends a message to the host. One that does not fit is dropped, and `finish` then reports a failure.
    pub(super) fn say(&mut self, what: &Said) {
        let Ok(mut line) = serde_json::to_vec(what) else { return };
        line.push(b'\n');
        let last = matches!(what, Said::Failed { .. });
        let room = SIZE - SAID - self.said - if last { 0 } else { RESERVE };
        if line.len() + WORD > room {
            self.overflowed = true;
            return;
        }
        // The memory is written in whole words: the line is padded with blanks, which JSON ignores.
        line.pop();
        line.resize((line.len() + 1).next_multiple_of(WORD) - 1, b' ');
        line.push(b'\n');
        // The writes are within bounds, as checked above. The length follows the text, so that the host never reads half a line.
        let _ = self.memory.write(SAID + self.said, &line);
        self.said += line.len();
        let _ = self.memory.write(SAID_LEN_AT, &(self.said as u64).to_le_bytes());
    }

    /// Sends the last message: `what`, or a failure if not everything did fit.
    pub(super) fn finish(&mut self, what: &Said) {
        self.say(what);
        if self.overflowed {
            self.fail(
                &format!("the guest had more to say than the {} MiB of its mailbox", (SIZE - SAID) >> 20),
                "measure for a shorter time, or without raw samples",
                true,
            );
        }
    }

    /// Sends a failure.
    pub(super) fn fail(&mut self, message: &str, remedy: &str, usage: bool) {
        self.say(&Said::Failed { message: message.into(), remedy: remedy.into(), usage });
    }
}

/// Maps `len` bytes of region `number` of the PCI device with these identifiers.
fn region((vendor, device): (&str, &str), number: usize, len: usize) -> Result<Mapped, String> {
    let dir = find(vendor, device).ok_or_else(|| format!("no PCI device {vendor}:{device}"))?;
    let failed = |what: &str, e: io::Error| format!("PCI device {vendor}:{device}: {what}: {e}");
    fs::write(dir.join("enable"), "1").map_err(|e| failed("enable", e))?;
    let table = fs::read_to_string(dir.join("resource")).map_err(|e| failed("resource", e))?;
    let start = table.lines().nth(number).and_then(|l| l.split_whitespace().next()).and_then(|w| w.strip_prefix("0x"));
    let start = start.and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0);
    let offset = usize::try_from(start & 0xfff).unwrap_or(0);
    // A prefetchable region has a second file, which maps it as plain (write-combining) memory.
    let combining = dir.join(format!("resource{number}_wc"));
    let path = if combining.exists() { combining } else { dir.join(format!("resource{number}")) };
    Mapped::open(&path, offset, len).map_err(|e| failed("mapping", e))
}

fn find(vendor: &str, device: &str) -> Option<PathBuf> {
    let is = |dir: &Path, name: &str, value: &str| fs::read_to_string(dir.join(name)).is_ok_and(|t| t.trim() == value);
    let mut all: Vec<PathBuf> = fs::read_dir("/sys/bus/pci/devices").ok()?.flatten().map(|e| e.path()).collect();
    all.sort();
    all.into_iter().find(|dir| is(dir, "vendor", vendor) && is(dir, "device", device))
}
