//! The static program that is copied to a target: finds the one for its processor, and reads it.

use crate::target::TargetError;
use rtscope_files::digest;
use rtscope_lab::kernels::Arch;
use std::path::PathBuf;

/// A static probe, read and ready to be sent.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) arch: Arch,
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
}

impl Probe {
    /// Finds the program for a machine, by `uname -m`: the probe alone, or, if `loaded`, the one that also keeps a load up.
    pub(super) fn find(dirs: &[PathBuf], machine: &str, loaded: bool, target: &str) -> Result<Self, TargetError> {
        let failure = |message: String, remedy: String| TargetError::Probe { message, remedy };
        let arch = match machine {
            "x86_64" => Arch::Amd64,
            "aarch64" => Arch::Arm64,
            "armv7l" | "armv8l" => Arch::Armhf,
            other => {
                return Err(failure(
                    format!("there is no probe for {target}, whose processor is `{other}`"),
                    "probes are built for x86_64, aarch64 and armv7l".into(),
                ));
            }
        };
        let name = format!("rtscope-{}-{arch}", if loaded { "board" } else { "probe" });
        let Some(path) = dirs.iter().map(|dir| dir.join(&name)).find(|path| path.is_file()) else {
            let looked: Vec<String> = dirs.iter().map(|d| d.display().to_string()).collect();
            return Err(failure(
                format!("there is no probe for {target} ({machine}): {name} is not in {}", looked.join(", ")),
                format!(
                    "install the package rtscope-boards; in a checkout: ./x probe {arch}; or name its directory: RTSCOPE_PROBES=DIR"
                ),
            ));
        };
        let bytes = rtscope_files::read(&path, rtscope_files::LARGE)
            .map_err(|e| failure(format!("{}: {e}", path.display()), "make it readable".into()))?;
        Ok(Self { arch, sha256: digest::bytes(&bytes), path, bytes })
    }
}
