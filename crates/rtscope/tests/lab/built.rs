//! Kernels that are built here: what they differ in, that each boots and says what it is, and what the preemption model does.
//!
//! Compiling takes minutes, so this is left out of `./x test`. `./x kernels` sets `RTSCOPE_BUILD_SOURCE` to what they are built from,
//! `RTSCOPE_BUILD_MODELS` to their preemption models and `RTSCOPE_BUILD_ARCH` to an architecture.

use super::{Lab, Said};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a `.config` sets, read by other means than the program's own.
fn options(path: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(|l| l.strip_prefix("CONFIG_")?.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

/// Names of the options that are not the same in two configurations.
fn changed(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> BTreeSet<String> {
    a.keys().chain(b.keys()).filter(|k| a.get(*k) != b.get(*k)).cloned().collect()
}

#[test]
fn kernels_differ_in_what_is_printed_and_show_the_effect() {
    let wish = |name: &str| std::env::var(name).ok();
    let Some(source) = wish("RTSCOPE_BUILD_SOURCE") else {
        println!("left out: compiling takes minutes; ./x kernels does it");
        return;
    };
    let models = wish("RTSCOPE_BUILD_MODELS").unwrap_or("voluntary,rt".into());
    let arch = wish("RTSCOPE_BUILD_ARCH").unwrap_or("amd64".into());
    let lab = Lab::new();
    let vary = format!("PREEMPT={models}");
    let words = ["kernel", "build", &source, "--name", "built", "--arch", &arch, "--vary", &vary];
    // With its progress on the terminal: it is minutes until it ends.
    assert!(lab.command(&words).status().unwrap().success());
    let set: Value = serde_json::from_str(&lab.run(&[&words[..], &["--json"]].concat()).ends_with(0).out).unwrap();
    let kernels = set["kernels"].as_array().unwrap();
    let models: Vec<&str> = models.split(',').collect();
    assert_eq!(kernels.len(), models.len());

    // They differ in the printed options only.
    let cached: Vec<Value> = serde_json::from_str(&lab.line("lab kernels --json").ends_with(0).out).unwrap();
    let config = |k: &Value| {
        let found = cached.iter().find(|c| c["name"] == k["kernel"]["name"]).unwrap();
        options(found["kernel"]["config"].as_str().unwrap())
    };
    let configs: Vec<_> = kernels.iter().map(config).collect();
    for (nth, difference) in set["differences"].as_array().unwrap().iter().enumerate() {
        let printed = difference["options"].as_array().unwrap().iter().map(|o| o["option"].as_str().unwrap().to_owned()).collect();
        assert_eq!(changed(&configs[0], &configs[nth + 1]), printed, "{} and {}", models[0], models[nth + 1]);
    }

    // Each boots, with a complete guest and its own release.
    for (model, kernel) in models.iter().zip(kernels) {
        let name = format!("own/built-{model}/{arch}");
        let booted: Value = serde_json::from_str(&lab.line(&format!("lab boot {name} --json")).ends_with(0).out).unwrap();
        assert_eq!((&booted["release"], &booted["problems"]), (&kernel["kernel"]["release"], &serde_json::json!([])), "{name}");
        assert!(booted["release"].as_str().unwrap().ends_with(&format!("-{model}")), "{booted}");
    }

    // Five seeds of each, as campaigns/built-models-lab.toml.
    let targets: Vec<_> = models.iter().map(|model| format!("\"lab:own/built-{model}/{arch}\"")).collect();
    let plan = format!(
        "name = \"built\"\ntargets = [{}]\nclock = \"virtual\"\nseed = 1\nrepetitions = 5\nloads = [\"network\"]\n\
         [[tests]]\ntest = \"timer\"\ninterval = \"1ms\"\nduration = \"1s\"\npriority = 95\n",
        targets.join(", ")
    );
    lab.0.file("built.toml", plan);
    lab.line("campaign run built.toml").ends_with(0);
    let mut compare = lab.command(&["compare", "campaign=built", "--kernels"]);
    println!("{}", Said::from(compare.env("COLUMNS", "170").output().unwrap()).ends_with(0).out);
    let records = lab.0.records();
    assert_eq!(records.len(), 5 * models.len());
    let mut worst: BTreeMap<&str, u64> = BTreeMap::new();
    for r in &records {
        let kernel = &r.parts().lab.as_ref().unwrap().kernel;
        let model = models.iter().find(|m| *kernel == format!("own/built-{m}/{arch}")).unwrap();
        // The model is read in the guest, from the kernel's own configuration.
        let said = serde_json::to_value(r.parts().system.kernel.preemption).unwrap();
        assert_eq!(said, **model, "{kernel}");
        let max = r.merged().unwrap().unwrap().max().unwrap();
        worst.entry(model).and_modify(|w| *w = max.max(*w)).or_insert(max);
    }
    if worst.contains_key("rt") && models[0] != "rt" {
        assert!(worst["rt"] < worst[models[0]], "{worst:?} ns");
    }
}
