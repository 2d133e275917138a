//! Programs that call cyclictest: their command lines, and what each reads of the output, which must be the record's figures.
//!
//! `./x clients` runs the programs themselves; these are their words and their ways of reading, so that every change is held to them.

use crate::world::{Said, World, cpus, end_of, installed, privileged, probe_of, signal, skip};
use rtscope_record::{Distribution, Record};
use std::collections::BTreeMap;
use std::fs;

/// Figures by name.
type Figures = BTreeMap<String, u64>;

/// Runs a client's words; what was printed, and the record.
fn run(w: &World, words: &str) -> (Said, Record) {
    let said = w.line(&format!("cyclictest {words}")).measured();
    let record = w.records().remove(0);
    (said, record)
}

fn us(ns: u64) -> u64 {
    ns / 1000
}

/// The bins that were asked for.
fn bins(d: &Distribution) -> &[(u64, u64)] {
    &d.parts().linear.as_ref().unwrap().counts
}

/// A figure of each thread, by `NAME-THREAD`.
fn of_threads<'a>(r: &'a Record, names: &[(&str, &dyn Fn(&'a Distribution) -> u64)]) -> Figures {
    let threads = r.distributions().iter().enumerate();
    threads.flat_map(|(i, d)| names.iter().map(move |(name, of)| (format!("{name}-{i}"), of(d)))).collect()
}

fn min(d: &Distribution) -> u64 {
    us(d.min().unwrap())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a mean of some microseconds
fn avg(d: &Distribution) -> u64 {
    us(d.mean().unwrap() as u64)
}

fn max(d: &Distribution) -> u64 {
    us(d.max().unwrap())
}

fn over(d: &Distribution) -> u64 {
    d.count() - bins(d).iter().map(|b| b.1).sum::<u64>()
}

/// Numbers after the name of a line, one for each thread.
fn numbered(out: &str, start: &str) -> Vec<u64> {
    let line = out.lines().find_map(|l| l.strip_prefix(start)).unwrap_or_else(|| panic!("no `{start}`: {out}"));
    line.split_whitespace().map(|n| n.parse().unwrap()).collect()
}

/// Linaro's test-definitions in both thread modes, and with a histogram: they read the JSON.
#[test]
fn linaro_reads_the_json() {
    let all = cpus().len();
    for (threads, affinity, more) in [(1, "0", ""), (all, "all", ""), (all, "all", "-h 400 ")] {
        let w = World::new();
        let (_, record) = run(&w, &format!("-q -p 98 -i 1000 -t {threads} -a {affinity} -D 1 {more}-m --json=cyclictest.json"));
        let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(w.path("cyclictest.json")).unwrap()).unwrap();
        assert_eq!((&json["num_threads"], &json["return_code"]), (&threads.into(), &0.into()));
        assert_eq!(record.distributions().len(), threads);
        for (i, d) in record.distributions().iter().enumerate() {
            let thread = &json["thread"][i.to_string()];
            assert_eq!((&thread["min"], &thread["max"]), (&min(d).into(), &max(d).into()));
            let average = thread["avg"].as_f64().unwrap();
            assert!((average - d.mean().unwrap() / 1000.0).abs() < 0.006, "{average}");
        }
    }
}

/// Before that it read the words of the `T:` lines, and at first the fields of the last lines, as many as there are threads.
#[test]
fn linaro_read_the_lines_of_the_threads() {
    let w = World::new();
    let (said, record) = run(&w, "-q -p 98 -i 1000 -t 2 -a 0 -D 1 -m");
    let want = of_threads(&record, &[("min", &min), ("avg", &avg), ("max", &max)]);
    let mut read = Figures::new();
    for line in said.out.lines().filter(|l| l.starts_with("T:")) {
        let words: Vec<String> = line.split([' ', ':']).filter(|w| !w.is_empty()).map(str::to_lowercase).collect();
        let after = |name: &str| words[words.iter().position(|w| w == name).unwrap() + 1].parse::<u64>().unwrap();
        read.extend(["min", "avg", "max"].map(|name| (format!("{name}-{}", after("t")), after(name))));
    }
    assert_eq!(read, want, "{}", said.out);
    let w = World::new();
    let (said, record) = run(&w, "-p 99 -i 10000 -t 2 -l 20");
    let want = of_threads(&record, &[("min", &min), ("avg", &avg), ("max", &max)]);
    let mut read = Figures::new();
    for line in said.out.lines().rev().take(2) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let from_the_end = |n: usize| fields[fields.len() - 1 - n].parse().unwrap_or_else(|_| panic!("{}", said.out));
        let thread = fields[1];
        read.extend([("min", 6), ("avg", 2), ("max", 0)].map(|(name, n)| (format!("{name}-{thread}"), from_the_end(n))));
    }
    assert_eq!(read, want, "{}", said.out);
}

/// rteval adds up the rows of each CPU, takes the maxima from their line, and ends it by SIGINT; with a limit it reads what broke it.
#[test]
fn rteval_reads_rows_maxima_and_the_break() {
    let allowed = cpus();
    let list = allowed.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let (threads, affinity) = (format!("-t{}", allowed.len()), format!("-a{list}"));
    for limit in [&[][..], &["-b1", "--tracemark"]] {
        let w = World::new();
        let words = [&["cyclictest", "-i100", "-qmu", "-h 3500", "-p95", &threads, &affinity], limit].concat();
        let mut command = w.command(&words);
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        if limit.is_empty() {
            probe_of(child.id());
            signal(child.id(), libc::SIGINT);
        }
        let said = end_of(child).measured();
        let record = &w.records()[0];
        let maxima = numbered(&said.out, "# Max Latencies:");
        assert_eq!(maxima, record.distributions().iter().map(|d| d.max().map_or(0, us)).collect::<Vec<_>>());
        let rows = said.out.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
        let rows: Vec<Vec<u64>> = rows.map(|l| l.split_whitespace().map(|n| n.parse().unwrap()).collect()).collect();
        assert_eq!(rows.len(), 3500);
        for (i, d) in record.distributions().iter().enumerate() {
            let column: Vec<(u64, u64)> = rows.iter().map(|r| (r[0], r[i + 1])).filter(|r| r.1 > 0).collect();
            assert_eq!(column, bins(d), "{}", d.label());
        }
        let broke = said.out.lines().find_map(|l| l.strip_prefix("# Break value: ")).map(|n| n.trim().parse::<u64>().unwrap());
        let above =
            record.distributions().iter().flat_map(Distribution::worst).filter(|s| s.value > 1000).map(|s| (s.at, us(s.value)));
        assert_eq!(broke, above.min().map(|s| s.1).filter(|_| !limit.is_empty()));
        assert!(limit.is_empty() || broke.is_some(), "{}", said.out);
    }
}

/// checkbox starts it under a real-time priority, on CPUs 2 and 3 (here on two that there are), and wants exit code 0.
#[test]
fn checkbox_reads_maxima_and_overflows() {
    if !privileged() || !installed("chrt") {
        return skip("no right to a real-time priority, or no chrt");
    }
    let allowed = cpus();
    let affinity = format!("-a{},{}", allowed[0], allowed.last().unwrap());
    let w = World::new();
    let words = ["-t2", "-m", "-p99", "-i250", "-h700", "-q", "-D", "1"];
    let program = [crate::world::PROGRAM, "cyclictest", &affinity];
    let said: Said = w.command_of("chrt").args(["-f", "99"]).args(program).args(words).output().unwrap().into();
    let said = said.ends_with(0);
    let record = &w.records()[0];
    let threads = record.distributions();
    assert_eq!(numbered(&said.out, "# Max Latencies:"), threads.iter().map(max).collect::<Vec<_>>());
    assert_eq!(numbered(&said.out, "# Histogram Overflows:"), threads.iter().map(over).collect::<Vec<_>>());
    assert_eq!(threads.len(), 2);
    // As cyclictest does, it measures nothing where there is no such CPU.
    let beyond = w.line("cyclictest -a998-999 -t2 -m -p99 -i250 -h700 -q -D 1").ends_with(2);
    beyond.complains(&["CPU 998"]);
    assert_eq!(w.records().len(), 1);
}

/// mmtests, today and before: with a histogram the lines below it, else those of the threads.
#[test]
fn mmtests_reads_both_forms() {
    let of_lines = |out: &str| {
        let mut read = Figures::new();
        for line in out.lines().filter_map(|l| l.strip_prefix("T: ")) {
            let number = |name: &str| line.split_once(name).unwrap().1.split_whitespace().next().unwrap().parse::<u64>().unwrap();
            let thread = line.split_whitespace().next().unwrap();
            read.extend([(format!("Avg-{thread}"), number("Avg:")), (format!("Max-{thread}"), number("Max:"))]);
        }
        read
    };
    for words in
        ["--mlockall -p98 --threads -a --duration=1 --quiet", "--mlockall -p99 --threads -a -n --distance=0 --duration=1 --quiet"]
    {
        let (said, record) = run(&World::new(), words);
        assert_eq!(of_lines(&said.out), of_threads(&record, &[("Avg", &avg), ("Max", &max)]), "{}", said.out);
        assert_eq!(record.distributions().len(), cpus().len());
    }
    let (said, record) =
        run(&World::new(), "--mlockall -p98 --threads -a --mainaffinity=0 --duration=1 --histogram=500 --interval=1000 --quiet");
    let mut read = Figures::new();
    for (name, start) in [
        ("Min", "# Min Latencies: "),
        ("Avg", "# Avg Latencies: "),
        ("Max", "# Max Latencies: "),
        ("Over", "# Histogram Overflows: "),
    ] {
        read.extend(numbered(&said.out, start).into_iter().enumerate().map(|(i, n)| (format!("{name}-{i}"), n)));
    }
    assert_eq!(read, of_threads(&record, &[("Min", &min), ("Avg", &avg), ("Max", &max), ("Over", &over)]));
}
