//! Loads modules for a run and unloads them after it. In between, the journal lists them.

use super::kernel::probe;
use super::{ModuleError, Target, WantedModule, build, insert};
use crate::image::{compiler, read_module};
use crate::kernels::Arch;
use rtscope_load::journal::{Entered, Journal, Undo};
use rtscope_load::kernel_modules::{WIRE, remove};
use rtscope_sys as sys;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Environment variable that names a directory of built modules.
const DIRECTORY: &str = "RTSCOPE_MODULES";

/// Where a module comes from.
enum Source {
    /// A module file that is loaded directly.
    File(PathBuf),
    /// An installed module, found and unpacked by modprobe.
    Installed(PathBuf),
}

impl Source {
    fn path(&self) -> &Path {
        let (Self::File(path) | Self::Installed(path)) = self;
        path
    }
}

/// Kernel modules loaded on this machine for a run. Dropping this unloads them.
#[derive(Debug)]
pub struct Loaded {
    names: Vec<&'static str>,
    entered: Option<Entered>,
    compilers: BTreeMap<String, String>,
}

impl Loaded {
    /// Loads the wanted modules in this order, after an entry in `journal`. A rtscope_wire that is already loaded
    /// is used and stays loaded; any other module that is already loaded is an error. Modules are searched for in
    /// `$RTSCOPE_MODULES`, then among the system's (DKMS), then in `cache`, where they are built if this kernel's
    /// headers are installed.
    pub fn load(
        wanted: &[WantedModule],
        journal: &Journal,
        cache: &Path,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<Option<Self>, ModuleError> {
        let missing: Vec<&WantedModule> = wanted.iter().filter(|w| w.name != WIRE || !is_loaded(w.name)).collect();
        if missing.is_empty() {
            return Ok(None);
        }
        if let Some(there) = missing.iter().find(|w| is_loaded(w.name)) {
            return Err(ModuleError::Refused {
                module: there.name.into(),
                why: "it is loaded already, by another run or by hand".into(),
                remedy: format!("wait for that run, or unload it: rmmod {}; or measure with it as it is: --dut none", there.name),
            });
        }
        let sources = missing.iter().map(|w| find(w.name, cache, on_step)).collect::<Result<Vec<_>, _>>()?;
        let undo = missing.iter().rev().map(|w| Undo::UnloadModule { name: w.name.into(), parameters: w.parameters.clone() });
        // From here on, dropping `loaded` undoes what was done.
        let entered = Some(journal.enter(undo.collect())?);
        let mut loaded = Self { names: Vec::new(), entered, compilers: compilers(&missing, &sources) };
        for (w, source) in missing.iter().zip(&sources) {
            match source {
                Source::File(file) => insert(file, w.name, &w.parameters)?,
                Source::Installed(_) => probe(w.name, &w.parameters)?,
            }
            loaded.names.push(w.name);
        }
        Ok(Some(loaded))
    }

    /// What built each module, for the record's tools: `rtscope_wire` and `built by GCC: (Debian 12.2.0-14) 12.2.0`.
    pub fn compilers(&self) -> &BTreeMap<String, String> {
        &self.compilers
    }

    /// Unloads the modules, last one first. The error names the module that stays loaded.
    pub fn unload(mut self) -> Result<(), ModuleError> {
        self.undo()
    }

    fn undo(&mut self) -> Result<(), ModuleError> {
        while let Some(name) = self.names.pop() {
            // On an error the rest is left to the journal.
            remove(name)?;
        }
        self.entered.take().into_iter().for_each(Entered::close);
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // `unload` reports errors; here they are left to the journal, and the next start tries again.
        let _: Result<(), ModuleError> = self.undo();
    }
}

fn compilers(wanted: &[&WantedModule], sources: &[Source]) -> BTreeMap<String, String> {
    let built_by = |source: &Source| compiler(&read_module(source.path()).ok()?).map(|c| format!("built by {c}"));
    wanted.iter().zip(sources).filter_map(|(w, source)| Some((w.name.to_owned(), built_by(source)?))).collect()
}

fn is_loaded(name: &str) -> bool {
    Path::new("/sys/module").join(name).exists()
}

fn find(name: &str, cache: &Path, on_step: &mut dyn FnMut(&str)) -> Result<Source, ModuleError> {
    let release = sys::host::uname().map_err(ModuleError::io(Path::new("uname")))?.release;
    let named = std::env::var_os(DIRECTORY).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(dir) = named {
        let file = dir.join(format!("{name}.ko"));
        return match fs::metadata(&file) {
            Ok(_) => Ok(Source::File(file)),
            Err(e) => Err(ModuleError::io(&file)(e)),
        };
    }
    let installed = Path::new("/lib/modules").join(&release);
    for dir in ["updates", "extra"] {
        match walk(&installed.join(dir), name) {
            Some(file) if file.extension().is_some_and(|e| e == "ko") => return Ok(Source::File(file)),
            Some(file) => return Ok(Source::Installed(file)),
            None => {}
        }
    }
    let headers = installed.join("build");
    let version = sys::host::uname().map_or_else(|_| String::new(), |u| u.version);
    if !headers.join("Makefile").exists() {
        let remedy = format!(
            "apt-get install linux-headers-{release}; or build them elsewhere (make -C kernel KDIR=HEADERS) and name their directory: \
             {DIRECTORY}=DIR; or let DKMS build them (kernel/README.md)"
        );
        return Err(ModuleError::NoHeaders { kernel: release, remedy });
    }
    let target = Target { kernel: &release, identity: &version, arch: Arch::host(), headers: &headers, compiler: None };
    build(cache, &target, on_step).map(|dir| Source::File(dir.join(format!("{name}.ko"))))
}

/// The module's file somewhere below `dir`, compressed or not.
fn walk(dir: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(dir).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if entry.file_type().ok()?.is_dir() {
            return walk(&path, name);
        }
        let rest = path.file_name()?.to_str()?.strip_prefix(name)?.to_owned();
        [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].contains(&rest.as_str()).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_below_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let dkms = dir.path().join("dkms");
        fs::create_dir(&dkms).unwrap();
        fs::write(dkms.join("rtscope_wire.ko.xz"), "").unwrap();
        fs::write(dkms.join("rtscope_wire_else.ko"), "").unwrap();
        assert_eq!(walk(dir.path(), "rtscope_wire"), Some(dkms.join("rtscope_wire.ko.xz")));
        assert_eq!(walk(dir.path(), "rtscope_timer"), None);
    }
}
