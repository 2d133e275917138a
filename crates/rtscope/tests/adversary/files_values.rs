//! Hostile values for every option and argument of every command: each gives an error or a result, never a panic, and quickly.

use crate::files::some_record;
use crate::world::World;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A command and its parameters.
struct Command {
    words: Vec<String>,
    /// Its options, and whether each takes a value.
    options: Vec<(String, bool)>,
    arguments: usize,
}

/// Reads the help of `words` and of all subcommands.
fn walk(w: &World, words: &[String], found: &mut Vec<Command>) {
    let mut args = words.to_vec();
    args.push("--help".into());
    let help = w.run(&args).ends_with(0).out;
    let (mut section, mut below, mut options, mut arguments) = (String::new(), Vec::new(), Vec::new(), 0);
    for line in help.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if indent == 0 && line.ends_with(':') {
            line.trim_end_matches(':').clone_into(&mut section);
        } else if section == "Commands" && indent == 2 && !text.starts_with("help") {
            below.extend(text.split_whitespace().next().map(str::to_owned));
        } else if section == "Arguments" && indent == 2 && text.starts_with(['<', '[']) {
            arguments += 1;
        } else if text.starts_with('-') && indent <= 6 && section != "Examples" {
            let takes = text.split("  ").next().unwrap_or_default();
            let long = takes.split([' ', ',', '[', '=']).find(|t| t.starts_with("--"));
            options.extend(long.filter(|l| l.len() > 2).map(|l| (l.to_owned(), takes.contains('<') || takes.contains("[="))));
        }
    }
    for name in &below {
        walk(w, &[words, std::slice::from_ref(name)].concat(), found);
    }
    if below.is_empty() || words.last().is_some_and(|l| l == "kernels") {
        found.push(Command { words: words.to_vec(), options, arguments });
    }
}

/// What a command needs so that it gets past parsing its options.
fn needs(words: &[String]) -> Vec<&'static str> {
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["measure"] => vec!["timer", "--target", "fake:latencies", "-t1", "-l", "20"],
        ["import"] => vec!["wave.vcd", "--answer", "a"],
        ["export"] => vec!["-f", "csv"],
        ["compare"] => vec!["latest", "latest"],
        ["summarize"] => vec!["latencies"],
        ["remove"] => vec!["none"],
        ["completions"] => vec!["bash"],
        ["man"] => vec!["man"],
        ["campaign", _] => vec!["plan.toml"],
        ["dut", "response"] => vec!["--in", "soft:va", "--out", "soft:vb", "-D", "10ms"],
        ["dut", "periodic"] => vec!["--out", "soft:vc", "--semi-period", "1ms", "-D", "10ms"],
        ["fpga", _] => vec!["/dev/null"],
        ["lab", "kernels", "fetch" | "remove" | "verify"] | ["lab", "boot" | "shell" | "verify"] => vec!["own/none/amd64"],
        ["lab", "run"] => vec!["own/none/amd64", "--", "true"],
        ["lab", "kernels", "add"] => vec!["none", "--vmlinuz", "latencies"],
        _ => vec![],
    }
}

fn values() -> Vec<OsString> {
    let long = "x".repeat(70_000);
    let mut all: Vec<OsString> =
        ["", "0", "-1", "18446744073709551615", "99999999999999999999h", "nowhere/at/all", "."].map(Into::into).into();
    all.push(long.into());
    all.push(OsString::from_vec(b"\xff\xfe\n\x1b[31m".to_vec()));
    all
}

/// The three worst values and one of the others in turn: trying all of them everywhere would take minutes.
fn some_values(turn: usize) -> Vec<OsString> {
    let all = values();
    [1, 3, 7].into_iter().chain([[0, 2, 4, 5, 6, 8][turn % 6]]).map(|i| all[i].clone()).collect()
}

