//! Finds the commit that is built, for `--version` and for what driver and probe tell each other; empty if there is none to find.
//!
//! `$RTSCOPE_COMMIT` says it, `.cargo_vcs_info.json` in a crate from a registry and in a release's source, else the checkout. A checkout is
//! asked only for optimized builds: while one works on rtscope, a commit would recompile half of it.
#![allow(clippy::disallowed_methods)] // at build time, children may inherit any signal state

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "RTSCOPE_COMMIT";
/// How much of a commit's hash is said.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let named = std::env::var(VARIABLE).ok().filter(|c| !c.is_empty());
    let optimized = std::env::var("PROFILE").is_ok_and(|p| p == "release");
    let found = named.or_else(|| packaged(&here)).or_else(|| optimized.then(|| checked_out(&here.join("../.."))).flatten());
    let commit = found.unwrap_or_default();
    if commit.len() > 64 || !commit.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.+~".contains(&b)) {
        println!("cargo::error={VARIABLE} is `{}`: give a commit's hash, such as 3f2a9c01d4e7", commit.escape_debug());
        return;
    }
    println!("cargo::rustc-env={VARIABLE}={commit}");
}

/// What `cargo package` or packaging/package.sh wrote beside the manifest: `{"git": {"sha1": "..."}}`.
fn packaged(here: &Path) -> Option<String> {
    let text = fs::read_to_string(here.join(".cargo_vcs_info.json")).ok()?;
    hash(text.split("\"sha1\"").nth(1)?.split('"').nth(1)?)
}

/// The checkout's commit; with `-dirty` if git is there and sees changes.
fn checked_out(root: &Path) -> Option<String> {
    let dot = root.join(".git");
    // In a further work tree it is a file that names the directory.
    let git = match fs::read_to_string(&dot) {
        Ok(text) => root.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => dot,
    };
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    for name in ["HEAD", "logs/HEAD"] {
        let file = git.join(name);
        // A file that is not there would have cargo run this in every build.
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    let commit = match head.trim().strip_prefix("ref: ") {
        None => hash(&head)?,
        Some(name) => {
            let common = fs::read_to_string(git.join("commondir")).map_or(git.clone(), |dir| git.join(dir.trim()));
            let loose = fs::read_to_string(common.join(name)).ok();
            let packed = || {
                let all = fs::read_to_string(common.join("packed-refs")).ok()?;
                all.lines().find_map(|l| l.strip_suffix(name)?.strip_suffix(' ').map(str::to_owned))
            };
            hash(&loose.or_else(packed)?)?
        }
    };
    let changes = Command::new("git").arg("-C").arg(root).args(["diff", "--quiet", "HEAD", "--"]).output();
    let dirty = changes.is_ok_and(|said| said.status.code() == Some(1));
    Some(commit + if dirty { "-dirty" } else { "" })
}

fn hash(text: &str) -> Option<String> {
    let text = text.trim();
    (text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text[..DIGITS].to_owned())
}
