//! Tests of the table of families: it is complete, and its rows do not contradict each other.

use super::*;
use std::collections::BTreeSet;

#[test]
fn every_row_is_complete() {
    for family in Family::all() {
        let e = family.entry();
        let name =
            |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-_".contains(&b));
        // These become parts of paths.
        assert!(name(e.vendor) && name(e.series) && e.vendor != "own", "{e:?}");
        assert!(!e.series.ends_with("-rt") && !e.series.starts_with('.'), "{e:?}");
        assert_eq!(Family::of(e.vendor, e.series), Some(family), "no two have one name");
        assert!(!e.flavours.is_empty() && e.flavours.iter().all(|f| name(f.name)), "{e:?}");
        let cells: BTreeSet<_> = e.flavours.iter().map(|f| (f.arch, f.rt)).collect();
        assert_eq!(cells.len(), e.flavours.len(), "one flavour for each: {e:?}");
        assert!(!e.metapackages.is_empty());
        let rpm = e.archive.format == Format::Rpm;
        let leads =
            |m: &str| if rpm { m.starts_with("kernel-") } else { m.starts_with("linux-image-") && m.matches('*').count() == 1 };
        assert!(e.metapackages.iter().all(|m| leads(m)), "{e:?}");
        for f in e.flavours {
            assert!(e.archive.mirrors.is_empty() || e.archive.mirrors.iter().any(|(archs, _)| archs.contains(&f.arch)), "{f:?}");
        }
        if let Some(t) = family.toolchain(Arch::host(), |_| false) {
            assert!(name(t.dir) && name(t.compiler) && t.libraries.iter().all(|l| name(l)), "{t:?}");
        }
    }
}

#[test]
fn archives_and_compilers_have_their_own_directories() {
    let mut archives: Vec<&Archive> = Vec::new();
    let mut toolchains: Vec<&Toolchain> = Vec::new();
    for family in Family::all() {
        archives.push(family.entry().archive);
        toolchains.extend(family.toolchain(Arch::host(), |_| false));
    }
    for (i, a) in archives.iter().enumerate() {
        assert!(Arch::ALL.iter().all(|arch| a.dir != arch.as_str()), "Debian 12's are there");
        assert!(archives[i..].iter().all(|b| (a.dir == b.dir) == (a == b)), "{a:?}");
        assert!(a.suites.iter().all(|(_, suite, components)| !suite.is_empty() && !components.is_empty()));
    }
    for (i, a) in toolchains.iter().enumerate() {
        assert!(toolchains[i..].iter().all(|b| (a.dir == b.dir) == (a == b)), "{a:?}");
    }
}

#[test]
fn versions_tell_the_families_of_an_archive_apart() {
    let of = |series| &Family::of("debian", series).unwrap().entry().versions;
    for (version, series) in [
        ("6.1.192-2", "6.1"),
        ("6.12.95-1~bpo12+1", "6.12"),
        ("6.12.117-1~deb12u1", "6.12"),
        ("6.12.117-1", "13"),
        ("7.3.4-1~bpo13+1", "13-backports"),
    ] {
        assert!(of(series).fit(version), "{version}");
    }
    assert!(!of("6.1").fit("6.12.95-1~bpo12+1") && !of("13").fit("7.3.4-1~bpo13+1") && !of("13-backports").fit("6.12.117-1"));
}

#[test]
fn a_compiler_is_fetched_where_the_host_has_another_one() {
    let of = |vendor, series, target, host: &[&str]| {
        Family::of(vendor, series).unwrap().toolchain(target, |program| host.contains(&program)).map(|t| t.compiler)
    };
    let (host, other) = (Arch::host(), Arch::ALL.into_iter().find(|a| *a != Arch::host()).unwrap());
    for series in ["6.1", "6.12"] {
        assert_eq!(of("debian", series, host, &["gcc", "gcc-12"]), None);
        assert_eq!(of("debian", series, host, &["gcc", "gcc-14"]), Some("gcc-12"), "Debian 13's default");
        assert_eq!(of("debian", series, other, &["gcc-12"]), Some("gcc-12"), "no cross compiler");
        assert_eq!(of("debian", series, other, &[&format!("{}-gcc-12", other.triple())]), None);
        assert_eq!(Family::of("debian", series).unwrap().runtime(), None, "its headers' programs are the host's business");
    }
    assert_eq!(of("debian", "13", host, &["gcc-14"]), Some("gcc-14"), "with the libraries of its headers' programs");
    assert_eq!(of("fedora", "44", host, &[]), None, "no headers");
}
