//! Tables and short lines of the page.

use crate::ReportError;
use crate::facts::Fact;
use crate::format::{NONE, count, escape, us, us_f64, us_opt};
use crate::sheet::signed_us;
use crate::shown::{self, by_test, hertz, samples, signed, troubles};
use rtscope_analysis::summary::Row;
use rtscope_analysis::{Summary, clock_words, machine_name, virtual_machine};
use rtscope_record::{Effect, Nanos, Record, Space, Test, Verdict, Warning};
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub(super) fn verdict_badge(v: Verdict) -> String {
    let class = match v {
        Verdict::Valid | Verdict::Repeatable => "good",
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
        each(&machine_name),
        each(&|r| system(r).board.or(system(r).cpu.model).unwrap_or_default()),
        each(&|r| format!("{} {}", system(r).kernel.release, system(r).kernel.preemption.as_str())),
        each(&|r| format!("clock: {}", clock_words(r))),
        when,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).map(|p| format!("<span>{p}</span>")).collect();
    format!("<p class=\"machine\">{}</p>\n", parts.join(" "))
}

/// Run by run under their `names`, in the layout of Vinh & Chau's tables: a table for each test.
pub(super) fn loads(records: &[Record], summaries: &[Summary], names: &[String]) -> Result<String, ReportError> {
    let mut out = String::new();
    for (test, members) in by_test(records) {
        out += &head(test, &members.iter().map(|&i| &summaries[i]).collect::<Vec<_>>());
        for i in members {
            out += &row(i, &records[i], &summaries[i], &names[i])?;
        }
        out += "</tbody></table></div>\n";
    }
    if shown::any_guess(records) {
        let _ = writeln!(out, "<p class=\"muted\">{}</p>", escape(shown::RULE_NOTE));
    }
    Ok(out)
}

/// Caption and heads; a column for late and spurious edges stands in every table of a test over lines.
fn head(test: Test, summaries: &[&Summary]) -> String {
    let spaces: BTreeSet<Space> = summaries.iter().map(|s| s.space).collect();
    let space = if spaces.len() == 1 { format!(", {} space", summaries[0].space) } else { String::new() };
    let caption = match test {
        Test::Timer => "Latency in µs by load".to_owned(),
        Test::Response => format!("Response latency in µs{space}"),
        Test::Periodic => format!("Periodic jitter in µs, early below zero{space}"),
        Test::Sustained => format!("Sustained frequency, and the latency at it in µs{space}"),
    };
    let mut heads: Vec<&str> = vec!["Mean", "Max", "Min", "Std dev", "p99.9", "p99.9 corrected"];
    match test {
        Test::Periodic => heads = vec!["Mean", "Latest", "Earliest", "Std dev", "Drift ppm"],
        Test::Sustained => heads.splice(0..0, ["Sustained Hz"]).for_each(drop),
        _ => {}
    }
    heads.extend(["Samples", "Missed"]);
    if test != Test::Timer {
        heads.extend(["Late", "Spurious"]);
    }
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"figures\"><caption>{}</caption><thead><tr><th scope=\"col\">Load</th>",
        escape(&caption)
    );
    for name in heads {
        let _ = write!(out, "<th scope=\"col\">{name}</th>");
    }
    out + "<th scope=\"col\" class=\"word\">Verdict</th><th scope=\"col\" class=\"word\">Clock</th></tr></thead><tbody>\n"
}

