//! The list of runs, of any length.

use super::grid::{Grid, Layout, show};
use super::text::{Style, wrapped};
use crate::sheet::Columns;
use crate::sheets::list::{ListedRun, columns};
use std::cell::OnceCell;

/// Shown in place of an empty list.
pub const NO_RUNS: &str = "no runs yet: rtscope measure timer\n";

/// A list of any length that keeps no rows: each row is measured first, then written.
pub struct List {
    columns: Columns<'static, ListedRun>,
    grid: Grid<'static>,
    /// The layout, once all rows are measured.
    layout: OnceCell<Layout>,
    style: Style,
}

impl List {
    /// A list without rows.
    pub fn new(style: Style) -> Self {
        let columns = columns();
        Self { grid: Grid::new(columns.heads().to_vec()), columns, layout: OnceCell::new(), style }
    }

    /// Measures a run; all must be measured before the first is written.
    pub fn measure(&mut self, e: &ListedRun) {
        self.grid.measure(&mut self.columns.row(e));
    }

    fn layout(&self) -> &Layout {
        self.layout.get_or_init(|| self.grid.layout(self.style))
    }

    /// The text above the runs.
    pub fn head(&self) -> String {
        let mut out = String::new();
        self.grid.head(&mut out, self.layout(), self.style);
        out
    }

    /// The line of a run that was measured.
    pub fn line(&self, e: &ListedRun) -> String {
        let mut out = String::new();
        let mut row = self.columns.row(e);
        row.iter_mut().for_each(show);
        self.grid.line(&mut out, self.layout(), self.style, &row);
        out
    }

    /// The text below the runs.
    pub fn foot(&self) -> String {
        match self.layout().foot() {
            none if none.is_empty() => none,
            foot => wrapped(self.style, "", &foot),
        }
    }
}

/// A row for each run, in the order given.
pub fn list(entries: &[ListedRun], style: Style) -> String {
    if entries.is_empty() {
        return NO_RUNS.into();
    }
    let mut list = List::new(style);
    for e in entries {
        list.measure(e);
    }
    let lines: String = entries.iter().map(|e| list.line(e)).collect();
    list.head() + &lines + &list.foot()
}
