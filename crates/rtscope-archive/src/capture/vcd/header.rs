//! The head of a dump: its unit of time, and its variables in their scopes.

use super::{CaptureError, Levels, Signal, Words, text};
use std::collections::BTreeMap;

/// Words that begin something: at the beginning of a line none of them is part of a comment, so that a missing `$end` is found out.
pub(super) const COMMANDS: [&[u8]; 12] = [
    b"$comment",
    b"$date",
    b"$version",
    b"$timescale",
    b"$scope",
    b"$upscope",
    b"$var",
    b"$enddefinitions",
    b"$dumpvars",
    b"$dumpall",
    b"$dumpon",
    b"$dumpoff",
];
/// Bits of a vector that may be lines; a wider one is a number.
const WIDEST: usize = 64;

/// A variable that may be a line, or several.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    name: String,
    /// Numbers of the first bit and of the last one.
    range: Option<(i64, i64)>,
    /// 0 is a real one.
    pub(super) bits: usize,
    /// Place of its lowest bit among the signals.
    pub(super) first: usize,
}

/// The head.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Of its times, fs.
    pub(super) unit: u64,
    /// What wrote it.
    pub(super) writer: String,
    variables: Vec<Variable>,
    by_code: BTreeMap<Vec<u8>, usize>,
}

impl Header {
    /// Reads to `$enddefinitions`.
    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, CaptureError> {
        let mut header = Self::default();
        let mut scopes: Vec<String> = Vec::new();
        let mut signals = 0;
        loop {
            let Some(command) = words.next() else {
                return Err(words.error("the dump ends within its head: it has no `$enddefinitions`"));
            };
            if command[0] != b'$' {
                return Err(words.error(format!("`{}` stands in the head, where commands are", text(command))));
            }
            let line = words.line;
            let inside: Vec<String> = words.until_end(command)?.into_iter().map(text).collect();
            let said = |what: &str| CaptureError::line(line, format!("`{} {}`: {what}", text(command), inside.join(" ")));
            match command {
                b"$timescale" => {
                    let unit = unit(&inside.concat());
                    header.unit = unit.ok_or_else(|| said("is no unit of time such as `10 ns`"))?;
                }
                b"$version" => header.writer = inside.join(" "),
                b"$scope" => scopes.push(inside.get(1).cloned().unwrap_or_default()),
                b"$upscope" => {
                    scopes.pop();
                }
                b"$var" => {
                    let [kind, size, code, name @ ..] = &inside[..] else {
                        return Err(said("a variable has a type, size, code and name"));
                    };
                    let size: usize = size.parse().map_err(|_| said("its size is no number"))?;
                    let Some(mut variable) = variable(kind, size, &name.concat(), &scopes) else { continue };
                    variable.first = signals;
                    // One wire may have several names; the first is taken.
                    if !header.by_code.contains_key(code.as_bytes()) {
                        header.by_code.insert(code.clone().into_bytes(), header.variables.len());
                        signals += variable.bits.max(1);
                        header.variables.push(variable);
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

    /// The variable with this code, where it may be a line.
    pub(super) fn of(&self, code: &[u8]) -> impl Iterator<Item = &Variable> {
        self.by_code.get(code).map(|at| &self.variables[*at]).into_iter()
    }

    /// What nothing is known of yet, in the order of the names.
    pub(super) fn signals(&self) -> Vec<Signal> {
        let kinds = self.variables.iter().flat_map(|v| std::iter::repeat_n(v.bits == 0, v.bits.max(1)));
        kinds.map(|real| if real { Signal::Analog(Vec::new()) } else { Signal::Digital(Levels::default()) }).collect()
    }

    /// A name for each signal: of a vector one for each bit.
    pub(super) fn names(&self) -> Vec<String> {
        self.variables.iter().flat_map(Variable::names).collect()
    }
}

impl Variable {
    fn names(&self) -> Vec<String> {
        if self.bits < 2 {
            return vec![self.name.clone()];
        }
        // The lowest bit stands last.
        let (left, right) = self.range.unwrap_or((i64::try_from(self.bits).unwrap_or(0) - 1, 0));
        let step = if left < right { -1 } else { 1 };
        (0..).take(self.bits).map(|n: i64| format!("{}[{}]", self.name, right.saturating_add(step * n))).collect()
    }
}

/// A variable that may be a line, with its scopes where there is more than the file's own.
fn variable(kind: &str, size: usize, name: &str, scopes: &[String]) -> Option<Variable> {
    let bits = match kind {
        "real" | "realtime" | "shortreal" => 0,
        "parameter" | "integer" | "time" | "event" | "string" | "real_parameter" => return None,
        _ if (1..=WIDEST).contains(&size) => size,
        _ => return None,
    };
    let path = scopes.iter().skip(1).fold(String::new(), |path, scope| path + scope + ".");
    // `bus[7:0]` is a vector, `pin[3]` a wire with a number.
    let range = name.strip_suffix(']').and_then(|n| n.rsplit_once('[')).and_then(|(stem, range)| {
        let (left, right) = range.split_once(':')?;
        Some((stem, (left.parse::<i64>().ok()?, right.parse::<i64>().ok()?)))
    });
    let (stem, range) = range.map_or((name, None), |(stem, range)| (stem, Some(range)));
    let name = if bits == 1 { name } else { stem };
    Some(Variable { name: format!("{path}{name}"), range, bits, first: 0 })
}

/// `10ns` in fs.
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
