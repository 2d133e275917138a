//! The archive: every record comes back as it was, and no damage to the file loses one silently.

use super::*;
use proptest::prelude::*;
use rtscope_record::{Clock, Distribution, Effect, LoadProcess, LoadProof, RecordParts, System, Warning, fixtures};
use rusqlite::Connection;
use sha2::Digest as _;
use std::fs;
use std::path::Path;

fn record(id: &str, started: &str, load: &str, samples: &[u64]) -> Record {
    let half = samples.len() / 2;
    let mut first = Distribution::from_samples("cpu0", &samples[..half], 4).unwrap().into_parts();
    first.missed = 3;
    first.expected = Some(first.count + 3);
    let mut system = System::default();
    system.kernel.release = "6.12.1-rt".into();
    // Could mislead the search for a histogram's position.
    system.tools.insert("histogram".into(), String::new());
    Record::new(RecordParts {
        id: id.into(),
        started: started.into(),
        elapsed_ns: 1,
        load: load.into(),
        warnings: vec![Warning::new("governor", Effect::Inconclusive, "m \"quoted\" \u{1f980}", "r")],
        system,
        load_proof: Some(LoadProof::default()),
        distributions: vec![
            Distribution::new(first).unwrap(),
            Distribution::from_samples("cpu1", &samples[half..], 4).unwrap(),
            Distribution::from_samples("cpu2", &[], 4).unwrap(),
        ],
        ..fixtures::parts()
    })
    .unwrap()
}

pub(super) fn numbered(i: u64) -> Record {
    let samples: Vec<u64> = (0..60).map(|k| (k * 7919 + i * 104_729) % 300_000).collect();
    record(&format!("20261121T08{:02}{:02}Z-{i:06x}", i / 60 % 60, i % 60), "2026-11-21T08:00:00Z", "none", &samples)
}

pub(super) fn archive() -> (tempfile::TempDir, Archive) {
    let dir = tempfile::tempdir().unwrap();
    let archive = Archive::open(&dir.path().join("deep/er/archive.db")).unwrap();
    (dir, archive)
}

fn text(r: &Record) -> String {
    serde_json::to_string(r).unwrap()
}

#[test]
fn a_record_comes_back_bit_for_bit() {
    let (_dir, mut a) = archive();
    let r = numbered(1);
    assert_eq!(a.insert(&r).unwrap(), Inserted::New);
    let path = a.path().to_path_buf();
    drop(a);
    let a = Archive::open(&path).unwrap();
    let back = a.get(r.id()).unwrap();
    assert_eq!(back, r);
    assert_eq!(text(&back), text(&r));
    assert_eq!(a.check().unwrap().runs, 1);
}

#[test]
fn the_same_id_twice() {
    let (_dir, mut a) = archive();
    let r = numbered(1);
    a.insert(&r).unwrap();
    assert_eq!(a.insert(&r).unwrap(), Inserted::Identical);
    let mut other = r.clone().into_parts();
    other.load = "disk".into();
    let other = Record::new(other).unwrap();
    assert!(matches!(a.insert(&other), Err(ArchiveError::AlreadyThere(id)) if id == r.id()));
    assert_eq!(a.get(r.id()).unwrap(), r);
}

#[test]
fn ids_may_be_shortened_as_long_as_they_are_clear() {
    let (_dir, mut a) = archive();
    assert!(matches!(a.latest(), Err(ArchiveError::Empty)));
    for id in ["aa-1", "aa-12", "b%_"] {
        let id = id.replace(['%', '_'], "x");
        a.insert(&record(&id, "2026-11-21T08:00:00Z", "none", &[1, 2])).unwrap();
    }
    assert_eq!(a.get("b").unwrap().id(), "bxx");
    assert_eq!(a.get("aa-1").unwrap().id(), "aa-1", "a whole id wins over being the beginning of another");
    for (asked, how_many) in [("aa", 2), ("a", 2), ("", 3)] {
        assert!(matches!(a.get(asked), Err(ArchiveError::Ambiguous { count, .. }) if count == how_many), "{asked}");
    }
    for asked in ["A", "%", "b_", "aa-2", "aa-123"] {
        assert!(matches!(a.get(asked), Err(ArchiveError::NotFound(_))), "{asked}");
    }
    assert_eq!(a.remove("b").unwrap(), "bxx");
    assert!(matches!(a.remove("b"), Err(ArchiveError::NotFound(_))));
    assert_eq!(a.check().unwrap().runs, 2);
}

