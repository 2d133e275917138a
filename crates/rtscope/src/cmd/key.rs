//! `rtscope key`: the user's key, and the keys that the user trusts.

use crate::args::key::{Key, KeyTask};
use crate::error::Code;
use crate::keys::{self, Keys, PublicKey};
use crate::output;
use rtscope_failure::{Explain, Failure};
use std::io::Read as _;

/// Largest file with a public key, bytes.
const LONGEST: u64 = 4096;

/// Carries out the command.
pub(crate) fn run(a: &Key) -> Result<Code, Failure> {
    match &a.task {
        KeyTask::Generate { name } => {
            let name = name.clone().unwrap_or_else(usual_name);
            let key = keys::generate(&name)?;
            output::note(&format!(
                "{}: whoever has the key file can sign in your name. `sign = true` in config.toml, or `measure --sign`, signs what you measure; \
                 others trust the line below by `rtscope key trust`",
                key.fingerprint
            ));
            output::result(&format!("{}\n", key.line()))?;
        }
        KeyTask::Show { json } => {
            let key = keys::signer()?.public;
            if *json { output::json(&key)? } else { output::result(&format!("{}\n", key.line()))? }
        }
        KeyTask::Trust { key, name } => {
            let mut key = parse(&key.join(" "))?;
            if let Some(name) = name {
                key = PublicKey::parse(&PublicKey { name: name.clone(), ..key }.line())
                    .map_err(|e| Failure::usage(e, "--name NAME"))?;
            }
            let how = if keys::trust(&key)? { "trusted from now on" } else { "was trusted before" };
            output::result(&format!("{} {} {how}\n", key.fingerprint, key.name))?;
        }
        KeyTask::Distrust { key } => {
            let key = keys::distrust(key)?;
            output::result(&format!("{} {} trusted no more\n", key.fingerprint, key.name))?;
        }
        KeyTask::List { json } => {
            let known = Keys::load()?.known;
            if *json {
                output::json(&known)?;
            } else {
                let lines =
                    known.iter().map(|k| format!("{}  {}{}\n", k.fingerprint, k.name, if k.own { " (your own)" } else { "" }));
                output::result(&lines.collect::<String>())?;
            }
        }
    }
    Ok(Code::Done)
}

/// Parses a public key: the line itself, a file with the line, or `-` for standard input.
fn parse(given: &str) -> Result<PublicKey, Failure> {
    let remedy = "the line that `rtscope key show` prints, a file with it, or `-`";
    let text = if given.starts_with("rtscope-key-1 ") {
        given.to_owned()
    } else {
        let mut text = String::new();
        let read = if given == "-" {
            std::io::stdin().lock().take(LONGEST).read_to_string(&mut text)
        } else {
            std::fs::File::open(given).or_usage(given, remedy)?.take(LONGEST).read_to_string(&mut text)
        };
        read.or_usage(given, remedy)?;
        text
    };
    let mut lines = text.lines().filter(|l| !l.trim().is_empty());
    match (lines.next(), lines.next()) {
        (Some(line), None) => PublicKey::parse(line).map_err(|e| Failure::usage(e, remedy)),
        _ => Err(Failure::usage("there is not one key in it", remedy)),
    }
}

/// Default name of a key's owner: the machine's name.
fn usual_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name.trim().chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).take(64).collect();
    if name.is_empty() { "me".into() } else { name }
}
