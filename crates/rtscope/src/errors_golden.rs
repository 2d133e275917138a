//! Every error that can reach a user, as users see it: message, remedy and exit code, in one golden file.
//!
//! After an intended change: `INSTA_UPDATE=always cargo test -p rtscope every_error`, then read the difference.

use crate::error::Code;
use crate::output;
use rtscope_failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// The errors, by name of error and variant.
#[derive(Default)]
pub(crate) struct Told(BTreeMap<String, Vec<Failure>>);

impl Told {
    fn add(&mut self, name: String, failure: Failure) {
        self.0.entry(name).or_default().push(failure);
    }
}

/// Adds samples of an enum. Does not compile if a variant has no sample, and fails if a sample is of another variant.
macro_rules! variants {
    ($told:expr, $kind:ident: $($variant:ident => [$($sample:expr),+ $(,)?],)+) => {{
        fn variant_of(of: &$kind) -> &'static str {
            match of { $($kind::$variant { .. } => stringify!($variant),)+ }
        }
        $($({
            let sample: $kind = $sample;
            assert_eq!(variant_of(&sample), stringify!($variant));
            $told.add(concat!(stringify!($kind), "::", stringify!($variant)).to_owned(), sample.into());
        })+)+
    }};
}

/// Adds a sample of an error that has no variants.
macro_rules! plain {
    ($told:expr, $kind:ident: $sample:expr) => {{
        let sample: $kind = $sample;
        $told.add(stringify!($kind).to_owned(), sample.into());
    }};
}

#[path = "errors_golden/records.rs"]
mod records;
#[path = "errors_golden/runs.rs"]
mod runs;

/// The system's error for a file that may not be opened.
fn denied() -> io::Error {
    io::Error::from_raw_os_error(libc::EACCES)
}

/// The system's error for a missing file.
fn absent() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOENT)
}

fn all() -> Told {
    let mut told = Told::default();
    records::add(&mut told);
    runs::add(&mut told);
    told
}

#[test]
fn every_error_says_what_to_do() {
    let mut text = String::new();
    for (name, failures) in &all().0 {
        for f in failures {
            let _ = writeln!(text, "{name} (exit code {})\n{}\n", Code::from(f.fault).number(), output::told(f));
        }
    }
    insta::assert_snapshot!("errors", text);
}

/// Words that show that a message without a remedy itself says what to do.
const SAYS: [&str; 26] = [
    "add it",
    "apt install",
    "apt-get install",
    "build",
    "choose another",
    "export ",
    "fetched",
    "free ",
    "give ",
    "is there a network",
    "keep the",
    "leave it out",
    "load the",
    "make it",
    "measure ",
    "mend ",
    "must be of one version",
    "name ",
    "record id: letters",
    "remove",
    "rtscope list",
    "the series of ",
    "set ",
    "use ",
    "wait for it",
    "write ",
];

#[test]
fn without_a_remedy_the_message_says_what_to_do() {
    for (name, failures) in &all().0 {
        for f in failures {
            let said = !f.remedy.is_empty() || SAYS.iter().any(|words| f.message.contains(words));
            assert!(said && !f.message.is_empty(), "{name} says nothing of what to do: {}", f.message);
            assert!(!f.message.contains(&f.remedy) || f.remedy.is_empty(), "{name} says its remedy twice: {}", f.message);
        }
    }
}

/// Errors that no user sees, as their text becomes part of other errors.
const UNSEEN: [&str; 2] = ["RowError", "GridError"];

/// The errors that the crates define: types whose names end in `Error`.
fn defined(dir: &Path, found: &mut BTreeSet<String>) {
    for path in std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        if path.is_dir() {
            defined(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                let at = words.iter().position(|w| ["enum", "struct"].contains(w)).filter(|at| *at < 3 && words[0] != "//");
                let name = at.and_then(|at| words.get(at + 1)).map(|w| w.split(['(', ';', '<', '{']).next().unwrap_or_default());
                found.extend(name.filter(|n| n.ends_with("Error")).map(str::to_owned));
            }
        }
    }
}

#[test]
fn no_error_is_left_out() {
    let mut known = BTreeSet::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
        defined(&entry.unwrap().path().join("src"), &mut known);
    }
    let seen: BTreeSet<String> = all().0.keys().map(|name| name.split("::").next().unwrap_or_default().to_owned()).collect();
    let left: Vec<_> = known.iter().filter(|n| !seen.contains(*n) && !UNSEEN.contains(&n.as_str())).collect();
    assert!(known.len() > 30 && left.is_empty(), "errors without a sample in errors_golden: {left:?}");
}
