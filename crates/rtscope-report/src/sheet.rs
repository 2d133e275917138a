//! The one model of a table: columns, cells, marks and notes, which the terminal and the page draw alike. A column is declared once, with
//! its head, when it may be left out, and what its cells say of a row.

use crate::format::{NONE, count};
use rtscope_analysis::versus::Role;
use rtscope_record::Verdict;
use std::borrow::Cow;

/// To which side a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// What a cell means beyond its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The figure that one looks for first.
    Main,
    /// How many times one kernel's highest figure is the other's.
    Ratio,
    /// Nothing to see.
    Quiet,
    Good,
    Doubtful,
    Bad,
    /// A figure of an INVALID run: it means something else than it says.
    Invalid,
    Verdict(Verdict),
}

/// A cell; text of its row is borrowed.
pub(crate) struct Cell<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) mark: Option<Mark>,
    /// Which of the shown records the row is of, where a page has a section for it.
    pub(crate) run: Option<usize>,
    /// Of the text in characters, once a renderer has measured it.
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

    /// Marked where that `applies`.
    pub(crate) fn marked_if(applies: bool, text: impl Into<Cow<'a, str>>, mark: Mark) -> Self {
        Self { mark: applies.then_some(mark), ..text.into().into() }
    }

    pub(crate) fn main(text: impl Into<Cow<'a, str>>) -> Self {
        Self::marked(text, Mark::Main)
    }

    pub(crate) fn verdict(v: Verdict) -> Self {
        Self::marked(v.as_str(), Mark::Verdict(v))
    }

    /// A clock in words, and whether it is that of a virtual machine.
    pub(crate) fn clock(words: impl Into<Cow<'a, str>>, virtual_machine: bool) -> Self {
        Self::marked_if(virtual_machine, words, Mark::Doubtful)
    }

    /// A number of what went wrong: none is nothing to see.
    pub(crate) fn trouble(n: u64) -> Self {
        Self::marked_if(n > 0, count(n), Mark::Doubtful)
    }

    /// What stands where there is no figure.
    pub(crate) fn none() -> Self {
        NONE.into()
    }

    fn into_owned(self) -> Cell<'static> {
        Cell { text: Cow::Owned(self.text.into_owned()), mark: self.mark, run: self.run, width: self.width }
    }
}

/// A head that neighbouring columns share; empty for none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Group<'a> {
    pub(crate) head: Cow<'a, str>,
    /// The kernel that these columns are of, which has a colour on a page.
    pub(crate) role: Option<Role>,
}

/// What stands above the cells of a column.
#[derive(Debug, Clone)]
pub(crate) struct Column<'a> {
    pub(crate) head: Cow<'a, str>,
    pub(crate) align: Align,
    /// 0 stays always; where there is too little room, the highest number goes first, with all columns of that number.
    pub(crate) expendable: u8,
    pub(crate) group: Group<'a>,
}

type Make<'a, R> = Box<dyn for<'r> Fn(&'r R) -> Cell<'r> + 'a>;

/// The columns of a table whose rows are made of `R`s.
pub(crate) struct Columns<'a, R> {
    heads: Vec<Column<'a>>,
    cells: Vec<Make<'a, R>>,
    group: Group<'a>,
}

impl<'a, R> Columns<'a, R> {
    pub(crate) fn new() -> Self {
        Self { heads: Vec::with_capacity(16), cells: Vec::with_capacity(16), group: Group::default() }
    }

    /// A column of texts.
    pub(crate) fn left(self, head: impl Into<Cow<'a, str>>, expendable: u8, cell: impl for<'r> Fn(&'r R) -> Cell<'r> + 'a) -> Self {
        self.column(head.into(), Align::Left, expendable, Box::new(cell))
    }

    /// A column of numbers.
    pub(crate) fn right(
        self,
        head: impl Into<Cow<'a, str>>,
        expendable: u8,
        cell: impl for<'r> Fn(&'r R) -> Cell<'r> + 'a,
    ) -> Self {
        self.column(head.into(), Align::Right, expendable, Box::new(cell))
    }

    fn column(mut self, head: Cow<'a, str>, align: Align, expendable: u8, cell: Make<'a, R>) -> Self {
        self.heads.push(Column { head, align, expendable, group: self.group.clone() });
        self.cells.push(cell);
        self
    }

    /// The common head of the columns that follow; an empty one ends it.
    pub(crate) fn group(mut self, head: impl Into<Cow<'a, str>>) -> Self {
        self.group = Group { head: head.into(), role: None };
        self
    }

    /// The columns that follow are figures of the kernel of this role, in us.
    pub(crate) fn kernel(mut self, role: Role) -> Self {
        self.group = Group { head: format!("{} us", role.as_str()).into(), role: Some(role) };
        self
    }

    /// With what `more` adds where that is `wanted`.
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

    /// The table of `rows`, which it borrows from.
    pub(crate) fn sheet<'r>(self, rows: impl IntoIterator<Item = &'r R>) -> Sheet<'r>
    where
        R: 'r,
        'a: 'r,
    {
        let rows = rows.into_iter().map(|r| self.row(r)).collect();
        Sheet { rows, columns: self.heads, ..Sheet::default() }
    }

    /// The table of `rows` that are not kept.
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
    /// What follows the title on its line, with what parts it from that.
    pub(crate) about: String,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) rows: Vec<Vec<Cell<'a>>>,
    /// Sentences below it.
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
