//! Things that pose as a measurement of a machine: a forged record, an emulator, an invented capture.

use crate::world::{World, codes};
use rtscope_record::{Distribution, Origin, Record, RecordParts, Verdict};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

/// Verdict and origin of a record as the program prints it.
fn judged(json: &str) -> (String, String) {
    let record: Value = serde_json::from_str(json.trim()).unwrap_or_else(|e| panic!("{e}: {json}"));
    let of = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    (of("verdict"), of("origin"))
}

/// A clean capture that anyone could write in a text editor: forty pulses, each answered after 20 us.
#[test]
fn a_capture_that_anyone_could_write_is_no_measurement() {
    let w = World::new();
    let mut dump =
        "$timescale 1 ns $end\n$var wire 1 ! s $end\n$var wire 1 \" a $end\n$enddefinitions $end\n#0\n0!\n0\"\n".to_owned();
    for i in 1..=80u64 {
        let level = i % 2;
        dump += &format!("#{}\n{level}!\n#{}\n{level}\"\n", i * 1_000_000, i * 1_000_000 + 20_000);
    }
    dump += "#90000000\n";
    w.file("clean.vcd", dump);
    let said = w.line("import clean.vcd --stimulus s --answer a --load none --json").ends_with(0);
    assert_eq!(judged(&said.out), ("INCONCLUSIVE".into(), "imported".into()));
    assert!(said.out.contains("machine-unknown"));
    let list = w.line("list").ends_with(0).out;
    assert!(list.contains("INCONCLUSIVE") && list.contains("host, imported"), "{list}");
    assert!(w.line("show").ends_with(0).out.contains("INCONCLUSIVE · imported"));
}

/// The gateware's emulator, with its pseudo-terminal under another name.
#[test]
fn an_emulator_is_no_board() {
    let Some(program) = std::env::var_os("RTSCOPE_EMULATOR") else {
        return crate::world::skip("the FPGA instrument's emulator is not named (RTSCOPE_EMULATOR): ./x test builds it");
    };
    let w = World::new();
    let link = w.path("ttyUSB0");
    let mut emulator = std::process::Command::new(program)
        .args(["--answer", "constant:20us", "--link"])
        .arg(&link)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !link.exists() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let words = format!("measure response --answer fpga:{} -i 1ms -l 200 --json", link.display());
    let said = w.line(&words);
    let _ = emulator.kill();
    let _ = emulator.wait();
    let (verdict, origin) = judged(&said.out);
    assert_eq!(origin, "emulator", "{said:?}");
    assert_ne!(verdict, "VALID");
    assert!(said.out.contains("\"code\":\"emulator\"") && said.out.contains("\"emulated\":true"));
    assert!(w.line("list").ends_with(0).out.contains(", emulator"));
}

/// A short run on this machine.
const RUN: &str = "measure timer -D 200ms -a 0 --json";

fn measured(w: &World, more: &str) -> Record {
    let said = w.line(&format!("{RUN} {more}"));
    assert!(matches!(said.code, Some(0 | 4)), "{said:?}");
    said.record()
}

/// The record that `import` makes of `text` in a new archive, which must equal what `show` makes of the file without importing
/// it.
fn imported(w: &World, text: &str) -> Record {
    w.file("given.json", text);
    let shown = w.line("show given.json --json");
    let invalid = shown.record().verdict() == Verdict::Invalid;
    let shown = shown.ends_with(if invalid { 4 } else { 0 }).record();
    let said = w.line("import given.json --json").ends_with(0);
    assert_eq!(said.record(), shown, "a file is worth no more than what is imported from it");
    shown
}

fn text(parts: RecordParts) -> String {
    serde_json::to_string(&Record::new(parts).unwrap()).unwrap()
}

