//! `rtscope report` and `rtscope compare`.

use super::fail_if::{held, tally};
use super::published::Published;
use super::{compare_values, style};
use crate::args::{Compare, Report};
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::papers::{Papers, figures};
use rtscope_failure::{Explain, Failure};
use rtscope_record::{Nanos, Record, Test};
use rtscope_report::table::Caveats;
use rtscope_report::{html, svg, table};
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes the page; prints only its path to standard output.
pub(crate) fn report(context: &Context, a: &Report) -> Result<Code, Failure> {
    let records = for_a_page(&Selection::of(context, &a.selection)?)?;
    let published = Published::of_records(a.with_reference.as_deref(), &records)?;
    published.missing().for_each(|why| context.say(why));
    if a.output.as_os_str() == "-" {
        output::document(page(context, &records, a, &published)?.as_bytes())?;
    } else {
        write(&a.output, page(context, &records, a, &published)?.as_bytes())?;
    }
    if let Some(dir) = &a.svg {
        rtscope_files::output_dir(dir).or_machine(dir.display(), super::meta::DIRECTORY)?;
        for r in &records {
            let text = svg::latency(r, svg::Axis::Linear, svg::Use::File);
            write(&dir.join(format!("{}.svg", r.id())), text.as_bytes())?;
        }
        versus_pictures(&records, &published, dir)?;
        response_pictures(&records, dir)?;
        published_pictures(&published, dir)?;
        paper_pictures(&records, dir)?;
    }
    if a.output.as_os_str() != "-" {
        let path = std::path::absolute(&a.output).unwrap_or_else(|_| a.output.clone());
        output::result(&format!("{}\n", path.display()))?;
    }
    Ok(Code::Done)
}

/// Most runs on a page: each adds its record, charts and tables, some 50 KB, which a browser must lay out.
const PAGE: usize = 1000;

/// The selected records; an error if they are more than a page holds.
pub(crate) fn for_a_page(selection: &Selection) -> Result<Vec<Record>, Failure> {
    if selection.len() > PAGE {
        return Err(Failure::usage(
            format!("{} runs are selected, and a page holds {PAGE} at most", selection.len()),
            format!("select fewer, such as last={PAGE}; `compare`, `export`, `show` and `list` take any number"),
        ));
    }
    selection.records()
}

