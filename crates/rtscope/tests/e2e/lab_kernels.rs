//! `lab kernels` with a kernel of the user's own; needs no network.

use crate::world::World;
use serde_json::Value;

#[test]
fn an_empty_cache_lists_what_there_is() {
    let w = World::new();
    insta::assert_snapshot!("lab-kernels", w.line("lab kernels").ends_with(0).out);
    assert_eq!(w.line("lab kernels list --json").ends_with(0).out, w.line("lab kernels --json").ends_with(0).out);
}

#[test]
fn an_own_kernel_goes_in_and_out() {
    let w = World::new();
    w.file("bzImage", "Linux version 6.15.0-mine (me)");
    w.file("kernel.config", "CONFIG_PREEMPT_RT=y\n");
    let added = w.line("lab kernels add mine --arch armhf --vmlinuz bzImage --config kernel.config").ends_with(0).out;
    assert!(added.starts_with("own/mine/armhf 6.15.0-mine own sha256 "), "{added}");
    let row = |w: &World| {
        let all: Vec<Value> = serde_json::from_str(&w.line("lab kernels --json").ends_with(0).out).unwrap();
        all.into_iter().find(|r| r["name"] == "own/mine/armhf")
    };
    let kernel = row(&w).unwrap()["kernel"].clone();
    assert_eq!((&kernel["rt"], &kernel["release"], &kernel["version"]), (&true.into(), &"6.15.0-mine".into(), &Value::Null));
    let vmlinuz = kernel["vmlinuz"].as_str().unwrap();
    assert!(vmlinuz.starts_with(w.path("cache").to_str().unwrap()));
    w.line("lab kernels verify").ends_with(0);
    std::fs::write(vmlinuz, "linux version 6.15.0-mine (me)").unwrap();
    w.line("lab kernels verify").ends_with(3).complains(&["damaged", "not what was fetched"]);
    w.line("lab kernels remove own/mine/armhf").ends_with(0);
    assert!(row(&w).is_none());
}

#[test]
fn the_cache_is_where_it_is_said_to_be() {
    let w = World::new();
    w.file("bzImage", "Linux version 6.15.0 (me)");
    let said: crate::world::Said = w
        .command(&["lab", "kernels", "add", "x", "--vmlinuz", "bzImage"])
        .env("RTSCOPE_CACHE", w.path("c"))
        .output()
        .unwrap()
        .into();
    said.ends_with(0);
    assert!(w.path("c/kernels/own/x").is_dir() && !w.path("cache/rtscope").exists());
    let said: crate::world::Said = w.command(&["lab", "kernels"]).env("RTSCOPE_CACHE", "c").output().unwrap().into();
    said.ends_with(2).complains(&["RTSCOPE_CACHE"]);
}
