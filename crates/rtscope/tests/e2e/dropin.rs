//! `rtscope cyclictest` beside the real cyclictest: the same lines except for the figures, the same keys, the same end on Ctrl-C.

use crate::world::{Said, World, cpus, end_of, installed, privileged, probe_of, signal, skip};
use serde_json::Value;
use std::fs;

/// Why the two can't be compared here; `None` if they can.
fn lacking() -> Option<&'static str> {
    if !installed("cyclictest") {
        return Some("cyclictest is not installed (apt-get install rt-tests)");
    }
    (!privileged()).then_some("no right to a real-time priority")
}

/// The output with figures replaced by N and repeated lines of one kind (rows of a histogram, samples, refreshes) reduced to one.
fn shape(text: &str) -> Vec<String> {
    // Of the histogram, dialect B has the rows with a count, which may be none.
    let some_rows = !text.contains("# Total:");
    let mut lines: Vec<String> = Vec::new();
    for line in text.replace("\u{1b}[", "ESC[").lines() {
        if line.starts_with("# Missed:") || line.starts_with("# Expected:") {
            continue;
        }
        if some_rows && line.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        // The number of overflowed cycles is a figure too.
        let line = if line.starts_with("# Thread ") && !line.contains("Ids") { line.split_once(':').unwrap().0 } else { line };
        let mut kind = String::new();
        let mut in_number = false;
        for c in line.chars() {
            match c {
                '0'..='9' => {
                    if !in_number {
                        // The number of padding blanks depends on the figure's width.
                        let end = kind.trim_end_matches(' ').len();
                        kind.truncate(end);
                        kind.push('N');
                    }
                    in_number = true;
                }
                c => {
                    in_number = false;
                    kind.push(c);
                }
            }
        }
        // Whether samples overflow is a matter of luck.
        if kind.starts_with("# Thread") && !kind.contains("Ids") {
            continue;
        }
        if lines.last() != Some(&kind) && !(kind.is_empty() && lines.last().is_some_and(String::is_empty)) {
            lines.push(kind);
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// The lines from the last refresh on, for a run that is not quiet.
fn once_refreshed(lines: &[String]) -> Vec<String> {
    let last = lines.iter().rposition(|l| l.contains("policy:")).unwrap_or(0);
    let mut rest: Vec<String> = lines[last..].to_vec();
    if let Some(first) = rest.first_mut() {
        *first = first.trim_start_matches(|c| c != 'p').to_owned();
    }
    rest
}

fn real(w: &World, words: &str) -> String {
    real_words(w, &words.split_whitespace().collect::<Vec<_>>())
}

fn real_words(w: &World, words: &[&str]) -> String {
    let said: Said = w.command_of("cyclictest").args(words).output().unwrap().into();
    said.ends_with(0).out
}

fn dialect(w: &World) -> &'static str {
    if real(w, "-q -l 2 -h 3").contains("# Total:") { "" } else { "--rtscope-dialect=B " }
}

fn ours(w: &World, dialect: &str, words: &str) -> Said {
    w.line(&format!("cyclictest {dialect}{words}"))
}

#[test]
fn the_lines_are_those_of_cyclictest() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::new();
    let dialect = dialect(&w);
    for words in [
        "-q -l 50",
        "-q -l 50 -m -Sp90",
        "-q -D 1 -m -Sp90 -i200 -h400",
        "-q -l 100 -t 2 -d0 -a -p 80",
        "-q -l 100 -t 2 -a -p 80 -H 30",
        "-q -l 100 -t 2 -p 80 -N",
        "-q -l 100 -N -h 60000 -p 80",
        "-q -l 100 -h 2 -p 80",
        "-q -l 100 -t -p 80 --priospread",
        "-q --loops=40 --mlockall --smp --priority=80 --interval=500 --distance=0",
        "-q -l 5000 -t 2 -b 1 -p 80",
        "-q -l 5000 -h 20 -b 1 -p 80",
        "-q -l 40 --policy=rr -p 20",
        "-q -l 40 --laptop -p 20",
        "-v -l 20 -t 2 -p 80",
        "-v -l 20 -Sp80 -m -i 500",
        "-q -v -l 20 -p 80 -h 30",
        "-q -l 40 --policy=fifo -t 2",
        "-q -l 40 -Sp80 -t1 -a0",
        "-q -l 40 -p 80 -t 2 -a all stray",
        "-q -l 40x -p 80 -R",
        "-q -l 20 -t 2 -A 50 -p 80",
        "-q -l 20 -t 2 -d 100 -h 10 -p 80",
        "-q -l 20 -t -a 0 -p 80",
        "-q -l 20 -t 0 -a +0 -p 80",
        "-q -l 20 -t-1 -p 80",
        "-q -l 20 -p 0",
        "-q -l 20 -p 5 --policy=other",
        "-q -l 20 --policy=batch -p 5",
        "-q -l 20 --policy=normal",
        "-q -l 20 --policy=rrr -t 2",
        "-q -l 20 --priospread -t 2",
        "-q -l 5 -h 1000001 -p 80",
        "-q -l 20 --latency=-1 -p 80",
    ] {
        let (real, own) = (real(&w, words), ours(&w, dialect, words).ends_with(0));
        assert_eq!(shape(&own.out), shape(&real), "{words}\n{}\n{real}", own.out);
        if !words.contains("-v") {
            let count =
                |text: &str| text.lines().filter(|l| l.starts_with("T:") || l.starts_with(|c: char| c.is_ascii_digit())).count();
            assert!(dialect.contains('B') || count(&own.out) == count(&real), "{words}: as many rows");
            assert!(own.out.contains("# Missed:") && own.out.contains("# Expected:"), "{words}");
        }
    }
}

/// Words as rteval passes them: an argument in one word with its option, an empty word, a mark in the trace.
#[test]
fn words_that_hold_blanks_or_nothing_are_taken_as_by_cyclictest() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::new();
    let dialect = dialect(&w);
    let lists: [&[&str]; 3] = [
        &["-i100", "-qmu", "-h 3500", "-p95", "", "-t", "-a", "-b 1000000", "--tracemark", "-l200"],
        &["-i 200", "-q", "-t 2", "-a 0", "-p 95", "-l 50"],
        &["-q", "-l", " 50", "--histogram= 20", "-p80"],
    ];
    for words in lists {
        let own: Vec<&str> = std::iter::once("cyclictest").chain(dialect.split_whitespace()).chain(words.iter().copied()).collect();
        let (real, own) = (real_words(&w, words), w.run(&own).ends_with(0).out);
        assert_eq!(shape(&own), shape(&real), "{words:?}\n{own}\n{real}");
    }
    assert!(w.line("cyclictest -V").ends_with(0).out.starts_with("cyclictest V "));
}

