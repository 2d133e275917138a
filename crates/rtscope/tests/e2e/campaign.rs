//! Campaigns: run, ended at any moment, resumed. Nothing is lost, and no run is taken twice.

use crate::world::{Said, World, children, end_of, privileged, signal, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

/// Writes a plan of 2 fakes x 2 tests x 5 repetitions; each run takes long enough for a signal to hit it. Returns the number of
/// runs.
fn fakes(w: &World) -> usize {
    w.file("quick", "1000\n2000\n3000\n");
    w.file("late", "50000\n");
    w.file(
        "plan.toml",
        "name = \"fakes\"\ntitle = \"Two fakes\"\ntargets = [\"fake:quick\", \"fake:late\"]\nrepetitions = 5\n\
         [[tests]]\ntest = \"timer\"\nduration = \"100s\"\nthreads = 1\n\
         [[tests]]\ntest = \"timer\"\nloops = 1000\ninterval = \"200us\"\nthreads = 1\n",
    );
    20
}

fn status(w: &World, plan: &str) -> Value {
    let said = w.line(&format!("campaign status {plan} --json")).ends_with(0);
    serde_json::from_str(&said.out).unwrap()
}

#[track_caller]
fn figures(status: &Value) -> (u64, u64, u64) {
    let n = |key: &str| status[key].as_u64().unwrap();
    (n("done"), n("failed"), n("to_do"))
}

/// Checks that every run is done once: as many records as runs, each in the archive under the id that the status reports.
#[track_caller]
fn complete(w: &World, plan: &str, runs: usize) -> Value {
    let status = status(w, plan);
    assert_eq!(figures(&status), (runs as u64, 0, 0), "{status}");
    let ids: BTreeSet<&str> = status["runs"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    let list: Vec<Value> = serde_json::from_str(&w.line("list --json").ends_with(0).out).unwrap();
    let kept: BTreeSet<&str> = list.iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!((list.len(), &kept), (runs, &ids));
    assert!(list.iter().all(|r| r["interrupted"] == false));
    w.line("verify").ends_with(0);
    status
}

#[test]
fn a_campaign_is_run_once() {
    let w = World::new();
    let runs = fakes(&w);
    assert_eq!(figures(&status(&w, "plan.toml")), (0, 0, 20));
    assert!(!w.archive().exists() && !w.path("data/rtscope").exists(), "looking makes nothing");
    let said = w.line("campaign run plan.toml --report page.html --assert max<60us").ends_with(4);
    for part in ["quick: timer 1ms 100s", "late: timer 200us 1000 loops", "INVALID", "fake"] {
        assert!(said.out.contains(part), "no `{part}` in {}", said.out);
    }
    assert!(!said.out.contains("together") && !said.out.contains("Kernel by"), "fakes of one kernel are not put together");
    let said = said.complains(&["rtscope: 20/20 runs: fake:", "page.html"]);
    assert_eq!(said.err.matches(" runs: fake:").count(), runs);
    let page = fs::read_to_string(w.path("page.html")).unwrap();
    assert!(page.contains("<title>Two fakes</title>"));

    let found = complete(&w, "plan.toml", runs);
    let run = &found["runs"][1];
    assert_eq!((&run["state"], &run["verdict"], &run["clock"]), (&"done".into(), &"INVALID".into(), &"host".into()));
    assert_eq!((&run["max"], &run["repetition"], &run["test"]["interval"]), (&50_000.into(), &1.into(), &1_000_000.into()));
    // In the plan's order: targets change fastest, then tests, and repetitions slowest.
    let order: Vec<_> = found["runs"].as_array().unwrap().iter().map(|r| r["target"].as_str().unwrap()).collect();
    assert!(order.chunks(2).all(|two| two[0].ends_with("quick") && two[1].ends_with("late")), "{order:?}");
    let record = w.line(&format!("show --json {}", run["id"].as_str().unwrap())).record();
    assert_eq!((record.distributions()[0].count(), record.distributions()[0].max()), (100_000, Some(50_000)));
    assert!(record.parts().settings.command.contains(&"plan.toml".to_owned()));

    // Again: nothing is measured, and the results are the same.
    let again = w.line("campaign run plan.toml --json").ends_with(4);
    assert_eq!(serde_json::from_str::<Value>(&again.out).unwrap(), found);
    assert!(!again.err.contains("/20 runs"), "{}", again.err);
    let text = w.line("campaign status plan.toml").ends_with(0).out;
    assert!(text.contains("20 of 20 runs done, 0 failed, 0 to do") && text.contains("Two fakes"), "{text}");

    // Changes that do not affect the runs do not make another campaign; a run whose record was removed is measured again.
    let plan = fs::read_to_string(w.path("plan.toml")).unwrap();
    w.file("plan.toml", format!("# a remark\njobs = 1\n{}", plan.replace("Two fakes", "2 fakes")));
    w.line(&format!("remove {}", record.id())).ends_with(0);
    let said = w.line("campaign run plan.toml").ends_with(4).complains(&["1 runs were done, but are no longer in the archive"]);
    assert_eq!(said.err.matches("/20 runs").count(), 1, "{}", said.err);
    complete(&w, "plan.toml", runs);

    // Changes to the runs do.
    w.file("other.toml", plan.replace("repetitions = 5", "repetitions = 1"));
    assert_eq!(figures(&status(&w, "other.toml")), (0, 0, 4));
    let state = found["state"].as_str().unwrap();
    w.line(&format!("campaign run other.toml --state {state}")).ends_with(2).complains(&["holds the campaign `fakes`"]);
}

#[test]
fn a_run_that_fails_does_not_keep_the_others_from_being_taken() {
    let w = World::new();
    w.file("there", "1000\n");
    w.file(
        "plan.toml",
        "name = \"f\"\ntargets = [\"fake:missing\", \"fake:there\"]\nrepetitions = 2\n[[tests]]\ntest = \"timer\"\nduration = \"1s\"",
    );
    let said = w.line("campaign run plan.toml --state journal").ends_with(3);
    said.complains(&["missing: No such file", "2 of 4 runs failed"]);
    let text = w.line("campaign status plan.toml --state journal").ends_with(0).out;
    assert!(text.contains("2 of 4 runs done, 2 failed, 0 to do") && text.contains("missing none 2: "), "{text}");
    w.file("missing", "2000\n");
    let said = w.line("campaign run plan.toml --state journal").ends_with(4);
    assert_eq!(said.err.matches("/4 runs: fake").count(), 2, "{}", said.err);
    let status = w.line("campaign status plan.toml --state journal --json").ends_with(0);
    assert_eq!(figures(&serde_json::from_str(&status.out).unwrap()), (4, 0, 0));
}

fn lines_of(journal: &std::path::Path) -> usize {
    fs::read_to_string(journal).map_or(0, |t| t.lines().count())
}

/// Starts the campaign, and ends it by the signal `by` once the journal has at least `lines` lines. Returns the output and the
/// number of lines then.
fn ended_by(w: &World, by: i32, lines: usize) -> (Said, usize) {
    let journal = w.path("journal/journal.ndjson");
    let args = ["campaign", "run", "plan.toml", "--state", "journal"];
    let mut child = w.command(&args).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    wait_for("the runs before the signal", || (lines_of(&journal) >= lines || child.try_wait().unwrap().is_some()).then_some(()));
    // Ctrl-C goes to the whole process group, so to the probe too.
    let to = i32::try_from(pid).unwrap() * if by == libc::SIGINT { -1 } else { 1 };
    rtscope_sys::kill(to, by).unwrap();
    let said = end_of(child);
    wait_for("everything to be gone", || children(pid).is_empty().then_some(()));
    (said, lines_of(&journal))
}

#[test]
fn ctrl_c_and_sigkill_at_any_moment_lose_and_repeat_nothing() {
    let w = World::new();
    let runs = fakes(&w);
    let mut before = 0;
    for (by, lines) in [(libc::SIGKILL, 0), (libc::SIGINT, 2), (libc::SIGKILL, 5), (libc::SIGTERM, 9), (libc::SIGKILL, 13)] {
        let (said, now) = ended_by(&w, by, lines);
        assert!(now >= lines && now >= before, "{now} lines, {said:?}");
        if now < runs {
            assert_eq!(said.code, (by != libc::SIGKILL).then_some(130), "{said:?}");
        }
        if said.code == Some(130) {
            said.complains(&["of 20 runs are done", "campaign run plan.toml` goes on"]);
        }
        before = now;
    }
    // A truncated last line: the record of that run is in the archive, but the journal does not know it.
    let journal = w.path("journal/journal.ndjson");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 20]).unwrap();
    w.line("campaign run plan.toml --state journal").ends_with(4);
    let ids: Vec<Value> = text.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["id"].clone()).collect();
    assert_eq!(ids.iter().map(Value::to_string).collect::<BTreeSet<_>>().len(), ids.len(), "written down twice");
    let status = w.line("campaign status plan.toml --state journal --json").ends_with(0);
    assert_eq!(figures(&serde_json::from_str(&status.out).unwrap()), (20, 0, 0));
    let kept = w.line("list --json").ends_with(0).out;
    assert_eq!(kept.matches("\"id\"").count(), runs);
}

