//! `measure timer`: records that follow the schema, and counts that equal the grid points that passed, in every mode.

use crate::schema::{SCHEMA, holds_to_the_schema};
use crate::world::{World, adds_up, codes, copy_program, cpus, privileged};
use rtscope_record::{Policy, Test};
use serde_json::Value;
use std::fs;

#[test]
fn a_record_holds_to_the_schema_and_its_counts_to_the_grid() {
    let w = World::new();
    let said = w.line("measure timer --duration 3s --json").measured();
    assert_eq!(said.err, "", "nothing is said where there is no terminal");
    let mut value: Value = serde_json::from_str(&said.out).unwrap();
    holds_to_the_schema(&value, "");
    let schema: Value = serde_json::from_str(&fs::read_to_string(SCHEMA).unwrap()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&w.line("schema").ends_with(0).out).unwrap(), schema, "the manual has another schema");
    for d in value["distributions"].as_array().unwrap() {
        let number = |name: &str| d[name].as_u64().unwrap();
        assert!((number("count") + number("missed")).abs_diff(3000) <= 1, "{d}");
        assert_eq!(number("count") + number("missed"), number("expected"));
    }
    let record = said.record();
    assert_eq!((record.distributions().len(), record.parts().test), (cpus().len(), Test::Timer));
    adds_up(&record, |_| 3000);
    assert_eq!(w.records(), [record], "what is kept is what was printed");
    value.as_object_mut().unwrap().remove("distributions");
    holds_to_the_schema(&value, "'distributions' is a required property");
}

/// Takes a run with the options `words`; checks the number of threads and of each thread's points.
#[track_caller]
fn case(words: &str, threads: usize, points: impl Fn(usize) -> u64) -> rtscope_record::Record {
    let w = World::new();
    let record = w.line(&format!("measure timer --json --no-save {words}")).measured().record();
    assert_eq!(record.distributions().len(), threads, "{words}");
    adds_up(&record, points);
    assert!(!w.archive().exists(), "--no-save keeps nothing");
    record
}

#[test]
fn intervals() {
    let n = cpus().len();
    case("-i 200us -D 1s", n, |_| 5000);
    case("-i 100 -D 500ms", n, |_| 5000);
    case("-i 50us -D 500ms", n, |_| 10_000);
    case("-i 7ms -D 700ms", n, |_| 100);
    case("-i 300us -D 1s", n, |_| 3333);
}

#[test]
fn offsets_move_the_first_point_only() {
    let first = cpus()[0];
    let r = case(&format!("-D 1s -d 100ms -t 3 -a {first}"), 3, |i| 1000 - 100 * i as u64);
    let labels: Vec<&str> = r.distributions().iter().map(rtscope_record::Distribution::label).collect();
    assert_eq!(labels, [format!("cpu{first}"), format!("cpu{first}.1"), format!("cpu{first}.2")]);
    let at: Vec<_> = r.distributions().iter().map(|d| d.parts().thread.as_ref().unwrap().first_at.unwrap()).collect();
    assert_eq!(at, [1_000_000, 101_000_000, 201_000_000]);
}

#[test]
fn threads_may_be_more_than_cpus_and_fewer() {
    let n = cpus().len();
    case(&format!("-D 500ms -t {}", 2 * n + 1), 2 * n + 1, |_| 500);
    case("-D 500ms -t 1", 1, |_| 500);
    let last = *cpus().last().unwrap();
    let r = case(&format!("-D 500ms -a {last}"), 1, |_| 500);
    assert_eq!(r.distributions()[0].parts().thread.as_ref().unwrap().cpu, Some(last));
    assert_eq!(r.parts().settings.cpus, [last]);
    case("-D 500ms -S", n, |_| 500);
}

#[test]
fn threads_may_migrate() {
    let r = case("-D 500ms --migrate -t 3", 3, |_| 500);
    assert!(r.parts().settings.migrate && r.parts().settings.cpus.is_empty());
    assert!(r.distributions().iter().all(|d| d.parts().thread.as_ref().unwrap().cpu.is_none()));
}

