//! Inputs that would need all memory: refused with a clear error, within the memory limit.

use crate::world::{PROGRAM, Said, World};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a command; also returns its peak memory use, MiB.
pub(crate) fn watched(mut command: Command) -> (Said, u64) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let read = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let (out, err) = (read(Box::new(child.stdout.take().unwrap())), read(Box::new(child.stderr.take().unwrap())));
    let (began, mut most) = (Instant::now(), 0);
    let status = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak =
            status.lines().find_map(|l| l.strip_prefix("VmHWM:")).and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
        most = most.max(peak.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > Duration::from_secs(100) {
            child.kill().unwrap();
            panic!("does not end: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    (Said { code: status.code(), out: out.join().unwrap(), err: err.join().unwrap() }, most >> 10)
}

/// Memory limit, MiB.
const LIMIT: u64 = 64;

/// Runs a command under a limit of [`LIMIT`]: it must refuse its file with an error and stay within the limit.
#[track_caller]
fn refused(w: &World, words: &str) {
    let mut args = vec!["--memory-limit=64MiB"];
    args.extend(words.split_whitespace());
    let (said, most) = watched(w.command(&args));
    assert!(matches!(said.code, Some(2 | 3)), "{words}: {:?} {:.500}", said.code, said.err);
    assert!(said.err.starts_with("rtscope: error: ") && said.err.contains("try: "), "{words}: {:.500}", said.err);
    assert!(most < LIMIT + 16, "{words}: {most} MiB");
}

/// A sigrok session with the samples 00 and ff in turn.
fn session(mib: usize) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let probes: String = (1..=8).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "probe{n}=D{n}");
        text
    });
    let metadata = format!(
        "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\ntotal probes=8\nsamplerate=1 MHz\ntotal analog=0\n{probes}unitsize=1\n"
    );
    for (name, bytes) in [("version", &b"2"[..]), ("metadata", metadata.as_bytes()), ("logic-1-1", &[0u8, 0xff].repeat(mib << 19))]
    {
        zip.start_file(name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn captures_that_unpack_or_unfold_without_an_end_are_refused() {
    let w = World::new();
    let bomb = w.file("bomb.sr", session(2));
    assert!(fs::metadata(&bomb).unwrap().len() < 100_000, "it is small");
    refused(&w, "import --stimulus D1 --answer D2 bomb.sr");
    // A dump that is nothing but edges, and a row of two million cells.
    let mut vcd = String::from("$timescale 1 us $end\n$var wire 1 ! a $end\n$enddefinitions $end\n");
    (0..2_000_000).for_each(|n| writeln!(vcd, "#{n} {}!", n % 2).unwrap());
    w.file("edges.vcd", &vcd);
    refused(&w, "import --answer a edges.vcd");
    w.file("row.csv", format!("time [s],a\n0,1\n1,{}0\n", "0,".repeat(2_000_000)));
    refused(&w, "import --answer a row.csv");
}

#[test]
fn documents_that_unfold_are_refused() {
    let w = World::new();
    w.file("many.json", format!("[{}0]", "0,".repeat(3_000_000)));
    refused(&w, "import many.json");
    refused(&w, "show many.json");
}

#[test]
fn files_without_an_end_are_refused_and_samples_streamed() {
    let w = World::new();
    let sparse = fs::File::create(w.path("sparse")).unwrap();
    sparse.set_len(100 << 30).unwrap();
    fs::rename(w.path("sparse"), w.path("sparse.json")).unwrap();
    for words in [
        "import sparse.json",
        "show sparse.json",
        "compare sparse.json sparse.json",
        "import --format vcd --answer a sparse.json",
        "import --format capture-csv --answer a sparse.json",
        "import --format sigrok --answer a sparse.json",
    ] {
        refused(&w, words);
    }
    for words in ["campaign run sparse.json", "measure timer --target fake:sparse.json -t1 -l 5"] {
        let (said, most) = watched(w.command(&words.split(' ').collect::<Vec<_>>()));
        assert!(matches!(said.code, Some(2 | 3)) && most < 100, "{words}: {most} MiB, {said:?}");
    }
    fs::create_dir_all(w.path("config/rtscope")).unwrap();
    fs::rename(w.path("sparse.json"), w.path("config/rtscope/config.toml")).unwrap();
    w.line("list").ends_with(2).complains(&["config.toml", "larger than"]);
    fs::remove_file(w.path("config/rtscope/config.toml")).unwrap();

    let mut endless = w.command_of("sh");
    endless.args(["-c", &format!("cat /dev/zero | {PROGRAM} --memory-limit=256MiB import -")]);
    let (said, _) = watched(endless);
    said.ends_with(3).complains(&["larger than", "--memory-limit"]);
    // `summarize` holds nothing in memory, however long the file is.
    let samples = fs::File::create(w.path("samples")).unwrap();
    samples.set_len(64 << 20).unwrap();
    let (said, most) = watched(w.command(&["--memory-limit=64MiB", "summarize", "samples"]));
    assert!(said.ends_with(0).out.contains("samples 16777216") && most < 64, "{most} MiB");
}

#[test]
fn what_a_file_needs_is_granted() {
    let w = World::new();
    w.file("small.sr", session(1));
    let (said, most) = watched(w.command(&["import", "--stimulus", "D1", "--answer", "D2", "--no-such"]));
    assert!(said.code == Some(2) && most < 100);
    let (said, _) = watched(w.command(&["--memory-limit=64MiB", "import", "--stimulus", "D1", "--answer", "D2", "small.sr"]));
    said.ends_with(3).complains(&["limit of 64 MiB", "--memory-limit"]);
    let (said, most) = watched(w.command(&["--memory-limit=4GiB", "import", "--stimulus", "D1", "--answer", "D2", "small.sr"]));
    said.ends_with(0);
    assert!(most > 64, "{most} MiB");
    // The limit can also come from the environment.
    let mut c = w.command(&["import", "--stimulus", "D1", "--answer", "D2", "small.sr"]);
    c.env("RTSCOPE_MEMORY_LIMIT", "64MiB");
    watched(c).0.ends_with(3);
}
