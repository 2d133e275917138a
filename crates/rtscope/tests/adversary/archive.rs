//! Records and archives from others: their content is shown or refused, never obeyed.

use crate::world::{PROGRAM, World, skip};
use rtscope_record::{Record, text};
use serde_json::{Map, Value, json};

/// One of every kind of character that a terminal would act on.
const HOSTILE: &str = "x\x1b[2J\x1b]0;owned\x07\r\x7f\u{9b}31m\u{202e}\u{2066}\u{200b}\u{2028}y";

/// A value of `schema` in which every string is [`HOSTILE`], where the schema allows it.
fn value_of(schema: &Value, defs: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        return value_of(&defs[name.trim_start_matches("#/$defs/")], defs);
    }
    for one_of in ["anyOf", "oneOf"] {
        if let Some(some) = schema[one_of].as_array() {
            return value_of(&some[0], defs);
        }
    }
    if let Some(constant) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return constant.clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("object") => {
            let mut map = Map::new();
            for (key, of) in schema["properties"].as_object().into_iter().flatten() {
                map.insert(key.clone(), value_of(of, defs));
            }
            if schema["additionalProperties"].is_object() {
                map.insert(HOSTILE.into(), value_of(&schema["additionalProperties"], defs));
            }
            Value::Object(map)
        }
        Some("array") if schema["items"].is_object() => json!([value_of(&schema["items"], defs)]),
        Some("array") => json!([]),
        Some("string") => HOSTILE.into(),
        Some("integer" | "number") => 7.into(),
        Some("boolean") => true.into(),
        _ => Value::Null,
    }
}

fn hostile_strings(value: &Value) -> usize {
    match value {
        Value::String(text) => usize::from(text == HOSTILE),
        Value::Array(all) => all.iter().map(hostile_strings).sum(),
        Value::Object(map) => map.iter().map(|(k, v)| usize::from(k == HOSTILE) + hostile_strings(v)).sum(),
        _ => 0,
    }
}

/// Puts the hostile value at `at` if the record's reader then still accepts the record; else tries its parts.
fn poison(record: &mut Value, at: &str, hostile: &Value) {
    let was = record.pointer(at).cloned();
    let (parent, key) = at.rsplit_once('/').unwrap();
    if let Some(map) = record.pointer_mut(parent).and_then(Value::as_object_mut) {
        map.insert(key.into(), hostile.clone());
    }
    if serde_json::from_value::<Record>(record.clone()).is_ok() {
        return;
    }
    let Some(map) = record.pointer_mut(parent).and_then(Value::as_object_mut) else { return };
    match was {
        Some(was) => map.insert(key.into(), was),
        None => map.remove(key),
    };
    for (key, of) in hostile.as_object().into_iter().flatten() {
        if record.pointer(at).is_some_and(Value::is_object) && !key.contains(['/', '~']) {
            poison(record, &format!("{at}/{key}"), of);
        }
    }
}

/// A record in which as many strings as possible are hostile.
fn hostile_record(w: &World, id: &str, test: &str) -> Value {
    let measured = w.line("measure timer --target fake:latencies --no-save --json").out;
    let mut record: Value = serde_json::from_str(&measured).unwrap();
    let schema: Value = serde_json::from_str(&w.line("schema").ends_with(0).out).unwrap();
    record["id"] = id.into();
    record["test"] = test.into();
    for follows in ["fingerprint", "origin", "signature"] {
        record.as_object_mut().unwrap().remove(follows);
    }
    let hostile = value_of(&schema, &schema["$defs"]);
    record["warnings"] = json!([{"code": HOSTILE, "effect": "invalid", "message": HOSTILE, "remedy": HOSTILE}]);
    record["verdict"] = "INVALID".into();
    record["distributions"][0]["label"] = HOSTILE.into();
    if test != "timer" {
        // Only the timer test has grid points that can be passed over.
        record["distributions"][0].as_object_mut().unwrap().remove("thread");
    }
    serde_json::from_value::<Record>(record.clone()).expect("a record to start from");
    for (key, value) in hostile.as_object().unwrap() {
        if !["schema", "id", "verdict", "warnings", "distributions", "fingerprint", "test", "started", "origin", "signature"]
            .contains(&key.as_str())
        {
            poison(&mut record, &format!("/{key}"), value);
        }
    }
    // A plausible interval, so that the record can be shown and compared.
    record["settings"]["interval"] = 1_000_000.into();
    let strings = hostile_strings(&record);
    assert!(strings > 60, "only {strings} of the record's strings are hostile");
    record
}

