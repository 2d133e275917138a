//! The small files through which keeper, follower and later connections communicate.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How often keeper and follower check the files.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Writes a file under another name and renames it, so that nobody reads half of it.
pub(super) fn put(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = dir.join(format!("{name}.{}", std::process::id()));
    io::Write::write_all(&mut rtscope_files::fresh(&new)?, bytes)?;
    fs::rename(new, dir.join(name))
}

/// The content of the file `name`; `None` if it is missing or of another kind.
pub(super) fn read<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Option<T> {
    serde_json::from_slice(&rtscope_files::read(&dir.join(name), rtscope_files::SMALL).ok()?).ok()
}
