//! Every plot: complete from fixed records, and well-formed from odd and random ones.

mod sample;

use sample::explained::explained;

use proptest::prelude::*;
use rtscope_analysis::papers::{PaperFigure, figures};
use rtscope_analysis::reference::{self, Own, beside};
use rtscope_record::{Distribution, Record};
use rtscope_report::svg::{
    Axis, Use, by_load, latency, overview, pair, percentile, response_ranges, response_worst, versus, worst,
};

/// Every plot of a record, parsed as XML.
fn all(r: &Record) -> Vec<(&'static str, String)> {
    let mut plots = Vec::new();
    for usage in [Use::File, Use::Page] {
        plots.extend([
            ("latency", latency(r, Axis::Linear, usage)),
            ("latency log", latency(r, Axis::Log, usage)),
            ("percentile", percentile(r, usage)),
            ("worst", worst(r, usage)),
            ("overview", overview(std::slice::from_ref(r), usage).unwrap()),
        ]);
    }
    check(&plots);
    plots
}

/// Checks that the plots are well-formed XML, and contain neither NaN nor anything active.
fn check(plots: &[(&'static str, String)]) {
    for (name, svg) in plots {
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{name}: {e}\n{svg}"));
        assert_eq!(document.root_element().tag_name().name(), "svg", "{name}");
        for node in document.descendants() {
            for a in node.attributes() {
                assert!(!a.value().contains("NaN") && !a.value().contains("inf"), "{name}: {}=\"{}\"", a.name(), a.value());
                assert!(!a.name().starts_with("on"), "{name}: {}", a.name());
                // The page's policy forbids inline styles.
                assert_ne!(a.name(), "style", "{name}");
            }
            assert!(!["script", "image", "foreignObject", "a"].contains(&node.tag_name().name()), "{name}");
        }
    }
}

#[test]
fn stock_against_rt_under_one_load() {
    let v = rtscope_analysis::versus(&sample::kernels(400)).unwrap();
    insta::assert_snapshot!(versus(&v.blocks[1], &v.blocks[1].loads[3], &[], Use::Page));
}

#[test]
fn response_tests_beside_each_other() {
    let a = rtscope_analysis::line_tests(&sample::responses(400), &[], &[]).unwrap();
    insta::assert_snapshot!(response_ranges(&a, Use::Page).unwrap());
    insta::assert_snapshot!(response_worst(&a, Use::Page).unwrap());
    check(&[("ranges", response_ranges(&a, Use::File).unwrap()), ("worst", response_worst(&a, Use::File).unwrap())]);
    let wave = rtscope_analysis::line_tests(&sample::responses(4)[5..], &[], &[]).unwrap();
    assert!(response_ranges(&wave, Use::Page).is_none() && response_worst(&wave, Use::Page).is_none());
}

/// The text of a picture, and for each load of `f` how far left and right its histogram goes.
fn drawn(f: &PaperFigure) -> (String, Vec<(f64, f64)>) {
    for usage in [Use::File, Use::Page] {
        check(&[("by load", by_load(f, usage))]);
    }
    let svg = by_load(f, Use::Page);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let text = document.descendants().filter_map(|n| n.text()).collect::<Vec<_>>().join("\n");
    let areas = document.descendants().filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("line area")));
    (text, areas.map(|n| across(n.attribute("d").unwrap())).collect())
}

/// Where a picture has this text, across.
fn at(f: &PaperFigure, wanted: &str) -> f64 {
    let svg = by_load(f, Use::Page);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let tick = document.descendants().find(|n| n.attribute("class") == Some("tick") && n.text() == Some(wanted));
    tick.unwrap_or_else(|| panic!("{wanted}")).attribute("x").unwrap().parse().unwrap()
}

