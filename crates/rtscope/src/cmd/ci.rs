//! Results in the formats of CI and labs: `export --format junit` and others, `measure --junit --summary`.

use rtscope_analysis::Evaluation;
use rtscope_analysis::replicates::LoadRuns;
use rtscope_failure::Failure;
use rtscope_record::Record;
use rtscope_report::ci::{self, Case, CaseOutcome, Suite};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Names of the formats that are made of figures and verdicts, not of all that a record holds.
pub(crate) const NAMES: [&str; 9] =
    ["junit", "tap", "lava", "kcidb", "openmetrics", "markdown", "latex", "parquet", "parquet-buckets"];

type Written = fn(&[Record]) -> Result<Vec<u8>, Failure>;

/// The writer of a format; `None` for others.
pub(super) fn format(name: &str) -> Option<Written> {
    Some(match name {
        "junit" => |records| Ok(ci::junit(&suites(records, &[])?)?.into_bytes()),
        "tap" => |records| Ok(ci::tap(&suites(records, &[])?).into_bytes()),
        "lava" => |records| {
            let suites = suites(records, &[])?;
            let one = |(r, s): (&Record, &Suite)| Ok::<_, Failure>(ci::lava(s, &ci::statistics(r)?));
            Ok(records.iter().zip(&suites).map(one).collect::<Result<String, _>>()?.into_bytes())
        },
        "kcidb" => |records| Ok(ci::kcidb(records)?.into_bytes()),
        "openmetrics" => |records| Ok(ci::openmetrics(records)?.into_bytes()),
        "markdown" => |records| Ok(ci::markdown(records)?.into_bytes()),
        "latex" => |records| Ok(ci::latex(records)?.into_bytes()),
        #[cfg(feature = "parquet")]
        "parquet" => |records| Ok(ci::parquet(records)?),
        #[cfg(feature = "parquet")]
        "parquet-buckets" => |records| Ok(ci::parquet_buckets(records)?),
        #[cfg(not(feature = "parquet"))]
        "parquet" | "parquet-buckets" => |_| Err(crate::error::left_out("Apache Parquet")),
        _ => return None,
    })
}

/// A suite for each record, with the limits that it was held to. The second of one name is called `#2`: readers of JUnit take cases of one name for one.
pub(super) fn suites(records: &[Record], held: &[Evaluation]) -> Result<Vec<Suite>, Failure> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let one = |r: &Record| {
        let mut suite = ci::suite(r, held)?;
        let number = names.entry(suite.name.clone()).or_insert(0);
        *number += 1;
        if *number > 1 {
            suite.name += &format!(" #{number}");
        }
        Ok(suite)
    };
    records.iter().map(one).collect()
}

/// The suite of a comparison with a baseline: a case for each condition, with what is against it.
pub(super) fn baseline_suite(conditions: &[(String, Vec<String>)], runs: &[LoadRuns]) -> Suite {
    let words: String = runs
        .iter()
        .flat_map(|l| l.rows.iter().map(move |r| format!("load {}: {} {:?}\n", l.load, r.metric, r.difference.word)))
        .collect();
    let case = |(name, against): &(String, Vec<String>)| Case {
        name: name.clone(),
        outcome: if against.is_empty() { CaseOutcome::Passed } else { CaseOutcome::Failed(against.join("; ")) },
        output: words.clone(),
    };
    Suite { name: "rtscope.baseline".into(), elapsed_ns: 0, properties: Vec::new(), cases: conditions.iter().map(case).collect() }
}

/// Appends to a file, as a CI job's summary wants it.
pub(super) fn append(path: &Path, text: &str) -> Result<(), Failure> {
    let written = OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| Failure::machine(format!("{}: {e}", path.display()), "name a file that can be written"))
}
