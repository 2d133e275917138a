//! One connection: the user's own `ssh` as a child process, with a fixed script for the shell at its other end.
//!
//! The script is sent on standard input, so that nothing depends on the quoting rules of the user's login shell; its parameters
//! follow as lines that it reads. Its own lines carry a mark, and before all it ends the line that a login may have begun: whatever
//! that prints is skipped.

use super::address::Address;
use crate::local::keep_tail;
use crate::target::TargetError;
use rtscope_sys as sys;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A shell that is root's, whatever shell the login has; sudo asks nothing.
const ROOT: &str = "sh -c 'if test \"$(id -u)\" = 0; then exec sh; else exec sudo -n -- sh; fi'";
/// Prefix of the scripts' lines that are meant for us.
const MARK: &str = "rtscope-ssh/1 ";
/// What comes before every script: a login's last line may have no end, and ours would stand behind it.
const NEW_LINE: &[u8] = b"echo\n";
/// Most lines that a login may print before the first marked line.
const MOST_NOISE: usize = 1000;
/// Longest line that is read from a probe, bytes; as for `local`.
const LONGEST_LINE: u64 = 256 << 20;
/// How often the driver signals that it is alive; after thirty seconds of silence a follower takes it for dead.
const BEAT: Duration = Duration::from_secs(5);
/// How long ssh may take to end after its remote end has.
const END_LIMIT: Duration = Duration::from_secs(20);

/// ssh options on top of the user's own configuration: ask nothing, share no connection, notice a dead peer within 15 s.
const OPTIONS: [&str; 10] = [
    "BatchMode=yes",
    "ControlMaster=no",
    "ControlPath=none",
    "ConnectTimeout=15",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ForwardX11=no",
    "RemoteCommand=none",
    "LogLevel=ERROR",
];

/// How ssh is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Way {
    /// A configuration file to use instead of the user's (`ssh -F`).
    pub config: Option<PathBuf>,
}

impl Way {
    /// ssh, with `shell` at the other end.
    fn command(&self, to: &Address, shell: &str) -> Command {
        let mut command = sys::process::command("ssh");
        command.arg("-T");
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        if let Some(port) = to.port {
            command.arg("-p").arg(port.to_string());
        }
        if let Some(user) = &to.user {
            command.arg("-l").arg(user);
        }
        command.args(["--", &to.host, shell]);
        command
    }
}

/// The driver's side of a connection's input. Clones write to the same connection.
#[derive(Debug, Clone)]
pub(super) struct Voice(Arc<Mutex<Option<ChildStdin>>>);