/// Runs one command line; `Some` says what is wrong with how it ended.
fn ends_well(w: &World, args: &[OsString]) -> Option<String> {
    let mut c = w.command(args);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()?;
    let mut err = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = std::io::Read::read_to_end(&mut err, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let began = Instant::now();
    let mut asked = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        // A run that was asked to go on for centuries is fine; one that can't be ended is not.
        if began.elapsed() > Duration::from_secs(2) && !asked {
            asked = true;
            let _ = rtscope_sys::kill(i32::try_from(child.id()).unwrap(), libc::SIGTERM);
        }
        if began.elapsed() > Duration::from_secs(40) {
            let _ = child.kill();
            let _ = child.wait();
            return Some(format!("does not end: {}", shown(args)));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = reader.join().unwrap();
    let fine = matches!(status.code(), Some(0..=4 | 130)) || asked && status.signal() == Some(libc::SIGTERM);
    (!fine || said.contains("panicked at")).then(|| format!("{status}: {}: {said:.600}", shown(args)))
}

fn shown(args: &[OsString]) -> String {
    args.iter().map(|a| format!("{:.40}", a.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

const WAVE: &str = "$timescale 1 us $end $var wire 1 ! a $end $var wire 1 % b $end $enddefinitions $end\n#0 0! 0%\n#1000 1!\n#1010 1%\n#2000 0!\n#2020 0%\n#3000 1!\n#3010 1%\n#4000 0!\n#4010 0%\n";
const PLAN: &str = "name = \"p\"\ntargets = [\"fake:latencies\"]\nloads = [\"none\"]\n[[tests]]\ntest = \"timer\"\ninterval = \"1ms\"\nduration = \"10ms\"\n";

#[test]
fn no_value_of_any_option_makes_a_command_panic() {
    let w = World::new();
    some_record(&w);
    w.file("wave.vcd", WAVE);
    w.file("plan.toml", PLAN);
    let mut commands = Vec::new();
    walk(&w, &[], &mut commands);
    let names: BTreeSet<String> = commands.iter().map(|c| c.words.join(" ")).collect();
    for known in ["measure", "import", "campaign run", "lab kernels add", "dut periodic", "summarize", "compare"] {
        assert!(names.contains(known), "{names:?}");
    }
    let mut all: Vec<Vec<OsString>> = Vec::new();
    let seen = Mutex::new(BTreeSet::new());
    for c in &commands {
        let base: Vec<OsString> = c.words.iter().map(Into::into).collect();
        let needed = needs(&c.words).into_iter().map(OsString::from);
        for (option, takes) in &c.options {
            // Global options are tried once.
            let global = ["--archive", "--memory-limit"].contains(&option.as_str());
            if !takes || global && !seen.lock().unwrap().insert(option.clone()) {
                continue;
            }
            for value in some_values(all.len()) {
                let mut word = OsString::from(format!("{option}="));
                word.push(value);
                // Before the words that the command needs, which may end the options.
                all.push(base.iter().cloned().chain([word]).chain(needed.clone()).collect());
            }
        }
        if c.arguments > 0 {
            for value in some_values(all.len()) {
                let several = std::iter::repeat_n(value, c.arguments.min(2));
                all.push(base.iter().cloned().chain(several).collect());
            }
        }
    }
    // Tests over lines have their own settings.
    for option in ["--interval", "--interval-max", "--timeout", "--warmup", "--shortest", "--stimulus", "--dut-in", "--inject"] {
        for value in some_values(all.len()) {
            let line = "measure response --stimulus=soft:vs --answer=soft:vt -l 2 --no-save";
            let mut word = OsString::from(format!("{option}="));
            word.push(value);
            all.push(line.split(' ').map(OsString::from).chain([word]).collect());
        }
    }
    for option in
        ["-i", "-l", "-D", "-p", "-t", "-a", "-h", "-H", "-b", "-d", "-A", "--policy", "--rtscope-load", "--histfile", "--json"]
    {
        for value in some_values(all.len()) {
            all.push(vec!["cyclictest".into(), "-l".into(), "2".into(), option.into(), value]);
        }
    }
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(args) = all.get(next.fetch_add(1, Relaxed)) {
                    let fault = ends_well(&w, args);
                    wrong.lock().unwrap().extend(fault);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn a_record_that_is_too_long_is_refused_and_never_kept() {
    let w = World::new();
    some_record(&w);
    let json = w.line("show --json").out;
    let mut record: serde_json::Value = serde_json::from_str(&json).unwrap();
    record["id"] = "another".into();
    record.as_object_mut().unwrap().remove("fingerprint");
    let long = "l".repeat(70_000);
    let places = [
        "/load",
        "/target",
        "/distributions/0/label",
        "/warnings/0/message",
        "/system/hostname",
        "/settings/command/0",
        "/system/kernel/cmdline",
    ];
    for place in places {
        let mut r = record.clone();
        *r.pointer_mut(place).unwrap() = long.clone().into();
        w.file("long.json", r.to_string());
        for words in ["import long.json", "show long.json", "report long.json"] {
            let said = w.line(words).ends_with(3).complains(&["where a record may have"]);
            assert!(said.err.len() < 2000, "{place}: {words}: {}", said.err.len());
        }
    }
    w.line("list").ends_with(0);
    w.line("show").ends_with(4);
    // The longest strings that are accepted can also be shown.
    let mut r = record.clone();
    r["load"] = "l".repeat(4096).into();
    r["system"]["kernel"]["release"] = "r".repeat(65_535).into();
    w.file("long.json", r.to_string());
    w.line("import long.json").ends_with(0);
    for words in ["list", "show another", "compare latest another", "report all -o page.html", "export another -f csv"] {
        let said = w.line(words);
        assert!(matches!(said.code, Some(0 | 4)) && !said.err.contains("panicked"), "{words}: {:.400}", said.err);
    }
}

#[test]
fn a_path_that_is_no_text_is_a_path() {
    let w = World::new();
    some_record(&w);
    let odd = |name: &str| {
        let mut bytes = name.as_bytes().to_vec();
        bytes.extend(b"\xff\xfe");
        OsString::from_vec(bytes)
    };
    std::fs::write(w.path(odd("wave")), WAVE).unwrap();
    std::fs::write(w.path(odd("plan")), PLAN).unwrap();
    std::fs::write(w.path(odd("raw")), [0u8; 8]).unwrap();
    let run = |words: &str, path: OsString| {
        let mut args: Vec<OsString> = words.split_whitespace().map(Into::into).collect();
        args.push(path);
        w.run(&args)
    };
    run("import --answer a", odd("wave")).ends_with(0);
    run("import --stimulus a --answer b", odd("wave")).ends_with(0);
    run("summarize", odd("raw")).ends_with(0);
    run("report -o", odd("page")).ends_with(0);
    run("export -f csv -o", odd("out")).ends_with(0);
    run("campaign run", odd("plan")).ends_with(4);
    run("list --archive", odd("archive"));
    run("man", odd("man")).ends_with(0);
    for name in ["page", "out"] {
        assert!(w.path(odd(name)).is_file(), "{name}");
    }
}
