//! A grid of cells, aligned, that leaves out its least important columns, and says so, where the terminal is too narrow.

use super::{Paint, Style};
use crate::format::clean;
use std::fmt::Write as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

struct Column {
    head: String,
    align: Align,
    /// 0 stays always; the highest number goes first.
    expendable: u8,
}

pub(crate) struct Cell {
    text: String,
    paint: Option<Paint>,
}

impl Cell {
    pub(crate) fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Self { text: text.into(), paint: Some(paint) }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), paint: None }
    }
}

#[derive(Default)]
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
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

    fn column(mut self, head: &str, align: Align, expendable: u8) -> Self {
        self.columns.push(Column { head: head.into(), align, expendable });
        self
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells.into_iter().map(|c| Cell { text: clean(&c.text), ..c }).collect());
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|i| {
                let cells = self.rows.iter().filter_map(|r| r.get(i)).map(|c| c.text.chars().count());
                cells.chain([self.columns[i].head.chars().count()]).max().unwrap_or(0)
            })
            .collect();
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut left_out = Vec::new();
        let total = |shown: &[usize]| shown.iter().map(|&i| widths[i] + 2).sum::<usize>().saturating_sub(2);
        while style.width.is_some_and(|w| total(&shown) > w) {
            let Some(&worst) =
                shown.iter().filter(|&&i| self.columns[i].expendable > 0).max_by_key(|&&i| self.columns[i].expendable)
            else {
                break;
            };
            shown.retain(|&i| i != worst);
            left_out.push(self.columns[worst].head.as_str());
        }
        let mut out = String::new();
        let head: Vec<String> = shown.iter().map(|&i| pad(&self.columns[i].head, widths[i], self.columns[i].align)).collect();
        let _ = writeln!(out, "{}", style.paint(Paint::Bold, head.join("  ").trim_end()));
        let _ = writeln!(out, "{}", style.paint(Paint::Dim, &"─".repeat(total(&shown))));
        for row in &self.rows {
            let mut line = String::new();
            for (n, &i) in shown.iter().enumerate() {
                let Some(cell) = row.get(i) else { continue };
                let fill = widths[i].saturating_sub(cell.text.chars().count());
                let (before, after) = if self.columns[i].align == Align::Right { (fill, 0) } else { (0, fill) };
                let text = cell.paint.map_or_else(|| cell.text.clone(), |p| style.paint(p, &cell.text));
                let gap = if n == 0 { "" } else { "  " };
                let _ = write!(line, "{gap}{:before$}{text}{:after$}", "", "");
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        if !left_out.is_empty() {
            let _ = writeln!(out, "(too narrow for: {}; --json has everything)", left_out.join(", "));
        }
        out
    }
}

fn pad(text: &str, width: usize, align: Align) -> String {
    let fill = " ".repeat(width.saturating_sub(text.chars().count()));
    if align == Align::Right { fill + text } else { text.to_owned() + &fill }
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
        assert_eq!(lines[3], "calculation  12.00        9  host in\u{fffd}[2J");
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
    fn colour_only_when_asked_for() {
        assert!(!grid().render(Style::default()).contains('\x1b'));
        assert!(grid().render(Style { colour: true, width: None }).contains("\x1b[32mhost\x1b[0m"));
    }
}
