//! Response and periodic tests in the layout of Adam 2021, Tables 1 and 2.

use super::grid::{Cell, Grid};
use super::{Paint, Style, caveats, wrapped};
use crate::format::clean;
use crate::sheet::{NOTE, Sheet, first, second};
use rtscope_analysis::Adam;
use rtscope_record::{Record, Test};

/// Table 1, then Table 2 of each test, then what to beware of; with `edges` a row for each edge too. `records` are those that `a` was
/// made of.
pub fn adam(a: &Adam, records: &[Record], edges: bool, style: Style) -> String {
    let sheets = [Some(first(a)), second(a, Test::Response, edges), second(a, Test::Periodic, edges)];
    let mut out = sheets.into_iter().flatten().map(|s| of_sheet(&s, style)).collect::<Vec<_>>().join("\n");
    out.push('\n');
    for f in &a.findings {
        let code = clean(&f.code);
        out += &wrapped(style, "! ", &format!("{code}: {}. Remedy: {}", f.message, f.remedy)).replacen(
            &code,
            &style.paint(Paint::Doubtful, &code),
            1,
        );
    }
    out += &caveats(style, records);
    out + &wrapped(style, "Note: ", NOTE)
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