#[test]
fn refreshed_lines_are_those_of_cyclictest() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::new();
    let dialect = dialect(&w);
    for words in
        ["-l 20 -t 2 -p 80", "-D 1 -Sp90 -m", "-l 20 -Sp80 -h 30", "-l 20", "-l 20 --policy=batch", "-l 20 -p 5 --policy=idle"]
    {
        let (real, own) = (real(&w, words), ours(&w, dialect, words).ends_with(0));
        assert_eq!(once_refreshed(&shape(&own.out)), once_refreshed(&shape(&real)), "{words}\n{}\n{real}", own.out);
    }
}

/// Policy, priority and interval of each thread, and the CPU: what is the same in every run.
#[test]
fn threads_are_set_up_as_by_cyclictest() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::new();
    let threads = |out: &str| -> Vec<String> {
        let fields = |l: &str| l.split_once(") P:").unwrap().1.split_once(" C:").unwrap().0.to_owned();
        out.lines().filter(|l| l.starts_with("T:")).map(fields).collect()
    };
    for words in [
        "-t 2",
        "-t 2 -A 50",
        "-t 2 -A50 -d 200",
        "-t 2 -d -1",
        "-p 0 -t 2",
        "-p 5 --policy=batch",
        "--policy=other -p 5",
        "--policy=idle",
        "--policy=deadline",
        "--policy=FIFOX -t 2",
        "--policy=rr --policy=xyz",
        "--priospread -t 2",
        "-p 9 --priospread -t 2",
        "-t -a 0",
        "-t 0",
        "-S -a 0",
    ] {
        let words = format!("-q -l 2 {words}");
        let (real, own) = (real(&w, &words), ours(&w, "", &words).ends_with(0).out);
        assert_eq!(threads(&own), threads(&real), "{words}\n{own}\n{real}");
    }
    let placed =
        w.records().iter().map(|r| r.distributions().iter().filter(|d| d.label().starts_with("cpu")).count()).sum::<usize>();
    assert_eq!(placed, w.records().iter().map(|r| r.distributions().len()).sum::<usize>(), "every thread is pinned");
}

