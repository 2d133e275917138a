//! The user's key, which signs the records that this program measures, and the keys of others that the user trusts.
//!
//! Both are text files in the configuration directory. The key file is private: it is created with mode 0600 and never overwrites
//! another file; one that others could read, or that another user owns, is refused.

use crate::config::config_dir;
use rtscope_archive::signature::{SecretKey, is_key};
use rtscope_failure::{Explain, Failure};
use rtscope_record::record::key_fingerprint;
use rtscope_record::{Record, Signature};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// First word of the only line of a secret key's file.
const SECRET: &str = "rtscope-secret-key-1";
/// First word of a public key's line.
const PUBLIC: &str = "rtscope-key-1";
/// Largest file with keys, bytes.
const LONGEST: u64 = 1 << 20;

/// A public key of somebody who signs records.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PublicKey {
    /// The owner's name here.
    pub name: String,
    /// The key, 64 hex digits.
    pub key: String,
    /// The first 24 hex digits of the key's SHA-256.
    pub fingerprint: String,
    /// Whether this is the user's own key.
    pub own: bool,
}

impl PublicKey {
    fn new(name: &str, key: &str, own: bool) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-@+".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return Err(format!("`{}` is not a name for a key: letters, digits and . _ - @ +, at most 64", name.escape_debug()));
        }
        if !is_key(key) {
            return Err("this is not an ed25519 key of 64 hex digits".into());
        }
        Ok(Self { name: name.into(), key: key.into(), fingerprint: key_fingerprint(key), own })
    }

    /// Parses a line of the form `rtscope-key-1 HEX NAME`.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [PUBLIC, key, name] => Self::new(name, key, false),
            _ => Err(format!("a public key is one line, `{PUBLIC} 64-HEX-DIGITS NAME`")),
        }
    }

    /// The line to give to others.
    pub(crate) fn line(&self) -> String {
        format!("{PUBLIC} {} {}", self.key, self.name)
    }
}

/// Signs the records of runs.
#[derive(Debug)]
pub(crate) struct Signer {
    secret: SecretKey,
    /// The public key.
    pub public: PublicKey,
}

impl Signer {
    /// Signs a record that this process has just measured. Returns it unsigned if signing fails (it would not be JSON): it is
    /// still worth keeping.
    pub(crate) fn sign(&self, record: Record) -> Record {
        self.secret.sign(record.clone(), &self.public.name).unwrap_or(record)
    }
}

/// The user's key, and those that the user trusts.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// All keys, the user's own first.
    pub known: Vec<PublicKey>,
}

impl Keys {
    /// Reads the keys in the configuration directory; none if there is no such directory.
    pub(crate) fn load() -> Result<Self, Failure> {
        let mut known = Vec::new();
        if let Some(signer) = load_signer()? {
            known.push(signer.public);
        }
        known.extend(trusted()?);
        Ok(Self { known })
    }

    /// The owner of the key that signed; `None` if the user does not trust that key.
    pub(crate) fn who(&self, signature: &Signature) -> Option<&PublicKey> {
        self.known.iter().find(|k| k.key == signature.key)
    }
}

fn secret_path() -> Result<PathBuf, Failure> {
    Ok(config_dir()?.join("key"))
}

fn trusted_path() -> Result<PathBuf, Failure> {
    Ok(config_dir()?.join("trusted-keys"))
}

/// Remedy for problems with the keys' directory.
const OWN: &str = "its directory must be yours, and there must be room";

/// Text for [`Explain`]: a file and what was being done to it.
fn doing(path: &Path, what: &str) -> String {
    format!("{}: {what}", path.display())
}

/// Whether `owner`, the user id of a file, is this user.
fn is_mine(owner: u32) -> bool {
    owner == rustix::process::geteuid().as_raw()
}

/// Creates the user's own key; refuses if there is one.
pub(crate) fn generate(name: &str) -> Result<PublicKey, Failure> {
    let path = secret_path()?;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).or_machine("no random bytes", "report this")?;
    let secret = SecretKey::from_bytes(&bytes);
    let public = PublicKey::new(name, &secret.public(), true).map_err(|e| Failure::usage(e, "--name NAME"))?;
    let digits = bytes.iter().fold(String::new(), |text, b| text + &format!("{b:02x}"));
    let dir = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).or_machine(doing(dir, "making the directory"), OWN)?;
    // O_EXCL does not follow links either. On failure, no partial file is left.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut file = match made {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(
                format!("{} is there already: records were perhaps signed with it", path.display()),
                "`rtscope key show` prints it; move the file away for another key",
            ));
        }
        Err(e) => return Err(e).or_machine(doing(&path, "making the key"), OWN),
    };
    let written = writeln!(file, "{SECRET} {digits} {name}").and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = std::fs::remove_file(&path);
    }
    written.or_machine(doing(&path, "writing the key"), OWN)?;
    Ok(public)
}

