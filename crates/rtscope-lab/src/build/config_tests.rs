//! Tests of configurations and fragments.

use super::*;
use proptest::prelude::*;

const STOCK: &str =
    "#\n# Linux/x86 6.12.117\n#\nCONFIG_HZ=250\n# CONFIG_PREEMPT_RT is not set\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_X=\"a=b\"\n";
const RT: &str = "CONFIG_HZ=250\nCONFIG_PREEMPT_RT=y\nCONFIG_PREEMPTION=y\nCONFIG_X=\"a=b\"\n";

#[test]
fn what_differs_is_named_in_order() {
    let chosen = ["PREEMPT_RT", "PREEMPT_VOLUNTARY", "HZ"].map(str::to_owned).into();
    let found = difference(&Config::parse(STOCK), &Config::parse(RT), &chosen);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["PREEMPTION: n -> y", "PREEMPT_RT: n -> y", "PREEMPT_VOLUNTARY: y -> n"]);
    assert_eq!(found.iter().map(|c| c.chosen).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn an_option_that_is_off_is_one_that_there_is_not() {
    let off = Config::parse("# CONFIG_A is not set\nCONFIG_B=n\n");
    assert_eq!(off, Config::default());
    assert!(difference(&off, &Config::default(), &BTreeSet::new()).is_empty());
}

#[test]
fn a_fragment_is_read_and_what_kconfig_dropped_is_found() {
    let text = "# The lab.\nCONFIG_HZ=250\n# CONFIG_PREEMPT_VOLUNTARY is not set\n\nCONFIG_OLD=y # optional\nCONFIG_NEW=y\n# nothing here is not set\n";
    let fragment = Fragment::parse(text).unwrap();
    assert_eq!(fragment.options().collect::<Vec<_>>(), ["HZ", "NEW", "OLD", "PREEMPT_VOLUNTARY"]);
    let dropped: Vec<String> = fragment.dropped(&Config::parse(STOCK)).iter().map(ToString::to_string).collect();
    assert_eq!(dropped, ["NEW=y is n", "PREEMPT_VOLUNTARY=n is y"]);
    assert!(fragment.with("NEW", "n").with("PREEMPT_VOLUNTARY", "y").dropped(&Config::parse(STOCK)).is_empty());
}

#[test]
fn what_a_tree_does_not_have_may_be_left_out_where_that_was_said() {
    let lab = Fragment::parse("CONFIG_A=y\nCONFIG_B=y # optional\n").unwrap().where_known();
    assert_eq!(lab.only_where_known(), ["A"].into());
    assert_eq!(lab.dropped(&Config::default()).len(), 1, "who knows the tree decides");
    let mut all = lab;
    all.extend(&Fragment::default().with("A", "y"));
    assert!(all.only_where_known().is_empty(), "what is asked for besides must be");
}

#[test]
fn later_layers_count() {
    let mut fragment = Fragment::parse("CONFIG_A=y\nCONFIG_B=\"x y\"\n").unwrap();
    fragment.extend(&Fragment::default().with("A", "n").with_optional("C", "0x10"));
    assert_eq!(fragment.text(), "# CONFIG_A is not set\nCONFIG_B=\"x y\"\nCONFIG_C=0x10\n");
}

#[test]
fn a_line_that_sets_nothing_is_an_error() {
    for wrong in
        ["HZ=250", "CONFIG_HZ", "CONFIG_=y", "CONFIG_A=yes", "CONFIG_A=\"", "CONFIG_A=\"a\"b\"", "CONFIG_A-B=y", "CONFIG_A="]
    {
        let e = Fragment::parse(&format!("CONFIG_Z=y\n{wrong}\n")).unwrap_err();
        assert!(e.starts_with("line 2: "), "{wrong}: {e}");
    }
}

#[test]
fn every_fragment_of_the_repository_is_whole() {
    for text in [
        include_str!("lab.fragment"),
        include_str!("lab-amd64.fragment"),
        include_str!("lab-arm64.fragment"),
        include_str!("lab-armhf.fragment"),
    ] {
        let fragment = Fragment::parse(text).unwrap();
        let lines = text.lines().filter(|l| l.starts_with("CONFIG_") || l.ends_with("is not set")).count();
        assert_eq!(fragment.options().count(), lines, "an option is named twice, or a line was passed over");
    }
}

/// Options with values, as a `.config` has them.
fn options() -> impl Strategy<Value = BTreeMap<String, String>> {
    let value = prop_oneof!["[ym]", "[0-9]{1,4}", "\"[a-z= ]{0,5}\""];
    prop::collection::btree_map("[A-Z][A-Z0-9_]{0,3}", value, 0..12)
}

fn written(options: &BTreeMap<String, String>) -> String {
    options.iter().fold(String::new(), |text, (name, value)| text + &format!("CONFIG_{name}={value}\n"))
}

proptest! {
    #[test]
    fn any_text_is_a_configuration(text in "(CONFIG_[A-Z]{1,3}=\\PC{0,4}\n|# CONFIG_[A-Z]{1,3} is not set\n|\\PC{0,9}\n){0,12}") {
        let config = Config::parse(&text);
        prop_assert!(difference(&config, &config, &BTreeSet::new()).is_empty());
        let _ = Fragment::parse(&text);
    }

    /// The second configuration is the first with the differences carried out.
    #[test]
    fn a_difference_leads_from_one_to_the_other(a in options(), b in options()) {
        let (first, second) = (Config::parse(&written(&a)), Config::parse(&written(&b)));
        let found = difference(&first, &second, &BTreeSet::new());
        let mut made = a;
        for change in &found {
            prop_assert_eq!(first.get(&change.option), change.from.as_str());
            if change.to == "n" { made.remove(&change.option); } else { made.insert(change.option.clone(), change.to.clone()); }
        }
        prop_assert_eq!(&made, &b);
        let back = difference(&second, &first, &BTreeSet::new());
        prop_assert_eq!(back.len(), found.len());
        prop_assert!(back.iter().zip(&found).all(|(x, y)| (&x.option, &x.from, &x.to) == (&y.option, &y.to, &y.from)));
    }

    /// A fragment reads what it writes, and drops nothing of a configuration that is what it asks for.
    #[test]
    fn a_fragment_is_read_and_written_alike(options in options()) {
        let fragment = Fragment::parse(&written(&options)).unwrap();
        prop_assert_eq!(&Fragment::parse(&fragment.text()).unwrap(), &fragment);
        prop_assert!(fragment.dropped(&Config::parse(&written(&options))).is_empty());
        prop_assert_eq!(fragment.dropped(&Config::default()).len(), options.len());
    }
}
