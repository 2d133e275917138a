//! cyclictest's options: taken, refused and read as cyclictest does.

use super::super::words::LONG;
use super::*;
use proptest::prelude::*;

fn parse(line: &str) -> Result<Options, Failure> {
    Options::parse(line.split_whitespace().map(OsString::from).collect())
}

fn settings(line: &str) -> Settings {
    parse(line).unwrap().settings(&[0, 1, 2, 3], &[0, 1, 2, 3, 4], vec![]).unwrap()
}

#[test]
fn the_field_s_command_lines_are_understood() {
    let s = settings("-l100000000 -m -Sp90 -i200 -h400 -q");
    assert_eq!((s.loops, s.mlockall, s.priority, s.interval.0), (Some(100_000_000), true, 90, 200_000));
    assert_eq!((s.cpus.len(), s.threads, s.linear_bins), (4, 4, Some((400, 1000))));
    let s = settings("--mlockall --smp --priority=80 --interval=200 --distance=0 --duration=1m");
    assert_eq!((s.duration, s.distance.0, s.policy), (Some(Nanos(60_000_000_000)), 0, Policy::Fifo));
    let s = settings("-t 2 -a 1,3 -p 95 -d 250 -D 10 -n");
    assert_eq!((s.threads, s.cpus, s.distance.0), (2, vec![1, 3], 250_000));
    let s = settings("-t -a -p99 --priospread -N -h 5000");
    assert_eq!((s.threads, s.priority_descends, s.linear_bins), (4, true, Some((5000, 1))));
    let s = settings("-t2 -a0 -b 100 -c 0");
    assert_eq!((s.policy, s.cpus, s.break_above), (Policy::Other, vec![0], Some(Nanos(100_000))));
    assert_eq!(settings("-a !0 -t").cpus, [1, 2, 3]);
}

#[test]
fn what_is_wrong_is_refused() {
    for bad in [
        "-h 0",
        "--h 10",
        "--s",
        "-D x",
        "-D -1",
        "-i x",
        "-p 100",
        "--nonsense",
        "-r",
        "-c 1",
        "-h",
        "-t x1 -Z",
        "-t0",
        "-tx",
        "-t-2",
        "-t -2",
        "-h -5",
        "-H-5",
        "-p-1",
        "-i -1000",
        "-d -100",
        "-A-50",
        "-A -50",
        "-A --secaligned",
        "-c -1",
        "-o 0",
        "-o 2",
        "-a a",
        "-a abc",
        "-a 0x",
        "-a 0,,1",
        "-a !0-4",
        "-a +4",
        "-a !all",
        "-ax",
        "-a -S",
        "-a 1 -S",
        "--priospread -p1 -t2",
    ] {
        let parsed = parse(bad).and_then(|o| o.settings(&[0], &[0, 4], vec![]));
        assert!(parsed.is_err(), "{bad}");
    }
}

#[test]
fn words_and_numbers_are_taken_as_cyclictest_takes_them() {
    let words = |words: &[&str]| Options::parse(words.iter().map(OsString::from).collect()).unwrap();
    // rteval's: an option with its argument in one word, an empty word, a mark in the trace.
    let o = words(&["-i100", "-qmu", "-h 3500", "-p95", "", "-t", "-a", "--tracemark"]);
    assert_eq!((o.histogram, o.affinity.clone(), o.threads), (Some(3500), Affinity::Allowed, Threads::PerCpu));
    assert_eq!(o.notes, ["--tracemark has no effect here"]);
    // Linaro's.
    let o = words(&["-q", "-p", "98", "-i", "1000", "-t", "2", "-a", "all", "-D", "1m", "-h", "100", "-m", "stray"]);
    assert_eq!((o.affinity.clone(), o.threads, o.histogram), (Affinity::Set("all".into()), Threads::Number(2), Some(100)));
    assert_eq!(o.notes, ["`stray` is not an option: passed over, as by cyclictest"]);
    let o = words(&["-t 2", "-p 95", "-i 200x", "-S", "-t3", "-a0", "-aall"]);
    assert_eq!((o.priority, o.interval_us, o.affinity.clone(), o.threads), (95, 200, Affinity::Allowed, Threads::PerCpu));
    assert_eq!(o.notes[0], "-i: `200x` is read as 200, as by cyclictest");
    assert_eq!(o.notes.len(), 4);
    assert!(words(&["-V"]).version && words(&["--version"]).version && !words(&["-v"]).version);
    assert_eq!((settings("--policy=fifo -t3").priority, settings("--policy=rr -p7").priority), (4, 7));
}

