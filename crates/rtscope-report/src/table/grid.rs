//! A grid of cells, aligned, that leaves out its least important columns, and says so, where the terminal is too narrow. Neighbouring
//! columns may stand under a common head.

use super::{Paint, Style};
use crate::format::clean;
use rtscope_record::text::visible_line;
use std::borrow::Cow;
use std::fmt::Write as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

struct Column {
    head: String,
    align: Align,
    /// 0 stays always; the highest number goes first, with all columns of that number.
    expendable: u8,
    /// Common head of this column and its neighbours; empty for none.
    group: String,
    /// Of its widest cell or its head, in characters.
    width: usize,
}

impl Column {
    /// Writes a text that shows as `width` characters in its place, behind that of the column before unless this is the first.
    fn put(&self, out: &mut String, first: bool, width: usize, text: &str) {
        let fill = self.width.saturating_sub(width);
        let (before, after) = if self.align == Align::Right { (fill, 0) } else { (0, fill) };
        blanks(out, before + if first { 0 } else { 2 });
        out.push_str(text);
        blanks(out, after);
    }
}

/// Longest text of a cell, characters: one long name must not widen every row of a table.
const WIDEST: usize = 120;

pub(crate) struct Cell {
    text: String,
    paint: Option<Paint>,
    /// Of the text, in characters, once it is [`shown`](Cell::shown).
    width: usize,
}

impl Cell {
    pub(crate) fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Self { paint: Some(paint), ..text.into().into() }
    }

    /// With its text as a terminal may have it.
    fn shown(mut self) -> Self {
        if let Cow::Owned(visible) = visible_line(&self.text) {
            self.text = visible;
        }
        self.width = self.text.chars().count();
        if self.width > WIDEST {
            let cut = self.text.char_indices().nth(WIDEST - 1).map_or(0, |(at, _)| at);
            self.text.truncate(cut);
            self.text.push('…');
            self.width = WIDEST;
        }
        self
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), paint: None, width: 0 }
    }
}

#[derive(Default)]
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    group: String,
}

impl Grid {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn left(self, head: &str, expendable: u8) -> Self {
        self.column(head, Align::Left, expendable)
    }

    pub(crate) fn right(self, head: &str, expendable: u8) -> Self {
        self.column(head, Align::Right, expendable)
    }

    /// The common head of the columns that follow; an empty one ends it.
    pub(crate) fn group(mut self, head: &str) -> Self {
        self.group = clean(head);
        self
    }

    fn column(mut self, head: &str, align: Align, expendable: u8) -> Self {
        let width = head.chars().count();
        self.columns.push(Column { head: head.into(), align, expendable, group: self.group.clone(), width });
        self
    }

