//! Listings of the archive from the summary columns alone.

use rtscope_record::{Distribution, DistributionError, Record};
use rusqlite::{Connection, Row, params_from_iter, types::Value};
use serde::Serialize;
use std::time::SystemTime;

/// Which runs to list. An empty filter passes all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// This test only: `timer`, `response` ...
    pub test: Option<String>,
    /// This load only.
    pub load: Option<String>,
    /// This target only.
    pub target: Option<String>,
    /// Kernels whose release contains this.
    pub kernel: Option<String>,
    /// Started at this moment or later.
    pub since: Option<SystemTime>,
    /// Started before this moment.
    pub until: Option<SystemTime>,
    /// At most this many, the newest.
    pub limit: Option<u32>,
}

/// One line of a listing: a run, and all its distributions merged. Times in ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// RFC 3339 in UTC.
    pub started: String,
    /// What was measured.
    pub test: String,
    /// Where the task ran.
    pub space: String,
    /// Name of the load.
    pub load: String,
    /// Where the probe ran.
    pub target: String,
    /// Whose time the figures are in.
    pub clock: String,
    /// Whether they may be trusted.
    pub verdict: String,
    /// The run was ended before its time.
    pub interrupted: bool,
    /// Host name.
    pub hostname: String,
    /// Board, where known.
    pub board: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Preemption model.
    pub preemption: String,
    /// The virtual machine or container it was measured in, if any.
    pub virtualization: Option<String>,
    /// Samples taken.
    pub count: u64,
    /// Missed events.
    pub missed: u64,
    /// Unasked events.
    pub spurious: u64,
    /// Samples beyond an imported histogram.
    pub overflow: u64,
    /// Lost samples.
    pub dropped: u64,
    /// Lowest sample, ns.
    pub min: Option<u64>,
    /// Highest sample, ns.
    pub max: Option<u64>,
    /// Mean, ns.
    pub mean: Option<f64>,
    /// Standard deviation, ns.
    pub stddev: Option<f64>,
    /// Median, ns.
    pub p50: Option<u64>,
    /// 99th percentile, ns.
    pub p99: Option<u64>,
    /// 99.9th percentile, ns.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<u64>,
    /// 99.99th percentile, ns.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<u64>,
}

impl RunSummary {
    /// The summary of a record, as the archive keeps it.
    pub fn of(record: &Record) -> Result<Self, DistributionError> {
        let p = record.parts();
        let all = match record.merged()? {
            Some(all) => all,
            None => Distribution::from_samples("all", &[], 0)?,
        };
        let percentile = |text: &str| text.parse().ok().and_then(|q| all.value_at(q));
        Ok(Self {
            id: p.id.clone(),
            started: p.started.clone(),
            test: p.test.to_string(),
            space: p.space.to_string(),
            load: p.load.clone(),
            target: p.target.clone(),
            clock: p.clock.to_string(),
            verdict: record.verdict().to_string(),
            interrupted: p.interrupted,
            hostname: p.system.hostname.clone(),
            board: p.system.board.clone(),
            kernel: p.system.kernel.release.clone(),
            preemption: p.system.kernel.preemption.as_str().into(),
            virtualization: p.system.virtualization.clone(),
            count: all.count(),
            missed: all.missed(),
            spurious: all.spurious(),
            overflow: all.overflow(),
            dropped: all.dropped(),
            min: all.min(),
            max: all.max(),
            mean: all.mean(),
            stddev: all.stddev(),
            p50: percentile("p50"),
            p99: percentile("p99"),
            p99_9: percentile("p99.9"),
            p99_99: percentile("p99.99"),
        })
    }
}

/// Nanoseconds since 1970, cut off at what the database holds.
fn nanos(t: SystemTime) -> i64 {
    match t.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(d) => i64::try_from(d.as_nanos()).unwrap_or(i64::MAX),
        Err(e) => i64::try_from(e.duration().as_nanos()).map_or(i64::MIN, |n| -n),
    }
}

pub(super) fn list(db: &Connection, filter: &Filter) -> Result<Vec<RunSummary>, rusqlite::Error> {
    let text = |t: &Option<String>| t.clone().map(Value::Text);
    let moment = |t: Option<SystemTime>| t.map(|t| Value::Integer(nanos(t)));
    let conditions = [
        ("test = ?", text(&filter.test)),
        ("load = ?", text(&filter.load)),
        ("target = ?", text(&filter.target)),
        ("instr(kernel, ?) > 0", text(&filter.kernel)),
        ("started_ns >= ?", moment(filter.since)),
        ("started_ns < ?", moment(filter.until)),
    ];
    let (asked, mut values): (Vec<&str>, Vec<Value>) = conditions.into_iter().filter_map(|(c, v)| Some((c, v?))).unzip();
    let wanted = if asked.is_empty() { "1".to_owned() } else { asked.join(" AND ") };
    values.push(Value::Integer(filter.limit.map_or(-1, i64::from)));
    let sql = format!(
        "SELECT id, started, test, space, load, target, clock, verdict, interrupted, hostname, board, kernel, preemption, count, missed,
                spurious, overflow, dropped, min, max, mean, stddev, p50, p99, p99_9, p99_99, virtualization
         FROM run WHERE {wanted} ORDER BY started_ns DESC, key DESC LIMIT ?"
    );
    db.prepare_cached(&sql)?.query_map(params_from_iter(values), summary)?.collect()
}

fn summary(r: &Row<'_>) -> Result<RunSummary, rusqlite::Error> {
    Ok(RunSummary {
        id: r.get(0)?,
        started: r.get(1)?,
        test: r.get(2)?,
        space: r.get(3)?,
        load: r.get(4)?,
        target: r.get(5)?,
        clock: r.get(6)?,
        verdict: r.get(7)?,
        interrupted: r.get(8)?,
        hostname: r.get(9)?,
        board: r.get(10)?,
        kernel: r.get(11)?,
        preemption: r.get(12)?,
        count: r.get(13)?,
        missed: r.get(14)?,
        spurious: r.get(15)?,
        overflow: r.get(16)?,
        dropped: r.get(17)?,
        min: r.get(18)?,
        max: r.get(19)?,
        mean: r.get(20)?,
        stddev: r.get(21)?,
        p50: r.get(22)?,
        p99: r.get(23)?,
        p99_9: r.get(24)?,
        p99_99: r.get(25)?,
        virtualization: r.get(26)?,
    })
}
