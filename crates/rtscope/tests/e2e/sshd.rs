//! An ssh server for a test: an ordinary process on a free port of 127.0.0.1. Its keys, its configuration and the other end's
//! temporary directory are in the test's world; nothing of the user's own ssh is read or touched.

use crate::world::{PROGRAM, World, descendants, installed, root, wait_for};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The server, and the way to reach it as `ssh:board`.
pub(crate) struct Sshd {
    child: Child,
    port: u16,
    dir: PathBuf,
}

/// The fields of the user's line in the password file.
fn account() -> Option<Vec<String>> {
    let uid = fs::metadata("/proc/self").ok()?.uid().to_string();
    let text = fs::read_to_string("/etc/passwd").ok()?;
    let lines = text.lines().map(|l| l.split(':').map(str::to_owned).collect::<Vec<_>>());
    lines.into_iter().find(|l| l.len() == 7 && l[2] == uid)
}

/// Why a server can't run here; `None` if it can.
pub(crate) fn missing() -> Option<&'static str> {
    match account() {
        _ if !["sshd", "ssh", "ssh-keygen"].iter().all(|p| installed(p)) => {
            Some("openssh-server or openssh-client is not installed")
        }
        None => Some("this user has no account to log in to"),
        Some(a) if a[6].ends_with("nologin") || a[6].ends_with("false") => Some("this user may not log in"),
        Some(_) => None,
    }
}

fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    dirs.find_map(|d| Some(d.join(name)).filter(|p| p.is_file())).unwrap()
}

pub(crate) fn keygen(file: &Path) {
    let done = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file).status().unwrap();
    assert!(done.success());
}

/// Writes ssh's configuration for `board` to `dir`: its port here, which host keys to know and which key to show, both in `dir`.
pub(crate) fn configure(dir: &Path, port: u16, known_hosts: &str, key: &str) {
    let at = dir.display();
    let config = format!(
        "Host board\n  HostName 127.0.0.1\n  Port {port}\nHost *\n  IdentityFile {at}/{key}\n  IdentitiesOnly yes\n  IdentityAgent none\n  \
         UserKnownHostsFile {at}/{known_hosts}\n  GlobalKnownHostsFile none\n"
    );
    fs::write(dir.join("config"), config).unwrap();
}

/// The program, configured to reach `ssh:board` by the configuration in `dir`, with the static programs there.
pub(crate) fn command(dir: &Path, w: &World, words: &str) -> Command {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut c = w.command(&words);
    c.env("RTSCOPE_SSH_CONFIG", dir.join("config")).env("RTSCOPE_PROBES", dir.join("probes"));
    c.env("RTSCOPE_SSH_PATIENCE", "20s").stdout(Stdio::piped()).stderr(Stdio::piped());
    c
}

