//! One kernel: its place among the cache's builds, its configuration, its compilation. Whatever is done stays, and is taken again.

use super::config::{Config, Dropped, Fragment};
use super::deb;
use super::error::BuildError;
use super::kconfig;
use super::order::BuildStep;
use super::process;
use super::source::Tree;
use super::toolchain::{self, Toolchain};
use crate::cache;
use crate::kernels::{Arch, KernelName};
use rtscope_files::{Lock, digest};
use rtscope_load::StopHandle;
use std::fs;
use std::path::{Path, PathBuf};

/// A change of how kernels are built from the same inputs is another number.
const RECIPE: &str = "rtscope-kernel-build/1";
/// Names within a build's directory.
const OBJECTS: &str = "obj";
const INSTALLED: &str = "inst";
const LOG: &str = "log";
const DONE: &str = "done";

/// A kernel to build, or built.
#[derive(Debug)]
pub(super) struct Building<'a> {
    /// What it will be called in the cache.
    pub(super) name: KernelName,
    /// Appended to the version: `-rt`.
    suffix: String,
    tree: &'a Tree,
    tools: &'a Toolchain,
    /// All that is asked of its configuration.
    asked: Fragment,
    /// A whole configuration to start from.
    base: Option<&'a str>,
    dir: PathBuf,
}

/// What a build left.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) image: PathBuf,
    pub(super) modules: PathBuf,
    pub(super) config: PathBuf,
    pub(super) headers: PathBuf,
}

impl<'a> Building<'a> {
    /// A kernel, whose directory follows from everything that determines it.
    pub(super) fn new(
        cache: &Path,
        (name, label): (KernelName, &str),
        (tree, tools): (&'a Tree, &'a Toolchain),
        asked: Fragment,
        base: Option<&'a str>,
    ) -> Self {
        let suffix = format!("-{label}");
        let base_text = base.unwrap_or("nothing");
        let inputs = [RECIPE, &tree.sha256, name.arch().as_str(), &tools.identity, &suffix, &asked.text(), base_text].join("\n");
        let dir = cache.join("builds").join(&digest::bytes(inputs.as_bytes())[..32]);
        Self { name, suffix, tree, tools, asked, base, dir }
    }

    /// Keeps another process from building the same. It ends with the value.
    pub(super) fn lock(&self, on_step: &mut dyn FnMut(&str)) -> Result<Lock, BuildError> {
        fs::create_dir_all(&self.dir).map_err(BuildError::io(&self.dir))?;
        let file = self.dir.join("lock");
        cache::lock(&file, on_step).map_err(BuildError::io(&file))
    }

    /// Whether it was built before.
    pub(super) fn is_done(&self) -> bool {
        self.dir.join(DONE).is_file() && self.files().is_ok()
    }

    /// Makes its configuration, and checks that it is what was asked for.
    pub(super) fn configure(&self, stop: &StopHandle, on_step: &mut dyn FnMut(&str)) -> Result<Config, BuildError> {
        let config = self.objects().join(".config");
        // Written last, so that what a killed process left is configured again.
        let request = self.dir.join("asked.config");
        if !request.is_file() || !config.is_file() {
            fs::create_dir_all(self.objects()).map_err(BuildError::io(&self.objects()))?;
            let asked = self.dir.join("asked.new");
            let written = |path: &Path, text: &str| rtscope_files::write(path, text.as_ref(), 0o600).map_err(BuildError::io(path));
            written(&asked, &self.asked.text())?;
            let mut make = self.make();
            match self.base {
                // Of an option that is named twice, the last value counts.
                Some(base) => {
                    written(&config, &format!("{base}\n{}", self.asked.text()))?;
                    make.arg("olddefconfig");
                }
                None => {
                    make.arg("allnoconfig").env("KCONFIG_ALLCONFIG", &asked);
                }
            }
            self.run(make, "configuring", stop, &mut |_| {})?;
            let (_, left_out) = self.checked()?;
            if !left_out.is_empty() {
                on_step(&format!("{} has no {}: left out", self.tree.about, left_out.join(", ")));
            }
            fs::rename(&asked, &request).map_err(BuildError::io(&request))?;
        }
        self.checked().map(|(config, _)| config)
    }

    /// Its configuration, and the options that it does without because the tree does not have them.
    fn checked(&self) -> Result<(Config, Vec<String>), BuildError> {
        let path = self.objects().join(".config");
        let config = Config::parse(&rtscope_files::read_text(&path, rtscope_files::SMALL).map_err(BuildError::io(&path))?);
        let mut dropped = self.asked.dropped(&config);
        let mut left_out = Vec::new();
        if !dropped.is_empty() {
            let options = self.asked.only_where_known();
            let known = kconfig::defined(&self.tree.dir, &options).map_err(BuildError::io(&self.tree.dir))?;
            let unknown = |d: &Dropped| options.contains(d.option.as_str()) && !known.contains(d.option.as_str());
            left_out.extend(dropped.iter().filter(|d| unknown(d)).map(|d| d.option.clone()));
            dropped.retain(|d| !unknown(d));
        }
        if !dropped.is_empty() {
            return Err(BuildError::Dropped { kernel: self.name.to_string(), dropped });
        }
        self.tools.check(&config)?;
        Ok((config, left_out))
    }

