//! Every plot: whole from fixed records, and well-formed from odd and random ones.

mod sample;

use proptest::prelude::*;
use rtscope_record::{Distribution, Record};
use rtscope_report::svg::{Axis, Use, latency, overview, percentile, worst};

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
    for (name, svg) in &plots {
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{name}: {e}\n{svg}"));
        assert_eq!(document.root_element().tag_name().name(), "svg", "{name}");
        for node in document.descendants() {
            for a in node.attributes() {
                assert!(!a.value().contains("NaN") && !a.value().contains("inf"), "{name}: {}=\"{}\"", a.name(), a.value());
                assert!(!a.name().starts_with("on"), "{name}: {}", a.name());
                // The page's policy forbids inline style.
                assert_ne!(a.name(), "style", "{name}");
            }
            assert!(!["script", "image", "foreignObject", "a"].contains(&node.tag_name().name()), "{name}");
        }
    }
    plots
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
        // At an interval above every sample nothing is put back, so that the fuzz is quick.
        p.settings.interval = rtscope_record::Nanos(1 << 51);
        for (i, s) in samples.iter().enumerate() {
            p.distributions.push(Distribution::from_samples(&format!("{label}{i}"), s, 8).unwrap());
        }
        all(&Record::new(p).unwrap());
    }
}
