//! What all importers share: the record around what a file says, the machine that rt-tests and jitterdebugger describe, and their times.

use super::error::ImportError;
use super::format::ImportOptions;
use crate::hex::hex;
use jiff::Timestamp;
use rtscope_record::system::Preemption;
use rtscope_record::{Clock, Origin, RecordParts, Settings, Source, Space, System, Test};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// The hash of a file's bytes, by which its record is named.
pub(super) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A record without figures, of the test `timer`: named by its start and the hash of its file; `suffix` tells apart several records of one file. `started`
/// is the start if the file states it; `kept` are its lines that no figure of the record stands for.
pub(super) fn imported(
    options: &ImportOptions,
    started: Option<Timestamp>,
    sha256: &str,
    suffix: &str,
    format: &str,
    kept: Vec<String>,
) -> Result<RecordParts, ImportError> {
    let out_of_range = |e| ImportError::File(format!("the start time is out of range: {e}"));
    let started = started.map_or_else(|| Timestamp::try_from(options.started).map_err(out_of_range), Ok)?;
    Ok(RecordParts {
        id: format!("{}-{}{suffix}", started.strftime("%Y%m%dT%H%M%SZ"), &sha256[..8]),
        started: started.to_string(),
        elapsed_ns: 0,
        test: Test::Timer,
        space: options.space.unwrap_or(Space::User),
        load: options.load.clone().unwrap_or_else(|| "unknown".into()),
        target: "import".into(),
        clock: Clock::Host,
        origin: Some(Origin::Imported),
        interrupted: false,
        warnings: Vec::new(),
        settings: Settings::default(),
        system: System::default(),
        load_proof: None,
        distributions: Vec::new(),
        source: Some(Source { format: format.into(), file: options.file_name.clone(), sha256: sha256.into(), kept }),
        lab: None,
        instrument: None,
        witness: None,
        signature: None,
    })
}

/// The object `sysinfo` of rt-tests' and jitterdebugger's JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SysInfo {
    pub(super) nodename: String,
    pub(super) release: String,
    pub(super) version: String,
    pub(super) machine: String,
    /// rt-tests: 1 if the kernel calls itself a real-time one.
    pub(super) realtime: u64,
    /// jitterdebugger: the unit of all figures, ns.
    pub(super) resolution_in_ns: Option<u64>,
}

impl SysInfo {
    /// The machine that it describes.
    pub(super) fn system(self) -> System {
        let words: Vec<&str> = self.version.split_ascii_whitespace().collect();
        // /sys/kernel/realtime, the source of `realtime`, is not in mainline, so 0 proves nothing.
        let (model, evidence) = if words.contains(&"PREEMPT_RT") {
            (Preemption::Rt, "kernel version in the file")
        } else if self.realtime == 1 {
            (Preemption::Rt, "realtime flag in the file")
        } else if words.contains(&"PREEMPT") {
            (Preemption::Full, "kernel version in the file")
        } else {
            (Preemption::Unknown, "")
        };
        let mut s = System { hostname: self.nodename, ..System::default() };
        (s.kernel.preemption, s.kernel.preemption_evidence) = (model, evidence.into());
        (s.kernel.release, s.kernel.version, s.kernel.arch) = (self.release, self.version, self.machine);
        s
    }
}

/// Parses a time of rt-tests: `Sat, 21 Nov 2026 08:35:44 +0000`.
pub(super) fn moment(text: &str) -> Option<Timestamp> {
    jiff::fmt::strtime::parse("%a, %d %b %Y %T %z", text).ok()?.to_timestamp().ok()
}
