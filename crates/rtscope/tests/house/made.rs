//! Tests of the reader, on small made-up trees: it finds circles, and only circles.

use crate::arrows::{Arrows, arrows};
use crate::circles::{circles, words};
use crate::tree::Tree;
use crate::{rooms, told};
use std::collections::BTreeMap;

fn read(files: &[(&str, &str)]) -> Arrows {
    let sources: BTreeMap<String, String> = files.iter().map(|(f, text)| ((*f).into(), (*text).into())).collect();
    let tree = Tree::read(&sources);
    assert_eq!(tree.unread(&sources), [""; 0]);
    arrows(&tree)
}

/// The files of each circle, without their directory.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let short = |f: &String| f.trim_start_matches("x/src/").to_owned();
    circles(&read(files)).iter().map(|c| c.iter().map(short).collect::<Vec<_>>().join(" ")).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn a_circle_is_found_and_its_names_are_told() {
    let files = [
        ("x/src/lib.rs", "mod a; mod b; mod c;"),
        ("x/src/a.rs", "use crate::b::{One, two as deux}; pub struct A;"),
        ("x/src/b.rs", "pub struct One; pub fn two() { crate::c::three(); }"),
        ("x/src/c.rs", "pub fn three() { let _ = super::a::A; }"),
    ];
    assert_eq!(found(&files), ["a.rs b.rs c.rs"]);
    let arrows = read(&files);
    let text = words(&circles(&arrows)[0], &arrows);
    let wanted = "a circle of 3 files:\n  x/src/a.rs takes from x/src/b.rs: One, two\n  x/src/b.rs takes from x/src/c.rs: three\n  \
                  x/src/c.rs takes from x/src/a.rs: A\n";
    assert_eq!(text, wanted);
    // In one direction only, there is no circle.
    let mut open = files;
    open[3].1 = "pub fn three() {}";
    assert_eq!(found(&open), NONE);
}

#[test]
fn a_re_export_hides_no_circle() {
    // Through the root, which is a face; by a rename; by a glob.
    for (root, taken) in [
        ("mod a; mod b; pub use a::A;", "use crate::A;"),
        ("mod a; mod b; pub use a::A as Other;", "use crate::Other;"),
        ("mod a; mod b; pub use a::*;", "use crate::A;"),
        ("mod a; mod b; pub use a::*;", "use crate::*; fn f(_: A) {}"),
        ("mod a; mod b; pub use a as other;", "use crate::other::A;"),
    ] {
        let b = format!("{taken} pub struct B;");
        let files = [("x/src/lib.rs", root), ("x/src/a.rs", "use crate::b::B; pub struct A;"), ("x/src/b.rs", &b)];
        assert_eq!(found(&files), ["a.rs b.rs"], "{root} {taken}");
    }
    // A module with items of its own becomes part of the circle.
    let files = [
        ("x/src/lib.rs", "mod a; mod b; mod between;"),
        ("x/src/a.rs", "use crate::b::B; pub struct A;"),
        ("x/src/b.rs", "use crate::between::A; pub struct B;"),
        ("x/src/between.rs", "pub use crate::a::A; pub fn own() {}"),
    ];
    assert_eq!(found(&files), ["a.rs b.rs between.rs"]);
}

#[test]
fn a_child_and_its_parent_are_a_circle_where_each_takes_from_the_other() {
    let child = ("x/src/a/child.rs", "use super::Shared; pub fn f(_: Shared) {}");
    let with = |parent: &'static str| found(&[("x/src/lib.rs", "mod a;"), ("x/src/a.rs", parent), child]);
    for parent in [
        "mod child; pub use child::f; pub struct Shared;",
        "mod child; pub struct Shared; fn g() { child::f(Shared) }",
        "mod child; pub struct Shared; fn g() { self::child::f(Shared) }",
        "mod child; mod other { pub struct Shared; } use other::Shared; fn g() { println!(\"{:?}\", child::f(Shared)) }",
    ] {
        assert_eq!(with(parent), ["a.rs a/child.rs"], "{parent}");
    }
    // Only the parent knows the child, or only the child takes from the parent.
    assert_eq!(with("mod child; pub struct Shared;"), NONE);
    let files = [
        ("x/src/lib.rs", "mod a;"),
        ("x/src/a.rs", "mod child; mod shared; pub use child::f; pub use shared::Shared; pub fn own() {}"),
        ("x/src/a/child.rs", "use super::shared::Shared; pub(super) fn f(_: Shared) {}"),
        ("x/src/a/shared.rs", "pub struct Shared;"),
    ];
    assert_eq!(found(&files), NONE, "past the parent to a sibling, and visible in the parent");
}

#[test]
fn paths_are_found_wherever_they_are_written() {
    for taken in [
        "fn f() { crate::a::make(); }",
        "fn f() -> crate::a::A { todo!() }",
        "fn f() { vec![crate::a::make()]; }",
        "fn f() { use crate::a::make; make() }",
        "#[derive(D)] struct S { #[serde(with = \"crate::a::A\")] s: u8 }",
        "use x::a::A;",
        "use crate::{self as root}; fn f() { root::a::make() }",
        "use crate::a; fn f() { a::make() }",
        "use crate::a::{self}; fn f() { a::make() }",
        "impl crate::a::T for u8 {}",
        "mod inner { pub fn f() { super::super::a::make() } }",
        "macro_rules! m { () => { $crate::a::make() } }",
        "use crate::a::made_by_a_macro;",
    ] {
        let b = format!("{taken} pub struct B;");
        let a = "use crate::b::B; pub struct A; pub trait T {} pub fn make() {} invent! { made_by_a_macro }";
        assert_eq!(found(&[("x/src/lib.rs", "mod a; mod b;"), ("x/src/a.rs", a), ("x/src/b.rs", &b)]), ["a.rs b.rs"], "{taken}");
    }
}

