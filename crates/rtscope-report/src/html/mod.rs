//! One self-contained HTML page: tables, static pictures, and the data and script that turn them into charts.
//!
//! The page can make no request: a content security policy allows its own script and style by their hashes and nothing else.

mod adam;
mod data;
mod page;
mod sections;
mod tables;
mod versus;

pub use page::page;

/// What else goes into a page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Heading of the page; "rtscope report" when empty.
    pub title: &'a str,
    /// A comparison to show above the records.
    pub comparison: Option<&'a rtscope_analysis::Comparison>,
    /// Thresholds of the response and periodic tests, for the share of stimuli below them; the usual one when empty.
    pub below: &'a [rtscope_record::Nanos],
    /// Version of the program that writes the page, for its foot.
    pub version: &'a str,
}
