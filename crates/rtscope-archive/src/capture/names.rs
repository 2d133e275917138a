//! Finds the requested channels by name. Out of possibly millions of names, only those that may be shown to the user are
//! kept.

use super::error::CaptureError;
use super::request::CaptureRequest;

/// How many names are kept for error messages.
const SHOWN: usize = 40;

/// The names of a file's channels, collected as they are read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Names {
    first: Vec<String>,
    count: usize,
    searches: Vec<Search>,
}

/// A search for one requested channel.
#[derive(Debug, Clone, PartialEq, Default)]
struct Search {
    wanted: String,
    /// The channel at the requested position.
    placed: Option<(usize, String)>,
    /// The first channel with exactly this name, and how many there are.
    same: Option<(usize, String)>,
    sames: usize,
    /// The first channel whose name differs at most in case, and how many there are.
    alike: Option<(usize, String)>,
    alikes: usize,
}

impl Search {
    fn new(wanted: &str) -> Self {
        Self { wanted: wanted.into(), ..Self::default() }
    }

    fn offer(&mut self, place: usize, name: &str) {
        let number = self.wanted.strip_prefix('#').and_then(|n| n.parse::<usize>().ok());
        if number.and_then(|n| n.checked_sub(1)) == Some(place) {
            self.placed = Some((place, name.to_owned()));
        }
        if name.eq_ignore_ascii_case(&self.wanted) {
            self.alikes += 1;
            self.alike.get_or_insert_with(|| (place, name.to_owned()));
            if name == self.wanted {
                self.sames += 1;
                self.same.get_or_insert_with(|| (place, name.to_owned()));
            }
        }
    }

    /// The requested channel, where the match is unambiguous.
    fn found(&self) -> Option<&(usize, String)> {
        let named = match (self.sames, self.alikes) {
            (1, _) => self.same.as_ref(),
            (0, 1) => self.alike.as_ref(),
            _ => None,
        };
        self.placed.as_ref().or(named)
    }
}

impl Names {
    pub(super) fn new(request: &CaptureRequest) -> Self {
        Self { searches: request.channels.iter().map(|c| Search::new(c)).collect(), ..Self::default() }
    }

    /// Takes the name of the next channel.
    pub(super) fn offer(&mut self, name: &str) {
        for search in &mut self.searches {
            search.offer(self.count, name);
        }
        if self.count < SHOWN {
            self.first.push(name.to_owned());
        }
        self.count += 1;
    }

    /// The requested channels with their positions, each once.
    pub(super) fn meant(&self) -> Vec<(usize, String)> {
        let mut all: Vec<_> = self.searches.iter().filter_map(Search::found).cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    pub(super) fn first(&self) -> &[String] {
        &self.first
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The position of a channel. A name that was not searched for while reading is looked up in `others`.
    pub(super) fn find<'a>(&self, wanted: &str, others: impl Iterator<Item = (usize, &'a str)>) -> Result<usize, CaptureError> {
        let known = self.searches.iter().find(|s| s.wanted == wanted);
        let search = known.cloned().unwrap_or_else(|| {
            let mut search = Search::new(wanted);
            others.for_each(|(place, name)| search.offer(place, name));
            search
        });
        match search.found() {
            Some((place, _)) => Ok(*place),
            None if search.alikes == 0 => Err(CaptureError::NoChannel { wanted: wanted.into(), has: self.first.clone() }),
            None => Err(CaptureError::Ambiguous { wanted: wanted.into(), count: search.alikes, all: self.count }),
        }
    }
}
