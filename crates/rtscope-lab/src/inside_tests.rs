//! The plugin as QEMUs with old and new plugin interfaces load it. A program stands in for QEMU: of the new ones none is here everywhere.

use super::*;
use rtscope_explain::log::{self, HALTS};
use std::process::{Command, Output};

/// Builds the stand-in in `dir` and runs it with the plugin.
#[allow(clippy::disallowed_methods)] // a process that a test starts for itself may inherit any signal settings
fn stand_in(dir: &Path, defines: &[&str], arguments: &[String]) -> Output {
    let (source, program) = (dir.join("stand_in.c"), dir.join(format!("stand-in{}", defines.concat())));
    fs::write(&source, include_str!("../plugin/stand_in.c")).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-rdynamic"]).args(defines).arg("-o").arg(&program).arg(&source);
    assert!(gcc.status().unwrap().success());
    Command::new(&program).arg(plugin(dir, &mut |_| ()).unwrap()).args(arguments).output().unwrap()
}

#[test]
fn one_plugin_serves_old_and_new_interfaces() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let arguments: Vec<String> =
        "sleep=0x5000 percpu=0x6000 current=0x10 pid=0x20 timekeeper=0x8000 timekeepersize=48 thread=7 most=100000 window=0"
            .split(' ')
            .map(str::to_owned)
            .chain([format!("out={}", log.display())])
            .collect();
    let mut logs = Vec::new();
    for api in ["-DAPI=1", "-DAPI=2", "-DAPI=3", "-DAPI=4", "-DAPI=5"] {
        fs::write(&log, "").unwrap();
        let out = stand_in(dir.path(), &[api], &arguments);
        assert!(out.status.success(), "{api}: {out:?}");
        logs.push(fs::read(&log).unwrap());
    }
    assert!(logs.iter().all(|l| *l == logs[0]), "all see the same");
    let windows = log::parse(&logs[0]).unwrap().windows;
    let [w] = &windows[..] else { panic!("{windows:?}") };
    assert_eq!((w.whole, w.expiry, w.tasks[&0x7000].pid), (true, 1_000, 7));
    let blocks: Vec<_> = w.blocks.iter().map(|b| (b.pc, b.end, b.insns, b.flags & HALTS != 0)).collect();
    let expected = [
        (0x410, 12, 4, false),
        (0x420, 14, 2, true),
        (0x430, 516, 2, true),
        (0x440, 822, 6, false),
        (0x450, 829, 7, false),
        (0x5000, 834, 5, false),
    ];
    assert_eq!(blocks, expected);
    assert_eq!(w.clock_reads.iter().map(|r| (r.pc, r.at)).collect::<Vec<_>>(), [(0x440, 822), (0x450, 829)]);
}

#[test]
fn what_a_qemu_hides_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let ask = ["ask=1".to_owned()];
    let said = |out: &Output| [&out.stdout, &out.stderr].map(|text| String::from_utf8_lossy(text).trim().to_owned());
    for api in ["-DAPI=1", "-DAPI=4"] {
        judge_qemu("1", &said(&stand_in(dir.path(), &[api], &ask))).unwrap();
        let e = judge_qemu("1", &said(&stand_in(dir.path(), &[api, "-DHIDE"], &ask))).unwrap_err();
        assert!(matches!(&e, InsideError::Hidden { functions, .. } if functions == "icount_get"), "{e}");
    }
    let out = stand_in(dir.path(), &["-DAPI=4", "-DHIDE"], &["out=/dev/null".into()]);
    assert!(!out.status.success() && said(&out)[1].contains("does not let its functions be seen"), "{out:?}");
}

#[test]
#[allow(clippy::disallowed_methods, clippy::print_stdout)] // as above; says what is left out
fn a_qemu_without_plugins_says_so() {
    let dir = tempfile::tempdir().unwrap();
    // Debian builds this one without them.
    let Some(program) = find_program("qemu-system-x86_64-microvm") else {
        return println!("left out: no QEMU without plugins here");
    };
    let words = format!("{},ask=1", plugin(dir.path(), &mut |_| ()).unwrap().display());
    let out = Command::new(program).args(["-M", "none", "-display", "none", "-plugin", &words]).output().unwrap();
    let said = [&out.stdout, &out.stderr].map(|text| String::from_utf8_lossy(text).trim().to_owned());
    assert!(matches!(judge_qemu("7.2", &said), Err(InsideError::NoPlugins(_))), "{said:?}");
}
