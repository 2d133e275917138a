//! Response and periodic tests in the layouts of Adam 2021 (Tables 1 and 2) and of Vinh & Chau (Tables 1 to 5).

use super::grid::{Cell, Grid};
use super::{Paint, Style, caveats, wrapped};
use crate::format::clean;
use crate::sheet::{BY_LOAD_NOTE, NOTE, Sheet, by_load, first, second};
use rtscope_analysis::Adam;
use rtscope_record::{Record, Test};

/// Table 1, then Table 2 of each test, then what to beware of; with `edges` a row for each edge too. `records` are those that `a` was
/// made of.
pub fn adam(a: &Adam, records: &[Record], edges: bool, style: Style) -> String {
    let sheets = [Some(first(a)), second(a, Test::Response, edges), second(a, Test::Periodic, edges)];
    of_sheets(&sheets.into_iter().flatten().collect::<Vec<_>>(), a, records, NOTE, style)
}

/// For each task of each kernel a table with a row for each load, then what to beware of; as [`adam()`].
pub fn vinh_chau(a: &Adam, records: &[Record], style: Style) -> String {
    of_sheets(&by_load(a), a, records, BY_LOAD_NOTE, style)
}

fn of_sheets(sheets: &[Sheet], a: &Adam, records: &[Record], note: &str, style: Style) -> String {
    let mut out = sheets.iter().map(|s| of_sheet(s, style)).collect::<Vec<_>>().join("\n");
    out.push('\n');
    for f in &a.findings {
        let code = clean(&f.code);
        out += &wrapped(style, "! ", &format!("{code}: {}. Remedy: {}", f.message, f.remedy)).replacen(
            &code,
            &style.paint(Paint::Doubtful, &code),
            1,
        );
    }
    // What is in no table speaks of none of its figures.
    let of_lines: Vec<Record> =
        records.iter().filter(|r| matches!(r.parts().test, Test::Response | Test::Periodic)).cloned().collect();
    out += &caveats(style, &of_lines);
    out + &wrapped(style, "Note: ", note)
}

fn of_sheet(sheet: &Sheet, style: Style) -> String {
    let mut grid = Grid::new();
    for c in &sheet.columns {
        grid = grid.group(c.group);
        grid = if c.right { grid.right(&c.head, c.expendable) } else { grid.left(&c.head, c.expendable) };
    }
    for row in &sheet.rows {
        let cell = |c: &crate::sheet::Cell| match c.paint {
            Some(paint) => Cell::painted(c.text.as_str(), paint),
            None => c.text.as_str().into(),
        };
        grid.row(row.iter().map(cell).collect());
    }
    format!("{}\n{}", style.paint(Paint::Bold, &sheet.title), grid.render(style))
}