#[test]
fn jitter_that_is_early_is_left_of_zero_on_a_linear_axis() {
    let wave = &sample::responses(4)[5];
    let svg = latency(wave, Axis::Linear, Use::File);
    check(&[("latency", svg.clone())]);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let zero = document.descendants().find(|n| n.attribute("class") == Some("tick") && n.text().is_some_and(|t| t == "0"));
    let zero: f64 = zero.unwrap().attribute("x").unwrap().parse().unwrap();
    for d in wave.distributions() {
        let named = |n: &roxmltree::Node<'_, '_>| n.children().any(|c| c.text() == Some(d.label()));
        let line = document.descendants().find(|n| n.tag_name().name() == "path" && named(n)).unwrap();
        let (left, right) = across(line.attribute("d").unwrap());
        let early = d.label().ends_with("early");
        assert!(if early { right <= zero } else { zero <= left }, "{}: {left} to {right}, zero at {zero}", d.label());
        assert!(left < right, "{}", d.label());
    }
    assert!(svg.contains("Jitter (µs), early below zero, bins of"));
    // Its worst is early: the mark is on that side.
    let mark = document.descendants().find(|n| n.attribute("class") == Some("marked")).unwrap();
    assert!(mark.text() == Some("max 6.70 µs, falling early") && mark.attribute("x").unwrap().parse::<f64>().unwrap() < zero);
}

/// How far left and right a stair line goes.
fn across(d: &str) -> (f64, f64) {
    let x = d.split(['M', 'H']).skip(1).map(|rest| rest.split([' ', 'V']).next().unwrap().parse::<f64>().unwrap());
    x.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)))
}

