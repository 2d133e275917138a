//! Builds rtscope's kernel modules against a kernel's headers. The sources are part of this program; the
//! results are kept in the cache.

use super::ModuleError;
use crate::cache;
use crate::kernels::{Arch, FetchedCompiler};
use rtscope_files::digest;
use rtscope_load::kernel_modules::ALL;
use rtscope_load::programs::find_program;
use rtscope_sys as sys;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Pairs of file name and content of the sources.
macro_rules! sources {
    ($($name:literal),*) => { &[$(($name, include_str!(concat!("../../../../kernel/", $name)))),*] };
}

/// The contents of `kernel/`, without its tests.
const SOURCES: &[(&str, &str)] = sources![
    "Kbuild",
    "compat.h",
    "device.h",
    "line.h",
    "ring.h",
    "rtscope.h",
    "rtscope_periodic.c",
    "rtscope_response.c",
    "timer.h",
    "timer_device.c",
    "timer_fiq.c",
    "timer_fiq.h",
    "timer_fiq_handler.S",
    "timer_gic.c",
    "timer_vector.c",
    "wire.h",
    "wire_chip.c",
    "wire_device.c",
    "wire_edges.c",
    "wire_inject.c",
    "wire_lines.c",
    "wire_run.c"
];
/// Environment variables that would change the result.
const FOREIGN: [&str; 9] = ["ARCH", "CROSS_COMPILE", "CC", "KCFLAGS", "CFLAGS", "MAKEFLAGS", "M", "W", "V"];
/// Beside the modules: what they were built for and by.
const MANIFEST: &str = "built.json";
/// How many lines of a failed build are shown.
const TAIL: usize = 12;

/// The kernel that modules are built for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The kernel's name or release, for people.
    pub(crate) kernel: &'a str,
    /// What distinguishes it from every other kernel: its version, or a checksum.
    pub(crate) identity: &'a str,
    /// Its architecture.
    pub(crate) arch: Arch,
    /// Its headers, for `make -C`.
    pub(crate) headers: &'a Path,
    /// The compiler that was fetched for it; `None` if it takes the host's.
    pub(crate) compiler: Option<&'a FetchedCompiler>,
}

/// The directory with the modules for this kernel, built now if it is not in the cache. Without a compiler, the
/// modules that were built last.
pub(crate) fn build(cache: &Path, target: &Target<'_>, on_step: &mut dyn FnMut(&str)) -> Result<PathBuf, ModuleError> {
    let key = recipe(target);
    let root = cache.join("modules");
    let compiler = Compiler::of(target);
    let version = match compiler.version(target) {
        Ok(version) => version,
        Err(e) => return built_last(cache, target).ok_or(e),
    };
    let name = short(&format!("{key}{version}\n"));
    let dir = root.join(&name);
    if whole(&dir) {
        return Ok(dir);
    }
    tool(target, "make", "make")?;
    let lock = root.join("lock");
    let _lock = cache::lock(&lock, on_step).map_err(ModuleError::io(&lock))?;
    if whole(&dir) {
        return Ok(dir); // another process was quicker
    }
    on_step(&format!("building rtscope's kernel modules for {}", target.kernel));
    // Only the holder of the lock uses this name. What a killed process left there is removed.
    let work = root.join("unfinished");
    clear(&work)?;
    fs::create_dir_all(&work).map_err(ModuleError::io(&work))?;
    for (name, text) in SOURCES {
        let path = work.join(name);
        // Only Kbuild mentions the tests, which are not part of this program.
        let text = if *name == "Kbuild" {
            text.lines().filter(|l| !l.contains("test/")).fold(String::new(), |all, l| all + l + "\n")
        } else {
            (*text).to_owned()
        };
        fs::write(&path, text).map_err(ModuleError::io(&path))?;
    }
    make(target, &compiler, &work, &root.join("failed.log"))?;
    let ready = root.join("ready");
    clear(&ready)?;
    fs::create_dir_all(&ready).map_err(ModuleError::io(&ready))?;
    for name in ALL {
        let (from, to) = (work.join(format!("{name}.ko")), ready.join(format!("{name}.ko")));
        fs::copy(&from, &to).map_err(ModuleError::io(&from))?;
    }
    let manifest = ready.join(MANIFEST);
    rtscope_files::write(&manifest, about(target, &version).as_ref(), 0o600).map_err(ModuleError::io(&manifest))?;
    clear(&dir)?;
    fs::rename(&ready, &dir).map_err(ModuleError::io(&dir))?;
    clear(&work)?;
    let last = root.join(last(&key));
    rtscope_files::write(&last, name.as_ref(), 0o600).map_err(ModuleError::io(&last))?;
    Ok(dir)
}

/// The directory with the modules that were built last for this kernel from these sources, by any compiler, if it is in the cache.
pub(crate) fn built_last(cache: &Path, target: &Target<'_>) -> Option<PathBuf> {
    let root = cache.join("modules");
    let name = rtscope_files::read_text(&root.join(last(&recipe(target))), rtscope_files::SMALL).ok()?;
    let plain = name.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| root.join(name)).filter(|dir| whole(dir))
}

