//! What the program prints about itself, compared with golden files: help, errors, man pages, completions, `check`.
//!
//! After an intended change: `INSTA_UPDATE=always cargo test -p rtscope --test e2e golden`, then read the difference.

use crate::world::World;
use serde_json::Value;
use std::fs;

const COMMANDS: [&str; 30] = [
    "check",
    "demo",
    "measure",
    "board",
    "dut",
    "campaign",
    "cyclictest",
    "list",
    "show",
    "import",
    "export",
    "remove",
    "verify",
    "key",
    "report",
    "hunt",
    "explain",
    "reference",
    "compare",
    "plan",
    "papers",
    "tail",
    "loads",
    "lab",
    "kernel",
    "fpga",
    "summarize",
    "schema",
    "completions",
    "man",
];

#[test]
fn help() {
    let w = World::new();
    insta::assert_snapshot!("help", w.line("--help").ends_with(0).out);
    for command in COMMANDS {
        let said = w.line(&format!("{command} --help")).ends_with(0);
        assert_eq!(said.err, "");
        insta::assert_snapshot!(format!("help-{command}"), said.out);
    }
    for command in [
        "campaign run",
        "campaign status",
        "dut response",
        "dut periodic",
        "fpga info",
        "fpga selftest",
        "kernel build",
        "kernel install",
        "kernel try",
        "kernel keep",
        "kernel remove",
        "key generate",
        "key show",
        "key trust",
        "board add",
        "board list",
        "key distrust",
        "key list",
        "reference list",
        "reference show",
    ] {
        let said = w.line(&format!("{command} --help")).ends_with(0);
        insta::assert_snapshot!(format!("help-{}", command.replace(' ', "-")), said.out);
    }
    for command in [
        "boot",
        "shell",
        "run",
        "verify",
        "model",
        "kernels",
        "kernels list",
        "kernels fetch",
        "kernels remove",
        "kernels add",
        "kernels verify",
    ] {
        let said = w.line(&format!("lab {command} --help")).ends_with(0);
        insta::assert_snapshot!(format!("help-lab-{}", command.replace(' ', "-")), said.out);
    }
    insta::assert_snapshot!("help-measure-short", w.line("measure -h").ends_with(0).out);
    // A build for development names no commit.
    let version = format!("rtscope {} (protocol rtscope-probe/1)\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(w.line("--version").ends_with(0).out, version);
    // The list above has every command.
    let listed = w.line("--help").out;
    let names = listed.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let names: Vec<&str> = names.filter_map(|l| l.split_whitespace().next()).filter(|n| *n != "help").collect();
    assert_eq!(names, COMMANDS);
}

#[test]
fn errors() {
    let w = World::new();
    w.file("words.txt", "these are no figures\n");
    let plan = |name: &str, text: &str| w.file(name, format!("name = \"a\"\n{text}\n[[tests]]\ntest = \"timer\"\n"));
    plan("lab.toml", "targets = [\"lab:debian/5.4/amd64\"]");
    plan("load.toml", "targets = [\"local\"]\nloads = [\"none\", \"nonsense\"]");
    plan("locl.toml", "targets = [\"locl\"]");
    plan("key.toml", "target = [\"local\"]");
    plan("twice.toml", "targets = [\"local\", \"local\"]");
    w.file("half.json", "{\"schema\":\"rtscope-record/1\",\"id\":\"x\"");
    let mut text = String::new();
    for words in [
        "nonsense",
        "measure",
        "measure timer -m",
        "measure timer -q",
        "measure timer --export-json x.json",
        "measure timer --output x",
        "measure timer --json=x",
        "measure timer -Sp90 -i200 -h400",
        "measure timer -t -a",
        "measure timer -a --quiet",
        "-Sp90 -i200 -q",
        "timer -D 10s",
        "show --csv",
        "measure timer --load dsik",
        "measure timer --target locl",
        "measure timer --target debian/6.12-rt",
        "measure timer --target lab:debian/6.21-rt",
        "measure timer -i 0",
        "measure timer -i x",
        "measure timer -D 1y",
        "measure timer -a x",
        "measure timer -t 0",
        "measure timer -p 100",
        "measure timer --policy idle",
        "measure timer --space kernel --migrate",
        "measure timer --load nonsense",
        "measure timer --load stress-ng:--timeout=5",
        "measure timer --target nonsense",
        "measure timer --target fake:",
        "measure timer --target fake:none -D 1",
        "measure timer --assert p99",
        "measure timer --assert p99<x",
        "measure timer --assert missed<1us",
        "measure timer --load-dir /no/such/directory --load disk",
        "campaign",
        "campaign run",
        "campaign run none.toml",
        "campaign run words.txt",
        "campaign run lab.toml",
        "campaign run load.toml",
        "campaign run locl.toml",
        "campaign run key.toml",
        "campaign status twice.toml",
        "campaign run lab.toml --jobs 0",
        "campaign run lab.toml --assert p99",
        "show",
        "show 123",
        "show load=full",
        "show colour=red",
        "show none.json",
        "show half.json",
        "list since=yesterday",
        "import none.txt",
        "import words.txt",
        "import --format nonsense words.txt",
        "import --format csv words.txt",
        "export --format nonsense",
        "export --format cvs",
        "remove 123",
        "report -o /no/such/directory/page.html",
        "compare latest 123",
        "compare 123",
        "summarize none.bin",
        "summarize words.txt --width u64",
        "cyclictest -i x",
        "cyclictest -r",
        "cyclictest -p 100",
        "man /proc/nonsense",
        "lab",
        "lab kernels nonsense",
        "lab kernels fetch",
        "lab kernels fetch debian/5.10/amd64",
        "lab kernels fetch own/mine/amd64",
        "lab shell debian/6.21-rt",
        "lab boot --vmlinuz x --arch riscv64",
        "lab kernels remove debian/6.1/armhf",
        "lab kernels verify own/mine/amd64",
        "lab kernels add ../x --arch amd64 --vmlinuz words.txt",
        "lab kernels add mine --arch amd64 --vmlinuz none.txt",
        "lab kernels add mine --arch amd64 --vmlinuz words.txt",
    ] {
        // A missing tool would cause another error.
        if words.contains("disk") && !crate::world::installed("stress-ng") {
            return crate::world::skip("stress-ng is not installed");
        }
        if words == "remove 123" {
            // From here on there is an archive without runs.
            w.file("one", "1000\n");
            let id = w.line("measure timer --target fake:one --json").record().id().to_owned();
            w.line(&format!("remove {id}")).ends_with(0);
        }
        let said = w.line(words);
        assert!(matches!(said.code, Some(2 | 3)) && said.out.is_empty(), "{words}: {said:?}");
        let err = said.err.replace(w.path("").to_str().unwrap().trim_end_matches('/'), "WORLD");
        text += &format!("$ rtscope {words}\n{err}=> {}\n\n", said.code.unwrap());
    }
    insta::assert_snapshot!("errors", text);
}

#[test]
fn man_pages_and_completions() {
    let w = World::new();
    w.line("man pages").ends_with(0);
    for command in COMMANDS {
        let page = fs::read_to_string(w.path(format!("pages/rtscope-{command}.1"))).unwrap();
        assert!(page.contains(".TH") && page.contains(command), "{command}");
    }
    assert!(fs::read_to_string(w.path("pages/rtscope.1")).unwrap().contains(".SH"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let out = w.line(&format!("completions {shell}")).ends_with(0).out;
        assert!(out.contains("RTSCOPE_COMPLETE") && !out.contains("__probe"), "{shell}");
    }
    w.line("completions nonsense").ends_with(2);
}

/// fish and zsh themselves, at the first question.
#[test]
fn fish_and_zsh_complete_too() {
    // The line editor writes only what it adds.
    const ZSH: &str = r#"zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; stty cols 200; print re""ady'
while zpty -r z line; do [[ $line == *ready* ]] && break; done
zpty -w -n z $'rtscope measure timer --load calcu\t'
while zpty -r z line '*lation*'; do print -r -- calculation; break; done"#;
    let w = World::new();
    let program = std::path::Path::new(crate::world::PROGRAM).parent().unwrap().to_owned();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for (shell, file, words) in [
        ("fish", "rtscope.fish", "source ./rtscope.fish; complete -C 'rtscope measure timer --load calcu'"),
        ("zsh", "_rtscope", ZSH),
    ] {
        if !crate::world::installed(shell) {
            crate::world::skip(&format!("{shell} is not installed"));
            continue;
        }
        w.file(file, w.line(&format!("completions {shell}")).ends_with(0).out);
        let mut c = std::process::Command::new("timeout");
        c.args(["60", shell, "-c", words]).current_dir(w.path("")).env("PATH", &path).env("HOME", w.path(""));
        let out = c.stdin(std::process::Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(said.contains("calculation"), "{shell}: {said} {}", String::from_utf8_lossy(&out.stderr));
    }
}

/// bash itself, with the script that it gets, completes what this user has.
#[test]
fn bash_completes_what_there_is() {
    let w = World::new();
    w.file("one", "1000\n");
    let id = w.line("measure timer --target fake:one --json").record().id().to_owned();
    w.file("completions.bash", w.line("completions bash").ends_with(0).out);
    // What readline does: it calls the function, and puts an answer behind the last of its separators.
    w.file(
        "complete.sh",
        r#". ./completions.bash
complete -p rtscope >/dev/null || exit 1
compopt() { :; }
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
_rtscope rtscope "${1##*[ :=]}" ""
printf '%s\n' "${COMPREPLY[@]}""#,
    );
    let program = std::path::Path::new(crate::world::PROGRAM).parent().unwrap().to_owned();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let answers = |line: &str| -> Vec<String> {
        let said: crate::world::Said = w.command_of("bash").args(["complete.sh", line]).env("PATH", &path).output().unwrap().into();
        said.ends_with(0).out.lines().map(str::to_owned).collect()
    };
    for (line, want) in [
        ("rtscope mea", "measure"),
        ("rtscope measure timer --load none,di", "none,disk"),
        ("rtscope measure timer --load=calc", "calculation"),
        ("rtscope measure timer --target lab:debian/6.12-rt/am", "debian/6.12-rt/amd64"),
        ("rtscope lab shell debian/6.12-rt/am", "debian/6.12-rt/amd64"),
        ("rtscope export latest --format cyclictest-j", "cyclictest-json"),
        ("rtscope show 2", &id),
        ("rtscope plan --from 2", &id),
        ("rtscope board add ss", "ssh:"),
        ("rtscope kernel keep --to ss", "ssh:"),
        ("rtscope measure timer --load-d", "--load-dir"),
    ] {
        assert_eq!(answers(line), [want], "{line}");
    }
    assert_eq!(answers("rtscope measure timer --load nothing-like-it"), [""]);
}

#[test]
fn alone_it_says_what_to_do_next() {
    let w = World::new();
    let said = w.line("").ends_with(0);
    assert!(said.out.starts_with("Next on this machine:\n") && said.out.contains("rtscope measure timer -D 10s"), "{}", said.out);
    assert!(said.out.contains("\nCommands:\n  check "), "{}", said.out);
    assert!(!w.archive().exists(), "looking makes no archive");
    w.file("one", "1000\n");
    let id = w.line("measure timer --target fake:one --json").record().id().to_owned();
    assert!(w.line("").ends_with(0).out.contains(&format!("rtscope show {id}")));
    // An archive that can't be read is no reason to say nothing.
    fs::write(w.archive(), "no database").unwrap();
    w.line("").ends_with(0);
}

#[test]
fn no_line_of_help_or_errors_is_wider_than_the_terminal() {
    let w = World::new();
    for words in [
        "--help",
        "measure -h",
        "measure --help",
        "measure",
        "measure timer --export-json x",
        "measure timer --load dsik",
        "compare --help",
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let said: crate::world::Said = w.command(&words).env("COLUMNS", "80").output().unwrap().into();
        let wide: Vec<&str> =
            said.out.lines().chain(said.err.lines()).filter(|l| l.chars().count() > 80 && l.trim_start().contains(' ')).collect();
        assert!(wide.is_empty(), "{words:?}: {wide:#?}");
    }
}

#[test]
fn the_doctor_reports() {
    let w = World::new();
    let json = w.line("check --json");
    let report: Value = serde_json::from_str(&json.out).unwrap();
    let verdict = report["verdict"].as_str().unwrap();
    let invalid = verdict == "INVALID";
    assert_eq!(json.code, Some(if invalid { 4 } else { 0 }));
    for f in report["findings"].as_array().unwrap() {
        for key in ["code", "message", "remedy"] {
            assert!(!f[key].as_str().unwrap().is_empty(), "{f}");
        }
        assert!(matches!(f["effect"].as_str(), Some("note" | "inconclusive" | "invalid")), "{f}");
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(report["system"]["kernel"]["release"], release.trim());
    let text = w.line("check").out;
    assert!(text.contains(release.trim()) && text.contains(&format!("A measurement here can be {verdict} at best.")), "{text}");
    let strict = if verdict == "VALID" { 0 } else { 4 };
    w.line("check --strict").ends_with(strict);
    // Every record gets the same findings.
    let record = w.line("measure timer -D 100ms --json --no-save").record();
    let of_record = crate::world::codes(&record);
    // Other cases measure at the same time: their real-time tasks come and go.
    for f in report["findings"].as_array().unwrap().iter().filter(|f| f["code"] != "rt-tasks") {
        assert!(of_record.contains(&f["code"].as_str().unwrap()), "{f} is not in {of_record:?}");
    }
    assert!(!w.archive().exists(), "looking makes no archive");
}

#[test]
fn loads_are_listed() {
    let w = World::new();
    let json: Vec<Value> = serde_json::from_str(&w.line("loads --json").ends_with(0).out).unwrap();
    let names: Vec<&str> = json.iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["none", "background", "calculation", "disk", "network", "full", "dewit"]);
    let text = w.line("loads").ends_with(0).out;
    assert!(names.iter().all(|n| text.contains(n)) && text.contains("stress-ng:ARGS") && text.contains("fio:ARGS"));
}

#[test]
fn raw_samples_are_summarized() {
    let w = World::new();
    let bytes: Vec<u8> = (1..=1000u32).flat_map(|n| (n * 1000).to_le_bytes()).collect();
    w.file("raw.bin", &bytes);
    let d: Value = serde_json::from_str(&w.line("summarize raw.bin --json").ends_with(0).out).unwrap();
    assert_eq!((&d["count"], &d["min"], &d["max"]), (&1000.into(), &1000.into(), &1_000_000.into()));
    assert_eq!(w.feed(&["summarize", "-"], &bytes).ends_with(0).out, w.line("summarize raw.bin").out);
    w.file("cut.bin", &bytes[..bytes.len() - 1]);
    w.line("summarize cut.bin").ends_with(3).complains(&["cut.bin"]);
}
