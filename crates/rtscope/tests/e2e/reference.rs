//! Published latencies: listed, shown, and beside runs in reports and comparisons.

use crate::world::{World, privileged, skip};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn list_and_show() {
    let w = World::new();
    insta::assert_snapshot!("reference-list", w.line("reference list study=adam,space=kernel,rt=yes").ends_with(0).out);
    insta::assert_snapshot!("reference-show", w.line("reference show dewit-rt").ends_with(0).out);
    let rows = json(&w.line("reference list --json").ends_with(0).out);
    assert_eq!(rows.as_array().unwrap().len(), 125);
    let one = json(&w.line("reference show balci-rt --json").ends_with(0).out);
    assert_eq!((&one["max"], &one["max_is"], &one["avg"]), (&90_000.into(), &"about".into(), &Value::Null));
    assert!(w.line("reference list board=abacus").ends_with(0).out.contains("No published figure passes"));
    assert_eq!(w.line("reference list board=abacus --json").ends_with(0).out, "[]\n");
    w.line("reference show dewit").ends_with(2).complains(&["no published figure has the id `dewit`", "rtscope reference list"]);
    w.line("reference list rpi5").ends_with(2).complains(&["`rpi5` is not a filter", "board="]);
    assert!(!w.archive().exists(), "none of it needs an archive");
}

#[test]
fn beside_runs() {
    let w = World::new();
    w.file("late.txt", "4000\n9000\n50000\n");
    for _ in 0..2 {
        w.line("measure timer --target fake:late.txt -i 1ms -l 300 --threads 1").ends_with(4);
    }
    w.line("report all --with-reference --svg pictures -o page.html").ends_with(0);
    let read = |name: &str| std::fs::read_to_string(w.path(name)).unwrap();
    let (page, picture) = (read("page.html"), read("pictures/published-timer-user.svg"));
    for text in [&page, &picture] {
        assert!(text.contains("Dewit 2024, Table I") && text.contains("load: stress-ng --all 1"), "its conditions are with it");
        assert!(!text.contains("Vinh &amp; Chau"), "another test");
    }
    assert!(picture.contains("INVALID"), "what is scripted stays INVALID beside others");
    // Without the option there is none of it.
    w.line("report all --svg plain -o plain.html").ends_with(0);
    assert!(!read("plain.html").contains("Dewit 2024, Table I") && !w.path("plain/published-timer-user.svg").exists());

    let compared = w.line("compare last=1 all --json").ends_with(0).out;
    let with = w.line("compare last=1 all --json --with-reference=board=rpi5").ends_with(0).out;
    let (compared, mut with) = (json(&compared), json(&with));
    let beside = with.as_object_mut().unwrap().remove("reference").unwrap();
    assert_eq!(with, compared, "the rest is as without it");
    let ids: Vec<&str> = beside[0]["references"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["dewit-rt", "rosrt-r5-68", "dewit-stock"]);
    let own = beside[0]["own"].as_array().unwrap();
    assert_eq!((own.len(), &own[0]["max"], &own[0]["samples"], &own[0]["avg"]), (2, &50_000.into(), &300.into(), &21_000.0.into()));
    let text = w.line("compare last=1 all --with-reference=board=rpi5").ends_with(0).out;
    let (before, after) = text.split_once("\nPublished latencies: timer, user space\n").unwrap();
    assert_eq!(before, w.line("compare last=1 all").ends_with(0).out);
    assert!(after.contains("dewit-rt") && after.contains("124") && after.contains("orders of magnitude"), "{after}");
    w.line("compare last=1 all --with-reference --html compared.html").ends_with(0);
    assert!(read("compared.html").contains("Dewit 2024, Table I"));

    let none = w.line("report --with-reference=test=response -o none.html").ends_with(0);
    none.complains(&["No published figure is of the test timer in user space (latency) and passes the filters."]);
    assert!(read("none.html").contains("No published figure is of the test timer"));
    for line in ["report --with-reference=rpi5", "compare last=1 all --with-reference=colour=red"] {
        w.line(line).ends_with(2).complains(&["is not a filter of published latencies"]);
    }
    w.line("compare --values late.txt late.txt --with-reference").ends_with(2).complains(&["cannot be used with"]);
}

#[test]
fn the_papers_stand_beside_runs_on_a_page() {
    if !privileged() {
        return skip("no right to a real-time priority, and INVALID runs stand beside no paper");
    }
    let w = World::new();
    for _ in 0..2 {
        w.line("measure timer -D 100ms -a 0").measured();
    }
    let said = w.line("papers --paper balci-2017 --paper dewit-2024 --paper adam-2021 -o page.html").ends_with(0);
    assert!(said.err.contains("the page is in page.html") && said.out.contains("balci-2017"), "{}", said.err);
    assert!(said.out.contains("  differs length of the timer test: 100ms; theirs: 100 M cycles a CPU"), "{}", said.out);
    let page = std::fs::read_to_string(w.path("page.html")).unwrap();
    let (_, section) = page.split_once("id=\"papers\"").unwrap();
    let (section, rest) = section.split_once("</section>").unwrap();
    let [balci, adam] = ["<h3>balci-2017</h3>", "<h3>adam-2021</h3>"].map(|head| section.find(head).unwrap());
    // Only what one's own runs are of has figures, and these lead somewhere.
    let told = |from: usize, text: &str| section[from..].find(text).is_some();
    assert!(section.contains("<strong>length of the timer test</strong>: 100ms; theirs: 100 M cycles a CPU"), "{section}");
    assert!(told(balci.min(adam), "Theirs: ") && section.contains("rt-lowers-maximum"), "{section}");
    assert!(section.contains("none of these runs: campaigns/adam-2021-lab.toml") && !section.contains("Figures 7 and 8"));
    for link in section.split("href=\"#").skip(1) {
        let place = link.split('"').next().unwrap();
        assert!(page.contains(&format!("id=\"{place}\"")), "{place}");
    }
    assert!(rest.contains("id=\"published\"") && rest.contains("<svg"));
    w.line("papers no-such-run -o none.html").ends_with(3);
    assert!(!w.path("none.html").exists());
}
