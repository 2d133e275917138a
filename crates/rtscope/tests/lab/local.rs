//! Modules on the local machine: loaded for a run, unloaded after it, also after SIGKILL. The local machine is a guest in which
//! rtscope runs.

use super::{Lab, RT, cache, wanted};
use crate::world::{PROGRAM, Said};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Prints after each case which modules are loaded, and how many entries the journal has.
const SCRIPT: &str = r#"
cd /root; mkdir m; mv *.ko m; unxz -c rtscope.xz > rtscope; chmod +x rtscope
./rtscope --version > /dev/null || exit 77
export HOME=/root XDG_STATE_HOME=/root/state RTSCOPE_ARCHIVE=/root/a.db RTSCOPE_CACHE=/root/cache RTSCOPE_MODULES=/root/m
left() { echo "$1:" $(ls /sys/module | grep rtscope) $(ls state/rtscope/journal 2>/dev/null | wc -l); }
wire="--space kernel --stimulus wire:stimulus --answer wire:answer --no-save"
./rtscope measure response -l 100 $wire --json > response.json; left "response $?"
./rtscope measure periodic -l 100 --space kernel --answer wire:answer --no-save --json > periodic.json; left "periodic $?"
./rtscope measure timer -l 100 --space kernel --no-save --json > timer.json; left "timer $?"
./rtscope measure response -D 60s $wire > /dev/null 2>&1 & p=$!
sleep 1; left running; kill -9 $p; wait $p; left killed
./rtscope measure timer -l 10 --no-save > /dev/null; left next
./rtscope measure response -D 60s $wire > /dev/null 2>&1 & p=$!
sleep 1; kill -INT $p; wait $p; left "interrupted $?"
./rtscope dut response --space kernel --handler threaded --in gpio:rtscope-wire/0 --out gpio:rtscope-wire/1 -D 2s --json & p=$!
sleep 1; ./rtscope measure response -l 100 $wire --dut none --json > dut.json; left "with a dut $?"; wait $p; left "dut $?"
./rtscope dut response --space kernel --in gpio:rtscope-wire/0 --out gpio:rtscope-wire/1 & p=$!
sleep 1; rmmod rtscope_response; wait $p; left "taken away $?"
./rtscope measure response -l 50 -i 2ms --space kernel --stimulus gpio:rtscope-wire/2 --answer gpio:rtscope-wire/5 \
    --dut-in gpio:gpiochip0/3 --dut-out gpio:gpiochip0/4 --no-save --json > gpio.json; left "by device $?"
insmod m/rtscope_wire.ko; insmod m/rtscope_response.ko in=rtscope-wire/0 out=rtscope-wire/1
./rtscope measure response -l 100 $wire; left "loaded already $?"
./rtscope measure periodic -l 100 --space kernel --answer wire:answer; left "in use $?"
rmmod rtscope_response; rmmod rtscope_wire
mv m/other.ko m/rtscope_timer.ko; ./rtscope measure timer -l 10 --space kernel; left "other kernel $?"
for test in response periodic timer dut gpio; do echo "json $test $(cat $test.json)"; done
"#;

/// Directory of the modules for RT; a run builds them.
fn modules(lab: &Lab) -> PathBuf {
    lab.line(&format!("measure timer -l 10 --space kernel --target lab:{RT} --no-save")).ends_with(0);
    let all: Vec<Value> = serde_json::from_str(&lab.line("lab kernels --json").ends_with(0).out).unwrap();
    let release = all.iter().find(|r| r["name"] == RT).unwrap()["kernel"]["release"].as_str().unwrap().to_owned();
    let magic = format!("vermagic={release} ");
    let is_for_it = |dir: &PathBuf| {
        fs::read(dir.join("rtscope_timer.ko")).is_ok_and(|bytes| bytes.windows(magic.len()).any(|w| w == magic.as_bytes()))
    };
    let made = |dir: &PathBuf| fs::metadata(dir).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let dirs = fs::read_dir(cache().join("modules")).unwrap().flatten().map(|e| e.path()).filter(is_for_it);
    dirs.max_by_key(made).expect("modules for RT")
}

#[test]
fn modules_are_loaded_for_a_run_and_nothing_of_them_is_left() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let built = modules(&lab);
    let (small, packed) = (lab.0.path("rtscope"), lab.0.path("rtscope.xz"));
    assert!(Command::new("strip").arg("-o").args([&small, Path::new(PROGRAM)]).status().unwrap().success());
    // All of it must fit into a machine's mailbox of 16 MiB.
    assert!(Command::new("xz").arg("-3").arg(&small).status().unwrap().success());
    lab.0.file("script", SCRIPT);
    let mut other = fs::read(built.join("rtscope_timer.ko")).unwrap();
    let at = other.windows(5).position(|w| w == b" SMP ").unwrap();
    other[at + 1] = b'U';
    lab.0.file("other.ko", &other);
    let mut words: Vec<String> = ["lab", "run", RT].map(str::to_owned).into();
    let mut put = |file: PathBuf, name: &str| words.extend(["--guest-file".to_owned(), format!("{}:/root/{name}", file.display())]);
    put(packed, "rtscope.xz");
    put(lab.0.path("script"), "script");
    put(lab.0.path("other.ko"), "other.ko");
    for name in ["rtscope_wire.ko", "rtscope_response.ko", "rtscope_periodic.ko", "rtscope_timer.ko"] {
        put(built.join(name), name);
    }
    words.extend(["--", "sh", "/root/script"].map(str::to_owned));
    let said: Said = lab.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
    if said.err.contains("exit status 77") {
        println!("left out: this host's C library is newer than the guest's");
        return;
    }
    let said = said.ends_with(0);
    let lines: Vec<&str> = said.out.lines().filter(|l| !l.starts_with("json") && !l.starts_with('{')).collect();
    assert_eq!(
        lines,
        [
            "response 0: 0",
            "periodic 0: 0",
            "timer 0: 0",
            "running: rtscope_response rtscope_wire 1",
            "killed: rtscope_response rtscope_wire 1",
            "next: 0",
            "interrupted 130: 0",
            "with a dut 0: rtscope_response rtscope_wire 1",
            "dut 0: 0",
            "taken away 3: 0",
            "by device 0: 0",
            "loaded already 3: rtscope_response rtscope_wire 0",
            "in use 3: rtscope_response rtscope_wire 0",
            "other kernel 3: 0",
        ],
        "{}",
        said.err
    );
    for test in ["response", "periodic", "timer", "dut", "gpio"] {
        let text = said.out.lines().find_map(|l| l.strip_prefix(&format!("json {test} "))).unwrap();
        let record: rtscope_record::Record = serde_json::from_str(text).unwrap();
        assert!(record.distributions().iter().map(rtscope_record::Distribution::missed).sum::<u64>() == 0, "{test}");
        assert!(record.merged().unwrap().is_none_or(|d| d.count() >= 30), "{test}");
    }
    assert!(said.out.contains(r#""edges":"#), "the DUT's own counts: {}", said.out);
    said.complains(&[
        "undone after a crash: unloaded the kernel module rtscope_response",
        "does not answer any more",
        "rtscope_response can't be loaded: it is loaded already",
        "out=rtscope-wire/1 is in use",
        "not a module for this kernel",
    ]);
}
