//! Tests of a build's programs.

use super::*;
use rtscope_failure::Problem as _;

fn sh(script: &str) -> Command {
    let mut command = sys::process::command("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn compiled_files_are_counted_and_a_failure_shows_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    std::fs::write(&log, "  CC      from/before.o\n").unwrap();
    let mut most = 0;
    let script =
        "printf '  CC      a.o\\n  LD      b.o\\n  AS      c.o\\n  CC [M]  d.o\\n'; while [ ! -e seen ]; do sleep 0.05; done";
    let seen = dir.path().join("seen");
    let mut on = |n| {
        most = n;
        if n == 3 {
            std::fs::write(&seen, "").unwrap();
        }
    };
    run(sh(script).current_dir(dir.path()), "a build", &log, &StopHandle::new(), &mut on).unwrap();
    assert_eq!(most, 3);
    let e =
        run(&mut sh("echo kernel/x.c:7: error: no >&2; exit 2"), "building x", &log, &StopHandle::new(), &mut |_| {}).unwrap_err();
    assert!(e.to_string().starts_with("building x failed") && e.to_string().contains("x.c:7: error"), "{e}");
    assert!(e.remedy().contains(log.to_str().unwrap()), "{}", e.remedy());
}

#[test]
fn who_is_told_to_end_takes_all_its_children_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (log, up) = (dir.path().join("log"), dir.path().join("up"));
    let stop = StopHandle::new();
    let (asked, there) = (stop.clone(), up.clone());
    let watcher = std::thread::spawn(move || {
        let mut text = String::new();
        while !text.ends_with('\n') {
            std::thread::sleep(Duration::from_millis(10));
            text = std::fs::read_to_string(&there).unwrap_or_default();
        }
        asked.stop();
        text.trim().parse::<i32>().unwrap()
    });
    let script = format!("sleep 1000 & echo $! > {}; wait", up.display());
    let e = run(&mut sh(&script), "a build", &log, &stop, &mut |_| {}).unwrap_err();
    assert!(e.is_interrupted(), "{e}");
    let grandchild = watcher.join().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    // Gone, or a zombie that nobody has collected yet.
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{grandchild}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    while lives() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!lives());
    assert!(run(&mut sh("true"), "a build", &log, &stop, &mut |_| {}).unwrap_err().is_interrupted(), "told before it was started");
}

#[test]
fn the_error_is_shown_and_not_only_what_came_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let after = (0..60).fold(String::new(), |text, n| text + &format!("  CC      {n}.o\n"));
    std::fs::write(&log, format!("{after}kernel/x.c:7:1: error: unknown type name\n{after}")).unwrap();
    let said = last_lines(&log);
    assert!(said.contains("unknown type name") && said.lines().count() == TAIL, "{said}");
    std::fs::write(&log, &after).unwrap();
    assert!(last_lines(&log).ends_with("59.o"));
    assert_eq!(last_lines(&dir.path().join("none")), "");
}