fn page(context: &Context, records: &[Record], a: &Report, published: &Published) -> Result<String, Failure> {
    let explained = super::explained::kept(context, records)?;
    let tails = if a.tail { super::tail_studies::tails(records) } else { Vec::new() };
    let options = html::Options {
        title: a.title.as_deref().unwrap_or_default(),
        comparison: None,
        kernels: None,
        below: &a.below,
        tails: &tails,
        papers: None,
        published: published.found(),
        explained: &explained,
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(html::page(records, &options)?)
}

/// Writes the page of `records` to a file; `below` are the thresholds of tests over lines.
pub(crate) fn page_to(context: &Context, path: &Path, records: &[Record], title: &str, below: &[Nanos]) -> Result<(), Failure> {
    let explained = super::explained::kept(context, records)?;
    let options =
        html::Options { title, below, explained: &explained, version: env!("CARGO_PKG_VERSION"), ..html::Options::default() };
    write(path, html::page(records, &options)?.as_bytes())
}

/// Writes the page of `records` beside the papers to a file, with all that was published of such tests.
pub(crate) fn page_of_papers(context: &Context, path: &Path, records: &[Record], papers: &Papers) -> Result<(), Failure> {
    let (explained, published) = (super::explained::kept(context, records)?, Published::of_records(Some(""), records)?);
    let options = html::Options {
        title: "The four papers",
        papers: Some(papers),
        published: published.found(),
        explained: &explained,
        version: env!("CARGO_PKG_VERSION"),
        ..html::Options::default()
    };
    write(path, html::page(records, &options)?.as_bytes())
}

/// Writes the plots of stock against RT, for each pair in the records, with what was published of them.
fn versus_pictures(records: &[Record], published: &Published, dir: &Path) -> Result<(), Failure> {
    let Ok(v) = rtscope_analysis::versus(records) else { return Ok(()) };
    let mut written = BTreeSet::new();
    let names = ["stock", "RT"];
    let pairs: Vec<_> = v.blocks.iter().filter(|b| b.is_pair()).collect();
    for (i, b) in pairs.iter().enumerate() {
        let (runs, number) = (&b.runs, if pairs.len() > 1 { format!("-{}", i + 1) } else { String::new() });
        for (name, picture) in
            [("forest", svg::forest(runs, names, svg::Use::File)), ("run-maxima", svg::run_maxima(runs, names, svg::Use::File))]
        {
            if let Some(text) = picture {
                write(&dir.join(format!("stock-vs-rt-{name}{number}.svg")), text.as_bytes())?;
            }
        }
    }
    for b in pairs {
        for l in &b.loads {
            let load = l.load.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            let stem = format!("stock-vs-rt-{}-{}-{load}", b.series, b.clock);
            // The name is taken by another machine, or by a load whose name differs only in special characters.
            let mut name = stem.clone();
            for n in 2.. {
                if written.insert(name.clone()) {
                    break;
                }
                name = format!("{stem}-{n}");
            }
            write(&dir.join(format!("{name}.svg")), svg::versus(b, l, published.found(), svg::Use::File).as_bytes())?;
        }
    }
    Ok(())
}

/// Writes the plots that compare response tests, if there are any.
fn response_pictures(records: &[Record], dir: &Path) -> Result<(), Failure> {
    let Ok(a) = rtscope_analysis::line_tests(records, &[], &[]) else { return Ok(()) };
    let pictures = [
        ("response-ranges", svg::response_ranges(&a, svg::Use::File)),
        ("response-worst", svg::response_worst(&a, svg::Use::File)),
    ];
    for (name, picture) in pictures {
        if let Some(text) = picture {
            write(&dir.join(format!("{name}.svg")), text.as_bytes())?;
        }
    }
    Ok(())
}

/// Writes a picture of what was published for each test and space of the runs.
fn published_pictures(published: &Published, dir: &Path) -> Result<(), Failure> {
    for b in published.found() {
        if let Some(text) = svg::published(b, svg::Use::File) {
            write(&dir.join(format!("published-{}-{}.svg", b.test, b.space)), text.as_bytes())?;
        }
    }
    Ok(())
}

/// Writes the papers' figures with a histogram for each load, if any of them has runs among `records`.
fn paper_pictures(records: &[Record], dir: &Path) -> Result<(), Failure> {
    let all = figures(records)?;
    if all.iter().all(|f| f.of.is_empty()) {
        return Ok(());
    }
    for same in all.chunk_by(|a, b| (a.paper, a.number) == (b.paper, b.number)) {
        for (i, f) in same.iter().enumerate() {
            // Other machines, kernels or lengths have a picture of their own.
            let more = if i > 0 { format!("-{}", i + 1) } else { String::new() };
            let name = format!("{}-fig-{}{more}.svg", f.paper, f.number);
            write(&dir.join(name), svg::by_load(f, svg::Use::File).as_bytes())?;
        }
    }
    Ok(())
}

/// Writes a file whole or not at all: to a temporary file beside it, which then takes its place.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_by(path, |file| file.write_all(bytes).map_err(|e| unwritten(path, &e)))
}

/// The failure of [`write`].
pub(crate) fn unwritten(path: &Path, e: &std::io::Error) -> Failure {
    Failure::machine(format!("{}: {e}", path.display()), "free space there, or name another place with -o")
}

/// As [`write`], with content that `fill` writes piece by piece.
pub(crate) fn write_by(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
    let failed = |e: std::io::Error| unwritten(path, &e);
    let mut file = BufWriter::new(rtscope_files::Replacement::new(path, 0o666).map_err(failed)?);
    fill(&mut file)?;
    file.into_inner().map_err(std::io::IntoInnerError::into_error).and_then(rtscope_files::Replacement::commit).map_err(failed)
}

/// Compares two selections, or within one the stock kernels with their RT kernels. Reads record by record, except for what needs
/// all records at once: a page, and the tables of tests over lines.
pub(crate) fn compare(context: &Context, a: &Compare) -> Result<Code, Failure> {
    if let (true, Some(b)) = (a.values, &a.b) {
        return compare_values::run(context, [&a.a, b], a.json);
    }
    let select = |word: &String| Selection::of(context, std::slice::from_ref(word));
    let left = select(&a.a)?;
    if a.kernels {
        of_one_test(&[("the selection", left.tests()?)])?;
        return kernels(context, &left, a);
    }
    let right = a.b.as_ref().map(select).transpose()?;
    let tests = left.tests()?;
    let over_lines = tests.iter().all(|t| matches!(t, Test::Response | Test::Periodic));
    if right.is_none() && !a.fail_if.is_empty() && over_lines {
        return Err(Failure::usage(
            "--fail-if takes two selections of response or periodic tests",
            "rtscope compare A B --fail-if worse",
        ));
    }
    let published = Published::of_selections(a.with_reference.as_deref(), std::iter::once(&left).chain(&right))?;
    let asked = a.table.is_some() || !a.below.is_empty() || a.edges;
    if asked || (right.is_none() && over_lines) {
        return line_tests(context, &left, right.as_ref(), a, &published);
    }
    let Some(right) = right else {
        of_one_test(&[("the selection", tests)])?;
        return versus(context, &left, a, &published);
    };
    of_one_test(&[("A", tests), ("B", right.tests()?)])?;
    let (of_a, of_b) = (tally(&left)?, tally(&right)?);
    let comparison = rtscope_analysis::compare_tallies(&of_a, &of_b, a.same_runs)?;
    page_of(context, a, [&left, &right], html::Options { comparison: Some(&comparison), ..html::Options::default() }, &published)?;
    if a.json {
        published.json(&comparison)?;
    } else {
        published.text(&table::comparison(&comparison, style()))?;
    }
    held(&a.fail_if, a.json, &comparison.runs.iter().collect::<Vec<_>>())
}