impl Voice {
    /// Sends a line; fails if the connection is gone.
    pub(super) fn say(&self, line: &str) -> io::Result<()> {
        self.send(format!("{line}\n").as_bytes())
    }

    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut input = lock(&self.0);
        let Some(to) = input.as_mut() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        to.write_all(bytes).and_then(|()| to.flush())
    }

    /// From now on, regularly signals that the driver is alive, until the connection is gone.
    pub(super) fn beat(&self) {
        let voice = Arc::downgrade(&self.0);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(BEAT);
                let Some(voice) = voice.upgrade() else { return };
                if Self(voice).send(b"\n").is_err() {
                    return;
                }
            }
        });
    }

    fn close(&self) {
        lock(&self.0).take();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread never panics while it holds one of these locks; if one did, the value would still be whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection. Dropping it ends ssh.
#[derive(Debug)]
pub(super) struct Connection {
    address: Address,
    child: Arc<Mutex<Child>>,
    /// Sends to the other end.
    pub(super) voice: Voice,
    output: BufReader<ChildStdout>,
    said: Option<Receiver<String>>,
}

/// Ends a connection from another thread.
#[derive(Debug, Clone)]
pub(super) struct Breaker(Arc<Mutex<Child>>);

impl Breaker {
    pub(super) fn cut(&self) {
        let _ = lock(&self.0).kill();
    }
}

impl Connection {
    /// Starts ssh and sends the script.
    pub(super) fn open(way: &Way, to: &Address, script: &str) -> Result<Self, TargetError> {
        Self::with_shell(way, to, "sh", script)
    }

    /// The same for a script that root carries out, who is logged in or becomes so by sudo.
    pub(super) fn open_as_root(way: &Way, to: &Address, script: &str) -> Result<Self, TargetError> {
        Self::with_shell(way, to, ROOT, script)
    }

    fn with_shell(way: &Way, to: &Address, shell: &str, script: &str) -> Result<Self, TargetError> {
        let mut command = way.command(to, shell);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A terminal's Ctrl-C is for us alone: we ask the other end to stop over this connection.
        command.process_group(0);
        sys::process::die_with_spawner(&mut command, libc::SIGTERM);
        let mut child = command.spawn().map_err(|e| TargetError::Probe {
            message: format!("ssh can't be started: {e}"),
            remedy: "install OpenSSH's client: apt-get install openssh-client".into(),
        })?;
        let pipe = || TargetError::Pipe(io::ErrorKind::BrokenPipe.into());
        let (input, output) = (child.stdin.take().ok_or_else(pipe)?, child.stdout.take().ok_or_else(pipe)?);
        let said = child.stderr.take().map(keep_tail);
        let connection = Self {
            address: to.clone(),
            child: Arc::new(Mutex::new(child)),
            voice: Voice(Arc::new(Mutex::new(Some(input)))),
            output: BufReader::with_capacity(64 << 10, output),
            said,
        };
        // If this fails, the answer will show it.
        let _ = connection.voice.send(&[NEW_LINE, script.as_bytes()].concat());
        Ok(connection)
    }

    /// A handle that ends the connection from another thread.
    pub(super) fn breaker(&self) -> Breaker {
        Breaker(Arc::clone(&self.child))
    }

    /// The next line of the script that is meant for us, without its mark.
    pub(super) fn marked(&mut self) -> Result<String, TargetError> {
        for _ in 0..MOST_NOISE {
            let Ok(Some(line)) = self.line() else { return Err(self.failure()) };
            if let Some(text) = String::from_utf8_lossy(&line).trim_end().strip_prefix(MARK) {
                return Ok(text.to_owned());
            }
        }
        Err(TargetError::Probe {
            message: format!("{} prints more than {MOST_NOISE} lines when one logs in", self.address),
            remedy: format!("it must run a command over ssh: try `ssh {} true`", self.address.login()),
        })
    }

    /// The next whole line, including its line end; `None` when the connection ended, even in the middle of a line.
    pub(super) fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        self.output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if line.len() as u64 >= LONGEST_LINE {
            return Err(io::Error::other("a line is too long"));
        }
        Ok(Some(line).filter(|l| l.ends_with(b"\n")))
    }

    /// Has the follower at the other end remove everything, and waits for the end; returns whether all went well.
    pub(super) fn let_go(mut self) -> bool {
        if self.voice.say("drop").is_err() {
            return false;
        }
        let _ = io::copy(&mut self.output, &mut io::sink());
        self.voice.close();
        let end = Instant::now() + END_LIMIT;
        while Instant::now() < end {
            match lock(&self.child).try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => return status.success(),
                Err(_) => return false,
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }

    /// The last lines of standard error, from ssh or the remote end. Ends the connection.
    pub(super) fn last_words(&mut self) -> String {
        self.cut();
        self.said.take().and_then(|said| said.recv_timeout(Duration::from_secs(1)).ok()).unwrap_or_default()
    }

    fn cut(&mut self) {
        self.voice.close();
        let mut child = lock(&self.child);
        if let Ok(None) = child.try_wait() {
            // It may be about to end by itself, with a reason.
            let end = Instant::now() + Duration::from_millis(300);
            while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
        }
        let _ = child.wait();
    }

    /// Why there is no connection, according to ssh's messages.
    pub(super) fn failure(&mut self) -> TargetError {
        let said = self.last_words();
        let status = lock(&self.child).try_wait().ok().flatten();
        let (at, host) = (&self.address, self.address.login());
        let has = |part: &str| said.contains(part);
        let (what, remedy) = if has("IDENTIFICATION HAS CHANGED") || has("has changed and you have requested") {
            (
                format!("{at} has another host key than ssh knows"),
                format!(
                    "if it was set up anew, take the old key away with the `ssh-keygen -R` named above or below, then log in once: ssh {host}"
                ),
            )
        } else if has("Host key verification failed") {
            (format!("the host key of {at} is not known"), format!("log in once and compare its fingerprint: ssh {host}"))
        } else if has("Permission denied") || has("Too many authentication failures") {
            (
                format!("{at} refuses the login"),
                format!(
                    "rtscope asks for no password: `ssh-copy-id {host}`, or `ssh-add` for a key with a passphrase; try `ssh -o BatchMode=yes {host} true`"
                ),
            )
        } else if has("sudo: ") {
            (format!("nobody may become root on {at} without a password"), "log in as root, or allow it to sudo (NOPASSWD)".into())
        } else if has("Could not resolve") {
            (format!("{at} is not known by name"), "give its address, or a Host in ~/.ssh/config".into())
        } else if ["Connection refused", "timed out", "No route to host", "Network is unreachable"].iter().any(|p| has(p)) {
            (format!("{at} does not answer"), "is it on, and does an ssh server listen there? The port is ssh:HOST:PORT".into())
        } else {
            let how = status.map_or_else(String::new, |s| format!(" ({s})"));
            (format!("the connection to {at} ended{how}"), format!("try `ssh -o BatchMode=yes {host} true`"))
        };
        let said = if said.is_empty() { said } else { format!(": {said}") };
        TargetError::Probe { message: format!("{what}{said}"), remedy }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.cut();
    }
}
