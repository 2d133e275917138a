//! Apache Parquet, for pandas, DuckDB and the like: a row for each distribution, or for each bucket of their histograms.

use crate::{ReportError, summarize};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rtscope_record::Record;
use std::fmt::Write as _;
use std::sync::Arc;

/// The cells of a column; `None` is null.
enum Column {
    Text(Vec<Option<String>>),
    /// Whole numbers from 0 to 2^64 - 1.
    Count(Vec<Option<u64>>),
    Float(Vec<Option<f64>>),
}

/// A column by its name.
type Named = (&'static str, Column);

/// A row for each distribution of each record, and one for all of a record together (`label` is `all`): times in ns.
pub fn parquet(records: &[Record]) -> Result<Vec<u8>, ReportError> {
    let mut rows = Vec::new();
    for r in records {
        let s = summarize(r)?;
        let several = s.rows.len() > 1;
        let mut all: Vec<_> = s.merged.clone().into_iter().collect();
        all.extend(s.rows.clone().into_iter().filter(|_| several));
        rows.extend(all.into_iter().map(|row| (s.clone(), row)));
    }
    let text = |of: &dyn Fn(&(rtscope_analysis::Summary, rtscope_analysis::Row)) -> String| {
        Column::Text(rows.iter().map(|r| Some(of(r))).collect())
    };
    let count = |of: &dyn Fn(&rtscope_analysis::Row) -> Option<u64>| Column::Count(rows.iter().map(|r| of(&r.1)).collect());
    let float = |of: &dyn Fn(&rtscope_analysis::Row) -> Option<f64>| Column::Float(rows.iter().map(|r| of(&r.1)).collect());
    let raw = |name: &'static str| count(&|r| r.percentile(name).and_then(|p| p.raw));
    // Null where they would be guessed by HdrHistogram's rule.
    let corrected = |name: &'static str| count(&|r| r.percentile(name).filter(|_| !r.by_rule()).and_then(|p| p.corrected));
    write(vec![
        ("id", text(&|r| r.0.id.clone())),
        ("started", text(&|r| r.0.started.clone())),
        ("test", text(&|r| r.0.test.to_string())),
        ("space", text(&|r| r.0.space.to_string())),
        ("load", text(&|r| r.0.load.clone())),
        ("target", text(&|r| r.0.target.clone())),
        ("kernel", text(&|r| r.0.kernel.clone())),
        ("preemption", text(&|r| r.0.preemption.clone())),
        ("clock", text(&|r| r.0.clock_words.clone())),
        ("verdict", text(&|r| r.0.verdict.to_string())),
        ("label", text(&|r| r.1.label.clone())),
        ("interval_ns", count(&|r| Some(r.interval))),
        ("samples", count(&|r| Some(r.count))),
        ("expected", count(&|r| r.expected)),
        ("missed", count(&|r| Some(r.missed))),
        ("overflow", count(&|r| Some(r.overflow))),
        ("dropped", count(&|r| Some(r.dropped))),
        ("min_ns", count(&|r| r.min)),
        ("mean_ns", float(&|r| r.mean)),
        ("stddev_ns", float(&|r| r.stddev)),
        ("p50_ns", raw("p50")),
        ("p90_ns", raw("p90")),
        ("p99_ns", raw("p99")),
        ("p99_9_ns", raw("p99.9")),
        ("p99_99_ns", raw("p99.99")),
        ("p99_999_ns", raw("p99.999")),
        ("max_ns", count(&|r| r.max)),
        ("corrected_mean_ns", float(&|r| r.corrected_mean.filter(|_| !r.by_rule()))),
        ("corrected_p99_ns", corrected("p99")),
        ("corrected_p99_9_ns", corrected("p99.9")),
        ("corrected_p99_99_ns", corrected("p99.99")),
        ("corrected_max_ns", count(&|r| r.corrected_max.filter(|_| !r.by_rule()))),
    ])
}

/// A row for each occupied bucket of each distribution: its least and greatest value in ns, and its samples. Samples above an imported histogram are in none.
pub fn parquet_buckets(records: &[Record]) -> Result<Vec<u8>, ReportError> {
    let (mut id, mut label, mut low, mut high, mut samples) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for r in records {
        for d in r.distributions() {
            for (from, to, n) in d.histogram().iter() {
                id.push(Some(r.id().to_owned()));
                label.push(Some(d.label().to_owned()));
                low.push(Some(from));
                high.push(Some(to));
                samples.push(Some(n));
            }
        }
    }
    write(vec![
        ("id", Column::Text(id)),
        ("label", Column::Text(label)),
        ("low_ns", Column::Count(low)),
        ("high_ns", Column::Count(high)),
        ("samples", Column::Count(samples)),
    ])
}

fn write(columns: Vec<Named>) -> Result<Vec<u8>, ReportError> {
    written(columns).map_err(|e| ReportError::Format { format: "Parquet", error: e.to_string() })
}

fn written(columns: Vec<Named>) -> Result<Vec<u8>, ParquetError> {
    let mut schema = String::from("message rtscope {");
    for (name, column) in &columns {
        let kind = match column {
            Column::Text(_) => ("binary", "(UTF8)"),
            Column::Count(_) => ("int64", "(INTEGER(64,false))"),
            Column::Float(_) => ("double", ""),
        };
        let _ = write!(schema, " optional {} {name} {};", kind.0, kind.1);
    }
    let schema = Arc::new(parse_message_type(&(schema + " }"))?);
    let properties = WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let mut left = columns.into_iter();
    while let Some(mut writer) = group.next_column()? {
        let Some((_, column)) = left.next() else { break };
        match column {
            Column::Text(cells) => {
                let (values, levels) = split(cells.into_iter().map(|c| c.map(|t| ByteArray::from(t.into_bytes()))));
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Column::Count(cells) => {
                // The same bits; the schema says that they have no sign.
                #[allow(clippy::cast_possible_wrap)]
                let (values, levels) = split(cells.into_iter().map(|c| c.map(|n| n as i64)));
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Column::Float(cells) => {
                let (values, levels) = split(cells.into_iter());
                writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.into_inner()
}

/// The cells that hold something, and for each cell whether it does.
fn split<T>(cells: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    (values, levels)
}