/// The user's own key; `None` if there is none.
pub(crate) fn load_signer() -> Result<Option<Signer>, Failure> {
    let Ok(path) = secret_path() else { return Ok(None) };
    let Some((text, file)) = read(&path)? else { return Ok(None) };
    let refuse = |what: String, remedy: &str| Err(Failure::machine(format!("{}: {what}", path.display()), remedy));
    let about = file.metadata().or_machine(doing(&path, "looking at the key"), OWN)?;
    if about.mode() & 0o077 != 0 {
        return refuse(
            format!("others may read or change it (mode {:03o})", about.mode() & 0o777),
            "chmod 600, or a new key if they did",
        );
    }
    if !is_mine(about.uid()) {
        return refuse(format!("it belongs to user {}", about.uid()), "rtscope key generate");
    }
    let damaged =
        || Failure::machine(format!("{}: this is not a key of rtscope", path.display()), "move it away; rtscope key generate");
    let [SECRET, digits, name] = text.split_whitespace().collect::<Vec<_>>()[..] else { return Err(damaged()) };
    let bytes: Option<Vec<u8>> =
        (0..digits.len()).step_by(2).map(|at| digits.get(at..at + 2).and_then(|d| u8::from_str_radix(d, 16).ok())).collect();
    let bytes: [u8; 32] = bytes.and_then(|b| b.try_into().ok()).ok_or_else(damaged)?;
    let secret = SecretKey::from_bytes(&bytes);
    let public = PublicKey::new(name, &secret.public(), true).map_err(|_| damaged())?;
    Ok(Some(Signer { secret, public }))
}

/// The user's own key; an error if there is none.
pub(crate) fn signer() -> Result<Signer, Failure> {
    load_signer()?.ok_or_else(|| Failure::usage("there is no key to sign with", "rtscope key generate"))
}

/// The text of a regular file; `None` if it is missing.
fn read(path: &Path) -> Result<Option<(String, File)>, Failure> {
    // A FIFO in its place must not block the program, and a link could lead to another user's file.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e).or_machine(doing(path, "opening it"), OWN),
    };
    if !file.metadata().is_ok_and(|m| m.is_file()) {
        return Err(Failure::machine(format!("{} is not a file", path.display()), "move it away"));
    }
    let mut text = String::new();
    (&file).take(LONGEST).read_to_string(&mut text).or_machine(doing(path, "reading it"), OWN)?;
    Ok(Some((text, file)))
}

/// Keys of others that the user trusts.
fn trusted() -> Result<Vec<PublicKey>, Failure> {
    let Ok(path) = trusted_path() else { return Ok(Vec::new()) };
    let Some((text, file)) = read(&path)? else { return Ok(Vec::new()) };
    let about = file.metadata().or_machine(doing(&path, "looking at it"), OWN)?;
    if about.mode() & 0o022 != 0 || !is_mine(about.uid()) {
        return Err(Failure::machine(
            format!("{}: others may change it", path.display()),
            "chmod 600, and look whose keys are in it",
        ));
    }
    let wrong = |line: usize, e: String| Failure::machine(format!("{}: line {line}: {e}", path.display()), "remove the line");
    let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    lines.map(|(i, line)| PublicKey::parse(line).map_err(|e| wrong(i + 1, e))).collect()
}

/// Trusts a key from now on; returns whether it is new.
pub(crate) fn trust(key: &PublicKey) -> Result<bool, Failure> {
    let keys = Keys::load()?;
    if keys.known.iter().any(|k| k.key == key.key) {
        return Ok(false);
    }
    if keys.known.iter().any(|k| k.name == key.name) {
        let message = format!("another key is called {} here", key.name);
        return Err(Failure::usage(message, "--name NAME, or `rtscope key distrust` that one first"));
    }
    let mut others = trusted()?;
    others.push(key.clone());
    write_trusted(&others)?;
    Ok(true)
}

/// Stops trusting a key, given by name or fingerprint.
pub(crate) fn distrust(which: &str) -> Result<PublicKey, Failure> {
    let mut others = trusted()?;
    let at = others.iter().position(|k| k.name == which || k.fingerprint == which);
    let at = at.ok_or_else(|| Failure::usage(format!("no trusted key is called `{which}`"), "rtscope key list"))?;
    let gone = others.remove(at);
    write_trusted(&others)?;
    Ok(gone)
}

fn write_trusted(keys: &[PublicKey]) -> Result<(), Failure> {
    let path = trusted_path()?;
    let dir = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).or_machine(doing(dir, "making the directory"), OWN)?;
    let beside = dir.join(format!(".trusted-keys.{}", std::process::id()));
    let lines: String = keys.iter().map(|k| k.line() + "\n").collect();
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut f| f.write_all(lines.as_bytes()).and_then(|()| f.sync_all()))
        .and_then(|()| std::fs::rename(&beside, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written.or_machine(doing(&path, "writing it"), OWN)
}
