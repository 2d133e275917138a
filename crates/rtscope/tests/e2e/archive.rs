//! import, export, list, show, report, compare: whatever goes into the archive comes out unchanged, in every form.

use crate::world::{PROGRAM, Said, World};
use rtscope_record::system::Preemption;
use rtscope_record::{Distribution, LoadProof, Origin, Record};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../rtscope-archive/tests/fixtures"))
}

fn fixture(name: &str) -> String {
    fs::read_to_string(fixtures().join(name)).unwrap()
}

fn import(w: &World, name: &str) -> String {
    let said = w.run(&["import", fixtures().join(name).to_str().unwrap()]).ends_with(0);
    said.out.trim().to_owned()
}

/// The figures of a table and its summary: rows with a count, and comment lines with figures.
fn figures(text: &str) -> Vec<String> {
    let counts = |l: &str| l.split_whitespace().skip(1).any(|n| n.bytes().any(|b| (b'1'..=b'9').contains(&b)));
    let kept = |l: &&str| {
        if l.starts_with('#') { l.contains("Latencies") || l.contains("verflow") || l.starts_with("# Thread") } else { counts(l) }
    };
    // Dialect B leaves a blank after the colon of an empty list.
    text.lines().filter(kept).map(|l| l.trim_end().to_owned()).collect()
}

#[test]
fn every_count_of_a_table_comes_out_again_in_both_dialects() {
    for name in [
        "a24-smp.txt",
        "a24-sum-overflow.txt",
        "a26-sum-overflow.txt",
        "a24-others.txt",
        "a24-sum-one-thread.txt",
        "a24-no-cycles.txt",
    ] {
        let (w, text) = (World::new(), fixture(name));
        let id = import(&w, name);
        assert_eq!(w.line(&format!("export {id} --format cyclictest-a")).ends_with(0).out, text, "{name}");
        let other = w.line(&format!("export {id} -f cyclictest-b")).ends_with(0).out;
        assert_eq!(figures(&other), figures(&text), "{name}");
        // And back from the other dialect.
        let again = World::new();
        again.file("b.txt", &other);
        again.line("import b.txt").ends_with(0);
        assert_eq!(figures(&again.line("export latest -f cyclictest-a").ends_with(0).out), figures(&text), "{name}");
    }
    for name in ["b210-smp.txt", "b210-sum-overflow.txt", "b210-others.txt", "b210-nanoseconds.txt", "b210-sum-one-thread.txt"] {
        let (w, text) = (World::new(), fixture(name));
        let id = import(&w, name);
        assert_eq!(w.line(&format!("export {id} --format cyclictest-b")).ends_with(0).out, text, "{name}");
        assert_eq!(figures(&w.line(&format!("export {id} -f cyclictest-a")).ends_with(0).out), figures(&text), "{name}");
    }
}

#[test]
fn every_count_of_json_comes_out_again() {
    for name in ["a24.json", "a24-overflow.json", "b210-overflow.json", "a24-plain.json", "b210-plain.json"] {
        let w = World::new();
        import(&w, name);
        let own: Value = serde_json::from_str(&w.line("export latest -f cyclictest-json").ends_with(0).out).unwrap();
        let theirs: Value = serde_json::from_str(&fixture(name)).unwrap();
        for (nr, thread) in theirs["thread"].as_object().unwrap() {
            // For a thread without samples in bins, one version of cyclictest writes an empty histogram, another writes none.
            let binned = thread["histogram"].as_object().is_some_and(|h| !h.is_empty());
            for key in ["histogram", "cycles", "min", "max"].into_iter().skip(usize::from(!binned)) {
                assert_eq!(own["thread"][nr][key], thread[key], "{name}: thread {nr}: {key}");
            }
        }
    }
}

