//! Offsets of fields in a kernel's structures, by the type information that it carries (BTF; Documentation/bpf/btf.rst).

use rtscope_failure::Problem;
use std::collections::HashMap;

/// Types of a kernel. Reads little-endian BTF, of kernels of x86-64 and Arm.
#[derive(Debug)]
pub struct Btf<'a> {
    /// Types from number 1 on: where each begins in `types`.
    at: Vec<usize>,
    types: &'a [u8],
    strings: &'a [u8],
}

/// Why type information can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// It is damaged, or of a format that is not known.
    #[error("the kernel's type information (BTF) can't be read: {0}")]
    Damaged(&'static str),
    /// It has no such field.
    #[error("the kernel's type information (BTF) has no {0}")]
    Missing(String),
}

impl Problem for BtfError {
    fn remedy(&self) -> String {
        "take a kernel for amd64 or arm64 that was built with CONFIG_DEBUG_INFO_BTF=y, as Debian's are".into()
    }
}

const MAGIC: u16 = 0xeb9f;
/// Kinds that matter here.
const STRUCT: u32 = 4;
const UNION: u32 = 5;
/// Typedef, volatile, const, restrict, type tag: another type under another name.
const TRANSPARENT: [u32; 5] = [8, 9, 10, 11, 18];

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// A type's head: kind, number of members, size or the type that it stands for, and whether members hold bit fields.
struct Head {
    kind: u32,
    members: usize,
    of: u32,
    bit_fields: bool,
}

impl<'a> Btf<'a> {
    /// Reads the section `.BTF`.
    pub fn parse(section: &'a [u8]) -> Result<Self, BtfError> {
        let damaged = |what| BtfError::Damaged(what);
        let head = section.get(..24).ok_or(damaged("it is too short"))?;
        if u16::from_le_bytes([head[0], head[1]]) != MAGIC || head[2] != 1 {
            return Err(damaged("it is of another format"));
        }
        let number = |at| word(section, at).map(|n| n as usize).unwrap_or_default();
        let body = |offset: usize, len: usize| {
            let from = number(4).checked_add(offset)?;
            section.get(from..from.checked_add(len)?)
        };
        let types = body(number(8), number(12)).ok_or(damaged("its types are cut off"))?;
        let strings = body(number(16), number(20)).ok_or(damaged("its names are cut off"))?;
        let mut btf = Self { at: Vec::new(), types, strings };
        let mut at = 0;
        while at < types.len() {
            let head = btf.head(at).ok_or(damaged("a type is cut off"))?;
            btf.at.push(at);
            at += 12 + body_of(&head).ok_or(damaged("a type is of an unknown kind"))?;
        }
        Ok(btf)
    }

    fn head(&self, at: usize) -> Option<Head> {
        let info = word(self.types, at + 4)?;
        Some(Head {
            kind: info >> 24 & 0x1f,
            members: (info & 0xffff) as usize,
            of: word(self.types, at + 8)?,
            bit_fields: info >> 31 == 1,
        })
    }