#[test]
fn the_runs_of_a_campaign_are_found_by_its_name() {
    let (_dir, mut a) = archive();
    for id in ["night-0123456789abcdef", "night-1123456789abcdef", "night-2-0123456789abcdef", "night", "20261121T080000Z-abcdef"] {
        a.insert(&record(id, "2026-11-21T08:00:00Z", "none", &[1, 2])).unwrap();
    }
    let count = |name: &str| a.list(&Filter { campaign: Some(name.into()), ..Filter::default() }).unwrap().len();
    for (name, runs) in [("night", 2), ("night-2", 1), ("nigh", 0), ("n*", 0), ("", 0), ("20261", 0)] {
        assert_eq!(count(name), runs, "{name}");
    }
}

#[test]
fn listings() {
    let (_dir, mut a) = archive();
    // `T08:00:00.5Z` sorts before `T08:00:00Z` as text, but not in time.
    let times = ["2026-11-21T08:00:00Z", "2026-11-21T08:00:00.5Z", "2026-11-20T23:59:59Z", "9998-01-01T00:00:00Z"];
    for (i, (started, load)) in times.iter().zip(["none", "disk", "none", "full"]).enumerate() {
        a.insert(&record(&format!("r{i}"), started, load, &(0..2_000).map(|v| v * 10).collect::<Vec<_>>())).unwrap();
    }
    let ids = |f: &Filter| a.list(f).unwrap().into_iter().map(|s| s.id).collect::<Vec<_>>();
    let at = |t: &str| Some(t.parse::<jiff::Timestamp>().unwrap().into());
    assert_eq!(ids(&Filter::default()), ["r1", "r0", "r2", "r3"]);
    assert_eq!(ids(&Filter { load: Some("none".into()), ..Filter::default() }), ["r0", "r2"]);
    assert_eq!(ids(&Filter { limit: Some(1), ..Filter::default() }), ["r1"]);
    assert_eq!(ids(&Filter { since: at("2026-11-21T00:00:00Z"), until: at(times[1]), ..Filter::default() }), ["r0"]);
    assert_eq!(ids(&Filter { kernel: Some("6.12".into()), test: Some("timer".into()), ..Filter::default() }).len(), 4);
    assert_eq!(ids(&Filter { kernel: Some("6.1%".into()), ..Filter::default() }).len(), 0);
    assert_eq!(ids(&Filter { target: Some("ssh".into()), ..Filter::default() }).len(), 0);
    assert_eq!(a.latest().unwrap().id(), "r1");
    let s = &a.list(&Filter::default()).unwrap()[0];
    let merged = a.get("r1").unwrap().merged().unwrap().unwrap();
    assert_eq!((s.count, s.missed, s.min, s.max), (2_000, 3, Some(0), Some(19_990)));
    assert_eq!((s.mean, s.stddev), (merged.mean(), merged.stddev()));
    assert_eq!(s.p99_9, merged.value_at("p99.9".parse().unwrap()));
    assert_eq!(s.p99_99, None, "2000 samples do not support it");
}

#[test]
fn what_could_not_be_read_again_is_refused() {
    let (_dir, mut a) = archive();
    let mut p = numbered(1).into_parts();
    let achieved = [("speed".to_owned(), f64::NAN)].into();
    p.load_proof = Some(LoadProof { processes: vec![LoadProcess { achieved, ..LoadProcess::default() }], ..LoadProof::default() });
    let nan = Record::new(p).unwrap();
    assert!(matches!(a.insert(&nan), Err(ArchiveError::Unrepresentable { .. })));
    let mut p = numbered(2).into_parts();
    p.distributions = vec![Distribution::from_samples("x", &[u64::MAX], 0).unwrap()];
    assert!(matches!(a.insert(&Record::new(p).unwrap()), Err(ArchiveError::Unrepresentable { .. })));
    assert_eq!(a.check().unwrap().runs, 0, "nothing of them is left behind");
}

