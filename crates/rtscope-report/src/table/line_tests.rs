//! Response and periodic tests in the layouts of Adam 2021 (Tables 1 and 2) and of Vinh & Chau (Tables 1 to 5).

use super::caveats::caveats;
use super::grid::titled;
use super::text::{Style, finding, wrapped};
use crate::sheet::Sheet;
use crate::sheets::line_tests::{NOTE, first, second};
use crate::sheets::line_tests_by_load;
use rtscope_analysis::LineTests;
use rtscope_record::{Record, Test};

/// Table 1, then Table 2 for each test, then findings; with `edges` also a row for each edge. `records` are those that
/// `a` was made from.
pub fn line_tests(a: &LineTests, records: &[Record], edges: bool, style: Style) -> String {
    let sheets = [Some(first(a)), second(a, Test::Response, edges), second(a, Test::Periodic, edges)];
    of_sheets(sheets.into_iter().flatten(), a, records, NOTE, style)
}

/// For each task of each kernel a table with a row for each load, then findings; otherwise like [`line_tests()`].
pub fn line_tests_by_load(a: &LineTests, records: &[Record], style: Style) -> String {
    of_sheets(line_tests_by_load::by_load(a), a, records, line_tests_by_load::NOTE, style)
}

fn of_sheets<'a>(
    sheets: impl IntoIterator<Item = Sheet<'a>>,
    a: &LineTests,
    records: &[Record],
    note: &str,
    style: Style,
) -> String {
    let mut out = sheets.into_iter().map(|s| titled(s, style)).collect::<Vec<_>>().join("\n");
    out.push('\n');
    out.extend(a.findings.iter().map(|f| finding(style, f)));
    // Caveats only of records that are in the tables.
    out += &caveats(style, records.iter().filter(|r| matches!(r.parts().test, Test::Response | Test::Periodic)));
    out + &wrapped(style, "Note: ", note)
}
