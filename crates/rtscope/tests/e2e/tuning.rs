//! Machines set up for a run: what was set is back, whatever ends the run. Done with transparent huge pages, which no other test looks at.

use crate::sshd::{Sshd, missing};
use crate::world::{World, codes, descendants, end_of, root, signal, skip, wait_for};
use std::fs;
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// What is chosen.
fn chosen() -> String {
    let text = fs::read_to_string(FILE).unwrap();
    text.split_once('[').unwrap().1.split_once(']').unwrap().0.to_owned()
}

/// The machine's own choice, and another; held by one test at a time, as a machine is set up by one run at a time.
pub(crate) struct Choice {
    own: String,
    other: &'static str,
    _turn: MutexGuard<'static, ()>,
}

/// `None` where this machine lets nothing be set.
pub(crate) fn settable() -> Option<Choice> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if !root() || !Path::new(FILE).exists() || fs::OpenOptions::new().write(true).open(FILE).is_err() {
        skip("this machine lets no transparent huge pages be set");
        return None;
    }
    let own = chosen();
    let other = if own == "never" { "always" } else { "never" };
    Some(Choice { own, other, _turn: turn })
}

fn journal(w: &World) -> usize {
    fs::read_dir(w.path("state/rtscope/journal")).map_or(0, Iterator::count)
}

/// A run without end under `choice`; returns the process that keeps the setting, too.
fn under_way(w: &World, choice: &Choice) -> (Child, u32) {
    let child = w.start(&format!("measure timer -D 1h -a 0 --tune thp={}", choice.other));
    let keeper = wait_for("the setting", || (chosen() == choice.other).then(|| keeper_of(child.id())).flatten());
    (child, keeper)
}

fn keeper_of(rtscope: u32) -> Option<u32> {
    let named = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "rt-tuning-guard");
    descendants(rtscope).into_iter().find(named)
}

#[test]
fn a_machine_is_set_up_for_a_run_and_put_back() {
    let Some(choice) = settable() else { return };
    let w = World::new();
    let words = format!("measure timer -D 300ms -a 0 --load background --json --tune thp={}", choice.other);
    let record = w.line(&words).measured().record();
    assert_eq!(record.parts().settings.tuning.to_string(), format!("thp={}", choice.other));
    assert!(!codes(&record).iter().any(|c| c.starts_with("tuning")), "{:?}", codes(&record));
    assert_eq!((chosen(), journal(&w)), (choice.own.clone(), 0));
    // Other settings are another kind of run.
    w.line("measure timer -D 300ms -a 0 --load background").measured();
    let said = w.line("compare --kernels last=2").ends_with(0).out;
    assert!(said.contains(&format!("with thp={}", choice.other)) && said.contains("base"), "{said}");
    w.line("compare --kernels last=2 --html page.html").ends_with(0);
    let page = fs::read_to_string(w.path("page.html")).unwrap();
    assert!(page.contains("id=\"variants\"") && page.contains(&format!("with thp={}", choice.other)));
    // Nothing of it takes, so nothing is measured.
    let said = w.line("measure timer -D 1h --tune ktimers-priority=1 --tune swap=off").ends_with(2);
    said.complains(&["there is no setting `swap`", "try: "]);
    let said = w.line(&format!("measure timer -D 1h --tune thp={} --tune governor=nobody", choice.other));
    assert!(said.code != Some(0) && said.err.contains("governor=nobody: "), "{}", said.err);
    assert_eq!((chosen(), journal(&w)), (choice.own.clone(), 0));
}

#[test]
fn a_campaign_with_settings_ends_with_what_each_changes() {
    let Some(choice) = settable() else { return };
    let w = World::new();
    let text = format!(
        "name = \"thp\"\ntargets = [\"local\"]\ntune = [\"\", \"thp={}\"]\nrepetitions = 2\n[[tests]]\ntest = \"timer\"\nduration = \"200ms\"\naffinity = \"0\"\n",
        choice.other
    );
    w.file("plan.toml", text);
    let said = w.line("campaign run plan.toml --report page.html").measured().out;
    let (_, table) = said.split_once("What each setting changes: timer").unwrap_or_else(|| panic!("{said}"));
    assert!(table.contains("base") && table.contains(&format!("with thp={}", choice.other)), "{said}");
    assert!(table.contains("p99.9/base") && !said.contains("Kernel by kernel"), "{said}");
    assert!(fs::read_to_string(w.path("page.html")).unwrap().contains("What each setting changes"));
    assert_eq!((chosen(), journal(&w)), (choice.own.clone(), 0));
}

