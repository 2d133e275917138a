//! Published latencies beside one's own runs: pictures, tables and the page, from the data itself and fixed records.

mod sample;

use rtscope_analysis::reference::{Beside, Own, Reference, all, beside, one};
use rtscope_record::Record;
use rtscope_report::svg::{Use, published};
use rtscope_report::table::{Style, reference, references, references_beside};
use rtscope_report::{ReportError, html};

const PLAIN: Style = Style { colour: false, width: Some(140) };

fn rows(ids: &[&str]) -> Vec<Reference> {
    ids.iter().map(|id| one(id).unwrap()).collect()
}

fn own(records: &[Record]) -> Vec<Own> {
    records.iter().map(|r| Own::of(r).unwrap()).collect()
}

/// The texts of a picture, one a line, and its alternative text.
fn texts(svg: &str) -> (String, String) {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}\n{svg}"));
    for node in document.descendants() {
        for a in node.attributes() {
            assert!(!a.value().contains("NaN") && !a.value().contains("inf"), "{}=\"{}\"", a.name(), a.value());
            assert_ne!(a.name(), "style", "the page's policy forbids inline styles");
        }
    }
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let text = document.descendants().filter_map(|n| n.text()).collect::<Vec<_>>().join("\n");
    (text, root.attribute("aria-label").unwrap().to_owned())
}

fn drawn(b: &Beside) -> (String, String) {
    let file = published(b, Use::File).unwrap();
    assert!(file.contains("prefers-color-scheme:dark"));
    texts(&file);
    texts(&published(b, Use::Page).unwrap())
}