#[test]
fn a_run_that_is_cut_short_is_taken_again() {
    let w = World::new();
    w.file("plan.toml", "name = \"l\"\ntargets = [\"local\"]\nrepetitions = 3\n[[tests]]\ntest = \"timer\"\nduration = \"1s\"\n");
    let child = w.start("campaign run plan.toml");
    let pid = child.id();
    // In the middle of the second run: the first one is in the archive, and a probe is at work again.
    wait_for("the first run", || (w.archive().exists() && figures(&status(&w, "plan.toml")).0 == 1).then_some(()));
    let busy = status(&w, "plan.toml");
    assert!(busy["running"].as_str().unwrap().contains(&pid.to_string()), "{busy}");
    w.line("campaign run plan.toml").ends_with(3).complains(&["being run by process", &pid.to_string()]);
    crate::world::probe_of(pid);
    std::thread::sleep(Duration::from_millis(100));
    signal(pid, libc::SIGINT);
    let said = end_of(child).ends_with(130).complains(&["1 of 3 runs are done"]);
    assert!(said.out.contains("timer 1ms 1s"), "what is done is shown: {}", said.out);
    assert_eq!(figures(&status(&w, "plan.toml")), (1, 0, 2));
    assert_eq!(w.records().len(), 1, "a part of a run is not kept");
    let first = w.records();
    let said = w.line("campaign run plan.toml --assert max>0us").ends_with(if privileged() { 0 } else { 4 });
    assert_eq!(said.err.matches("/3 runs: local none").count(), 2, "{}", said.err);
    assert!(said.out.contains("Repetitions together: timer 1ms 1s"), "{}", said.out);
    complete(&w, "plan.toml", 3);
    assert!(w.records().contains(&first[0]));
    w.line("campaign run plan.toml --assert max<1ns").ends_with(if privileged() { 1 } else { 4 });
}

