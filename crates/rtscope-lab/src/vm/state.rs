//! Kept machine states: a guest that has booted and was paused, stored in files from which every run starts:
//! the memory, and everything else.
//!
//! A state's name is a hash of everything it follows from: kernel, image, the machine's arguments, and the
//! files of QEMU and its firmware. Two boots from the same inputs give the same state, so nothing is lost when
//! one is removed. Beside a state is stored which program made it and on which processor: another program does
//! not use it.

use super::VmError;
use super::machine::{Limit, Machine, Progress, Start};
use super::memory::Memory;
use super::messages::GuestFacts;
use super::qemu::{BOOT_SHIFT, MachineSpec, Qemu};
use rtscope_files::digest;
use rtscope_load::StopHandle;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// Version of how states are made. A new number invalidates all of them.
const FORMAT: u32 = 6;
/// Number of states kept. Making another removes the least recently used.
const KEPT: usize = 12;
/// Writing a state takes a second or two. An unfinished file this old belongs to no running process.
const ABANDONED: Duration = Duration::from_secs(600);
/// Time limit of a boot. It normally takes 10 to 20 virtual seconds (at 8 ns per instruction), and 4 to 10 of
/// the host's on an idle machine.
pub(super) const BOOT: Limit = Limit { virtual_time: Duration::from_secs(300), wall: Duration::from_secs(1200) };

/// A directory of kept states.
#[derive(Debug, Clone)]
pub(crate) struct States {
    dir: PathBuf,
}

/// One kept state.
#[derive(Debug, Clone, PartialEq)]
struct Stored {
    path: PathBuf,
    /// Of the memory: [`Memory::checksum`].
    checksum: u32,
    /// Number of bytes the guest had written.
    said: u64,
    /// What the guest reported.
    facts: GuestFacts,
    /// SHA-256 of the QEMU that made it, hex.
    ran: String,
}

/// The JSON file beside a state, written last, once the other files are on the disk.
#[derive(Serialize, Deserialize)]
struct Sidecar {
    /// SHA-256 of the state file.
    sha256: String,
    /// Length of the memory file; `checksum` is its [`Memory::checksum`].
    memory: u64,
    checksum: u32,
    said: u64,
    facts: GuestFacts,
    ran: String,
}

/// The memory file that belongs to a state file.
fn memory_of(state: &Path) -> PathBuf {
    state.with_extension("memory")
}

/// The key of a state: a hash of everything it follows from. Kernel and image are given by their SHA-256.
pub(super) fn key(qemu: &Qemu, spec: &MachineSpec, kernel_sha256: &str, image_sha256: &str) -> String {
    let mut hash = Sha256::new();
    let words = [spec.arguments(true), spec.arguments(false)].concat();
    let command_line = spec.command_line();
    let firmware = qemu.firmware.as_deref().unwrap_or_default();
    let parts = [kernel_sha256, image_sha256, &qemu.version, &qemu.file.sha256, firmware, &command_line];
    hash.update(FORMAT.to_le_bytes());
    for part in parts.into_iter().chain(words.iter().map(String::as_str)) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    digest::hex(hash.finalize())
}

impl States {
    /// The states in `dir`. The directory is made with the first state.
    pub(crate) fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Where consoles of failed machines are kept.
    pub(super) fn consoles(&self) -> PathBuf {
        self.dir.join("consoles")
    }

