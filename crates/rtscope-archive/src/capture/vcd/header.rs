//! The head of a dump: its time unit, and its variables in their scopes.

use super::words::{Words, text};
use crate::capture::error::CaptureError;
use crate::capture::names::Names;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

/// Most bits of a vector that may be lines; a wider one is taken for a number.
const WIDEST: u8 = 64;

/// Longest path of scopes, bytes: it precedes the name of every variable.
const DEEPEST: usize = 1 << 16;

/// What value changes need to know of a variable, which is one line or several. There may be millions of variables, so
/// names are not kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variable {
    /// Number of bits; 0 for a real variable.
    pub(super) bits: u8,
    /// Whether the levels of at least one bit are requested.
    pub(super) watched: bool,
    /// Position of its lowest bit among the channels.
    pub(super) first: u32,
}

/// A variable as it is declared.
struct Declared {
    name: String,
    /// Numbers of the first and last bit.
    range: Option<(i64, i64)>,
    bits: u8,
}

/// The head.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Unit of the times, fs.
    pub(super) unit: u64,
    /// The program that wrote the dump.
    pub(super) writer: String,
    /// By code, for codes of at most seven bytes, which is enough for any that are counted up; see [`short`].
    by_short: BTreeMap<u64, Variable>,
    by_long: BTreeMap<Vec<u8>, Variable>,
}

/// A code of at most seven bytes, packed into a number.
fn short(code: &[u8]) -> Option<u64> {
    let mut all = [0; 8];
    all.get_mut(..code.len()).filter(|_| code.len() < 8)?.copy_from_slice(code);
    all[7] = u8::try_from(code.len()).ok()?;
    Some(u64::from_le_bytes(all))
}

impl Header {
    /// Reads up to `$enddefinitions`; the names of all channels are offered to `names`.
    pub(super) fn read<R: Read>(words: &mut Words<R>, names: &mut Names) -> Result<Self, CaptureError> {
        let mut header = Self::default();
        let mut scopes = Scopes::default();
        loop {
            if !words.next()? {
                return Err(words.error("the dump ends within its head: it has no `$enddefinitions`"));
            }
            if words.word()[0] != b'$' {
                return Err(words.error(format!("`{}` stands in the head, where commands are", text(words.word()))));
            }
            let (command, line) = (words.word().to_vec(), words.line());
            let keep = [&b"$timescale"[..], b"$version", b"$scope", b"$var"].contains(&&command[..]);
            let inside = words.until_end(&command, keep)?;
            let said = |what: &str| CaptureError::line(line, format!("`{} {}`: {what}", text(&command), inside.join(" ")));
            match &command[..] {
                b"$timescale" => {
                    let unit = unit(&inside.concat());
                    header.unit = unit.ok_or_else(|| said("is not a unit of time such as `10 ns`"))?;
                }
                b"$version" => header.writer = inside.join(" "),
                b"$scope" => {
                    scopes.enter(inside.get(1).map_or("", String::as_str));
                    if scopes.path.len() > DEEPEST {
                        return Err(CaptureError::line(line, format!("the names of its scopes have more than {DEEPEST} bytes")));
                    }
                }
                b"$upscope" => scopes.leave(),
                b"$var" => {
                    let [kind, size, code, name @ ..] = &inside[..] else {
                        return Err(said("a variable has a type, size, code and name"));
                    };
                    let size: usize = size.parse().map_err(|_| said("its size is not a number"))?;
                    let Some(declared) = declared(kind, size, &name.concat(), &scopes.path) else { continue };
                    let first = u32::try_from(names.count()).map_err(|_| said("there are more than 2^32 lines"))?;
                    // One wire may be declared under several names; the first is used.
                    if header.of(code.as_bytes()).is_none() {
                        header.put(code.as_bytes(), Variable { bits: declared.bits, watched: false, first });
                        declared.names(names);
                    }
                }
                b"$enddefinitions" => break,
                _ => {}
            }
        }
        if header.unit == 0 {
            return Err(CaptureError::File("it does not say its $timescale, without which no change has a time".into()));
        }
        Ok(header)
    }

    /// The variable with this code, if it may be a line.
    pub(super) fn of(&self, code: &[u8]) -> Option<Variable> {
        match short(code) {
            Some(code) => self.by_short.get(&code).copied(),
            None => self.by_long.get(code).copied(),
        }
    }

    fn put(&mut self, code: &[u8], variable: Variable) {
        match short(code) {
            Some(code) => self.by_short.insert(code, variable),
            None => self.by_long.insert(code.to_vec(), variable),
        };
    }

    /// Marks the variables whose lines are at these positions. Returns the positions that are real variables.
    pub(super) fn watch(&mut self, places: impl Iterator<Item = usize>) -> BTreeSet<usize> {
        let places: BTreeSet<usize> = places.collect();
        let mut reals = BTreeSet::new();
        for v in self.by_short.values_mut().chain(self.by_long.values_mut()) {
            let first = v.first as usize;
            v.watched = places.range(first..first + usize::from(v.bits.max(1))).next().is_some();
            if v.watched && v.bits == 0 {
                reals.insert(first);
            }
        }
        reals
    }
}

/// The scopes that are open.
#[derive(Default)]
struct Scopes {
    /// The names of all scopes but the outermost, which is the file's own, each followed by a dot.
    path: String,
    /// Length of the path before each scope was entered.
    before: Vec<usize>,
}

impl Scopes {
    fn enter(&mut self, name: &str) {
        self.before.push(self.path.len());
        if self.before.len() > 1 {
            self.path += name;
            self.path.push('.');
        }
    }

    fn leave(&mut self) {
        self.path.truncate(self.before.pop().unwrap_or_default());
    }
}

impl Declared {
    /// Offers a name for each line; a vector has one for each bit.
    fn names(&self, names: &mut Names) {
        if self.bits < 2 {
            return names.offer(&self.name);
        }
        // The lowest bit is written last.
        let (left, right) = self.range.unwrap_or((i64::from(self.bits) - 1, 0));
        let step = if left < right { -1 } else { 1 };
        for n in 0..i64::from(self.bits) {
            names.offer(&format!("{}[{}]", self.name, right.saturating_add(step * n)));
        }
    }
}

/// A variable that may be a line. Its scopes precede the name where there are more than the file's own.
fn declared(kind: &str, size: usize, name: &str, path: &str) -> Option<Declared> {
    let bits = match kind {
        "real" | "realtime" | "shortreal" => 0,
        "parameter" | "integer" | "time" | "event" | "string" | "real_parameter" => return None,
        _ => u8::try_from(size).ok().filter(|bits| (1..=WIDEST).contains(bits))?,
    };
    // `bus[7:0]` is a vector, `pin[3]` a wire whose name has a number.
    let range = name.strip_suffix(']').and_then(|n| n.rsplit_once('[')).and_then(|(stem, range)| {
        let (left, right) = range.split_once(':')?;
        Some((stem, (left.parse::<i64>().ok()?, right.parse::<i64>().ok()?)))
    });
    let (stem, range) = range.map_or((name, None), |(stem, range)| (stem, Some(range)));
    let name = if bits == 1 { name } else { stem };
    Some(Declared { name: format!("{path}{name}"), range, bits })
}

/// A time unit such as `10ns`, in fs.
fn unit(text: &str) -> Option<u64> {
    let (count, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let exponent = match unit {
        "s" => 15,
        "ms" => 12,
        "us" => 9,
        "ns" => 6,
        "ps" => 3,
        "fs" => 0,
        _ => return None,
    };
    count.parse::<u64>().ok().filter(|c| *c > 0)?.checked_mul(10u64.pow(exponent))
}