#[track_caller]
fn harmless(w: &World, args: &[&str]) -> i32 {
    let mut command = w.command(args);
    command.env("RTSCOPE_SSH_PATIENCE", "1s");
    let said: crate::world::Said = command.output().unwrap().into();
    for (name, out) in [("standard output", &said.out), ("standard error", &said.err)] {
        if let Some(at) = out.find(text::acts) {
            let from = out[..at].char_indices().rev().nth(80).map_or(0, |(i, _)| i);
            panic!("{name} of {args:?} drives a terminal: {:?}", out[from..].chars().take(160).collect::<String>());
        }
    }
    said.code.expect("an exit code")
}

#[test]
fn what_a_record_holds_never_drives_a_terminal() {
    let w = World::new();
    w.file("latencies", "1000\n2000\n3000\n");
    for (id, test) in [("a", "timer"), ("b", "response"), ("c", "periodic"), ("d", "sustained"), ("e", "timer")] {
        let file = w.file(&format!("{id}{HOSTILE}.json"), hostile_record(&w, id, test).to_string());
        assert!([0, 4].contains(&harmless(&w, &["import", file.to_str().unwrap()])), "{id} is imported");
        harmless(&w, &["import", "--json", file.to_str().unwrap()]);
        harmless(&w, &["show", file.to_str().unwrap()]);
    }
    let load = format!("load={HOSTILE}");
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["list", &load],
        &["show", "all"],
        &["show", "all", "--json"],
        &["show", "all", "--assert", "p50<1ns"],
        &["show", "all", "--json", "--assert", "p50<1ns"],
        &["compare", "a", "e"],
        &["compare", "a", "e", "--json"],
        &["compare", "all"],
        &["compare", "b", "c"],
        &["compare", "b", "b", "--same-runs"],
        &["compare", "test=response", "--table", "adam"],
        &["compare", "test=response", "--table", "vinh-chau", "--json"],
        &["report", "all", "-o", "-", "--title", HOSTILE],
        &["report", "all", "-o", "page.html", "--svg", HOSTILE],
        &["export", "all", "--format", "json"],
        &["verify"],
    ] {
        harmless(&w, args);
    }
    for drawn in std::fs::read_dir(w.path(HOSTILE)).unwrap() {
        let picture = std::fs::read_to_string(drawn.unwrap().path()).unwrap();
        assert!(!picture.contains(|c: char| c.is_control() && c != '\n'));
    }
    // Still, exactly the same record comes back.
    let back: Vec<Record> = w.line("show all --json").out.lines().map(|l| serde_json::from_str(l).unwrap()).collect::<Vec<_>>();
    assert!(back.iter().all(|r| r.distributions().iter().any(|d| d.label() == HOSTILE)) && back.len() == 5);
    let exported: Value = serde_json::from_str(&w.line("export a --format json").ends_with(0).out).unwrap();
    assert_eq!(exported["warnings"].as_array().unwrap().iter().filter(|f| f["code"] == HOSTILE).count(), 1);
}

