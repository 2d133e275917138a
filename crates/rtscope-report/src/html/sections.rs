//! The sections of the page: summary, comparison, and one for each record.

use super::tables::{clock_badge, distributions, facts, loads, percentiles, verdict_badge, warnings, worst};
use crate::facts::{load_achieved, load_course, process_end, run_names, settings_facts, system_facts, witness_facts};
use crate::format::{count, escape, time};
use crate::sheet::{mean, min_max};
use crate::svg::{self, Axis, Use};
use crate::table::{OFFSET, figure, how, machine_caveats, metric, offset, ratio, witness};
use crate::{ReportError, instrument, shown, summarize};
use rtscope_analysis::compare::Side;
use rtscope_analysis::{Agreement, Comparison, Finding, Summary};
use rtscope_record::{Effect, Record, Test, Verdict};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The runs at a glance and as a table, with what a reader must know first.
pub(super) fn summary(records: &[Record], overview: &str) -> Result<String, ReportError> {
    let summaries = records.iter().map(summarize).collect::<Result<Vec<_>, _>>()?;
    let mut out =
        String::from("<section id=\"summary\" aria-labelledby=\"summary-title\">\n<h2 id=\"summary-title\">Summary</h2>\n");
    out += &banner(records);
    out += &loads(records, &summaries, &run_names(records))?;
    let _ = write!(out, "<figure class=\"picture\">{overview}</figure>\n</section>\n");
    Ok(out)
}

/// What bears on every figure of the page: virtual machines, and runs that are not VALID.
fn banner(records: &[Record]) -> String {
    let mut out = String::new();
    for [what, follows] in machine_caveats(records) {
        let _ = writeln!(out, "<p class=\"banner doubtful\"><strong>{}</strong> {}</p>", escape(&what), escape(&follows));
    }
    for (verdict, effect, class, meaning) in [
        (Verdict::Invalid, Effect::Invalid, "bad", "the figures mean something else than they say"),
        (
            Verdict::Inconclusive,
            Effect::Inconclusive,
            "doubtful",
            "true for the run itself, not for what one would conclude from it",
        ),
    ] {
        let of: Vec<&Record> = records.iter().filter(|r| r.verdict() == verdict).collect();
        if of.is_empty() {
            continue;
        }
        let warnings = of.iter().flat_map(|r| r.findings().into_owned()).filter(|w| w.effect == effect);
        let codes: BTreeSet<String> = warnings.map(|w| format!("<code>{}</code>", escape(&w.code))).collect();
        let codes: Vec<_> = codes.into_iter().collect();
        let number = if of.len() == 1 { "1 run is".into() } else { format!("{} runs are", of.len()) };
        let _ = writeln!(
            out,
            "<p class=\"banner {class}\"><strong>{number} {verdict}</strong>: {meaning}. Because of {}.</p>",
            codes.join(", ")
        );
    }
    out
}

fn side(name: &str, s: &Side) -> String {
    let vm = if s.virtual_machine { "doubtful" } else { "plain" };
    format!(
        "<p><strong>{name}</strong> {} <span class=\"badge {vm}\">clock: {}</span> kernel {} {} <span class=\"muted\">{}</span></p>\n",
        verdict_badge(s.verdict),
        escape(&s.clocks.join(", ")),
        escape(&s.kernels.join(", ")),
        escape(&s.preemption.join(", ")),
        escape(&s.ids.join(", "))
    )
}

/// A finding of a comparison.
pub(super) fn banner_of(f: &Finding) -> String {
    format!(
        "<p class=\"banner doubtful\"><strong>{}</strong>: {}. Remedy: {}</p>\n",
        escape(&f.code),
        escape(&f.message),
        escape(&f.remedy)
    )
}

