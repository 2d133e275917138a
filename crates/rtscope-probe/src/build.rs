//! Which build of rtscope a program is: its version, commit and protocol; whether two programs go together.

use crate::protocol::PROTOCOL;
use std::sync::OnceLock;

/// The crates' version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that was built, `-dirty` behind it if there were changes; empty if unknown.
///
/// Only what a program's `main` gives to [`begin`] becomes part of the program. The lab's guest gives nothing: another byte in it
/// would make another machine, whose figures may differ.
pub const COMMIT: &str = env!("RTSCOPE_COMMIT");

static OF_THIS: OnceLock<&'static str> = OnceLock::new();

/// Says of which commit this program is. Called first in a program.
pub fn begin(commit: &'static str) {
    let _ = OF_THIS.set(commit);
}

/// The commit of this program; empty if unknown.
pub fn commit() -> &'static str {
    OF_THIS.get().copied().unwrap_or_default()
}

/// Version, commit and protocol: `0.1.0 (commit 3f2a9c01d4e7, protocol rtscope-probe/1)`.
pub fn described() -> String {
    describe(VERSION, commit(), PROTOCOL)
}

/// The same of a program with this version, commit and protocol.
pub fn describe(version: &str, commit: &str, protocol: &str) -> String {
    let comma = if commit.is_empty() { "" } else { ", " };
    let commit = if commit.is_empty() { String::new() } else { format!("commit {commit}") };
    format!("{version} ({commit}{comma}protocol {protocol})")
}

/// Whether a probe that describes itself like this is of the same build as this program. A commit that either of them does not know
/// makes no difference.
pub fn is_same(described: &str) -> bool {
    same(described, &self::described())
}

fn same(a: &str, b: &str) -> bool {
    let parts = |text: &str| match text.split_once("commit ").and_then(|(before, rest)| Some((before, rest.split_once(", ")?))) {
        Some((before, (commit, after))) => (Some(commit.to_owned()), format!("{before}{after}")),
        None => (None, text.to_owned()),
    };
    let ((one, rest_of_one), (other, rest_of_other)) = (parts(a), parts(b));
    rest_of_one == rest_of_other && (one.is_none() || other.is_none() || one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_builds_go_together_unless_something_known_differs() {
        let of = |version, commit| describe(version, commit, "p/1");
        assert_eq!(of("0.1.0", "abc"), "0.1.0 (commit abc, protocol p/1)");
        assert_eq!(of("0.1.0", ""), "0.1.0 (protocol p/1)");
        for commit in ["abc", ""] {
            assert!(same(&of("0.1.0", "abc"), &of("0.1.0", commit)) && same(&of("0.1.0", commit), &of("0.1.0", "abc")));
        }
        for other in
            [of("0.1.0", "abd"), of("0.1.0", "abc-dirty"), of("0.2.0", "abc"), of("0.2.0", ""), describe("0.1.0", "abc", "p/2")]
        {
            assert!(!same(&of("0.1.0", "abc"), &other) && !same(&other, &of("0.1.0", "abc")), "{other}");
        }
        // What an older probe says, and what nobody says.
        for odd in ["0.1.0", "", "commit ", "commit abc", "0.1.0 (commit abc)"] {
            assert!(!same(odd, &of("0.1.0", "abc")), "{odd}");
        }
    }

    #[test]
    fn a_program_that_says_no_commit_has_none() {
        assert_eq!(described(), format!("{VERSION} (protocol {PROTOCOL})"));
        assert!(is_same(&described()));
    }
}