#[test]
fn many_at_once() {
    let (_dir, mut a) = archive();
    let many: Vec<Record> = (0..BATCH as u64 + 10).map(numbered).collect();
    assert_eq!(a.insert_many(&many[..5]).unwrap(), 5);
    assert_eq!(a.insert_many(&many).unwrap(), many.len() as u64 - 5);
    assert_eq!(a.check().unwrap().runs, many.len() as u64);
    assert_eq!(a.get(many[300 % many.len()].id()).unwrap(), many[300 % many.len()]);
}

#[test]
fn foreign_files_are_refused_and_left_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let notes = dir.path().join("notes.txt");
    fs::write(&notes, "these are my notes, they are long enough to be mistaken for a database\n".repeat(30)).unwrap();
    let sqlite = dir.path().join("other.db");
    Connection::open(&sqlite).unwrap().execute_batch("CREATE TABLE photos (a); INSERT INTO photos VALUES (1)").unwrap();
    for path in [&notes, &sqlite] {
        let before = fs::read(path).unwrap();
        assert!(matches!(Archive::open(path), Err(ArchiveError::NotAnArchive { .. })), "{}", path.display());
        assert_eq!(fs::read(path).unwrap(), before);
    }
    assert!(matches!(Archive::open(dir.path()), Err(ArchiveError::NotAnArchive { .. })));
    assert!(Archive::open(&notes.join("sub.db")).is_err(), "a file where a directory should be");
}

#[test]
fn a_newer_archive_is_refused() {
    let (_dir, a) = archive();
    let path = a.path().to_path_buf();
    a.db.pragma_update(None, "user_version", schema::newest() + 1).unwrap();
    drop(a);
    let error = Archive::open(&path).unwrap_err();
    assert!(matches!(error, ArchiveError::NewerSchema { found, known, .. } if found == known + 1), "{error}");
}

/// An archive from before records knew their origin: a record that was VALID there but is not a measurement of a machine
/// loses that verdict.
#[test]
fn an_older_archive_learns_where_its_records_came_from() {
    let (_dir, mut a) = archive();
    let clean = |id: &str| RecordParts {
        warnings: Vec::new(),
        distributions: Vec::new(),
        ..record(id, "2026-11-21T08:00:00Z", "none", &[]).into_parts()
    };
    let lab = Some(rtscope_record::Lab::default());
    let source = rtscope_record::Source { format: "f".into(), file: "f".into(), sha256: String::new(), kept: Vec::new() };
    let what = "the FPGA instrument, emulator, at /dev/pts/1, resolution 5.05 ns".into();
    let instrument = Some(rtscope_record::InstrumentFacts { what, ..Default::default() });
    for parts in [
        clean("m"),
        RecordParts { lab, clock: Clock::Virtual, target: "lab:k".into(), ..clean("l") },
        RecordParts { source: Some(source), ..clean("i") },
        RecordParts { instrument, ..clean("e") },
        RecordParts { target: "fake:f".into(), ..clean("f") },
    ] {
        let r = Record::new(parts).unwrap();
        a.insert(&r).unwrap();
        // As that version wrote it.
        let old = text(&r).replace(&format!("\"verdict\":\"{}\"", r.verdict()), "\"verdict\":\"VALID\"");
        let sha256: [u8; 32] = sha2::Sha256::digest(old.as_bytes()).into();
        a.db.execute("UPDATE run SET json = ?1, sha256 = ?2, verdict = 'VALID' WHERE id = ?3", (&old, &sha256[..], r.id()))
            .unwrap();
    }
    a.db.execute_batch("DROP TABLE trace; DROP TABLE explanation; ALTER TABLE run DROP COLUMN interval; ALTER TABLE run DROP COLUMN columns_sha256; ALTER TABLE run DROP COLUMN origin; PRAGMA user_version = 1")
        .unwrap();
    let path = a.path().to_path_buf();
    drop(a);
    let mut a = Archive::open(&path).unwrap();
    assert_eq!(a.check().unwrap().runs, 5);
    let found = a.list(&Filter::default()).unwrap();
    let found: std::collections::BTreeMap<&str, (&str, &str)> =
        found.iter().map(|s| (s.id.as_str(), (s.origin.as_str(), s.verdict.as_str()))).collect();
    let no = "INCONCLUSIVE";
    let expected = [
        ("m", ("measured", "VALID")),
        ("l", ("lab", "REPEATABLE")),
        ("i", ("imported", no)),
        ("e", ("emulator", no)),
        ("f", ("emulator", no)),
    ];
    assert_eq!(found, expected.into());
    // The migrated record, read by this version and inserted again, is identical.
    let r = a.get("l").unwrap();
    assert_eq!(a.insert(&r).unwrap(), Inserted::Identical);
}

