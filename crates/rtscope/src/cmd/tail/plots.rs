//! The pictures of a study of a tail.

use crate::cmd::meta::DIRECTORY;
use crate::cmd::report;
use rtscope_failure::{Explain as _, Failure};
use rtscope_report::svg;
use rtscope_statistics::tail::Study;
use std::path::Path;

/// Writes them to a directory.
pub(super) fn write(dir: &Path, study: &Study, unit: &str) -> Result<(), Failure> {
    rtscope_files::output_dir(dir).or_machine(dir.display(), DIRECTORY)?;
    report::write(&dir.join("return-levels.svg"), svg::tail_levels(study, unit, svg::Use::File).as_bytes())?;
    match svg::tail_mean_excess(study, unit, svg::Use::File) {
        Some(plot) => report::write(&dir.join("mean-residual-life.svg"), plot.as_bytes()),
        None => Ok(()),
    }
}
