//! Plans: what is read, what is refused and where, what makes two of them the same campaign.

use super::*;
use proptest::prelude::*;

pub(crate) fn parse(text: &str) -> Result<Plan, PlanError> {
    Plan::parse(text, Path::new("plan.toml"), Path::new("/plans"))
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
fn a_plan_is_read() {
    let plan = parse(PLAN).unwrap();
    assert_eq!((plan.name.as_str(), plan.title.as_deref()), ("stock-vs-rt", Some("Two kernels")));
    assert_eq!((plan.clock, plan.repetitions, plan.jobs.map(NonZeroU32::get), plan.seed), (Clock::Virtual, 2, Some(3), 1));
    assert_eq!(plan.runs().len(), 2 * 2 * 2);
    let test = &plan.tests[0];
    assert_eq!(test.label(), "timer 200us 5s");
    let s = test.settings(&[0, 1, 2, 3], vec!["rtscope".into()]);
    assert_eq!((s.interval, s.duration, s.loops), (Nanos(200_000), Some(Nanos(5_000_000_000)), None));
    assert_eq!((s.threads, s.cpus, s.priority, s.mlockall, s.hold_dma_latency), (3, vec![0, 2, 3], 90, false, true));
}

#[test]
fn what_is_left_out_is_as_in_measure() {
    let plan = parse("name = \"a\"\ntargets = [\"local\", \"fake:x/y\"]\ntests = [{ test = \"timer\" }]").unwrap();
    assert_eq!(plan.targets, ["local", "fake:/plans/x/y"]);
    assert_eq!((plan.loads.as_slice(), plan.jobs, plan.repetitions), ([String::from("none")].as_slice(), None, 1));
    assert!(plan.runs().iter().all(|r| r.clock == Clock::Host && r.seed.is_none()));
    let s = plan.tests[0].settings(&[4, 5], Vec::new());
    let same = Settings { duration: Some(Nanos(10 * Nanos::PER_SEC)), threads: 2, cpus: vec![4, 5], ..Settings::default() };
    assert_eq!(s, same);
    let with =
        |words: &str| parse(&format!("name = \"a\"\ntargets = [\"local\"]\ntests = [{{ test = \"timer\", {words} }}]")).unwrap();
    let s = with("migrate = true, threads = 7, loops = 9, policy = \"other\"").tests[0].settings(&[0, 1], Vec::new());
    assert_eq!((s.threads, s.cpus, s.migrate, s.loops, s.duration, s.priority), (7, vec![], true, Some(9), None, 0));
    assert!(with("policy = \"deadline\"").tests[0].settings(&[0], Vec::new()).migrate);
}

/// Each of these ends the reading with this line number and these words.
#[test]
fn what_is_wrong_is_told_with_its_line() {
    let good = "name = \"a\"\ntargets = [\"local\"]\nloads = [\"none\"]\nrepetitions = 1\n[[tests]]\ntest = \"timer\"\n";
    parse(good).unwrap();
    for (from, to, line, words) in [
        ("\"a\"", "\"a b\"", 1, "`a b` is no name"),
        ("\"a\"", "\"\"", 1, "is no name"),
        ("name = \"a\"", "nam = \"a\"", 1, "unknown field `nam`"),
        ("[\"local\"]", "[]", 2, "there is no target"),
        ("[\"local\"]", "[\"locl\"]", 2, "`locl` is not a target"),
        ("[\"local\"]", "[\"lab:\"]", 2, "is not a target"),
        ("[\"local\"]", "[\n\"local\",\n\"local\"]", 4, "the target `local` is named twice"),
        ("[\"local\"]", "[\"local\"]\nclock = \"virtual\"", 3, "only the lab has virtual time"),
        ("[\"local\"]", "[\"local\"]\nclock = \"wall\"", 3, "unknown variant `wall`"),
        ("[\"none\"]", "[\"nonsense\"]", 3, "`nonsense` is no load"),
        ("[\"none\"]", "[]", 3, "there is no load"),
        ("[\"none\"]", "[\"disk\", \"disk\"]", 3, "the load `disk` is named twice"),
        ("= 1", "= 0", 4, "repetitions = 0"),
        ("= 1", "= 4000000000", 4, "at most 100000 runs"),
        ("= 1", "= 1\njobs = 0", 5, "nonzero"),
        ("\"timer\"", "\"response\"", 5, "can't be measured by a campaign yet"),
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
            PlanError::Syntax { .. } => format!("at line {line},"),
            _ => format!("plan.toml:{line}: "),
        };
        assert!(told.contains(&at) && told.contains(words), "{bad}\n=> {told}");
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
fn a_file_that_is_none_is_told() {
    assert!(Plan::read(Path::new("/no/such/plan.toml")).unwrap_err().to_string().contains("/no/such/plan.toml"));
    assert!(Plan::read(Path::new("/dev")).is_err());
}

/// The plans that come with rtscope are plans.
#[test]
fn the_plans_that_come_along_are_read() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../campaigns");
    let plans: Vec<_> = std::fs::read_dir(dir).unwrap().flatten().map(|e| e.path()).collect();
    assert!(!plans.is_empty());
    for path in plans {
        let plan = Plan::read(&path).unwrap();
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
