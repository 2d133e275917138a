//! Draws a table on a terminal: aligned, and without its least important columns (which are named) where the terminal is
//! too narrow. Neighbouring columns may share a head.

use super::text::{Paint, Style, blanks, paint_of, wrap};
use crate::format::clean;
use crate::sheet::{Align, Cell, Column, Sheet};
use rtscope_record::text::visible_line;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Longest text of a cell, characters: one long name must not widen every row.
const WIDEST: usize = 120;

/// The column widths of a table, measured before anything is written.
pub(crate) struct Grid<'a> {
    columns: Cow<'a, [Column<'a>]>,
    /// Width of each column: of its widest cell or its head, in characters.
    widths: Vec<usize>,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(columns: impl Into<Cow<'a, [Column<'a>]>>) -> Self {
        let columns = columns.into();
        Self { widths: columns.iter().map(|c| c.head.chars().count()).collect(), columns }
    }

    /// Makes room for a row, and makes its texts safe for a terminal.
    pub(crate) fn measure(&mut self, row: &mut [Cell<'_>]) {
        for (width, cell) in self.widths.iter_mut().zip(row) {
            show(cell);
            *width = (*width).max(cell.width);
        }
    }

    /// The columns that fit, and the names of those that do not.
    pub(crate) fn layout(&self, style: Style) -> Layout {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut left_out = Vec::new();
        while style.width.is_some_and(|w| self.total(&shown) > w) {
            let worst = shown.iter().map(|&i| self.columns[i].expendable).max().unwrap_or(0);
            if worst == 0 {
                break;
            }
            shown.retain(|&i| self.columns[i].expendable != worst);
            let heads = self.columns.iter().filter(|c| c.expendable == worst);
            left_out.extend(heads.map(|c| clean(&format!("{} {}", c.group.head, c.head)).trim_start().to_owned()));
        }
        Layout { shown, left_out }
    }

    fn total(&self, shown: &[usize]) -> usize {
        shown.iter().map(|&i| self.widths[i] + 2).sum::<usize>().saturating_sub(2)
    }

    /// The line of common heads above the columns; `None` without any.
    fn groups(&self, shown: &[usize]) -> Option<String> {
        if self.columns.iter().all(|c| c.group.head.is_empty()) {
            return None;
        }
        let mut line = String::new();
        for run in shown.chunk_by(|&a, &b| self.columns[a].group == self.columns[b].group) {
            let head = clean(&self.columns[run[0]].group.head);
            let width = self.total(run);
            let gap = if line.is_empty() { "" } else { "  " };
            let text: String = head.chars().take(width).collect();
            let fill = width - text.chars().count();
            line += gap;
            line += &match (head.as_str(), fill) {
                ("", _) => " ".repeat(width),
                (_, 0..4) => text + &" ".repeat(fill),
                _ => format!("{} {text} {}", "─".repeat(fill / 2 - 1), "─".repeat(fill - fill / 2 - 1)),
            };
        }
        Some(line.trim_end().to_owned())
    }

    /// Writes what is above the rows.
    pub(crate) fn head(&self, out: &mut String, layout: &Layout, style: Style) {
        if let Some(line) = self.groups(&layout.shown) {
            let _ = writeln!(out, "{}", style.paint(Paint::Bold, &line));
        }
        let mut head = String::new();
        for (n, &i) in layout.shown.iter().enumerate() {
            let text = &self.columns[i].head;
            self.put(&mut head, i, n == 0, text.chars().count(), text);
        }
        let _ = writeln!(out, "{}", style.paint(Paint::Bold, head.trim_end()));
        let _ = writeln!(out, "{}", style.paint(Paint::Dim, &"─".repeat(self.total(&layout.shown))));
    }

    /// Writes a row that was measured before.
    pub(crate) fn line(&self, out: &mut String, layout: &Layout, style: Style, row: &[Cell<'_>]) {
        let start = out.len();
        for (n, &i) in layout.shown.iter().enumerate() {
            let Some(cell) = row.get(i) else { continue };
            let painted = cell.mark.filter(|_| style.colour).map(|mark| style.paint(paint_of(mark), &cell.text));
            self.put(out, i, n == 0, cell.width, painted.as_deref().unwrap_or(&cell.text));
        }
        out.truncate(start + out[start..].trim_end().len());
        out.push('\n');
    }

    /// Writes a text of `width` visible characters into column `i`, with a gap before it unless it is the first.
    fn put(&self, out: &mut String, i: usize, first: bool, width: usize, text: &str) {
        let fill = self.widths[i].saturating_sub(width);
        let (before, after) = if self.columns[i].align == Align::Right { (fill, 0) } else { (0, fill) };
        blanks(out, before + if first { 0 } else { 2 });
        out.push_str(text);
        blanks(out, after);
    }
}

/// The columns of a table that fit on a terminal.
pub(crate) struct Layout {
    shown: Vec<usize>,
    left_out: Vec<String>,
}

impl Layout {
    /// The text below the rows.
    pub(crate) fn foot(&self) -> String {
        match self.left_out.join(", ") {
            none if none.is_empty() => none,
            left_out => format!("(too narrow for: {left_out}; --json has everything)\n"),
        }
    }
}

/// Makes the text of a cell safe for a terminal, and measures its width there.
pub(crate) fn show(cell: &mut Cell<'_>) {
    if let Cow::Owned(visible) = visible_line(&cell.text) {
        cell.text = visible.into();
    }
    cell.width = cell.text.chars().count();
    if cell.width > WIDEST {
        cell.text = crate::format::cut(&cell.text, WIDEST).into();
        cell.width = WIDEST;
    }
}

/// A table without its title, but with its notes.
pub(crate) fn render(sheet: Sheet<'_>, style: Style) -> String {
    let mut out = String::new();
    write(&mut out, sheet, style);
    out
}

/// [`render`], appended to `out`.
pub(crate) fn write(out: &mut String, mut sheet: Sheet<'_>, style: Style) {
    let mut grid = Grid::new(sheet.columns.as_slice());
    for row in &mut sheet.rows {
        grid.measure(row);
    }
    let layout = grid.layout(style);
    grid.head(out, &layout, style);
    for row in &sheet.rows {
        grid.line(out, &layout, style, row);
    }
    let foot = layout.foot();
    if !foot.is_empty() {
        wrap(out, style, "", &foot);
    }
    for note in &sheet.notes {
        wrap(out, style, "", note);
    }
}

/// The line above a table.
pub(crate) fn title(sheet: &Sheet<'_>, style: Style) -> String {
    format!("{}{}\n", style.paint(Paint::Bold, &clean(&sheet.title)), clean(&sheet.about))
}

/// A table with its title.
pub(crate) fn titled(sheet: Sheet<'_>, style: Style) -> String {
    let mut out = title(&sheet, style);
    write(&mut out, sheet, style);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{Columns, Mark};

    type Row = [&'static str; 4];

    fn text(i: usize) -> impl for<'r> Fn(&'r Row) -> Cell<'r> {
        move |r| r[i].into()
    }

    fn columns() -> Columns<'static, Row> {
        Columns::new()
            .left("load", 0, text(0))
            .right("mean", 0, text(1))
            .right("samples", 2, text(2))
            .left("clock", 0, |r| Cell::marked_if(r[3] == "host", r[3], Mark::Good))
    }

    const ROWS: [Row; 2] = [["none", "1.50", "1,000", "host"], ["calculation", "12.00", "9", "host in\x1b[2J"]];

    fn drawn(style: Style) -> String {
        render(columns().sheet(&ROWS), style)
    }

    #[test]
    fn columns_align() {
        let text = drawn(Style::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "load          mean  samples  clock");
        assert_eq!(lines[2], "none          1.50    1,000  host");
        assert_eq!(lines[3], "calculation  12.00        9  host in\\x1b[2J");
    }

    #[test]
    fn a_narrow_terminal_loses_only_expendable_columns_and_says_so() {
        let text = drawn(Style { colour: false, width: Some(33) });
        assert!(!text.lines().next().unwrap().contains("samples"));
        assert!(text.contains("(too narrow for: samples"));
        let text = drawn(Style { colour: false, width: Some(3) });
        assert!(text.lines().next().unwrap().contains("mean") && text.lines().next().unwrap().contains("clock"));
    }

    #[test]
    fn columns_stand_under_a_common_head_and_leave_together() {
        type Row = [&'static str; 6];
        let lines = |width| -> Vec<String> {
            let mut columns = Columns::new().left("load", 0, |r: &Row| r[0].into());
            for (i, group) in [(1, "stock"), (3, "RT")] {
                columns = columns.group(group).right("mean", 1, move |r| r[i].into()).right("max", 0, move |r| r[i + 1].into());
            }
            let columns = columns.group("").left("clock", 0, |r| r[5].into());
            let text =
                render(columns.sheet(&[["none", "1000.50", "1000.25", "2.00", "3.00", "host"]]), Style { colour: false, width });
            text.lines().map(String::from).collect()
        };
        let all = lines(None);
        assert_eq!(all[0], "      ──── stock ─────  ─── RT ───");
        assert_eq!(all[1], "load     mean      max  mean   max  clock");
        let narrow = lines(Some(30));
        assert_eq!(narrow[0], "      stock    RT");
        assert_eq!(narrow[1], "load      max   max  clock");
        assert_eq!(narrow[4..].join(" "), "(too narrow for: stock mean, RT mean; --json has everything)");
    }

    #[test]
    fn any_width_is_a_table_and_one_long_name_does_not_widen_it() {
        let columns = Columns::new().group("g".repeat(70_000));
        let columns = columns.left("load", 0, |r: &(String, &str)| r.0.as_str().into()).right("mean", 0, |r| r.1.into());
        let text = render(columns.sheet(&[("é".repeat(70_000), "1"), ("none".into(), "2")]), Style::default());
        assert!(text.lines().all(|l| l.chars().count() <= WIDEST + 6), "{text}");
        assert!(text.contains("é…"));
    }

    #[test]
    fn colour_only_when_asked_for() {
        assert!(!drawn(Style::default()).contains('\x1b'));
        assert!(drawn(Style { colour: true, width: None }).contains("\x1b[32mhost\x1b[0m"));
    }
}
