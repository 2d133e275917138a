//! Tests of what is varied.

use super::*;
use crate::build::config::Config;
use proptest::prelude::*;
use rtscope_failure::Problem as _;

/// As in 6.12, and as from 6.13 on.
const CHOICE: &str =
    "choice\nconfig PREEMPT_NONE\nconfig PREEMPT_VOLUNTARY\nconfig PREEMPT\nconfig PREEMPT_RT\n\tbool \"RT\"\nendchoice\n";
const APART: &str =
    "choice\nconfig PREEMPT_NONE\nconfig PREEMPT_VOLUNTARY\nconfig PREEMPT\nconfig PREEMPT_LAZY\nendchoice\n\nconfig PREEMPT_RT\n";
const OLD: &str = "choice\nconfig PREEMPT_NONE\nconfig PREEMPT_VOLUNTARY\nconfig PREEMPT\nendchoice\n";
const X86: &str = "config X86\n\tselect ARCH_SUPPORTS_RT\n";

fn vary(text: &str) -> Vary {
    text.parse().unwrap()
}

fn labels(texts: &[&str], models: Models) -> Result<Vec<String>, BuildError> {
    let all: Vec<Vary> = texts.iter().map(|t| vary(t)).collect();
    Ok(variants(&all, models, "the tree")?.0.into_iter().map(|v| v.label).collect())
}

fn pair(preempt: &str) -> Result<(Vec<Variant>, Fragment), BuildError> {
    let models = Models::of(preempt, X86);
    variants(&[Vary::pair(models)], models, "the tree")
}

/// As in 7.3: what the architecture has decides.
const RESTRICTED: &str = "choice\n\nconfig PREEMPT_NONE\n\tdepends on !PREEMPT_RT\n\tdepends on ARCH_NO_PREEMPT\n\thelp\n\t  Text.\n\n\
     \t  More.\n\nconfig PREEMPT_VOLUNTARY\n\tdepends on !ARCH_HAS_PREEMPT_LAZY\n\nconfig PREEMPT\n\nconfig PREEMPT_LAZY\n\t\
     depends on ARCH_HAS_PREEMPT_LAZY\n\nendchoice\n\nconfig PREEMPT_RT\n";

#[test]
fn newer_trees_have_fewer_models() {
    let lazy = "config X86\n\tselect ARCH_HAS_PREEMPT_LAZY\n\tselect ARCH_SUPPORTS_RT\n";
    let models = Models::of(RESTRICTED, lazy);
    assert_eq!(Vary::pair(models), vary("PREEMPT=lazy,rt"));
    assert_eq!(labels(&["PREEMPT=full,lazy,rt"], models).unwrap(), ["full", "lazy", "rt"]);
    for model in ["none", "voluntary"] {
        let e = labels(&[&format!("PREEMPT={model},rt")], models).unwrap_err();
        assert!(e.is_usage() && e.to_string().contains(&model.to_uppercase()) && e.remedy().contains("6.19"), "{e}");
    }
    // An architecture without lazy preemption keeps voluntary preemption.
    let models = Models::of(RESTRICTED, X86);
    assert_eq!(Vary::pair(models), vary("PREEMPT=voluntary,rt"));
    assert!(labels(&["PREEMPT=lazy"], models).is_err());
}

#[test]
fn every_combination_has_a_name() {
    let models = Models::of(CHOICE, X86);
    assert_eq!(
        labels(&["PREEMPT=none,rt", "HZ=100,1000"], models).unwrap(),
        ["none-hz100", "none-hz1000", "rt-hz100", "rt-hz1000"]
    );
    assert_eq!(labels(&["CONFIG_NO_HZ_FULL=y,n"], models).unwrap(), ["no-hz-full-y", "no-hz-full-n"]);
    let e = labels(&["A=1,2,3,4,5", "B=1,2,3,4"], models).unwrap_err();
    assert!(e.is_usage() && e.to_string().contains("20 kernels"), "{e}");
    let e = labels(&["A=1,2", "A=3"], models).unwrap_err();
    assert!(e.is_usage() && e.to_string().contains("twice"), "{e}");
}

#[test]
fn one_model_is_on_and_the_others_are_off() {
    let (two, common) = pair(CHOICE).unwrap();
    assert_eq!(common.text(), "CONFIG_EXPERT=y\n# CONFIG_PREEMPT_DYNAMIC is not set\n");
    assert_eq!(
        two[0].own.text(),
        "# CONFIG_PREEMPT is not set\n# CONFIG_PREEMPT_NONE is not set\n# CONFIG_PREEMPT_RT is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n"
    );
    assert_eq!(
        two[1].own.text(),
        "# CONFIG_PREEMPT is not set\n# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_RT=y\n# CONFIG_PREEMPT_VOLUNTARY is not set\nCONFIG_RCU_BOOST=y\n"
    );
    // In the patches for 6.1 PREEMPT_LAZY is a part of PREEMPT_RT.
    let part = format!("config HAVE_PREEMPT_LAZY\n\tbool\n\nconfig PREEMPT_LAZY\n\tdef_bool y if PREEMPT_RT\n\n{CHOICE}");
    let (again, _) = pair(&part).unwrap();
    assert_eq!(again, two);
    assert!(labels(&["PREEMPT=lazy"], Models::of(&part, X86)).unwrap_err().to_string().contains("no PREEMPT_LAZY"));
    // Where PREEMPT_RT stands beside the choice, one of the choice is on too.
    let (two, _) = pair(APART).unwrap();
    let config = Config::parse(&two[1].own.text());
    assert_eq!([config.get("PREEMPT"), config.get("PREEMPT_RT"), config.get("PREEMPT_LAZY")], ["y", "y", "n"]);
}

