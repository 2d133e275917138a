//! Checks the manual against the code: commands and options, exit codes, variables, warning codes, links.
//!
//! `UPDATE_DOCS=1 cargo test -p rtscope manual` writes `docs/commands.md`; for the other pages a test reports what is missing.

use crate::error::Code;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Head of the generated page.
const HEAD: &str = "# Commands and options

Written from the program's own help: `UPDATE_DOCS=1 cargo test -p rtscope manual`. `rtscope COMMAND --help` shows the same, `rtscope man DIR`
writes it as man pages. What the commands have in common (output, exit codes, limits, environment, files) is in the [reference](reference.md).

";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// The commands without subcommands, with their full names.
fn leaves(command: &clap::Command, name: &str, into: &mut Vec<(String, clap::Command)>) {
    let below: Vec<_> = command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help").collect();
    if below.is_empty() {
        into.push((name.to_owned(), command.clone()));
    }
    for c in below {
        leaves(c, &format!("{name} {}", c.get_name()), into);
    }
}

/// Whether an option belongs to every command; these are listed once.
fn is_global(name: &str) -> bool {
    ["archive", "memory_limit", "quiet", "help", "version"].contains(&name)
}

fn commands() -> String {
    let mut cli = crate::args::command();
    cli.build();
    let mut all = Vec::new();
    leaves(&cli, "rtscope", &mut all);
    let anchor = |name: &str| name.replace(' ', "-");
    let about = |c: &clap::Command| c.get_about().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
    let mut text = HEAD.to_owned();
    text += "| command | what it does |\n|---|---|\n";
    for (name, c) in &all {
        let _ = writeln!(text, "| [`{name}`](#{}) | {} |", anchor(name), about(c));
    }
    text += "\n## Options of all commands\n\n```text\n";
    for a in cli.get_arguments().filter(|a| is_global(a.get_id().as_str()) && a.get_id() != "version") {
        let _ = writeln!(text, "{a}\n    {}", a.get_help().map(ToString::to_string).unwrap_or_default());
    }
    text += "```\n\n`cyclictest` takes cyclictest's options only.\n";
    for (name, c) in all {
        let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", help(&name, c).trim_end());
    }
    text
}

/// The help of one command, as shown 100 columns wide, without the options that every command has.
fn help(name: &str, command: clap::Command) -> String {
    if name.ends_with(" cyclictest") {
        return crate::cmd::cyclictest::HELP.trim_end().to_owned();
    }
    let globals: Vec<_> = command.get_arguments().map(|a| a.get_id().clone()).filter(|a| is_global(a.as_str())).collect();
    let hidden = globals.into_iter().fold(command, |c, id| c.mut_arg(id, |a| a.hide(true)));
    let shown = hidden.bin_name(name).term_width(100).render_long_help().to_string();
    shown.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn commands_and_options_are_in_the_manual() {
    let (want, file) = (commands(), root().join("docs/commands.md"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &want).unwrap();
    }
    let have = fs::read_to_string(&file).unwrap_or_default();
    let line = want.lines().zip(have.lines()).position(|(w, h)| w != h);
    assert!(want == have, "docs/commands.md is stale at line {line:?}: UPDATE_DOCS=1 cargo test -p rtscope manual");
}

#[test]
fn exit_codes_are_in_the_manual() {
    let section = page("reference.md");
    let section = section.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
    let listed: BTreeSet<&str> =
        section.lines().filter_map(|l| l.strip_prefix("| ")?.split(' ').next()).filter(|c| *c != "code").collect();
    let codes = [Code::Done, Code::Assertion, Code::Usage, Code::Failed, Code::Verdict, Code::Interrupted];
    let known: Vec<String> = codes.iter().map(|c| c.number().to_string()).collect();
    assert_eq!(listed, known.iter().map(String::as_str).collect());
}

/// The sources of all crates without their tests, with their paths.
fn sources() -> Vec<(PathBuf, String)> {
    fn walk(dir: &Path, into: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
            if entry.is_dir() {
                walk(&entry, into);
            } else if Path::new(&name).extension().is_some_and(|e| e == "rs") && !name.ends_with("tests.rs") && name != "manual.rs"
            {
                let text = fs::read_to_string(&entry).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
                into.push((entry, code));
            }
        }
    }
    let mut all = Vec::new();
    for krate in fs::read_dir(root().join("crates")).unwrap() {
        walk(&krate.unwrap().path().join("src"), &mut all);
    }
    assert!(all.len() > 200, "the sources are elsewhere");
    all
}

/// The parts of `text` between quotation marks, and those between them.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"')
}