#[test]
fn what_is_set_by_another_meanwhile_is_told_and_left() {
    let Some(choice) = settable() else { return };
    let w = World::new();
    let (child, _) = under_way(&w, &choice);
    wait_for("samples", || descendants(child.id()).len().checked_sub(2));
    fs::write(FILE, "madvise").unwrap();
    signal(child.id(), libc::SIGINT);
    end_of(child).ends_with(130);
    let now = chosen();
    fs::write(FILE, &choice.own).unwrap();
    assert_eq!(now, "madvise");
    if let Some(record) = w.records().first() {
        assert!(codes(record).contains(&"tuning-changed"), "{:?}", codes(record));
    }
}

#[test]
fn what_was_set_is_back_after_sigkill() {
    let Some(choice) = settable() else { return };
    let w = World::new();
    let (mut child, keeper) = under_way(&w, &choice);
    assert_eq!(journal(&w), 1);
    // A second run would take the first one's settings for the machine's own.
    w.line(&format!("measure timer -D 1s -a 0 --tune thp={}", choice.own)).ends_with(3).complains(&["another run of rtscope"]);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("what was", || (chosen() == choice.own && journal(&w) == 0).then_some(()));
    wait_for("its end", || (!Path::new(&format!("/proc/{keeper}")).exists()).then_some(()));
}

#[test]
fn what_was_set_by_a_run_whose_keeper_was_killed_too_is_back_at_the_next_start() {
    let Some(choice) = settable() else { return };
    let w = World::new();
    let (child, keeper) = under_way(&w, &choice);
    for pid in [keeper, child.id()] {
        signal(pid, libc::SIGKILL);
    }
    end_of(child);
    assert_eq!(chosen(), choice.other);
    let said = w.line("measure timer -D 100ms -a 0").measured();
    assert_eq!((chosen(), journal(&w)), (choice.own.clone(), 0));
    assert!(said.err.contains(&format!("put {FILE} back to {}", choice.own)), "{}", said.err);
}

#[test]
fn a_machine_over_ssh_is_set_up_there() {
    if let Some(why) = missing() {
        return skip(why);
    }
    let Some(choice) = settable() else { return };
    let w = World::new();
    let sshd = Sshd::start(&w);
    let words = format!("measure timer -D 300ms -a 0 --json --target ssh:board --tune thp={}", choice.other);
    let record = end_of(sshd.command(&w, &words).spawn().unwrap()).measured().record();
    assert_eq!(record.parts().settings.tuning.to_string(), format!("thp={}", choice.other));
    assert_eq!(chosen(), choice.own);
    let said = end_of(sshd.command(&w, "measure timer -D 1h --target ssh:board --tune governor=nobody").spawn().unwrap());
    assert!(said.err.contains("governor=nobody: ") && said.code != Some(0), "{}", said.err);
}

#[test]
fn what_has_no_machine_is_not_set_up() {
    let w = World::new();
    let file = w.file("latencies", "1000\n");
    let words = format!("measure timer -l 1 --target fake:{} --tune thp=never", file.display());
    w.line(&words).ends_with(2).complains(&["there is no machine to set up", "leave --tune out"]);
    let text =
        format!("name = \"x\"\ntargets = [\"fake:{}\"]\ntune = [\"thp=never\"]\n[[tests]]\ntest = \"timer\"\n", file.display());
    let plan = w.file("plan.toml", text);
    w.line(&format!("campaign run {}", plan.display())).ends_with(2).complains(&["plan.toml:3: ", "has nothing to set"]);
}
