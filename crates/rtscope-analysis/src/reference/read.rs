//! Reads the published latencies that are part of the program, and refuses a row that contradicts itself.

use super::error::ReferenceError;
use super::row::{Checked, Evidence, Figure, Reference, Standing};
use serde::Deserialize;
use std::collections::BTreeSet;

/// The rows as they lie in the repository; times in us.
const DATA: &str = include_str!("latencies.csv");

/// All published latencies, in the order of the file: study by study.
pub fn all() -> Result<Vec<Reference>, ReferenceError> {
    read(DATA)
}

/// The one with this id, whatever its case.
pub fn one(id: &str) -> Result<Reference, ReferenceError> {
    let found = all()?.into_iter().find(|r| r.id.eq_ignore_ascii_case(id));
    found.ok_or_else(|| ReferenceError::Unknown(id.to_owned()))
}

/// A row as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    study: String,
    #[serde(rename = "where")]
    place: String,
    board: String,
    kernel: String,
    rt: String,
    test: String,
    space: String,
    figure: Figure,
    what: String,
    tool: String,
    load: String,
    samples: String,
    min_us: String,
    avg_us: String,
    avg_is: Option<Standing>,
    max_us: String,
    max_is: Option<Standing>,
    std_us: String,
    std_is: Option<Standing>,
    evidence: Evidence,
    checked: Checked,
    original: String,
    caveat: String,
    below: String,
}

/// The rows of `text`.
pub(super) fn read(text: &str) -> Result<Vec<Reference>, ReferenceError> {
    let mut rows: Vec<Reference> = Vec::new();
    for (nr, row) in csv::Reader::from_reader(text.as_bytes()).deserialize::<Written>().enumerate() {
        let row = row.map_err(|e| ReferenceError::Row { row: (nr + 1).to_string(), what: e.to_string() })?;
        let id = row.id.clone();
        rows.push(reference(row).map_err(|what| ReferenceError::Row { row: id, what })?);
    }
    let mut ids = BTreeSet::new();
    for r in &rows {
        let wrong = |what: String| Err(ReferenceError::Row { row: r.id.clone(), what });
        if !ids.insert(r.id.as_str()) {
            return wrong("its id occurs twice".into());
        }
        if let Some(original) = &r.original {
            if !rows.iter().any(|o| o.id == *original && o.evidence != Evidence::Secondary) {
                return wrong(format!("its original `{original}` is no primary row"));
            }
        }
    }
    Ok(rows)
}

fn reference(w: Written) -> Result<Reference, String> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if w.id.is_empty() || !w.id.chars().all(word) {
        return Err("an id has lower case letters, digits and hyphens".into());
    }
    let texts = [
        ("study", &w.study),
        ("where", &w.place),
        ("board", &w.board),
        ("kernel", &w.kernel),
        ("what", &w.what),
        ("tool", &w.tool),
        ("load", &w.load),
        ("samples", &w.samples),
        ("caveat", &w.caveat),
    ];
    if let Some((name, _)) = texts.iter().find(|(_, text)| text.trim().is_empty()) {
        return Err(format!("`{name}` is empty: write `not stated` where the source does not say"));
    }
    let rt = match w.rt.as_str() {
        "yes" => true,
        "no" => false,
        other => return Err(format!("rt is `{other}`, not yes or no")),
    };
    let r = Reference {
        test: w.test.parse().map_err(|_| format!("`{}` is no test", w.test))?,
        space: if w.space.is_empty() { None } else { Some(w.space.parse().map_err(|_| format!("`{}` is no space", w.space))?) },
        min: ns(&w.min_us)?,
        avg: ns(&w.avg_us)?,
        avg_is: w.avg_is.unwrap_or_default(),
        max: ns(&w.max_us)?,
        max_is: w.max_is.unwrap_or_default(),
        std: ns(&w.std_us)?,
        std_is: w.std_is.unwrap_or_default(),
        id: w.id,
        study: w.study,
        place: w.place,
        board: w.board,
        kernel: w.kernel,
        rt,
        figure: w.figure,
        what: w.what,
        tool: w.tool,
        load: w.load,
        samples: w.samples,
        evidence: w.evidence,
        checked: w.checked,
        original: Some(w.original).filter(|o| !o.is_empty()),
        caveat: w.caveat,
        below: Some(w.below).filter(|b| !b.is_empty()),
    };
    consistent(&r)?;
    Ok(r)
}

/// Whether the values of a row can stand together. A disputed or censored value may contradict another; an impossible
/// deviation must be marked, and only that.
fn consistent(r: &Reference) -> Result<(), String> {
    if r.avg.is_none() && r.max.is_none() {
        return Err("it has neither average nor maximum".into());
    }
    for (name, value, is) in [("avg", r.avg, r.avg_is), ("max", r.max, r.max_is), ("std", r.std, r.std_is)] {
        if value.is_none() && is != Standing::Printed {
            return Err(format!("{name}_is says how to read a value that is not there"));
        }
    }
    let plain = |is: Standing| is != Standing::Disputed;
    let avg = r.avg.filter(|_| plain(r.avg_is));
    let max = r.max.filter(|_| plain(r.max_is));
    let ordered: Vec<u64> = [r.min, avg, max].into_iter().flatten().collect();
    if !ordered.is_sorted() {
        return Err("not min <= avg <= max".into());
    }
    // No sample deviates from its mean by more than half of its range (Popoviciu 1935).
    if let (Some(std), Some(min), Some(max)) = (r.std, r.min, r.max) {
        let impossible = 2 * std > max - min;
        if impossible != (r.std_is == Standing::Impossible) {
            return Err("a deviation of more than half of the range is impossible, and only that".into());
        }
    }
    Ok(())
}

/// Whole ns from us in decimal notation; `None` for an empty text. No float comes between, so that 258.164 us is 258164 ns.
pub(super) fn ns(us: &str) -> Result<Option<u64>, String> {
    if us.is_empty() {
        return Ok(None);
    }
    let wrong = || format!("`{us}` is no time in us with at most three decimals");
    let (whole, part) = us.split_once('.').unwrap_or((us, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 3 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<3}").parse().map_err(|_| wrong())?;
    whole.checked_mul(1000).and_then(|w| w.checked_add(part)).map(Some).ok_or_else(wrong)
}
