//! One running virtual machine: its start from power-on or a kept state, its mailbox, its console, its end.

use super::host_cpu::HostCpu;
use super::memory::{Memory, Use};
use super::messages::{JOB, JOB_LEN_AT, Job, MAGIC, MAGIC_AT, NOW_AT, SAID, SAID_LEN_AT, SIZE, Said};
use super::qemu::{MachineSpec, Qemu};
use super::qmp::Qmp;
use super::{VmError, executed, scratch, transfer};
use rtscope_load::StopHandle;
use rtscope_load::awake::Awake;
use rtscope_sys as sys;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long QEMU may take to answer a command. It only needs a moment between two translated blocks.
const QEMU_TIMEOUT: Duration = Duration::from_secs(120);
/// How often the mailbox is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Shortest and longest time between two queries of the virtual time. Queries are rare because each wakes the
/// QEMU thread that advances virtual time while the guest is idle, and at the wrong moment that thread advances
/// it too far.
const ASK: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));
/// Part of QEMU's error message when 2^31 instructions ran with nothing to record, not even a timer.
const ENDLESS: &str = "replay_advance_current_icount";
/// Lines of the console that an error shows.
const LAST_LINES: usize = 15;

/// How long something may take before the guest counts as hanging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    /// In virtual time, if it can be read from outside.
    pub(super) virtual_time: Duration,
    /// Otherwise in the host's time.
    pub(super) wall: Duration,
}

/// How far a machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time since the start or resume, whole seconds; `None` if it can't be read from outside (Arm).
    pub virtual_s: Option<u64>,
}

/// The file with a machine's console output.
#[derive(Debug, Clone)]
pub(super) struct Console(PathBuf);

impl Console {
    /// The console's headlines of kernel errors, and its last lines.
    pub(super) fn last_lines(&self) -> String {
        let text = fs::read(&self.0).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
        let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
        // A trace may be longer than what is shown, so its headline is kept.
        let headlines = ["Kernel panic", "BUG:", "Oops", "rtscope-guest:"];
        let mut lines: Vec<&str> = before.iter().copied().filter(|l| headlines.iter().any(|h| l.contains(h))).collect();
        lines.extend(last);
        if lines.is_empty() { "(it printed nothing)".into() } else { lines.join("\n") }
    }
}

