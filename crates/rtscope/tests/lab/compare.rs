//! Whole runs of the lab compared: stock against RT is told apart, RT against RT is not.

use super::{Lab, RT, STOCK, wanted};
use serde_json::Value;

fn campaign(lab: &Lab, name: &str, targets: &str, seed: u64) {
    let text = format!(
        "name = \"{name}\"\ntargets = [{targets}]\nloads = [\"network\"]\nrepetitions = 5\nseed = {seed}\n\
         [[tests]]\ntest = \"timer\"\ninterval = \"200us\"\nduration = \"200ms\"\n"
    );
    let plan = lab.0.file(&format!("{name}.toml"), text);
    lab.run(&["campaign", "run", plan.to_str().unwrap(), "--quiet"]).ends_with(0);
}

/// The words of all rows of a comparison.
fn words(runs: &Value) -> Vec<&str> {
    runs["rows"].as_array().unwrap().iter().map(|r| r["word"].as_str().unwrap()).collect()
}

#[test]
fn five_seeds_a_side_tell_stock_from_rt_and_rt_not_from_rt() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    campaign(&lab, "pair", &format!("\"lab:{STOCK}\", \"lab:{RT}\""), 1);
    let said = lab.line("compare all --fail-if worse --json").ends_with(0);
    let versus: Value = serde_json::from_str(&said.out).unwrap();
    let runs = &versus["blocks"][0]["runs"][0];
    assert_eq!((&runs["load"], &runs["runs"], words(runs)), (&"network".into(), &serde_json::json!([5, 5]), vec!["better"; 5]));
    assert!(runs["rows"].as_array().unwrap().iter().all(|r| r["interval"].is_array()), "{runs}");
    // Five other seeds of RT.
    campaign(&lab, "again", &format!("\"lab:{RT}\""), 6);
    let ids = |name: &str| {
        let list: Value = serde_json::from_str(&lab.line("list --json").ends_with(0).out).unwrap();
        let of = |r: &Value| r["id"].as_str().unwrap().to_owned();
        let rows = list.as_array().unwrap().iter().filter(|r| r["target"].as_str().unwrap().contains("-rt"));
        rows.map(of).filter(|id| id.starts_with(name)).collect::<Vec<_>>().join(",")
    };
    let compare =
        |a: &str, b: &str| -> Value { serde_json::from_str(&lab.run(&["compare", a, b, "--json"]).ends_with(0).out).unwrap() };
    let found = compare(&ids("pair-"), &ids("again-"));
    assert_eq!(words(&found["runs"][0]), vec!["no_difference"; 5]);
    // The same five once more: nothing changed, to the last bit; and together they are five runs, not ten.
    let (again, target) = (ids("again-"), format!("lab:{RT}"));
    let mut words =
        "measure timer -D 200ms -i 200us --load network --repeat 5 --seed 6 --quiet --target".split(' ').collect::<Vec<_>>();
    words.extend([target.as_str(), "--baseline", again.as_str(), "--fail-if", "worse"]);
    let said = lab.run(&words).ends_with(0).out;
    assert!(said.contains("the same to the last bit, seed by seed") && said.ends_with("pass      not worse\n"), "{said}");
    // The id of a measurement begins with its time.
    let found = compare(&ids("pair-"), &format!("{again},{}", ids("2")));
    assert_eq!((&found["runs"][0]["runs"], &found["runs"][0]["again"]), (&serde_json::json!([5, 5]), &serde_json::json!([0, 5])));
}
