//! The table of tools, and their outputs, whole and damaged.

use super::tool::{Achieved, Paths};
use super::*;
use crate::job::Iperf3Job;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

const YAML: &str = "---
system-info:
      stress-ng-version: 0.15.06
      bogo-ops: 77
      version: '#1 SMP PREEMPT_DYNAMIC @0'

metrics:
    - stressor: cpu
      bogo-ops: 1641
      bogo-ops-per-second-usr-sys-time: 1666.071037
      bogo-ops-per-second-real-time: 824.575297
      wall-clock-time: 1.990115
      max-rss: 6444

    - stressor: sync-file
      bogo-ops: 0
      bogo-ops-per-second-usr-sys-time: 0.000000
      bogo-ops-per-second-real-time: 0.000000
      nanosecs-per-context-switch-pipe-method: 2392.010507

thermal-zones:
    - stressor: cpu
      bogo-ops: 9

...
";

const JSON: &str = r#"{ "start": {"version": "iperf 3.12"}, "intervals": [],
 "end": {"sum_sent": {"bytes": 6244270080, "bits_per_second": 24673302618.16, "retransmits": 17, "sender": true},
         "sum_received": {"bytes": 0, "bits_per_second": 0}},
 "error": "interrupt - the client has terminated" }"#;

#[test]
fn every_tool_has_a_role_and_a_name_of_its_own() {
    let roles: BTreeSet<_> = TOOLS.iter().map(|t| t.role()).collect();
    assert_eq!(roles.len(), TOOLS.len());
    assert!(roles.iter().all(|role| of_role(role).is_some_and(|t| t.role() == *role)));
    let own: Vec<_> = with_arguments().map(|(t, _)| t.program()).collect();
    assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), own.len());
    assert!(own.iter().all(|name| in_text(&format!("{name}:--x a:b")).is_some_and(|(t, _, words)| t.program() == *name && words == "--x a:b")));
    assert!(in_text("stress-ng").is_none() && in_text("iperf3:-c x").is_none() && in_text(":").is_none());
}

#[test]
fn tools_are_told_what_they_were_always_told() {
    let paths = Paths { figures: Path::new("/d/0.figures"), dir: Path::new("/d/0") };
    let command = |tool: &dyn Tool, args: &[String]| tool.command(args, &paths).join(" ");
    let own = ["--cpu".to_owned(), "2".to_owned()];
    let expected = "--cpu 2 --timeout 31536000 --metrics --yaml /d/0.figures --temp-path /d/0";
    assert_eq!(command(&stress_ng::StressNg, &own), expected);
    let server = iperf3::Server::args("10.217.0.2", 5201);
    assert_eq!(command(&iperf3::Server, &server), "-s -1 -J -i 0 -B 10.217.0.2 -p 5201");
    let job = Iperf3Job { streams: 100, window: Some("64K".into()) };
    let client = iperf3::Client::args(&job, "10.217.0.2", 5201);
    assert_eq!(command(&iperf3::Client, &client), "-c 10.217.0.2 -p 5201 -P 100 -n 9000000T -J -i 0 -w 64K");
}

#[test]
fn bogo_operations_are_read_from_the_metrics_section_only() {
    let expected: Achieved = [
        ("cpu.bogo_ops", 1641.0),
        ("cpu.bogo_ops_per_s", 824.575_297),
        ("sync-file.bogo_ops", 0.0),
        ("sync-file.bogo_ops_per_s", 0.0),
    ]
    .map(|(k, v)| (k.into(), v))
    .into();
    assert_eq!(stress_ng::figures(YAML), expected);
    assert_eq!(stress_ng::figures(&YAML.replace('\n', "\r\n")), expected);
}

#[test]
fn each_end_of_iperf3_knows_its_own_sum() {
    let client = iperf3::figures(JSON, "sum_sent");
    let expected = [("iperf3.bytes", 6_244_270_080.0), ("iperf3.gbit_per_s", 24.673_302_618_16), ("iperf3.retransmits", 17.0)]
        .map(|(k, v)| (k.into(), v));
    assert_eq!(client.achieved, Achieved::from(expected));
    assert!(client.error.unwrap().contains("interrupt"));
    let server = [("iperf3.bytes".into(), 0.0)];
    assert_eq!(iperf3::figures(JSON, "sum_received").achieved, Achieved::from(server));
    let refused = iperf3::figures(r#"{"start":{},"error":"unable to connect to server: Connection refused"}"#, "sum_sent");
    assert_eq!(refused.achieved, Achieved::new());
    assert!(refused.error.unwrap().contains("refused"));
}

/// Byte flips, truncation, doubled and deleted lines.
fn damage(text: &str, cut: usize, flips: &[(usize, u8)], line: usize, twice: bool) -> String {
    let mut bytes = text.as_bytes()[..cut.min(text.len())].to_vec();
    for &(at, with) in flips {
        if !bytes.is_empty() {
            let at = at % bytes.len();
            bytes[at] ^= with;
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines: Vec<_> = text.lines().collect();
    if !lines.is_empty() {
        let at = line % lines.len();
        if twice {
            lines.insert(at, lines[at]);
        } else {
            lines.remove(at);
        }
    }
    lines.join("\n")
}

fn sane(achieved: &Achieved) -> bool {
    achieved.values().all(|f| *f >= 0.0)
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_passed_over(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        prop_assert!(sane(&stress_ng::figures(&text)));
        prop_assert!(sane(&iperf3::figures(&text, "sum_sent").achieved));
    }

    #[test]
    fn damaged_outputs_are_read_or_passed_over(
        cut in 0usize..900,
        flips in proptest::collection::vec((0usize..900, any::<u8>()), 0..6),
        line in 0usize..40,
        twice: bool,
    ) {
        prop_assert!(sane(&stress_ng::figures(&damage(YAML, cut, &flips, line, twice))));
        prop_assert!(sane(&iperf3::figures(&damage(JSON, cut, &flips, line, twice), "sum_sent").achieved));
    }

    #[test]
    fn numbers_beyond_all_bounds_do_no_harm(number in "-?[0-9]{1,400}(\\.[0-9]{1,9})?(e[+-]?[0-9]{1,5})?") {
        prop_assert!(sane(&stress_ng::figures(&YAML.replace("1641", &number))));
        prop_assert!(sane(&iperf3::figures(&JSON.replace("6244270080", &number), "sum_sent").achieved));
    }
}
