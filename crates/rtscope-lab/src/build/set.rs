//! The kernels of one order: configured all before any is compiled, compared, built, and put into the cache.

use super::config::{Config, OptionChange, difference};
use super::deb;
use super::error::BuildError;
use super::kconfig;
use super::kernel::Building;
use super::order::{BuildOrder, BuildStep};
use super::profile;
use super::source::{self, Tree, Wanted};
use super::toolchain::{self, Toolchain};
use super::vary::{Models, Vary, variants};
use crate::kernels::{CachedKernel, Files, KernelName, Kernels};
use rtscope_load::StopHandle;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The file beside a kernel that says in what it differs from those built with it.
const DIFFERENCE: &str = "difference";

/// A kernel that was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Built {
    /// It, in the cache.
    pub kernel: CachedKernel,
    /// How long that took, seconds; `None` if it had been built before.
    pub seconds: Option<u64>,
    /// Its Debian packages, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<PathBuf>,
}

/// In what two of the kernels differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigDifference {
    /// The first of all.
    pub from: KernelName,
    /// One of the others.
    pub to: KernelName,
    /// Every option that differs, sorted by name.
    pub options: Vec<OptionChange>,
}

/// What an order came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Set {
    /// What it was built from: `linux-source-6.12 6.12.117-1~deb12u1`.
    pub source: String,
    /// SHA-256 of that: of the package, the tarball or the files.
    pub source_sha256: String,
    /// Compiler and linker.
    pub compiler: String,
    /// The kernels, in the order in which they were asked for.
    pub kernels: Vec<Built>,
    /// In what the first differs from each of the others.
    pub differences: Vec<ConfigDifference>,
}

/// Builds what is ordered.
pub fn build(
    kernels: &Kernels,
    order: &BuildOrder,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(BuildStep<'_>),
) -> Result<Set, BuildError> {
    let told = |e: BuildError| if stop.is_stopped() { BuildError::Interrupted } else { e };
    if let Some(dir) = &order.deb {
        deb::beside(&order.source, dir)?;
    }
    let tools = Toolchain::find(order.arch)?;
    if let Some(dir) = &order.deb {
        tools.can_package()?;
        fs::create_dir_all(dir).map_err(BuildError::io(dir))?;
    }
    let cache = kernels.cache_root();
    fs::create_dir_all(cache).map_err(BuildError::io(cache))?;
    let cache = fs::canonicalize(cache).map_err(BuildError::io(cache))?;
    let rt = order.vary.is_empty() || order.vary.iter().any(Vary::has_rt);
    let wanted = Wanted { source: &order.source, rt, arch: order.arch, update: order.update };
    let tree = source::tree(&cache, &wanted, stop, &mut |s| on_step(BuildStep::Says(s))).map_err(told)?;
    let base = order.base.as_deref().map(whole).transpose()?;
    let all = plan(&cache, order, &tree, &tools, base.as_deref())?;
    // Configuring takes seconds and compiling minutes: what can't be had is said before.
    let mut configs = Vec::new();
    for building in &all.buildings {
        let _lock = building.lock(&mut |s| on_step(BuildStep::Says(s))).map_err(told)?;
        if !building.is_done() {
            on_step(BuildStep::Says(&format!("configuring {}", building.name)));
        }
        let config = building.configure(stop, &mut |s| on_step(BuildStep::Says(s)))?;
        if order.deb.is_some() {
            building.can_be_packed(&config)?;
        }
        configs.push(config);
    }
    let differences = all.differences(&configs);
    let text = told_of(&tree, &tools, &differences);
    let mut built = Vec::new();
    for building in &all.buildings {
        let _lock = building.lock(&mut |s| on_step(BuildStep::Says(s))).map_err(told)?;
        let begun = Instant::now();
        let seconds = if building.is_done() {
            None
        } else {
            building.compile(order.jobs, stop, on_step)?;
            Some(begun.elapsed().as_secs())
        };
        let files = building.files()?;
        let beside = [(DIFFERENCE, text.as_str())];
        let kernel = kernels.add(
            &building.name,
            &Files {
                vmlinuz: &files.image,
                modules: Some(&files.modules),
                config: Some(&files.config),
                headers: Some(&files.headers),
                beside: &beside,
            },
        )?;
        let packages = match &order.deb {
            Some(dir) => building.packages(order.jobs, dir, stop, on_step)?,
            None => Vec::new(),
        };
        built.push(Built { kernel, seconds, packages });
    }
    Ok(Set { source: tree.about, source_sha256: tree.sha256, compiler: tools.identity, kernels: built, differences })
}

/// The kernels of an order, before they are built.
struct Plan<'a> {
    buildings: Vec<Building<'a>>,
    /// The options that were asked to differ.
    chosen: BTreeSet<String>,
}