/// Of a distribution in a file: label, count, samples in no bin, and maximum in ns.
type Stated = (&'static str, u64, u64, u64);

#[test]
fn every_count_of_other_tools_is_shown() {
    let files: [(&str, &[Stated]); 8] = [
        ("jitterdebugger-a1.json", &[("thread0", 60, 3, 2_404_000)]),
        ("jitterdebugger-a1.raw", &[("thread0", 59, 0, 2_404_000)]),
        ("rtla61-osnoise.txt", &[("cpu0 noise", 400, 0, 0), ("cpu1 noise", 301, 1, 700_000)]),
        (
            "rtla61-timerlat.txt",
            &[("cpu0 irq", 1000, 0, 0), ("cpu1 irq", 998, 0, 0), ("cpu0 thread", 1002, 2, 412_000), ("cpu1 thread", 998, 0, 0)],
        ),
        ("oslat24.json", &[("cpu0", 32_838_586 + 635, 304, 8_080_000), ("cpu1", 0, 200, 12_058_000)]),
        ("stress-ng-dist.txt", &[("cyclic", 5000, 0, 603_604)]),
        (
            "hwlat.txt",
            &[
                ("cpu0 inner", 3, 0, 2_152_000),
                ("cpu1 inner", 3, 0, 16_000),
                ("cpu0 outer", 3, 0, 33_000),
                ("cpu1 outer", 3, 0, 16_000),
            ],
        ),
        ("lava-signals.txt", &[("thread0", 2, 2, 40_000), ("thread1", 2, 2, 324_000)]),
    ];
    for (name, expected) in files {
        let w = World::new();
        let ids = import(&w, &format!("tools/{name}"));
        // It ends with 4 where the record is INVALID.
        let shown = ids.lines().map(|id| w.line(&format!("show --json {id}")).out);
        let shown: Vec<Record> = shown.map(|text| serde_json::from_str(&text).unwrap()).collect();
        let found: Vec<&Distribution> = shown.iter().flat_map(Record::distributions).collect();
        assert_eq!(found.len(), expected.len(), "{name}");
        for (d, &(label, count, overflow, max)) in found.iter().zip(expected) {
            assert_eq!((d.label(), d.overflow()), (label, overflow), "{name}");
            // 0: whatever it is.
            assert!(count == 0 || d.count() == count, "{name}: {label}: {}", d.count());
            assert!(max == 0 || d.max() == Some(max), "{name}: {label}: {:?}", d.max());
            assert_eq!(d.histogram().total() + d.overflow(), d.count());
        }
        // Nothing of a file that is cut off comes into the archive.
        let other = World::new();
        let whole = fs::read(fixtures().join("tools").join(name)).unwrap();
        let cut = &whole[..whole.len() - 5];
        other.feed(&["import", "-"], cut).ends_with(3);
        assert_eq!(other.line("list --json").ends_with(0).out.trim(), "[]", "{name}");
    }
}

#[test]
fn every_fixture_goes_through_import_list_show_and_json() {
    let w = World::new();
    let mut names: Vec<String> = fs::read_dir(fixtures())
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.file_type().unwrap().is_file())
        .map(|e| e.file_name().into_string().unwrap())
        .filter(|n| n != "README.md")
        .collect();
    names.sort();
    for name in &names {
        let nsecs = name.contains("-ns") || name.contains("nanoseconds");
        let path = fixtures().join(name);
        let mut args = vec!["import", "--load", "full", "--json", path.to_str().unwrap()];
        if nsecs {
            args.push("--nsecs");
        }
        let record = w.run(&args).ends_with(0).record();
        let shown = w.line(&format!("show --json {}", record.id())).out;
        assert_eq!(serde_json::from_str::<Record>(&shown).unwrap(), record, "{name}");
        assert_eq!(record.parts().load, "full");
        // Exported and imported again: exactly the same record, except for the bounds that `show` adds.
        let other = World::new();
        let mut alone: serde_json::Value = serde_json::from_str(&shown).unwrap();
        alone.as_object_mut().unwrap().remove("intervals").expect("the bounds of its percentiles");
        let back = other.feed(&["import", "-", "--json"], shown.as_bytes()).ends_with(0).out;
        assert_eq!(serde_json::from_str::<serde_json::Value>(&back).unwrap(), alone, "{name}");
        assert_eq!(other.line("show --json").out, shown, "{name}");
        // As a file in a selection, without any archive.
        let file = other.file("r.json", &shown);
        let third = World::new();
        assert_eq!(third.run(&["show", "--json", file.to_str().unwrap()]).out, shown);
        assert!(!third.archive().exists());
    }
    let list: Vec<Value> = serde_json::from_str(&w.line("list --json").ends_with(0).out).unwrap();
    assert_eq!(list.len(), names.len());
    assert!(w.line("verify").ends_with(0).out.contains(&format!("sound, {} runs", names.len())));
    let all = w.line("show all --json").out;
    let other = World::new();
    other.feed(&["import", "-"], all.as_bytes()).ends_with(0);
    assert_eq!(other.line("show all --json").out, all, "a whole archive goes through a pipe");
}

