//! Configuration: flags, then the environment, then `$XDG_CONFIG_HOME/rtscope/config.toml`, then the defaults.

use crate::args::Global;
use crate::output;
use rtscope_archive::Archive;
use rtscope_failure::{Explain, Failure};
use rtscope_record::Nanos;
use rtscope_record::units::seconds;
use rtscope_run::ssh::{SshOptions, Way};
use serde::Deserialize;
use std::io::ErrorKind;
use std::path::PathBuf;

/// `config.toml`. Unknown keys are refused, so that a misspelt key is noticed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    /// Path of the archive.
    archive: Option<PathBuf>,
    /// Sign records with the user's key.
    sign: bool,
    /// Defaults of `measure`.
    measure: MeasureDefaults,
}

/// Defaults of `measure`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MeasureDefaults {
    /// As `--interval`.
    pub interval: Option<String>,
    /// As `--duration`.
    pub duration: Option<String>,
    /// As `--priority`.
    pub priority: Option<u8>,
    /// As `--load-dir`.
    pub load_dir: Option<PathBuf>,
}

/// What every command needs to know about its environment.
#[derive(Debug)]
pub(crate) struct Context {
    /// Print only results and errors.
    pub quiet: bool,
    /// Largest file that may be held in memory, bytes.
    pub largest_input: u64,
    /// Path of the archive.
    pub archive: PathBuf,
    /// Whether the archive was named, by an option, the environment or the configuration.
    pub named: bool,
    /// Sign records.
    pub sign: bool,
    /// Defaults of `measure`.
    pub measure: MeasureDefaults,
}

/// Directory of the configuration and the keys.
pub(crate) fn config_dir() -> Result<PathBuf, Failure> {
    xdg("XDG_CONFIG_HOME", ".config", "set HOME, or XDG_CONFIG_HOME")
}

/// Directory for data that can't be made anew; the archive is there by default.
pub(crate) fn data_dir() -> Result<PathBuf, Failure> {
    xdg("XDG_DATA_HOME", ".local/share", "name a directory with --state DIR")
}

fn xdg(variable: &str, under_home: &str, remedy: &str) -> Result<PathBuf, Failure> {
    absolute(variable)
        .or_else(|| absolute("HOME").map(|h| h.join(under_home)))
        .map(|p| p.join("rtscope"))
        .ok_or_else(|| Failure::usage(format!("neither ${variable} nor $HOME is set"), remedy))
}

fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute())
}

/// Directory of kernels and images: `$RTSCOPE_CACHE`, else `$XDG_CACHE_HOME/rtscope`, else `~/.cache/rtscope`.
pub(crate) fn cache_root() -> Result<PathBuf, Failure> {
    match std::env::var_os(CACHE).filter(|v| !v.is_empty()) {
        None => xdg("XDG_CACHE_HOME", ".cache", "name a directory with RTSCOPE_CACHE"),
        Some(_) => {
            absolute(CACHE).ok_or_else(|| Failure::usage(format!("${CACHE} is not an absolute path"), "name a directory from / on"))
        }
    }
}

/// Options for targets over ssh, from `$RTSCOPE_SSH_CONFIG` (a configuration file instead of the user's), `$RTSCOPE_PROBES` (a
/// directory of static probes) and `$RTSCOPE_SSH_PATIENCE` (how long to try to reconnect).
pub(crate) fn ssh_options() -> Result<SshOptions, Failure> {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    let patience = given(SSH_PATIENCE).map_or(Ok(Nanos(120_000_000_000)), |text| {
        let read = text.to_str().ok_or_else(|| "it is not UTF-8".to_owned()).and_then(|t| seconds(t).map_err(|e| e.to_string()));
        read.or_usage(format_args!("${SSH_PATIENCE}"), "write a time such as 30s or 10m")
    })?;
    let config = given("RTSCOPE_SSH_CONFIG").map(PathBuf::from);
    if let Some(path) = &config {
        rtscope_files::check_file(path, true).or_usage(format_args!("$RTSCOPE_SSH_CONFIG: {}", path.display()), "name a file")?;
    }
    let me = std::env::current_exe().unwrap_or_default();
    let beside = me.parent().map(PathBuf::from);
    let installed = beside.as_ref().map(|dir| dir.join("../lib/rtscope"));
    Ok(SshOptions {
        way: Way { config },
        probes: [given("RTSCOPE_PROBES").map(PathBuf::from), beside, installed].into_iter().flatten().collect(),
        patience: patience.into(),
    })
}

