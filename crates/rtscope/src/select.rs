//! Selections: which records a command is about. They are looked up first, then read one at a time.

use crate::config::Context;
use crate::keys::Keys;
use crate::origin;
use rtscope_archive::{Archive, Filter, Key};
use rtscope_failure::{Explain, Failure, meant};
use rtscope_record::{Record, Test};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

/// Largest file that is read as a record's JSON, bytes.
const LARGEST: u64 = 256 << 20;

/// The records that the words of a command line select, for each word oldest first. Only records from files are held in memory.
pub(crate) struct Selection {
    archive: Option<Archive>,
    items: Vec<Item>,
}

enum Item {
    /// And its test, where it is known without another look.
    Kept(Key, Option<Test>),
    Given(Box<Record>),
}

impl Selection {
    /// Selects the records that `words` name, each once; the latest if there are no words.
    pub(crate) fn of(context: &Context, words: &[String]) -> Result<Self, Failure> {
        let mut found = Found { context, archive: None, items: Vec::new(), keys: HashSet::new(), ids: HashSet::new() };
        for word in words {
            found.word(word)?;
        }
        if words.is_empty() {
            found.word("latest")?;
        }
        Ok(Self { archive: found.archive, items: found.items })
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Passes each record to `work`, on several threads if there are many, and the results in order to `each`.
    pub(crate) fn each<T: Send>(
        &self,
        work: impl Fn(&Record) -> T + Sync,
        mut each: impl FnMut(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for run in self.items.chunk_by(|a, b| matches!((a, b), (Item::Kept(..), Item::Kept(..)))) {
            match (run, &self.archive) {
                ([Item::Kept(..), ..], Some(archive)) => {
                    let keys: Vec<Key> =
                        run.iter().filter_map(|i| if let Item::Kept(key, _) = i { Some(*key) } else { None }).collect();
                    archive.frozen(|| archive.each_record(&keys, |r| work(&r), &mut each))?;
                }
                (given, _) => {
                    for item in given {
                        if let Item::Given(record) = item {
                            each(work(record))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The tests that the records are of, each once.
    pub(crate) fn tests(&self) -> Result<Vec<Test>, Failure> {
        let mut tests = Vec::new();
        for item in &self.items {
            let test = match (item, &self.archive) {
                (Item::Given(record), _) => record.parts().test,
                (Item::Kept(_, Some(test)), _) => *test,
                (Item::Kept(key, None), Some(archive)) => archive.test(*key)?,
                // Without an archive there is no key.
                (Item::Kept(_, None), None) => continue,
            };
            if !tests.contains(&test) {
                tests.push(test);
            }
        }
        Ok(tests)
    }

    /// All records at once, for what needs that and makes no sense with very many.
    pub(crate) fn records(&self) -> Result<Vec<Record>, Failure> {
        let mut all = Vec::with_capacity(self.len());
        self.each(Record::clone, |record| {
            all.push(record);
            Ok(())
        })?;
        Ok(all)
    }
}

/// A selection that is being made.
struct Found<'a> {
    context: &'a Context,
    archive: Option<Archive>,
    items: Vec<Item>,
    keys: HashSet<Key>,
    /// Ids of the records from files.
    ids: HashSet<String>,
}

impl Found<'_> {
    fn word(&mut self, word: &str) -> Result<(), Failure> {
        if Path::new(word).extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            for record in file(self.context, word)? {
                let kept = self.archive.as_ref().map(|a| a.exact(record.id())).transpose()?.flatten();
                if kept.is_none_or(|key| !self.keys.contains(&key)) && self.ids.insert(record.id().into()) {
                    self.items.push(Item::Given(Box::new(record)));
                }
            }
            return Ok(());
        }
        if word.contains('=') {
            // Errors in the words come before errors of the archive.
            filter(word)?;
        }
        let archive = match self.archive.take() {
            Some(archive) => archive,
            None => self.context.open_existing()?,
        };
        let keys = keys(&archive, word);
        // A record that was selected from a file is not taken from the archive again.
        let given = self.ids.iter().filter_map(|id| archive.exact(id).transpose()).collect::<Result<HashSet<Key>, _>>();
        self.archive = Some(archive);
        let given = given?;
        for (key, test) in keys? {
            if !given.contains(&key) && self.keys.insert(key) {
                self.items.push(Item::Kept(key, test));
            }
        }
        Ok(())
    }
}

/// The runs in the archive that a word names, with their tests where these are known.
fn keys(archive: &Archive, word: &str) -> Result<Vec<(Key, Option<Test>)>, Failure> {
    if word == "latest" {
        return Ok(vec![(archive.latest_key()?, None)]);
    }
    if word == "all" || word.contains('=') {
        let keys = archive.keys_and_tests(&filter(word)?)?;
        if keys.is_empty() {
            return Err(none(archive, word)?);
        }
        return Ok(keys);
    }
    word.split(',').filter(|id| !id.is_empty()).map(|id| Ok((archive.key(id)?, None))).collect()
}

/// That `word` selects no run, and of how many.
pub(crate) fn none(archive: &Archive, word: &str) -> Result<Failure, Failure> {
    let of = match number(archive)? {
        0 => "there is none".into(),
        1 => "there is 1 run".into(),
        n => format!("there are {n} runs"),
    };
    let remedy = near(archive, word)?.map_or_else(String::new, |meant| format!("did you mean `{meant}`? ")) + "rtscope list";
    Ok(Failure::usage(format!("no run in {} is selected by `{word}`; {of}", archive.path().display()), remedy))
}

/// The filter that one of `word` was probably meant to be: one that some run has, where no run has the one that was written.
fn near(archive: &Archive, word: &str) -> Result<Option<String>, Failure> {
    let terms: Vec<(&str, &str)> = word.split(',').filter_map(|term| term.split_once('=')).collect();
    let mut there: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    archive.each_summary(&Filter::default(), |summary| {
        // Damaged runs are reported by what reads them.
        let Ok(s) = summary else { return Ok::<(), Failure>(()) };
        for (key, value) in [("test", s.test), ("load", s.load), ("target", s.target)] {
            if let Some((key, _)) = terms.iter().find(|(k, _)| *k == key) {
                there.entry(*key).or_default().insert(value);
            }
        }
        Ok(())
    })?;
    let unknown = terms.iter().filter_map(|(key, value)| Some((*key, *value, there.get(key)?)));
    let mut unknown = unknown.filter(|(_, value, values)| !values.contains(*value));
    Ok(unknown.find_map(|(key, value, values)| meant(value, values.iter().map(String::as_str)).map(|m| format!("{key}={m}"))))
}

/// How many runs there are, damaged ones among them.
pub(crate) fn number(archive: &Archive) -> Result<usize, Failure> {
    let mut n = 0;
    archive.each_summary(&Filter::default(), |_| {
        n += 1;
        Ok::<(), Failure>(())
    })?;
    Ok(n)
}

fn file(context: &Context, path: &str) -> Result<Vec<Record>, Failure> {
    let bytes = rtscope_files::read(Path::new(path), LARGEST).map_err(|e| {
        let there = e.kind() != std::io::ErrorKind::NotFound;
        Failure::usage(format!("{path}: {e}"), if there { "name a file with a record's JSON" } else { "name a file that exists" })
    })?;
    let mut options = rtscope_archive::formats::ImportOptions::new(path, std::time::SystemTime::now());
    options.format = Some(rtscope_archive::formats::Format::Json);
    let stated = rtscope_archive::formats::import(&bytes, &options).or_machine(path, "rtscope import reads other formats")?;
    let keys = Keys::load()?;
    // Reading does not create an archive.
    let archive = if context.is_there() { context.open_existing().ok() } else { None };
    let settle = |record| origin::settle(record, archive.as_ref(), &keys).map(|settled| settled.record);
    stated.into_iter().map(settle).collect()
}

/// Parses a filter: `all`, or key=value terms separated by commas.
pub(crate) fn filter(word: &str) -> Result<Filter, Failure> {
    let mut f = Filter::default();
    if word == "all" {
        return Ok(f);
    }
    for term in word.split(',').filter(|t| !t.is_empty()) {
        let unknown = || {
            Failure::usage(
                format!("`{term}` is not a filter"),
                "use test=, load=, kernel=, target=, campaign=, since=YYYY-MM-DD, until= or last=N",
            )
        };
        let (key, value) = term.split_once('=').ok_or_else(unknown)?;
        match key {
            "test" => f.test = Some(value.into()),
            "load" => f.load = Some(value.into()),
            "kernel" => f.kernel = Some(value.into()),
            "target" => f.target = Some(value.into()),
            "campaign" => f.campaign = Some(value.into()),
            "since" => f.since = Some(time(value)?),
            "until" => f.until = Some(time(value)?),
            "last" => f.limit = Some(value.parse().map_err(|_| unknown())?),
            _ => return Err(unknown()),
        }
    }
    Ok(f)
}

/// Parses a day or an RFC 3339 time, UTC.
fn time(text: &str) -> Result<std::time::SystemTime, Failure> {
    let full = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let stamp: jiff::Timestamp =
        full.parse().map_err(|_| Failure::usage(format!("`{text}` is not a time"), "write 2026-11-21 or 2026-11-21T08:00:00Z"))?;
    Ok(stamp.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn filters_are_read() {
        let f = filter("load=full,kernel=6.12,last=3,since=2026-11-01").unwrap();
        assert_eq!((f.load.as_deref(), f.kernel.as_deref(), f.limit), (Some("full"), Some("6.12"), Some(3)));
        assert!(f.since.is_some());
        for bad in ["last=x", "colour=red", "load", "since=yesterday", "since=é1234567"] {
            assert!(filter(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_an_error(text in "\\PC{0,40}") {
            let _ = filter(&text);
        }
    }
}
