//! The single model of a table: columns, cells, marks and notes, drawn on the terminal and on the page. Each column is
//! declared once: its head, how expendable it is, and how its cells are made from a row.

use crate::format::{NONE, count};
use rtscope_analysis::versus::Role;
use rtscope_record::Verdict;
use std::borrow::Cow;

/// Alignment of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// What a cell means beyond its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The most important figure of its row.
    Main,
    /// The ratio of two kernels' highest figures.
    Ratio,
    /// Unremarkable.
    Quiet,
    Good,
    Doubtful,
    Bad,
    /// A figure of an INVALID run, which does not mean what it says.
    Invalid,
    Verdict(Verdict),
}

/// A cell; its text may be borrowed from its row.
pub(crate) struct Cell<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) mark: Option<Mark>,
    /// The index of the record that the row is about, where a page has a section for it.
    pub(crate) run: Option<usize>,
    /// Width of the text in characters, once a renderer has measured it.
    pub(crate) width: usize,
}

impl<'a, T: Into<Cow<'a, str>>> From<T> for Cell<'a> {
    fn from(text: T) -> Self {
        Self { text: text.into(), mark: None, run: None, width: 0 }
    }
}

impl<'a> Cell<'a> {
    pub(crate) fn marked(text: impl Into<Cow<'a, str>>, mark: Mark) -> Self {
        Self::marked_if(true, text, mark)
    }

    /// Marked if `applies`.
    pub(crate) fn marked_if(applies: bool, text: impl Into<Cow<'a, str>>, mark: Mark) -> Self {
        Self { mark: applies.then_some(mark), ..text.into().into() }
    }

    pub(crate) fn main(text: impl Into<Cow<'a, str>>) -> Self {
        Self::marked(text, Mark::Main)
    }

    pub(crate) fn verdict(v: Verdict) -> Self {
        Self::marked(v.as_str(), Mark::Verdict(v))
    }

    /// A clock in words, marked if it belongs to a virtual machine.
    pub(crate) fn clock(words: impl Into<Cow<'a, str>>, virtual_machine: bool) -> Self {
        Self::marked_if(virtual_machine, words, Mark::Doubtful)
    }

    /// A count of problems: unmarked if 0.
    pub(crate) fn trouble(n: u64) -> Self {
        Self::marked_if(n > 0, count(n), Mark::Doubtful)
    }

    /// The cell for a missing figure.
    pub(crate) fn none() -> Self {
        NONE.into()
    }

    fn into_owned(self) -> Cell<'static> {
        Cell { text: Cow::Owned(self.text.into_owned()), mark: self.mark, run: self.run, width: self.width }
    }
}

/// A head shared by neighbouring columns; empty for none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Group<'a> {
    pub(crate) head: Cow<'a, str>,
    /// The kernel that these columns are about, which has a colour on a page.
    pub(crate) role: Option<Role>,
}

/// The head of a column, and how the column is shown.
#[derive(Debug, Clone)]
pub(crate) struct Column<'a> {
    pub(crate) head: Cow<'a, str>,
    pub(crate) align: Align,
    /// 0: always shown. Where there is too little room, all columns with the highest number are left out first.
    pub(crate) expendable: u8,
    /// To how many characters its texts may be cut where there is still too little room; `None`: not at all.
    pub(crate) least: Option<usize>,
    /// Where there is too little room: said once, below the table, if it is the same in every row; and cut in the middle, since what
    /// tells its texts apart is often at their ends.
    pub(crate) context: bool,
    pub(crate) group: Group<'a>,
}

/// To how many characters a text may be cut, unless its head is longer.
const LEAST: usize = 8;

type Make<'a, R> = Box<dyn for<'r> Fn(&'r R) -> Cell<'r> + 'a>;

/// The columns of a table, whose rows are made from `R`s.
pub(crate) struct Columns<'a, R> {
    heads: Vec<Column<'a>>,
    cells: Vec<Make<'a, R>>,
    group: Group<'a>,
}

impl<'a, R> Columns<'a, R> {
    pub(crate) fn new() -> Self {
        Self { heads: Vec::with_capacity(16), cells: Vec::with_capacity(16), group: Group::default() }
    }

