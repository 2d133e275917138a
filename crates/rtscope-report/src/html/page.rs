//! The page around the sections: head with its security policy, header, navigation, foot, data and script.

use super::data::{charts, inert};
use super::sections::{comparison, record_section, summary};
use super::{Options, tables};
use crate::ReportError;
use crate::format::escape;
use crate::names::run_names;
use crate::svg::{DARK, LIGHT, STYLE, Use, overview};
use base64::Engine as _;
use rtscope_analysis::{AdamError, VersusError};
use rtscope_record::Record;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/report.js"));
const UPLOT_STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.css"));
const PAGE_STYLE: &str = include_str!("page.css");

/// The page of `records`, in the order given. Everything in it is computed from them.
pub fn page(records: &[Record], options: &Options<'_>) -> Result<String, ReportError> {
    if records.is_empty() {
        return Err(ReportError::Empty);
    }
    let versus = match rtscope_analysis::versus(records) {
        Ok(v) => Some(v),
        Err(VersusError::Empty | VersusError::NoPair(_)) => None,
        Err(e) => return Err(e.into()),
    };
    let lines = match rtscope_analysis::adam(records, &[], options.below) {
        Ok(a) => Some(a),
        Err(AdamError::Empty) => None,
        Err(e) => return Err(e.into()),
    };
    let style = style();
    let title = if options.title.is_empty() { "rtscope report" } else { options.title };
    let mut out = String::with_capacity(512 * 1024);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"rtscope {}\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{style}</style>\n</head>\n",
        hash(SCRIPT),
        hash(&style),
        escape(options.version),
        escape(title),
    );
    out += "<body>\n<a class=\"skip\" href=\"#main\">Skip to the figures</a>\n<header>\n<div class=\"bar\">";
    let _ = writeln!(out, "<h1>{}</h1><button class=\"theme\" type=\"button\" hidden>Dark theme</button></div>", escape(title));
    out += &tables::machine_line(records);
    out += "</header>\n";
    if records.len() > 1 {
        out += "<nav aria-label=\"Runs\"><a href=\"#summary\">Summary</a>";
        if versus.is_some() {
            out += "<a href=\"#versus\">Stock against RT</a>";
        }
        if lines.is_some() {
            out += "<a href=\"#lines\">Response and periodic</a>";
        }
        for (i, name) in run_names(&records.iter().collect::<Vec<_>>()).iter().enumerate() {
            let _ = write!(out, "<a href=\"#run-{i}\">{}</a>", escape(name));
        }
        out += "</nav>\n";
    }
    out += "<main id=\"main\">\n";
    out += &summary(records, &overview(records, Use::Page)?)?;
    if let Some(v) = &versus {
        out += &super::versus::versus(v);
    }
    if let Some(a) = &lines {
        out += &super::adam::adam(a);
    }
    if let Some(c) = options.comparison {
        out += &comparison(c);
    }
    for (i, r) in records.iter().enumerate() {
        out += &record_section(i, r)?;
    }
    out += "</main>\n";
    let version = if options.version.is_empty() { String::new() } else { format!(" {}", escape(options.version)) };
    let _ = writeln!(
        out,
        "<footer><p>Made by rtscope{version} from {} record{}; the records themselves are inside this file. Charts by uPlot (MIT licence).</p></footer>",
        records.len(),
        if records.len() == 1 { "" } else { "s" }
    );
    for r in records {
        let json = serde_json::to_string(r).map_err(|e| ReportError::Json { id: r.id().into(), error: e.to_string() })?;
        let _ = writeln!(out, "<script type=\"application/json\" id=\"record-{}\">{}</script>", escape(r.id()), inert(&json));
    }
    let data = charts(records).map_err(|e| ReportError::Json { id: records[0].id().into(), error: e.to_string() })?;
    let _ = writeln!(out, "<script type=\"application/json\" id=\"charts\">{data}</script>");
    let _ = writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>");
    Ok(out)
}

/// The page's style: colours of both themes, the plots' rules, uPlot's and the page's own.
fn style() -> String {
    let flat = |css: &str| css.trim().replace('\n', "");
    let (light, dark) = (flat(LIGHT), flat(DARK));
    let own = PAGE_STYLE.replace("/*LIGHT*/", &light).replace("/*DARK*/", &dark);
    format!("{UPLOT_STYLE}\n{STYLE}\n{own}")
}

/// Source expression of a security policy for an inline text.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text)))
}