    /// Compiles it, or goes on where that was ended.
    pub(super) fn compile(&self, jobs: usize, stop: &StopHandle, on_step: &mut dyn FnMut(BuildStep<'_>)) -> Result<(), BuildError> {
        let kernel = self.name.to_string();
        on_step(BuildStep::Compiling { kernel: &kernel, files: 0 });
        let mut make = self.make();
        make.arg(format!("-j{jobs}")).arg(self.image_target()).arg("modules");
        self.run(make, "compiling", stop, &mut |files| {
            if files > 0 {
                on_step(BuildStep::Compiling { kernel: &kernel, files });
            }
        })?;
        let installed = self.dir.join(INSTALLED);
        let _ = fs::remove_dir_all(&installed);
        let mut make = self.make();
        let mut to = std::ffi::OsString::from("INSTALL_MOD_PATH=");
        to.push(&installed);
        make.arg(to).args(["INSTALL_MOD_STRIP=1", "modules_install"]);
        self.run(make, "installing the modules of", stop, &mut |_| {})?;
        self.files()?;
        let done = self.dir.join(DONE);
        rtscope_files::write(&done, b"", 0o600).map_err(BuildError::io(&done))
    }

    /// Fails if its Debian packages could not be called what they would be.
    pub(super) fn can_be_packed(&self, config: &Config) -> Result<(), BuildError> {
        deb::nameable(&self.name, &self.suffix, self.tree, config)
    }

    /// Makes Debian packages of it, built before, and puts those of the image and the headers into `to`. Returns where they are, sorted.
    pub(super) fn packages(
        &self,
        jobs: usize,
        to: &Path,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(BuildStep<'_>),
    ) -> Result<Vec<PathBuf>, BuildError> {
        on_step(BuildStep::Says(&format!("making Debian packages of {}", self.name)));
        // The kernel's build system leaves them beside its objects.
        let made = || -> Result<Vec<PathBuf>, BuildError> {
            let entries = fs::read_dir(&self.dir).map_err(BuildError::io(&self.dir))?.flatten().map(|e| e.path());
            let named = |p: &PathBuf| {
                let name = p.file_name().unwrap_or_default().to_string_lossy();
                name.ends_with(".deb") && ["linux-image-", "linux-headers-"].iter().any(|b| name.starts_with(b))
            };
            let mut all: Vec<PathBuf> = entries.filter(named).collect();
            all.sort();
            Ok(all)
        };
        for old in made()? {
            fs::remove_file(&old).map_err(BuildError::io(&old))?;
        }
        let mut make = self.make();
        // -d: what it is built with is here already, by other names where it is cross-built.
        make.arg(format!("-j{jobs}")).args(["KDEB_PKGVERSION=1", "DPKG_FLAGS=-d", "bindeb-pkg"]);
        self.run(make, "packing", stop, &mut |_| {})?;
        let mut all = Vec::new();
        for deb in made()? {
            let kept = to.join(deb.file_name().unwrap_or_default());
            fs::copy(&deb, &kept).map_err(BuildError::io(&kept))?;
            all.push(kept);
        }
        Ok(all)
    }

    /// Where its files are, if they are there.
    pub(super) fn files(&self) -> Result<Files, BuildError> {
        let path = self.objects().join("include/config/kernel.release");
        let release = rtscope_files::read_text(&path, rtscope_files::SMALL).map_err(BuildError::io(&path))?;
        let files = Files {
            image: self.objects().join(toolchain::image(self.name.arch())),
            modules: self.dir.join(INSTALLED).join("lib/modules").join(release.trim()),
            config: self.objects().join(".config"),
            headers: self.objects(),
        };
        for path in [&files.image, &files.modules] {
            fs::metadata(path).map_err(BuildError::io(path))?;
        }
        Ok(files)
    }

    fn objects(&self) -> PathBuf {
        self.dir.join(OBJECTS)
    }

    fn image_target(&self) -> &'static str {
        match self.name.arch() {
            Arch::Amd64 => "bzImage",
            Arch::Arm64 => "Image",
            Arch::Armhf => "zImage",
        }
    }

    fn make(&self) -> std::process::Command {
        self.tools.make(&self.tree.dir, &self.objects(), &self.suffix)
    }

    fn run(
        &self,
        mut make: std::process::Command,
        what: &str,
        stop: &StopHandle,
        on_compiled: &mut dyn FnMut(u64),
    ) -> Result<(), BuildError> {
        process::run(&mut make, &format!("{what} {}", self.name), &self.dir.join(LOG), stop, on_compiled)
    }
}
