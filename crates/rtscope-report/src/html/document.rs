//! The file around a page: the head with its security policy, style, script, and the embedded records.

use super::data::inert;
use crate::ReportError;
use crate::svg::{DARK, LIGHT, STYLE};
use base64::Engine as _;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use rtscope_record::Record;
use rtscope_record::text::visible;
use sha2::{Digest as _, Sha256};

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/report.js"));
const UPLOT_STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.css"));
const PAGE_STYLE: &str = include_str!("page.css");

/// A complete file with `body`, `records` and the data of their `charts`.
pub(super) fn document(title: &str, version: &str, body: Markup, records: &[Record], charts: &str) -> Result<String, ReportError> {
    let style = style();
    // The templates escape markup; characters that would reorder or hide text are escaped here, for the whole body.
    let [title, version] = [title, version].map(visible);
    let body = visible(&body.into_string()).into_owned();
    let records = records.iter().map(|r| {
        let json = serde_json::to_string(r).map_err(|e| ReportError::Json { id: r.id().into(), error: e.to_string() })?;
        Ok((format!("record-{}", r.id()), inert(&json)))
    });
    let records = records.collect::<Result<Vec<_>, ReportError>>()?;
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(&style)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "rtscope " (version) };
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(&style)) }
            }
            body {
                (PreEscaped(body))
                @for (id, json) in &records {
                    script type="application/json" id=(id) { (PreEscaped(json)) } "\n"
                }
                script type="application/json" id="charts" { (PreEscaped(charts)) } "\n"
                script { (PreEscaped(SCRIPT)) } "\n"
            }
        }
    };
    Ok(page.into_string())
}

/// The page's style: colours of both themes, the plots' rules, uPlot's style and the page's own.
fn style() -> String {
    let flat = |css: &str| css.trim().replace('\n', "");
    let (light, dark) = (flat(LIGHT), flat(DARK));
    let own = PAGE_STYLE.replace("/*LIGHT*/", &light).replace("/*DARK*/", &dark);
    format!("{UPLOT_STYLE}\n{STYLE}\n{own}")
}

/// The hash of an inline text, as a source expression of the security policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text)))
}
