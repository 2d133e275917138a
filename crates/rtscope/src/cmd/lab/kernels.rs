//! `rtscope lab kernels`: list, fetch, remove, add, verify.

use crate::args::lab::{Add, Fetch, Kernels as Options, KernelsCommand};
use crate::cmd::style;
use crate::config::{self, Context};
use crate::error::Code;
use crate::output;
use rtscope_failure::Failure;
use rtscope_lab::image::Tools;
use rtscope_lab::kernels::{Arch, CachedKernel, KernelError, KernelName, Kernels, Listed};
use rtscope_report::table::{self, LabKernelRow};
use serde_json::json;

/// Carries out a command of `lab kernels`.
pub(crate) fn run(context: &Context, a: &Options) -> Result<Code, Failure> {
    let kernels = Kernels::new(config::cache_root()?);
    match &a.command {
        None => list(&kernels, a.json)?,
        Some(KernelsCommand::List(a)) => list(&kernels, a.json)?,
        Some(KernelsCommand::Fetch(a)) => fetch(context, &kernels, a)?,
        Some(KernelsCommand::Add(a)) => add(&kernels, a)?,
        Some(KernelsCommand::Remove { names }) => {
            for name in names {
                if !kernels.remove(name)? {
                    return Err(KernelError::NotFetched {
                        name: name.clone(),
                        remedy: "`rtscope lab kernels` lists those that are".into(),
                    }
                    .into());
                }
                output::result(&format!("{name} removed\n"))?;
            }
        }
        Some(KernelsCommand::Verify { names }) => verify(&kernels, names)?,
    }
    Ok(Code::Done)
}

fn list(kernels: &Kernels, json: bool) -> Result<(), Failure> {
    let all = kernels.list()?;
    if json {
        let rows: Vec<_> = all
            .iter()
            .map(|l| json!({"name": l.name, "bytes": l.bytes, "kernel": l.fetched.as_ref().map(|k| whole(kernels, k))}))
            .collect();
        return output::json(&rows);
    }
    let rows: Vec<LabKernelRow> = all.iter().map(row).collect();
    output::result(&table::lab_kernels(&rows, style()))
}

fn row(l: &Listed) -> LabKernelRow {
    let known = l.fetched.as_ref();
    let or_none = |text: Option<&str>| text.unwrap_or("-").to_owned();
    LabKernelRow {
        name: l.name.to_string(),
        version: or_none(known.and_then(CachedKernel::version)),
        release: or_none(known.map(|k| k.release.as_str())),
        rt: or_none(known.map(|k| k.rt.map_or("?", |rt| if rt { "rt" } else { "stock" }))),
        cached: state(l),
    }
}

fn state(l: &Listed) -> String {
    match (&l.fetched, l.bytes) {
        (Some(_), bytes) => format!("{:.0} MB", bytes as f64 / 1e6),
        (None, 0) => "no".into(),
        (None, _) => "damaged".into(),
    }
}

/// The manifest, with the paths that programs need.
fn whole(kernels: &Kernels, k: &CachedKernel) -> serde_json::Value {
    let mut value = json!(k);
    value["version"] = json!(k.version());
    value["dir"] = json!(k.dir());
    value["vmlinuz"] = json!(k.vmlinuz());
    value["modules_dir"] = json!(k.modules_dir());
    value["config"] = json!(k.config());
    value["headers_dir"] = json!(k.headers_dir());
    value["compiler_dir"] = json!(kernels.compiler_dir(&k.name));
    value
}

fn fetch(context: &Context, kernels: &Kernels, a: &Fetch) -> Result<(), Failure> {
    for name in &a.names {
        let mut on_step = |step: &str| context.say(&format!("{name}: {step}"));
        let kernel = kernels.fetch(name, a.update, &mut on_step)?;
        // Also fetch what the guest needs, so that no later run needs a network.
        Tools::fetch(kernels.cache_root(), kernel.arch, a.update, &mut on_step)?;
        kernels.fetch_compiler(&kernel, &mut on_step)?;
        print(kernels, &kernel, a.json)?;
    }
    Ok(())
}

fn print(kernels: &Kernels, k: &CachedKernel, json: bool) -> Result<(), Failure> {
    if json {
        return output::json(&whole(kernels, k));
    }
    let version = k.version().unwrap_or("own");
    output::result(&format!("{} {} {version} sha256 {}\n", k.name, k.release, k.vmlinuz_sha256))
}

fn add(kernels: &Kernels, a: &Add) -> Result<(), Failure> {
    let name = KernelName::own(&a.name, a.arch.unwrap_or_else(Arch::host))?;
    let kernel = kernels.add_own(&name, &a.vmlinuz, a.modules.as_deref(), a.config.as_deref(), a.headers.as_deref())?;
    print(kernels, &kernel, false)
}

fn verify(kernels: &Kernels, names: &[KernelName]) -> Result<(), Failure> {
    let names = if names.is_empty() {
        kernels.list()?.into_iter().filter(|l| l.bytes > 0).map(|l| l.name).collect()
    } else {
        names.to_vec()
    };
    for name in &names {
        let kernel = kernels.get(name)?;
        kernel.verify()?;
        output::result(&format!("{name}: as it was fetched, {} {}\n", kernel.release, kernel.version().unwrap_or("own")))?;
    }
    Ok(())
}