fn row(i: usize, r: &Record, s: &Summary, name: &str) -> Result<String, ReportError> {
    let all = s.merged.as_ref();
    let facts = r.parts().instrument.as_ref();
    let mut cells: Vec<String> = Vec::new();
    if s.test == Test::Sustained {
        cells.push(facts.and_then(|f| f.sustained).map_or_else(|| NONE.into(), |n| hertz(n.0)));
    }
    if let Some(j) = signed(r)? {
        let mean = j.mean.map_or_else(|| NONE.into(), |m| format!("{:+.2}", m / 1e3));
        let drift = facts.and_then(|f| f.grid).map_or_else(|| NONE.into(), |g| format!("{:+.3}", g.drift_ppb as f64 / 1e3));
        cells.extend([mean, signed_us(s.test, j.max), signed_us(s.test, j.min), us_f64(j.stddev), drift]);
    } else {
        let p999 = all.and_then(|a| a.percentile("p99.9"));
        cells.extend([
            us_f64(all.and_then(|a| a.mean)),
            us_opt(all.and_then(|a| a.max)),
            us_opt(all.and_then(|a| a.min)),
            us_f64(all.and_then(|a| a.stddev)),
            us_opt(p999.and_then(|p| p.raw)),
            shown::corrected_cell(all, p999),
        ]);
    }
    cells.extend([count(all.map_or(0, |a| a.count)), count(all.map_or(0, |a| a.missed))]);
    if s.test != Test::Timer {
        cells.extend(troubles(s).map(count));
    }
    let mut out = format!("<tr><th scope=\"row\"><a href=\"#run-{i}\">{}</a></th>", escape(name));
    // The maximum; a sustained frequency is the first.
    let strong = usize::from(s.test != Test::Sustained);
    for (n, cell) in cells.iter().enumerate() {
        let class = if n == strong { " class=\"strong\"" } else { "" };
        let _ = write!(out, "<td{class}>{cell}</td>");
    }
    let (verdict, clock) = (verdict_badge(s.verdict), escape(&s.clock_words));
    let _ = writeln!(out, "<td class=\"word\">{verdict}</td><td class=\"word\">{clock}</td></tr>");
    Ok(out)
}

type Counter = fn(&Row) -> u64;

/// One row for each distribution, and all of them.
pub(super) fn distributions(s: &Summary) -> String {
    let any = |f: fn(&Row) -> u64| s.rows.iter().any(|r| f(r) > 0);
    let all: [(&str, Counter); 4] =
        [("Of them late", |r| r.late), ("Spurious", |r| r.spurious), ("Overflow", |r| r.overflow), ("Dropped", |r| r.dropped)];
    let extra: Vec<_> = all.into_iter().filter(|(_, f)| any(*f)).collect();
    let each = if s.test == Test::Timer { "CPU" } else { "edge" };
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"figures\"><caption>Each {each}, µs</caption><thead><tr><th scope=\"col\"></th><th scope=\"col\">Samples</th>\
         <th scope=\"col\">Expected</th><th scope=\"col\">Missed</th><th scope=\"col\">Min</th><th scope=\"col\">Mean</th><th scope=\"col\">Max</th>\
         <th scope=\"col\">Std dev</th><th scope=\"col\">p99</th><th scope=\"col\">p99.9</th>",
    );
    for (name, _) in &extra {
        let _ = write!(out, "<th scope=\"col\">{name}</th>");
    }
    out += "</tr></thead><tbody>\n";
    for r in s.rows.iter().chain(s.merged.as_ref().filter(|_| s.rows.len() > 1 && s.test != Test::Periodic)) {
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
pub(super) fn percentiles(test: Test, all: &Row) -> String {
    let head = if all.by_rule() { "By HdrHistogram's rule" } else { "Corrected" };
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"figures narrow\"><caption>Percentiles of all samples, µs</caption><thead><tr><th scope=\"col\"></th><th scope=\"col\">Raw</th>\
         <th scope=\"col\">{head}</th></tr></thead><tbody>\n",
    );
    let mut row = |name: &str, raw: String, corrected: String| {
        let _ = writeln!(out, "<tr><th scope=\"row\">{name}</th><td>{raw}</td><td>{corrected}</td></tr>");
    };
    for p in &all.percentiles {
        row(&p.name, us_opt(p.raw), us_opt(p.corrected));
    }
    row("max", us_opt(all.max), us_opt(all.corrected_max));
    row("mean", us_f64(all.mean), us_f64(all.corrected_mean));
    row("samples", count(all.count), all.corrected_count.map_or_else(|| NONE.into(), count));
    out += "</tbody></table></div>\n";
    if let Some(text) = shown::corrected(test, all) {
        let _ = writeln!(out, "<p class=\"muted\">{}</p>", escape(&text));
    }
    out
}

/// Every worst sample that was kept, highest first.
pub(super) fn worst(record: &Record) -> String {
    let mut all: Vec<_> = record.distributions().iter().flat_map(|d| d.worst().iter().map(move |w| (w, d.label()))).collect();
    if all.is_empty() {
        return "<p class=\"muted\">No worst samples were kept.</p>\n".into();
    }
    all.sort_by(|(a, la), (b, lb)| b.value.cmp(&a.value).then(a.at.cmp(&b.at)).then(la.cmp(lb)));
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"figures narrow\"><thead><tr><th scope=\"col\">{} µs</th><th scope=\"col\">At s</th><th scope=\"col\" class=\"word\">Where</th></tr></thead><tbody>\n",
        samples(record.parts().test)
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