/// What cyclictest refuses or answers by its help is refused, with nothing measured.
#[test]
fn what_cyclictest_does_not_measure_is_not_measured() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::new();
    for words in [
        "-t0",
        "-tx",
        "-t-2",
        "-t -2",
        "-h 0",
        "-h -5",
        "-p -1",
        "-p-1",
        "-p 100",
        "-A -50",
        "-A --secaligned",
        "-c -1",
        "-o 0",
        "-o 2",
        "-a a",
        "-a abc",
        "-ax",
        "-a 0x",
        "-a 0,,1",
        "-a 999",
        "-a +999",
        "-a !all",
        "-a 0 -S",
        "-p1 --priospread -t3",
    ] {
        let line = format!("-q -l 2 {words}");
        let real: Said = w.command_of("cyclictest").args(line.split_whitespace()).output().unwrap().into();
        assert!(!real.out.lines().any(|l| l.starts_with("T:")), "{words}: {real:?}");
        let own = ours(&w, "", &line).ends_with(2);
        assert!(own.out.is_empty() && own.err.contains("rtscope: error: "), "{words}: {own:?}");
    }
    assert!(!w.archive().exists());
}

#[test]
fn it_may_be_called_by_the_name_of_cyclictest() {
    let w = World::new();
    let link = w.path("cyclictest");
    std::os::unix::fs::symlink(crate::world::PROGRAM, &link).unwrap();
    let said: Said = w.command_of(link.to_str().unwrap()).args(["-q", "-l", "5"]).output().unwrap().into();
    // Without `-p` no priority is asked for that an ordinary user could be refused.
    assert!(said.ends_with(0).out.contains("C:      5"));
    assert_eq!(w.records().len(), 1);
}

/// At the end comment lines and those of the threads come where refreshed lines stood: nothing of these stays in sight.
#[test]
fn the_last_lines_cover_those_that_were_refreshed() {
    let w = World::new();
    let said = ours(&w, "", "-D 1 -t 2 -d 0 -i 1000").ends_with(0);
    let (_, last) = said.out.rsplit_once("policy: ").unwrap();
    let lines: Vec<&str> = last.lines().skip(2).collect();
    assert!(said.out.contains("\u{1b}[4Apolicy: ") && lines.len() == 4, "{}", said.out);
    assert!(lines[0].starts_with("# Missed: ") && lines[1].starts_with("# Expected: "), "{}", said.out);
    assert!(lines.iter().all(|l| l.len() == lines[3].len()) && lines[3].starts_with("T: 1 "), "{}", said.out);
}

/// Collects every key with its path, such as `thread.N.histogram`.
fn keys(value: &Value, at: &str, found: &mut std::collections::BTreeSet<String>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        let name = if name.bytes().all(|b| b.is_ascii_digit()) { "N" } else { name };
        let place = format!("{at}.{name}");
        keys(inner, &place, found);
        found.insert(place);
    }
}

#[test]
fn json_has_the_keys_of_cyclictest_and_the_missed() {
    if let Some(why) = lacking() {
        return skip(why);
    }
    let w = World::new();
    for words in ["-q -l 50 -t 2 -p 80 --json=OUT.json", "-q -l 50 -h 500 -Sp90 -m --json=OUT.json"] {
        real(&w, &words.replace("OUT", "real"));
        ours(&w, "", &words.replace("OUT", "own")).ends_with(0);
        let read = |name: &str| -> Value { serde_json::from_str(&fs::read_to_string(w.path(name)).unwrap()).unwrap() };
        let (real, own) = (read("real.json"), read("own.json"));
        let (mut of_real, mut of_own) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        keys(&real, "", &mut of_real);
        keys(&own, "", &mut of_own);
        let absent: Vec<_> = of_real.difference(&of_own).collect();
        assert!(absent.is_empty(), "{words}: {absent:?}");
        let mut added = vec!["missed", "expected", "overflow", "schema"];
        // Without `-h` the histogram is there and empty up to rt-tests 2.6; later ones leave it out.
        if !words.contains("-h") {
            assert_eq!(own["thread"]["0"]["histogram"], serde_json::json!({}), "{own}");
            added.push(".thread.N.histogram");
        }
        for name in of_own.difference(&of_real) {
            assert!(added.iter().any(|n| name.ends_with(n)), "{words}: {name}");
        }
        for name in ["sysname", "release", "version", "machine"] {
            assert_eq!(own["sysinfo"][name], real["sysinfo"][name]);
        }
    }
}

