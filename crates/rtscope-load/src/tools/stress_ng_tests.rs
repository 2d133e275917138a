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
