//! Where a new record goes when the archive can't take it: a JSON file, written completely or not at all, and taken in
//! later.

use super::connection::Archive;
use super::error::{ArchiveError, SpillError};
use rtscope_files::Replacement;
use rtscope_record::Record;
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The result of taking in spilled files.
#[derive(Debug, Default)]
pub struct Absorbed {
    /// Ids that are in the archive now; their files were removed.
    pub imported: Vec<String>,
    /// Files that were left where they are, and why.
    pub left: Vec<(PathBuf, SpillError)>,
}

/// Largest spilled file that is read, bytes.
const LARGEST: u64 = 1 << 30;

/// Writes `record` as JSON into `dir` (created if need be, for this user alone) under its id and returns the file's path.
///
/// The file appears under its name only when it is complete and on the disk. No existing file is overwritten and no link
/// is followed.
pub fn spill(record: &Record, dir: &Path) -> Result<PathBuf, ArchiveError> {
    let text = serde_json::to_vec(record).map_err(|e| ArchiveError::unrepresentable(record.id(), e))?;
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| ArchiveError::io(dir, "making the directory", e))?;
    let first = dir.join(format!("{}.json", record.id()));
    let written = Replacement::new(&first, 0o600).and_then(|mut file| file.write_all(&text).map(|()| file));
    let path = publish(written.map_err(|e| ArchiveError::io(&first, "writing the record", e))?, dir, record.id(), &text)?;
    File::open(dir).and_then(|d| d.sync_all()).map_err(|e| ArchiveError::io(dir, "writing the directory to the disk", e))?;
    Ok(path)
}

/// Gives the file the first name that is free, or finds the same record under one of them.
fn publish(mut file: Replacement, dir: &Path, id: &str, text: &[u8]) -> Result<PathBuf, ArchiveError> {
    let mut nr = 1u32;
    loop {
        let path = dir.join(if nr == 1 { format!("{id}.json") } else { format!("{id}.{nr}.json") });
        file.rename(&path);
        match file.commit_new() {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                if rtscope_files::read_own(&path, LARGEST, None).is_ok_and(|there| there == text) {
                    return Ok(path);
                }
                nr += 1;
            }
            Err(e) => return Err(ArchiveError::io(&path, "naming the file", e)),
        }
    }
}

impl Archive {
    /// Inserts every `*.json` that [`spill`] left in `dir`, and removes each file once its record is safely in the
    /// archive.
    ///
    /// A missing directory counts as empty. A file that can't be taken in stays, with the reason in [`Absorbed::left`].
    pub fn absorb_spilled(&mut self, dir: &Path) -> Result<Absorbed, ArchiveError> {
        let mut absorbed = Absorbed::default();
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(absorbed),
            Err(e) => return Err(ArchiveError::io(dir, "reading the directory", e)),
        };
        let mut files: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| is_spilled(p)).collect();
        // The first file of an id before later ones: `x.json`, then `x.2.json`.
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
        // The file must belong to the archive's owner: others who may write next to the archive must not be able to add
        // records to it.
        let owner = fs::metadata(&self.path).map(|m| m.uid()).ok();
        let record: Record = serde_json::from_slice(&rtscope_files::read_own(path, LARGEST, owner)?)?;
        self.insert(&record)?;
        fs::remove_file(path)?;
        Ok(record.id().into())
    }
}

fn is_spilled(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "json") && path.file_name().is_some_and(|n| !n.as_encoded_bytes().starts_with(b"."))
}
