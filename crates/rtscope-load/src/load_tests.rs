//! Names, arguments and sizes of loads.

use super::*;
use proptest::prelude::*;
use rtscope_failure::Problem as _;

fn args(load: &str, cpus: u32) -> Vec<String> {
    Load::parse(load).unwrap().sized(cpus).tools.iter().map(|s| s.args.join(" ")).collect()
}

#[test]
fn every_load_is_sized_by_the_number_of_cpus() {
    assert_eq!(args("calculation", 3), ["--cpu 3 --matrix 3"]);
    assert_eq!(Load::parse("calculation").unwrap().sized(3).tools[0].workers, 6);
    assert_eq!(args("full", 2), [args("background", 2), args("calculation", 2), args("disk", 2)].concat());
    assert_eq!(Load::parse("network").unwrap().sized(4).iperf3, Some(Iperf3Job { streams: 32, window: None }));
    assert_eq!(Load::parse("network").unwrap().sized(64).iperf3.unwrap().streams, 128);
    assert!(Load::parse("disk").unwrap().sized(64).need_mib > 64 * 80);
}

#[test]
fn dewit_is_all_stressors_and_a_hundred_streams() {
    let sized = Load::parse("dewit").unwrap().sized(16);
    assert_eq!(sized.tools.len(), 1);
    assert_eq!(sized.tools[0].args, ["--all", "1", "--exclude", "cpu-online,swap,reboot"]);
    assert_eq!(sized.tools[0].workers, 1);
    assert_eq!(args("dewit", 2), args("dewit", 16));
    assert_eq!(sized.iperf3, Some(Iperf3Job { streams: 100, window: Some("64K".into()) }));
}

/// Two threads at FIFO 1 to 86, or eight processes at RR 49, that never leave the CPU: with one CPU nothing below them ends a load, or
/// a grace period of RCU.
#[test]
fn dewit_leaves_out_what_takes_the_only_cpu_and_says_why() {
    assert_eq!(args("dewit", 1), ["--all 1 --exclude cpu-online,swap,reboot,softlockup,mutex,hrtimers"]);
    for cpus in [1, 2, 16] {
        let tool = Load::parse("dewit").unwrap().sized(cpus).tools.remove(0);
        let mut excluded: Vec<&str> = tool.args[3].split(',').collect();
        excluded.sort_unstable();
        assert_eq!(tool.left_out.keys().map(String::as_str).collect::<Vec<_>>(), excluded, "{cpus} CPUs");
        assert!(tool.left_out.values().all(|why| !why.is_empty() && why.len() <= 160));
    }
    assert!(Load::parse("full").unwrap().sized(1).tools.iter().all(|t| t.left_out.is_empty()));
}

#[test]
fn every_load_runs_tools_that_there_are() {
    assert!(LOADS.iter().flat_map(|l| l.runs).all(|run| tools::of_role(run.tool).is_some_and(|t| t.role() == t.program())));
}

#[test]
fn none_is_nothing_and_needs_no_tool() {
    let none = Load::parse("none").unwrap();
    assert!(none.is_none() && none.tools().is_empty());
    assert_eq!(Load::parse("full").unwrap().tools(), ["stress-ng", "iperf3"]);
}

#[test]
fn own_arguments_are_passed_as_they_are() {
    let load = Load::parse("stress-ng:--cpu 2 --cpu-method 'a b'").unwrap();
    assert_eq!(load.sized(9).tools[0].args, ["--cpu", "2", "--cpu-method", "a b"]);
    // A guest of the lab has less than 2 GiB of disk, a board may have less. A load that writes too much is ended.
    assert!(load.sized(9).need_mib < 1024);
    assert_eq!(load.to_string(), "stress-ng:--cpu 2 --cpu-method 'a b'");
}

#[test]
fn fio_is_a_load_of_the_disk_with_as_much_room_as_it_may_take() {
    let load = Load::parse("fio:--rw=randwrite --size=1g --numjobs=4").unwrap();
    assert_eq!((load.tools(), load.is_none()), (vec!["fio"], false));
    let sized = load.sized(9);
    assert!(sized.on_disk && sized.need_mib > 4096 && sized.tools[0].workers == 4);
    let e = Load::parse("fio:--rw=write --output=/x").unwrap_err().to_string();
    assert!(e.starts_with("fio argument `--output=/x` is refused: "), "{e}");
}

#[test]
fn what_is_no_load_is_a_usage_error_that_names_those_there_are() {
    for text in [
        "",
        "nonsense",
        "stress-ng",
        "stress-ng:",
        "stress-ng:cpu",
        "stress-ng:--cpu 1 -t 5",
        "fio:",
        "fio:--rw=write --filename=/x",
        "None",
    ] {
        let e = Load::parse(text).unwrap_err();
        assert!(e.is_usage(), "{text}");
    }
    assert!(
        Load::parse("x")
            .unwrap_err()
            .to_string()
            .contains("background, calculation, disk, network, full, dewit, stress-ng:ARGS or fio:ARGS")
    );
}

#[test]
fn a_misspelt_load_has_the_one_that_was_meant_with_its_arguments() {
    let remedy = |text: &str| Load::parse(text).unwrap_err().remedy();
    assert!(remedy("stres-ng:--cpu 1 --vm 2").starts_with("did you mean `stress-ng:--cpu 1 --vm 2`? "));
    assert!(remedy("foi:--rw=read").starts_with("did you mean `fio:--rw=read`? "));
    assert!(remedy("dewti").starts_with("did you mean `dewit`? "));
    assert_eq!(remedy("quiet:x"), "`rtscope loads` lists them");
}

proptest! {
    #[test]
    fn any_text_is_a_load_or_an_error(text in "(stress-ng:|fio:)?\\PC{0,40}", cpus: u32) {
        if let Ok(load) = Load::parse(&text) {
            let _ = load.sized(cpus);
        }
    }
}
