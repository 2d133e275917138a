//! The whole page: header, navigation, summary, comparisons, and a section for each record.

use super::data::charts;
use super::document::document;
use super::navigation::navigation;
use super::{comparison, lines, papers, reference, run, summary, tail, variants, versus};
use crate::ReportError;
use crate::names::groups;
use maud::{Markup, html};
use rtscope_analysis::versus::{Variants, settings};
use rtscope_analysis::{LineTests, LineTestsError, Versus, VersusError, clock_words, machine_name};
use rtscope_explain::explained::Explained;
use rtscope_record::Record;

/// Options of a page besides its records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Title of the page; "rtscope report" when empty.
    pub title: &'a str,
    /// A comparison shown above the records.
    pub comparison: Option<&'a rtscope_analysis::Comparison>,
    /// Kernels beside each other; where absent, what the records' settings changed, if they have any.
    pub kernels: Option<&'a Variants>,
    /// Thresholds for the share of stimuli below them, in response and periodic tests; the default threshold when empty.
    pub below: &'a [rtscope_record::Nanos],
    /// Published latencies beside the records' figures; no section where empty.
    pub published: &'a [rtscope_analysis::reference::Beside],
    /// The four papers beside the records; no section where absent.
    pub papers: Option<&'a rtscope_analysis::papers::Papers>,
    /// The tails of the records' series; no section where empty.
    pub tails: &'a [super::tail::TailOf],
    /// Explained samples of the records; of other records they are ignored.
    pub explained: &'a [Explained],
    /// Version of the program that writes the page, shown in its footer.
    pub version: &'a str,
}

impl Options<'_> {
    fn heading(&self) -> &str {
        if self.title.is_empty() { "rtscope report" } else { self.title }
    }
}

/// The page of `records` as a complete file.
pub fn page(records: &[Record], options: &Options<'_>) -> Result<String, ReportError> {
    let body = content(records, options)?;
    let data =
        charts(records, options.explained).map_err(|e| ReportError::Json { id: records[0].id().into(), error: e.to_string() })?;
    document(options.heading(), options.version, body, records, &data)
}

/// The contents of the page for `records`, in the order given; all of it is computed from them.
fn content(records: &[Record], options: &Options<'_>) -> Result<Markup, ReportError> {
    if records.is_empty() {
        return Err(ReportError::Empty);
    }
    let versus = stock_against_rt(records)?;
    let set = if options.kernels.is_none() { settings(records)? } else { None };
    let kernels = options.kernels.or(set.as_ref());
    let lines = over_lines(records, options)?;
    let there = papers::Sections { versus: versus.is_some(), lines: lines.is_some(), published: !options.published.is_empty() };
    let papers = options.papers.map(|p| papers::papers(p, records, there)).transpose()?;
    let groups = groups(records);
    let parts = [
        ("summary", "Summary", true),
        ("papers", "The four papers", options.papers.is_some()),
        ("versus", "Stock against RT", versus.is_some()),
        ("variants", kernels.map_or("", variants::title), kernels.is_some()),
        ("lines", "Response and periodic", lines.is_some()),
        ("comparison", "Comparison", options.comparison.is_some()),
        ("tails", "Tails", !options.tails.is_empty()),
        ("published", "Published", !options.published.is_empty()),
    ];
    let runs = groups.iter().map(|g| run::group(g, records, options.explained, groups.len() > 1)).collect::<Result<Vec<_>, _>>()?;
    Ok(html! {
        a.skip href="#main" { "Skip to the figures" }
        header {
            div.bar {
                h1 { (options.heading()) }
                button.theme type="button" hidden { "Dark theme" }
            }
            (machine_line(records))
        }
        @if records.len() > 1 { (navigation(&parts, &groups, records)) }
        main id="main" {
            (summary::summary(records)?)
            @if let Some(p) = &papers { (p) }
            @if let Some(v) = &versus { (versus::versus(v, options.published)) }
            @if let Some(v) = kernels { (variants::variants(v)) }
            @if let Some(a) = &lines { (lines::lines(a)) }
            @if let Some(c) = options.comparison { (comparison::comparison(c)) }
            @if !options.tails.is_empty() { (tail::tails(options.tails)) }
            @if !options.published.is_empty() { (reference::published(options.published)) }
            @for run in &runs { (run) }
        }
        footer {
            p {
                "Made by rtscope" @if !options.version.is_empty() { " " (options.version) }
                " from " (records.len()) " record" @if records.len() != 1 { "s" }
                "; the records themselves are inside this file. Charts by uPlot (MIT licence)."
            }
        }
    })
}

fn stock_against_rt(records: &[Record]) -> Result<Option<Versus>, ReportError> {
    match rtscope_analysis::versus(records) {
        Ok(v) => Ok(Some(v)),
        Err(VersusError::Empty | VersusError::NoPair(_)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn over_lines(records: &[Record], options: &Options<'_>) -> Result<Option<LineTests>, ReportError> {
    match rtscope_analysis::line_tests(records, &[], options.below) {
        Ok(a) => Ok(Some(a)),
        Err(LineTestsError::Empty) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Host, kernel and time of the records, each distinct value once.
fn machine_line(records: &[Record]) -> Markup {
    let each = |f: &dyn Fn(&Record) -> String| {
        let mut all: Vec<String> = records.iter().map(f).filter(|s| !s.trim().is_empty()).collect();
        all.sort();
        all.dedup();
        let more = if all.len() > 3 { format!(" and {} more", all.len() - 3) } else { String::new() };
        all.truncate(3);
        all.join(", ") + &more
    };
    let system = |r: &Record| r.parts().system.clone();
    let mut started: Vec<&str> = records.iter().map(|r| r.parts().started.as_str()).collect();
    started.sort_unstable();
    let when = match (started.first(), started.last()) {
        (Some(a), Some(b)) if a != b => format!("{a} to {b}"),
        (Some(a), _) => (*a).to_owned(),
        _ => String::new(),
    };
    let parts = [
        each(&machine_name),
        each(&|r| system(r).board.or(system(r).cpu.model).unwrap_or_default()),
        each(&|r| format!("{} {}", system(r).kernel.release, system(r).kernel.preemption.as_str())),
        each(&|r| format!("clock: {}", clock_words(r))),
        when,
    ];
    html! { p.machine { @for part in parts.iter().filter(|p| !p.is_empty()) { span { (part) } " " } } }
}