/// The warnings are removed, which makes the verdict VALID.
#[test]
fn a_record_without_its_warnings_gets_them_back() {
    let (w, other) = (World::new(), World::new());
    let run = measured(&w, "--policy other --no-mlockall");
    let bare = text(RecordParts { warnings: Vec::new(), ..run.clone().into_parts() });
    assert_eq!(judged(&bare), ("VALID".into(), "measured".into()), "the forgery is well made");
    let forged = imported(&other, &bare);
    assert_eq!((forged.origin(), forged.verdict() >= Verdict::Inconclusive), (Origin::Imported, true));
    for code in ["policy-other", "memory-not-locked-by-request", "warnings-missing", "imported"] {
        assert!(codes(&forged).contains(&code), "{code}: {:?}", codes(&forged));
    }
    // All warnings that follow from the snapshot of the machine are put back.
    let machine = rtscope_record::findings::again::of_record(run.parts());
    assert!(machine.iter().all(|w| codes(&forged).contains(&w.code.as_str())));
    // Changing the stated origin does not help: neither removing it nor claiming the lab's.
    let nameless = bare.replace("\"origin\":\"measured\",", "");
    assert_eq!(imported(&World::new(), &nameless).origin(), Origin::Imported);
    let lab = World::new();
    lab.file("lab.json", bare.replace("\"origin\":\"measured\"", "\"origin\":\"lab\""));
    lab.line("import lab.json").ends_with(3).complains(&["origin lab", "nothing of this file was imported"]);
    // A forgery without any snapshot of a machine.
    let system = rtscope_record::System::default();
    let empty = text(RecordParts { warnings: Vec::new(), system, ..run.into_parts() });
    assert!(imported(&World::new(), &empty).verdict() >= Verdict::Inconclusive);
}

#[test]
fn a_raised_verdict_is_refused() {
    let w = World::new();
    let run = measured(&w, "--policy other --no-save");
    let json = serde_json::to_string(&run).unwrap();
    for verdict in ["VALID", "REPEATABLE", "FINE"] {
        w.file(
            "raised.json",
            json.replacen(&format!("\"verdict\":\"{}\"", run.verdict()), &format!("\"verdict\":\"{verdict}\""), 1),
        );
        w.line("import raised.json").ends_with(3).complains(&[verdict, "nothing of this file was imported"]);
        w.line("show raised.json").ends_with(3);
    }
}

/// An honest record that goes from one archive to another: no warning has to be put back, and in its own archive it stays
/// unchanged.
#[test]
fn an_honest_record_loses_nothing_but_its_origin() {
    let (w, other) = (World::new(), World::new());
    for more in ["", "--policy other", "-t 2 --distance 100", "--load calculation"] {
        let run = measured(&w, more);
        let there = imported(&other, &serde_json::to_string(&run).unwrap());
        assert!(!codes(&there).contains(&"warnings-missing"), "{more}: {:?}", codes(&there));
        assert_eq!(there.origin(), Origin::Imported);
        assert_eq!(imported(&w, &serde_json::to_string(&run).unwrap()), run, "it is in this archive, bit for bit");
    }
}

