//! Kept machine states: a guest that has booted and was paused, in a file from which every run starts.
//!
//! A state is named by a hash over all that it follows from: kernel, image, the machine's arguments, QEMU's version. Two states made in two
//! boots from the same of these are the same, so nothing is lost when one is removed.

use super::VmError;
use super::machine::{Limit, Machine, Progress};
use super::qemu::{MachineSpec, Qemu};
use super::wire::Facts;
use crate::digest;
use crate::target::StopHandle;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How states are made; another number makes all of them anew.
const FORMAT: u32 = 2;
/// Boots that are tried for one state.
const BOOTS: u32 = 10;
/// States that are kept; the one not used for longest goes when another is made.
const KEPT: usize = 12;
/// Writing a state takes a second or two; one that nobody has written to for so long is nobody's.
const ABANDONED: Duration = Duration::from_secs(600);
/// How long a boot may take: it takes 3 to 10 virtual seconds, and as many of the host's on an idle machine.
pub(super) const BOOT: Limit = Limit { virtual_time: Duration::from_secs(300), wall: Duration::from_secs(1200) };

/// A directory of kept states.
#[derive(Debug, Clone)]
pub struct States {
    dir: PathBuf,
}

/// One kept state.
#[derive(Debug, Clone, PartialEq)]
struct Stored {
    path: PathBuf,
    /// What the guest said of itself.
    facts: Facts,
}

#[derive(Serialize, Deserialize)]
struct Sidecar {
    bytes: u64,
    facts: Facts,
}

/// What a state follows from, as a hash: kernel and image by their SHA-256.
pub(super) fn key(qemu: &Qemu, spec: &MachineSpec, kernel_sha256: &str, image_sha256: &str) -> String {
    let mut hash = Sha256::new();
    let words = spec.arguments();
    let command_line = spec.command_line();
    let parts = [kernel_sha256, image_sha256, &qemu.version, &command_line];
    hash.update(FORMAT.to_le_bytes());
    for part in parts.into_iter().chain(words.iter().map(String::as_str)) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    digest::hex(hash.finalize())
}

impl States {
    /// States in `dir`, which is made when the first one is.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Where consoles of failed machines are kept.
    pub(super) fn consoles(&self) -> PathBuf {
        self.dir.join("consoles")
    }

    /// Whether the state of this key is kept and whole.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{}.state", &key[..32.min(key.len())]))
    }

    /// The state of this key, when it is kept and whole.
    fn get(&self, key: &str) -> Option<Stored> {
        let path = self.path(key);
        let side: Sidecar = serde_json::from_slice(&fs::read(path.with_extension("json")).ok()?).ok()?;
        if fs::metadata(&path).ok()?.len() != side.bytes {
            return None;
        }
        // Used now: the oldest goes first. A directory that can't be written does without.
        let _ = File::options().append(true).open(&path).and_then(|f| f.set_modified(SystemTime::now()));
        Some(Stored { path, facts: side.facts })
    }

    /// The machine in the state of this key, paused: from the kept one, else it is booted and its state kept. Also what it said of itself, and
    /// whether it was kept.
    pub(super) fn start(
        &self,
        qemu: &Qemu,
        spec: &MachineSpec,
        key: &str,
        stop: &StopHandle,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<(Machine, Facts, bool), VmError> {
        let turn = one_at_a_time(&self.path(key));
        let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stored) = self.get(key) {
            drop(turn);
            let file = File::open(&stored.path).map_err(VmError::io(stored.path.display().to_string()))?;
            let machine = Machine::start(qemu, spec, Some(file.into()), &self.consoles());
            return match machine.and_then(|mut machine| machine.wait_restored().map(|()| machine)) {
                Ok(machine) => Ok((machine, stored.facts, true)),
                // Damaged on the disk, or by a power cut: another boot makes the same.
                Err(VmError::Refused(_) | VmError::Start { .. }) => {
                    self.forget(key);
                    self.start(qemu, spec, key, stop, on_progress)
                }
                Err(e) => Err(e),
            };
        }
        let path = self.path(key);
        let remedy = "it needs 150 MB there, and --fresh-boot does without";
        let wrote =
            |e: io::Error| VmError::io(format!("the machine's state can't be kept in {} ({remedy})", self.dir.display()))(e);
        fs::create_dir_all(&self.dir).map_err(wrote)?;
        let unfinished = path.with_extension(format!("{}.new", std::process::id()));
        let made = File::create(&unfinished).map_err(wrote).and_then(|file| {
            let mut copy = Copy::to(file);
            let (machine, facts) = boot(qemu, spec, &self.consoles(), Some(&mut copy), stop, on_progress)?;
            let bytes = copy.finish().map_err(wrote)?;
            let side = serde_json::to_vec(&Sidecar { bytes, facts: facts.clone() }).map_err(io::Error::from).map_err(wrote)?;
            // The size in the second file makes the pair whole or nothing.
            fs::rename(&unfinished, &path).map_err(wrote)?;
            fs::write(path.with_extension("json"), side).map_err(wrote)?;
            Ok((machine, facts, false))
        });
        if made.is_err() {
            let _ = fs::remove_file(&unfinished);
        } else {
            self.prune(&path);
        }
        made
    }

    /// Removes the state of this key, so that it is made anew.
    pub(super) fn forget(&self, key: &str) {
        let path = self.path(key);
        let _ = fs::remove_file(path.with_extension("json"));
        let _ = fs::remove_file(path);
    }

    /// Keeps the [`KEPT`] states used last, and `newest`; removes what was killed while it was written.
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
            // A run that has it open goes on.
            let _ = fs::remove_file(path.with_extension("json"));
            let _ = fs::remove_file(path);
        }
    }
}

