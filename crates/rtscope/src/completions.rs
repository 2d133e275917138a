//! Shell completions: the shell asks this program, which knows loads, targets, the kernels in the cache, formats and runs.

use crate::args::Global;
use crate::args::values::Size;
use crate::config::{Context, cache_root};
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use rtscope_archive::capture::CaptureKind;
use rtscope_archive::formats::Format;
use rtscope_archive::{Filter, RunSummary};
use rtscope_failure::Failure;
use rtscope_lab::kernels::Kernels;
use rtscope_load::Load;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Set by the shell's script: which shell asks.
pub(crate) const ASKED: &str = "RTSCOPE_COMPLETE";
const NAME: &str = "rtscope";
/// Newest runs that are offered.
const RUNS: u32 = 100;

/// bash splits words at `:` and `=` as well, so that `lab:deb` would come as three: this one takes the line apart itself. It has no
/// part in the split of quoted words, which completion can do without.
const BASH: &str = r#"# rtscope's completions for bash.
_rtscope() {
    local line="${COMP_LINE:0:COMP_POINT}" words=() current prefix i
    IFS=$' \t' read -r -a words <<<"$line"
    [[ "$line" == *[[:blank:]] ]] && words+=("")
    current="${words[-1]}"
    local IFS=$'\013'
    COMPREPLY=( $( \
        _CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX="$((${#words[@]} - 1))" _CLAP_COMPLETE_COMP_TYPE="${COMP_TYPE:-9}" \
        _CLAP_COMPLETE_SPACE=false RTSCOPE_COMPLETE=bash rtscope -- "${words[@]}" 2>/dev/null \
    ) )
    # bash puts an answer behind the last of its own separators.
    prefix="${current%"${current##*[:=]}"}"
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]="${COMPREPLY[i]#"$prefix"}"; done
    [[ ${#COMPREPLY[@]} == 1 && "${COMPREPLY[0]}" == *[=/:] ]] && compopt -o nospace
    return 0
}
complete -o bashdefault -o nosort -F _rtscope rtscope
"#;

/// The script that makes `shell` ask this program.
pub(crate) fn script(shell: &str) -> Result<Vec<u8>, Failure> {
    if shell == "bash" {
        return Ok(BASH.into());
    }
    let shells = Shells::builtins();
    let known = || shells.names().collect::<Vec<_>>();
    let completer = shells.completer(shell).ok_or_else(|| {
        Failure::usage(
            format!("no completions for `{shell}`: there are some for {}", known().join(", ")),
            "rtscope completions bash",
        )
    })?;
    let mut script = Vec::new();
    completer
        .write_registration(ASKED, NAME, NAME, NAME, &mut script)
        .map_err(|e| Failure::machine(e.to_string(), "report this"))?;
    if shell == "zsh" {
        // From a directory of completions zsh loads the file at the first question, which this is to answer too.
        script.extend_from_slice(b"[[ $funcstack[1] != _rtscope ]] || _clap_dynamic_completer_rtscope \"$@\"\n");
    }
    Ok(script)
}

/// Answers a shell, if it is one that asks.
pub(crate) fn answered() -> bool {
    if std::env::var_os(ASKED).is_none() {
        return false;
    }
    let here = std::env::current_dir().ok();
    // What can't be completed has no candidates: an error would end up in the user's line.
    let _ = CompleteEnv::with_factory(command).var(ASKED).try_complete(std::env::args_os(), here.as_deref());
    true
}

/// The command line with what its values may be.
fn command() -> Command {
    knowing(crate::args::command())
}

type Candidates = fn(&OsStr) -> Vec<CompletionCandidate>;

/// Arguments by their names, and what completes them.
const KNOWN: [(&[&str], Candidates); 7] = [
    (&["load", "host_load"], |word| listed(word, loads())),
    (&["target", "against"], |word| matching(word, targets())),
    (&["kernel", "kernels", "names"], |word| matching(word, kernels())),
    (&["board", "to"], |word| matching(word, boards())),
    (&["selection", "a", "b", "baseline", "from"], |word| listed(word, selections())),
    (&["ids"], |word| listed(word, runs())),
    (&["format"], |word| matching(word, formats())),
];

fn knowing(c: Command) -> Command {
    let known = |a: &Arg| KNOWN.iter().find(|(names, _)| names.contains(&a.get_id().as_str())).map(|k| k.1);
    // In place: `mut_arg` would put a positional argument behind the others.
    let c = c.mut_args(|a| match known(&a).filter(|_| a.get_possible_values().is_empty()) {
        Some(of) => a.add(ArgValueCompleter::new(of)),
        None => a,
    });
    c.mut_subcommands(knowing)
}

/// A value and what it is.
type Value = (String, String);

fn matching(word: &OsStr, values: Vec<Value>) -> Vec<CompletionCandidate> {
    candidates("", &word.to_string_lossy(), values)
}

/// As [`matching`], for values separated by commas: the last one is completed.
fn listed(word: &OsStr, values: Vec<Value>) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let at = word.rfind(',').map_or(0, |i| i + 1);
    candidates(&word[..at], &word[at..], values)
}

fn candidates(before: &str, word: &str, values: Vec<Value>) -> Vec<CompletionCandidate> {
    let fit = values.into_iter().filter(|(value, _)| value.starts_with(word));
    let made =
        |(value, what): Value| CompletionCandidate::new(format!("{before}{value}")).help((!what.is_empty()).then(|| what.into()));
    fit.map(made).collect()
}

fn plain(words: impl IntoIterator<Item = impl Into<String>>) -> Vec<Value> {
    words.into_iter().map(|w| (w.into(), String::new())).collect()
}

fn loads() -> Vec<Value> {
    let known = Load::known().map(|(name, what)| (name.to_owned(), what.to_owned()));
    let tools = Load::with_arguments().map(|(name, what)| (name.trim_end_matches("ARGS").to_owned(), what.to_owned()));
    known
        .chain([("all".into(), "each of them in turn".into()), ("worst".into(), "what `hunt` found".into())])
        .chain(tools)
        .collect()
}

/// The kernels in the cache, then those that can be fetched.
fn kernels() -> Vec<Value> {
    let mut all = cache_root().ok().and_then(|root| Kernels::new(root).list().ok()).unwrap_or_default();
    all.sort_by_key(|l| l.bytes == 0);
    let what = |bytes| if bytes > 0 { "in the cache" } else { "is fetched" };
    all.into_iter().map(|l| (l.name.to_string(), what(l.bytes).to_owned())).collect()
}

fn targets() -> Vec<Value> {
    let lab = kernels().into_iter().map(|(name, what)| (format!("lab:{name}"), what));
    plain(["local", "ssh:", "fake:"]).into_iter().chain(lab).collect()
}

fn formats() -> Vec<Value> {
    let captures = CaptureKind::ALL.map(CaptureKind::as_str);
    plain(Format::ALL.map(Format::as_str).into_iter().chain(crate::cmd::CI_FORMATS).chain(captures))
}

/// The archive that the line names, among the words that the shell passes on: as typed, before the shell looks at them.
fn archive_of(words: impl IntoIterator<Item = OsString>) -> Option<PathBuf> {
    let mut words = words.into_iter().map(|w| w.to_string_lossy().into_owned()).skip_while(|w| w != "--").skip(1);
    let path = loop {
        let word = words.next()?;
        if word == "--archive" {
            break words.next()?;
        }
        if let Some(path) = word.strip_prefix("--archive=") {
            break path.to_owned();
        }
    };
    let path = path.trim_matches(['"', '\'']);
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Some(Path::new(&home).join(rest)),
        _ => Some(path.into()).filter(|p: &PathBuf| !p.as_os_str().is_empty()),
    }
}

/// The boards that were measured over ssh lately.
fn boards() -> Vec<Value> {
    let known: BTreeSet<String> = newest().into_iter().map(|s| s.target).filter(|t| t.starts_with("ssh:")).collect();
    plain(["ssh:".to_owned()].into_iter().chain(known))
}

/// The newest runs by their ids, with what they were.
fn runs() -> Vec<Value> {
    newest().into_iter().map(|s| (s.id, format!("{} {} {}", s.test, s.load, s.kernel))).collect()
}

/// The newest runs of the archive.
fn newest() -> Vec<RunSummary> {
    let archive = archive_of(std::env::args_os()).or_else(|| std::env::var_os("RTSCOPE_ARCHIVE").map(Into::into));
    let global = Global { archive, memory_limit: Size(1 << 30), quiet: true };
    let Some(archive) = Context::new(&global).ok().and_then(|c| rtscope_archive::Archive::open_existing(&c.archive).ok()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let _ = archive.each_summary(&Filter { limit: Some(RUNS), ..Filter::default() }, |summary| {
        if let Ok(s) = summary {
            found.push(s);
        }
        Ok::<(), rtscope_archive::ArchiveError>(())
    });
    found
}

fn selections() -> Vec<Value> {
    let words = ["latest", "all", "last=", "test=", "load=", "kernel=", "target=", "campaign=", "since=", "until="];
    plain(words).into_iter().chain(runs()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(found: &[CompletionCandidate]) -> Vec<String> {
        found.iter().map(|c| c.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_last_of_several_values_is_completed() {
        assert_eq!(values(&listed(OsStr::new("none,di"), loads())), ["none,disk"]);
        assert_eq!(values(&listed(OsStr::new("stress-"), loads())), ["stress-ng:"]);
        assert_eq!(values(&matching(OsStr::new("cyclictest-j"), formats())), ["cyclictest-json"]);
        assert!(values(&matching(OsStr::new("lab:debian/6.12-rt/"), targets())).contains(&"lab:debian/6.12-rt/amd64".to_owned()));
    }

    #[test]
    fn runs_come_from_the_archive_of_the_line() {
        let of = |line: &str| archive_of(line.split(' ').map(OsString::from));
        assert_eq!(of("rtscope -- rtscope --archive a.db show "), Some("a.db".into()));
        assert_eq!(of("rtscope -- rtscope show --archive='a.db' "), Some("a.db".into()));
        for line in ["rtscope --archive a.db", "rtscope -- rtscope show", "rtscope -- rtscope show --archive"] {
            assert_eq!(of(line), None, "{line}");
        }
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join("a.db"));
        assert_eq!(of("rtscope -- rtscope --archive ~/a.db list").filter(|_| home.is_some()), home);
    }

    #[test]
    fn every_name_of_the_table_is_an_argument() {
        fn ids(c: &Command, into: &mut Vec<String>) {
            into.extend(c.get_arguments().map(|a| a.get_id().to_string()));
            c.get_subcommands().for_each(|c| ids(c, into));
        }
        let mut all = Vec::new();
        ids(&crate::args::command(), &mut all);
        for name in KNOWN.iter().flat_map(|k| k.0) {
            assert!(all.iter().any(|id| id == name), "{name}");
        }
        command().debug_assert();
    }
}
