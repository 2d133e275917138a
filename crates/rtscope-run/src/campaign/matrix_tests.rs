//! The matrix: its order, its keys and ids.

use super::*;
use std::collections::BTreeSet;
use std::path::Path;

fn plan(text: &str) -> CampaignPlan {
    let text = format!("name = \"m\"\n{text}\n[[tests]]\ntest = \"timer\"\n");
    CampaignPlan::parse(&text, Path::new("m.toml"), Path::new("/")).unwrap()
}

#[test]
fn targets_alternate_fastest_and_repetitions_slowest() {
    let runs = plan("targets = [\"local\", \"fake:x\"]\nloads = [\"none\", \"disk\"]\nrepetitions = 2").runs();
    let order: Vec<_> = runs.iter().map(|r| (r.repetition, r.load.as_str(), r.target.as_str())).collect();
    let expected = [
        (1, "none", "local"),
        (1, "none", "fake:/x"),
        (1, "disk", "local"),
        (1, "disk", "fake:/x"),
        (2, "none", "local"),
        (2, "none", "fake:/x"),
        (2, "disk", "local"),
        (2, "disk", "fake:/x"),
    ];
    assert_eq!(order, expected);
}

#[test]
fn runs_in_virtual_time_come_first_with_a_seed_for_each_repetition() {
    let runs = plan("targets = [\"local\", \"lab:k\"]\nrepetitions = 2\nseed = 5").runs();
    let order: Vec<_> = runs.iter().map(|r| (r.target.as_str(), r.clock, r.seed)).collect();
    let (host, virt) = (Clock::Host, Clock::Virtual);
    assert_eq!(order, [("lab:k", virt, Some(5)), ("lab:k", virt, Some(6)), ("local", host, None), ("local", host, None)]);
    let runs = plan("targets = [\"lab:k\"]\nclock = \"host\"").runs();
    assert!(runs[0].is_exclusive() && runs[0].seed == Some(1));
}

/// Journals and archives hold keys and ids: a new version of rtscope must make the same ones.
#[test]
fn keys_and_ids_stay_what_they_are() {
    // Runs taken before time models existed count as model 1.
    let plan = plan("targets = [\"lab:k\"]\nmodels = [1]");
    let run = &plan.runs()[0];
    assert_eq!(
        run.key,
        "{\"target\":\"lab:k\",\"clock\":\"virtual\",\"load\":\"none\",\"test\":{\"test\":\"timer\",\"space\":\"user\",\
         \"interval\":1000000,\"duration\":10000000000,\"loops\":null,\"policy\":\"fifo\",\"priority\":95,\"threads\":null,\
         \"affinity\":null,\"migrate\":false,\"distance\":0,\"priospread\":false,\"breaktrace\":null,\"no-mlockall\":false,\
         \"no-dma-latency\":false,\"worst\":32},\"repetition\":1,\"seed\":1}"
    );
    assert_eq!(hash(["a", "bc"]).len(), 64);
    assert_ne!(hash(["a", "bc"]), hash(["ab", "c"]));
    assert_eq!(run.id("m", &plan.digest()), "m-419c59db3b31e59f");
}

/// The key holds the options that were chosen, by their flags' names, in an order that never changes.
#[test]
fn keys_of_tests_over_lines_stay_what_they_are() {
    let text = r#"
name = "m"
targets = ["local"]
[[tests]]
test = "response"
loops = 5
affinity = "0,2-3"
answer = "fpga:/dev/ttyUSB1"
interval-seed = 4
pulse = "20us"
both-edges = true
active-low = true
min-width = "1us"
timeout = "500us"
warmup = 3
calibrate = ""
dut = "own"
dut-in = "gpio:a/1"
dut-out = "gpio:a/2"
inject = "slow=1ms/9"
"#;
    let plan = CampaignPlan::parse(text, Path::new("m.toml"), Path::new("/")).unwrap();
    let run = &plan.runs()[0];
    assert_eq!(
        run.key,
        concat!(
            r#"{"target":"local","clock":"host","load":"none","test":{"test":"response","space":"user","interval":1000000,"#,
            r#""duration":null,"loops":5,"policy":"fifo","priority":95,"threads":null,"affinity":[0,2,3],"migrate":false,"#,
            r#""distance":0,"priospread":false,"breaktrace":null,"no-mlockall":false,"no-dma-latency":false,"worst":32,"#,
            r#""answer":"fpga:/dev/ttyUSB1","interval-seed":4,"pulse":20000,"both-edges":true,"active-low":true,"#,
            r#""min-width":1000,"timeout":500000,"warmup":3,"calibrate":"","dut":"own","dut-in":"gpio:a/1","#,
            r#""dut-out":"gpio:a/2","inject":{"delay":0,"slow":1000000,"slow_every":9,"drop_every":0,"double_every":0,"#,
            r#""skew_ppm":0}},"repetition":1}"#,
        )
    );
    assert_eq!(run.id("m", &plan.digest()), "m-9243bc6d25c82794");
}

#[test]
fn each_run_in_virtual_time_is_taken_in_each_model() {
    let of = |text: &str| {
        let plan = plan(text);
        (plan.runs().iter().map(|r| (r.target.clone(), r.model.map(TimeModel::number))).collect::<Vec<_>>(), plan.digest())
    };
    let (usual, digest) = of("targets = [\"lab:k\"]");
    assert_eq!(usual, [("lab:k".to_owned(), Some(2))]);
    assert_eq!(of("targets = [\"lab:k\"]\nmodels = [2]").1, digest);
    assert_ne!(of("targets = [\"lab:k\"]\nmodels = [1]").1, digest);
    let (both, other) = of("targets = [\"lab:k\", \"local\"]\nmodels = [2, 1]");
    assert_eq!(both.iter().map(|r| r.1).collect::<Vec<_>>(), [Some(2), Some(1), None]);
    assert_eq!(of("targets = [\"local\", \"lab:k\"]\nmodels = [1, 2]").1, other, "the order does not count");
    // No instructions are counted in the host's time.
    assert_eq!(of("targets = [\"lab:k\"]\nclock = \"host\"").0[0].1, None);
}

#[test]
fn every_run_has_its_own_key_and_an_id_that_records_may_have() {
    let plan = plan("targets = [\"local\", \"lab:a\", \"lab:b\"]\nloads = [\"none\", \"stress-ng:--cpu 1\"]\nrepetitions = 50");
    let (runs, digest) = (plan.runs(), plan.digest());
    let keys: BTreeSet<_> = runs.iter().map(|r| &r.key).collect();
    let ids: BTreeSet<_> = runs.iter().map(|r| r.id("a-name-as-long-as-a-campaign-may-have-it", &digest)).collect();
    assert_eq!((runs.len(), keys.len(), ids.len()), (300, 300, 300));
    assert!(ids.iter().all(|id| id.len() <= 80 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')));
}
