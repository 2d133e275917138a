//! Reads ELF files: the libraries they need, their interpreter, a kernel module's information.

use crate::kernels::Arch;
use elf::ElfBytes;
use elf::abi::{DT_NEEDED, EM_AARCH64, EM_ARM, EM_X86_64, PT_INTERP};
use elf::endian::AnyEndian;

/// What a program or library needs to be loaded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The interpreter's absolute path.
    pub(super) interpreter: Option<String>,
    /// Names of the libraries.
    pub(super) libraries: Vec<String>,
}

/// What a program or library needs to be loaded. Fails with a reason if the file is not readable ELF.
pub(super) fn needs(bytes: &[u8]) -> Result<Needs, String> {
    let file = parse(bytes)?;
    let mut needs = Needs { interpreter: interpreter(&file)?, libraries: Vec::new() };
    let Some(dynamic) = file.dynamic().map_err(|e| e.to_string())? else { return Ok(needs) };
    // The names in the dynamic section refer to the string table of the dynamic symbols.
    let Some((_, names)) = file.dynamic_symbol_table().map_err(|e| e.to_string())? else { return Ok(needs) };
    for entry in dynamic.iter().filter(|e| e.d_tag == DT_NEEDED) {
        let at = usize::try_from(entry.d_val()).map_err(|e| e.to_string())?;
        needs.libraries.push(names.get(at).map_err(|e| e.to_string())?.to_owned());
    }
    Ok(needs)
}

/// Checks that `bytes` is a static program for `arch`, or a script. The error says what it is instead.
pub(super) fn check_static(bytes: &[u8], arch: Arch) -> Result<(), String> {
    if bytes.starts_with(b"#!") {
        return Ok(());
    }
    let file = parse(bytes)?;
    let machine = match arch {
        Arch::Amd64 => EM_X86_64,
        Arch::Arm64 => EM_AARCH64,
        Arch::Armhf => EM_ARM,
    };
    if file.ehdr.e_machine != machine {
        return Err(format!("it is not a program for {arch}"));
    }
    match interpreter(&file)? {
        None => Ok(()),
        Some(_) => Err("it is not linked statically, and the guest's first program must be".into()),
    }
}

/// A kernel module's information (`.modinfo`): `key=value` strings.
pub(crate) fn modinfo(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let file = parse(bytes)?;
    let section = file.section_header_by_name(".modinfo").map_err(|e| e.to_string())?.ok_or("it has no .modinfo section")?;
    let (data, _) = file.section_data(&section).map_err(|e| e.to_string())?;
    let pairs = data.split(|b| *b == 0).filter_map(|s| std::str::from_utf8(s).ok()?.split_once('='));
    Ok(pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect())
}

/// The compiler that a module was built by, as it wrote itself into the file: `GCC: (Debian 12.2.0-14+deb12u1) 12.2.0`. `None` if
/// the file does not say.
pub(crate) fn compiler(bytes: &[u8]) -> Option<String> {
    let file = parse(bytes).ok()?;
    let section = file.section_header_by_name(".comment").ok()??;
    let (data, _) = file.section_data(&section).ok()?;
    // Each object that was linked brings a line, and some linkers one of their own.
    let text = data.split(|b| *b == 0).find(|s| !s.is_empty() && !s.starts_with(b"Linker: "))?;
    Some(String::from_utf8_lossy(&text[..text.len().min(120)]).into_owned())
}

fn parse(bytes: &[u8]) -> Result<ElfBytes<'_, AnyEndian>, String> {
    ElfBytes::minimal_parse(bytes).map_err(|e| format!("it is no ELF file ({e})"))
}

fn interpreter(file: &ElfBytes<'_, AnyEndian>) -> Result<Option<String>, String> {
    let Some(segment) = file.segments().into_iter().flat_map(|s| s.iter()).find(|s| s.p_type == PT_INTERP) else { return Ok(None) };
    let data = file.segment_data(&segment).map_err(|e| e.to_string())?;
    let text = data.split(|b| *b == 0).next().unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(text).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    /// The test program itself.
    fn own() -> Vec<u8> {
        std::fs::read("/proc/self/exe").unwrap()
    }

    #[test]
    fn a_program_says_what_it_needs() {
        let needs = needs(&own()).unwrap();
        assert!(needs.libraries.iter().any(|l| l.starts_with("libc.so")), "{needs:?}");
        assert!(needs.interpreter.is_some_and(|i| i.contains("ld-")));
    }

    #[test]
    fn only_a_static_program_of_the_architecture_starts_a_guest() {
        assert!(check_static(b"#!/bin/sh\n", Arch::Armhf).is_ok());
        assert!(check_static(b"words", Arch::Amd64).unwrap_err().contains("no ELF"));
        assert!(check_static(&own(), Arch::host()).unwrap_err().contains("statically"));
        let other = if Arch::host() == Arch::Armhf { Arch::Amd64 } else { Arch::Armhf };
        assert!(check_static(&own(), other).unwrap_err().contains("not a program for"));
    }

    #[test]
    fn a_file_names_its_compiler() {
        // Objects of rustc and of the C library's gcc are linked here, in an order that is the linker's.
        let compiler = compiler(&own()).unwrap();
        assert!(["GCC: (", "rustc version "].iter().any(|by| compiler.starts_with(by)), "{compiler}");
        assert_eq!(super::compiler(b"words"), None);
    }

    /// Only its beginning: reading all of it in every case would take long.
    static START: LazyLock<Vec<u8>> = LazyLock::new(|| own()[..1 << 16].to_vec());

    proptest! {
        #[test]
        fn a_damaged_file_is_read_or_refused(changes in prop::collection::vec((0..4096_usize, any::<u8>()), 1..9), cut in 0..8192_usize) {
            let mut bytes = START.clone();
            for (at, value) in changes {
                bytes[at] = value;
            }
            bytes.truncate(bytes.len() - cut);
            let _ = (needs(&bytes), modinfo(&bytes), compiler(&bytes), check_static(&bytes, Arch::Amd64));
        }
    }
}