    /// Whether a complete state with this key is kept.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{}.state", &key[..32.min(key.len())]))
    }

    /// The state with this key, if it is kept and complete.
    fn get(&self, key: &str) -> Option<Stored> {
        let path = self.path(key);
        let side: Sidecar =
            serde_json::from_slice(&rtscope_files::read(&path.with_extension("json"), rtscope_files::SMALL).ok()?).ok()?;
        let whole = fs::metadata(memory_of(&path)).is_ok_and(|m| m.len() == side.memory);
        if !whole || digest::hex(Sha256::digest(rtscope_files::read(&path, rtscope_files::LARGE).ok()?)) != side.sha256 {
            return None;
        }
        // Mark it as used, because the least recently used is removed first. Not needed in a directory that can't be written.
        let _ = File::options().append(true).open(&path).and_then(|f| f.set_modified(SystemTime::now()));
        Some(Stored { path, checksum: side.checksum, said: side.said, facts: side.facts, ran: side.ran })
    }

    /// A paused machine in the state with this key, and what its guest reported. If the state is not kept, the
    /// machine is booted and its state kept.
    pub(super) fn start(
        &self,
        qemu: &Qemu,
        spec: &MachineSpec,
        key: &str,
        stop: &StopHandle,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<(Machine, GuestFacts, Keeping), VmError> {
        let path = self.path(key);
        let turn = one_at_a_time(&path);
        let mut pending = turn.lock().unwrap_or_else(PoisonError::into_inner);
        finish(&mut pending);
        if let Some(stored) = self.get(key) {
            drop(pending);
            return match self.restore(&stored, qemu, spec) {
                Ok(machine) => Ok((machine, stored.facts, Keeping(turn))),
                // Damaged by a disk or a power cut, or made by another program: boot again, which gives the same state.
                Err(VmError::Refused(_) | VmError::Start { .. }) => {
                    self.forget(key);
                    self.start(qemu, spec, key, stop, on_progress)
                }
                Err(e) => Err(e),
            };
        }
        let remedy = "it needs 160 MB there, and --fresh-boot does without";
        let wrote =
            |e: io::Error| VmError::io(format!("the machine's state can't be kept in {} ({remedy})", self.dir.display()))(e);
        let parts = ["state", "memory"].map(|part| path.with_extension(format!("{part}.{}.new", std::process::id())));
        fs::create_dir_all(&self.dir).map_err(wrote)?;
        let made = rtscope_files::fresh(&parts[0]).and_then(|s| Ok((s, rtscope_files::fresh(&parts[1])?))).map_err(wrote).and_then(
            |files| {
                let booted = boot(qemu, spec, &self.consoles(), stop, on_progress)?;
                let machine = booted.start(qemu, spec, &self.consoles())?;
                (&files.0).write_all(&booted.state).and_then(|()| booted.memory.copy_to(&files.1)).map_err(wrote)?;
                Ok((machine, booted, files))
            },
        );
        let (machine, booted, files) = made.inspect_err(|_| remove_all(&parts))?;
        self.prune(&path);
        let facts = booted.facts.clone();
        // The state is synced to the disk while the run goes on. Before that, a power cut may leave it with holes.
        *pending = Some(std::thread::spawn(move || {
            let kept = || -> io::Result<()> {
                files.0.sync_all()?;
                files.1.sync_all()?;
                let memory = files.1.metadata()?.len();
                let sha256 = digest::hex(Sha256::digest(&booted.state));
                let checksum = booted.memory.checksum()?;
                let side = Sidecar { sha256, memory, checksum, said: booted.said, facts: booted.facts, ran: booted.ran };
                fs::rename(&parts[1], memory_of(&path))?;
                fs::rename(&parts[0], &path)?;
                rtscope_files::write(&path.with_extension("json"), &serde_json::to_vec(&side)?, 0o600)
            };
            // If that fails, the next run boots again.
            if kept().is_err() {
                remove_all(&parts);
            }
        }));
        drop(pending);
        Ok((machine, facts, Keeping(turn)))
    }

    fn restore(&self, stored: &Stored, qemu: &Qemu, spec: &MachineSpec) -> Result<Machine, VmError> {
        let state = rtscope_files::open(&stored.path).map_err(VmError::io(stored.path.display().to_string()))?;
        let memory = Memory::open(&memory_of(&stored.path))?;
        if memory.checksum().map_err(VmError::io("the kept memory"))? != stored.checksum {
            return Err(VmError::Refused("its memory is not the one that was kept".into()));
        }
        let mut machine = Machine::start(qemu, spec, Start::State(&memory, state), &self.consoles())?;
        if machine.ran() != stored.ran {
            return Err(VmError::Refused("it was made by another program than the one that runs now".into()));
        }
        machine.take_in(stored.said)?;
        Ok(machine)
    }

    /// Removes the state with this key, so that it is made again.
    fn forget(&self, key: &str) {
        remove(&self.path(key));
    }

    /// Keeps `newest` and the most recently used states, [`KEPT`] in all. Removes unfinished files of killed processes.
    fn prune(&self, newest: &Path) {
        let age = |p: &Path| fs::metadata(p).ok()?.modified().ok()?.elapsed().ok();
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|e| e.path());
        for unfinished in files.filter(|p| p.extension().is_some_and(|e| e == "new")) {
            if age(&unfinished).is_some_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(unfinished);
            }
        }
        let mut all: Vec<(SystemTime, PathBuf)> = fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "state") && p != newest)
            .filter_map(|p| Some((fs::metadata(&p).ok()?.modified().ok()?, p)))
            .collect();
        all.sort();
        for (_, path) in all.iter().take((all.len() + 1).saturating_sub(KEPT)) {
            remove(path);
        }
    }
}

