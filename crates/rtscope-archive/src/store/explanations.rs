//! Explanations of samples, kept beside their records as the text that they came as.

use super::connection::Archive;
use super::error::ArchiveError;
use rusqlite::params;

/// An explanation as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptExplanation {
    /// The label of the distribution that the sample is in.
    pub distribution: String,
    /// When the sample was taken, ns since the start of the run.
    pub at: u64,
    /// The explanation, as JSON.
    pub json: String,
}

impl Archive {
    /// Keeps explanations of the record `id`, in place of those of the same samples; those of a record that is not in the archive are
    /// not kept. Returns whether they were.
    pub fn keep_explanations(&mut self, id: &str, all: &[KeptExplanation]) -> Result<bool, ArchiveError> {
        let Some(key) = self.exact(id)? else { return Ok(false) };
        self.in_transaction(|db| {
            let mut insert =
                db.prepare("INSERT OR REPLACE INTO explanation (run, distribution, at, json) VALUES (?1, ?2, ?3, ?4)")?;
            for e in all {
                insert.execute(params![key.0, e.distribution, i64::try_from(e.at).unwrap_or(i64::MAX), e.json])?;
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// The kept explanations of the record `id`, as JSON, by time; texts longer than `longest` bytes are left out, and more than `most`.
    pub fn explanations(&self, id: &str, longest: usize, most: usize) -> Result<Vec<String>, ArchiveError> {
        let all = || {
            let mut statement = self.db.prepare_cached(
                "SELECT e.json FROM explanation e JOIN run r ON r.key = e.run
                 WHERE r.id = ?1 AND length(CAST(e.json AS BLOB)) <= ?2 ORDER BY e.distribution, e.at LIMIT ?3",
            )?;
            let rows = statement.query_map(params![id, longest as u64, most as u64], |r| r.get(0))?;
            rows.collect::<Result<Vec<String>, rusqlite::Error>>()
        };
        all().map_err(|e| self.sql(e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::fixtures;

    #[test]
    fn explanations_live_and_go_with_their_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(&dir.path().join("a.db")).unwrap();
        let record = rtscope_record::Record::new(fixtures::parts()).unwrap();
        let id = record.id().to_owned();
        let kept = |at, json: &str| KeptExplanation { distribution: "cpu0".into(), at, json: json.into() };
        assert!(!archive.keep_explanations(&id, &[kept(1, "a")]).unwrap());
        archive.insert(&record).unwrap();
        assert!(archive.keep_explanations(&id, &[kept(7, "b"), kept(5, "a")]).unwrap());
        assert!(archive.keep_explanations(&id, &[kept(7, "longer")]).unwrap());
        assert_eq!(archive.explanations(&id, 100, 10).unwrap(), ["a", "longer"]);
        assert_eq!(archive.explanations(&id, 5, 10).unwrap(), ["a"]);
        assert_eq!(archive.explanations(&id, 100, 1).unwrap(), ["a"]);
        archive.remove(&id).unwrap();
        archive.insert(&record).unwrap();
        assert!(archive.explanations(&id, 100, 10).unwrap().is_empty());
    }
}