#[test]
fn an_archive_that_takes_nothing_ends_the_campaign_and_loses_nothing() {
    let w = World::new();
    fakes(&w);
    fs::create_dir_all(w.path("data/rtscope")).unwrap();
    fs::write(w.archive(), "no archive").unwrap();
    w.line("campaign run plan.toml").ends_with(3).complains(&["not an rtscope archive"]);
    fs::remove_file(w.archive()).unwrap();
    w.line("campaign run plan.toml").ends_with(4);
    complete(&w, "plan.toml", 20);
}

/// A record that the archive could not take is spilled beside it, and counts when the campaign is resumed.
#[test]
fn an_archive_that_is_locked_meanwhile_costs_no_run() {
    let w = World::new();
    w.file("plan.toml", "name = \"k\"\ntargets = [\"local\"]\nrepetitions = 3\n[[tests]]\ntest = \"timer\"\nduration = \"1s\"\n");
    let child = w.start("campaign run plan.toml");
    wait_for("the first run", || (w.archive().exists() && figures(&status(&w, "plan.toml")).0 == 1).then_some(()));
    let db = rusqlite::Connection::open(w.archive()).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    end_of(child).ends_with(3).complains(&["locked", "the campaign can't go on", "the record is kept in"]);
    db.execute_batch("ROLLBACK").unwrap();
    let said = w.line("campaign run plan.toml").measured().complains(&["2 of 3 runs are done already"]);
    assert_eq!(said.err.matches("/3 runs: local none").count(), 1, "{}", said.err);
    complete(&w, "plan.toml", 3);
}