#[test]
fn what_the_command_line_repeats_never_drives_a_terminal() {
    let w = World::new();
    let file = format!("{HOSTILE}.json");
    let target = format!("fake:{HOSTILE}");
    let (limit, set) = (format!("{HOSTILE}<1us"), format!("stress-ng:{HOSTILE}"));
    for args in [
        &["show", HOSTILE][..],
        &["show", &file],
        &["show", "--assert", &limit],
        &["list", HOSTILE],
        &["compare", HOSTILE, &file],
        &["report", HOSTILE],
        &["remove", HOSTILE],
        &["import", HOSTILE],
        &["import", "--format", HOSTILE, "/dev/null"],
        &["export", "--format", HOSTILE],
        &["export", "--format", "csv", "-o", HOSTILE],
        &["measure", "timer", "--load", HOSTILE],
        &["measure", "timer", "--load", &set, "--target", &target],
        &["measure", "timer", "--target", &target],
        &["measure", "timer", "--target", HOSTILE],
        &["measure", "timer", "--interval", HOSTILE],
        &["measure", HOSTILE],
        &["measure", "response", "--stimulus", HOSTILE, "--answer", HOSTILE],
        &["campaign", "run", HOSTILE],
        &["lab", "boot", HOSTILE],
        &["loads", HOSTILE],
        &["summarize", HOSTILE],
        &["cyclictest", HOSTILE, "-l", "1", "-q"],
        &["fpga", "check", HOSTILE],
        &["--archive", HOSTILE, "verify"],
        &["--archive", "/proc/x\x1b[2J", "list"],
        &[HOSTILE],
        &["--no-such-option\x1b[2J"],
    ] {
        assert_ne!(harmless(&w, args), 101, "{args:?} panics");
    }
    // The words are shown, escaped.
    assert!(w.run(&["show", "--no-such\x1b[2J"]).err.contains("\\x1b[2J"));
    // Other sources of text: the environment and the configuration.
    for (name, value) in [("RTSCOPE_CACHE", HOSTILE), ("RTSCOPE_SSH_PATIENCE", HOSTILE), ("RTSCOPE_PROBE", HOSTILE)] {
        let said: crate::world::Said =
            w.command(&["measure", "timer", "--target", "ssh:nobody"]).env(name, value).output().unwrap().into();
        assert!(!said.err.contains(text::acts), "{name}: {:?}", said.err);
    }
    std::fs::create_dir_all(w.path("config/rtscope")).unwrap();
    w.file("config/rtscope/config.toml", "\"k\\u001b[2J\\u202e\" = 1\n");
    assert_eq!(harmless(&w, &["list"]), 2);
    w.file("plan.toml", "name = \"x\x1b[2J\"\n\"k\\u001b[2J\" = 1\n");
    harmless(&w, &["campaign", "run", "plan.toml"]);
}

#[test]
fn on_a_terminal_only_the_tables_own_colours_are_obeyed() {
    if !crate::world::installed("script") {
        return skip("no `script` to make a terminal");
    }
    let w = World::new();
    w.file("latencies", "1000\n2000\n3000\n");
    let file = w.file("a.json", hostile_record(&w, "a", "timer").to_string());
    w.run(&["import", file.to_str().unwrap()]);
    for words in
        ["show all", "list", "show all --json", "compare a a", "export a --format csv", "export a --format json", "report a -o -"]
    {
        let mut c = w.command_of("script");
        c.args(["-qec", &format!("{PROGRAM} {words}"), "/dev/null"]).env("TERM", "xterm-256color");
        let mut out = String::from_utf8_lossy(&c.output().unwrap().stdout).replace("\r\n", "\n");
        assert!(!out.is_empty(), "{words}");
        for own in rtscope_report::table::PAINTS {
            out = out.replace(own, "");
        }
        assert!(
            !out.contains(text::acts),
            "{words}: {:?}",
            &out[out.find(text::acts).unwrap()..].chars().take(80).collect::<String>()
        );
    }
}

/// An archive with one record, and a connection to it that bypasses the program.
fn kept(w: &World) -> rusqlite::Connection {
    w.file("latencies", "1000\n2000\n3000\n");
    w.line("measure timer --target fake:latencies --json").record();
    rusqlite::Connection::open(w.archive()).unwrap()
}

/// Every command that reads the archive.
const READERS: [&str; 8] =
    ["list", "list --json", "show", "show all --json", "compare all", "report -o page.html", "export --format csv", "verify"];

#[test]
fn an_archive_that_could_run_something_is_refused() {
    for foreign in [
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END",
        "CREATE VIEW v AS SELECT randomblob(1000000000) FROM run",
        "ALTER TABLE run RENAME TO real; CREATE VIEW run AS SELECT * FROM real",
        "CREATE INDEX i ON run (abs(max))",
    ] {
        let w = World::new();
        kept(&w).execute_batch(foreign).unwrap();
        for words in READERS {
            w.line(words).ends_with(3).complains(&["made or changed by another program", "name another archive"]);
        }
        let kept = w.line("measure timer --target fake:latencies").ends_with(3).complains(&["the record is kept in"]);
        assert!(kept.out.contains("samples"), "{}", kept.out);
    }
}

