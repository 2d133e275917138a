//! Tables and short lines of the page.

use crate::facts::Fact;
use crate::format::{NONE, count, escape, us, us_f64, us_opt};
use rtscope_analysis::summary::Row;
use rtscope_analysis::{Summary, clock_words, virtual_machine};
use rtscope_record::{Effect, Nanos, Record, Verdict, Warning};
use std::fmt::Write as _;

pub(super) fn verdict_badge(v: Verdict) -> String {
    let class = match v {
        Verdict::Valid => "good",
        Verdict::Inconclusive => "doubtful",
        Verdict::Invalid => "bad",
    };
    format!("<span class=\"badge {class}\">{v}</span>")
}

pub(super) fn clock_badge(record: &Record) -> String {
    let class = if virtual_machine(record) { "doubtful" } else { "plain" };
    format!("<span class=\"badge {class}\">clock: {}</span>", escape(&clock_words(record)))
}

/// Host, kernel and time of the records, each value once.
pub(super) fn machine_line(records: &[Record]) -> String {
    let each = |f: &dyn Fn(&Record) -> String| {
        let mut all: Vec<String> = records.iter().map(f).filter(|s| !s.trim().is_empty()).collect();
        all.sort();
        all.dedup();
        let more = if all.len() > 3 { format!(" and {} more", all.len() - 3) } else { String::new() };
        all.truncate(3);
        escape(&(all.join(", ") + &more))
    };
    let system = |r: &Record| r.parts().system.clone();
    let mut started: Vec<&str> = records.iter().map(|r| r.parts().started.as_str()).collect();
    started.sort_unstable();
    let when = match (started.first(), started.last()) {
        (Some(a), Some(b)) if a != b => escape(&format!("{a} to {b}")),
        (Some(a), _) => escape(a),
        _ => String::new(),
    };
    let parts = [
        each(&|r| system(r).hostname),
        each(&|r| system(r).board.or(system(r).cpu.model).unwrap_or_default()),
        each(&|r| format!("{} {}", system(r).kernel.release, system(r).kernel.preemption.as_str())),
        each(&|r| format!("clock: {}", clock_words(r))),
        when,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).map(|p| format!("<span>{p}</span>")).collect();
    format!("<p class=\"machine\">{}</p>\n", parts.join(" "))
}

/// Run by run under their `names`, in the layout of Vinh & Chau's tables.
pub(super) fn loads(summaries: &[Summary], names: &[String]) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"figures\"><caption>Latency in µs by load</caption><thead><tr><th scope=\"col\">Load</th>\
         <th scope=\"col\">Mean</th><th scope=\"col\">Max</th><th scope=\"col\">Min</th><th scope=\"col\">Std dev</th><th scope=\"col\">p99.9</th>\
         <th scope=\"col\">p99.9 corrected</th><th scope=\"col\">Samples</th><th scope=\"col\">Missed</th><th scope=\"col\" class=\"word\">Verdict</th>\
         <th scope=\"col\" class=\"word\">Clock</th></tr></thead><tbody>\n",
    );
    for (i, (s, name)) in summaries.iter().zip(names).enumerate() {
        let all = s.merged.as_ref();
        let p999 = all.and_then(|a| a.percentile("p99.9"));
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><a href=\"#run-{i}\">{}</a></th><td>{}</td><td class=\"strong\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td class=\"word\">{}</td><td class=\"word\">{}</td></tr>",
            escape(name),
            us_f64(all.and_then(|a| a.mean)),
            us_opt(all.and_then(|a| a.max)),
            us_opt(all.and_then(|a| a.min)),
            us_f64(all.and_then(|a| a.stddev)),
            us_opt(p999.and_then(|p| p.raw)),
            us_opt(p999.and_then(|p| p.corrected)),
            count(all.map_or(0, |a| a.count)),
            count(all.map_or(0, |a| a.missed)),
            verdict_badge(s.verdict),
            escape(&s.clock_words),
        );
    }
    out + "</tbody></table></div>\n"
}

type Counter = fn(&Row) -> u64;