const SSH_PATIENCE: &str = "RTSCOPE_SSH_PATIENCE";
/// Remedy if no home directory is set.
const ARCHIVE: &str = "name the archive with --archive FILE";
/// Largest configuration file, bytes.
const LARGEST: u64 = 1 << 20;
const CACHE: &str = "RTSCOPE_CACHE";

impl Context {
    /// From the global options, the environment and the configuration file.
    pub(crate) fn new(global: &Global) -> Result<Self, Failure> {
        let file = read_file()?;
        let named = global.archive.clone().or(file.archive);
        let (archive, named) = match named {
            Some(path) => (path, true),
            None => (xdg("XDG_DATA_HOME", ".local/share", ARCHIVE)?.join("archive.db"), false),
        };
        let largest_input = global.memory_limit.0 / 2;
        Ok(Self { quiet: global.quiet, largest_input, archive, named, sign: file.sign, measure: file.measure })
    }

    /// Prints a line to standard error, unless `--quiet`.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            output::note(text);
        }
    }

    /// Opens the archive to read it or to remove runs, as [`Context::open`] does; an error if there is none.
    pub(crate) fn open_existing(&self) -> Result<Archive, Failure> {
        if !self.is_there() {
            return Err(rtscope_archive::ArchiveError::Missing { path: self.archive.clone() }.into());
        }
        // If only spilled records exist, the archive is created for them.
        self.take_in(if self.archive.exists() { Archive::open_existing(&self.archive)? } else { Archive::open(&self.archive)? })
    }

    /// Whether there is an archive, or records that were spilled beside it.
    pub(crate) fn is_there(&self) -> bool {
        // An archive whose metadata can't be read counts as existing: opening it reports why.
        let absent = |path: &std::path::Path| {
            path.metadata().is_err_and(|e| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
        };
        !absent(&self.archive) || !absent(&self.spill_dir())
    }

    /// Opens the archive, creating it if needed, and takes in the records that earlier runs spilled beside it.
    pub(crate) fn open(&self) -> Result<Archive, Failure> {
        self.take_in(Archive::open(&self.archive)?)
    }

    fn take_in(&self, mut archive: Archive) -> Result<Archive, Failure> {
        let absorbed = archive.absorb_spilled(&self.spill_dir())?;
        if !absorbed.imported.is_empty() {
            self.say(&format!("taken into the archive from an earlier run: {}", absorbed.imported.join(", ")));
        }
        for (path, why) in &absorbed.left {
            let why = Failure::of(why).in_one();
            output::note(&format!("rtscope: warning: {} was not taken into the archive: {why}", path.display()));
        }
        Ok(archive)
    }

    /// Directory for records that the archive could not take.
    pub(crate) fn spill_dir(&self) -> PathBuf {
        let mut name = self.archive.file_name().unwrap_or_default().to_os_string();
        name.push(".spill");
        self.archive.with_file_name(name)
    }
}

fn read_file() -> Result<File, Failure> {
    let Ok(dir) = xdg("XDG_CONFIG_HOME", ".config", ARCHIVE) else { return Ok(File::default()) };
    let path = dir.join("config.toml");
    let text = match rtscope_files::read_text(&path, LARGEST) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(e) => return Err(e).or_usage(path.display(), "make it readable, or move it away"),
    };
    toml::from_str(&text).or_usage(path.display(), "known keys: archive, sign, [measure] interval, duration, priority, load_dir")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_misspelt_key_is_refused() {
        assert!(toml::from_str::<File>("archve = \"x\"").is_err());
        let f: File = toml::from_str("archive = \"/x/a.db\"\n[measure]\ninterval = \"200us\"").unwrap();
        assert_eq!(f.measure.interval.as_deref(), Some("200us"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
            let _ = toml::from_str::<File>(&text);
        }
    }
}