#[test]
fn loops_are_samples_taken() {
    let w = World::new();
    let r = w.line("measure timer --json --loops 321 -i 1ms").measured().record();
    for d in r.distributions() {
        assert_eq!(d.count(), 321, "{}", d.label());
        assert_eq!(Some(d.count() + d.missed()), d.parts().expected);
    }
}

#[test]
fn policies() {
    for (name, policy) in [("rr", Policy::Rr), ("other", Policy::Other), ("fifo", Policy::Fifo)] {
        let w = World::new();
        let said = w.line(&format!("measure timer --json -D 300ms --policy {name} -p 40"));
        let r = if policy == Policy::Other && !privileged() { said.record() } else { said.measured().record() };
        adds_up(&r, |_| 300);
        for d in r.distributions() {
            let thread = d.parts().thread.as_ref().unwrap();
            let granted = if privileged() { policy } else { Policy::Other };
            assert_eq!(thread.policy, Some(granted));
            assert_eq!(thread.priority, if granted == Policy::Other { 0 } else { 40 });
        }
        assert_eq!(codes(&r).contains(&"policy-other"), policy == Policy::Other);
    }
}

#[test]
fn deadline() {
    let r = case("-D 300ms --policy deadline", cpus().len(), |_| 300);
    if privileged() {
        assert!(r.distributions().iter().all(|d| d.parts().thread.as_ref().unwrap().policy == Some(Policy::Deadline)));
    }
}

#[test]
fn priorities_descend_when_asked() {
    if !privileged() {
        return crate::world::skip("no right to a real-time priority");
    }
    let r = case("-D 200ms -t 3 -p 50 --priospread", 3, |_| 200);
    let priorities: Vec<u8> = r.distributions().iter().map(|d| d.parts().thread.as_ref().unwrap().priority).collect();
    assert_eq!(priorities, [50, 49, 48]);
}

#[test]
fn a_break_ends_the_run_at_the_first_latency_above() {
    let r = World::new().line("measure timer --json -D 20s -b 1us").measured().record();
    assert!(codes(&r).contains(&"broken") && r.parts().elapsed_ns < 20_000_000_000, "{:?}", codes(&r));
    assert!(r.distributions().iter().any(|d| d.max() > Some(1000)));
}

#[test]
fn both_ways_to_the_probe_measure() {
    let beside = std::path::Path::new(crate::world::PROGRAM).with_file_name("rtscope-probe");
    let w = World::new();
    let measure = ["measure", "timer", "-D", "200ms", "--json", "--no-save"];
    // Alone in a directory, the program is its own probe.
    let alone = w.path("alone");
    fs::create_dir(&alone).unwrap();
    copy_program(crate::world::PROGRAM, &alone.join("rtscope"));
    let said: crate::world::Said = w.command_of(alone.join("rtscope")).args(measure).output().unwrap().into();
    adds_up(&said.measured().record(), |_| 200);
    if beside.is_file() {
        copy_program(&beside, &w.path("a-probe"));
        let named: crate::world::Said = w.command(&measure).env("RTSCOPE_PROBE", w.path("a-probe")).output().unwrap().into();
        adds_up(&named.measured().record(), |_| 200);
        by_hand(&w);
    } else {
        crate::world::skip("rtscope-probe is not built: cargo test --workspace builds it");
    }
    let none: crate::world::Said = w.command(&measure).env("RTSCOPE_PROBE", w.path("no-such")).output().unwrap().into();
    none.ends_with(3).complains(&["the probe", "no-such", "can't be started"]);
    let garbage: crate::world::Said = w.command(&measure).env("RTSCOPE_PROBE", "/bin/echo").output().unwrap().into();
    garbage.ends_with(3).complains(&["not an event", "one version"]);
    let silent: crate::world::Said = w.command(&measure).env("RTSCOPE_PROBE", "/bin/true").output().unwrap().into();
    silent.ends_with(3).complains(&["ended without a record"]);
}

