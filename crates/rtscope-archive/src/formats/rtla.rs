//! rtla's histograms as text: `rtla timerlat hist` and `rtla osnoise hist` (tools/tracing/rtla of the kernel's source).
//!
//! What the text means, according to the source of 6.1 to 6.18:
//! - a row is named by its lowest value; rows of zeros are left out, and the width of a row (`-b`) is not stated;
//! - IRQ, thread and user columns are three quantities of the same activation: each becomes a record of its own, so that
//!   nothing adds them up; `over:` counts samples beyond the last row, which `count:` includes;
//! - averages are cut off to whole units (timerlat), or have two decimals (osnoise);
//! - newer versions add the figures of all CPUs together under `ALL:`, which are checked and not kept.

mod text;

use super::error::ImportError;
use super::foreign::{Column, Mean, Sheet};
use super::format::{Format, ImportOptions};
use rtscope_record::{Effect, Record, Space};
use text::{Figure, Kind, Table};

/// Which of the two tools wrote this text, if any.
pub(super) fn detect(text: &str) -> Option<Format> {
    text.lines().take(200).find_map(|l| match l.trim_end() {
        text::TIMERLAT => Some(Format::RtlaTimerlat),
        text::OSNOISE => Some(Format::RtlaOsnoise),
        _ => None,
    })
}

/// Reads `rtla timerlat hist`: a record for each kind of column.
pub(super) fn read_timerlat(bytes: &[u8], options: &ImportOptions) -> Result<Vec<Record>, ImportError> {
    let table = Table::of(&String::from_utf8_lossy(bytes), text::TIMERLAT)?;
    let kinds = [Kind::Irq, Kind::Thread, Kind::User];
    let present: Vec<Kind> = kinds.into_iter().filter(|k| table.columns.iter().any(|c| c.kind == *k)).collect();
    present.into_iter().map(|kind| record(&table, kind, bytes, options)).collect()
}

/// Reads `rtla osnoise hist`.
pub(super) fn read_osnoise(bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let table = Table::of(&String::from_utf8_lossy(bytes), text::OSNOISE)?;
    record(&table, Kind::Noise, bytes, options)
}

fn record(table: &Table, kind: Kind, bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let unit = match (table.unit_ns, options.nanoseconds) {
        (Some(unit), _) => unit,
        (None, Some(true)) => 1,
        (None, _) => 1000,
    };
    let (width, certain) = table.width();
    let mut columns = Vec::new();
    for (i, head) in table.columns.iter().enumerate().filter(|(_, c)| c.kind == kind) {
        let mut column = Column::empty(format!("cpu{} {}", head.cpu, kind.label()), unit);
        (column.width, column.cpu) = (width, Some(head.cpu));
        column.bins = table.rows.iter().map(|r| (r.index, r.cells[i])).filter(|b| b.1 > 0).collect();
        column.count = table.count.cell(i);
        let extremes = (table.min.figure(i), table.max.figure(i));
        if let (Figure::Number(min), Figure::Number(max)) = extremes {
            column.extremes = (column.count > 0).then_some((min, max));
        }
        column.mean = match table.avg.figure(i) {
            _ if column.count == 0 => Mean::Unknown,
            Figure::Number(whole) => Mean::Whole(whole),
            Figure::Decimal(mean) => Mean::Decimal(mean, 0.005),
            Figure::None => Mean::Unknown,
        };
        let overflow = column.overflow().map_err(|what| ImportError::line(table.count.line, what))?;
        if overflow != table.over.cell(i) {
            let told = format!("{}: `over:` is {}, but `count:` and the rows leave {overflow}", column.label, table.over.cell(i));
            return Err(ImportError::line(table.over.line, told));
        }
        if let Some(what) = column.contradiction() {
            return Err(ImportError::line(table.max.line, what));
        }
        if let Some(what) = column.wrong_mean() {
            return Err(ImportError::line(table.avg.line, what));
        }
        if width == 1 {
            // Rows end where the highest of all columns does, or later: the text leaves out the rest.
            column.size = Some(table.rows.last().map_or(1, |r| r.index.saturating_add(1)));
        }
        columns.push(column);
    }
    let mut sheet = Sheet::new(kind.format(), columns);
    sheet.suffix = kind.suffix().into();
    sheet.space = Some(if kind == Kind::User { Space::User } else { Space::Kernel });
    sheet.elapsed_ns = table.elapsed_ns.unwrap_or(0);
    sheet.kept.clone_from(&table.others);
    warn(&mut sheet, table, kind, certain, options);
    sheet.into_record(bytes, options)
}

fn warn(sheet: &mut Sheet, table: &Table, kind: Kind, certain: bool, options: &ImportOptions) {
    match kind {
        Kind::Noise => sheet.warn_of_quantity("rtla osnoise measures how long a busy loop was interrupted"),
        Kind::Irq => {
            sheet.warn_of_quantity("these are the times from the timer's expiry to its interrupt handler");
            sheet.warn_of_missed("timerlat");
        }
        Kind::User => {
            sheet.warn_of_quantity("these are the times from the timer's expiry to the thread's return to user space and back");
            sheet.warn_of_missed("timerlat");
        }
        Kind::Thread => sheet.warn_of_missed("timerlat"),
    }
    let (width, _) = table.width();
    if !certain {
        sheet.warn(
            "bins-unknown",
            Effect::Note,
            format!("the text does not state the width of its rows (-b): {width} is taken, which all rows and figures allow"),
            "keep rtla's command line with its output",
        );
    }
    if table.unit_ns.is_none() && options.nanoseconds.is_none() {
        sheet.warn(
            "unit-assumed",
            Effect::Note,
            "the text does not state its unit (`# Time unit is`): microseconds are taken",
            "import with --nsecs if it was measured with -n",
        );
    }
    if let Some(missed) = &table.missed {
        sheet.warn(
            "dropped",
            Effect::Invalid,
            format!("rtla says: {missed}; the highest samples may be among them"),
            "measure with larger buffers (--trace-buffer-size)",
        );
    }
}
