//! Probes that are shell scripts: good ones, faulty ones, and ones that die.

use super::*;
use proptest::prelude::*;
use rtscope_failure::Problem as _;
use rtscope_probe::protocol::PROTOCOL;
use rtscope_record::{Distribution, RecordParts, Settings, Space, Test, fixtures};
use std::os::unix::fs::PermissionsExt;

const ID: &str = "20261121T080000Z-1a2b3c";

pub(crate) fn plan() -> ProbePlan {
    ProbePlan {
        protocol: PROTOCOL.into(),
        id: ID.into(),
        test: Test::Timer,
        space: Space::User,
        load: "none".into(),
        target: "local".into(),
        settings: Settings::default(),
        progress_ms: 10,
        picture: false,
        trace: None,
    }
}

pub(crate) fn record() -> Record {
    Record::new(RecordParts {
        id: ID.into(),
        elapsed_ns: 3_000_000,
        distributions: vec![Distribution::from_samples("cpu0", &[1_000, 2_000, 70_000], 2).unwrap()],
        ..fixtures::parts()
    })
    .unwrap()
}

fn json(event: &Event) -> String {
    serde_json::to_string(event).unwrap()
}

/// A probe that is a shell script. In its directory, `events` holds two events and `record` the record.
pub(crate) struct Script {
    dir: tempfile::TempDir,
}

