//! `--with-reference`: published latencies beside the runs of a report or a comparison.

use super::style;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::reference::{Beside, Own, PublishedFilter, all, beside};
use rtscope_failure::Failure;
use rtscope_record::Record;
use rtscope_report::{ReportError, table};
use serde::Serialize;
use std::collections::BTreeSet;

/// What was published of the same tests, if it was asked for.
#[derive(Debug, Default)]
pub(super) struct Published(Option<Vec<Beside>>);

/// What a command prints as JSON, with one key more.
#[derive(Serialize)]
struct With<'a, T> {
    #[serde(flatten)]
    what: &'a T,
    reference: &'a [Beside],
}

fn own(r: &Record) -> Result<Own, ReportError> {
    Own::of(r).map_err(|error| ReportError::Merge { id: r.id().into(), error })
}

impl Published {
    /// Beside `records`; nothing without `filters`, which an option without a value leaves empty.
    pub(super) fn of_records(filters: Option<&str>, records: &[Record]) -> Result<Self, Failure> {
        let Some(filters) = filters else { return Ok(Self::default()) };
        let own = records.iter().map(own).collect::<Result<Vec<_>, _>>()?;
        Self::of(filters, own)
    }

    /// Beside the records of `sides`, each once.
    pub(super) fn of_selections<'a>(
        filters: Option<&str>,
        sides: impl IntoIterator<Item = &'a Selection>,
    ) -> Result<Self, Failure> {
        let Some(filters) = filters else { return Ok(Self::default()) };
        PublishedFilter::parse(&[filters])?;
        let (mut ids, mut all) = (BTreeSet::new(), Vec::new());
        for side in sides {
            side.each(own, |own| {
                let own = own?;
                if ids.insert(own.id.clone()) {
                    all.push(own);
                }
                Ok(())
            })?;
        }
        Self::of(filters, all)
    }

    fn of(filters: &str, own: Vec<Own>) -> Result<Self, Failure> {
        let filter = PublishedFilter::parse(&[filters])?;
        let rows: Vec<_> = all()?.into_iter().filter(|r| filter.takes(r)).collect();
        Ok(Self(Some(beside(own, &rows, !filter.is_all()))))
    }

    /// For a page.
    pub(super) fn found(&self) -> &[Beside] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Prints `what` as JSON, with what was published under the key `reference`.
    pub(super) fn json<T: Serialize>(&self, what: &T) -> Result<(), Failure> {
        match &self.0 {
            None => output::json(what),
            Some(found) => output::json(&With { what, reference: found }),
        }
    }

    /// Prints `text`, and below it what was published.
    pub(super) fn text(&self, text: &str) -> Result<(), Failure> {
        match &self.0 {
            None => output::result(text),
            Some(found) => output::result(&format!("{text}\n{}", table::references_beside(found, style()))),
        }
    }

    /// Why nothing stands beside some of the runs, a sentence for each test and space.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        self.found().iter().filter_map(|b| b.none.as_deref())
    }
}
