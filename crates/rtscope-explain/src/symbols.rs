//! Names of functions and variables by their addresses, as the kernel lists them (`/proc/kallsyms`).

use crate::arm64;
use rtscope_failure::Problem;
use std::collections::{HashMap, HashSet};

/// A function, or what else is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Where it begins.
    pub start: u64,
    /// Its name.
    pub name: String,
    /// The module that it is in; `None`: the kernel itself.
    pub module: Option<String>,
}

/// The symbols of a running kernel with its modules.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    /// By address, each address once.
    functions: Vec<Function>,
    variables: HashMap<String, u64>,
    /// Code that is mapped a second time, far from all other.
    far: Option<Function>,
}

/// No function is as long: what is farther from a function's begin is not in it.
const FAR: u64 = 1 << 30;

/// Why symbols can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SymbolError {
    /// A line is not one of `/proc/kallsyms`.
    #[error("line {0} of the kernel's symbols can't be read")]
    Line(usize),
    /// All addresses are 0: whoever read them had no right to see them.
    #[error("the kernel hides the addresses of its symbols")]
    Hidden,
    /// The kernel has no such symbol.
    #[error("the kernel has no symbol {0}")]
    Missing(&'static str),
}

impl Problem for SymbolError {
    fn remedy(&self) -> String {
        match self {
            Self::Line(_) => "report this with the kernel's name".into(),
            Self::Hidden | Self::Missing(_) => {
                "take a kernel that was built with CONFIG_KALLSYMS_ALL=y, as Debian's for amd64 are, and for arm64 from 6.12 on"
                    .into()
            }
        }
    }
}

impl Symbols {
    /// Reads the text of `/proc/kallsyms`: `ADDRESS TYPE NAME [MODULE]`.
    pub fn parse(text: &str) -> Result<Self, SymbolError> {
        let mut symbols = Self::default();
        for (i, line) in text.lines().enumerate() {
            let mut words = line.split_whitespace();
            let address = words.next().and_then(|w| u64::from_str_radix(w, 16).ok());
            let (Some(address), Some(kind), Some(name)) = (address, words.next(), words.next()) else {
                return Err(SymbolError::Line(i + 1));
            };
            if matches!(kind, "t" | "T" | "w" | "W") {
                let module = words.next().map(|w| w.trim_matches(['[', ']']).to_owned());
                symbols.functions.push(Function { start: address, name: name.to_owned(), module });
            }
            symbols.variables.entry(name.to_owned()).or_insert(address);
        }
        if symbols.functions.iter().all(|f| f.start == 0) {
            return Err(SymbolError::Hidden);
        }
        symbols.sort();
        Ok(symbols)
    }

    /// Adds functions of modules that were loaded later.
    pub fn add(&mut self, functions: Vec<Function>) {
        if !functions.is_empty() {
            // Where something was loaded, whatever was there before is gone.
            let loaded: HashSet<u64> = functions.iter().map(|f| f.start).collect();
            self.functions.retain(|f| !loaded.contains(&f.start));
            self.functions.extend(functions);
            self.sort();
        }
    }

    fn sort(&mut self) {
        // Of several names for one address one that does not mark the begin or end of a range of code, then the shortest.
        let is_mark = |f: &Function| f.name.ends_with("_start") || f.name.ends_with("_end");
        let key = |f: &Function| (f.start, is_mark(f), f.name.len(), f.name.clone());
        self.functions.sort_by_cached_key(key);
        self.functions.dedup_by_key(|f| f.start);
        self.far = self.functions.iter().find(|f| f.name == arm64::TRAMPOLINE).cloned();
    }

    /// Where a function of a module begins.
    pub fn in_module(&self, module: &str, name: &str) -> Option<u64> {
        self.functions.iter().find(|f| f.module.as_deref() == Some(module) && f.name == name).map(|f| f.start)
    }

    /// Address of a symbol; of a per-CPU variable its offset.
    pub fn address(&self, name: &'static str) -> Result<u64, SymbolError> {
        self.variables.get(name).copied().ok_or(SymbolError::Missing(name))
    }

    /// The function that the instruction at `pc` is in; `None` outside of the kernel.
    pub fn function(&self, pc: u64) -> Option<&Function> {
        let at = self.functions.partition_point(|f| f.start <= pc).checked_sub(1)?;
        let function = &self.functions[at];
        Some(self.far.as_ref().filter(|_| pc - function.start > FAR).unwrap_or(function)).filter(|_| is_kernel(pc))
    }
}

/// Whether an address is the kernel's: the upper half.
pub fn is_kernel(pc: u64) -> bool {
    pc >> 63 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_any_of_their_instructions() {
        let text = "ffffffff81000000 T _stext\nffffffff81000000 t a_longer_name\nffffffff81000100 t f\nffffffff82000000 D jiffies\n\
                    ffffffffc0000000 t hold\t[rtscope_hold]\n0000000000020b40 A pcpu_hot\n";
        let s = Symbols::parse(text).unwrap();
        let name = |pc| s.function(pc).map(|f| f.name.as_str());
        assert_eq!((name(0xffff_ffff_8100_0000), name(0xffff_ffff_8100_00ff)), (Some("_stext"), Some("_stext")));
        assert_eq!((name(0xffff_ffff_8100_0100), name(0x5000)), (Some("f"), None));
        assert_eq!(s.function(0xffff_ffff_c000_0010).unwrap().module.as_deref(), Some("rtscope_hold"));
        assert_eq!((s.address("pcpu_hot"), s.address("jiffies")), (Ok(0x20b40), Ok(0xffff_ffff_8200_0000)));
        assert_eq!(s.address("tk_core"), Err(SymbolError::Missing("tk_core")));
        assert_eq!(Symbols::parse("0000000000000000 T _stext\n").unwrap_err(), SymbolError::Hidden);
        let arm = Symbols::parse("ffff800080000000 T f\nffff800081000000 t tramp_vectors\nffff800081002000 t last\n").unwrap();
        let name = |pc| arm.function(pc).map(|f| f.name.as_str());
        assert_eq!((name(0xffff_ffff_ff5f_4400), name(0xffff_8000_8100_3000)), (Some("tramp_vectors"), Some("last")));
        let mut more = s;
        let f = |start, name: &str| Function { start, name: name.into(), module: Some("rtscope_timer".into()) };
        more.add(vec![f(0xffff_ffff_c000_0000, "expired"), f(0xffff_ffff_c000_0100, "stop")]);
        assert_eq!(more.function(0xffff_ffff_c000_0010).unwrap().name, "expired", "in the place of what was unloaded");
        assert_eq!(more.in_module("rtscope_timer", "stop"), Some(0xffff_ffff_c000_0100));
        assert_eq!((more.in_module("rtscope_timer", "f"), more.in_module("rtscope_hold", "hold")), (None, None));
        assert_eq!(Symbols::parse("ffffffff81000000 T a\nffff\n").unwrap_err(), SymbolError::Line(2));
    }
}