/// The file that names that directory.
fn last(recipe: &str) -> String {
    format!("{}.last", short(recipe))
}

/// What the modules were built for and by, for people: the manifest beside them.
fn about(target: &Target<'_>, version: &str) -> String {
    let packages = target.compiler.map(|c| &c.packages);
    let about = serde_json::json!({"kernel": target.kernel, "identity": target.identity, "arch": target.arch, "compiler": version, "packages": packages});
    format!("{about:#}\n")
}

/// Everything that determines the modules, except the compiler.
fn recipe(target: &Target<'_>) -> String {
    let mut text = format!("{} {} {}\n{}\n", target.kernel, target.identity, target.arch, include_str!("build.rs"));
    for (name, source) in SOURCES {
        text += &format!("{name} {}\n{source}", source.len());
    }
    text
}

/// A digest, long enough to tell directories apart.
fn short(text: &str) -> String {
    let mut hex = digest::bytes(text.as_bytes());
    hex.truncate(32);
    hex
}

fn whole(dir: &Path) -> bool {
    ALL.iter().all(|name| dir.join(format!("{name}.ko")).is_file())
}

fn clear(dir: &Path) -> Result<(), ModuleError> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(ModuleError::io(dir)(e)),
        _ => Ok(()),
    }
}

fn tool(target: &Target<'_>, program: &str, package: &str) -> Result<PathBuf, ModuleError> {
    find_program(program).ok_or_else(|| ModuleError::NoTool {
        kernel: target.kernel.into(),
        program: program.into(),
        package: package.into(),
    })
}

/// Runs make so that the cache's path does not affect the result: no debugging information, no paths.
fn make(target: &Target<'_>, compiler: &Compiler, work: &Path, log: &Path) -> Result<(), ModuleError> {
    let mut command = sys::process::command("make");
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    command.arg("-C").arg(target.headers).arg(format!("-j{jobs}"));
    let mut m = std::ffi::OsString::from("M=");
    m.push(work);
    command.arg(m).args(["CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF=", "CONFIG_DEBUG_INFO_BTF_MODULES="]);
    command.arg(format!("KCFLAGS=-ffile-prefix-map={}=.", work.display()));
    command.args(compiler.arguments(target)).arg("modules");
    for name in FOREIGN {
        command.env_remove(name);
    }
    if let Some(fetched) = target.compiler {
        // Its assembler and linker too: they come before the host's.
        let host = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([fetched.programs()].into_iter().chain(std::env::split_paths(&host)));
        command.env("PATH", path.map_err(|e| ModuleError::io(&fetched.programs())(std::io::Error::other(e)))?);
    }
    let out = command.env("LC_ALL", "C").stdin(Stdio::null()).output().map_err(ModuleError::io(Path::new("make")))?;
    if out.status.success() {
        return Ok(());
    }
    let said = [out.stdout, out.stderr].concat();
    rtscope_files::write(log, said.as_ref(), 0o600).map_err(ModuleError::io(log))?;
    let text = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = text.lines().collect();
    let said = lines[lines.len().saturating_sub(TAIL)..].join("\n");
    Err(ModuleError::Build { kernel: target.kernel.into(), said, log: log.into() })
}

/// The compiler for a kernel's modules.
#[derive(Debug, PartialEq, Eq)]
struct Compiler {
    /// The cross prefix, such as `aarch64-linux-gnu-`; empty for the host's own.
    prefix: String,
    /// The version suffix, such as `-12`; empty for the default compiler.
    suffix: String,
    /// The headers are Debian's, which name their compiler.
    named: bool,
}

impl Compiler {
    fn of(target: &Target<'_>) -> Self {
        let named = rtscope_files::read_text(&target.headers.join(".kernelvariables"), rtscope_files::SMALL).unwrap_or_default();
        let found = Self::from_variables(&named, target.arch, Arch::host());
        match target.compiler {
            Some(fetched) if !found.named => Self { suffix: fetched.name.trim_start_matches("gcc").to_owned(), ..found },
            _ => found,
        }
    }

    /// Reads Debian's `.kernelvariables`, which contains `CC = ... $(CROSS_COMPILE)gcc-12`.
    fn from_variables(text: &str, arch: Arch, host: Arch) -> Self {
        let cc = text.lines().find_map(|l| l.strip_prefix("CC = ")).and_then(|cc| cc.rsplit(')').next()).unwrap_or_default();
        let version = cc.trim().strip_prefix("gcc").filter(|v| v.starts_with('-'));
        let prefix = if arch == host { String::new() } else { format!("{}-", arch.triple()) };
        Self { prefix, suffix: version.unwrap_or_default().into(), named: !cc.is_empty() }
    }

    fn program(&self) -> String {
        format!("{}gcc{}", self.prefix, self.suffix)
    }