#[test]
fn timer_runs_beside_what_was_published() {
    let found =
        beside(own(&sample::board(400)[..2]), &rows(&["dewit-stock", "dewit-rt", "balci-rt", "sec-durr", "adam-1-sw"]), true);
    insta::assert_snapshot!("timer-svg", published(&found[0], Use::Page).unwrap());
    insta::assert_snapshot!("timer-table", references_beside(&found, PLAIN));
    let (text, alternative) = drawn(&found[0]);
    // The conditions of each row are in the picture, and those of one's own runs.
    for words in [
        "RPi5 Model B Rev 1.0",
        "load: stress-ng --all 1",
        "1 h, 4 threads",
        "avg 5.91 · max 124 µs",
        "quoted",
        "PREEMPT_RT",
        "Stock",
    ] {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
    assert!(text.contains("max ~90 µs · maximum approximate"), "{text}");
    assert!(!text.contains("adam") && !alternative.contains("Adam"), "another test is not drawn");
    for o in &found[0].own {
        assert!(text.contains(&format!("yours, {}", o.id)) && alternative.contains(&o.id), "{text}");
        assert!(text.contains(&format!("load {}", o.load)));
    }
}

#[test]
fn a_censored_figure_is_hollow_and_says_so() {
    let records = sample::responses(400);
    let found = beside(own(&records), &rows(&["adam-1-sw", "adam-1-osc", "adam-3-osc"]), true);
    let user = found.iter().find(|b| b.space.as_str() == "user" && b.test.as_str() == "response").unwrap();
    let (text, _) = drawn(user);
    assert!(text.contains("max 147* µs · maximum censored"), "{text}");
    assert!(text.contains("drops samples of 500 us"), "the caveat is with the bar");
    let svg = published(user, Use::Page).unwrap();
    let hollow = |id: &str| svg.lines().any(|l| l.contains("<rect class=\"area") && l.contains(&format!("{id}: maximum")));
    assert!(hollow("adam-1-sw") && !hollow("adam-1-osc"));
    let kernel = found.iter().find(|b| b.space.as_str() == "kernel").unwrap();
    assert_eq!(kernel.references.len(), 1, "user and kernel space stay apart");
}

#[test]
fn where_nothing_matches_nothing_is_drawn() {
    let found = beside(own(&sample::board(400)[..1]), &rows(&["adam-1-sw", "rtsl", "gk-rpi700mhz"]), false);
    assert!(published(&found[0], Use::Page).is_none());
    let said = "No published figure is of the test timer in user space (latency).";
    assert_eq!(references_beside(&found, PLAIN), format!("{said}\n"));
    let page = page(&sample::board(400)[..1], &found).unwrap();
    assert!(page.contains(said) && page.contains("id=\"published\"") && !page.contains("beside yours"));
}

fn page(records: &[Record], found: &[Beside]) -> Result<String, ReportError> {
    html::page(records, &html::Options { published: found, ..html::Options::default() })
}

#[test]
fn a_page_has_picture_table_and_caveats() {
    let records = &sample::board(400)[..2];
    let found = beside(own(records), &all().unwrap(), false);
    let with = page(records, &found).unwrap();
    for words in [
        "href=\"#published\"",
        "Published latencies: timer, user space, beside yours",
        "125 in the text",
        "Left out, since the original is here: sec-balci",
    ] {
        assert!(with.contains(words), "{words}");
    }
    assert!(!page(records, &[]).unwrap().contains("id=\"published\""), "only if asked for");
}

#[test]
fn of_many_runs_the_latest_are_drawn() {
    let of = own(&sample::board(400)[..1]).remove(0);
    let many = (0..6).map(|i| Own { id: format!("run-{i}"), max: Some(10_000 + i), ..of.clone() }).collect();
    let found = beside(many, &rows(&["dewit-rt"]), true);
    let (text, _) = drawn(&found[0]);
    assert!(text.contains("not drawn: 2 more of your runs, with lower maxima"), "{text}");
    assert!(text.contains("yours, run-5") && text.contains("yours, run-2") && !text.contains("yours, run-1"));
    // A run without samples is in the table alone.
    let mut none = own(&sample::board(400)[..1]);
    (none[0].avg, none[0].max) = (None, None);
    let found = beside(none, &rows(&["dewit-rt"]), true);
    assert!(!drawn(&found[0]).0.contains("yours, "));
}

#[test]
fn lists() {
    let adam = rows(&["adam-1-sw", "adam-1-osc", "balci-rt", "sec-riva", "rpi3bp-419b", "adam-per"]);
    insta::assert_snapshot!("list", references(&adam, Style { colour: false, width: Some(250) }));
    insta::assert_snapshot!("show", reference(&one("adam-1-sw").unwrap(), PLAIN));
    assert_eq!(references(&[], PLAIN), "No published figure passes these filters.\n");
    // Whatever the data, every row can be shown, with every caveat.
    for r in all().unwrap() {
        let wide = Style { colour: false, width: Some(1000) };
        let shown = reference(&r, wide);
        assert!(r.caveat.split("; ").all(|c| shown.contains(c)) && shown.contains(&r.place), "{shown}");
    }
}

#[test]
fn what_one_must_know_is_in_picture_and_table() {
    let rows = all().unwrap();
    let mut of = own(&sample::board(400)[..1]).remove(0);
    (of.model, of.missed) = (Some(2), 3);
    let said = ["Virtual time follows a model of the lab", "missed events are in none of them", "sec-balci, sec-riva, sec-emlid"];
    let found = beside(vec![of.clone()], &rows, false);
    let table = references_beside(&found, Style { colour: false, width: Some(1000) });
    for words in said {
        assert!(drawn(&found[0]).0.contains(words) && table.contains(words), "{words}");
    }
    (of.test, of.space, of.soft_lines) = (rtscope_record::Test::Periodic, rtscope_record::Space::Kernel, true);
    let text = drawn(&beside(vec![of.clone()], &rows, false)[0]).0;
    assert!(text.contains("Software lines (soft:)") && text.contains("early or late"), "{text}");
    // What a record says of itself is only text.
    of.board = "<script>\u{202e}\u{1b}[31m".into();
    let found = beside(vec![of], &rows, false);
    assert!(drawn(&found[0]).0.contains("<script>") && !published(&found[0], Use::Page).unwrap().contains("<script"));
    assert!(!references_beside(&found, PLAIN).contains(['\u{1b}', '\u{202e}']));
}
