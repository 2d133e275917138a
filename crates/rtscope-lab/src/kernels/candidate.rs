//! A kernel package that can be fetched.

/// A kernel package in one version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) package: String,
    pub(super) version: String,
}

impl Candidate {
    /// The release, as `uname -r` prints it.
    pub(super) fn release(&self) -> &str {
        self.package.strip_prefix("linux-image-").unwrap_or(&self.package)
    }
}