#[test]
fn jitter_under_each_load_on_a_signed_axis() {
    let found = figures(&sample::waves(60)).unwrap();
    insta::assert_snapshot!(by_load(&found[0], Use::Page));
    let (text, areas) = drawn(&found[0]);
    assert_eq!(areas.len(), 6, "a histogram for each load");
    for (load, (left, right)) in sample::LOADS.iter().zip(&areas) {
        assert!(text.contains(load) && *left < at(&found[0], "0") && at(&found[0], "0") < *right, "{load}: {left} to {right}");
    }
    // Up to 2 us and up to 34 ms either way.
    assert!(at(&found[0], "-10") < areas[0].0 && areas[0].1 < at(&found[0], "10"));
    assert!(areas[5].0 < at(&found[0], "-10k") && at(&found[0], "10k") < areas[5].1);
    // Their Table 1, and the runs of both seeds.
    for words in ["paper: mean 1696.15, max 9778 µs", "paper: mean 38.56, max 184 µs", "480 samples of 2 runs", "early below zero"]
    {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let earliest = found[0].loads[0].own.as_ref().unwrap().pooled.min.unwrap() as f64 / 1e3;
    assert!(earliest < 0.0 && text.contains(&format!(", {earliest:.2} to +")), "{earliest}\n{text}");
}

#[test]
fn a_papers_figure_without_runs_says_so() {
    let found = figures(&sample::waves(4)).unwrap();
    let fiq = found.iter().find(|f| f.number == 11).unwrap();
    let (text, areas) = drawn(fiq);
    assert!(areas.is_empty() && text.contains("none of the runs that count is of this figure"), "{text}");
    assert!(text.matches("no runs").count() >= 6 && text.contains("paper: mean 4.31, max 12 µs"), "{text}");
    // A latency has no axis below zero.
    assert!(!text.contains("early") && !text.contains("\n-1\n") && text.contains("Latency (µs), logarithmic"), "{text}");
    let mut odd = found[0].clone();
    odd.loads[0].load = "<b>\u{202e}".into();
    odd.of = vec!["</svg><script>".into()];
    drawn(&odd);
}

#[test]
fn published_maxima_are_lines_across_and_on_the_axis() {
    let records = sample::kernels(400);
    let own = records.iter().map(|r| Own::of(r).unwrap()).collect();
    let published = beside(own, &reference::all().unwrap(), false);
    let v = rtscope_analysis::versus(&records).unwrap();
    let b = &v.blocks[0];
    for l in &b.loads {
        let words = if l.load == "none" {
            ["Balci 2017: RT max ~90 µs", "Balci 2017: stock max ~500 µs"]
        } else {
            ["Dewit 2024, Table I: RT max 124 µs", "Dewit 2024, Table I: stock max 36802 µs"]
        };
        let svg = versus(b, l, &published, Use::File);
        check(&[("versus", svg.clone())]);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let class = |n: &roxmltree::Node<'_, '_>, of: &str| n.attribute("class") == Some(of);
        for (text, of) in words.iter().zip(["line s0 d1", "line s1 d1"]) {
            let lines: Vec<_> = document.descendants().filter(|n| class(n, of)).collect();
            assert_eq!(lines.len(), 1, "{of}: {svg}");
            assert!(lines[0].children().any(|n| n.text() == Some(text)), "{text}: {svg}");
            assert!(document.root_element().attribute("aria-label").unwrap().contains(text), "{text}: {svg}");
            assert!(
                document.descendants().any(|n| n.tag_name().name() == "text" && n.text() == Some(text)),
                "no key {text}: {svg}"
            );
        }
        // Within the axis, not cut off at its end.
        let at = |of: &str| {
            let line = document.descendants().find(|n| class(n, of)).unwrap();
            line.attribute("d").unwrap()[1..].split(' ').next().unwrap().parse::<f64>().unwrap()
        };
        assert!(at("line s0 d1") < at("line s1 d1") && at("line s1 d1") < 837.0, "{svg}");
    }
}

#[test]
fn stock_against_rt_shares_its_axes_and_says_its_clock() {
    for records in [sample::kernels(400), sample::troubled_kernels()] {
        let v = rtscope_analysis::versus(&records).unwrap();
        for b in &v.blocks {
            let mut axes = std::collections::BTreeSet::new();
            for l in &b.loads {
                for usage in [Use::File, Use::Page] {
                    let svg = versus(b, l, &[], usage);
                    check(&[("versus", svg.clone())]);
                    let document = roxmltree::Document::parse(&svg).unwrap();
                    let label = document.root_element().attribute("aria-label").unwrap().to_owned();
                    let text: String = document.descendants().filter_map(|n| n.text()).collect::<Vec<_>>().join("\n");
                    assert!(
                        text.contains(&format!("µs of {} time", b.clock)) && label.contains(&format!("{} time", b.clock)),
                        "{text}"
                    );
                    for (k, f) in b.kernels.iter().zip(&l.figures) {
                        assert!(label.contains(&k.label), "{label}");
                        let Some(f) = f else { continue };
                        let max = format!("{} max {:.2} µs", k.role.as_str(), f.max.unwrap() as f64 / 1e3);
                        assert!(text.contains(&max), "{max} is missing:\n{text}");
                    }
                    let areas = document.descendants().filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("line area")));
                    assert_eq!(areas.count(), l.figures.iter().flatten().count(), "a histogram for each kernel");
                    if usage == Use::Page {
                        let ticks = document.descendants().filter(|n| n.attribute("class") == Some("tick"));
                        let placed = ticks.map(|n| format!("{:?} {:?} {:?}", n.attribute("x"), n.attribute("y"), n.text()));
                        axes.insert(placed.collect::<Vec<_>>());
                    }
                }
            }
            assert_eq!(axes.len(), 1, "one pair of axes for all loads");
        }
    }
}

#[test]
fn the_fields_plot() {
    insta::assert_snapshot!(latency(&sample::board(400)[3], Axis::Linear, Use::File));
}

#[test]
fn a_logarithmic_plot() {
    insta::assert_snapshot!(latency(&sample::virtual_machine(100)[1], Axis::Log, Use::Page));
}

#[test]
fn percentile_chart() {
    insta::assert_snapshot!(percentile(&sample::virtual_machine(400)[1], Use::Page));
}