/// Boots a machine and pauses it where every boot is the same; `copy` gets its state. Consoles of failed ones go to the directory `consoles`.
///
/// What is returned has taken that state in, like every machine that starts from a file. The one that was booted, going on by itself, does not
/// do the same to the last bit: latencies of 6.1 and of 6.12-rt differed by some ns.
pub(super) fn boot(
    qemu: &Qemu,
    spec: &MachineSpec,
    consoles: &Path,
    copy: Option<&mut Copy>,
    stop: &StopHandle,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<(Machine, Facts), VmError> {
    for _ in 0..BOOTS {
        let mut machine = Machine::start(qemu, spec, None, consoles)?;
        let facts = machine.pause_when_ready(BOOT, stop, on_progress)?;
        // One that was paused too late is not the one that every boot gives.
        if !machine.went_on()? {
            return Ok((hand_over(machine, qemu, spec, consoles, copy)?, facts));
        }
    }
    let what = format!("{BOOTS} times in a row the guest could not be paused in time; is this host overloaded?");
    Err(VmError::Control(what))
}

/// Has another machine take in the state of `machine`, while that is being written.
fn hand_over(
    mut machine: Machine,
    qemu: &Qemu,
    spec: &MachineSpec,
    consoles: &Path,
    copy: Option<&mut Copy>,
) -> Result<Machine, VmError> {
    let (ours, theirs) = UnixStream::pair().map_err(VmError::io("a socket for the machine's state"))?;
    let mut next = Machine::start(qemu, spec, Some(OwnedFd::from(theirs).into()), consoles)?;
    let saved = machine.save(&mut Both { next: ours, copy });
    drop(machine);
    match (saved, next.wait_restored()) {
        (Ok(()), Ok(())) => Ok(next),
        // Had it gone, we could not write to it either.
        (Err(VmError::Io { .. }) | Ok(()), Err(e)) | (Err(e), _) => Err(e),
    }
}

/// A state on its way to a file. What goes wrong there stops nothing but the copy.
pub(super) struct Copy {
    to: io::Result<File>,
}

impl Copy {
    fn to(file: File) -> Self {
        Self { to: Ok(file) }
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Ok(file) = &mut self.to {
            if let Err(e) = file.write_all(bytes) {
                self.to = Err(e);
            }
        }
    }

    /// Its length.
    fn finish(self) -> io::Result<u64> {
        Ok(self.to?.metadata()?.len())
    }
}

/// To the machine that takes a state in, and to its copy.
struct Both<'a> {
    next: UnixStream,
    copy: Option<&'a mut Copy>,
}

impl Write for Both<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.next.write_all(bytes)?;
        if let Some(copy) = &mut self.copy {
            copy.add(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.next.flush()
    }
}

/// Two threads that want the same state shall not both boot a machine for it.
fn one_at_a_time(path: &Path) -> Arc<Mutex<()>> {
    static TURNS: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
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
        // The newest one counts, however old its file is.
        states.prune(&path(1));
        let left: Vec<u64> = (0..KEPT as u64 + 3).filter(|n| path(*n).exists()).collect();
        assert_eq!(left.len(), KEPT);
        assert!(left.contains(&1) && !left.contains(&0) && !left.contains(&2), "{left:?}");
        assert!(!dir.path().join("a.1.new").exists() && dir.path().join("b.2.new").exists());
    }
}
