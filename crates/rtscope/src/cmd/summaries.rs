//! What the archive says of its runs in short.

use rtscope_archive::{Archive, ArchiveError, Filter, RunSummary};
use rtscope_record::Verdict;

/// Summaries of all runs in the archive.
pub(super) fn summaries(archive: &Archive) -> Result<Vec<RunSummary>, ArchiveError> {
    archive.list(&Filter::default())
}

/// An unknown verdict counts as the worst, as in a listing.
pub(super) fn verdict(of: &RunSummary) -> Verdict {
    serde_json::from_value(of.verdict.clone().into()).unwrap_or(Verdict::Invalid)
}