#[test]
fn importing_again_changes_nothing() {
    let w = World::new();
    let (a, b) = (import(&w, "a24-smp.txt"), import(&w, "a24-smp.txt"));
    assert_eq!((a == b, w.records().len()), (true, 1));
}

#[test]
fn standard_input_is_a_file() {
    let w = World::new();
    let id = w.feed(&["import", "-"], fixture("b210-smp.txt").as_bytes()).ends_with(0).out;
    assert_eq!(w.line(&format!("export {} -f cyclictest-b", id.trim())).out, fixture("b210-smp.txt"));
}

#[test]
fn every_format_is_written() {
    let w = World::new();
    import(&w, "a24-smp.txt");
    for format in ["json", "cyclictest-a", "cyclictest-b", "cyclictest-json", "csv", "hdr", "hgrm"] {
        let out = w.line(&format!("export -f {format}")).ends_with(0).out;
        assert!(out.len() > 200, "{format}: {out}");
        w.line(&format!("export -f {format} -o file.{format}")).ends_with(0);
        assert_eq!(fs::read_to_string(w.path(format!("file.{format}"))).unwrap(), out, "{format}");
    }
    w.line("export -f nonsense").ends_with(2).complains(&["`nonsense` is not a format", "hgrm"]);
}

#[test]
fn selections() {
    let w = World::new();
    let ids: Vec<String> = ["a24-smp.txt", "a24-others.txt", "b210-smp.txt"].iter().map(|n| import(&w, n)).collect();
    let shown = |words: &str| -> usize { w.line(&format!("show --json {words}")).out.lines().count() };
    assert_eq!((shown("all"), shown("last=2"), shown("load=unknown"), shown("latest"), shown("")), (3, 3 - 1, 3, 1, 1));
    assert_eq!(shown(&format!("{},{}", ids[0], ids[1])), 2);
    assert_eq!(shown(&format!("{} {}", ids[0], ids[0])), 1, "the same run once");
    w.line("show load=full").ends_with(2).complains(&["no run", "load=full"]);
    w.line("show colour=red").ends_with(2).complains(&["is not a filter"]);
    w.line("show 9999").ends_with(3).complains(&["9999"]);
    w.line("show 2026").ends_with(3);
    assert_eq!(w.line("list -n 2 --json").out.matches("\"id\"").count(), 2);
    for many in ["all", "latest", "test=timer", &format!("{},{}", ids[0], ids[1]), &format!("{} all", ids[0])] {
        w.line(&format!("remove {many}")).ends_with(2).complains(&["is a selection", "name each by its id", "rtscope list"]);
    }
    let removed = w.line(&format!("remove {}", ids[2])).ends_with(0).out;
    assert_eq!((removed.trim(), w.records().len()), (ids[2].as_str(), 2));
}

