//! Hunts on this machine, and what is refused.

use crate::world::{World, privileged};
use serde_json::Value;

#[test]
fn a_hunt_on_this_machine_keeps_its_trials() {
    if !privileged() {
        return; // every trial would be INVALID
    }
    let world = World::new();
    let said = world.line("hunt local --stressors sleep,get --trial 400ms --limit 90s --budget 2m --json -o worst.toml");
    let said = said.ends_with(0);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let trials = found["trials"].as_u64().unwrap();
    assert!(trials >= 4 && found["ranking"].as_array().unwrap().len() >= 2, "{found}");
    assert_eq!(found["alone"], serde_json::json!(["get", "sleep"]), "{found}");
    let kept = world.line("list --json").ends_with(0).out;
    // On a busy machine one may be INVALID: kept, but no trial.
    let invalid = found["failed"].as_object().unwrap().values().filter(|why| why.as_str().unwrap().starts_with("INVALID")).count();
    assert_eq!(kept.matches("\"id\"").count() as u64, trials + invalid as u64, "every trial is a record: {found}");
    let plan = std::fs::read_to_string(world.path("worst.toml")).unwrap();
    assert!(plan.contains("targets = [\"local\"]") && plan.contains("stress-ng:--"), "{plan}");
    world.line("campaign status worst.toml").ends_with(0);
}

#[test]
fn what_can_not_be_hunted_is_refused() {
    let world = World::new();
    for (words, why) in [
        ("hunt fake:x", "can't be hunted on"),
        ("hunt local --against local", "another target"),
        ("hunt local --against lab:debian/6.12", "another target in the same kind of time"),
        ("hunt local --stressors --reboot", "unexpected argument"),
        ("hunt local --stressors a;b", "not a stressor's name"),
        ("hunt local --stressors nothing-like-it", "has no stressor `nothing-like-it`"),
        ("hunt local --trial 500us", "at least four intervals"),
        ("hunt local --interval 0", ""),
        ("hunt lab:nothing", ""),
    ] {
        world.line(words).ends_with(2).complains(&[why]);
    }
    let said = world.line("hunt local --stressors cpu-online --trial 100ms --budget 20s");
    said.ends_with(3).complains(&["no trial gave a figure"]);
}
