//! Plans: what is read, what is refused at which line, and which plans are the same campaign.

use super::*;
use crate::lines::{dut_address, take_dut};
use proptest::prelude::*;
use rtscope_record::{Handler, Nanos, Settings, Shape};

pub(crate) fn parse(text: &str) -> Result<CampaignPlan, CampaignPlanError> {
    CampaignPlan::parse(text, Path::new("plan.toml"), Path::new("/plans"))
}

const PLAN: &str = r#"
name = "stock-vs-rt"
title = "Two kernels"
targets = ["lab:debian/6.12/amd64", "lab:debian/6.12-rt/amd64"]
loads = ["none", "disk"]
repetitions = 2
jobs = 3
[[tests]]
test = "timer"
interval = "200us"
duration = "5s"
priority = 90
affinity = "0,2-3"
no-mlockall = true
"#;

#[test]
fn each_set_of_settings_is_a_run_of_its_own() {
    let tuned = |tune: &str| parse(&PLAN.replace("jobs = 3", &format!("tune = {tune}")));
    let plan = tuned(r#"["", "thp=never preempt=full"]"#).unwrap();
    let runs = plan.runs();
    assert_eq!(runs.len(), 2 * 2 * 2 * 2);
    assert_eq!(runs[1].place(), "lab:debian/6.12/amd64 with preempt=full thp=never");
    // Runs with nothing set stay the runs that they were.
    let before: Vec<_> = parse(PLAN).unwrap().runs().into_iter().map(|r| r.key).collect();
    let plain: Vec<_> = runs.into_iter().filter(|r| r.tuning.is_empty()).map(|r| r.key).collect();
    assert_eq!(plain, before);
    for (tune, told) in [
        (r#"["preempt=most"]"#, "plan.toml:7: `most` is not a value of preempt"),
        (r#"["thp=never", "thp=never"]"#, "plan.toml:7: the settings `thp=never` are named twice"),
        ("[]", "plan.toml:7: there are no settings"),
    ] {
        let e = tuned(tune).unwrap_err().to_string();
        assert!(e.contains(told), "{e}");
    }
}

#[test]
fn a_plan_is_read() {
    let plan = parse(PLAN).unwrap();
    assert_eq!((plan.name.as_str(), plan.title.as_deref()), ("stock-vs-rt", Some("Two kernels")));
    assert_eq!((plan.clock, plan.repetitions, plan.jobs.map(NonZeroU32::get), plan.seed), (Clock::Virtual, 2, Some(3), 1));
    assert_eq!(plan.runs().len(), 2 * 2 * 2);
    let test = &plan.tests[0];
    assert_eq!(test.label(), "timer 200us 5s");
    let s = test.settings("local", &[0, 1, 2, 3], vec!["rtscope".into()]).unwrap();
    assert_eq!((s.interval, s.duration, s.loops), (Nanos(200_000), Some(Nanos(5_000_000_000)), None));
    assert_eq!((s.threads, s.cpus, s.priority, s.mlockall, s.hold_dma_latency), (3, vec![0, 2, 3], 90, false, true));
}

#[test]
fn what_is_left_out_is_as_in_measure() {
    let plan = parse("name = \"a\"\ntargets = [\"local\", \"fake:x/y\"]\ntests = [{ test = \"timer\" }]").unwrap();
    assert_eq!(plan.targets, ["local", "fake:/plans/x/y"]);
    assert_eq!((plan.loads.as_slice(), plan.jobs, plan.repetitions), ([String::from("none")].as_slice(), None, 1));
    assert!(plan.runs().iter().all(|r| r.clock == Clock::Host && r.seed.is_none()));
    let s = plan.tests[0].settings("local", &[4, 5], Vec::new()).unwrap();
    let same = Settings { duration: Some(Nanos(10 * Nanos::PER_SEC)), threads: 2, cpus: vec![4, 5], ..Settings::default() };
    assert_eq!(s, same);
    let with =
        |words: &str| parse(&format!("name = \"a\"\ntargets = [\"local\"]\ntests = [{{ test = \"timer\", {words} }}]")).unwrap();
    let s =
        with("migrate = true, threads = 7, loops = 9, policy = \"other\"").tests[0].settings("local", &[0, 1], Vec::new()).unwrap();
    assert_eq!((s.threads, s.cpus, s.migrate, s.loops, s.duration, s.priority), (7, vec![], true, Some(9), None, 0));
    assert!(with("policy = \"deadline\"").tests[0].settings("local", &[0], Vec::new()).unwrap().migrate);
}

#[test]
fn tests_over_lines_and_in_the_kernel_are_read_as_measure_takes_them() {
    let plan = parse(
        r#"
name = "adam"
targets = ["lab:debian/6.12/amd64", "lab:debian/6.12-rt/amd64"]
tests = [
    { test = "response", loops = 1000, interval-max = "10ms" },
    { test = "response", space = "kernel", handler = "threaded", timeout = "500us", inject = "delay=2us" },
    { test = "periodic", space = "kernel", duration = "1s" },
    { test = "sustained", shortest = "20us" },
    { test = "timer", space = "kernel" },
    { test = "response", answer = "fpga:/dev/ttyUSB1", pulse = "20us", both-edges = true, active-low = true, calibrate = "" },
]
"#,
    )
    .unwrap();
    let of = |i: usize| plan.tests[i].settings(&plan.targets[0], &[0], Vec::new()).unwrap();
    let lines = |i: usize| of(i).lines.unwrap();
    assert_eq!((lines(0).interval_max, lines(0).dut.unwrap().priority), (Some(Nanos(10_000_000)), 95));
    assert_eq!((lines(1).timeout, lines(1).dut.unwrap().inject.delay), (Nanos(500_000), Nanos(2_000)));
    assert_eq!((of(1).handler, of(4).handler), (Some(Handler::Threaded), Some(Handler::Hard)));
    assert_eq!((lines(2).stimulus, lines(3).shortest, of(4).lines), (None, Some(Nanos(20_000)), None));
    let pulses = lines(5);
    let shape = Shape { pulse: Some(Nanos(20_000)), both_edges: true, active_low: true, ..Shape::default() };
    assert_eq!(pulses.shape, shape);
    assert_eq!((pulses.null_wire, pulses.dut), (Some("fpga:/dev/ttyUSB1:stimulus".into()), None));
    assert_eq!(plan.tests[1].label(), "response kernel threaded 1ms 10s");
    // Omitted options are not part of a run's key, so plans from before the options of lines existed keep their keys.
    let timer = parse("name = \"a\"\ntargets = [\"local\"]\ntests = [{ test = \"timer\" }]").unwrap();
    let key = &timer.runs()[0].key;
    assert!(!["stimulus", "dut", "handler", "inject", "lines", "pulse", "edges", "low"].iter().any(|k| key.contains(k)), "{key}");
}

/// A plan for a DUT on a board, with this address and these further keys of the plan and of the test.
fn on_a_board(address: &str, of_plan: &str, of_test: &str) -> Result<CampaignPlan, CampaignPlanError> {
    parse(&format!(
        "name = \"a\"\ntargets = [\"local\"]\n{of_plan}\n[[tests]]\ntest = \"response\"\nstimulus = \"gpio:c/1\"\nanswer = \"gpio:c/2\"\n\
         dut = \"{address}\"\ndut-in = \"gpio:d/3\"\ndut-out = \"gpio:d/4\"\nloops = 5\n{of_test}\n"
    ))
}

#[test]
fn a_plan_names_the_machine_of_its_dut_as_measure_does() {
    let plan = on_a_board("ssh://root@board", "loads = [\"disk\"]", "").unwrap();
    let test = &plan.tests[0];
    assert_eq!(test.label(), "response 1ms 5 loops, DUT on ssh:root@board");
    let mut settings = test.settings("local", &[0, 1], Vec::new()).unwrap();
    let at = dut_address(&test.lines, "local").unwrap().map(|a| a.to_string());
    let dut = take_dut(&test.lines, test.test, &mut settings).unwrap();
    assert_eq!((at.as_deref(), dut.settings.input.as_deref(), dut.wave), (Some("ssh:root@board"), Some("gpio:d/3"), None));
    // The probe here runs no DUT, and pins only the instrument.
    assert_eq!((settings.lines.unwrap().dut, settings.threads, settings.cpus), (None, 1, vec![1]));
    assert!(!plan.runs()[0].has_its_load_here() && parse(PLAN).unwrap().runs().iter().all(|r| !r.has_its_load_here()));
    // Another machine is another campaign; another way to write its address is not.
    let digest = |address| on_a_board(address, "loads = [\"disk\"]", "").unwrap().digest();
    assert_eq!(digest("ssh:root@board"), plan.digest());
    assert_ne!(digest("ssh:root@other"), plan.digest());
    assert!(plan.runs()[0].key.contains(r#""dut":"ssh:root@board""#), "{}", plan.runs()[0].key);
}

#[test]
fn a_dut_elsewhere_is_refused_as_measure_refuses_it() {
    for (address, of_plan, of_test, line, words) in [
        ("ssh:", "", "", 4, "names no machine"),
        ("board", "", "", 8, "it is own, none, wire, or ssh://HOST"),
        ("ssh:board", "", "space = \"kernel\"", 4, "started over ssh is in user space"),
        ("ssh:board", "tune = [\"thp=never\"]", "", 4, "the machine of the DUT is not set up from here"),
    ] {
        let told = on_a_board(address, of_plan, of_test).unwrap_err().to_string();
        assert!(
            (told.contains(&format!("plan.toml:{line}: ")) || told.contains(&format!("line {line},"))) && told.contains(words),
            "{told}"
        );
    }
    let lab = "name = \"a\"\ntargets = [\"lab:k\"]\n[[tests]]\ntest = \"response\"\ndut = \"ssh:board\"\n";
    let told = parse(lab).unwrap_err().to_string();
    assert!(told.starts_with("plan.toml:3: ssh:board has no wire into a virtual machine"), "{told}");
}

/// Each change makes reading fail with this line number and these words.
#[test]
fn what_is_wrong_is_told_with_its_line() {
    let good = "name = \"a\"\ntargets = [\"local\"]\nloads = [\"none\"]\nrepetitions = 1\n[[tests]]\ntest = \"timer\"\n";
    parse(good).unwrap();
    for (from, to, line, words) in [
        ("\"a\"", "\"a b\"", 1, "`a b` is not a name"),
        ("\"a\"", "\"\"", 1, "is not a name"),
        ("name = \"a\"", "nam = \"a\"", 1, "unknown field `nam`"),
        ("[\"local\"]", "[]", 2, "there is no target"),
        ("[\"local\"]", "[\"locl\"]", 2, "`locl` is not a target"),
        ("[\"local\"]", "[\"lab:\"]", 2, "is not a target"),
        ("[\"local\"]", "[\n\"local\",\n\"local\"]", 4, "the target `local` is named twice"),
        ("[\"local\"]", "[\"local\"]\nclock = \"virtual\"", 3, "only the lab has virtual time"),
        ("[\"local\"]", "[\"local\"]\nmodels = [2]", 3, "only the lab's virtual time has models"),
        ("[\"local\"]", "[\"lab:k\"]\nmodels = []", 3, "only the lab's virtual time has models"),
        ("[\"local\"]", "[\"lab:k\"]\nmodels = [9]", 3, "`9` is not a time model"),
        ("[\"local\"]", "[\"lab:k\"]\nmodels = [2, 2]", 3, "is named twice"),
        ("[\"local\"]", "[\"local\"]\nclock = \"wall\"", 3, "unknown variant `wall`"),
        ("[\"none\"]", "[\"nonsense\"]", 3, "`nonsense` is not a load"),
        ("[\"none\"]", "[]", 3, "there is no load"),
        ("[\"none\"]", "[\"disk\", \"disk\"]", 3, "the load `disk` is named twice"),
        ("= 1", "= 0", 4, "repetitions = 0"),
        ("= 1", "= 4000000000", 4, "at most 100000 runs"),
        ("= 1", "= 1\njobs = 0", 5, "nonzero"),
        ("\"timer\"", "\"response\"", 5, "no line to watch is named"),
        ("\"timer\"", "\"timer\"\nhandler = \"hard\"", 5, "no handler to choose"),
        ("\"timer\"", "\"timer\"\nhandler = \"warm\"", 7, "`warm` is not a handler"),
        ("\"timer\"", "\"timer\"\nwarmup = 3", 5, "`timer` has no lines"),
        ("\"timer\"", "\"response\"\nanswer = \"tin:can\"", 5, "names no line"),
        ("\"timer\"", "\"timer\"\nspace = \"kernel\"\nthreads = 2", 5, "in user space only"),
        ("\"timer\"", "\"nonsense\"", 6, "unknown variant"),
        ("\"timer\"", "\"timer\"\nduration = \"5\"", 7, "has no known unit"),
        ("\"timer\"", "\"timer\"\nduration = \"0s\"", 5, "above zero"),
        ("\"timer\"", "\"timer\"\nduration = \"1s\"\nloops = 5", 5, "two ends"),
        ("\"timer\"", "\"timer\"\ninterval = \"0us\"", 5, "above zero"),
        ("\"timer\"", "\"timer\"\npriority = 100", 5, "priority 100"),
        ("\"timer\"", "\"timer\"\npriority = 256", 7, "invalid value"),
        ("\"timer\"", "\"timer\"\npolicy = \"idle\"", 7, "not a scheduling policy"),
        ("\"timer\"", "\"timer\"\naffinity = \"2-1\"", 7, "not a list of CPUs"),
        ("\"timer\"", "\"timer\"\nworst = 10001", 5, "more than 10000"),
        ("\"timer\"", "\"timer\"\nload = \"disk\"", 7, "unknown field `load`"),
        ("\"timer\"", "\"timer\"\n[[tests]]\ntest = \"timer\"\nduration = \"10s\"", 7, "this test is there already"),
        ("[[tests]]\ntest = \"timer\"", "tests = []", 5, "there is no test"),
    ] {
        let bad = good.replacen(from, to, 1);
        let e = parse(&bad).expect_err(&bad);
        let told = e.to_string();
        let at = match &e {
            CampaignPlanError::Syntax { .. } => format!("at line {line},"),
            _ => format!("plan.toml:{line}: "),
        };
        assert!(told.contains(&at) && told.contains(words), "{bad}\n=> {told}");
    }
}

#[test]
fn a_misspelt_word_is_told_with_what_was_meant() {
    for (targets, loads, meant) in [
        ("locl", "none", "did you mean `local`?"),
        ("root@board", "none", "did you mean `ssh:root@board`?"),
        ("ssh:", "none", "write ssh:[USER@]HOST"),
        ("local", "dsik", "did you mean `disk`?"),
    ] {
        let e = parse(&format!("name = \"a\"\ntargets = [\"{targets}\"]\nloads = [\"{loads}\"]\ntests = [{{ test = \"timer\" }}]"))
            .unwrap_err();
        assert!(e.is_usage() && e.remedy().starts_with(meant), "{e}: {}", e.remedy());
    }
}

#[test]
fn the_digest_is_of_the_runs_and_the_name() {
    let digest = |text: &str| parse(text).unwrap().digest();
    let same = [
        PLAN.replace("jobs = 3", "jobs = 1"),
        PLAN.replace("title = \"Two kernels\"", "# a remark"),
        PLAN.replace("[\"none\", \"disk\"]", "[\"disk\",\"none\"]"),
        PLAN.replace("priority = 90", "priority = 90\npolicy = \"fifo\""),
        PLAN.replace("200us", "0.2ms"),
    ];
    for text in same {
        assert_eq!(digest(&text), digest(PLAN), "{text}");
    }
    let other = [
        PLAN.replace("stock-vs-rt", "stock-vs-rt-2"),
        PLAN.replace("repetitions = 2", "repetitions = 3"),
        PLAN.replace("repetitions = 2", "seed = 7\nrepetitions = 2"),
        PLAN.replace("\"disk\"", "\"network\""),
        PLAN.replace("priority = 90", "priority = 91"),
        PLAN.replace("title", "clock = \"host\"\ntitle"),
    ];
    for text in other {
        assert_ne!(digest(&text), digest(PLAN), "{text}");
    }
}

#[test]
fn a_word_for_hunted_loads_becomes_these_loads() {
    let text =
        "name = \"h\"\ntargets = [\"local\"]\nloads = [\"none\", \"worst\"]\n[[tests]]\ntest = \"timer\"\nduration = \"1s\"\n";
    let parse = |hunted: &[&str]| {
        let hunted: Vec<String> = hunted.iter().map(|load| (*load).to_owned()).collect();
        let means = |word: &str, targets: &[String]| {
            assert_eq!(targets, ["local"]);
            if hunted.is_empty() { Err("no hunt was done".into()) } else { Ok((word == "worst").then(|| hunted.clone())) }
        };
        CampaignPlan::parse_with(text, Path::new("plan.toml"), Path::new("/"), &means)
    };
    let plan = parse(&["stress-ng:--klog 1", "disk"]).unwrap();
    assert_eq!(plan.loads, ["none", "stress-ng:--klog 1", "disk"]);
    assert!(parse(&["none"]).unwrap_err().to_string().starts_with("plan.toml:3: "));
    assert_eq!(parse(&[]).unwrap_err().to_string(), "plan.toml:3: no hunt was done");
}

#[test]
fn a_file_that_is_none_is_told() {
    let none = |_: &str, _: &[String]| Ok(None);
    assert!(CampaignPlan::read(Path::new("/no/such/plan.toml"), &none).unwrap_err().to_string().contains("/no/such/plan.toml"));
    assert!(CampaignPlan::read(Path::new("/dev"), &none).is_err());
}

/// The plans that come with rtscope are valid.
#[test]
fn the_plans_that_come_along_are_read() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../campaigns");
    let plans: Vec<_> = std::fs::read_dir(dir).unwrap().flatten().map(|e| e.path()).collect();
    assert!(!plans.is_empty());
    for path in plans {
        let plan = CampaignPlan::read(&path, &|_, _| Ok(None)).unwrap();
        assert_eq!(Some(plan.name.as_str()), path.file_stem().and_then(|s| s.to_str()));
    }
}

proptest! {
    #[test]
    fn any_text_is_a_plan_or_an_error(text in "\\PC{0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_damaged_plan_is_read_or_refused(at in 0..PLAN.len(), to in any::<char>(), cut in 0usize..40) {
        let mut text = PLAN.to_owned();
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &to.to_string());
        let _ = parse(&text);
    }
}