impl Sshd {
    /// Starts the server, and writes what `ssh -F` needs to reach it.
    pub(crate) fn start(w: &World) -> Self {
        let dir = w.path("ssh");
        for made in [&dir, &dir.join("there"), &dir.join("probes")] {
            fs::create_dir(made).unwrap();
            fs::set_permissions(made, fs::Permissions::from_mode(0o700)).unwrap();
        }
        for key in ["key", "other", "host"] {
            keygen(&dir.join(key));
        }
        fs::copy(dir.join("key.pub"), dir.join("authorized_keys")).unwrap();
        // A script under the names of the static programs, in place of a program for each architecture.
        let probe = format!("#!/bin/sh\nexec {PROGRAM} __probe \"$@\"\n");
        for arch in ["amd64", "arm64", "armhf"] {
            for program in ["probe", "board"] {
                fs::write(dir.join(format!("probes/rtscope-{program}-{arch}")), &probe).unwrap();
            }
        }
        if root() {
            // Directory for sshd's unprivileged process; normally the package's service creates it.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let sshd = Self { child: Self::listen(&dir, port), port, dir };
        sshd.configure("known_hosts", "key");
        let public = fs::read_to_string(sshd.dir.join("host.pub")).unwrap();
        fs::write(sshd.dir.join("known_hosts"), format!("[127.0.0.1]:{port} {public}")).unwrap();
        sshd.is_up();
        sshd
    }

    fn listen(dir: &Path, port: u16) -> Child {
        let at = dir.display();
        // A locked password bars every login, unless PAM decides.
        let user = account().unwrap().swap_remove(0);
        let locked = fs::read_to_string("/etc/shadow").is_ok_and(|t| t.lines().any(|l| l.starts_with(&format!("{user}:!"))));
        let pam = if locked { "yes" } else { "no" };
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nPidFile none\nAuthorizedKeysFile {at}/authorized_keys\n\
             StrictModes no\nUsePAM {pam}\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
             PermitUserRC no\nPrintMotd no\nMaxStartups 100\nSetEnv TMPDIR={at}/there\n"
        );
        fs::write(dir.join("sshd_config"), config).unwrap();
        let log = fs::OpenOptions::new().create(true).append(true).open(dir.join("log")).unwrap();
        let mut c = Command::new(program("sshd"));
        c.args(["-D", "-e", "-f"]).arg(dir.join("sshd_config")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        c.spawn().unwrap()
    }

    fn is_up(&self) {
        wait_for("the ssh server", || TcpStream::connect(("127.0.0.1", self.port)).ok());
    }

    /// Writes ssh's configuration: which host keys to know, and which key to show.
    pub(crate) fn configure(&self, known_hosts: &str, key: &str) {
        configure(&self.dir, self.port, known_hosts, key);
    }

    /// From now on every login prints `text` before the command.
    pub(crate) fn greets(&self, text: &str) {
        let key = fs::read_to_string(self.dir.join("key.pub")).unwrap();
        let command = format!("printf '{text}'; exec /bin/sh -c \\\"$SSH_ORIGINAL_COMMAND\\\"");
        fs::write(self.dir.join("authorized_keys"), format!("command=\"{command}\" {key}")).unwrap();
    }

    /// The program, configured to reach `ssh:board`.
    pub(crate) fn command(&self, w: &World, words: &str) -> Command {
        command(&self.dir, w, words)
    }

    /// Directory in which the other end makes its directories.
    pub(crate) fn there(&self) -> PathBuf {
        self.dir.join("there")
    }

    /// Directories of work at the other end.
    pub(crate) fn spools(&self) -> Vec<PathBuf> {
        fs::read_dir(self.there()).unwrap().map(|e| e.unwrap().path()).collect()
    }

    /// Processes at the other end that belong to work there.
    pub(crate) fn workers(&self) -> Vec<u32> {
        let there = self.there();
        let there = there.to_str().unwrap();
        let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
        let is = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(there)
        };
        pids.filter(is).collect()
    }

    /// Those of them with this word among their arguments.
    pub(crate) fn workers_with(&self, word: &str) -> Vec<u32> {
        let has = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|&b| b == 0).any(|w| w == word.as_bytes() || w.ends_with(format!("/{word}").as_bytes()))
        };
        self.workers().into_iter().filter(has).collect()
    }

    /// Waits until nothing is left at the other end.
    #[track_caller]
    pub(crate) fn is_clean(&self) {
        wait_for("the other end to be clean", || (self.spools().is_empty() && self.workers().is_empty()).then_some(()));
    }

    /// Kills every connection: the server's processes, but not what was started over the connections.
    pub(crate) fn cut(&self) {
        for pid in descendants(self.child.id()) {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if name.starts_with("sshd") {
                // It may have ended with its parent.
                let _ = rtscope_sys::kill(i32::try_from(pid).unwrap(), libc::SIGKILL);
            }
        }
    }

    /// Ends the server and its connections.
    pub(crate) fn end(&mut self) {
        self.cut();
        // Meanwhile it may have accepted another connection.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server again on the same port.
    pub(crate) fn restart(&mut self) {
        self.child = Self::listen(&self.dir, self.port);
        self.is_up();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.cut();
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Clean up after a failed test.
        for pid in self.workers() {
            let _ = rtscope_sys::kill(i32::try_from(pid).unwrap(), libc::SIGKILL);
        }
    }
}
