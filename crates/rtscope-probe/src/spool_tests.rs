use super::events::has_last_word;
use super::files::{put, read};
use super::identity::alive;
use super::*;
use crate::protocol::{DutPlan, Event, Identity, PROTOCOL, Work, WorkOrder};
use rtscope_record::{DutSettings, Inject};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A keeper's directory in which the program is a shell script. `work` is what it does in place of the probe;
/// `$1` is the plan or `dut`.
fn spool(work: &str) -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("spool");
    fs::create_dir(&dir).unwrap();
    let script = home.path().join("script");
    fs::write(&script, format!("#!/bin/sh\n{work}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    // Let another process write it: a file that this process has open can't be executed while another test starts a child.
    assert!(Command::new("cp").arg(&script).arg(dir.join("rtscope-probe")).status().unwrap().success());
    let settings = DutSettings { input: None, output: "soft:x".into(), priority: 0, cpu: None, inject: Inject::default() };
    let order = WorkOrder {
        protocol: PROTOCOL.into(),
        driver: identity(),
        abandoned: Vec::new(),
        patience_ms: 60_000,
        work: Work::Dut(DutPlan { settings, wave: None, load: "none".into() }),
    };
    fs::write(dir.join("errand.json"), serde_json::to_vec(&order).unwrap()).unwrap();
    fs::write(dir.join("events"), b"").unwrap();
    (home, dir)
}

/// Runs the keeper in a thread, so that this process is the owner.
fn kept(dir: &Path) -> std::thread::JoinHandle<u8> {
    put(dir, "owner", &serde_json::to_vec(&identity()).unwrap()).unwrap();
    let dir = dir.to_path_buf();
    std::thread::spawn(move || keeper(&dir))
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn let_go(dir: &Path, keeper: std::thread::JoinHandle<u8>) {
    fs::write(dir.join("drop"), b"").unwrap();
    assert_eq!(keeper.join().unwrap(), 0);
    assert!(!dir.exists());
}

const DONE: &str = r#"{"event":"done","edges":1,"answers":1,"lost":0}"#;

#[test]
fn a_last_word_is_kept_as_it_was_said() {
    let (_home, dir) = spool(&format!("echo '{{\"event\":\"started\"}}'; echo '{DONE}'"));
    let keeper = kept(&dir);
    wait_for("the end", || dir.join("done").exists());
    assert_eq!(fs::read_to_string(dir.join("events")).unwrap(), format!("{{\"event\":\"started\"}}\n{DONE}\n"));
    let_go(&dir, keeper);
}

#[test]
fn who_dies_in_the_middle_of_a_line_is_given_a_last_word() {
    let (_home, dir) = spool("echo '{\"event\":\"started\"}'; printf '{\"event\":\"rec'; echo 'out of luck' >&2; kill -KILL $$");
    let keeper = kept(&dir);
    wait_for("the end", || dir.join("done").exists());
    let text = fs::read_to_string(dir.join("events")).unwrap();
    let lines: Vec<Event> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let [Event::Started, Event::Error { message, .. }] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(message.contains("signal: 9") && message.contains("out of luck"), "{message}");
    let_go(&dir, keeper);
}

#[test]
fn a_stop_ends_the_work_and_a_dropped_spool_is_gone() {
    let (_home, dir) =
        spool(&format!("trap 'echo \"$0 ended\" >&2; echo '\\''{DONE}'\\''; exit' INT\nwhile :; do sleep 0.02; done"));
    let keeper = kept(&dir);
    wait_for("the plan", || dir.join("plan.json").exists());
    std::thread::sleep(Duration::from_millis(200));
    assert!(!dir.join("done").exists());
    fs::write(dir.join("stop"), b"").unwrap();
    wait_for("the end", || dir.join("done").exists());
    assert!(has_last_word(&dir).unwrap());
    let_go(&dir, keeper);
}

#[test]
fn work_that_nobody_follows_is_ended_after_the_patience() {
    let (_home, dir) = spool("exec sleep 1000");
    let mut order: WorkOrder = read(&dir, "errand.json").unwrap();
    order.patience_ms = 300;
    put(&dir, "errand.json", &serde_json::to_vec(&order).unwrap()).unwrap();
    assert_eq!(kept(&dir).join().unwrap(), 0);
    assert!(!dir.exists());
}

/// A writer that is cut off after `room` bytes.
struct Wire {
    got: Vec<u8>,
    room: usize,
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.got.len() + bytes.len() > self.room {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.got.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_spool_is_passed_on_from_any_line_without_a_gap() {
    let (_home, dir) = spool("exit 0");
    let lines: Vec<String> =
        (0..5000u32).map(|n| format!("{{\"event\":\"sample\",\"thread\":0,\"cycle\":{n},\"value\":{n}}}\n")).collect();
    let all = format!("{}{DONE}\n", lines.concat());
    fs::write(dir.join("events"), format!("{all}{{\"half")).unwrap();
    put(&dir, "owner", &serde_json::to_vec(&identity()).unwrap()).unwrap();
    for at in [0, lines[0].len(), lines[..4000].concat().len(), all.len()] {
        // The order to let go takes effect only after everything has been passed on.
        let (reader, mut writer) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut wire = Wire { got: Vec::new(), room: usize::MAX };
        writer.write_all(b"\nstop\n").unwrap();
        drop(writer);
        assert_eq!(follow(&dir, at as u64, reader, &mut wire), 0);
        let text = String::from_utf8(wire.got).unwrap();
        let (hello, rest) = text.split_once('\n').unwrap();
        assert!(hello.contains(PROTOCOL));
        assert!(rest == &all[at..], "from {at}");
        assert!(dir.join("stop").exists());
    }
    let mut cut = Wire { got: Vec::new(), room: 100 };
    assert_eq!(follow(&dir, 0, io::empty(), &mut cut), 3);
}

#[test]
fn a_dead_keeper_is_told_once() {
    let (_home, dir) = spool("exit 0");
    fs::write(dir.join("events"), "{\"event\":\"started\"}\n").unwrap();
    let dead = Identity { pid: u32::MAX, ..identity() };
    put(&dir, "owner", &serde_json::to_vec(&dead).unwrap()).unwrap();
    assert!(!alive(&dir));
    let mut out = Vec::new();
    assert_eq!(follow(&dir, 0, &b"\n\ndrop\n"[..], &mut out), 0);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("keeper on the target was killed").count(), 1, "{text}");
    assert!(!dir.exists());
}

#[test]
fn only_what_the_dead_left_is_swept_away() {
    use std::os::unix::fs::MetadataExt;
    let me = fs::metadata("/proc/self").unwrap().uid();
    let home = tempfile::tempdir().unwrap();
    let make = |name: &str, owner: Option<&Identity>| {
        let dir = home.path().join(format!("{PREFIX}{name}"));
        fs::create_dir(&dir).unwrap();
        if let Some(owner) = owner {
            put(&dir, "owner", &serde_json::to_vec(owner).unwrap()).unwrap();
            put(&dir, "driver", &serde_json::to_vec(&identity()).unwrap()).unwrap();
        }
        dir
    };
    let dead = Identity { start: 1, ..identity() };
    let own = make(&format!("{me}-own"), None);
    let stale = make(&format!("{me}-stale"), Some(&dead));
    let rebooted = make(&format!("{me}-rebooted"), Some(&Identity { boot: "another".into(), ..identity() }));
    let contained = make(&format!("{me}-contained"), Some(&Identity { space: "pid:[1]".into(), ..dead.clone() }));
    let living = make(&format!("{me}-living"), Some(&identity()));
    let followed = make(&format!("{me}-followed"), Some(&identity()));
    put(&followed, "follower", &serde_json::to_vec(&identity()).unwrap()).unwrap();
    let young = make(&format!("{me}-young"), None);
    let shell = make(&format!("{me}-shell"), None);
    fs::write(shell.join("shell"), format!("{} {}\n", identity().pid, identity().start)).unwrap();
    let other = make("99999999-other", Some(&dead));
    let unattended = identity::sweep(&own);
    let found: Vec<_> = unattended.iter().filter(|u| u.dir.starts_with(home.path().to_str().unwrap())).collect();
    assert_eq!(found.iter().map(|u| PathBuf::from(&u.dir)).collect::<Vec<_>>(), std::slice::from_ref(&living));
    assert!(!stale.exists() && !rebooted.exists());
    assert!([&own, &contained, &living, &followed, &young, &shell, &other].iter().all(|d| d.exists()));
}
