//! An explained sample with whose it is, as it is printed and kept.

use crate::explanation::Explanation;
use rtscope_failure::Problem;
use serde::{Deserialize, Serialize};

/// Longest text of a kept explanation, bytes.
pub const LONGEST: usize = 4 << 20;

/// An explained sample of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// The id of the record.
    pub record: String,
    /// The label of the distribution that it is in.
    pub distribution: String,
    /// When it was taken, ns since the start of the run.
    pub at: u64,
    /// The answer in one sentence.
    pub sentence: String,
    /// What it was.
    #[serde(flatten)]
    pub explanation: Explanation,
}

/// Why a kept explanation can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the kept explanation is damaged: {0}")]
pub struct ExplainedError(String);

impl Problem for ExplainedError {
    fn remedy(&self) -> String {
        "rtscope explain with the run's id makes it again".into()
    }
}

impl Explained {
    /// A sample of the distribution `distribution` of `record`, taken `at`.
    pub fn new(record: &str, distribution: &str, at: u64, explanation: Explanation) -> Self {
        Self { record: record.into(), distribution: distribution.into(), at, sentence: explanation.sentence(), explanation }
    }

    /// Reads what [`serde_json`] wrote of one; refuses what does not add up.
    pub fn read(json: &str) -> Result<Self, ExplainedError> {
        if json.len() > LONGEST {
            return Err(ExplainedError(format!("it is longer than {LONGEST} bytes")));
        }
        let mut read: Self = serde_json::from_str(json).map_err(|e| ExplainedError(e.to_string()))?;
        if !read.explanation.is_sound() {
            return Err(ExplainedError("its parts do not sum to the latency, or its chart can't be drawn".into()));
        }
        read.sentence = read.explanation.sentence();
        Ok(read)
    }
}