#[test]
fn a_changed_summary_is_noticed_by_whoever_reads_it() {
    let w = World::new();
    let db = kept(&w);
    w.line("measure timer --target fake:latencies");
    db.execute("UPDATE run SET max = 1, verdict = 'VALID' WHERE key = 1", []).unwrap();
    for words in ["list", "list --json"] {
        let said = w.line(words).ends_with(3).complains(&["was changed apart from its record", "rtscope show"]);
        assert!(!said.out.contains("\"VALID\""), "{}", said.out);
        assert!(said.out.contains("fake:latencies") || said.out.contains("emulator"), "the other run is listed: {}", said.out);
    }
    for words in ["show all", "export all --format csv", "verify", "compare all all"] {
        w.line(words).ends_with(3).complains(&["was changed apart from its record"]);
    }
    let id: String = db.query_row("SELECT id FROM run WHERE key = 1", [], |r| r.get(0)).unwrap();
    assert_eq!(w.line(&format!("show {id} --json")).ends_with(4).record().id(), id, "the record itself is whole");
    w.line(&format!("remove {id}")).ends_with(0);
    w.line("verify").ends_with(0);
}

#[test]
fn reading_makes_no_archive() {
    let w = World::new();
    for words in READERS.into_iter().chain(["remove x", "show x"]) {
        let named = format!("{words} --archive nowhere/archive.db");
        w.line(&named).ends_with(3).complains(&["nowhere/archive.db: there is no archive", "--archive"]);
        let usual = w.line(words);
        if words.starts_with("list") {
            let said = usual.ends_with(0);
            assert!(said.out == "[]\n" || said.out.contains("no runs yet"), "{}", said.out);
        } else {
            usual.ends_with(3).complains(&["there is no archive"]);
        }
    }
    let empty = w.file("empty.db", "");
    w.run(&["list", "--archive", empty.to_str().unwrap()]).ends_with(3).complains(&["it is empty"]);
    assert!(!w.path("nowhere").exists() && !w.archive().exists() && !w.path("data/rtscope").exists());
    for words in ["import nothing.txt", "import damaged.txt"] {
        w.file("damaged.txt", "no record of anything\n");
        w.line(words).ends_with(3);
        assert!(!w.archive().exists(), "{words}");
    }
}

#[test]
fn what_is_no_file_is_no_archive_and_nothing_is_waited_for() {
    let w = World::new();
    drop(kept(&w));
    let fifo = |path: &std::path::Path| {
        let _ = std::fs::remove_file(path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    for (name, at) in [("fifo.db", w.path("fifo.db")), ("x", w.path("x-journal")), ("y", w.path("y-wal"))] {
        std::fs::copy(w.archive(), w.path(name)).unwrap();
        fifo(&at);
        for words in ["list", "show", "verify", "measure timer --target fake:latencies"] {
            let said = crate::world::end_of(w.start(&format!("{words} --archive {name}")));
            said.ends_with(3).complains(&["not an rtscope archive"]);
        }
    }
    for path in ["/dev/zero", "/dev/full", "."] {
        w.line(&format!("list --archive {path}")).ends_with(3).complains(&["not an rtscope archive"]);
    }
}

#[test]
fn a_record_of_no_moment_is_refused() {
    let w = World::new();
    w.file("latencies", "1000\n2000\n");
    let record: Value = serde_json::from_str(&w.line("measure timer --target fake:latencies --no-save --json").out).unwrap();
    for started in ["9999-99-99", "2026-02-30T08:00:00Z", "2026-11-21T25:00:00Z", "2026-11-21", "", HOSTILE] {
        let mut record = record.clone();
        record["started"] = started.into();
        let file = w.file("r.json", record.to_string());
        for command in ["import", "show"] {
            let said = w.run(&[command, file.to_str().unwrap()]).ends_with(3).complains(&["not a moment"]);
            assert!(!said.err.contains(text::acts));
        }
    }
    assert!(!w.archive().exists() || w.line("list --json").out == "[]\n");
}
