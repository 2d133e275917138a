//! Where a just-measured record goes when the archive can't take it: a JSON file, written whole or not at all, and read back later.

use super::{Archive, ArchiveError};
use crate::store::error::SpillError;
use rtscope_record::Record;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What became of the spilled files.
#[derive(Debug, Default)]
pub struct Absorbed {
    /// Ids that are in the archive now; their files are gone.
    pub imported: Vec<String>,
    /// Files that were left where they are, and why.
    pub left: Vec<(PathBuf, SpillError)>,
}

/// Writes `record` as JSON into `dir` (made if need be) under its id and returns the file's path.
///
/// The file appears under its name only when it is whole and on the disk. A file of another record is never overwritten.
pub fn spill(record: &Record, dir: &Path) -> Result<PathBuf, ArchiveError> {
    let text = serde_json::to_vec(record).map_err(|e| ArchiveError::unrepresentable(record.id(), e))?;
    fs::create_dir_all(dir).map_err(|e| ArchiveError::io(dir, "making the directory", e))?;
    let temporary = dir.join(format!(".{}.{}.tmp", record.id(), std::process::id()));
    let written = write_synced(&temporary, &text).and_then(|()| publish(&temporary, dir, record.id(), &text));
    if written.is_err() {
        // What is left of a failed attempt would only fill the disk; the error that matters is the first one.
        let _ = fs::remove_file(&temporary);
    }
    let path = written?;
    File::open(dir).and_then(|d| d.sync_all()).map_err(|e| ArchiveError::io(dir, "writing the directory to the disk", e))?;
    Ok(path)
}

fn write_synced(path: &Path, text: &[u8]) -> Result<(), ArchiveError> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
    let done = file.as_mut().map_err(|e| std::io::Error::new(e.kind(), e.to_string())).and_then(|f| {
        f.write_all(text)?;
        f.sync_all()
    });
    done.map_err(|e| ArchiveError::io(path, "writing the record", e))
}

/// Gives the temporary file the first free of its names; ids are unique, so that nobody else takes the name in between.
fn publish(temporary: &Path, dir: &Path, id: &str, text: &[u8]) -> Result<PathBuf, ArchiveError> {
    let mut nr = 1u32;
    loop {
        let path = dir.join(if nr == 1 { format!("{id}.json") } else { format!("{id}.{nr}.json") });
        if path.exists() {
            if fs::read(&path).is_ok_and(|there| there == text) {
                fs::remove_file(temporary).map_err(|e| ArchiveError::io(temporary, "removing the temporary file", e))?;
                return Ok(path);
            }
            nr += 1;
            continue;
        }
        fs::rename(temporary, &path).map_err(|e| ArchiveError::io(&path, "naming the file", e))?;
        return Ok(path);
    }
}

impl Archive {
    /// Takes in every `*.json` that [`spill`] left in `dir`, and removes each file once its record is safely in the archive.
    ///
    /// A missing directory is an empty one. A file that can't be taken in stays, with the reason in [`Absorbed::left`].
    pub fn absorb_spilled(&mut self, dir: &Path) -> Result<Absorbed, ArchiveError> {
        let mut absorbed = Absorbed::default();
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(absorbed),
            Err(e) => return Err(ArchiveError::io(dir, "reading the directory", e)),
        };
        let mut files: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| is_spilled(p)).collect();
        // The first file of an id before a second of the same: `x.json`, then `x.2.json`.
        files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
        for path in files {
            match self.absorb(&path) {
                Ok(id) => absorbed.imported.push(id),
                Err(error) => absorbed.left.push((path, error)),
            }
        }
        Ok(absorbed)
    }

    fn absorb(&mut self, path: &Path) -> Result<String, SpillError> {
        let record: Record = serde_json::from_slice(&fs::read(path)?)?;
        self.insert(&record)?;
        fs::remove_file(path)?;
        Ok(record.id().into())
    }
}

fn is_spilled(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "json") && path.file_name().is_some_and(|n| !n.as_encoded_bytes().starts_with(b"."))
}
