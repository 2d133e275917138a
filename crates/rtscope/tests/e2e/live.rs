//! `measure --live` on a terminal of its own, and `demo`.

use crate::world::{PROGRAM, World, end_of, installed, privileged, signal, skip, wait_for};
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

#[test]
fn the_picture_is_drawn_and_ends_with_a_key() {
    if !installed("script") {
        return skip("script (bsdutils) makes the terminal");
    }
    if !privileged() {
        return skip("no right to a real-time priority");
    }
    let w = World::new();
    let line =
        format!("stty rows 24 cols 80; {PROGRAM} measure timer -D 60s -i 1ms --affinity 0 -t 1 --live; echo code $?; stty -a");
    let mut command = w.command_of("script");
    command.args(["-qfec", &line, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let said = Arc::new(Mutex::new(String::new()));
    let (told, mut out) = (Arc::clone(&said), child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Some(n) = out.read(&mut bytes).ok().filter(|n| *n > 0) {
            told.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..n]));
        }
    });
    let has = |text: &str| said.lock().unwrap().contains(text).then_some(());
    let mut keys = child.stdin.take().unwrap();
    // The table, the histogram and the worst samples.
    for text in ["\x1b[?1049h", "max's age", "cpu0", "worst us", "s scale"] {
        wait_for(text, || has(text));
    }
    keys.write_all(b"s").unwrap();
    // Only what changes is drawn: of "log" the l stays.
    wait_for("the linear scale", || has("inear"));
    keys.write_all(b"p").unwrap();
    wait_for("the pause", || has("paused"));
    keys.write_all(b"q").unwrap();
    // The run is kept, its table is printed where the picture was, and the terminal is as it was.
    wait_for("the end", || has("code 130"));
    wait_for("the terminal", || has("speed"));
    drop(keys);
    child.wait().unwrap();
    reader.join().unwrap();
    let said = said.lock().unwrap();
    let after = said.split_once("\x1b[?1049l").unwrap_or_else(|| panic!("{said}")).1;
    assert!(after.contains("samples") && after.contains("ended early"), "{after}");
    assert!(after.contains("isig icanon") && after.contains(" echo "), "{after}");
    let [record] = &w.records()[..] else { panic!("it is kept") };
    assert!(record.parts().interrupted && record.distributions()[0].count() > 0);
}

#[test]
fn a_picture_needs_a_terminal_and_a_run_that_tells_its_figures() {
    let w = World::new();
    w.line("measure timer -D 1s --live").ends_with(2).complains(&["--live", "terminal"]);
    w.line("measure timer -D 1s --live --quiet").ends_with(2).complains(&["--quiet"]);
    w.line("measure timer -D 1s --live --target lab:debian/6.12").ends_with(2).complains(&["lab"]);
    assert_eq!(w.records(), []);
}

#[test]
fn a_demo_prints_its_commands_and_ends_with_ctrl_c() {
    if !privileged() {
        return skip("no right to a real-time priority");
    }
    let w = World::new();
    // As the package `rtscope` alone installs it: the program for guests is neither beside it nor in ../lib/rtscope.
    let program = w.path("bin/rtscope");
    std::fs::create_dir_all(w.path("bin")).unwrap();
    std::fs::copy(PROGRAM, &program).unwrap();
    let mut command = w.command_of(&program);
    command.args(["demo", "--dir", "shown"]).env_remove("RTSCOPE_GUESTS").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let records = || w.line("--archive shown/archive.db list --json").out.lines().count();
    wait_for("the first run", || (w.path("shown/archive.db").exists() && records() > 0).then_some(()));
    signal(child.id(), libc::SIGINT);
    let said = end_of(child).ends_with(130);
    let (before, _) = said.err.split_once("$ rtscope measure timer -D 2s\n").unwrap_or_else(|| panic!("{}", said.err));
    assert!(before.contains("the lab's part is left out") && before.contains("the package rtscope-lab"), "{before}");
    assert!(said.out.contains("cpu0") && records() >= 1, "{}", said.out);
}

/// As on a machine that has neither stress-ng nor iperf3: what needs them is left out, and the rest is shown.
#[test]
fn a_demo_goes_on_without_the_tools_of_loads() {
    // In a mount namespace of its own something else is in their place.
    const HIDE: &str = r#"for tool in stress-ng iperf3 fio; do
    for dir in /usr/local/bin /usr/bin; do [ ! -e $dir/$tool ] || mount --bind /dev/null $dir/$tool; done
done
exec "$@""#;
    let w = World::new();
    let namespace = w.command_of("unshare").args(["--mount", "true"]).output();
    if !privileged() || !namespace.is_ok_and(|made| made.status.success()) {
        return skip("no right to a real-time priority or to mount");
    }
    let mut command = w.command_of("unshare");
    command.args(["--mount", "sh", "-ec", HIDE, "sh", PROGRAM, "demo", "--no-lab", "--dir", "shown"]);
    let said = end_of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).ends_with(0);
    let [left_out] = said.err.lines().filter(|l| l.contains("left out")).collect::<Vec<_>>()[..] else { panic!("{}", said.err) };
    for part in ["iperf3", "stress-ng", "rtscope loads", "network", "full"] {
        assert!(left_out.contains(part), "{part}: {left_out}");
    }
    assert!(said.err.contains("measure response --stimulus soft:demo-a"), "{}", said.err);
    assert!(w.path("shown/report.html").exists());
}