    fn name(&self, at: usize) -> &'a str {
        let bytes = self.strings.get(at..).unwrap_or_default();
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(0);
        std::str::from_utf8(&bytes[..end]).unwrap_or_default()
    }

    fn name_of(&self, at: usize) -> &'a str {
        word(self.types, at).map_or("", |n| self.name(n as usize))
    }

    /// Name, type and offset in bytes of each member; those within bit fields are left out.
    fn members(&self, at: usize) -> impl Iterator<Item = (&'a str, u32, u64)> + '_ {
        let head = self.head(at).filter(|h| h.kind == STRUCT || h.kind == UNION);
        let (n, bit_fields) = head.map_or((0, false), |h| (h.members, h.bit_fields));
        (0..n).filter_map(move |i| {
            let member = at + 12 + 12 * i;
            let offset = word(self.types, member + 8)?;
            let (bits, size) = if bit_fields { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
            (size == 0 && bits % 8 == 0)
                .then(|| (self.name_of(member), word(self.types, member + 4).unwrap_or(0), u64::from(bits / 8)))
        })
    }

    /// The structure that the type with this number is, seen through its other names.
    fn structure(&self, mut number: u32) -> Option<usize> {
        // As deep as no honest chain is.
        for _ in 0..32 {
            let at = *self.at.get((number as usize).checked_sub(1)?)?;
            let head = self.head(at)?;
            if head.kind == STRUCT || head.kind == UNION {
                return Some(at);
            }
            if !TRANSPARENT.contains(&head.kind) {
                return None;
            }
            number = head.of;
        }
        None
    }

    fn structures(&self) -> impl Iterator<Item = usize> + '_ {
        self.at.iter().copied().filter(|&at| self.head(at).is_some_and(|h| h.kind == STRUCT && h.members > 0))
    }

    /// Offset of `path` (`tkr_mono.mult`) in the structure `name`, bytes. Members of nameless structures within it count as its own.
    pub fn offset(&self, name: &str, path: &str) -> Result<u64, BtfError> {
        let missing = || BtfError::Missing(format!("{path} in struct {name}"));
        let start = self.structures().find(|&at| self.name_of(at) == name).ok_or_else(missing)?;
        self.follow(start, path).ok_or_else(missing)
    }

    /// Where the bit field `member` of the structure `name` is: its first bit, and how many it has.
    pub fn bits(&self, name: &str, member: &str) -> Option<(u32, u32)> {
        let at = self.structures().find(|&at| self.name_of(at) == name)?;
        let head = self.head(at).filter(|h| h.bit_fields)?;
        (0..head.members).map(|i| at + 12 + 12 * i).find(|&m| self.name_of(m) == member).and_then(|m| {
            let place = word(self.types, m + 8)?;
            Some((place & 0xff_ffff, place >> 24))
        })
    }

    /// Offset in bytes of the member `member` of type `struct of`, in whatever structure has one: of those without a name.
    pub fn offset_of_a(&self, of: &str, member: &str) -> Result<u64, BtfError> {
        let is = |&(name, number, _): &(&str, u32, u64)| {
            name == member && self.structure(number).is_some_and(|at| self.name_of(at) == of)
        };
        let found = self.structures().find_map(|at| self.members(at).find(is));
        found.map(|(_, _, offset)| offset).ok_or_else(|| BtfError::Missing(format!("{member} of type struct {of}")))
    }

    /// Size of the structure `name`, bytes.
    pub fn size(&self, name: &str) -> Result<u64, BtfError> {
        let found = self.structures().find(|&at| self.name_of(at) == name).and_then(|at| self.head(at));
        found.map(|h| u64::from(h.of)).ok_or_else(|| BtfError::Missing(format!("struct {name}")))
    }

    fn follow(&self, mut at: usize, path: &str) -> Option<u64> {
        let mut sum = 0;
        for (i, word) in path.split('.').enumerate() {
            if i > 0 {
                // Beyond the structure that was found last.
                at = self.structure(u32::try_from(at).ok()?)?;
            }
            let (number, offset) = self.find(at, word, 0)?;
            sum += offset;
            at = number as usize;
        }
        Some(sum)
    }

    /// Type and offset of the member `name`, nameless structures searched too.
    fn find(&self, at: usize, name: &str, depth: u32) -> Option<(u32, u64)> {
        let all: HashMap<&str, (u32, u64)> = self.members(at).map(|(n, number, offset)| (n, (number, offset))).collect();
        if let Some(found) = all.get(name) {
            return Some(*found);
        }
        if depth > 8 {
            return None;
        }
        self.members(at).filter(|(n, ..)| n.is_empty()).find_map(|(_, number, offset)| {
            let (found, inner) = self.find(self.structure(number)?, name, depth + 1)?;
            Some((found, offset + inner))
        })
    }
}