/// Two selections side by side.
pub(super) fn comparison(c: &Comparison) -> String {
    let mut out = String::from(
        "<section id=\"comparison\" aria-labelledby=\"comparison-title\">\n<h2 id=\"comparison-title\">Comparison</h2>\n",
    );
    out += &side("A", &c.a);
    out += &side("B", &c.b);
    for f in &c.findings {
        out += &banner_of(f);
    }
    for l in &c.loads {
        let _ = writeln!(
            out,
            "<div class=\"scroll\"><table class=\"figures narrow\"><caption>Load {}{} (A {}, B {} merged)</caption><thead><tr><th scope=\"col\">Metric</th>\
             <th scope=\"col\">A</th><th scope=\"col\">B</th><th scope=\"col\">B/A</th></tr></thead><tbody>",
            escape(&l.load),
            l.model.map_or_else(String::new, |m| format!(", time model {m}")),
            l.a_runs,
            l.b_runs
        );
        for r in &l.rows {
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"strong\">{}</td></tr>",
                escape(&metric(r)),
                figure(r, r.a),
                figure(r, r.b),
                ratio(r)
            );
        }
        out += "</tbody></table></div>\n";
    }
    out += &super::versus::bands(&c.bands, "B/A");
    out.extend(c.agreement.iter().map(agreement));
    let _ = write!(out, "<p class=\"muted\">Note: {}.</p>\n</section>\n", escape(&c.note));
    out
}

/// One run as two instruments saw it.
fn agreement(a: &Agreement) -> String {
    let mut out = format!("<h3>The same run, two instruments (load {})</h3>\n", escape(&a.load));
    for (name, w) in [("A", &a.a), ("B", &a.b)] {
        let _ = writeln!(out, "<p><strong>{name}</strong> {}</p>", escape(&witness(w)));
    }
    out.extend(a.findings.iter().map(banner_of));
    let head = |names: &[&str]| names.iter().map(|n| format!("<th scope=\"col\">{n}</th>")).collect::<Vec<_>>().concat();
    let own = ["Min/max", "Mean", "Samples"];
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table class=\"figures\"><caption>{} of both, and B minus A, µs</caption><thead><tr><th scope=\"col\" rowspan=\"2\">Edge</th>\
         <th scope=\"colgroup\" colspan=\"3\">A</th><th scope=\"colgroup\" colspan=\"3\">B</th><th scope=\"colgroup\" colspan=\"4\">B minus A</th></tr>\
         <tr>{}{}{}</tr></thead><tbody>",
        shown::samples(a.test),
        head(&own),
        head(&own),
        head(&OFFSET)
    );
    for e in &a.edges {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(&e.edge));
        for f in [&e.a, &e.b] {
            let _ = write!(out, "<td>{}</td><td>{}</td><td>{}</td>", min_max(a.test, f), mean(a.test, f.mean), count(f.samples));
        }
        for cell in offset(e.offset.as_ref()) {
            let _ = write!(out, "<td>{cell}</td>");
        }
        out += "</tr>\n";
    }
    let _ = write!(out, "</tbody></table></div>\n<p class=\"muted\">{}</p>\n", escape(&how(a)));
    out
}

/// Whether a few samples lie so far out that a linear axis would hide the rest.
fn far_out(s: &Summary) -> bool {
    let all = s.merged.as_ref();
    let p99 = all.and_then(|a| a.percentile("p99")).and_then(|p| p.raw);
    p99.zip(all.and_then(|a| a.max)).is_some_and(|(p99, max)| max / p99.max(1) >= 10)
}

/// A chart: its static picture, and the place where the script draws.
fn chart(record: usize, kind: &str, log: bool, label: &str, help: &str, picture: &str) -> String {
    format!(
        "<figure class=\"chart\" data-record=\"{record}\" data-chart=\"{kind}\" data-log=\"{log}\">\n<figcaption><h3>{label}</h3>\
         <span class=\"help\">{help}</span><span class=\"buttons\"><button type=\"button\" class=\"axis-kind\">Log axis</button>\
         <button type=\"button\" class=\"reset\">Reset zoom</button></span></figcaption>\n\
         <div class=\"live\" role=\"group\" aria-label=\"{label}, interactive\"></div>\n<div class=\"static\">{picture}</div>\n</figure>\n"
    )
}

