//! The small files by which keeper, follower and whoever comes next speak with each other.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How often keeper and follower look around.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Writes a file beside its place and then names it, so that nobody reads half of it.
pub(super) fn put(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = dir.join(format!("{name}.{}", std::process::id()));
    io::Write::write_all(&mut rtscope_files::fresh(&new)?, bytes)?;
    fs::rename(new, dir.join(name))
}

/// What the file of this name holds; `None` where it is not there, or not what is wanted.
pub(super) fn read<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Option<T> {
    serde_json::from_slice(&rtscope_files::read(&dir.join(name), rtscope_files::SMALL).ok()?).ok()
}