/// The probe alone, for a person: its table adds up.
fn by_hand(w: &World) {
    let said: crate::world::Said = w.command_of(w.path("a-probe")).args(["timer", "1"]).output().unwrap().into();
    let text = said.ends_with(0).out;
    let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|l| l.split_whitespace().collect()).collect();
    let rows: Vec<_> = rows.iter().take_while(|row| row.len() == 8 && (row[0].starts_with("cpu") || row[0] == "all")).collect();
    let number = |row: &[&str], at: usize| row[at].parse::<u64>().unwrap();
    for row in &rows {
        assert_eq!(number(row, 1) + number(row, 3), number(row, 2), "{text}");
    }
    assert!(!rows.is_empty() && rows.iter().all(|row| number(row, 1) > 0), "{text}");
    assert!(["VALID", "INCONCLUSIVE", "INVALID"].contains(&text.lines().last().unwrap()), "{text}");
    let said: crate::world::Said = w.command_of(w.path("a-probe")).args(["timer", "soon"]).output().unwrap().into();
    said.ends_with(2).complains(&["`soon` is not a number of seconds", "1 to 86400"]);
}

#[test]
fn raw_samples_are_all_written() {
    let w = World::new();
    let r = w.line("measure timer -D 500ms --json --raw raw.csv").measured().record();
    let text = fs::read_to_string(w.path("raw.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("thread,cycle,latency_ns"));
    let mut values: Vec<Vec<u64>> = vec![Vec::new(); r.distributions().len()];
    for line in lines {
        let fields: Vec<u64> = line.split(',').map(|f| f.parse().unwrap()).collect();
        values[usize::try_from(fields[0]).unwrap()].push(fields[2]);
    }
    if codes(&r).contains(&"samples-not-sent") {
        return crate::world::skip("this machine was too busy to pass on every raw sample, and the record says so");
    }
    for (d, values) in r.distributions().iter().zip(values) {
        assert_eq!(values.len() as u64, d.count());
        assert_eq!((values.iter().copied().min(), values.iter().copied().max()), (d.min(), d.max()));
    }
}

#[test]
fn several_loads_give_a_line_of_json_each_or_one_table() {
    let w = World::new();
    let said = w.line("measure timer -D 100ms --json --load none,none").measured();
    assert_eq!(said.out.lines().count(), 2);
    let table = w.line("measure timer -D 100ms --load none --load none").measured();
    assert_eq!(w.records().len(), 4);
    assert!(table.out.contains("mean us"), "{}", table.out);
}

#[test]
fn the_configuration_file_sets_defaults() {
    let w = World::new();
    fs::create_dir(w.path("config/rtscope")).unwrap();
    let config = "archive = \"ARCHIVE\"\n[measure]\ninterval = \"2ms\"\nduration = \"200ms\"\npriority = 12\n";
    let own = w.path("own.db");
    w.file("config/rtscope/config.toml", config.replace("ARCHIVE", own.to_str().unwrap()));
    let r = w.line("measure timer --json").measured().record();
    adds_up(&r, |_| 100);
    assert_eq!(r.parts().settings.priority, 12);
    assert!(own.exists() && !w.archive().exists());
    // Options and the environment take precedence over the configuration file.
    adds_up(&w.line("measure timer --json -i 1ms").measured().record(), |_| 200);
    let said: crate::world::Said = w.command(&["list", "--json"]).env("RTSCOPE_ARCHIVE", w.path("env.db")).output().unwrap().into();
    said.ends_with(3).complains(&["env.db", "there is no archive"]);
    assert!(!w.path("env.db").exists());
    w.file("config/rtscope/config.toml", "archve = 1\n");
    w.line("list").ends_with(2).complains(&["config.toml", "archve", "known keys"]);
}