/// Refuses runs of different tests: a ratio of a timer's latency and of a device's answer means nothing.
pub(super) fn of_one_test(sides: &[(&str, Vec<Test>)]) -> Result<(), Failure> {
    let mut all: Vec<Test> = Vec::new();
    for test in sides.iter().flat_map(|s| &s.1) {
        if !all.contains(test) {
            all.push(*test);
        }
    }
    let [first, _, ..] = all.as_slice() else { return Ok(()) };
    let words = |(name, tests): &(&str, Vec<Test>)| {
        format!("{name} is of {}", tests.iter().map(Test::to_string).collect::<Vec<_>>().join(" and "))
    };
    let message = format!("{}: runs of different tests can't be compared", sides.iter().map(words).collect::<Vec<_>>().join(", "));
    Err(Failure::usage(message, format!("select runs of one test, such as test={first}")))
}

/// Writes the page of a comparison, with what is `shown` above its records, if asked for. A record of both sides appears once.
fn page_of<'a>(
    context: &Context,
    a: &Compare,
    sides: impl IntoIterator<Item = &'a Selection>,
    shown: html::Options<'_>,
    published: &Published,
) -> Result<(), Failure> {
    let Some(path) = &a.html else { return Ok(()) };
    let (mut ids, mut records) = (BTreeSet::new(), Vec::new());
    for side in sides {
        records.extend(side.records()?.into_iter().filter(|r| ids.insert(r.id().to_owned())));
    }
    let explained = super::explained::kept(context, &records)?;
    let options = html::Options {
        below: &a.below,
        published: published.found(),
        explained: &explained,
        version: env!("CARGO_PKG_VERSION"),
        ..shown
    };
    write(path, html::page(&records, &options)?.as_bytes())
}

/// Prints response and periodic tests in the layout of a paper; a second selection is another instrument's view of the same runs.
fn line_tests(
    context: &Context,
    left: &Selection,
    right: Option<&Selection>,
    a: &Compare,
    published: &Published,
) -> Result<Code, Failure> {
    let records = left.records()?;
    let external = right.map(Selection::records).transpose()?.unwrap_or_default();
    let made = rtscope_analysis::line_tests(&records, &external, &a.below)?;
    page_of(context, a, std::iter::once(left).chain(right), html::Options::default(), published)?;
    if a.json {
        published.json(&made)?;
    } else {
        let records = [records, external].concat();
        let by_load = a.table.as_deref() == Some("vinh-chau");
        published.text(&if by_load {
            table::line_tests_by_load(&made, &records, style())
        } else {
            table::line_tests(&made, &records, a.edges, style())
        })?;
    }
    Ok(Code::Done)
}

/// The selected records, one by one, as comparisons of kernels take them.
fn tally_of(selection: &Selection) -> Result<(rtscope_analysis::versus::VersusTally, Caveats), Failure> {
    let (mut tally, mut caveats) = (rtscope_analysis::versus::VersusTally::default(), Caveats::default());
    selection.each(
        |r| (rtscope_analysis::versus::VersusEntry::of(r), Caveats::of(r)),
        |(entry, more)| {
            tally.add(entry);
            caveats.add(more);
            Ok(())
        },
    )?;
    Ok((tally, caveats))
}

fn kernels(context: &Context, selection: &Selection, a: &Compare) -> Result<Code, Failure> {
    let (tally, caveats) = tally_of(selection)?;
    let found = rtscope_analysis::versus::variants(&tally, a.base.as_deref())?;
    let shown = html::Options { kernels: Some(&found), ..html::Options::default() };
    page_of(context, a, [selection], shown, &Published::default())?;
    if a.json {
        output::json(&found)?;
    } else {
        output::result(&table::variants(&found, &caveats, style()))?;
    }
    Ok(Code::Done)
}

fn versus(context: &Context, selection: &Selection, a: &Compare, published: &Published) -> Result<Code, Failure> {
    page_of(context, a, [selection], html::Options::default(), published)?;
    let (tally, caveats) = tally_of(selection)?;
    let versus = rtscope_analysis::versus_tally(&tally)?;
    if a.json {
        published.json(&versus)?;
    } else {
        published.text(&table::versus_of(&versus, &caveats, style()))?;
    }
    held(&a.fail_if, a.json, &versus.blocks.iter().flat_map(|b| &b.runs).collect::<Vec<_>>())
}
