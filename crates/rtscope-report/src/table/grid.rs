//! A grid of cells, aligned, that leaves out its least important columns, and says so, where the terminal is too narrow. Neighbouring
//! columns may stand under a common head.

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
    /// 0 stays always; the highest number goes first, with all columns of that number.
    expendable: u8,
    /// Common head of this column and its neighbours; empty for none.
    group: String,
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
        self.columns.push(Column { head: head.into(), align, expendable, group: self.group.clone() });
        self
    }

    /// The line of common heads above `shown` columns; `None` when no column has one.
    fn groups(&self, shown: &[usize], widths: &[usize]) -> Option<String> {
        if self.columns.iter().all(|c| c.group.is_empty()) {
            return None;
        }
        let mut line = String::new();
        for run in shown.chunk_by(|&a, &b| self.columns[a].group == self.columns[b].group) {
            let head = &self.columns[run[0]].group;
            let width = run.iter().map(|&i| widths[i] + 2).sum::<usize>() - 2;
            let gap = if line.is_empty() { "" } else { "  " };
            let text: String = head.chars().take(width).collect();
            let fill = width - text.chars().count();
            let _ = match (head.as_str(), fill) {
                ("", _) => write!(line, "{gap}{:width$}", ""),
                (_, 0..4) => write!(line, "{gap}{text}{:fill$}", ""),
                _ => {
                    let (before, after) = ("─".repeat(fill / 2 - 1), "─".repeat(fill - fill / 2 - 1));
                    write!(line, "{gap}{before} {text} {after}")
                }
            };
        }
        Some(line.trim_end().to_owned())
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
            let worst = shown.iter().map(|&i| self.columns[i].expendable).max().unwrap_or(0);
            if worst == 0 {
                break;
            }
            shown.retain(|&i| self.columns[i].expendable != worst);
            let heads = self.columns.iter().filter(|c| c.expendable == worst);
            left_out.extend(heads.map(|c| format!("{} {}", c.group, c.head).trim_start().to_owned()));
        }
        let mut out = String::new();
        if let Some(line) = self.groups(&shown, &widths) {
            let _ = writeln!(out, "{}", style.paint(Paint::Bold, &line));
        }
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
    fn colour_only_when_asked_for() {
        assert!(!grid().render(Style::default()).contains('\x1b'));
        assert!(grid().render(Style { colour: true, width: None }).contains("\x1b[32mhost\x1b[0m"));
    }
}
