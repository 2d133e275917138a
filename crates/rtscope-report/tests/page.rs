//! The HTML page: its skeleton, its policy, its embedded data, and that nothing in a record becomes markup.

mod sample;

use rtscope_analysis::compare;
use rtscope_analysis::papers::{Paper, PaperRun, papers};
use rtscope_explain::explained::Explained;
use rtscope_record::Record;
use rtscope_report::ReportError;
use rtscope_report::html::{Options, page};
use rtscope_report::svg;
use sample::explained::explained;

fn make(records: &[Record]) -> String {
    page(
        records,
        &Options {
            kernels: None,
            papers: None,
            title: "",
            comparison: None,
            below: &[],
            published: &[],
            tails: &[],
            explained: &[],
            version: "0.1.0",
        },
    )
    .unwrap()
}

/// The contents of all elements opened by `open`.
fn bodies<'a>(html: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    html.split(open).skip(1).map(|rest| rest.split(close).next().unwrap()).collect()
}

/// The page without pictures, data, script and style.
fn skeleton(html: &str) -> String {
    let mut out = html.to_owned();
    for (open, close, name) in [
        ("<svg", "</svg>", "[picture]"),
        ("<script type=\"application/json\"", "</script>", "[data]"),
        ("<script>", "</script>", "[script]"),
        ("<style>", "</style>", "[style]"),
        ("'sha256-", "'", "[hash]"),
    ] {
        let mut next = String::new();
        let mut rest = out.as_str();
        while let Some(at) = rest.find(open) {
            let inner = &rest[at + open.len()..];
            let end = inner.find(close).unwrap() + close.len();
            next += &rest[..at];
            next += name;
            rest = &inner[end..];
        }
        out = next + rest;
    }
    // The templates write no line breaks; add some, so that differences can be read line by line.
    for tag in
        ["section", "h2", "h3", "p", "div", "table", "caption", "thead", "tr", "ul", "li", "dt", "details", "figure", "nav", "main"]
    {
        for end in [">", " "] {
            out = out.replace(&format!("<{tag}{end}"), &format!("\n<{tag}{end}"));
        }
    }
    out.replace("\n\n", "\n")
}

#[test]
fn the_skeleton() {
    let (a, b) = (sample::virtual_machine(300), sample::board(300));
    let both = compare(&a, &b).unwrap();
    let html = page(
        &a,
        &Options {
            kernels: None,
            papers: None,
            title: "kvm against board",
            comparison: Some(&both),
            below: &[],
            published: &[],
            tails: &[],
            explained: &[],
            version: "0.1.0",
        },
    )
    .unwrap();
    insta::assert_snapshot!(skeleton(&html));
}

#[test]
fn the_page_refers_to_nothing_outside() {
    let html = make(&sample::board(300));
    let shell = skeleton(&html);
    for word in ["http:", "https:", "//", "src=", "@import", "<link rel=\"stylesheet\"", "<iframe", "<img", "url("] {
        assert!(!shell.contains(word), "{word} in the page");
    }
    for style in bodies(&html, "<style>", "</style>") {
        assert!(!style.contains("url(") && !style.contains("@import"));
    }
    assert!(html.contains("default-src 'none'"));
    assert!(!html.contains("unsafe-inline") && !html.contains(" style=\"") && !html.contains(" onclick="));
}

#[test]
fn the_policy_allows_exactly_the_script_and_style_of_the_page() {
    use base64::Engine as _;
    use sha2::Digest as _;
    let html = make(&sample::board(300));
    for (directive, open, close) in [("script-src", "<script>", "</script>"), ("style-src", "<style>", "</style>")] {
        let inline = bodies(&html, open, close);
        assert_eq!(inline.len(), 1, "{open}");
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(inline[0]));
        assert!(html.contains(&format!("{directive} 'sha256-{hash}'")), "{directive}");
    }
}