#[test]
fn durations_and_beginnings_of_options_are_taken_as_by_getopt() {
    for (line, seconds, notes) in [
        ("-D 5x", 5, 1),
        ("-D 1.5", 1, 1),
        ("-D 2m", 120, 0),
        ("-D 2M", 120, 0),
        ("-D 1h", 3600, 0),
        ("-D1H", 3600, 0),
        ("-D 1d", 86_400, 0),
        ("-D 1D", 86_400, 0),
        ("--dur=3", 3, 0),
        ("-D 4s", 4, 0),
        ("-D 2min", 120, 1),
        ("-D 500ms", 30_000, 1),
        ("-D 1us", 1, 1),
        ("-D 1w", 1, 1),
        ("-D +1", 1, 0),
    ] {
        assert_eq!(settings(line).duration, Some(Nanos(seconds * Nanos::PER_SEC)), "{line}");
        assert_eq!(parse(line).unwrap().notes.len(), notes, "{line}");
    }
    assert_eq!(settings("-D 0 -l 5").duration, None);
    let s = settings("--loop=7 --mlock --prior=80 --thr=2 --secaligned 100 --inter 500");
    assert_eq!((s.loops, s.mlockall, s.priority, s.threads, s.interval.0), (Some(7), true, 80, 2, 500_000));
    assert!(parse("--unbuf").is_ok() && parse("--sys").is_err_and(|e| e.message.contains("is not provided")));
    assert!(LONG.iter().all(|l| whole(l).is_ok_and(|w| w == *l)));
}

#[test]
fn policy_and_priority_are_what_cyclictest_makes_of_them() {
    let (other, fifo, rr) = (Policy::Other, Policy::Fifo, Policy::Rr);
    for (line, policy, priority, printed) in [
        ("-q", other, 0, "other/other"),
        ("--policy=OTHERS", other, 0, "other/other"),
        ("--policy=normal", other, 0, "other/other"),
        ("--policy=fif", other, 0, "other/other"),
        ("--policy=sched_fifo", other, 0, "other/other"),
        ("--policy=deadline", other, 0, "other/other"),
        ("--policy=batchx", other, 0, "batch/other"),
        ("--policy=Idle", other, 0, "idle/other"),
        ("--policy=fifox", fifo, 2, "fifo"),
        ("--policy=rrr -t3", rr, 4, "rr"),
        ("--policy=rr --policy=other", other, 0, "other/other"),
        ("-p5 --policy=other", fifo, 5, "fifo"),
        ("--policy=other -p5", fifo, 5, "fifo"),
        ("--policy=batch -p5", fifo, 5, "fifo"),
        ("-p5 --policy=idle", fifo, 5, "fifo"),
        ("-p5 --policy=rr", rr, 5, "rr"),
        ("--policy=rr -p5", rr, 5, "rr"),
        ("-p0", fifo, 2, "fifo"),
        ("--policy=other -p0", fifo, 2, "fifo"),
        ("-p0 --policy=other", other, 0, "other/other"),
        ("-p0 --policy=rr", rr, 2, "rr"),
        ("--priospread -t2", fifo, 3, "fifo"),
        ("--priospread --policy=batch", fifo, 2, "fifo"),
    ] {
        let (o, s) = (parse(line).unwrap(), settings(line));
        assert_eq!((s.policy, s.priority, o.policy_line().as_str()), (policy, priority, printed), "{line}");
    }
    assert_eq!(parse("--policy=batch").unwrap().notes, ["--policy=batch: the policy is SCHED_OTHER, as in cyclictest"]);
    assert_eq!(parse("-p5 --policy=batch").unwrap().notes, ["--policy=batch: the policy is SCHED_FIFO, as in cyclictest"]);
    assert!(parse("--policy=FIFO -p5").unwrap().notes.is_empty());
}

