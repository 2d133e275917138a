//! Draws a table on a terminal: aligned, and where the terminal is too narrow without its least important columns, then with
//! shorter texts (both are said). Neighbouring columns may share a head.

use super::text::{Paint, Style, blanks, paint_of, wrap, wrapped};
use crate::format::{clean, cut, cut_in_the_middle};
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
    /// What every row so far says in a column; `None` where they differ.
    same: Vec<Option<String>>,
    rows: usize,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(columns: impl Into<Cow<'a, [Column<'a>]>>) -> Self {
        let columns = columns.into();
        let widths = columns.iter().map(|c| c.head.chars().count()).collect();
        Self { widths, same: vec![None; columns.len()], rows: 0, columns }
    }

    /// Makes room for a row, and makes its texts safe for a terminal.
    pub(crate) fn measure(&mut self, row: &mut [Cell<'_>]) {
        for ((width, same), cell) in self.widths.iter_mut().zip(&mut self.same).zip(row) {
            show(cell);
            *width = (*width).max(cell.width);
            if self.rows == 0 {
                *same = Some(cell.text.to_string());
            } else if same.as_deref().is_some_and(|s| s != cell.text) {
                *same = None;
            }
        }
        self.rows += 1;
    }

    /// The columns that fit, the names of those that do not, and of those whose texts are cut.
    pub(crate) fn layout(&self, style: Style) -> Layout {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut left_out = Vec::new();
        let mut widths = self.widths.clone();
        let too_wide = |shown: &[usize], widths: &[usize]| style.width.is_some_and(|w| total(widths, shown) > w);
        let mut once = Vec::new();
        let said_once = |i: &usize| self.rows > 1 && self.columns[*i].context && self.same[*i].is_some();
        while too_wide(&shown, &widths) {
            let Some(worst) = shown.iter().copied().filter(said_once).max_by_key(|&i| self.columns[i].expendable) else { break };
            shown.retain(|&i| i != worst);
            once.push(format!("{} {}", name(&self.columns[worst]), self.same[worst].as_deref().unwrap_or_default()));
        }
        while too_wide(&shown, &widths) {
            let worst = shown.iter().map(|&i| self.columns[i].expendable).max().unwrap_or(0);
            if worst == 0 {
                break;
            }
            shown.retain(|&i| self.columns[i].expendable != worst);
            left_out.extend(self.columns.iter().filter(|c| c.expendable == worst).map(name));
        }
        while too_wide(&shown, &widths) {
            let longer = |i: &usize| self.columns[*i].least.is_some_and(|least| widths[*i] > least);
            let Some(longest) = shown.iter().copied().filter(longer).max_by_key(|&i| widths[i]) else { break };
            widths[longest] -= 1;
        }
        let shortened = shown.iter().filter(|&&i| widths[i] < self.widths[i]).map(|&i| name(&self.columns[i])).collect();
        Layout { shown, widths, once, left_out, cut: shortened }
    }

    /// The line of common heads above the columns; `None` without any.
    fn groups(&self, layout: &Layout) -> Option<String> {
        if self.columns.iter().all(|c| c.group.head.is_empty()) {
            return None;
        }
        let mut line = String::new();
        for run in layout.shown.chunk_by(|&a, &b| self.columns[a].group == self.columns[b].group) {
            let head = clean(&self.columns[run[0]].group.head);
            let width = total(&layout.widths, run);
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
        if let Some(line) = self.groups(layout) {
            let _ = writeln!(out, "{}", style.paint(Paint::Bold, &line));
        }
        let mut head = String::new();
        for (n, &i) in layout.shown.iter().enumerate() {
            let text = &self.columns[i].head;
            self.put(&mut head, layout, i, n == 0, text.chars().count(), text);
        }
        let _ = writeln!(out, "{}", style.paint(Paint::Bold, head.trim_end()));
        let _ = writeln!(out, "{}", style.paint(Paint::Dim, &"─".repeat(total(&layout.widths, &layout.shown))));
    }

    /// Writes a row that was measured before.
    pub(crate) fn line(&self, out: &mut String, layout: &Layout, style: Style, row: &[Cell<'_>]) {
        let start = out.len();
        for (n, &i) in layout.shown.iter().enumerate() {
            let Some(cell) = row.get(i) else { continue };
            let room = layout.widths[i];
            let text = match (cell.width > room, self.columns[i].context) {
                (false, _) => Cow::Borrowed(&*cell.text),
                (true, false) => Cow::Owned(cut(&cell.text, room)),
                (true, true) => Cow::Owned(cut_in_the_middle(&cell.text, room)),
            };
            let painted = cell.mark.filter(|_| style.colour).map(|mark| style.paint(paint_of(mark), &text));
            self.put(out, layout, i, n == 0, cell.width.min(room), painted.as_deref().unwrap_or(&text));
        }
        out.truncate(start + out[start..].trim_end().len());
        out.push('\n');
    }

    /// Writes a text of `width` visible characters into column `i`, with a gap before it unless it is the first.
    fn put(&self, out: &mut String, layout: &Layout, i: usize, first: bool, width: usize, text: &str) {
        let fill = layout.widths[i].saturating_sub(width);
        let (before, after) = if self.columns[i].align == Align::Right { (fill, 0) } else { (0, fill) };
        blanks(out, before + if first { 0 } else { 2 });
        out.push_str(text);
        blanks(out, after);
    }
}

/// The columns of a table that fit on a terminal.
pub(crate) struct Layout {
    shown: Vec<usize>,
    /// Width of every column, in characters.
    widths: Vec<usize>,
    once: Vec<String>,
    left_out: Vec<String>,
    cut: Vec<String>,
}

/// Width of these columns with the gaps between them.
fn total(widths: &[usize], shown: &[usize]) -> usize {
    shown.iter().map(|&i| widths[i] + 2).sum::<usize>().saturating_sub(2)
}

/// What a column is called below the table.
fn name(c: &Column<'_>) -> String {
    clean(&format!("{} {}", c.group.head, c.head)).trim_start().to_owned()
}

impl Layout {
    /// The text below the rows.
    pub(crate) fn foot(&self) -> String {
        let some = |what: &str, columns: &[String]| (!columns.is_empty()).then(|| format!("{what}: {}; ", columns.join(", ")));
        let said = [some("the same in all", &self.once), some("too narrow for", &self.left_out), some("cut", &self.cut)];
        let said = said.into_iter().flatten().collect::<String>();
        if said.is_empty() { said } else { format!("({said}--json has everything)\n") }
    }
}

/// Makes the text of a cell safe for a terminal, and measures its width there.
pub(crate) fn show(cell: &mut Cell<'_>) {
    if let Cow::Owned(visible) = visible_line(&cell.text) {
        cell.text = visible.into();
    }
    cell.width = cell.text.chars().count();
    if cell.width > WIDEST {
        cell.text = cut(&cell.text, WIDEST).into();
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
    let (title, about) = (clean(&sheet.title), clean(&sheet.about));
    let painted = style.paint(Paint::Bold, &title);
    if style.width.is_none() {
        return format!("{painted}{about}\n");
    }
    wrapped(style, "", &(title.clone() + &about)).replacen(&title, &painted, 1)
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
    fn what_is_the_same_in_all_rows_is_said_once_and_others_are_told_apart() {
        type Row = [&'static str; 4];
        let columns = || {
            Columns::new()
                .left("load", 0, |r: &Row| r[0].into())
                .left("kernel", 0, |r| r[1].into())
                .context()
                .left("target", 0, |r| r[2].into())
                .context()
                .right("max us", 0, |r| r[3].into())
        };
        let rows: [Row; 2] =
            [["none", "6.12.0-stock", "lab:debian/6.12/amd64", "1"], ["none", "6.12.0-stock", "lab:debian/6.12-rt/amd64", "2"]];
        let at = |width| render(columns().sheet(&rows), Style { colour: false, width: Some(width) });
        assert!(at(80).lines().next().unwrap().contains("kernel"));
        let narrow = at(38);
        let lines: Vec<&str> = narrow.lines().collect();
        assert_eq!(lines[0], "load  target                    max us");
        assert_eq!(lines[4], "(the same in all: kernel 6.12.0-stock;");
        let narrow = at(30);
        let lines: Vec<&str> = narrow.lines().collect();
        assert_eq!(lines[2], "none  lab:d…6.12/amd64       1");
        assert_eq!(lines[3], "none  lab:d…2-rt/amd64       2");
        // One row says everything itself as long as there is room.
        assert!(!render(columns().sheet(&rows[..1]), Style { colour: false, width: Some(30) }).contains("the same"));
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
