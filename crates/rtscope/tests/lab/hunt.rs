//! Hunts in the lab: the worst load is found, comes again to the nanosecond, and is explained.

use super::{Lab, RT, STOCK, wanted};
use serde_json::Value;
use std::fs;
use std::time::Instant;

/// `null` writes to /dev/null, `klog` reads the kernel's log in one go.
const STRESSORS: &str = "null,klog";

fn hunt(lab: &Lab, words: &[&str]) -> Value {
    let target = format!("lab:{STOCK}");
    let words = [&["hunt", &target, "--trial", "50ms", "--budget", "5m", "--json"], words].concat();
    serde_json::from_str(&lab.run(&words).ends_with(0).out).unwrap()
}

#[test]
fn the_worst_of_two_is_found_and_comes_again() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let found = hunt(&lab, &["--stressors", STRESSORS, "-o", "worst.toml"]);
    let first = &found["ranking"][0];
    assert!(first["load"].as_str().unwrap().contains("klog"), "{found}");
    assert_eq!((&found["again"]["same"], &found["again"]["max"]), (&true.into(), &first["max"]), "{found}");
    assert_eq!((found["stressors"].as_u64(), found["alone"].as_array().unwrap().len()), (Some(2), 2), "{found}");
    assert!(found["failed"].as_object().unwrap().is_empty(), "{found}");
    let max = first["max"].as_u64().unwrap();
    let sentence = found["explanation"].as_str().unwrap();
    assert!(sentence.starts_with(&format!("{}.{:03} us: ", max / 1000, max % 1000)), "{sentence}");
    // The plan and the command give the same figure.
    let status: Value = serde_json::from_str(&lab.line("campaign run worst.toml --json").ends_with(0).out).unwrap();
    assert_eq!(status["runs"][0]["max"], first["max"], "{status}");
    let command = found["command"].as_str().unwrap();
    let (words, load) = command.split_once(" --load '").unwrap();
    let words: Vec<&str> = words.split(' ').skip(1).chain(["--json", "--load", load.trim_end_matches('\'')]).collect();
    assert_eq!(lab.run(&words).ends_with(0).record().distributions()[0].max(), Some(max));
    // So does its name, and the same name in a plan for both kernels.
    let again = [&words[..words.len() - 1], &["worst"]].concat();
    assert_eq!(lab.run(&again).ends_with(0).record().distributions()[0].max(), Some(max));
    let pinned = [&words[..words.len() - 1], &[found["name"].as_str().unwrap()]].concat();
    assert_eq!(lab.run(&pinned).ends_with(0).record().parts().load, load.trim_end_matches('\''));
    let plan = format!(
        "name = \"both\"\ntargets = [\"lab:{STOCK}\", \"lab:{RT}\"]\nloads = [\"worst\"]\n[[tests]]\ntest = \"timer\"\nduration = \"50ms\"\n"
    );
    fs::write(lab.0.path("both.toml"), plan).unwrap();
    lab.line("campaign status both.toml").ends_with(2).complains(&["both.toml:3: ", "no hunt", RT]);
    // Taken up again, it has everything.
    let trials = |v: &Value| v["trials"].as_u64().unwrap();
    let begun = Instant::now();
    let again = hunt(&lab, &["--stressors", STRESSORS]);
    println!("again after {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!((trials(&again), &again["ranking"]), (trials(&found), &found["ranking"]));
}

#[test]
fn a_hunt_against_another_kernel_ranks_by_the_difference() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let found = hunt(&lab, &["--stressors", STRESSORS, "--method", "sweep", "--against", &format!("lab:{RT}")]);
    let ranking = found["ranking"].as_array().unwrap().iter();
    let figures: Vec<[u64; 2]> = ranking.map(|r| ["max", "against"].map(|name| r[name].as_u64().unwrap())).collect();
    let by_difference = figures
        .is_sorted_by(|[a, other], [b, another]| i128::from(*a) - i128::from(*other) >= i128::from(*b) - i128::from(*another));
    assert!(figures.len() >= 2 && by_difference, "{found}");
    let [max, other] = figures[0];
    assert!(found["ranking"][0]["load"].as_str().unwrap().contains("klog") && max > 2 * other, "{found}");
}
