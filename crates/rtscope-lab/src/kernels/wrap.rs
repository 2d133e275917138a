//! Programs of another release, made to run on this host: each is replaced by a script that starts it with the C library
//! and the linker of its own release.
//!
//! The script finds both by relative paths, so that a cache can be moved, and hands on its own name: compilers and
//! `modpost` go by it.

use elf::ElfBytes;
use elf::endian::AnyEndian;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Follows the name of a program that was replaced.
const PROGRAM: &str = ".program";
/// Largest file that may be a program, bytes: a compiler has 40 MB.
const LARGEST: u64 = 1 << 30;

/// Replaces all programs below `base/dir` that need a linker. `runtime` is the root directory of the release with the
/// linker and libraries, relative to `base`. What was replaced is left alone.
pub(crate) fn wrap_all(base: &Path, dir: &Path, runtime: &Path) -> io::Result<()> {
    for path in rtscope_files::digest::files(&base.join(dir))? {
        let within = path.strip_prefix(base).unwrap_or(&path);
        let executable = fs::symlink_metadata(&path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Some libraries name a linker too.
        let plain = executable && !name.ends_with(PROGRAM) && !name.contains(".so");
        let Some(linker) = plain.then(|| linker(&path)).transpose()?.flatten() else { continue };
        let up = PathBuf::from("../".repeat(within.components().count() - 1));
        let mut program = path.clone().into_os_string();
        program.push(PROGRAM);
        fs::rename(&path, &program)?;
        fs::write(&path, script(&up.join(runtime), &linker))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Makes the absolute links below `root` relative, so that they stay within it: Debian 12 has one to its linker, which would lead to
/// the host's.
pub(crate) fn keep_links_within(root: &Path) -> io::Result<()> {
    for path in rtscope_files::digest::files(root)? {
        let Ok(to) = fs::read_link(&path) else { continue };
        let Ok(below) = to.strip_prefix("/") else { continue };
        let within = path.strip_prefix(root).unwrap_or(&path);
        let up = PathBuf::from("../".repeat(within.components().count() - 1));
        fs::remove_file(&path)?;
        symlink(up.join(below), &path)?;
    }
    Ok(())
}

/// The linker that a program asks for, such as `/lib64/ld-linux-x86-64.so.2`; `None` for other files and static programs.
fn linker(path: &Path) -> io::Result<Option<String>> {
    let bytes = rtscope_files::read(path, LARGEST)?;
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(None);
    }
    let interpreter = || {
        let file = ElfBytes::<AnyEndian>::minimal_parse(&bytes).ok()?;
        let segment = file.segments()?.iter().find(|s| s.p_type == elf::abi::PT_INTERP)?;
        let text = file.segment_data(&segment).ok()?;
        let text = std::str::from_utf8(text).ok()?.trim_end_matches('\0').to_owned();
        let fit = |b: u8| b.is_ascii_alphanumeric() || b"/._-".contains(&b);
        (text.starts_with('/') && text.bytes().all(fit) && !text.contains("..")).then_some(text)
    };
    Ok(interpreter())
}

/// The script in a program's place.
fn script(runtime: &Path, linker: &str) -> String {
    let runtime = runtime.display();
    let name = linker.rsplit('/').next().unwrap_or(linker);
    format!(
        r#"#!/bin/sh
# Runs the program beside it with the libraries of its own release.
self=$(readlink -f "$0")
root=${{self%/*}}/{runtime}
for linker in "$root/usr{linker}" "$root{linker}"; do
    [ -e "$linker" ] && break
done
[ -e "$linker" ] || {{ echo "$0: $root has no {name}: fetch the compiler (rtscope lab kernels fetch KERNEL)" >&2; exit 127; }}
libraries=
for dir in "$root"/usr/lib/*-linux-gnu* "$root"/lib/*-linux-gnu*; do
    libraries=$libraries:$dir
done
exec "$linker" --argv0 "$0" --library-path "${{libraries#:}}" "$self{PROGRAM}" "$@"
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_program_runs_with_the_linker_beside_it_wherever_both_go() {
        let dir = tempfile::tempdir().unwrap();
        let tool = fs::canonicalize("/bin/sh").unwrap();
        let Some(asked) = linker(&tool).unwrap() else { return };
        let at = |p: &str| dir.path().join(p);
        fs::create_dir_all(at("one/kernel/scripts")).unwrap();
        // A release: this host's linker, and where its libraries are.
        let of_host = fs::canonicalize(&asked).unwrap();
        fs::create_dir_all(at("one/runtime/usr/lib")).unwrap();
        let there = at(&format!("one/runtime{asked}"));
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        fs::copy(&of_host, &there).unwrap();
        let libraries = of_host.parent().unwrap();
        symlink(libraries, at("one/runtime/usr/lib").join(libraries.file_name().unwrap())).unwrap();
        fs::copy(&tool, at("one/kernel/scripts/tool")).unwrap();
        symlink("tool", at("one/kernel/scripts/other")).unwrap();
        fs::write(at("one/kernel/scripts/plain.sh"), "#!/bin/sh\n").unwrap();
        let wrapped = || wrap_all(&at("one/kernel"), Path::new("scripts"), Path::new("../runtime")).unwrap();
        wrapped();
        wrapped();
        assert_eq!(fs::read_to_string(at("one/kernel/scripts/plain.sh")).unwrap(), "#!/bin/sh\n");
        fs::rename(at("one"), at("two")).unwrap();
        let out = Command::new(at("two/kernel/scripts/other")).args(["-c", "echo \"$1\" \"$0\"", "me", "a b"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), "a b me\n", "{out:?}");
        fs::remove_file(at(&format!("two/runtime{asked}"))).unwrap();
        let out = Command::new(at("two/kernel/scripts/tool")).output().unwrap();
        assert!(String::from_utf8_lossy(&out.stderr).contains("fetch the compiler"), "{out:?}");
    }

    #[test]
    fn a_root_has_no_links_to_the_host() {
        let dir = tempfile::tempdir().unwrap();
        let at = |p: &str| dir.path().join(p);
        for below in ["lib/x-linux-gnu", "lib64", "usr/bin"] {
            fs::create_dir_all(at(below)).unwrap();
        }
        fs::write(at("lib/x-linux-gnu/ld-2.so"), "its own").unwrap();
        symlink("/lib/x-linux-gnu/ld-2.so", at("lib64/ld.so")).unwrap();
        symlink("/lib64/ld.so", at("usr/bin/ld.so")).unwrap();
        symlink("ld.so", at("usr/bin/again")).unwrap();
        keep_links_within(dir.path()).unwrap();
        assert_eq!(fs::read_link(at("lib64/ld.so")).unwrap(), Path::new("../lib/x-linux-gnu/ld-2.so"));
        assert_eq!(fs::read_link(at("usr/bin/again")).unwrap(), Path::new("ld.so"));
        assert_eq!(fs::read_to_string(at("usr/bin/again")).unwrap(), "its own", "through all three");
    }

    #[test]
    fn what_is_no_program_has_no_linker() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x");
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff"] {
            fs::write(&file, bytes).unwrap();
            assert_eq!(linker(&file).unwrap(), None);
        }
    }
}
