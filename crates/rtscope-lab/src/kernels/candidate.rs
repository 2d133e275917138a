//! A kernel's package that may be fetched.

/// A kernel's package in one version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) package: String,
    pub(super) version: String,
}

impl Candidate {
    /// What `uname -r` says in it.
    pub(super) fn release(&self) -> &str {
        self.package.strip_prefix("linux-image-").unwrap_or(&self.package)
    }
}