#[test]
fn the_records_inside_are_the_records() {
    let records = [sample::board(300), sample::virtual_machine(300), sample::odd()].concat();
    let html = make(&records);
    for r in &records {
        let open = format!("<script type=\"application/json\" id=\"record-{}\">", r.id());
        let inside = bodies(&html, &open, "</script>");
        assert_eq!(inside.len(), 1, "{}", r.id());
        assert_eq!(&serde_json::from_str::<Record>(inside[0]).unwrap(), r);
    }
    let charts = bodies(&html, "<script type=\"application/json\" id=\"charts\">", "</script>");
    let charts: serde_json::Value = serde_json::from_str(charts[0]).unwrap();
    assert_eq!(charts.as_array().unwrap().len(), records.len());
    for (chart, r) in charts.as_array().unwrap().iter().zip(&records) {
        let held = |s: &serde_json::Value| {
            s["bins"].as_array().unwrap().iter().skip(1).step_by(2).map(|n| n.as_u64().unwrap()).sum::<u64>()
        };
        let drawn: u64 = chart["series"].as_array().unwrap().iter().map(held).sum();
        assert_eq!(drawn, r.distributions().iter().map(|d| d.histogram().total()).sum::<u64>(), "{}", r.id());
    }
}

#[test]
fn nothing_of_a_record_becomes_markup() {
    let hostile = sample::odd().pop().unwrap();
    let html = make(&[hostile]);
    for bad in ["<script>alert", "<code>\"", "<cpu0", "c&d<e>", "<!-- ", "</style>\"", "<no>"] {
        assert!(!html.contains(bad), "{bad}");
    }
    assert_eq!(html.matches("<script>").count(), 1);
    assert_eq!(html.matches("</script>").count(), 3);
    assert!(html.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn a_virtual_machine_and_a_verdict_show() {
    let html = make(&sample::virtual_machine(300));
    for wanted in
        ["Taken in a virtual machine", "clock: host in kvm", "INVALID", "load-died", "DIED EARLY: ended by signal 9", "ended early"]
    {
        assert!(html.contains(wanted), "{wanted}");
    }
}

#[test]
fn a_papers_figures_are_below_its_tables() {
    let records = sample::waves(40);
    let runs: Vec<PaperRun> = records.iter().filter_map(|r| PaperRun::of(r).unwrap()).collect();
    let section = |asked: &[Paper]| {
        let found = papers(asked, &runs).unwrap();
        let html = page(&records, &Options { papers: Some(&found), ..Options::default() }).unwrap();
        bodies(&html, "<section class=\"versus\" id=\"papers\"", "</section>")[0].to_owned()
    };
    let with = section(&[Paper::Dewit2024, Paper::VinhChau]);
    let pictures = bodies(&with, "<figure class=\"picture\">", "</figure>");
    assert_eq!(pictures.len(), 5);
    for (picture, number) in pictures.iter().zip(7..) {
        assert!(picture.contains(&format!("vinh-chau Fig. {number}: ")), "Fig. {number}");
    }
    assert!(with.rfind("<table").unwrap() < with.find("<figure").unwrap());
    assert!(!section(&[Paper::Dewit2024]).contains("<figure"), "only of the papers that were asked for");
}

#[test]
fn stock_against_rt_has_a_section_where_there_is_a_pair() {
    let html = make(&sample::kernels(300));
    let section = bodies(&html, "<section class=\"versus\" id=\"versus\"", "</section>");
    assert_eq!(section.len(), 1);
    insta::assert_snapshot!(skeleton(section[0]));
    assert!(html.contains("<a href=\"#versus\">Stock against RT</a>"));
    for records in [sample::board(100), sample::virtual_machine(100), sample::odd()] {
        assert!(!make(&records).contains("id=\"versus\""));
    }
}

#[test]
fn what_settings_change_has_a_section_with_intervals() {
    let html = make(&sample::tuned(1_000));
    let section = bodies(&html, "<section class=\"versus\" id=\"variants\"", "</section>");
    assert_eq!((section.len(), section[0].matches("<svg").count()), (1, 1));
    assert!(html.contains("<a href=\"#variants\">What each setting changes</a>"));
    let row = |kernel: &str| bodies(section[0], &format!("<td class=\"word\">{kernel}</td>"), "</tr>")[0];
    assert!(row("6.12.47 stock").contains(">base<"), "{}", row("6.12.47 stock"));
    let (full, thp) = (row("6.12.47 stock with preempt=full"), row("6.12.47 stock with thp=never"));
    assert!(full.contains(" to 0.") && full.contains(") better</td>") && !full.contains(") worse"), "{full}");
    assert!(thp.contains(") =</td>") && !thp.contains("better") && !thp.contains("worse"), "{thp}");
    // The plot names each kernel, and has each interval once more.
    let plot = bodies(section[0], "<svg", "</svg>")[0];
    assert!(plot.contains("load network: 6.12.47 stock with preempt=full") && plot.contains("this kernel over the base"), "{plot}");
    // Without a setting there is no such section, unless kernels beside each other are asked for.
    let kernels = sample::kernels(300);
    assert!(!make(&kernels).contains("id=\"variants\""));
    let tally = rtscope_analysis::versus::VersusTally::of(&kernels);
    let beside = rtscope_analysis::versus::variants(&tally, Some("RT")).unwrap();
    let html = page(&kernels, &Options { kernels: Some(&beside), ..Options::default() }).unwrap();
    assert!(html.contains("<a href=\"#variants\">Kernels beside each other</a>"));
}

#[test]
fn response_and_periodic_tests_have_a_section() {
    let html = make(&sample::responses(300));
    let section = bodies(&html, "<section class=\"versus\" id=\"lines\"", "</section>");
    assert_eq!((section.len(), section[0].matches("<svg").count()), (1, 2));
    insta::assert_snapshot!(skeleton(section[0]));
    assert!(html.contains("<a href=\"#lines\">"));
    assert!(!make(&sample::board(100)).contains("id=\"lines\""));
}

#[test]
fn one_run_and_two_instruments() {
    let (records, scope) = (sample::responses(40), sample::scope(40));
    let both = compare(&records[..1], &scope[..1]).unwrap();
    let html = page(
        &records[..1],
        &Options {
            kernels: None,
            papers: None,
            title: "",
            comparison: Some(&both),
            below: &[],
            published: &[],
            tails: &[],
            explained: &[],
            version: "",
        },
    )
    .unwrap();
    insta::assert_snapshot!(skeleton(bodies(&html, "<h3>The same run", "</section>")[0]));
}

#[test]
fn what_is_shown_has_its_name() {
    let records = [vec![sample::responses(40).pop().unwrap(), sample::sustained()], sample::responses(40)[1..2].to_vec()].concat();
    let html = make(&records);
    insta::assert_snapshot!(skeleton(&html));
    let wave = bodies(&html, "<section class=\"run\" id=\"run-0\"", "</section>")[0];
    assert!(
        !wave.to_lowercase().contains("latency")
            || wave.matches("atency").count() == wave.matches("data-chart=\"latency\"").count(),
        "{wave}"
    );
}

#[test]
fn an_invalid_kernel_is_marked_and_has_no_ratio() {
    let html = make(&sample::troubled_kernels());
    let section = bodies(&html, "<section class=\"versus\" id=\"versus\"", "</section>")[0];
    let row = bodies(section, "<th scope=\"row\">background</th>", "</tr>")[0];
    assert!(row.contains("invalid\">") && row.contains("INVALID</span> (stock)"), "{row}");
    assert_eq!(row.matches("<td class=\"first\">-</td>").count() + row.matches("<td>-</td>").count(), 6, "{row}");
    for wanted in ["Linux 6.12, no partner", "clock: host in kvm", "policy-differs", "no-partner", "too few samples"] {
        assert!(section.contains(wanted), "{wanted}");
    }
}

#[test]
fn live_and_archived_records_make_the_same_page() {
    let live = [sample::board(100), sample::odd(), sample::kernels(100)].concat();
    let archived: Vec<Record> = live.iter().map(|r| serde_json::from_str(&serde_json::to_string(r).unwrap()).unwrap()).collect();
    assert!(make(&live) == make(&archived));
}

#[test]
fn no_record_is_an_error_that_says_what_to_do() {
    let error = page(&[], &Options::default()).unwrap_err();
    assert_eq!(error, ReportError::Empty);
    assert!(error.to_string().contains("rtscope measure"));
}

/// A full page of 6 records x 4 CPUs stays small: about a tenth of what dense bins would take.
#[test]
fn the_page_is_small() {
    let records = sample::board(4_000);
    let slots: usize = records.iter().flat_map(Record::distributions).map(|d| d.histogram().slots().count()).sum();
    let html = make(&records);
    assert!(html.len() < 500_000 + slots * 16, "{} bytes for {slots} slots", html.len());
}

#[test]
fn explained_samples_are_on_the_page_of_their_run() {
    let records = sample::board(300);
    let hostile = "<b>\u{202e}x</script>";
    let mut all: Vec<_> = (0..5).map(|n| explained(&records[0], n, if n == 0 { hostile } else { "load" })).collect();
    let mut elsewhere = explained(&records[0], 9, "load");
    elsewhere.record = "another".into();
    all.push(elsewhere);
    for e in &all {
        assert_eq!(Explained::read(&serde_json::to_string(e).unwrap()).as_ref(), Ok(e), "what is kept reads back");
    }
    let options = Options { explained: &all, ..Options::default() };
    let html = page(&records[..1], &options).unwrap();
    let without = make(&records[..1]);
    assert!(html.len() - without.len() < 900_000 && html.len() < 1_000_000, "{} bytes", html.len());
    assert_eq!((html.matches("data-chart=\"flame\"").count(), without.matches("data-chart=\"flame\"").count()), (3, 0));
    assert_eq!(html.matches("interrupts were off for").count(), 5 + 2 * 3, "each answer once, and in each chart");
    assert!(!html.contains(hostile) && html.contains("&lt;b&gt;\\u{202e}x&lt;/script&gt;[135]"));
    let data: serde_json::Value = serde_json::from_str(bodies(&html, "id=\"charts\">", "</script>")[0]).unwrap();
    let flames = data[0]["flames"].as_array().unwrap();
    assert_eq!((flames.len(), flames[0]["frames"].as_array().unwrap().len()), (3, 5_998 + 2));
    assert_eq!(flames[0]["frames"][0], serde_json::json!([0, 0, all[0].explanation.hold.ns, 0, 6]));
    let xml = roxmltree::Document::parse(&svg::flame(&all[0].explanation, "whose <it> is", svg::Use::File))
        .unwrap()
        .root()
        .descendants()
        .count();
    assert!(xml > 20, "{xml} elements");
}

#[test]
fn a_kept_explanation_that_does_not_add_up_is_refused() {
    let good = explained(&sample::board(300)[0], 1, "load");
    let spoiled = |spoil: &dyn Fn(&mut Explained)| {
        let mut e = good.clone();
        spoil(&mut e);
        Explained::read(&serde_json::to_string(&e).unwrap()).is_err()
    };
    assert!(!spoiled(&|_| {}));
    assert!(spoiled(&|e| e.explanation.causes[0].ns += 1));
    assert!(spoiled(&|e| e.explanation.tasks[0].ns = u64::MAX));
    assert!(spoiled(&|e| e.explanation.chart.frames[0].name = 1_000_000));
    assert!(spoiled(&|e| e.explanation.chart.frames[0].row = 1_000_000));
    assert!(spoiled(&|e| e.explanation.chart.frames[0].start = u64::MAX));
    assert!(spoiled(&|e| e.explanation.chart.names = vec![String::new(); 100_000]));
    assert!(Explained::read("{}").is_err() && Explained::read(&" ".repeat(5 << 20)).is_err());
}

/// What a registry gives is only bundled if it is what the lock file names.
#[test]
#[allow(clippy::disallowed_methods)] // a process that a test starts for itself may inherit any signal settings
fn a_package_that_the_lock_file_does_not_name_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["bundle.sh", "package-lock.json"] {
        let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web").join(name);
        std::fs::copy(from, at(name)).unwrap();
    }
    let lock: serde_json::Value = serde_json::from_slice(&std::fs::read(at("package-lock.json")).unwrap()).unwrap();
    let version = lock["packages"]["node_modules/uplot"]["version"].as_str().unwrap();
    let package = at(&format!("registry/uplot/-/uplot-{version}.tgz"));
    let bundle = || {
        let registry = format!("file://{}", at("registry").display());
        let ended =
            std::process::Command::new("sh").arg(at("bundle.sh")).arg(at("out")).env("npm_config_registry", registry).output();
        let ended = ended.unwrap();
        assert!(!ended.status.success() && !at("out/report.js").exists() && !at("node_modules/uplot").exists());
        String::from_utf8(ended.stderr).unwrap()
    };
    assert!(bundle().contains("can't fetch file://"));
    std::fs::create_dir_all(package.parent().unwrap()).unwrap();
    std::fs::write(package, "another").unwrap();
    assert!(bundle().contains("is not what web/package-lock.json names: its SHA-512 is "));
}