fn plan<'a>(
    cache: &Path,
    order: &BuildOrder,
    tree: &'a Tree,
    tools: &'a Toolchain,
    base: Option<&'a str>,
) -> Result<Plan<'a>, BuildError> {
    let text = |path: &str| {
        let path = tree.dir.join(path);
        kconfig::text(&path).map_err(BuildError::io(&path))
    };
    let models = Models::of(&text("kernel/Kconfig.preempt")?, &text(toolchain::kconfig(order.arch))?);
    let pair = [Vary::pair(models)];
    let (variants, common) = variants(if order.vary.is_empty() { &pair } else { &order.vary }, models, &tree.about)?;
    let lab = [PathBuf::from("lab")];
    let profiles = if order.profiles.is_empty() && base.is_none() { &lab[..] } else { &order.profiles };
    let mut asked = profile::read(profiles, order.arch)?;
    asked.extend(&common);
    let name = order.name.as_deref().unwrap_or(&tree.name);
    let mut plan = Plan { buildings: Vec::new(), chosen: BTreeSet::new() };
    for v in variants {
        plan.chosen.extend(v.own.options().cloned());
        let mut asked = asked.clone();
        asked.extend(&v.own);
        let called = KernelName::own(&format!("{name}-{}", v.label), order.arch)?;
        plan.buildings.push(Building::new(cache, (called, &v.label), (tree, tools), asked, base));
    }
    Ok(plan)
}

impl Plan<'_> {
    /// In what the first differs from each of the others.
    fn differences(&self, configs: &[Config]) -> Vec<ConfigDifference> {
        let Some((first, others)) = self.buildings.split_first() else { return Vec::new() };
        let to = |(other, config): (&Building<'_>, &Config)| ConfigDifference {
            from: first.name.clone(),
            to: other.name.clone(),
            options: difference(&configs[0], config, &self.chosen),
        };
        others.iter().zip(&configs[1..]).map(to).collect()
    }
}

/// A whole configuration.
fn whole(path: &Path) -> Result<String, BuildError> {
    rtscope_files::read_text(path, rtscope_files::SMALL).map_err(|e| {
        BuildError::ask(
            format!("{}: {e}", path.display()),
            "name a whole configuration, such as a board's: zcat /proc/config.gz > FILE",
        )
    })
}

impl std::fmt::Display for ConfigDifference {
    /// What was asked for and what follows from it, an option a line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} -> {}", self.from, self.to)?;
        for (head, chosen) in [("asked for", true), ("follows from it", false)] {
            let lines: Vec<&OptionChange> = self.options.iter().filter(|c| c.chosen == chosen).collect();
            if !lines.is_empty() {
                writeln!(f, "  {head}:")?;
            }
            for line in lines {
                writeln!(f, "    {line}")?;
            }
        }
        Ok(())
    }
}

/// What is kept beside every kernel of a set.
fn told_of(tree: &Tree, tools: &Toolchain, differences: &[ConfigDifference]) -> String {
    let mut text = format!("source: {}, sha256 {}\n", tree.about, tree.sha256);
    for line in tools.identity.lines() {
        let _ = writeln!(text, "tool: {line}");
    }
    for d in differences {
        let _ = write!(text, "\n{d}");
    }
    text
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
