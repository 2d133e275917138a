//! Archives and campaigns of every earlier version: today's program reads them, and finds what the program of that version found.
//!
//! `tests/fixtures/upgrade/README.md` says how they were made.

use crate::world::World;
use lzma_rust2::XzReader;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Version 2 of the schema was never written: the commit that added it added version 3 too.
const NEVER_WRITTEN: [u32; 1] = [2];

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/upgrade"))
}

/// The fixtures, by the version of the archive's schema.
fn versions() -> BTreeMap<u32, PathBuf> {
    let names = fs::read_dir(fixtures()).unwrap().map(|e| e.unwrap().path());
    names.filter_map(|p| Some((p.file_name()?.to_str()?.strip_prefix('v')?.parse().ok()?, p))).collect()
}

/// Unpacks a file that `xz` packed.
fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    XzReader::new(File::open(path).unwrap(), true).read_to_end(&mut bytes).unwrap();
    bytes
}

/// `user_version` in the header of an SQLite file.
fn schema_version(archive: &[u8]) -> u32 {
    u32::from_be_bytes(archive[60..64].try_into().unwrap())
}

/// A world with the archive and the files of a fixture.
fn world_of(fixture: &Path) -> World {
    let w = World::new();
    for dir in ["data/rtscope", "state/campaign"] {
        fs::create_dir_all(w.path(dir)).unwrap();
    }
    fs::write(w.archive(), unpacked(&fixture.join("archive.db.xz"))).unwrap();
    for (from, to) in [("", ""), ("state", "state/campaign")] {
        for entry in fs::read_dir(fixture.join(from)).unwrap().map(|e| e.unwrap()) {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), w.path(to).join(entry.file_name())).unwrap();
            }
        }
    }
    w
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

/// The values of `key` in a list of objects.
fn all<'a>(list: &'a Value, key: &str) -> BTreeSet<&'a str> {
    list.as_array().unwrap().iter().map(|v| v[key].as_str().unwrap()).collect()
}

/// The elements of a list of runs, by their ids.
fn by_id(list: Value) -> BTreeMap<String, Value> {
    let Value::Array(runs) = list else { panic!("not a list: {list}") };
    runs.into_iter().map(|r| (r["id"].as_str().unwrap().to_owned(), r)).collect()
}

/// Asserts that all that `old` says is also in `new`, which may say more.
#[track_caller]
fn still_said(old: &Value, new: &Value, at: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                still_said(value, new.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"));
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (i, (old, new)) in old.iter().zip(new).enumerate() {
                still_said(old, new, &format!("{at}[{i}]"));
            }
        }
        _ => assert_eq!(old, new, "{at}"),
    }
}

/// Rewrites what `show` adds to a record, and what has another name since. What a record itself says stays.
fn in_todays_words(mut record: Value, version: u32) -> Value {
    record.as_object_mut().unwrap().remove("intervals");
    // Records of version 1 do not say how long the points that were passed over waited, so the corrected view is an estimate
    // (docs/record.md).
    for d in record["distributions"].as_array_mut().unwrap().iter_mut().filter(|d| version == 1 && d["missed"] != 0) {
        let d = d.as_object_mut().unwrap();
        let estimate = d.remove("corrected_percentiles").unwrap();
        d.insert("hdrhistogram_rule_percentiles".into(), estimate);
    }
    record
}

/// A new version of the schema needs a fixture too.
#[test]
fn every_version_of_the_archive_has_a_fixture() {
    let w = World::new();
    w.file("latencies", "1000\n");
    w.line("measure timer -l 10 -t 1 --target fake:latencies").ends_with(4);
    let newest = schema_version(&fs::read(w.archive()).unwrap());
    let written: Vec<u32> = (1..=newest).filter(|v| !NEVER_WRITTEN.contains(v)).collect();
    let versions = versions();
    assert_eq!(versions.keys().copied().collect::<Vec<_>>(), written, "make one as {}/README.md says", fixtures().display());
    for (version, fixture) in versions {
        assert_eq!(schema_version(&unpacked(&fixture.join("archive.db.xz"))), version);
    }
}

