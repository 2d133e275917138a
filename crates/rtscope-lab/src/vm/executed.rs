//! Finds out what really runs as QEMU, because the program in `PATH` may be a wrapper: the executable of the
//! process, and its arguments.

use super::VmError;
use rtscope_files::digest;
use rtscope_sys as sys;
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Environment variables by which the dynamic linker loads foreign code into a program.
pub(super) const PRELOADS: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];

/// A file and its SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hashed {
    /// Hex.
    pub(super) sha256: String,
    /// Recognizes the file as unchanged: device, inode, length, time of the last status change (s, ns).
    identity: [u64; 5],
}

#[allow(clippy::cast_sign_loss)] // only told apart
fn identity(m: &Metadata) -> [u64; 5] {
    [m.dev(), m.ino(), m.size(), m.ctime() as u64, m.ctime_nsec() as u64]
}

impl Hashed {
    /// The file at `path`.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let before = identity(&file.metadata()?);
        let mut hash = Sha256::new();
        io::copy(&mut file, &mut hash)?;
        if identity(&file.metadata()?) != before {
            return Err(io::Error::other("it was changed while it was read"));
        }
        Ok(Self { sha256: digest::hex(hash.finalize()), identity: before })
    }

    /// SHA-256 of the file at `path`; not computed again if it is this file.
    fn or_of(&self, path: &Path) -> io::Result<String> {
        if identity(&fs::metadata(path)?) == self.identity { Ok(self.sha256.clone()) } else { Ok(Self::of(path)?.sha256) }
    }
}

/// SHA-256 of the program at the other end of `socket`, which was started as process `child` from the file
/// `asked` with the arguments `words`. Fails if it runs with other arguments or preloaded code, or if it is
/// another process than `child`.
pub(super) fn check(
    socket: &UnixStream,
    child: u32,
    program: &Path,
    asked: &Hashed,
    words: &[OsString],
) -> Result<String, VmError> {
    let broken = |e: io::Error| VmError::Control(format!("what runs as QEMU: {e}"));
    let differs = |what: String| VmError::Start {
        program: program.into(),
        reason: format!("{what}; it is a wrapper: put QEMU itself first in PATH"),
    };
    let pid = sys::process::peer(socket).map_err(broken)?;
    if pid != child {
        let _ = i32::try_from(pid).map(|pid| sys::kill(pid, libc::SIGKILL));
        return Err(differs(format!("it was started as process {child}, but what runs is process {pid}")));
    }
    let of = |name: &str| PathBuf::from(format!("/proc/{pid}/{name}"));
    let given = fs::read(of("cmdline")).map_err(broken)?;
    // A process that has ended has no words. Whoever asked finds out how it ended.
    if given.is_empty() {
        return Err(VmError::Control("what runs as QEMU has ended".into()));
    }
    let given: Vec<&[u8]> = given.strip_suffix(b"\0").unwrap_or(&given).split(|b| *b == 0).skip(1).collect();
    if let Some(how) = difference(words, &given) {
        return Err(differs(format!("it does not run as it was told: {how}")));
    }
    let environment = fs::read(of("environ")).map_err(broken)?;
    let has =
        |name: &&&str| environment.split(|b| *b == 0).any(|v| v.strip_prefix(name.as_bytes()).is_some_and(|v| v.starts_with(b"=")));
    if let Some(name) = PRELOADS.iter().find(has) {
        return Err(differs(format!("it runs with {name}, which puts other code into it")));
    }
    asked.or_of(&of("exe")).map_err(broken)
}

/// The first argument that differs from what was asked for, as text.
fn difference(asked: &[OsString], given: &[&[u8]]) -> Option<String> {
    let at = (0..asked.len().max(given.len())).find(|&i| asked.get(i).map(|w| w.as_bytes()) != given.get(i).copied())?;
    let shown =
        |word: Option<&[u8]>| word.map_or_else(|| "nothing".into(), |w| format!("`{}`", OsStr::from_bytes(w).to_string_lossy()));
    let option =
        at.checked_sub(1).and_then(|i| asked.get(i)).map_or_else(String::new, |w| format!(" behind `{}`", w.to_string_lossy()));
    Some(format!(
        "{} was asked for{option}, and it has {}",
        shown(asked.get(at).map(|w| w.as_bytes())),
        shown(given.get(at).copied())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::process::{Child, Command};

    /// A shell that runs `script` with `words`, connected to the test directly or through its child. Dropping it
    /// ends the shell.
    struct Runs(Child, UnixStream);

    impl Drop for Runs {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn words_that_were_changed_are_told() {
        let asked: Vec<OsString> = ["-cpu", "max,-erms", "-m", "512"].map(OsString::from).into();
        let given = |words: &[&'static str]| difference(&asked, &words.iter().map(|w| w.as_bytes()).collect::<Vec<_>>());
        assert_eq!(given(&["-cpu", "max,-erms", "-m", "512"]), None);
        let how = given(&["-cpu", "max", "-m", "512"]).unwrap();
        assert_eq!(how, "`max,-erms` was asked for behind `-cpu`, and it has `max`");
        assert!(given(&["-cpu", "max,-erms", "-m", "512", "-cpu"]).unwrap().starts_with("nothing was asked for"));
        assert!(given(&["-cpu"]).unwrap().ends_with("and it has nothing"));
    }

    #[test]
    fn the_peer_is_known_by_its_file_and_its_words() {
        let dir = tempfile::tempdir().unwrap();
        let me = std::env::current_exe().unwrap();
        let hashed = Hashed::of(&me).unwrap();
        assert_eq!(hashed.sha256, digest::file(&me).unwrap());
        // Another file with the same bytes.
        let copy = dir.path().join("copy");
        fs::copy(&me, &copy).unwrap();
        assert_eq!(hashed.or_of(&copy).unwrap(), hashed.sha256);
        assert_ne!(Hashed::of(&copy).unwrap(), hashed);
        // This process is its own peer.
        let listener = UnixListener::bind(dir.path().join("socket")).unwrap();
        let _client = UnixStream::connect(dir.path().join("socket")).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        assert_eq!(check(&socket, std::process::id(), &me, &hashed, &words).unwrap(), hashed.sha256);
        let more: Vec<OsString> = words.iter().cloned().chain(["-cpu".into()]).collect();
        let e = check(&socket, std::process::id(), &me, &hashed, &more).unwrap_err();
        assert!(e.to_string().contains("`-cpu` was asked for"), "{e}");
    }

    #[test]
    fn who_stands_between_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        // A wrapper that keeps running beside the program it started.
        let script =
            "sh -c 'exec perl -MIO::Socket::UNIX -e \"IO::Socket::UNIX->new(shift) or die; sleep 60\" \"$0\"' \"$0\" & wait";
        let Ok(child) = Command::new("sh").args(["-c", script]).arg(&path).spawn() else { return };
        let (socket, _) = listener.accept().unwrap();
        let runs = Runs(child, socket);
        let hashed = Hashed::of(Path::new("/bin/sh")).unwrap();
        let e = check(&runs.1, runs.0.id(), Path::new("sh"), &hashed, &[]).unwrap_err();
        assert!(e.to_string().contains("what runs is process"), "{e}");
    }
}