    /// The line of common heads above `shown` columns; `None` when no column has one.
    fn groups(&self, shown: &[usize]) -> Option<String> {
        if self.columns.iter().all(|c| c.group.is_empty()) {
            return None;
        }
        let mut line = String::new();
        for run in shown.chunk_by(|&a, &b| self.columns[a].group == self.columns[b].group) {
            let head = &self.columns[run[0]].group;
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

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        let cells = self.measured(cells);
        self.rows.push(cells);
    }

    /// Makes room for a row that is not kept: what [`Grid::line`] writes later.
    pub(crate) fn measure(&mut self, cells: Vec<Cell>) {
        self.measured(cells);
    }

    fn measured(&mut self, cells: Vec<Cell>) -> Vec<Cell> {
        let cells: Vec<Cell> = cells.into_iter().map(Cell::shown).collect();
        for (column, cell) in self.columns.iter_mut().zip(&cells) {
            column.width = column.width.max(cell.width);
        }
        cells
    }

    /// The columns that fit, and the names of those that do not.
    fn layout(&self, style: Style) -> (Vec<usize>, Vec<String>) {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut left_out = Vec::new();
        while style.width.is_some_and(|w| self.total(&shown) > w) {
            let worst = shown.iter().map(|&i| self.columns[i].expendable).max().unwrap_or(0);
            if worst == 0 {
                break;
            }
            shown.retain(|&i| self.columns[i].expendable != worst);
            let heads = self.columns.iter().filter(|c| c.expendable == worst);
            left_out.extend(heads.map(|c| format!("{} {}", c.group, c.head).trim_start().to_owned()));
        }
        (shown, left_out)
    }

    fn total(&self, shown: &[usize]) -> usize {
        shown.iter().map(|&i| self.columns[i].width + 2).sum::<usize>().saturating_sub(2)
    }

    /// What stands above the rows.
    pub(crate) fn head(&self, style: Style) -> String {
        let (shown, _) = self.layout(style);
        let mut out = String::new();
        if let Some(line) = self.groups(&shown) {
            let _ = writeln!(out, "{}", style.paint(Paint::Bold, &line));
        }
        let mut head = String::new();
        for (n, &i) in shown.iter().enumerate() {
            let column = &self.columns[i];
            column.put(&mut head, n == 0, column.head.chars().count(), &column.head);
        }
        let _ = writeln!(out, "{}", style.paint(Paint::Bold, head.trim_end()));
        let _ = writeln!(out, "{}", style.paint(Paint::Dim, &"─".repeat(self.total(&shown))));
        out
    }

    /// A row that was measured before.
    pub(crate) fn line(&self, style: Style, cells: Vec<Cell>) -> String {
        let cells: Vec<Cell> = cells.into_iter().map(Cell::shown).collect();
        let mut out = String::new();
        self.write(&mut out, style, &self.layout(style).0, &cells);
        out
    }

    fn write(&self, out: &mut String, style: Style, shown: &[usize], row: &[Cell]) {
        let start = out.len();
        for (n, &i) in shown.iter().enumerate() {
            let Some(cell) = row.get(i) else { continue };
            let painted = cell.paint.filter(|_| style.colour).map(|paint| style.paint(paint, &cell.text));
            self.columns[i].put(out, n == 0, cell.width, painted.as_deref().unwrap_or(&cell.text));
        }
        out.truncate(start + out[start..].trim_end().len());
        out.push('\n');
    }

    /// What stands below the rows.
    pub(crate) fn foot(&self, style: Style) -> String {
        match self.layout(style).1.join(", ") {
            none if none.is_empty() => none,
            left_out => format!("(too narrow for: {left_out}; --json has everything)\n"),
        }
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let mut out = self.head(style);
        let (shown, _) = self.layout(style);
        for row in &self.rows {
            self.write(&mut out, style, &shown, row);
        }
        out + &self.foot(style)
    }
}

/// Writes `n` blanks.
pub(super) fn blanks(out: &mut String, n: usize) {
    const SOME: &str = "                                                                ";
    for _ in 0..n / SOME.len() {
        out.push_str(SOME);
    }
    out.push_str(&SOME[..n % SOME.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut g = Grid::new().left("load", 0).right("mean", 0).right("samples", 2).left("clock", 0);
        g.row(vec!["none".into(), "1.50".into(), "1,000".into(), Cell::painted("host", Paint::Good)]);
        g.row(vec!["calculation".into(), "12.00".into(), "9".into(), "host in\x1b[2J".into()]);
        g
    }

    #[test]
    fn columns_align() {
        let text = grid().render(Style::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "load          mean  samples  clock");
        assert_eq!(lines[2], "none          1.50    1,000  host");
        assert_eq!(lines[3], "calculation  12.00        9  host in\\x1b[2J");
    }

    #[test]
    fn a_narrow_terminal_loses_only_expendable_columns_and_says_so() {
        let text = grid().render(Style { colour: false, width: Some(33) });
        assert!(!text.lines().next().unwrap().contains("samples"));
        assert!(text.contains("(too narrow for: samples"));
        let text = grid().render(Style { colour: false, width: Some(3) });
        assert!(text.lines().next().unwrap().contains("mean") && text.lines().next().unwrap().contains("clock"));
    }

    #[test]
    fn columns_stand_under_a_common_head_and_leave_together() {
        let mut g = Grid::new().left("load", 0);
        for group in ["stock", "RT"] {
            g = g.group(group).right("mean", 1).right("max", 0);
        }
        g = g.group("").left("clock", 0);
        g.row(["none", "1000.50", "1000.25", "2.00", "3.00", "host"].map(Cell::from).into());
        let lines = |width| -> Vec<String> {
            let text = g.render(Style { colour: false, width });
            text.lines().map(String::from).collect()
        };
        let all = lines(None);
        assert_eq!(all[0], "      ──── stock ─────  ─── RT ───");
        assert_eq!(all[1], "load     mean      max  mean   max  clock");
        let narrow = lines(Some(30));
        assert_eq!(narrow[0], "      stock    RT");
        assert_eq!(narrow[1], "load      max   max  clock");
        assert_eq!(narrow[4], "(too narrow for: stock mean, RT mean; --json has everything)");
    }

    #[test]
    fn any_width_is_a_table_and_one_long_name_does_not_widen_it() {
        let mut g = Grid::new().group(&"g".repeat(70_000)).left("load", 0).right("mean", 0);
        g.row(vec!["é".repeat(70_000).into(), "1".into()]);
        g.row(vec!["none".into(), "2".into()]);
        let text = g.render(Style::default());
        assert!(text.lines().all(|l| l.chars().count() <= WIDEST + 6), "{text}");
        assert!(text.contains("é…"));
    }

    #[test]
    fn rows_that_are_written_one_at_a_time_are_the_same_table() {
        let row = |text: &str| vec![text.into(), Cell::painted("x", Paint::Good)];
        let make = || Grid::new().left("load", 0).right("verdict", 1);
        let (mut all, mut one) = (make(), make());
        for text in ["none", "calculation"] {
            all.row(row(text));
            one.measure(row(text));
        }
        for style in [Style::default(), Style { colour: true, width: Some(12) }] {
            let lines: String = ["none", "calculation"].iter().map(|text| one.line(style, row(text))).collect();
            assert_eq!(one.head(style) + &lines + &one.foot(style), all.render(style));
        }
    }

    #[test]
    fn colour_only_when_asked_for() {
        assert!(!grid().render(Style::default()).contains('\x1b'));
        assert!(grid().render(Style { colour: true, width: None }).contains("\x1b[32mhost\x1b[0m"));
    }
}