#[test]
fn archives_of_earlier_versions_are_read() {
    for (version, fixture) in versions() {
        let w = world_of(&fixture);
        let golden = |name: &str| fs::read(fixture.join(name)).unwrap();
        let old = by_id(json(&golden("list.json")));
        let new = by_id(json(w.line("list --json").ends_with(0).out.as_bytes()));
        assert!(old.len() >= 3 && old.keys().eq(new.keys()), "v{version}: {:?}", new.keys());
        for (id, run) in &old {
            still_said(run, &new[id], &format!("v{version}: list: {id}"));
        }
        let shown = unpacked(&fixture.join("show.ndjson.xz"));
        let lines = shown.split(|&b| b == b'\n').filter(|l| !l.is_empty());
        let records: Vec<Value> = lines.map(|l| in_todays_words(json(l), version)).collect();
        assert_eq!(records.len(), old.len(), "v{version}");
        for record in &records {
            let id = record["id"].as_str().unwrap();
            // It ends with 4 where the record is INVALID.
            let said = w.line(&format!("show --json {id}")).ends_with(if record["verdict"] == "INVALID" { 4 } else { 0 });
            still_said(record, &json(said.out.as_bytes()), &format!("v{version}: show: {id}"));
            // The figures that come from the histograms, too.
            let read = said.record();
            let all = read.merged().unwrap().unwrap();
            for (key, figure) in [("count", Some(all.count())), ("min", all.min()), ("max", all.max())] {
                assert_eq!(old[id][key].as_u64(), figure, "v{version}: {id}: {key}");
            }
        }
        let said = w.line("verify").ends_with(0);
        let signed = records.iter().filter(|r| !r["signature"].is_null()).count();
        assert_eq!(signed, usize::from(version > 1), "v{version}");
        for part in [format!("sound, {} runs", old.len()), format!("{signed} of {} are signed", old.len())] {
            assert!(said.out.contains(&part), "v{version}: {}", said.out);
        }
        w.line("report all -o page.html").ends_with(0);
        let page = fs::read_to_string(w.path("page.html")).unwrap();
        assert!(old.keys().all(|id| page.contains(id.as_str())), "v{version}: a run is not in the page");
        w.line("compare target=fake:quick.txt target=local").ends_with(0);
        // Something new goes in beside what was there.
        w.line("measure timer -l 10 -t 1 --target fake:quick.txt").ends_with(4);
        assert_eq!(by_id(json(w.line("list --json").ends_with(0).out.as_bytes())).len(), old.len() + 1, "v{version}");
        w.line("verify").ends_with(0);
    }
}

#[test]
fn campaigns_of_earlier_versions_are_taken_up_again() {
    for (version, fixture) in versions() {
        let w = world_of(&fixture);
        let status = |command: &str, code| json(w.line(command).ends_with(code).out.as_bytes());
        let old = json(&fs::read(fixture.join("status.json")).unwrap());
        let new = status("campaign status plan.toml --state state/campaign --json", 0);
        let figures = |s: &Value| ["done", "failed", "to_do"].map(|key| s[key].as_u64().unwrap());
        assert_eq!((figures(&new), all(&new["runs"], "id")), (figures(&old), all(&old["runs"], "id")), "v{version}");
        assert_eq!(figures(&new), [new["runs"].as_array().unwrap().len() as u64, 0, 0], "v{version}");
        // Nothing is measured again: the journal stays as it is.
        let journal = || fs::read(w.path("state/campaign/journal.ndjson")).unwrap();
        let (before, kept) = (journal(), w.line("list --json").ends_with(0).out);
        assert_eq!(status("campaign run plan.toml --state state/campaign --json", 4), new, "v{version}");
        assert_eq!((journal(), w.line("list --json").ends_with(0).out), (before, kept), "v{version}");
    }
}
