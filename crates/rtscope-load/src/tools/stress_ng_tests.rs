//! Which options of `stress-ng:ARGS` are refused.

use super::*;
use proptest::prelude::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(Into::into).collect()
}

#[test]
fn what_breaks_the_proof_is_refused_in_every_spelling() {
    for text in [
        "--cpu 1 --timeout 5",
        "--cpu 1 --timeout=5",
        "--cpu 1 --timeo 5",
        "--cpu 1 -t 5",
        "--cpu 1 -t5",
        "--cpu 1 -vt5",
        "--cpu 1 -kqvMn",
        "--cpu 1 --yaml x",
        "--cpu 1 --yam=/etc/passwd",
        "--cpu 1 --temp-path /",
        "--cpu 1 --temp /",
        "--cpu 1 --log-file /etc/passwd",
        "--cpu 1 --metrics-brief",
        "--job x",
        "-j x",
        "--cpu 1 --keep-files",
        "--all 1 --pathological",
        "--swap 1",
        "--cpu 1 --",
        "-n --cpu 1",
        "--help",
        "cpu 2",
        "",
    ] {
        assert!(check(&words(text)).is_err(), "{text}");
    }
}

#[test]
fn stressors_pass() {
    for text in [
        "--cpu 2",
        "-c4 -m 2 --vm-bytes 10%",
        "--timer 2 --timerfd 1",
        "-a 1 -x cpu,tee",
        "--cpu -1",
        "--key 1 --verify",
        "-l50 -c1",
    ] {
        assert!(check(&words(text)).is_ok(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_checked_or_refused(text in "\\PC{0,60}") {
        let _ = check(&words(&text));
    }

    #[test]
    fn beginnings_of_refused_options_are_refused(which in 0..REFUSED.len(), keep in 1usize..20, value in "(=[a-z0-9]{0,5})?") {
        let name = REFUSED[which].0;
        let name = &name[..keep.min(name.len())];
        prop_assume!(!STRESSORS.contains(&name));
        let word = format!("--{name}{value}");
        prop_assert!(check(&["--cpu".into(), "1".into(), word]).is_err());
    }
}

/// As 0.15.06 said it on a Debian 12.
#[test]
fn what_stress_ng_leaves_out_is_read_from_its_log() {
    let log = "\
stress-ng: info:  [551] apparmor stressor will be skipped, AppArmor is not enabled
stress-ng: info:  [551] disabled 'smi' as it may hang or reboot the machine (enable it with the --pathological option)
stress-ng: info:  [551] dispatching hogs: 1 binderfs, 1 umount, 1 uprobe
stress-ng: info:  [552] binderfs: binderfs not supported, errno=19 (No such device), skipping stress test
stress-ng: info:  [554] uprobe: cannot set uprobe_event: errno=2 (No such file or directory), skipping stressor
stress-ng: warn:  [551] process [554] (uprobe) aborted early, out of system resources
stress-ng: info:  [551] \u{1b}[31mred stressor will be skipped, a name that is none
stress-ng: info:  [551] successful run completed in 2.04s
";
    let expected = [
        ("apparmor", "AppArmor is not enabled"),
        ("binderfs", "binderfs not supported, errno=19 (No such device)"),
        ("smi", "it may hang or reboot the machine (enable it with the --pathological option)"),
        ("uprobe", "cannot set uprobe_event: errno=2 (No such file or directory)"),
    ];
    let expected = expected.map(|(name, reason)| (name.to_owned(), reason.to_owned()));
    assert_eq!(StressNg.left_out(log), BTreeMap::from(expected));
    let endless = format!("stress-ng: info:  [1] a stressor will be skipped, {}\n", "x".repeat(1 << 20));
    assert_eq!(StressNg.left_out(&endless)["a"].len(), REASON);
}

proptest! {
    #[test]
    fn any_log_is_read(log in any::<String>(), line in "stress-ng: info:  \\[1\\] .*, skipping stress.*") {
        StressNg.left_out(&log);
        StressNg.left_out(&line);
    }
}