#[test]
fn variables_are_in_the_manual() {
    let page = page("reference.md");
    let section = page.split("## Environment").nth(1).unwrap().split("\n## ").next().unwrap();
    let name = |word: &&str| {
        word.strip_prefix("RTSCOPE_")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
    };
    let sources = sources();
    // Variables of tests that re-execute themselves are for nobody else.
    let read: BTreeSet<&str> =
        sources.iter().flat_map(|(_, s)| quoted(s)).filter(name).filter(|n| !n.starts_with("RTSCOPE_TEST_")).collect();
    assert!(read.len() > 5, "{read:?}");
    let listed: BTreeSet<&str> = section.split('`').filter(name).collect();
    assert_eq!(listed, read, "docs/reference.md, Environment, beside what the sources read");
}

/// The warning codes in a page's tables: the first cell of each row, if it is a list of codes.
fn listed(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().filter_map(|l| l.strip_prefix("| `")?.split(" | ").next());
    rows.flat_map(|cell| cell.split(", ")).map(|code| code.trim_matches('`')).filter(|c| is_code(c)).collect()
}

fn is_code(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[test]
fn warnings_are_in_the_manual() {
    let sources = sources();
    let (warnings, check) = (page("warnings.md"), page("check.md"));
    let listed: BTreeSet<&str> = listed(&warnings).into_iter().chain(listed(check.split("## Findings").nth(1).unwrap())).collect();
    let words: BTreeSet<&str> = sources.iter().flat_map(|(_, s)| quoted(s)).filter(|w| is_code(w)).collect();
    let stale: Vec<_> = listed.difference(&words).collect();
    assert!(stale.is_empty(), "codes in the manual that no source has: {stale:?}");
    let mut missing = BTreeSet::new();
    for (path, source) in &sources {
        for made in ["Warning::new(", "warning(", "warn("] {
            for (at, _) in source.match_indices(made) {
                let rest = source[at + made.len()..].trim_start();
                let code = rest.strip_prefix('"').and_then(|r| r.split('"').next()).filter(|c| is_code(c));
                if let Some(code) = code.filter(|c| !listed.contains(c)) {
                    missing.insert(format!("{code} ({})", path.file_name().unwrap().to_string_lossy()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "codes that the manual does not have: {missing:?}");
}

/// The anchor of a heading, as the usual Markdown renderers make it.
fn anchor(heading: &str) -> String {
    let plain = heading.trim_start_matches('#').trim().to_lowercase();
    plain.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut pages: Vec<PathBuf> = fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path()).collect();
    pages.extend(fs::read_dir(root()).unwrap().map(|e| e.unwrap().path()));
    pages.retain(|p| p.extension().is_some_and(|e| e == "md"));
    assert!(pages.len() > 20, "{pages:?}");
    let mut broken = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (file, place) = link.split_once('#').map_or((link, None), |(f, p)| (f, Some(p)));
            let file = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let found = file.exists()
                && place.is_none_or(|p| fs::read_to_string(&file).unwrap().lines().any(|l| l.starts_with('#') && anchor(l) == p));
            if !found {
                broken.push(format!("{}: {link}", page.file_name().unwrap().to_string_lossy()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn pages_that_failures_point_to_exist() {
    let main = fs::read_to_string(root().join("crates/rtscope/src/main.rs")).unwrap();
    let pages: Vec<&str> = quoted(&main).filter(|w| w.starts_with("docs/")).collect();
    assert!(pages.len() > 15);
    for page in pages {
        assert!(root().join(page).is_file(), "{page}");
    }
}

/// A release has one version, wherever it is written (CONTRIBUTING.md).
#[test]
fn the_version_is_the_same_everywhere() {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let is_version = |w: &str| w.split('.').count() == 3 && w.split('.').all(|n| n.parse::<u32>().is_ok());
    for (file, before, after) in [
        ("web/package.json", "\"version\": \"", "\""),
        ("web/package-lock.json", "\"version\": \"", "\""),
        ("kernel/dkms.conf", "PACKAGE_VERSION=\"", "\""),
        ("kernel/README.md", "/usr/src/rtscope-", " "),
        ("CHANGELOG.md", "\n## ", " "),
    ] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let said = text.split_once(before).and_then(|(_, rest)| rest.split(after).next());
        assert_eq!(said, Some(VERSION), "{file}, behind {before}");
    }
    let page = page("packages.md");
    let names: Vec<&str> = page.split("rtscope").flat_map(|rest| rest.split(['-', '_'])).filter(|w| is_version(w)).collect();
    assert!(names.len() > 4 && names.iter().all(|n| *n == VERSION), "docs/packages.md: {names:?}");
}
