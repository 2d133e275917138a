//! Turns a kernel's name into a machine that can be started, and fetches or builds all it needs.

use super::error::{GUESTS, GuestError};
use super::guest::{Boot, Guest, LabOptions};
use super::qemu::Qemu;
use super::state::States;
use crate::debian::DEBIAN_12;
use crate::image::{Contents, Image, Images, Tools};
use crate::kernels::{Arch, CachedKernel, KernelError, KernelName, Kernels, Source, ToBoot};
use crate::modules::{self, ModuleError, WantedModule};
use rtscope_load::kernel_modules::WIRE;
use std::path::{Path, PathBuf};

/// Modules that a guest needs from its kernel: the disk, its file system and that one's checksums, and veth pairs.
const MODULES: [&str; 4] = ["null_blk", "ext4", "crc32c_generic", "veth"];
/// The lab's cache: kernels, tools, images and kept states.
#[derive(Debug, Clone)]
pub struct Guests {
    cache: PathBuf,
}

impl Guests {
    /// Guests with the cache at `cache_root`.
    pub fn new(cache_root: impl Into<PathBuf>) -> Self {
        Self { cache: cache_root.into() }
    }

    /// The kernels in the cache.
    pub(crate) fn kernels(&self) -> Kernels {
        Kernels::new(&self.cache)
    }

    /// The kept states in the cache.
    pub(crate) fn states(&self) -> States {
        States::at(self.cache.join("states"))
    }

    /// Whether this host has what every guest of an architecture needs and no fetching brings: QEMU and the guest program.
    pub fn check_host(arch: Arch) -> Result<(), GuestError> {
        Qemu::find(arch)?;
        program(arch)?;
        Ok(())
    }

    /// What a guest with the kernel `name` needs from the network, for a message before the download; `None` when
    /// all is in the cache.
    pub fn to_fetch(&self, name: &KernelName) -> Option<String> {
        let archive = match name.source() {
            Source::Archive { family, .. } => Some(family.entry().archive),
            Source::Own(_) => None,
        };
        let kernel = archive.is_some() && matches!(self.kernels().get(name), Err(KernelError::NotFetched { .. }));
        let tools = Tools::get(&self.cache, name.arch()).is_err();
        let what = match (kernel, tools) {
            (false, false) => return None,
            (true, false) => format!("the kernel {name} (some 130 MB)"),
            (false, true) => "the guest's tools (some 30 MB)".into(),
            (true, true) => format!("the kernel {name} and the guest's tools (some 160 MB)"),
        };
        let mut from = DEBIAN_12.mirror_in_use(name.arch());
        if let Some(other) = archive.filter(|_| kernel).map(|a| a.mirror_in_use(name.arch())).filter(|other| *other != from) {
            from = if tools { format!("{other} and {from}") } else { other };
        }
        Some(format!("fetching {what} from {from}, once; kept in {}", self.cache.display()))
    }

    /// Kernel and image for `name`. What is not in the cache is fetched or built, with each step told
    /// to `on_step`.
    pub(crate) fn prepare(&self, name: &KernelName, on_step: &mut dyn FnMut(&str)) -> Result<(CachedKernel, Image), GuestError> {
        let program = program(name.arch())?;
        let kernel = match (self.kernels().get(name), name.source()) {
            (Err(KernelError::NotFetched { .. }), Source::Archive { .. }) => self.kernels().fetch(name, false, on_step)?,
            (kernel, _) => kernel?,
        };
        let tools = Tools::fetch(&self.cache, name.arch(), false, on_step)?;
        let contents = Contents { kernel: &kernel, guest_program: &program, tools: &tools, modules: &MODULES, extra: &[] };
        let image = Images::new(&self.cache).build(&contents)?;
        Ok((kernel, image))
    }