    /// Adds a column of text, which may be cut.
    pub(crate) fn left(self, head: impl Into<Cow<'a, str>>, expendable: u8, cell: impl for<'r> Fn(&'r R) -> Cell<'r> + 'a) -> Self {
        let head = head.into();
        let least = head.chars().count().max(LEAST);
        self.column(head, Align::Left, expendable, Box::new(cell)).least(Some(least))
    }

    /// Adds a column of words that mean nothing when cut.
    pub(crate) fn whole(
        self,
        head: impl Into<Cow<'a, str>>,
        expendable: u8,
        cell: impl for<'r> Fn(&'r R) -> Cell<'r> + 'a,
    ) -> Self {
        self.column(head.into(), Align::Left, expendable, Box::new(cell))
    }

    /// To how many characters the last column's texts may be cut.
    pub(crate) fn least(mut self, least: Option<usize>) -> Self {
        if let Some(last) = self.heads.last_mut() {
            last.least = least;
        }
        self
    }

    /// The last column says under which conditions a row was measured, such as its kernel: often the same in every row.
    pub(crate) fn context(mut self) -> Self {
        if let Some(last) = self.heads.last_mut() {
            last.context = true;
        }
        self
    }

    /// Adds a column of numbers.
    pub(crate) fn right(
        self,
        head: impl Into<Cow<'a, str>>,
        expendable: u8,
        cell: impl for<'r> Fn(&'r R) -> Cell<'r> + 'a,
    ) -> Self {
        self.column(head.into(), Align::Right, expendable, Box::new(cell))
    }

    fn column(mut self, head: Cow<'a, str>, align: Align, expendable: u8, cell: Make<'a, R>) -> Self {
        self.heads.push(Column { head, align, expendable, least: None, context: false, group: self.group.clone() });
        self.cells.push(cell);
        self
    }

    /// Begins a group of columns with a common head; an empty head ends it.
    pub(crate) fn group(mut self, head: impl Into<Cow<'a, str>>) -> Self {
        self.group = Group { head: head.into(), role: None };
        self
    }

    /// Begins a group of columns with the figures of the kernel with this role, in us.
    pub(crate) fn kernel(mut self, role: Role) -> Self {
        self.group = Group { head: format!("{} us", role.as_str()).into(), role: Some(role) };
        self
    }

    /// Adds the columns of `more` if `wanted`.
    pub(crate) fn when(self, wanted: bool, more: impl FnOnce(Self) -> Self) -> Self {
        if wanted { more(self) } else { self }
    }

    pub(crate) fn heads(&self) -> &[Column<'a>] {
        &self.heads
    }

    /// The cells of a row.
    pub(crate) fn row<'r>(&self, of: &'r R) -> Vec<Cell<'r>> {
        self.cells.iter().map(|cell| cell(of)).collect()
    }

    /// The table of `rows`, from which it borrows.
    pub(crate) fn sheet<'r>(self, rows: impl IntoIterator<Item = &'r R>) -> Sheet<'r>
    where
        R: 'r,
        'a: 'r,
    {
        let rows = rows.into_iter().map(|r| self.row(r)).collect();
        Sheet { rows, columns: self.heads, ..Sheet::default() }
    }

    /// The table of temporary `rows`.
    pub(crate) fn sheet_of(self, rows: impl IntoIterator<Item = R>) -> Sheet<'a> {
        let owned = |r: R| self.row(&r).into_iter().map(Cell::into_owned).collect();
        let rows = rows.into_iter().map(owned).collect();
        Sheet { rows, columns: self.heads, ..Sheet::default() }
    }
}

/// A table.
#[derive(Default)]
pub(crate) struct Sheet<'a> {
    pub(crate) title: String,
    /// Follows the title on its line, including the separator.
    pub(crate) about: String,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) rows: Vec<Vec<Cell<'a>>>,
    /// Sentences below the table.
    pub(crate) notes: Vec<String>,
}

impl Sheet<'_> {
    pub(crate) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    pub(crate) fn about(self, about: impl Into<String>) -> Self {
        Self { about: about.into(), ..self }
    }

    pub(crate) fn noted(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}