/// How a machine starts.
pub(super) enum Start<'a> {
    /// From power-on, with a memory file that can be kept, or with private memory.
    PowerOn(Option<&'a Memory>),
    /// From a kept state: the memory, and a file with everything else.
    State(&'a Memory, File),
}

/// A running machine. Dropping it ends it and removes its files on the host.
pub(super) struct Machine {
    child: Child,
    /// SHA-256 of the program that runs, hex.
    ran: String,
    qmp: Qmp,
    mailbox: File,
    /// How much of the guest's output has been read, bytes.
    read: u64,
    heard: VecDeque<Said>,
    console: Console,
    /// Where consoles of failed machines are kept.
    keep: PathBuf,
    /// Virtual time at the start or resume, s.
    begun: Option<u64>,
    /// Its reserved host CPU.
    _host_cpu: Option<HostCpu>,
    // Must be the last field, so that it is removed after everything else is gone.
    dir: scratch::Dir,
}

impl Machine {
    /// Starts a machine as `spec` describes it. Consoles of failed machines go to the directory `keep`.
    pub(super) fn start(qemu: &Qemu, spec: &MachineSpec, from: Start<'_>, keep: &Path) -> Result<Self, VmError> {
        let dir = scratch::Dir::new().map_err(VmError::io("a directory for the virtual machine"))?;
        let at = |name: &str| dir.path().join(name);
        let mailbox = File::options().read(true).write(true).create_new(true).open(at("mailbox"));
        let mailbox = mailbox.map_err(VmError::io("the mailbox"))?;
        mailbox.set_len(SIZE as u64).map_err(VmError::io("the mailbox"))?;
        let listener = UnixListener::bind(at("control")).map_err(VmError::io("QEMU's control channel"))?;
        let mut command = sys::process::command(&qemu.program);
        let runs = !matches!(from, Start::PowerOn(Some(_)));
        command.args(spec.all_arguments(runs)).args(MachineSpec::mailbox_arguments(&at("mailbox")));
        command.args([OsString::from("-serial"), prefixed("file:", &at("console"))]);
        command.args([OsString::from("-qmp"), prefixed("unix:", &at("control"))]);
        let stdin = match from {
            Start::PowerOn(None) => {
                command.args(Memory::own(spec.memory_mib));
                Stdio::null()
            }
            Start::PowerOn(Some(memory)) => {
                memory.give(&mut command, spec.memory_mib, Use::Written);
                Stdio::null()
            }
            Start::State(memory, state) => {
                memory.give(&mut command, spec.memory_mib, Use::Read);
                // It stays paused. A state saved for Xen does not name its machine type, so none must be expected.
                command.args(["-S", "-incoming", "defer", "-global", "migration.send-configuration=off"]);
                state.into()
            }
        };
        for name in executed::PRELOADS {
            command.env_remove(name);
        }
        let words: Vec<OsString> = command.get_args().map(OsString::from).collect();
        let said = rtscope_files::fresh(&at("said")).map_err(VmError::io("QEMU's messages"))?;
        command.stdin(stdin).stdout(Stdio::null()).stderr(said);
        sys::process::die_with_spawner(&mut command, libc::SIGKILL);
        // Ctrl-C is for rtscope, which then ends QEMU.
        command.process_group(0);
        // This raises the thread that answers the control channel, not the computing one: a stop must not wait behind a
        // busy host.
        sys::process::first_thread_before_ordinary_tasks(&mut command);
        let host_cpu = spec.icount(runs).and_then(|_| HostCpu::take());
        if let Some(host_cpu) = &host_cpu {
            sys::process::on_one_cpu(&mut command, host_cpu.number);
        }
        let mut child = command.spawn().map_err(|e| VmError::Start { program: qemu.program.clone(), reason: e.to_string() })?;
        let socket = accept(&listener, &mut child).map_err(|e| VmError::Start {
            program: qemu.program.clone(),
            reason: match fs::read_to_string(at("said")) {
                Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
                _ => e.to_string(),
            },
        });
        let program = &qemu.program;
        let ran = socket.and_then(|s| Ok((executed::check(&s, child.id(), program, &qemu.file, &words)?, s)));
        let qmp = ran.and_then(|(ran, s)| Ok((ran, Qmp::new(s, QEMU_TIMEOUT)?)));
        let (ran, qmp) = match qmp {
            Ok(qmp) => qmp,
            Err(e) => {
                // Find out whether the channel broke because QEMU ended.
                let how = ended(&mut child, &at("said"));
                let _ = child.kill();
                let _ = child.wait();
                return Err(match (e, how) {
                    (VmError::Control(_), Some(reason)) => VmError::Start { program: qemu.program.clone(), reason },
                    (e, _) => e,
                });
            }
        };
        let console = Console(at("console"));
        Ok(Self {
            child,
            ran,
            qmp,
            mailbox,
            read: 0,
            heard: VecDeque::new(),
            console,
            keep: keep.into(),
            begun: None,
            _host_cpu: host_cpu,
            dir,
        })
    }

    /// Waits until the guest has booted and has paused the machine. Returns what the guest reported.
    pub(super) fn pause_when_ready(
        &mut self,
        limit: Limit,
        stop: &StopHandle,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<super::messages::GuestFacts, VmError> {
        self.begun = self.virtual_seconds();
        let mut watch = Watch::new(limit);
        let _awake = Awake::begin();
        loop {
            let ready = self.word(MAGIC_AT)?;
            if ready == MAGIC && self.has_paused()? {
                break;
            }
            // The guest writes the number in two halves.
            if ready != MAGIC && ready >> 32 != 0 && ready << 32 != 0 {
                let said = format!("it is ready as {:?}", String::from_utf8_lossy(&ready.to_le_bytes()));
                return Err(VmError::Garbled(said));
            }
            self.look_after("before it was ready", "it did not boot", &mut watch, stop, on_progress)?;
        }
        match self.hear()? {
            Some(Said::Ready(facts)) => Ok(facts),
            other => Err(VmError::Garbled(format!("{other:?}"))),
        }
    }

    /// Loads the state into a machine started from it. Its guest had already written `said` bytes.
    pub(super) fn take_in(&mut self, said: u64) -> Result<(), VmError> {
        self.tell("migrate-incoming", &json!({ "uri": "fd:0" }))?;
        let end = Instant::now() + QEMU_TIMEOUT;
        loop {
            match self.qmp.status() {
                Ok(status) if status != "inmigrate" => break,
                Ok(_) if Instant::now() > end => return Err(VmError::Refused("it is not taken in".into())),
                Ok(_) => {}
                Err(e) => return Err(ended(&mut self.child, &self.dir.path().join("said")).map_or(e, VmError::Refused)),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // Skip what the guest wrote before it was paused: it is known.
        self.read = said;
        self.mailbox.write_all_at(&said.to_le_bytes(), SAID_LEN_AT as u64).map_err(VmError::io("the mailbox"))
    }

    /// SHA-256 of the program that really runs, hex.
    pub(super) fn ran(&self) -> &str {
        &self.ran
    }

    /// Number of bytes that the guest has written.
    pub(super) fn said(&self) -> Result<u64, VmError> {
        self.word(SAID_LEN_AT)
    }

    /// The paused machine's state without its memory, for a machine whose instructions last 2^`runs` ns; those of
    /// this machine last 2^`shift` ns.
    pub(super) fn save(&mut self, shift: u32, runs: u32) -> Result<Vec<u8>, VmError> {
        let path = self.dir.path().join("state");
        // This command is made for Xen, which saves the memory itself, as rtscope does. (A migration would start a
        // thread that QEMU's recorder does not allow.)
        self.tell("xen-save-devices-state", &json!({ "filename": path, "live": false }))?;
        let mut state = fs::read(&path).map_err(VmError::io("the machine's state"))?;
        let strange = || VmError::Control("the machine's state is not as QEMU 7.2 to 10 write it".into());
        transfer::set_time(&mut state, shift, runs, self.word(NOW_AT)?).ok_or_else(strange)?;
        Ok(state)
    }

    /// Whether the guest has paused the machine. It does so through the panic device, for which its kernel has no driver.
    fn has_paused(&mut self) -> Result<bool, VmError> {
        let status = self.qmp.status();
        status.map(|s| s == "guest-panicked").map_err(|e| self.explain("query-status", e))
    }

    /// Puts `job` into the mailbox and resumes the machine.
    pub(super) fn resume(&mut self, job: &Job) -> Result<(), VmError> {
        let text = serde_json::to_vec(job).map_err(|e| VmError::Garbled(e.to_string()))?;
        if text.len() > SAID - JOB {
            return Err(VmError::Failed {
                message: format!("the job takes {} bytes, the mailbox has {}", text.len(), SAID - JOB),
                remedy: "give fewer or smaller modules (strip --strip-debug)".into(),
                usage: true,
            });
        }
        let write = |at: usize, bytes: &[u8]| self.mailbox.write_all_at(bytes, at as u64).map_err(VmError::io("the mailbox"));
        write(JOB, &text)?;
        write(JOB_LEN_AT, &(text.len() as u64).to_le_bytes())?;
        write(MAGIC_AT, &[0; 8])?;
        self.begun = self.virtual_seconds();
        self.tell("cont", &json!({}))?;
        Ok(())
    }

    /// Waits for the guest's next message.
    pub(super) fn next(
        &mut self,
        watch: &mut Watch,
        stop: &StopHandle,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Said, VmError> {
        loop {
            if let Some(said) = self.hear()? {
                return Ok(said);
            }
            self.look_after("before it was done", "it did not finish in time", watch, stop, on_progress)?;
        }
    }

    /// Runs between two checks of the mailbox: is the machine alive, is it in time, was it told to end?
    fn look_after(
        &mut self,
        when: &str,
        hang: &str,
        watch: &mut Watch,
        stop: &StopHandle,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<(), VmError> {
        if stop.is_stopped() {
            return Err(VmError::Interrupted);
        }
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(self.over(when, &how(status, &self.dir.path().join("said"))));
        }
        if watch.asked.elapsed() >= watch.pause() {
            watch.asked = Instant::now();
            let now = self.virtual_seconds();
            let virtual_s = now.zip(self.begun).map(|(now, begun)| now.saturating_sub(begun));
            on_progress(Progress { virtual_s });
            // In this order: a guest that gets ready meanwhile says so before it pauses.
            if self.has_paused()? && self.word(MAGIC_AT)? != MAGIC {
                return Err(self.over(when, "its kernel panicked"));
            }
            let late = match virtual_s {
                Some(s) => s > watch.limit.virtual_time.as_secs(),
                None => watch.begun.elapsed() > watch.limit.wall,
            };
            if late {
                let file = self.keep_console();
                let (time, kind) = match virtual_s {
                    Some(s) => (Duration::from_secs(s), "virtual time"),
                    None => (watch.begun.elapsed(), "the host's time"),
                };
                let what = format!("{hang} ({} s of {kind})", time.as_secs());
                return Err(VmError::Hang { what, console: self.console.last_lines(), file });
            }
        }
        std::thread::sleep(POLL_INTERVAL);
        Ok(())
    }

    /// Runs a QMP command.
    fn tell(&mut self, command: &str, arguments: &Value) -> Result<Value, VmError> {
        let answer = self.qmp.run(command, arguments);
        answer.map_err(|e| self.explain(command, e))
    }

    /// The error of a failed command. If the channel broke because QEMU ended, the error says so.
    fn explain(&mut self, command: &str, e: VmError) -> VmError {
        match ended(&mut self.child, &self.dir.path().join("said")) {
            Some(how) if matches!(e, VmError::Control(_)) => self.over(&format!("when it was told `{command}`"), &how),
            _ => e,
        }
    }

    /// The error that QEMU has ended, and how.
    fn over(&self, when: &str, how: &str) -> VmError {
        let file = self.keep_console();
        if how.contains(ENDLESS) {
            let what = "for 2.1 s of virtual time it computed with no timer due, as one does whose interrupts are off".into();
            return VmError::Hang { what, console: self.console.last_lines(), file };
        }
        VmError::Ended { when: format!("{when} (QEMU: {how})"), console: self.console.last_lines(), file }
    }

    /// The next message in the mailbox, if there is one.
    fn hear(&mut self) -> Result<Option<Said>, VmError> {
        if self.heard.is_empty() {
            let len = self.word(SAID_LEN_AT)?;
            if len > (SIZE - SAID) as u64 || len < self.read {
                return Err(VmError::Garbled(format!("{len} bytes in its mailbox, {} before", self.read)));
            }
            let mut text = vec![0; usize::try_from(len - self.read).unwrap_or(0)];
            self.mailbox.read_exact_at(&mut text, SAID as u64 + self.read).map_err(VmError::io("the mailbox"))?;
            self.read = len;
            for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
                self.heard.push_back(serde_json::from_slice(line).map_err(|e| VmError::Garbled(e.to_string()))?);
            }
        }
        Ok(self.heard.pop_front())
    }

    fn word(&self, at: usize) -> Result<u64, VmError> {
        let mut bytes = [0; 8];
        self.mailbox.read_exact_at(&mut bytes, at as u64).map_err(VmError::io("the mailbox"))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The guest's real-time clock, s. It runs in virtual time, and reading it costs the guest nothing. x86 only.
    fn virtual_seconds(&mut self) -> Option<u64> {
        let tm = self.qmp.run("qom-get", &json!({ "path": "/machine", "property": "rtc-time" })).ok()?;
        let field = |name: &str| tm.get(name).and_then(Value::as_u64);
        let (year, month, day) = (field("tm_year")? + 1900, field("tm_mon")?, field("tm_mday")?);
        // Days since 1 March of year 0 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"). Only
        // differences matter.
        let (y, m) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
        let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day;
        Some(((days * 24 + field("tm_hour")?) * 60 + field("tm_min")?) * 60 + field("tm_sec")?)
    }

    /// Resident memory of QEMU, KiB.
    pub(super) fn resident_kib(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        text.lines().find_map(|l| l.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()
    }

    /// Copies the console to a lasting place. Returns its path.
    fn keep_console(&self) -> PathBuf {
        let name = self.dir.path().file_name().unwrap_or_default();
        let kept = self.keep.join(name).with_extension("log");
        let copied = fs::create_dir_all(&self.keep).and_then(|()| fs::copy(&self.console.0, &kept));
        if copied.is_ok() { kept } else { self.console.0.clone() }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tracks the time that a guest takes.
pub(super) struct Watch {
    limit: Limit,
    begun: Instant,
    asked: Instant,
}

impl Watch {
    pub(super) fn new(limit: Limit) -> Self {
        Self { limit, begun: Instant::now(), asked: Instant::now() }
    }

    /// Time until the next query of the virtual time; it grows.
    fn pause(&self) -> Duration {
        ((self.asked - self.begun) / 4).clamp(ASK.0, ASK.1)
    }
}

/// How QEMU ended, if it did. A broken channel may be noticed a moment before QEMU's end.
fn ended(child: &mut Child, said: &Path) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(how(status, said)),
            Ok(None) if Instant::now() < end => std::thread::sleep(POLL_INTERVAL),
            _ => return None,
        }
    }
}

/// The end of QEMU as text: its status, its output in the file `said`, and a remedy.
fn how(status: ExitStatus, said: &Path) -> String {
    let said = fs::read_to_string(said).unwrap_or_default();
    let said = if said.trim().is_empty() { String::new() } else { format!("; QEMU said: {}", said.trim()) };
    let killed = "; somebody killed it: if it was the kernel for want of memory (dmesg), take less --guest-memory or fewer --jobs";
    let remedy = if status.signal() == Some(libc::SIGKILL) { killed } else { "" };
    format!("{status}{said}{remedy}")
}

fn prefixed(prefix: &str, path: &Path) -> OsString {
    let mut word = OsString::from(prefix);
    word.push(path.to_string_lossy().replace(',', ",,"));
    word
}

/// Waits until the process `child` connects.
fn accept(listener: &UnixListener, child: &mut Child) -> io::Result<UnixStream> {
    listener.set_nonblocking(true)?;
    let end = Instant::now() + QEMU_TIMEOUT;
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                return Ok(socket);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("it ended ({status})")));
        }
        if Instant::now() > end {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