    /// The directory with rtscope's modules for the kernel `name`, built if they are not in the cache.
    pub fn modules(&self, name: &KernelName, on_step: &mut dyn FnMut(&str)) -> Result<PathBuf, GuestError> {
        let (kernel, _) = self.prepare(name, on_step)?;
        let shown = kernel.name.to_string();
        let Some(headers) = kernel.headers_dir() else {
            let remedy = match name.source() {
                Source::Archive { .. } => format!(
                    "fetch them: rtscope lab kernels fetch --update {shown}; not every archive has those of every kernel for this host"
                ),
                Source::Own(own) => format!("name them: rtscope lab kernels add {own} --headers DIR ..."),
            };
            return Err(ModuleError::NoHeaders { kernel: shown, remedy }.into());
        };
        let (identity, arch) = (&kernel.vmlinuz_sha256, kernel.arch);
        let target = modules::Target { kernel: &shown, identity, arch, headers: &headers, compiler: None };
        let compiler = match self.kernels().compiler(name, on_step) {
            Ok(compiler) => compiler,
            // A cache from another host, where there is no network: it may have what that host's compiler built.
            Err(e) => return modules::built_last(&self.cache, &target).ok_or_else(|| e.into()),
        };
        Ok(modules::build(&self.cache, &modules::Target { compiler: compiler.as_ref(), ..target }, on_step)?)
    }

    /// Adds the modules that a run needs to the options of its guest, built if need be, but for those that the user brought.
    pub fn add_modules(
        &self,
        name: &KernelName,
        wanted: &[WantedModule],
        options: &mut LabOptions,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<(), GuestError> {
        let brought =
            |w: &&WantedModule| !options.modules.iter().any(|(file, _)| file.file_stem().is_some_and(|stem| stem == w.name));
        let wanted: Vec<&WantedModule> = wanted.iter().filter(brought).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let built = self.modules(name, on_step)?;
        // First the instrument, whose lines the other modules use; then the user's modules; then those that answer.
        let (wire, others): (Vec<_>, Vec<_>) = wanted.iter().partition(|w| w.name == WIRE);
        let file = |w: &&&WantedModule| (built.join(format!("{}.ko", w.name)), w.parameters.clone());
        let brought = std::mem::take(&mut options.modules);
        options.modules = wire.iter().map(file).chain(brought).chain(others.iter().map(file)).collect();
        Ok(())
    }

    /// A guest with this kernel.
    pub fn open(&self, booted: &ToBoot, options: LabOptions, on_step: &mut dyn FnMut(&str)) -> Result<Guest, GuestError> {
        // Check for QEMU before fetching anything.
        let qemu = Qemu::find(booted.kernel.arch())?;
        let (kernel, image) = self.prepare(&booted.kernel, on_step)?;
        let boot = Boot {
            arch: kernel.arch,
            name: kernel.name.to_string(),
            parameters: booted.parameters.clone(),
            package: kernel.packages.first().map(|p| format!("{} {}", p.name, p.version)).unwrap_or_default(),
            kernel: (kernel.bootable()?, kernel.vmlinuz_sha256.clone()),
            image: (image.path, image.sha256),
            config: kernel.config(),
            has_modules: kernel.modules.is_some(),
            missing: image.missing,
        };
        Ok(Guest::new(qemu, boot, options, self.states())?)
    }
}

/// The guest program for an architecture: in the directory that `$RTSCOPE_GUESTS` names, beside this program,
/// or in `../lib/rtscope`.
fn program(arch: Arch) -> Result<PathBuf, GuestError> {
    let me = std::env::current_exe().unwrap_or_default();
    let name = format!("rtscope-guest-{arch}");
    let named = std::env::var_os(GUESTS).filter(|v| !v.is_empty()).map(PathBuf::from);
    let beside = me.parent().map(Path::to_path_buf);
    let installed = beside.as_ref().map(|dir| dir.join("../lib/rtscope"));
    let found = [named, beside, installed].into_iter().flatten().map(|dir| dir.join(&name)).find(|path| path.is_file());
    found.ok_or(GuestError::NoProgram { arch, name, me })
}