impl Script {
    pub(crate) fn new(body: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: String| std::fs::write(dir.path().join(name), text + "\n").unwrap();
        let progress = Event::Progress {
            elapsed_ns: 1_500_000_000,
            threads: vec![rtscope_probe::protocol::Live { count: 30, ..Default::default() }],
        };
        file("events", [json(&Event::Started), json(&progress)].join("\n"));
        file("record", json(&Event::Record { record: Box::new(record()) }));
        file("probe", format!("#!/bin/sh\ncd '{}'\nread plan\n{body}", dir.path().display()));
        std::fs::set_permissions(dir.path().join("probe"), std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    /// Started by the shell: a script that was just written may still be open in a forked process (`ETXTBSY`).
    pub(crate) fn command(&self) -> ProbeCommand {
        ProbeCommand { program: "/bin/sh".into(), args: vec![self.dir.path().join("probe").into()] }
    }

    fn run(&self) -> (Result<Record, TargetError>, usize) {
        let mut events = 0;
        let result = run_local(&plan(), &self.command(), &StopHandle::new(), &mut |_| events += 1);
        (result, events)
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }
}

#[test]
fn a_good_probe_gets_the_plan_as_one_line_and_gives_events_and_the_record() {
    let script = Script::new("printf '%s' \"$plan\" > plan\ncat events record");
    let (result, events) = script.run();
    assert_eq!(result.unwrap(), record());
    assert_eq!(events, 2);
    assert_eq!(serde_json::from_str::<ProbePlan>(&script.file("plan")).unwrap(), plan());
}

#[test]
fn a_probe_that_dies_says_how_far_it_was_and_its_last_words() {
    let (result, events) = Script::new("cat events; echo first >&2; echo 'out of luck' >&2; kill -9 $$").run();
    let text = result.unwrap_err().to_string();
    assert_eq!(events, 2);
    assert!(text.contains("signal: 9") && text.contains("after 1.5s and 30 samples") && text.contains("out of luck"), "{text}");
    let text = Script::new("exit 5").run().0.unwrap_err().to_string();
    assert!(text.contains("exit status: 5") && !text.contains("after"), "{text}");
}

#[test]
fn what_is_no_event_is_shown() {
    for body in
        ["echo 'hello, world'", "echo '{\"event\":\"nonsense\"}'", "printf '{\"event\":\"started\"'", "printf '\\377\\n'", "echo"]
    {
        let e = Script::new(&format!("cat events; {body}")).run().0.unwrap_err();
        assert!(matches!(e, TargetError::Garbled { .. }), "{body}: {e}");
        assert!(!e.is_usage());
    }
    let text = Script::new("echo 'hello, world'").run().0.unwrap_err().to_string();
    assert!(text.contains("`hello, world`"), "{text}");
}

#[test]
fn a_probe_of_another_build_is_named_before_it_measures() {
    let hello = |version: &str, protocol: &str| {
        json(&Event::Hello { protocol: protocol.into(), version: version.into(), commit: "abc".into(), unattended: Vec::new() })
    };
    for (version, protocol) in [("0.0.9", PROTOCOL), (rtscope_probe::build::VERSION, "rtscope-probe/0")] {
        let (result, events) = Script::new(&format!("echo '{}'; cat events record", hello(version, protocol))).run();
        let text = result.unwrap_err().to_string();
        assert!(text.contains(&format!("rtscope {version} (commit abc, protocol {protocol})")), "{text}");
        assert_eq!(events, 0);
    }
    // Without a commit of its own, this program goes together with any commit.
    let (result, events) =
        Script::new(&format!("echo '{}'; cat events record", hello(rtscope_probe::build::VERSION, PROTOCOL))).run();
    assert_eq!((result.unwrap(), events), (record(), 3));
}

#[test]
fn the_probes_own_errors_keep_their_kind() {
    for usage in [true, false] {
        let event = Event::Error { message: "no CPU 99".into(), remedy: "use 0 or 1".into(), usage };
        let e = Script::new(&format!("echo '{}'; exit 2", json(&event))).run().0.unwrap_err();
        assert_eq!(e.is_usage(), usage);
        assert_eq!((e.to_string(), e.remedy()), ("no CPU 99".into(), "use 0 or 1".into()));
    }
}

#[test]
fn a_record_of_another_run_is_refused() {
    let e = Script::new("sed s/1a2b3c/ffffff/ record").run().0.unwrap_err();
    assert!(matches!(e, TargetError::Record(_)), "{e}");
}

#[test]
fn stopping_closes_the_probes_input() {
    let script = Script::new("cat events; cat > rest; cat record");
    let stop = StopHandle::new();
    let result = run_local(&plan(), &script.command(), &stop, &mut |event| {
        if matches!(event, Event::Progress { .. }) {
            stop.stop();
        }
    });
    assert_eq!(result.unwrap(), record());
    // Stopped before it starts: it ends as soon as it has started.
    let script = Script::new("cat > rest; cat record");
    assert_eq!(run_local(&plan(), &script.command(), &stop, &mut |_| {}).unwrap(), record());
}

/// An ordinary user's task may wait for seconds for a CPU that others keep busy.
#[test]
fn a_probe_that_ends_late_after_it_was_stopped_loses_nothing() {
    let stop = StopHandle::new();
    stop.stop();
    let script = Script::new("cat > rest; sleep 12; cat record");
    assert_eq!(run_local(&plan(), &script.command(), &stop, &mut |_| {}).unwrap(), record());
}

#[test]
fn a_probe_that_can_not_be_started_is_named() {
    let probe = ProbeCommand { program: "/no/such/probe".into(), args: Vec::new() };
    let e = run_local(&plan(), &probe, &StopHandle::new(), &mut |_| {}).unwrap_err();
    assert!(e.to_string().contains("/no/such/probe"), "{e}");
}

#[test]
fn a_probe_is_gone_after_an_error_and_stays_in_our_process_group() {
    let script = Script::new("cut -d' ' -f5 /proc/$$/stat > group; echo $$ > pid; echo nonsense; exec sleep 1000");
    assert!(script.run().0.is_err());
    let pid = script.file("pid").trim().parse().unwrap();
    assert_eq!(process_tree::start_time(pid), None);
    let own = std::fs::read_to_string("/proc/self/stat").unwrap();
    let own = own.rsplit_once(") ").unwrap().1.split(' ').nth(2).unwrap().to_owned();
    assert_eq!(script.file("group").trim(), own);
}

fn read_all(mut bytes: &[u8]) {
    while let Ok(Some(_)) = next_event(&mut bytes) {}
}

proptest! {
    #[test]
    fn any_bytes_are_events_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes);
    }

    #[test]
    fn damaged_events_are_events_or_an_error(
        cut in 0usize..4000,
        flips in proptest::collection::vec((0usize..4000, any::<u8>()), 0..4),
        number in "-?[0-9]{1,60}(e[0-9]{1,4})?",
        twice: bool,
    ) {
        let whole = [json(&Event::Started), json(&Event::Record { record: Box::new(record()) })].join("\n");
        let whole = whole.replace("70000", &number);
        let mut bytes = whole.into_bytes();
        if twice {
            bytes.extend_from_within(..);
        }
        bytes.truncate(cut.max(1));
        let n = bytes.len();
        for (at, with) in flips {
            bytes[at % n] ^= with;
        }
        bytes.push(b'\n');
        read_all(&bytes);
    }
}