#[test]
fn worst_samples_over_time() {
    insta::assert_snapshot!(worst(&sample::virtual_machine(40)[0], Use::Page));
}

#[test]
fn runs_at_a_glance() {
    insta::assert_snapshot!(overview(&sample::board(400), Use::Page).unwrap());
}

#[test]
fn the_same_grid_point_in_two_runs() {
    let records = sample::virtual_machine(40);
    let two = [explained(&records[0], 0, "<load>\u{1b}[2J"), explained(&records[1], 9, "load")];
    let text = pair([(&records[0], &two[0]), (&records[1], &two[1])], Use::File);
    // A bar of two causes each, and both answers.
    assert_eq!(text.matches("class=\"cell ").count(), 4);
    assert!(text.contains("&lt;load&gt;") && text.matches("function_with_a_name_7").count() >= 2, "{text}");
    check(&[("pair", text)]);
}

#[test]
fn what_a_plot_must_show_is_there() {
    for r in [sample::board(400), sample::virtual_machine(400)].concat() {
        let svg = latency(&r, Axis::Linear, Use::File);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let text: String = document.descendants().filter_map(|n| n.text()).collect::<Vec<_>>().join("\n");
        let p = r.parts();
        let max = r.merged().unwrap().unwrap().max().unwrap();
        for wanted in [
            p.system.kernel.release.as_str(),
            p.system.kernel.preemption.as_str(),
            &format!("load {}", p.load),
            r.verdict().as_str(),
            &rtscope_analysis::clock_words(&r),
            "missed",
            &format!("max {:.2} µs", max as f64 / 1e3),
            "← highest",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing:\n{text}");
        }
        let lines = document
            .descendants()
            .filter(|n| n.tag_name().name() == "path" && n.children().any(|c| c.tag_name().name() == "title"));
        assert_eq!(lines.count(), r.distributions().len(), "one stair line for each CPU");
    }
}

#[test]
fn odd_records_make_every_plot() {
    for r in sample::odd() {
        for (name, svg) in all(&r) {
            assert!(!svg.contains("onload='x'"), "{name}");
        }
        let archived: Record = serde_json::from_str(&serde_json::to_string(&r).unwrap()).unwrap();
        assert_eq!(all(&r), all(&archived));
    }
    assert!(latency(&sample::odd()[0], Axis::Linear, Use::File).contains("no samples"));
    assert!(overview(&[], Use::File).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_record_makes_well_formed_plots(
        samples in prop::collection::vec(prop::collection::vec(prop_oneof![0u64..100, 0u64..1_000_000, 0u64..1 << 50], 0..40), 0..4),
        label in any::<String>(), load in any::<String>(), host in any::<String>(),
    ) {
        let mut p = sample::parts("none");
        p.load = load;
        p.system.hostname = host;
        // With an interval above every sample the correction adds nothing, which keeps the fuzzing fast.
        p.settings.interval = rtscope_record::Nanos(1 << 51);
        for (i, s) in samples.iter().enumerate() {
            p.distributions.push(Distribution::from_samples(&format!("{label}{i}"), s, 8).unwrap());
        }
        // The same record of a stock kernel, to make a pair.
        let mut stock = p.clone();
        stock.id.push_str("-stock");
        stock.system.kernel.preemption = rtscope_record::system::Preemption::Voluntary;
        let pair = [p, stock].map(|p| Record::new(p).unwrap());
        all(&pair[0]);
        let v = rtscope_analysis::versus(&pair).unwrap();
        for l in &v.blocks[0].loads {
            check(&[("versus", versus(&v.blocks[0], l, &[], Use::File)), ("versus", versus(&v.blocks[0], l, &[], Use::Page))]);
        }
        for width in [None, Some(40)] {
            let text = rtscope_report::table::versus(&pair, rtscope_report::table::Style { colour: false, width }).unwrap();
            let drives = text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}');
            prop_assert!(!drives, "{:?}", text);
        }
    }
}
