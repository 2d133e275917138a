//! The kernel's traces of samples, kept beside their records.

use super::connection::Archive;
use super::error::ArchiveError;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use rusqlite::params;

/// zlib's default level.
const LEVEL: u8 = 6;
/// Longest text or file of a trace, bytes: a tracer's buffer of 4 MiB, with the descriptions and names that go with it.
const LONGEST: usize = 64 << 20;
/// Most traces that are read of a record; a run makes one.
const MOST: i64 = 8;

/// The trace of a sample as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTrace {
    /// The label of the distribution that the sample is in.
    pub distribution: String,
    /// When the sample was taken, ns since the start of the run.
    pub at: u64,
    /// The trace as the kernel prints it.
    pub text: Vec<u8>,
    /// The same as a file for trace-cmd; empty if there is none.
    pub dat: Vec<u8>,
}

impl Archive {
    /// Keeps the trace of a sample of the record `id`, without a text or file of more than 64 MiB; that of a record that is not in the
    /// archive is not kept. Returns whether it was.
    pub fn keep_trace(&mut self, id: &str, trace: &KeptTrace) -> Result<bool, ArchiveError> {
        let Some(key) = self.exact(id)? else { return Ok(false) };
        let packed = |bytes: &[u8]| compress_to_vec_zlib(Some(bytes).filter(|b| b.len() <= LONGEST).unwrap_or_default(), LEVEL);
        let (text, dat) = (packed(&trace.text), packed(&trace.dat));
        self.in_transaction(|db| {
            db.prepare("INSERT OR REPLACE INTO trace (run, distribution, at, text, dat) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![key.0, trace.distribution, i64::try_from(trace.at).unwrap_or(i64::MAX), text, dat])?;
            Ok(())
        })?;
        Ok(true)
    }

    /// The kept traces of the record `id`, by time. Error also for a damaged one.
    pub fn traces(&self, id: &str) -> Result<Vec<KeptTrace>, ArchiveError> {
        let rows = || {
            let mut statement = self.db.prepare_cached(
                "SELECT t.distribution, t.at, t.text, t.dat FROM trace t JOIN run r ON r.key = t.run
                 WHERE r.id = ?1 ORDER BY t.distribution, t.at LIMIT ?2",
            )?;
            let rows = statement.query_map(params![id, MOST], |r| {
                let at = r.get::<_, i64>(1)?;
                Ok(KeptTrace { distribution: r.get(0)?, at: at.unsigned_abs(), text: r.get(2)?, dat: r.get(3)? })
            })?;
            rows.collect::<Result<Vec<_>, rusqlite::Error>>()
        };
        let unpacked = |packed: &[u8]| {
            decompress_to_vec_zlib_with_limit(packed, LONGEST).map_err(|_| ArchiveError::Corrupt {
                path: self.path.clone(),
                what: format!("a trace that is kept with {id} can't be unpacked"),
            })
        };
        let whole = |t: KeptTrace| Ok(KeptTrace { text: unpacked(&t.text)?, dat: unpacked(&t.dat)?, ..t });
        rows().map_err(|e| self.sql(e))?.into_iter().map(whole).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::fixtures;

    #[test]
    fn a_trace_lives_and_goes_with_its_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(&dir.path().join("a.db")).unwrap();
        let record = rtscope_record::Record::new(fixtures::parts()).unwrap();
        let id = record.id().to_owned();
        let kept = KeptTrace { distribution: "cpu0".into(), at: 7, text: b"# tracer\xff".repeat(99), dat: vec![0; 4096] };
        assert!(!archive.keep_trace(&id, &kept).unwrap());
        archive.insert(&record).unwrap();
        assert_eq!(archive.traces(&id).unwrap(), []);
        assert!(archive.keep_trace(&id, &kept).unwrap());
        assert_eq!(archive.traces(&id).unwrap(), std::slice::from_ref(&kept));
        // A trace that is longer than the limit when unpacked, and one that is none.
        let bomb = compress_to_vec_zlib(&vec![0; LONGEST + 1], LEVEL);
        archive.db.execute("UPDATE trace SET dat = ?1", [bomb]).unwrap();
        assert!(matches!(archive.traces(&id), Err(ArchiveError::Corrupt { .. })));
        archive.db.execute("UPDATE trace SET dat = text, text = x'00ff'", []).unwrap();
        assert!(matches!(archive.traces(&id), Err(ArchiveError::Corrupt { .. })));
        let without = KeptTrace { dat: Vec::new(), ..kept };
        assert!(archive.keep_trace(&id, &without).unwrap());
        assert_eq!(archive.traces(&id).unwrap(), [without]);
        archive.remove(&id).unwrap();
        archive.insert(&record).unwrap();
        assert_eq!(archive.traces(&id).unwrap(), []);
    }
}