/// One row for each distribution, and all of them.
pub(super) fn distributions(s: &Summary) -> String {
    let any = |f: fn(&Row) -> u64| s.rows.iter().any(|r| f(r) > 0);
    let all: [(&str, Counter); 3] = [("Spurious", |r| r.spurious), ("Overflow", |r| r.overflow), ("Dropped", |r| r.dropped)];
    let extra: Vec<_> = all.into_iter().filter(|(_, f)| any(*f)).collect();
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"figures\"><caption>Each CPU, µs</caption><thead><tr><th scope=\"col\"></th><th scope=\"col\">Samples</th>\
         <th scope=\"col\">Expected</th><th scope=\"col\">Missed</th><th scope=\"col\">Min</th><th scope=\"col\">Mean</th><th scope=\"col\">Max</th>\
         <th scope=\"col\">Std dev</th><th scope=\"col\">p99</th><th scope=\"col\">p99.9</th>",
    );
    for (name, _) in &extra {
        let _ = write!(out, "<th scope=\"col\">{name}</th>");
    }
    out += "</tr></thead><tbody>\n";
    for r in s.rows.iter().chain(s.merged.as_ref().filter(|_| s.rows.len() > 1)) {
        let at = |name: &str| us_opt(r.percentile(name).and_then(|p| p.raw));
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"strong\">{}</td><td>{}</td><td>{}</td><td>{}</td>",
            escape(&r.label),
            count(r.count),
            r.expected.map_or_else(|| NONE.into(), count),
            count(r.missed),
            us_opt(r.min),
            us_f64(r.mean),
            us_opt(r.max),
            us_f64(r.stddev),
            at("p99"),
            at("p99.9"),
        );
        for (_, f) in &extra {
            let _ = write!(out, "<td>{}</td>", count(f(r)));
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

/// Percentiles of all samples, raw beside corrected.
pub(super) fn percentiles(all: &Row) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"figures narrow\"><caption>Percentiles of all samples, µs</caption><thead><tr><th scope=\"col\"></th><th scope=\"col\">Raw</th>\
         <th scope=\"col\">Corrected</th></tr></thead><tbody>\n",
    );
    let mut row = |name: &str, raw: String, corrected: String| {
        let _ = writeln!(out, "<tr><th scope=\"row\">{name}</th><td>{raw}</td><td>{corrected}</td></tr>");
    };
    for p in &all.percentiles {
        row(&p.name, us_opt(p.raw), us_opt(p.corrected));
    }
    row("max", us_opt(all.max), us_opt(all.max.filter(|_| all.corrected_count.is_some())));
    row("mean", us_f64(all.mean), us_f64(all.corrected_mean));
    row("samples", count(all.count), all.corrected_count.map_or_else(|| NONE.into(), count));
    out + "</tbody></table></div>\n"
}

/// Every worst sample that was kept, highest first.
pub(super) fn worst(record: &Record) -> String {
    let mut all: Vec<_> = record.distributions().iter().flat_map(|d| d.worst().iter().map(move |w| (w, d.label()))).collect();
    if all.is_empty() {
        return "<p class=\"muted\">No worst samples were kept.</p>\n".into();
    }
    all.sort_by(|(a, la), (b, lb)| b.value.cmp(&a.value).then(a.at.cmp(&b.at)).then(la.cmp(lb)));
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"figures narrow\"><thead><tr><th scope=\"col\">Latency µs</th><th scope=\"col\">At s</th><th scope=\"col\" class=\"word\">Where</th></tr></thead><tbody>\n",
    );
    for (w, label) in all {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{:.6}</td><td class=\"word\">{}</td></tr>",
            us(w.value as f64),
            Nanos(w.at).as_secs_f64(),
            escape(label)
        );
    }
    out + "</tbody></table></div>\n"
}

/// Warnings, worst first, each with what mends it.
pub(super) fn warnings(all: &[Warning]) -> String {
    let mut sorted: Vec<&Warning> = all.iter().collect();
    sorted.sort_by_key(|w| std::cmp::Reverse(w.effect));
    let mut out = String::from("<ul class=\"warnings\">\n");
    for w in sorted {
        let (class, word) = match w.effect {
            Effect::Invalid => ("bad", "INVALID"),
            Effect::Inconclusive => ("doubtful", "INCONCLUSIVE"),
            Effect::Note => ("plain", "note"),
        };
        let _ = write!(
            out,
            "<li class=\"{class}\"><p><span class=\"badge {class}\">{word}</span> <strong>{}</strong> {}</p>",
            escape(&w.code),
            escape(&w.message)
        );
        if !w.remedy.is_empty() {
            let _ = write!(out, "<p class=\"remedy\">Remedy: <code>{}</code></p>", escape(&w.remedy));
        }
        out += "</li>\n";
    }
    out + "</ul>\n"
}

/// Names and values.
pub(super) fn facts(all: &[Fact]) -> String {
    let mut out = String::from("<dl class=\"facts\">\n");
    for (name, value) in all {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(value));
    }
    out + "</dl>\n"
}
