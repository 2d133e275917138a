//! Value change dumps (IEEE 1364), by the crate `vcd`.

use super::{Capture, CaptureError, Channel, Kind, Levels, Signal};
use std::collections::BTreeMap;
use std::io::Read;
use vcd::{Command, IdCode, ScopeItem, TimescaleUnit, Value};

/// A scope deeper than this is no dump of lines.
const DEEPEST: usize = 64;

pub(super) fn read(bytes: &[u8]) -> Result<Capture, CaptureError> {
    // A last line without its end is not damaged.
    let mut parser = vcd::Parser::new(bytes.chain(&b"\n"[..]));
    let header = parser.parse_header().map_err(|e| CaptureError::line(parser.line(), e.to_string()))?;
    let (count, unit) = header.timescale.ok_or_else(|| CaptureError::File("it does not say its $timescale".into()))?;
    let unit: u64 = match unit {
        TimescaleUnit::S => 1_000_000_000_000,
        TimescaleUnit::MS => 1_000_000_000,
        TimescaleUnit::US => 1_000_000,
        TimescaleUnit::NS => 1_000,
        TimescaleUnit::PS => 1,
        TimescaleUnit::FS => 0,
    };
    // Femtoseconds are below what is kept: 1000 of them are one ps.
    let (multiply, divide) = if unit == 0 { (u64::from(count), 1000) } else { (u64::from(count) * unit, 1) };
    let mut channels: Vec<(String, Levels)> = Vec::new();
    let mut by_code: BTreeMap<IdCode, usize> = BTreeMap::new();
    collect(&header.items, "", 0, &mut |name, code| {
        // One wire may have several names; the first is taken.
        by_code.entry(code).or_insert_with(|| {
            channels.push((name, Levels::default()));
            channels.len() - 1
        });
    });
    let (mut first, mut now, mut end) = (None, 0u64, 0u64);
    while let Some(command) = parser.next() {
        match command.map_err(|e| CaptureError::line(parser.line(), e.to_string()))? {
            Command::Timestamp(t) => {
                let at = u128::from(t) * u128::from(multiply) / u128::from(divide);
                let at = u64::try_from(at).map_err(|_| CaptureError::line(parser.line(), "a time beyond 2^64 ps"))?;
                let first = *first.get_or_insert(at);
                let at = at.checked_sub(first).filter(|at| *at >= now);
                now = at.ok_or_else(|| CaptureError::line(parser.line(), "time goes backwards"))?;
                end = now;
            }
            Command::ChangeScalar(code, value) => {
                let Some(levels) = by_code.get(&code).and_then(|i| channels.get_mut(*i)).map(|c| &mut c.1) else { continue };
                match value {
                    Value::V0 => levels.set(now, false),
                    Value::V1 => levels.set(now, true),
                    Value::X | Value::Z => levels.unknown += u64::from(levels.level.is_some()),
                }
            }
            _ => {}
        }
    }
    let channels = channels.into_iter().map(|(name, levels)| Channel { name, signal: Signal::Digital(levels) }).collect();
    let writer = header.version.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Capture { kind: Kind::Vcd, writer, channels, resolution: (multiply / divide).max(1), end })
}

/// Every wire of one bit, with its scopes where there is more than one.
fn collect(items: &[ScopeItem], path: &str, depth: usize, take: &mut impl FnMut(String, IdCode)) {
    for item in items {
        match item {
            ScopeItem::Var(var) if var.size == 1 => {
                let index = var.index.map(|i| i.to_string()).unwrap_or_default();
                take(format!("{path}{}{index}", var.reference), var.code);
            }
            // The outermost scope is the file itself.
            ScopeItem::Scope(scope) if depth < DEEPEST => {
                let path = if depth == 0 { String::new() } else { format!("{path}{}.", scope.identifier) };
                collect(&scope.items, &path, depth + 1, take);
            }
            _ => {}
        }
    }
}