#[test]
fn a_frequency_is_one_of_a_choice() {
    let (two, common) = variants(&[vary("HZ=250,1000")], Models::of(CHOICE, X86), "the tree").unwrap();
    let config = Config::parse(&two[1].own.text());
    assert_eq!([config.get("HZ"), config.get("HZ_1000"), config.get("HZ_250")], ["1000", "y", "n"]);
    assert_eq!(common, Fragment::default());
}

#[test]
fn a_tick_is_one_of_a_choice() {
    // The lab's profile asks for another one than what is varied.
    let lab = Fragment::parse(include_str!("lab.fragment")).unwrap();
    let ticks = |text: &str| -> Vec<String> {
        let (all, _) = variants(&[vary(text)], Models::of(CHOICE, X86), "the tree").unwrap();
        let of = |own: &Fragment| {
            let mut asked = lab.clone();
            asked.extend(own);
            let config = Config::parse(&asked.text());
            let on: Vec<&str> = TICKS.into_iter().filter(|tick| config.get(tick) == "y").collect();
            on.join(" ")
        };
        all.iter().map(|v| of(&v.own)).collect()
    };
    assert_eq!(ticks("NO_HZ_FULL=y,n"), ["NO_HZ_FULL", "NO_HZ_IDLE"]);
    assert_eq!(ticks("HZ_PERIODIC=n,y"), ["NO_HZ_IDLE", "HZ_PERIODIC"]);
    // What kconfig chooses then is in the difference that is printed.
    assert_eq!(ticks("NO_HZ_IDLE=y,n"), ["NO_HZ_IDLE", ""]);
    let e = labels(&["NO_HZ_FULL=y,n", "HZ_PERIODIC=y,n"], Models::of(CHOICE, X86)).unwrap_err();
    assert!(e.is_usage() && e.to_string().contains("one choice"), "{e}");
}

#[test]
fn a_name_is_one_that_a_debian_package_can_have() {
    let models = Models::of(CHOICE, X86);
    assert_eq!(labels(&["PHYSICAL_START=0x1A00000", "NO_HZ_FULL=y"], models).unwrap(), ["physical-start-0x1a00000-no-hz-full-y"]);
    let e = labels(&["PHYSICAL_START=0xAB,0xab"], models).unwrap_err();
    assert!(e.is_usage() && e.to_string().contains("physical-start-0xab"), "{e}");
}

#[test]
fn what_the_tree_has_not_is_refused_before_anything_is_built() {
    let lazy = labels(&["PREEMPT=lazy"], Models::of(CHOICE, X86)).unwrap_err();
    assert!(lazy.is_usage() && lazy.remedy().contains("6.13"), "{lazy}");
    labels(&["PREEMPT=lazy,rt"], Models::of(APART, X86)).unwrap();
    // 6.1 without the patch, 32-bit Arm without it, and a kernel from before.
    for (preempt, arch, says) in [(CHOICE, "config X86\n", "ARCH_SUPPORTS_RT"), (OLD, X86, "has no PREEMPT_RT")] {
        let rt = labels(&["PREEMPT=voluntary,rt"], Models::of(preempt, arch)).unwrap_err();
        assert!(rt.is_usage() && rt.to_string().contains(says), "{rt}");
        labels(&["PREEMPT=voluntary,full"], Models::of(preempt, arch)).unwrap();
    }
}

#[test]
fn what_varies_nothing_is_refused() {
    for wrong in ["PREEMPT", "PREEMPT=", "PREEMPT=fast", "PREEMPT=rt,rt", "HZ=99", "=y", "A-B=y", "A=\"x\"", "A=y,", "A=x"] {
        let e = wrong.parse::<Vary>().unwrap_err();
        assert!(e.is_usage() && e.to_string().contains("PREEMPT=none"), "{wrong}: {e}");
    }
}

proptest! {
    #[test]
    fn any_text_varies_something_or_is_refused(text in "((PREEMPT|HZ|NO_HZ_FULL|[A-Za-z_]{0,4})=)?[a-zA-F0-9,\"-]{0,12}") {
        if let Ok(v) = text.parse::<Vary>() {
            let Ok((all, _)) = variants(&[v], Models::of(APART, X86), "the tree") else { return Ok(()) };
            let mut names: Vec<&String> = all.iter().map(|v| &v.label).collect();
            prop_assert!(names.iter().all(|n| n.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')));
            names.sort();
            names.dedup();
            prop_assert_eq!(names.len(), all.len());
        }
    }
}