#[test]
fn the_plotting_script_of_osadl_finds_a_column_for_each_cpu() {
    if !privileged() {
        return skip("no right to a real-time priority");
    }
    let w = World::new();
    let said = w.line("cyclictest -l1000 -m -Sp90 -i200 -h400 -q").ends_with(0);
    w.file("output", &said.out);
    let sh = |script: &str| {
        let out: Said = w.command_of("sh").args(["-c", script]).output().unwrap().into();
        out.ends_with(0).out
    };
    let max = sh(r#"grep "Max Latencies" output | tr " " "\n" | sort -n | tail -1 | sed s/^0*//"#);
    let record = &w.records()[0];
    let highest = record.distributions().iter().map(|d| d.max().unwrap() / 1000).max().unwrap();
    assert_eq!(max.trim(), highest.to_string());
    sh(r#"grep -v -e "^#" -e "^$" output | tr " " "\t" >histogram"#);
    for (i, d) in record.distributions().iter().enumerate() {
        let column = sh(&format!("cut -f1,{} histogram", i + 2));
        let rows: Vec<Vec<u64>> = column.lines().map(|l| l.split('\t').map(|f| f.parse().unwrap()).collect()).collect();
        assert_eq!(rows.len(), 400, "every bin is a row");
        let in_bins: u64 = rows.iter().map(|r| r[1]).sum();
        assert_eq!(in_bins, d.parts().linear.as_ref().unwrap().total(), "{}", d.label());
        assert!(in_bins <= 1000 && d.count() == 1000);
    }
    let columns = sh("head -1 histogram | wc -w");
    assert_eq!(columns.trim(), (cpus().len() + 1).to_string());
}

#[test]
fn ctrl_c_ends_it_with_results() {
    let w = World::new();
    for ending in [libc::SIGINT, libc::SIGTERM] {
        let child = w.start("cyclictest -q -Sp90 -m -h 100");
        probe_of(child.id());
        std::thread::sleep(std::time::Duration::from_millis(300));
        signal(child.id(), ending);
        let said = end_of(child).measured();
        assert!(said.out.contains("# Max Latencies:") && said.out.contains("# Missed:"), "{said:?}");
    }
    let records = w.records();
    assert_eq!(records.len(), 2);
    for r in &records {
        assert!(r.parts().interrupted && r.distributions().iter().all(|d| d.count() > 0));
    }
}

#[test]
fn the_histogram_goes_to_its_file() {
    if !privileged() {
        return skip("no right to a real-time priority");
    }
    let w = World::new();
    let said = w.line("cyclictest -q -l 30 -Sp90 -h 20 --histfile=h.txt").ends_with(0);
    assert!(!said.out.contains("# Histogram"), "{}", said.out);
    assert!(fs::read_to_string(w.path("h.txt")).unwrap().contains("# Total:"));
    let samples = w.line("cyclictest -v -q -l 30 -p90 -h 20 --histfile=samples.txt").ends_with(0).out;
    assert!(!samples.contains("# Histogram") && samples.contains("       0:      29:"), "{samples}");
    assert!(fs::read_to_string(w.path("samples.txt")).unwrap().contains("# Total:"));
}

#[test]
fn what_is_wrong_with_the_options_is_told() {
    let w = World::new();
    for (words, part) in [
        ("-i x", "is not a number"),
        ("-p 100", "is not 0 to 99"),
        ("--nonsense", "nonsense"),
        ("-a 999 -l 1 -q", "CPU 999"),
        ("-i 0 -l 1 -q", "interval"),
        ("-s", "is not provided"),
        ("-i -5 -l 1 -q", "-i: -5 is negative"),
        ("-d -5 -l 1 -q", "-d: -5 is negative"),
        ("-D -1 -q", "-D: -1 is negative"),
    ] {
        ours(&w, "", words).ends_with(2).complains(&["rtscope: error: ", part]);
    }
    assert!(ours(&w, "", "--help").ends_with(0).out.contains("Usage: rtscope cyclictest"));
}