/// Injected latencies of 1 to 1000 us, so that all figures are known.
#[test]
fn a_list_of_none_of_the_runs_says_so() {
    let w = World::new();
    assert_eq!(w.line("list load=full").ends_with(0).out, "no runs yet: rtscope measure timer\n");
    import(&w, "a24-plain.json");
    for (words, named) in
        [("load=fulll", "load=fulll"), ("test=timer kernel=none", "test=timer,kernel=none"), ("-n 0", "-n 0"), ("last=0", "last=0")]
    {
        let said = w.line(&format!("list {words}")).ends_with(2);
        assert_eq!(said.out, "", "{words}");
        said.complains(&[&format!("is selected by `{named}`; there is 1 run"), "rtscope list"]);
        let said = w.line(&format!("list {words} --json")).ends_with(2);
        assert_eq!(said.out, "[]\n", "{words}");
    }
    w.line("show load=fulll").ends_with(2).complains(&["is selected by `load=fulll`; there is 1 run"]);
    // The load of an import that does not say is `unknown`.
    w.line("list load=unknwon,test=timer").ends_with(2).complains(&["did you mean `load=unknown`?", "rtscope list"]);
    w.line("show test=tiemr").ends_with(2).complains(&["did you mean `test=timer`?"]);
    assert!(w.line("list test=timer").ends_with(0).out.contains("timer"));
}

fn known(w: &World, load: &str) -> Record {
    let lines: Vec<String> = (1..=1000).map(|us| (us * 1000 - 1).to_string()).collect();
    w.file("latencies", lines.join("\n"));
    let line = "measure timer -D 2s -t 1 --target fake:latencies --json --no-save";
    let mut parts = w.line(line).record().into_parts();
    // As if a real machine had taken it: the fake's warning would refuse every assertion, and the content of a fake's record would
    // call for that warning again.
    parts.warnings.clear();
    (parts.target, parts.origin) = ("local".into(), Some(Origin::Measured));
    (parts.system.limits.cap_sys_nice, parts.system.limits.cap_ipc_lock) = (true, true);
    parts.load = load.into();
    parts.load_proof = (load != "none").then(LoadProof::default);
    Record::new(parts).unwrap()
}

#[test]
fn assertions_pass_fail_and_are_refused() {
    let w = World::new();
    let record = known(&w, "none");
    w.file("r.json", serde_json::to_string(&record).unwrap());
    let show = |limit: &str| w.run(&["show", "r.json", "--assert", limit]);
    for (limit, code) in [
        ("p50<600us", 0),
        ("p50<400us", 1),
        ("max<1ms", 0),
        ("max<999us", 1),
        ("max==999999ns", 0),
        ("missed==0", 0),
        ("missed>0", 1),
        ("min>=999ns", 0),
        ("mean<1ms", 0),
        ("p99<=1ms", 0),
        ("raw p99<=1ms", 0),
        // For p99.9, 2,000 samples are too few; 2,995 are enough.
        ("p99.9<=1ms", 1),
        ("p99.999<1s", 1),
        ("p99.999<10us", 1),
        ("p50<", 2),
        ("median<1ms", 2),
        ("p50=1ms", 2),
        ("missed<1us", 2),
        ("p101<1ms", 2),
        ("raw missed==0", 2),
    ] {
        let said = show(limit).ends_with(code);
        match code {
            2 => assert!(said.err.contains("--assert") && said.out.is_empty(), "{said:?}"),
            _ => assert!(said.out.contains(limit.trim_start_matches("raw ").split(['<', '>', '=']).next().unwrap()), "{said:?}"),
        }
    }
    let both = w.run(&["show", "r.json", "--assert", "max<1ms", "--assert", "p50<1us"]);
    both.ends_with(1);
    let fake = "measure timer -D 2s --target fake:latencies --assert max<1s --assert p50<1ns";
    w.line(fake).ends_with(4);
}