/// Removes a state. A run that has it open is not affected.
fn remove(state: &Path) {
    remove_all(&[state.with_extension("json"), memory_of(state), state.into()]);
}

fn remove_all(files: &[PathBuf]) {
    for file in files {
        let _ = fs::remove_file(file);
    }
}

/// A machine that was booted and paused.
pub(super) struct Booted {
    memory: Memory,
    /// Everything else, as QEMU wrote it.
    state: Vec<u8>,
    /// Number of bytes the guest had written.
    said: u64,
    /// What the guest reported.
    pub(super) facts: GuestFacts,
    /// SHA-256 of the program that ran, hex.
    ran: String,
}

impl Booted {
    /// Starts a machine from this state, exactly as from a kept one. Simply resuming the booted machine does not
    /// give the same run to the last bit: latencies of 6.1 and 6.12-rt differed by some ns.
    pub(super) fn start(&self, qemu: &Qemu, spec: &MachineSpec, consoles: &Path) -> Result<Machine, VmError> {
        let file = || -> io::Result<File> {
            let mut file = File::from(memfd_create("rtscope-state", MemfdFlags::CLOEXEC)?);
            file.write_all(&self.state)?;
            file.rewind()?;
            Ok(file)
        };
        let state = file().map_err(VmError::io("the machine's state"))?;
        let mut machine = Machine::start(qemu, spec, Start::State(&self.memory, state), consoles)?;
        if machine.ran() != self.ran {
            let reason = "it is one program at one time and another at the next; put QEMU itself first in PATH".into();
            return Err(VmError::Start { program: qemu.program.clone(), reason });
        }
        machine.take_in(self.said)?;
        Ok(machine)
    }
}

/// Boots a machine until it pauses itself, at the same point in every boot. Consoles of failed machines go to
/// the directory `consoles`.
pub(super) fn boot(
    qemu: &Qemu,
    spec: &MachineSpec,
    consoles: &Path,
    stop: &StopHandle,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Booted, VmError> {
    let memory = Memory::new(spec.memory_mib)?;
    let mut machine = Machine::start(qemu, spec, Start::PowerOn(Some(&memory)), consoles)?;
    let facts = machine.pause_when_ready(BOOT, stop, on_progress)?;
    spec.check(&facts.processor)?;
    let (state, said) = (machine.save(BOOT_SHIFT, spec.model.shift())?, machine.said()?);
    Ok(Booted { memory, state, said, facts, ran: machine.ran().to_owned() })
}

/// The thread that writes a state to the disk, if there is one. While locked, its holder is the only one to make that state.
type Turn = Arc<Mutex<Option<JoinHandle<()>>>>;

/// Waits, when dropped, until the state is on the disk.
pub(super) struct Keeping(Turn);

impl Drop for Keeping {
    fn drop(&mut self) {
        finish(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn finish(pending: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = pending.take() {
        let _ = thread.join();
    }
}

/// Keeps two threads that want the same state from both booting a machine for it.
fn one_at_a_time(path: &Path) -> Turn {
    static TURNS: Mutex<BTreeMap<PathBuf, Turn>> = Mutex::new(BTreeMap::new());
    let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(turns.entry(path.into()).or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_not_used_for_longest_go_first() {
        let dir = tempfile::tempdir().unwrap();
        let states = States::at(dir.path());
        let path = |n: u64| dir.path().join(format!("{n:032}.state"));
        for n in 0..KEPT as u64 + 3 {
            fs::write(path(n), "x").unwrap();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(n);
            File::options().append(true).open(path(n)).unwrap().set_modified(at).unwrap();
        }
        let old = SystemTime::now() - 2 * ABANDONED;
        for (name, at) in [("a.1.new", old), ("b.2.new", SystemTime::now())] {
            let file = File::create(dir.path().join(name)).unwrap();
            file.set_modified(at).unwrap();
        }
        // The newest state stays, however old its file is.
        states.prune(&path(1));
        let left: Vec<u64> = (0..KEPT as u64 + 3).filter(|n| path(*n).exists()).collect();
        assert_eq!(left.len(), KEPT);
        assert!(left.contains(&1) && !left.contains(&0) && !left.contains(&2), "{left:?}");
        assert!(!dir.path().join("a.1.new").exists() && dir.path().join("b.2.new").exists());
    }
}
