//! Captures that are larger than the memory limit: read as streams if their channels have few edges, refused if something in them
//! has no end.

use crate::files_memory::watched;
use crate::world::{Said, World};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write as _};

/// Bytes of filler in a capture, more than the limit.
const FILLED: usize = 200 << 20;
/// Memory limit, MiB.
const LIMIT: u64 = 64;

/// Imports under a limit of [`LIMIT`], which must not be exceeded.
fn import(w: &World, words: &str) -> Said {
    let words: Vec<&str> = ["--memory-limit=64MiB", "import"].into_iter().chain(words.split_whitespace()).collect();
    let (said, most) = watched(w.command(&words));
    assert!(most <= LIMIT, "{words:?}: {most} MiB, {said:?}");
    said
}

/// Imports a sound file and checks its counts.
#[track_caller]
fn taken(w: &World, words: &str, counts: &str) {
    let said = import(w, words).ends_with(0);
    let said: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let all = said["distributions"].as_array().unwrap().iter();
    let found = all.fold(String::new(), |text, d| text + &format!("{} {} {};", d["label"].as_str().unwrap(), d["count"], d["max"]));
    assert_eq!(found, counts, "{words}");
}

/// Writes a file whose middle repeats `block`.
fn long(w: &World, name: &str, head: &str, block: &str, tail: &str) {
    let mut file = BufWriter::new(File::create(w.path(name)).unwrap());
    file.write_all(head.as_bytes()).unwrap();
    (0..FILLED.div_ceil(block.len())).for_each(|_| file.write_all(block.as_bytes()).unwrap());
    file.write_all(tail.as_bytes()).unwrap();
    file.flush().unwrap();
    assert!(fs::metadata(w.path(name)).unwrap().len() >= FILLED as u64);
}

#[test]
fn a_dump_larger_than_the_memory_is_read() {
    let w = World::new();
    let head = "$timescale 1 us $end\n$var wire 1 ! s $end\n$var wire 1 \" a $end\n$var wire 8 $ bus $end\n$var wire 4000 # wide $end\n\
        $enddefinitions $end\n#0 0! 0\"\n#10 1! #13 1\"\n";
    let block = format!("b{} #\nb10101010 $\n", "10".repeat(2000));
    long(&w, "long.vcd", head, &block, "#20 0! #25 0\" #99\n");
    taken(&w, "--json --stimulus s --answer a --timeout 9us long.vcd", "rising 1 3000;falling 1 5000;");
}

#[test]
fn a_table_larger_than_the_memory_is_read() {
    let w = World::new();
    let digits = "0".repeat(2000);
    // A column that is not asked for holds voltages, which differ from row to row.
    let block = format!("14,1,1,0.1{digits}\n14,1,1,0.2{digits}\n");
    let (head, tail) = ("time [us],s,a,v\n0,0,0,0.5\n10,1,0,1\n13,1,1,1\n", "20,0,1,0.5\n25,0,0,3\n99,0,0,3\n");
    long(&w, "long.csv", head, &block, tail);
    taken(&w, "--json --stimulus s --answer A --timeout 9us long.csv", "rising 1 3000;falling 1 5000;");
    // A channel of voltages is read twice: its threshold depends on all of its values.
    let voltage =
        "--json --stimulus s --stimulus-edges falling --answer v --answer-edges rising --threshold 2 --timeout 9us long.csv";
    taken(&w, voltage, "falling 1 4600;");
}

#[test]
fn a_session_that_unpacks_to_more_than_the_memory_is_read() {
    let w = World::new();
    let mut zip = zip::ZipWriter::new(File::create(w.path("long.sr")).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    let metadata = "[device 1]\ncapturefile=logic-1\ntotal probes=2\nsamplerate=1 MHz\ntotal analog=1\nprobe1=S\nprobe2=A\nanalog3=V\nunitsize=1\n";
    let mut part = |name: &str, bytes: &[u8], zeros: usize| {
        zip.start_file(name, options).unwrap();
        zip.write_all(bytes).unwrap();
        io::copy(&mut io::repeat(0).take(zeros as u64), &mut zip).unwrap();
    };
    part("version", b"2", 0);
    part("metadata", metadata.as_bytes(), 0);
    part("logic-1-1", &[0, 1, 1, 1, 3, 3, 3, 2, 2], FILLED / 2);
    part("logic-1-2", &[1, 3], FILLED / 2);
    let volts: Vec<u8> = [0f32, 3.0, 3.0, 0.0, 0.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    part("analog-1-3-1", &volts, FILLED / 2);
    part("analog-1-3-2", &volts, FILLED / 2);
    zip.finish().unwrap();
    assert!(fs::metadata(w.path("long.sr")).unwrap().len() < 2 << 20, "it is small");
    taken(&w, "--json --stimulus S --answer A --stimulus-edges rising --timeout 9us long.sr", "rising 2 3000;");
}

#[test]
fn a_dump_of_very_many_variables_is_read() {
    let w = World::new();
    let mut vcd = String::from("$timescale 1 us $end\n");
    (0..300_000).for_each(|n| writeln!(vcd, "$var wire 1 v{n} wire_{n} $end").unwrap());
    vcd += "$enddefinitions $end\n#0 0v0 0v7\n#5 1v0\n#7 0v0\n#9 1v0\n#11 0v0";
    w.file("wide.vcd", &vcd);
    taken(
        &w,
        "--json --answer wire_0 --semi-period 2us wide.vcd",
        "rising late 1 0;rising early 0 null;falling late 2 0;falling early 0 null;",
    );
    let said = import(&w, "wide.vcd").ends_with(2);
    assert!(said.err.contains("wire_39 and 299960 more") && said.err.len() < 2000, "{}", said.err);
}

#[test]
fn captures_without_an_end_are_refused_where_it_is_seen() {
    let w = World::new();
    let sparse = |name: &str, head: &str| {
        fs::write(w.path(name), head).unwrap();
        fs::OpenOptions::new().append(true).open(w.path(name)).unwrap().set_len(50 << 30).unwrap();
    };
    sparse("zeros", "");
    sparse("zeros.vcd", "$timescale 1 us $end\n$var wire 1 ! a $end\n$enddefinitions $end\n#1 1!\n");
    sparse("zeros.csv", "Time [s],a\n0,1\n1,0\n");
    sparse("zeros.sr", "PK\u{3}\u{4}");
    for (words, what) in [
        ("--format vcd --answer a zeros", "line 1: a word is longer than 1 MiB"),
        ("--format capture-csv --answer a zeros", "line 1: a line is longer than 1 MiB"),
        ("--format sigrok --answer a zeros", "it has no directory"),
        ("--answer a zeros.vcd", "line 5: a word is longer than 1 MiB"),
        ("--answer a zeros.csv", "line 4: a row is longer than 1 MiB"),
        ("--answer a zeros.sr", "it has no directory"),
    ] {
        import(&w, words).ends_with(3).complains(&[what, "nothing of this file was imported"]);
    }
    assert_eq!(w.line("list --json").ends_with(0).out.trim(), "[]");
}