/// Everything about one record.
pub(super) fn record_section(i: usize, record: &Record) -> Result<String, ReportError> {
    let s = summarize(record)?;
    let p = record.parts();
    let mut out = String::new();
    let _ = write!(
        out,
        "<section id=\"run-{i}\" class=\"run\" aria-labelledby=\"run-{i}-title\">\n<div class=\"run-head\"><h2 id=\"run-{i}-title\">{}, load {}</h2>{} {}",
        shown::title(s.test),
        escape(&s.load),
        verdict_badge(s.verdict),
        clock_badge(record)
    );
    if s.interrupted {
        out += " <span class=\"badge doubtful\">ended early</span>";
    }
    let kernel = if s.kernel.is_empty() { "unknown" } else { s.kernel.as_str() };
    let _ = writeln!(
        out,
        "</div>\n<p class=\"muted\">{} · {} · target {} · kernel {} {} · started {} · ran {}</p>",
        escape(&s.id),
        crate::shown::space(record),
        escape(&s.target),
        escape(kernel),
        s.preemption,
        escape(&s.started),
        time(s.elapsed_ns as f64)
    );
    if let Some(w) = &p.witness {
        let _ = writeln!(out, "<p class=\"muted\">witnessed: {}</p>", escape(&w.in_words()));
    }
    out += &tiles(record, &s)?;
    for text in instrument::results(record) {
        let _ = writeln!(out, "<p>{}</p>", escape(&text));
    }
    // A picture on a linear axis that a few samples far out would empty is drawn on a logarithmic one; the button switches.
    let log = far_out(&s);
    let axis = if log { Axis::Log } else { Axis::Linear };
    let zoom = "Drag to zoom, double click to reset, click a name to hide it.";
    out +=
        &chart(i, "latency", log, &format!("{} histogram", shown::samples(s.test)), zoom, &svg::latency(record, axis, Use::Page));
    out += "<div class=\"pair\">\n";
    let log_y = svg::percentile::is_log(record);
    let help = "Raw, and with the samples put back that an oversleeping task could not take.";
    out += &chart(i, "percentile", log_y, "Percentiles", help, &svg::percentile(record, Use::Page));
    out += &chart(i, "worst", false, "Worst samples over time", "Bursts and periods show here.", &svg::worst(record, Use::Page));
    out += "</div>\n";
    let found = record.findings();
    if !found.is_empty() {
        let _ = write!(out, "<h3>Warnings</h3>\n{}", warnings(&found));
    }
    out += &distributions(&s);
    // Late and early jitter have no figures in common.
    if let Some(all) = s.merged.as_ref().filter(|_| s.test != Test::Periodic) {
        out += &percentiles(record.parts().test, all);
        if let (Some(bound), Some(max)) = (all.exceedance, all.max) {
            let _ = writeln!(
                out,
                "<p class=\"muted\">No sample in {} exceeded {}. If they were independent, the chance that the next one does is below {bound:.2e} at 95 % \
                 (rule of three).</p>",
                count(all.count),
                time(max as f64)
            );
        }
    }
    let mut details = |title: &str, body: &str| {
        let _ = write!(out, "<details><summary>{title}</summary>\n{body}</details>\n");
    };
    details("Worst samples", &worst(record));
    if p.load_proof.is_some() {
        details("Load proof", &load_proof(record));
    }
    for (title, known) in [("Instrument", instrument::facts(record)), ("Search", instrument::search(record))] {
        if !known.is_empty() {
            details(title, &facts(&known));
        }
    }
    details("Settings", &facts(&settings_facts(record)));
    if p.witness.is_some() {
        details("Witness", &facts(&witness_facts(record)));
    }
    details("System", &facts(&system_facts(record)));
    if let Some(source) = &p.source {
        let text = format!("{} ({}), SHA-256 {}", source.file, source.format, source.sha256);
        details("Imported from", &format!("<p>{}</p>\n", escape(&text)));
    }
    let _ = write!(
        out,
        "<p><button type=\"button\" class=\"download\" data-id=\"{0}\" hidden>Download the record (JSON)</button></p>\n</section>\n",
        escape(&s.id)
    );
    Ok(out)
}

