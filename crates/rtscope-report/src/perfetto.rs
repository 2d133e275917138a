//! The trace of an explained sample, for <https://ui.perfetto.dev> and chrome://tracing.
//!
//! Source of the format: "Trace Event Format", JSON object form (Google; linked from <https://perfetto.dev/docs/getting-started/other-formats>).

use rtscope_explain::explanation::Explanation;
use serde_json::{Value, json};

/// What ran, as three tracks: cause, task and calls. Times are µs after the timer's expiry.
pub fn trace(e: &Explanation) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    let name = e.path.title().trim_start_matches("What ran, ");
    let named = |tid: u32, name: &str| json!({"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}});
    let mut events: Vec<Value> = vec![
        json!({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": name}}),
        named(1, "cause"),
        named(2, "task"),
        named(3, "calls"),
    ];
    events.extend(e.chart.frames.iter().map(|f| {
        json!({"ph": "X", "pid": 1, "tid": f.row.min(2) + 1, "ts": us(f.start), "dur": us(f.ns), "name": e.chart.name(f),
            "cat": f.cause.words()})
    }));
    let m = &e.milestones;
    let milestones = [
        ("timer interrupt", m.interrupt),
        ("thread woken", m.woken),
        ("switch due", m.due),
        ("switched to the thread", m.switched),
        ("in user space", m.user),
    ];
    events.extend(
        milestones
            .into_iter()
            .filter_map(|(name, at)| at.map(|at| json!({"ph": "i", "s": "p", "pid": 1, "tid": 3, "ts": us(at), "name": name}))),
    );
    json!({"displayTimeUnit": "ns", "otherData": {"sentence": e.sentence()}, "traceEvents": events}).to_string()
}