#[test]
fn damage_is_found_on_opening_or_on_reading_and_never_passes() {
    let (dir, mut a) = archive();
    let many: Vec<Record> = (0..200).map(numbered).collect();
    a.insert_many(&many).unwrap();
    let path = a.path().to_path_buf();
    drop(a); // closing the last connection writes the log back into the file
    let good = fs::read(&path).unwrap();
    let copy = dir.path().join("copy.db");
    let mut refused = 0;
    for at in (100..good.len() - 64).step_by(good.len() / 60) {
        let mut bad = good.clone();
        for b in &mut bad[at..at + 64] {
            *b = !*b;
        }
        refused += u32::from(survey(&copy, &bad, &many));
    }
    assert!(refused > 30, "64 inverted bytes were noticed in {refused} of 60 places");
    for keep in [0, 1, 100, 4096, good.len() / 2, good.len() - 1] {
        let noticed = survey(&copy, &good[..keep], &many);
        assert!(noticed, "cut at {keep}");
    }
}

/// Whether opening, checking or reading `bytes` as an archive reports a fault. Records that are read must be those that
/// were inserted; without a fault (the changed bytes were unused) the listing must be right as well.
fn survey(path: &Path, bytes: &[u8], many: &[Record]) -> bool {
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(holders::with_suffix(path, suffix));
    }
    fs::write(path, bytes).unwrap();
    let a = match Archive::open(path) {
        Ok(a) => a,
        // `ForeignSchema` where the text of the schema is damaged.
        Err(
            ArchiveError::Corrupt { .. }
            | ArchiveError::NotAnArchive { .. }
            | ArchiveError::NewerSchema { .. }
            | ArchiveError::ForeignSchema { .. },
        ) => return true,
        Err(e) => panic!("unclear error: {e}"),
    };
    let mut noticed = a.check().is_err();
    for r in many {
        match a.get(r.id()) {
            Ok(back) => assert_eq!(back, *r),
            Err(_) => noticed = true,
        }
    }
    if !noticed {
        let mut listed = a.list(&Filter::default()).unwrap();
        listed.sort_by(|a, b| a.id.cmp(&b.id));
        assert!(listed.iter().cloned().eq(many.iter().map(|r| RunSummary::of(r).unwrap())) || bytes.is_empty());
    }
    noticed
}

/// Many that are short, or a few of any length: what the rule of the corrected view puts back for one of years is long.
fn values() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![prop::collection::vec(0u64..1 << 24, 0..80), prop::collection::vec(0u64..1 << 58, 0..8)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_record_comes_back(values in values(), load in "\\PC{0,12}", nr in 0u32..9999) {
        let (_dir, mut a) = archive();
        let r = record(&format!("x-{nr}"), "2026-11-21T08:00:00Z", &load, &values);
        a.insert(&r).unwrap();
        prop_assert_eq!(text(&a.get("x").unwrap()), text(&r));
        prop_assert_eq!(a.list(&Filter { load: Some(load), ..Filter::default() }).unwrap().len(), 1);
    }

    #[test]
    fn any_file_is_opened_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..3000), header: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let head: &[u8] = if header { b"SQLite format 3\0" } else { b"" };
        fs::write(&path, [head, &bytes].concat()).unwrap();
        let _ = Archive::open(&path);
    }

    #[test]
    fn any_spilled_file_is_taken_in_or_left(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let (dir, mut a) = archive();
        fs::write(dir.path().join("x.json"), &bytes).unwrap();
        let absorbed = a.absorb_spilled(dir.path()).unwrap();
        prop_assert_eq!(absorbed.left.len(), 1);
        prop_assert!(dir.path().join("x.json").exists());
    }
}