/// The figures that one looks for first.
fn tiles(record: &Record, s: &Summary) -> Result<String, ReportError> {
    let Some(all) = &s.merged else { return Ok("<p class=\"muted\">This record holds no figures.</p>\n".into()) };
    let show = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), time);
    let highest = s.rows.iter().filter(|r| r.max == all.max && r.max.is_some()).map(|r| r.label.as_str()).next().unwrap_or("");
    let p999 = all.percentile("p99.9");
    let expected = all.expected.map_or_else(String::new, |e| format!("of {} expected", count(e)));
    let corrected = p999.and_then(|p| p.corrected.zip(all.corrected_basis)).map_or_else(
        || "not corrected".into(),
        |(c, basis)| if all.by_rule() { format!("{} {basis}", time(c as f64)) } else { format!("{basis} {}", time(c as f64)) },
    );
    let facts = record.parts().instrument.as_ref();
    let mut tiles: Vec<(&str, String, String)> = Vec::new();
    if s.test == Test::Sustained {
        let interval = facts.and_then(|i| i.sustained).map(|i| i.0);
        let value = interval.map_or_else(|| "–".into(), |i| format!("{} Hz", shown::hertz(i)));
        tiles.push(("Sustained", value, interval.map_or_else(String::new, |i| format!("an edge every {}", time(i as f64)))));
    }
    if let Some(j) = shown::signed(record)? {
        let signed = |ns: Option<i64>| {
            ns.map_or_else(|| "–".into(), |ns| format!("{}{}", if ns < 0 { "-" } else { "+" }, time(ns.unsigned_abs() as f64)))
        };
        #[allow(clippy::cast_possible_truncation)] // a mean of i64
        let mean = signed(j.mean.map(|m| m.round() as i64));
        let drift = facts.and_then(|i| i.grid).map_or_else(String::new, |g| format!("drift {:+.3} ppm", g.drift_ppb as f64 / 1e3));
        tiles.extend([
            ("Latest", signed(j.max), "above zero: late".to_owned()),
            ("Earliest", signed(j.min), "below zero: early".into()),
            ("Mean jitter", mean, format!("± {}", show(j.stddev))),
            ("Grid, last edge", signed(facts.and_then(|i| i.grid).map(|g| g.last)), drift),
        ]);
    } else {
        tiles.extend([
            ("Maximum", show(all.max.map(|v| v as f64)), highest.to_owned()),
            ("p99.9", show(p999.and_then(|p| p.raw).map(|v| v as f64)), corrected),
            ("Mean", show(all.mean), format!("± {}", show(all.stddev))),
            ("Minimum", show(all.min.map(|v| v as f64)), String::new()),
        ]);
    }
    let [late, spurious] = shown::troubles(s);
    let of_missed = match (all.missed, late) {
        (0, _) => String::new(),
        (_, 0) => "events without a sample".into(),
        (_, n) => format!("{} of them late", count(n)),
    };
    tiles.extend([("Samples", count(all.count), expected), ("Missed", count(all.missed), of_missed)]);
    if spurious > 0 {
        tiles.push(("Spurious", count(spurious), "edges that nobody asked for".into()));
    }
    let mut out = String::from("<ul class=\"tiles\">\n");
    for (name, value, note) in tiles {
        let bad = (name == "Missed" && all.missed > 0) || name == "Spurious";
        let class = if bad { " class=\"doubtful\"" } else { "" };
        let _ = writeln!(
            out,
            "<li{class}><span class=\"name\">{name}</span><span class=\"value\">{value}</span><span class=\"note\">{}</span></li>",
            escape(&note)
        );
    }
    Ok(out + "</ul>\n")
}

fn load_proof(record: &Record) -> String {
    let Some(proof) = &record.parts().load_proof else { return String::new() };
    let oom = proof.oom_kills.map_or_else(|| "OOM kills unknown".into(), |n| format!("OOM kills: {n}"));
    let isolation = if proof.isolation.is_empty() { String::new() } else { format!(", {}", escape(&proof.isolation)) };
    let course = proof.course.as_ref().map(load_course).filter(|c| !c.is_empty()).map_or_else(String::new, |c| format!("; {c}"));
    let mut out =
        format!("<p>{} ran {}{isolation}, {oom}{}.</p>\n", escape(&proof.name), time(proof.ran_ns as f64), escape(&course));
    for p in &proof.processes {
        let (end, bad) = process_end(p);
        let class = if bad { "bad" } else { "plain" };
        let _ = writeln!(
            out,
            "<p><code>{}</code> <span class=\"badge {class}\">{}</span> {}</p>",
            escape(&crate::format::command(&p.command)),
            escape(&end),
            escape(&load_achieved(p))
        );
        if !p.stderr.is_empty() {
            let _ = writeln!(out, "<pre>{}</pre>", escape(&p.stderr));
        }
    }
    out
}