#[test]
fn what_is_there_in_tests_only_is_no_arrow() {
    let b = "#[cfg(test)] use crate::a::A; #[cfg(all(test, unix))] mod more { use crate::a::A; } #[cfg(test)] mod tests; \
             #[test] fn t() { crate::a::make() } impl B { #[cfg(test)] fn f(_: crate::a::A) {} } \
             /// [`crate::a::A`]\n pub struct B;";
    let files = [
        ("x/src/lib.rs", "mod a; mod b; #[cfg(test)] #[path = \"aside.rs\"] mod aside;"),
        ("x/src/aside.rs", "use crate::a::A; mod deeper;"),
        ("x/src/aside/deeper.rs", "use crate::b::B;"),
        ("x/src/a.rs", "use crate::b::B; pub struct A; pub fn make() {}"),
        ("x/src/b.rs", b),
        ("x/src/b/tests.rs", "use crate::a::A; use super::*;"),
    ];
    assert_eq!(found(&files), NONE);
}

#[test]
fn names_of_others_are_not_taken_for_ours() {
    let files = [
        ("x/src/lib.rs", "mod io; mod b;"),
        ("x/src/io.rs", "use std::io::Read; use crate::b::B; pub struct Own;"),
        ("x/src/b.rs", "use std::io; use std::io::Write as _; fn f(_: io::Error) { io::stdin(); } pub struct B;"),
    ];
    assert_eq!(found(&files), NONE);
}

#[test]
fn programs_and_other_crates_are_read_too() {
    let files = [
        ("x-y/src/lib.rs", "pub mod a; pub use a::A;"),
        ("x-y/src/a.rs", "pub struct A;"),
        ("x-y/src/main.rs", "mod own; use x_y::A; fn main() { own::f() }"),
        ("x-y/src/own.rs", "pub fn f() { x_y::a::A; }"),
        ("z/src/lib.rs", "pub use x_y::A;"),
    ];
    let arrows = read(&files);
    let to = |from: &str| arrows[from].keys().cloned().collect::<Vec<_>>();
    assert_eq!(to("x-y/src/main.rs"), ["x-y/src/a.rs", "x-y/src/own.rs"]);
    assert_eq!(to("x-y/src/own.rs"), ["x-y/src/a.rs"]);
    assert_eq!(to("z/src/lib.rs"), ["x-y/src/a.rs"]);
}

#[test]
fn a_file_that_no_module_names_is_told() {
    let files = [("x/src/lib.rs", "mod a;"), ("x/src/a.rs", ""), ("x/src/lost.rs", "use crate::a;")];
    let sources: BTreeMap<String, String> = files.iter().map(|(f, text)| ((*f).into(), (*text).into())).collect();
    assert_eq!(Tree::read(&sources).unread(&sources), ["x/src/lost.rs"]);
}

#[test]
fn a_circle_is_told_in_words() {
    let arrows = read(&[
        ("x/src/lib.rs", "mod a; mod b;"),
        ("x/src/a.rs", "pub struct A; use crate::b::B;"),
        ("x/src/b.rs", "pub struct B; use crate::a::A;"),
    ]);
    assert!(told(&arrows).is_some_and(|text| text.starts_with("a circle of 2 files:\n  x/src/a.rs takes from x/src/b.rs: B\n")));
    assert_eq!(told(&Arrows::new()), None);
}

#[test]
fn a_crate_that_looks_up_is_found() {
    let of = |room: &str, text: &str| rooms::upward(&BTreeMap::from([(format!("{room}/Cargo.toml"), text.to_owned())]));
    let upward = |room: &str, other: &str| vec![format!("{room}/Cargo.toml: {room} depends on {other}, which is not below it")];
    assert_eq!(of("rtscope-lab", "[dependencies]\nrtscope-record.workspace = true\nrtscope-fpga = \"1\"\nserde = \"1\""), NONE);
    for text in [
        "[dependencies]\nrtscope-archive.workspace = true",
        "[dev-dependencies]\nrtscope-archive = { path = \"../rtscope-archive\" }",
        "[build-dependencies.rtscope-archive]\nworkspace = true",
        "[target.'cfg(unix)'.dependencies]\nrtscope-archive = \"1\"",
        "[dependencies]\nother = { package = \"rtscope-archive\", version = \"1\" }",
    ] {
        assert_eq!(of("rtscope-record", text), upward("rtscope-record", "rtscope-archive"), "{text}");
        assert_eq!(of("rtscope", text), NONE);
    }
    assert_eq!(of("rtscope-analysis", "[dependencies]\nrtscope.workspace = true"), upward("rtscope-analysis", "rtscope"));
    assert_eq!(of("rtscope-new", ""), ["rtscope-new has no place in the order"]);
}