/// Bytes that follow a type's head.
fn body_of(head: &Head) -> Option<usize> {
    let n = head.members;
    Some(match head.kind {
        // An integer's encoding; a variable's linkage; a declaration's tag.
        1 | 14 | 17 => 4,
        2 | 7..=12 | 16 | 18 => 0,
        3 => 12,
        STRUCT | UNION | 15 | 19 => 12 * n,
        6 | 13 => 8 * n,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Types and names of a small kernel.
    #[derive(Default)]
    struct Made {
        types: Vec<u8>,
        names: Vec<u8>,
    }

    impl Made {
        fn new() -> Self {
            Self { names: vec![0], ..Self::default() }
        }

        fn name(&mut self, name: &str) -> u32 {
            if name.is_empty() {
                return 0;
            }
            let at = u32::try_from(self.names.len()).unwrap();
            self.names.extend([name.as_bytes(), &[0]].concat());
            at
        }

        /// A type: its members with types and offsets in bits.
        fn put(mut self, kind: u32, name: &str, of: u32, members: &[(&str, u32, u32)]) -> Self {
            let words = [self.name(name), kind << 24 | u32::try_from(members.len()).unwrap(), of];
            let members: Vec<[u32; 3]> = members.iter().map(|&(name, number, bits)| [self.name(name), number, bits]).collect();
            self.types.extend(words.iter().chain(members.iter().flatten()).flat_map(|w| w.to_le_bytes()));
            if kind == 1 {
                self.types.extend(32u32.to_le_bytes());
            }
            self
        }

        fn section(&self) -> Vec<u8> {
            let (types, names) = (u32::try_from(self.types.len()).unwrap(), u32::try_from(self.names.len()).unwrap());
            let head = [24u32, 0, types, types, names].map(u32::to_le_bytes).concat();
            [&MAGIC.to_le_bytes()[..], &[1, 0], &head, &self.types, &self.names].concat()
        }
    }

    /// 1 int, 2 `tk_read_base`, 3 const of 2, 4 `timekeeper`, 5 a nameless union, 6 `task`, 7 a nameless structure.
    fn kernel() -> Vec<u8> {
        Made::new()
            .put(1, "int", 4, &[])
            .put(STRUCT, "tk_read_base", 56, &[("mask", 1, 0), ("mult", 1, 192)])
            .put(10, "", 2, &[])
            .put(STRUCT, "timekeeper", 100, &[("tkr_mono", 3, 64)])
            .put(UNION, "", 4, &[("pid", 1, 0), ("tgid", 1, 0)])
            .put(STRUCT, "task", 64, &[("state", 1, 0), ("", 5, 256)])
            .put(STRUCT, "", 112, &[("seq", 1, 0), ("timekeeper", 4, 64)])
            .section()
    }

    #[test]
    fn fields_are_found_through_names_and_nameless_structures() {
        let section = kernel();
        let btf = Btf::parse(&section).unwrap();
        assert_eq!(btf.offset("timekeeper", "tkr_mono"), Ok(8));
        assert_eq!(btf.offset("timekeeper", "tkr_mono.mult"), Ok(32));
        assert_eq!((btf.offset("task", "pid"), btf.offset("task", "state")), (Ok(32), Ok(0)));
        assert_eq!(btf.offset_of_a("timekeeper", "timekeeper"), Ok(8));
        assert_eq!(btf.size("tk_read_base"), Ok(56));
        assert_eq!(btf.offset("task", "comm"), Err(BtfError::Missing("comm in struct task".into())));
        assert_eq!(btf.size("nothing"), Err(BtfError::Missing("struct nothing".into())));
    }

    #[test]
    fn what_is_cut_off_or_of_another_format_is_refused() {
        let section = kernel();
        assert!((0..section.len()).all(|n| Btf::parse(&section[..n]).is_err()));
        let mut other = section.clone();
        other[2] = 2;
        assert_eq!(Btf::parse(&other).unwrap_err(), BtfError::Damaged("it is of another format"));
    }

    proptest! {
        #[test]
        fn damage_never_panics(at in 0usize..400, value: u8, more in 0usize..400, other: u8) {
            let mut section = kernel();
            let n = section.len();
            section[at % n] = value;
            section[more % n] = other;
            if let Ok(btf) = Btf::parse(&section) {
                let _ = (btf.offset("timekeeper", "tkr_mono.mult"), btf.offset("task", "pid"), btf.offset_of_a("timekeeper", "timekeeper"), btf.size("task"));
            }
        }
    }
}