#[test]
fn threads_and_their_cpus_are_those_of_cyclictest() {
    for (line, threads, cpus) in [
        ("-q", 1, &[0, 1, 2, 3][..]),
        ("-a x", 1, &[0, 1, 2, 3]),
        ("-t", 4, &[0, 1, 2, 3]),
        ("-t 0", 4, &[0, 1, 2, 3]),
        ("-t 0x", 4, &[0, 1, 2, 3]),
        ("-t x", 4, &[0, 1, 2, 3]),
        ("-t-1", 4, &[0, 1, 2, 3]),
        ("-t 2x", 2, &[0, 1, 2, 3]),
        ("-S", 4, &[0, 1, 2, 3]),
        ("-S -a 1", 4, &[0, 1, 2, 3]),
        ("-t -a0", 1, &[0]),
        ("-t -a 2,0-1", 3, &[0, 1, 2]),
        ("-t2 -a 1,0,1", 2, &[0, 1]),
        ("-t -a all", 5, &[0, 1, 2, 3, 4]),
        ("-t -a +all", 4, &[0, 1, 2, 3]),
        ("-t -a !0", 3, &[1, 2, 3]),
        ("-t -a!2-3", 2, &[0, 1]),
        ("-t -a +0", 1, &[0]),
        ("-t -a+3-4", 1, &[3]),
        ("-t -a 4", 1, &[4]),
    ] {
        let s = settings(line);
        assert_eq!((s.threads, s.cpus.as_slice(), s.migrate), (threads, cpus, false), "{line}");
    }
}

#[test]
fn distances_and_starts_are_those_of_cyclictest() {
    for (line, distance, start) in [
        ("-t2", 500, 0),
        ("-t2 -d -1", 500, 0),
        ("-t2 -d 100x", 100, 0),
        ("-t2 -A 50", 500, 50),
        ("-t2 -A50 -d 200", 200, 50),
        ("-t2 -A 50x", 500, 50),
        ("-t2 -A x", 500, 0),
        ("-t2 -A 0", 500, 0),
        ("-t2 --aligned=50 -d0", 0, 50),
        ("-t2 -A -d 100", 100, 0),
        ("-t2 -h 5", 0, 0),
        ("-t2 -A 50 -h 5 -d 100", 0, 50),
    ] {
        let s = settings(line);
        assert_eq!((s.distance.0, s.start_offset.0), (distance * 1000, start * 1000), "{line}");
    }
    assert_eq!(parse("-h 5 -d 0").unwrap().notes, ["-d has no effect with a histogram"]);
    assert!(parse("-h 5 -d -1").unwrap().notes.is_empty());
}

#[test]
fn what_is_out_of_range_is_taken_as_by_cyclictest() {
    let o = parse("-h 1000001").unwrap();
    assert_eq!((o.histogram, o.notes), (Some(1_000_000), vec!["a histogram has 1000000 bins at most, as in cyclictest".into()]));
    assert!(parse("-H 1000000").unwrap().notes.is_empty());
    let s = settings("-l -1 -b -5 --latency=-1");
    assert_eq!((s.loops, s.break_above, s.hold_dma_latency), (None, None, true));
    assert_eq!(parse("-l -1 -b -5").unwrap().notes.len(), 2);
    assert!(parse("-o 2 -v").is_ok());
    assert_eq!(parse("-i -5").unwrap_err().message, "-i: -5 is negative");
}

#[test]
fn the_examples_of_the_help_text_are_understood() {
    let commands = super::super::HELP.lines().filter_map(|l| l.strip_prefix("  rtscope cyclictest "));
    let words = commands.map(|l| l.split("  ").next().unwrap_or_default().split(" >").next().unwrap_or_default());
    let found: Vec<&str> = words.collect();
    assert_eq!(found.len(), 2);
    for line in found {
        settings(line);
    }
}

#[test]
fn the_help_text_says_what_is_taken_and_what_is_not() {
    let of = |begin: &str, end: &str| -> Vec<&str> {
        let text = super::super::HELP.split_once(begin).unwrap().1.split_once(end).unwrap().0;
        text.split([' ', ',']).filter(|w| w.starts_with('-')).collect()
    };
    let not_provided = of("Not provided: ", ".\n");
    for word in &not_provided {
        assert!(parse(word).unwrap_err().message.contains(&format!("{word} is not provided")), "{word}");
    }
    let named = |name: &&str| not_provided.iter().any(|w| w.trim_start_matches('-') == *name);
    let unnamed: Vec<&str> = NOT_PROVIDED.into_iter().filter(|n| !named(n)).collect();
    assert_eq!(unnamed, ["fifo", "relative", "system", "posix_timers"], "other names of -F, -r, -s and -x");
    let taken = of("Taken, without effect: ", "words");
    assert_eq!(taken.len(), 9);
    for word in taken {
        let read = parse(&format!("{word} 1")).unwrap();
        let same = Options { notes: Vec::new(), ..read };
        assert_eq!(same, Options::default(), "{word}");
    }
}

proptest! {
    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec("-{0,2}[a-zA-Z0-9=,!.]{0,8}", 0..6)) {
        if let Ok(o) = Options::parse(words.into_iter().map(OsString::from).collect()) {
            let _ = o.settings(&[0, 1], &[0, 1, 2], vec![]);
        }
    }
}