/// Two people: one measures and signs; the other trusts her, or does not.
#[test]
fn a_signature_is_believed_from_whom_one_trusts_and_for_what_was_signed() {
    let (alice, bob) = (World::new(), World::new());
    alice.line(&format!("{RUN} --sign")).ends_with(2).complains(&["there is no key", "rtscope key generate"]);
    let line = alice.line("key generate --name alice").ends_with(0).out;
    let mode = std::fs::metadata(alice.path("config/rtscope/key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    alice.line("key generate").ends_with(2).complains(&["is there already"]);
    let (one, two) = (measured(&alice, "--sign"), measured(&alice, "--sign"));
    assert_eq!(one.origin(), Origin::Measured);
    assert!(alice.line("verify").ends_with(0).out.contains("signed by alice"));
    assert!(alice.line("show").measured().out.contains("signed by alice"));
    let json = serde_json::to_string(&one).unwrap();
    // The key is still unknown to bob.
    let said = bob.line("import -").code;
    assert_eq!(said, Some(3), "nothing on standard input");
    let stranger = World::new();
    let taken = imported(&stranger, &json);
    assert_eq!((taken.origin(), taken.parts().signature.as_ref()), (Origin::Imported, None));
    assert!(taken.verdict() >= Verdict::Inconclusive);
    stranger.line("import given.json").ends_with(0).complains(&["a key that you do not trust"]);
    // Trusted, under a name that bob chose.
    bob.file("alice.pub", &line);
    bob.line("key trust alice.pub --name colleague").ends_with(0);
    let taken = imported(&bob, &json);
    assert_eq!((taken.origin(), taken.verdict()), (Origin::Measured, one.verdict()));
    assert_eq!(taken.parts().signature.as_ref().unwrap().name, "colleague");
    assert!(bob.line("verify").ends_with(0).out.contains("signed by colleague"));
    // Changes that her signature does not cover: another distribution with the right fingerprint, another record's signature,
    // fewer warnings, another load.
    let better = Distribution::from_samples("cpu0", &[1000; 150], 8).unwrap();
    for parts in [
        RecordParts { id: "a".into(), distributions: vec![better], ..one.clone().into_parts() },
        RecordParts { signature: two.parts().signature.clone(), ..one.clone().into_parts() },
        RecordParts { id: "b".into(), warnings: Vec::new(), ..one.clone().into_parts() },
        RecordParts { id: "c".into(), load: "full".into(), ..one.clone().into_parts() },
    ] {
        bob.file("forged.json", text(parts));
        for command in ["import", "show"] {
            bob.line(&format!("{command} forged.json")).ends_with(3).complains(&["its signature is not of this record"]);
        }
    }
    // Without the signature, the record could be anybody's.
    let unsigned = RecordParts { id: "d".into(), signature: None, ..one.into_parts() };
    assert_eq!(imported(&bob, &text(unsigned)).origin(), Origin::Imported);
    // No longer trusted.
    bob.line("key distrust colleague").ends_with(0);
    assert_eq!(imported(&World::new(), &serde_json::to_string(&two).unwrap()).origin(), Origin::Imported);
}

/// No command signs an imported record, whatever the configuration says.
#[test]
fn a_signature_launders_nothing() {
    let (w, other) = (World::new(), World::new());
    let run = measured(&other, "--policy other");
    std::fs::create_dir_all(w.path("config/rtscope")).unwrap();
    w.file("config/rtscope/config.toml", "sign = true\n");
    w.line("key generate --name me").ends_with(0);
    let taken = imported(&w, &text(RecordParts { warnings: Vec::new(), ..run.into_parts() }));
    assert!(taken.parts().signature.is_none());
    assert!(!w.line("export --format json").ends_with(0).out.contains("\"signature\""));
    w.file("latencies", "1000\n2000\n");
    let fake = w.line("measure timer -D 1s --target fake:latencies --json").ends_with(4).record();
    assert_eq!((fake.origin(), fake.parts().signature.as_ref()), (Origin::Emulator, None));
    assert!(measured(&w, "").parts().signature.is_some(), "what is measured is");
}

/// A key file that another user could have made, read or replaced.
#[test]
fn a_key_that_is_not_ones_own_alone_is_refused() {
    let w = World::new();
    w.line("key generate --name me").ends_with(0);
    let key = w.path("config/rtscope/key");
    let run = |w: &World| w.line(&format!("{RUN} --sign --no-save")).ends_with(3);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    run(&w).complains(&["others may read or change it (mode 640)"]);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let elsewhere = w.path("elsewhere");
    std::fs::rename(&key, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &key).unwrap();
    run(&w);
    w.line("key generate").ends_with(2);
    std::fs::remove_file(&key).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&key).status().unwrap().success());
    run(&w).complains(&["is not a file"]);
    std::fs::remove_file(&key).unwrap();
    for damage in ["", "rtscope-secret-key-1 00 me", "\u{e9}\u{e9}", "rtscope-secret-key-1 zz\u{e9}"] {
        std::fs::write(&key, damage).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        run(&w).complains(&["this is not a key of rtscope"]);
    }
    // Nor may others decide whom one trusts.
    std::fs::remove_file(&key).unwrap();
    let trusted = w.file("config/rtscope/trusted-keys", "");
    std::fs::set_permissions(&trusted, std::fs::Permissions::from_mode(0o666)).unwrap();
    w.line("key list").ends_with(3).complains(&["others may change it"]);
    for bad in
        ["rtscope-key-1 00 x", "nonsense", "rtscope-key-1 0100000000000000000000000000000000000000000000000000000000000000 weak"]
    {
        w.run(&["key", "trust", bad]).ends_with(2);
    }
}