#[test]
fn strict_makes_an_inconclusive_verdict_an_exit_code() {
    let w = World::new();
    // A run as an ordinary task, as asked for, is INCONCLUSIVE on every machine; without the right to lock memory it would be
    // INVALID, hence --no-mlockall.
    let words = "measure timer -D 200ms --policy other --no-mlockall --no-save";
    w.line(words).ends_with(0);
    w.line(&format!("{words} --strict")).ends_with(4);
}

#[test]
fn a_report_is_written_whole_or_not_at_all() {
    let w = World::new();
    import(&w, "a24-smp.txt");
    import(&w, "b210-smp.txt");
    let said = w.line("report all -o page.html --title A<B --svg plots").ends_with(0);
    assert_eq!(said.out.trim(), w.path("page.html").canonicalize().unwrap().to_str().unwrap(), "its path is all that is printed");
    let page = fs::read_to_string(w.path("page.html")).unwrap();
    assert!(page.starts_with("<!") && page.trim_end().ends_with("</html>") && page.contains("A&lt;B"));
    assert_eq!(fs::read_dir(w.path("plots")).unwrap().count(), 2);
    assert_eq!(w.line("report all -o - --title A<B").ends_with(0).out, page);
    w.line("report -o /dev/full").ends_with(3).complains(&["/dev/full", "No space left"]);
    w.line("report -o no/such/dir/page.html").ends_with(3).complains(&["No such file"]);
    w.line("export -f csv -o /dev/full").ends_with(3).complains(&["No space left"]);
    // If the new page can't be written, an existing page stays as it is.
    let left: Vec<_> = fs::read_dir(w.path("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|n| n.contains(".part")), "{left:?}");
}

#[test]
fn a_full_standard_output_is_an_error_and_a_closed_one_is_not() {
    let w = World::new();
    import(&w, "a24-smp.txt");
    for words in [
        "show",
        "show --json",
        "list",
        "list --json",
        "export -f csv",
        "report -o -",
        "schema",
        "loads",
        "check",
        "--help",
        "check --help",
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let args: Vec<&str> = words.split_whitespace().collect();
        let said: Said = w.command(&args).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap().into();
        said.ends_with(3).complains(&["standard output", "No space left"]);
        let script = format!("{PROGRAM} {words} 2>errors | head -1 >/dev/null; cat errors");
        let said: Said = w.command_of("sh").args(["-c", &script]).output().unwrap().into();
        assert_eq!(said.out, "", "{words}: a reader that went away is no error");
    }
}

#[test]
fn a_program_that_reads_the_output_gets_no_escapes() {
    let w = World::new();
    import(&w, "a24-smp.txt");
    import(&w, "b210-smp.txt");
    for words in ["show", "list", "check", "loads", "compare last=1 all", "report -o -", "show --assert max<1ns", "nonsense"] {
        for (name, value) in [("TERM", "xterm-256color"), ("NO_COLOR", "1"), ("COLUMNS", "60")] {
            let args: Vec<&str> = words.split_whitespace().collect();
            let said: Said = w.command(&args).env(name, value).output().unwrap().into();
            assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{words} with {name}={value}");
        }
    }
    // On a terminal the output is coloured unless NO_COLOR is set; util-linux's `script` provides a terminal.
    if !crate::world::installed("script") {
        return crate::world::skip("no `script` to make a terminal");
    }
    let on_terminal = |no_color: &str| {
        let mut c = w.command_of("script");
        c.args(["-qec", &format!("{PROGRAM} show"), "/dev/null"]).env("TERM", "xterm-256color").env("NO_COLOR", no_color);
        String::from_utf8_lossy(&c.output().unwrap().stdout).contains("\u{1b}[")
    };
    assert_eq!((on_terminal(""), on_terminal("1")), (true, false));
}

#[test]
fn runs_are_compared() {
    let w = World::new();
    let (a, b) = (known(&w, "none"), known(&w, "full"));
    let same = known(&w, "none");
    for (name, r) in [("a.json", &a), ("b.json", &b), ("same.json", &same)] {
        w.file(name, serde_json::to_string(r).unwrap());
    }
    let compare =
        |words: &str| -> Value { serde_json::from_str(&w.line(&format!("compare --json {words}")).ends_with(0).out).unwrap() };
    let rows = |c: &Value| -> BTreeMap<String, f64> {
        let rows = c["loads"][0]["rows"].as_array().unwrap();
        rows.iter().filter_map(|r| Some((r["metric"].as_str()?.to_owned(), r["ratio"].as_f64()?))).collect()
    };
    let codes = |c: &Value| -> Vec<String> {
        c["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect()
    };
    let c = compare("a.json same.json");
    assert!(rows(&c).values().all(|&r| (r - 1.0).abs() < 1e-12) && rows(&c).contains_key("p99.9"), "{c}");
    assert!(!codes(&c).contains(&"load-differs".to_owned()));
    let c = compare("a.json b.json");
    assert_eq!(c["loads"][0]["load"], "none / full");
    assert!(codes(&c).contains(&"load-differs".to_owned()), "{c}");
    let text = w.line("compare a.json b.json").ends_with(0).out;
    assert!(text.contains("none / full") && text.contains("load-differs"), "{text}");
    w.line("compare a.json none.json").ends_with(2).complains(&["none.json"]);
}

/// Stock against RT: in one selection, from the archive and from files.
#[test]
fn stock_kernels_are_compared_with_rt() {
    let w = World::new();
    for (release, rt) in [("6.12.95+deb12-amd64", false), ("6.12.95+deb12-rt-amd64", true)] {
        for load in ["none", "full"] {
            let mut p = known(&w, load).into_parts();
            p.id = format!("20261121T080000Z-{}{load}", if rt { "rt" } else { "stock" });
            p.system.kernel.release = release.into();
            p.system.kernel.preemption = if rt { Preemption::Rt } else { Preemption::Voluntary };
            if rt {
                // Half the latencies.
                let half: Vec<u64> = (1..=1000).map(|us| us * 500 - 1).collect();
                p.distributions = vec![Distribution::from_samples("cpu0", &half, 8).unwrap()];
            }
            let file = w.file(&format!("{}.json", p.id), serde_json::to_string(&Record::new(p).unwrap()).unwrap());
            w.run(&["import", file.to_str().unwrap()]).ends_with(0);
        }
    }
    let v: Value = serde_json::from_str(&w.line("compare --json all").ends_with(0).out).unwrap();
    let block = &v["blocks"][0];
    assert_eq!((&block["kernels"][0]["label"], &block["clock"]), (&"6.12.95+deb12 stock".into(), &"host".into()));
    for load in block["loads"].as_array().unwrap() {
        let max = |i: usize| load["figures"][i]["max"].as_f64().unwrap();
        assert!((load["ratios"]["max"].as_f64().unwrap() - max(0) / max(1)).abs() < 1e-12, "{load}");
        assert!((max(0), max(1)) == (999_999.0, 499_999.0), "{load}");
    }
    let text = w.line("compare all").ends_with(0).out;
    for wanted in ["Stock against RT · 6.12", "stock/RT", "1000.00", "host", "count-differs", "◂"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    w.line("report all -o page.html --svg pictures").ends_with(0);
    assert!(fs::read_to_string(w.path("page.html")).unwrap().contains("id=\"versus\""));
    assert!(fs::read_to_string(w.path("pictures/stock-vs-rt-6.12-host-full.svg")).unwrap().contains("µs of host time"));
    // A single kernel has no partner: the message says what is missing.
    w.line("compare 20261121T080000Z-rtfull")
        .ends_with(2)
        .complains(&["only 6.12.95+deb12 RT (clock", "measure the other kernel too"]);
}