    /// Arguments for `make`. Debian's headers name the compiler, but not all of them the cross prefix for a build
    /// on another architecture.
    fn arguments(&self, target: &Target<'_>) -> Vec<String> {
        let cross = format!("CROSS_COMPILE={}", self.prefix);
        if self.named {
            return if self.prefix.is_empty() { Vec::new() } else { vec![cross] };
        }
        let arch = match target.arch {
            Arch::Amd64 => "x86_64",
            Arch::Arm64 => "arm64",
            Arch::Armhf => "arm",
        };
        // The headers' Makefile takes the default compiler, if nobody says another.
        let cc = (!self.suffix.is_empty()).then(|| format!("CC={}", self.program()));
        [format!("ARCH={arch}"), cross].into_iter().chain(cc).collect()
    }

    /// The first line of its version output, which is part of what determines the modules.
    fn version(&self, target: &Target<'_>) -> Result<String, ModuleError> {
        let cross = self.prefix.trim_end_matches('-').replace('_', "-");
        let package = format!("gcc{}{}{cross}", self.suffix, if cross.is_empty() { "" } else { "-" });
        let fetched = target.compiler.map(|c| c.programs().join(self.program())).filter(|p| p.is_file());
        let program = fetched.map_or_else(|| tool(target, &self.program(), &package), Ok)?;
        let out =
            sys::process::command(&program).arg("--version").stdin(Stdio::null()).output().map_err(ModuleError::io(&program))?;
        Ok(String::from_utf8_lossy(&out.stdout).lines().next().unwrap_or_default().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::Problem as _;

    #[test]
    fn the_compiler_is_the_one_that_the_headers_name() {
        let debian = "override ARCH = arm64\nCC = $(if $(DEBIAN_KERNEL_USE_CCACHE),$(CCACHE)) $(CROSS_COMPILE)gcc-12\n";
        let of = |text: &str, arch| Compiler::from_variables(text, arch, Arch::Amd64);
        assert_eq!(of(debian, Arch::Arm64).program(), "aarch64-linux-gnu-gcc-12");
        assert_eq!(of(debian, Arch::Amd64).program(), "gcc-12");
        assert_eq!(of("", Arch::Armhf).program(), "arm-linux-gnueabihf-gcc");
        assert!(of(debian, Arch::Arm64).named && !of("", Arch::Amd64).named);
        let told = |text: &str, arch| {
            of(text, arch).arguments(&Target { kernel: "x", identity: "1", arch, headers: Path::new("/nowhere"), compiler: None })
        };
        assert_eq!(told(debian, Arch::Arm64), ["CROSS_COMPILE=aarch64-linux-gnu-"], "Debian's 6.1 leaves it open");
        assert!(told(debian, Arch::Amd64).is_empty());
    }

    #[test]
    fn without_a_tool_its_package_is_named() {
        let target = Target { kernel: "x", identity: "1", arch: Arch::host(), headers: Path::new("/nowhere"), compiler: None };
        let compiler = Compiler { prefix: "no-such_arch-".into(), suffix: "-99".into(), named: false };
        let error = compiler.version(&target).unwrap_err();
        assert!(error.to_string().contains("no-such_arch-gcc-99"), "{error}");
        assert_eq!(error.remedy(), "apt-get install gcc-99-no-such-arch");
    }

    #[test]
    fn without_a_compiler_what_was_built_last_is_taken() {
        let cache = tempfile::tempdir().unwrap();
        // Headers that name a compiler which is not installed.
        let headers = tempfile::tempdir().unwrap();
        fs::write(headers.path().join(".kernelvariables"), "CC = $(CROSS_COMPILE)gcc-99\n").unwrap();
        let target = Target { kernel: "x", identity: "1", arch: Arch::host(), headers: headers.path(), compiler: None };
        let error = build(cache.path(), &target, &mut |_| {}).unwrap_err();
        assert!(matches!(&error, ModuleError::NoTool { program, .. } if program == "gcc-99"), "{error}");
        let built = cache.path().join("modules/abc123");
        fs::create_dir_all(&built).unwrap();
        for name in ALL {
            fs::write(built.join(format!("{name}.ko")), "").unwrap();
        }
        let last = cache.path().join("modules").join(last(&recipe(&target)));
        fs::write(&last, "abc123").unwrap();
        assert_eq!(build(cache.path(), &target, &mut |_| {}).unwrap(), built);
        for nothing in ["../modules/abc123", "abc124", ""] {
            fs::write(&last, nothing).unwrap();
            assert!(build(cache.path(), &target, &mut |_| {}).is_err(), "{nothing}");
        }
    }

    #[test]
    fn every_source_is_there_and_no_test_is() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
        let mut there: Vec<String> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        let is_source = |n: &str| n == "Kbuild" || Path::new(n).extension().is_some_and(|e| e == "c" || e == "h" || e == "S");
        there.retain(|n| is_source(n));
        there.sort();
        assert_eq!(there, SOURCES.iter().map(|(n, _)| (*n).to_owned()).collect::<Vec<_>>());
        assert!(SOURCES[0].1.contains("test/rtscope_hold"), "the line that is left out");
    }
}
