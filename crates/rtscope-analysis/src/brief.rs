//! What comparisons keep of a record: its description, and its figures as one distribution. Both are small, so that a
//! comparison of very many records need not hold the records, and both can be made on the thread that reads the record.

use crate::differences::Aspects;
use crate::kernel::KernelModel;
use crate::summary::{clock_words, virtual_machine};
use rtscope_record::{Distribution, DistributionError, Record, Verdict};

/// The description of a record, without its figures.
#[derive(Debug, Clone)]
pub(crate) struct Brief {
    pub(crate) id: String,
    pub(crate) verdict: Verdict,
    pub(crate) load: String,
    pub(crate) kernel: KernelModel,
    pub(crate) clock_words: String,
    pub(crate) virtual_machine: bool,
    pub(crate) interrupted: bool,
    pub(crate) aspects: Aspects,
}

impl Brief {
    pub(crate) fn of(r: &Record) -> Self {
        Self {
            id: r.id().into(),
            verdict: r.verdict(),
            load: r.parts().load.clone(),
            kernel: KernelModel::of(r),
            clock_words: clock_words(r),
            virtual_machine: virtual_machine(r),
            interrupted: r.parts().interrupted,
            aspects: Aspects::of(r),
        }
    }
}

/// All distributions of some records merged into one, or why they can't be merged.
#[derive(Debug, Clone)]
pub(crate) struct Sum(Result<Option<Distribution>, DistributionError>);

impl Default for Sum {
    fn default() -> Self {
        Self(Ok(None))
    }
}

impl Sum {
    pub(crate) fn of(r: &Record) -> Self {
        Self(r.merged())
    }

    /// Adds later records and keeps the `worst` highest samples. The first error is kept: nothing can be added to it.
    pub(crate) fn add(&mut self, later: &Self, worst: usize) {
        let sum = std::mem::take(self).0;
        self.0 = match (sum, &later.0) {
            (Err(e), _) => Err(e),
            (Ok(_), Err(e)) => Err(e.clone()),
            (Ok(None), Ok(first)) => Ok(first.clone()),
            (Ok(sum), Ok(None)) => Ok(sum),
            (Ok(Some(sum)), Ok(Some(d))) => sum.with(d, "all", worst).map(Some),
        };
    }

    /// `None` when no record holds a distribution.
    pub(crate) fn get(&self) -> Result<Option<&Distribution>, DistributionError> {
        self.0.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }
}
