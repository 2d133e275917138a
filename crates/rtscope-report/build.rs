//! Bundles the report's script (web/) into OUT_DIR with esbuild, so that the repository holds no generated file. In a release's source
//! tarball it is there already, in `prebuilt/`.
#![allow(clippy::disallowed_methods)] // at build time, children may inherit any signal state

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    match bundle() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn bundle() -> Result<(), String> {
    let out = env("OUT_DIR")?;
    let prebuilt = PathBuf::from(env("CARGO_MANIFEST_DIR")?).join("prebuilt");
    if prebuilt.is_dir() {
        println!("cargo::rerun-if-changed={}", prebuilt.display());
        for name in FILES {
            fs::copy(prebuilt.join(name), Path::new(&out).join(name))
                .map_err(|e| format!("{}: {e}", prebuilt.join(name).display()))?;
        }
    } else {
        build(&out)?;
    }
    for name in FILES {
        let text = fs::read_to_string(Path::new(&out).join(name)).map_err(|e| format!("web/bundle.sh left no {name}: {e}"))?;
        // The page inlines both files, and the browser would end the element at such a tag.
        if text.contains("</script") || text.contains("</style") {
            return Err(format!("{name} holds a closing tag and can't be inlined"));
        }
    }
    Ok(())
}

/// What the page inlines.
const FILES: [&str; 2] = ["report.js", "report.css"];

/// Bundles both files into `out`.
fn build(out: &str) -> Result<(), String> {
    let web = PathBuf::from(env("CARGO_MANIFEST_DIR")?).join("../../web");
    let web = web.canonicalize().map_err(|e| format!("the folder web/ beside crates/ is missing ({}): {e}", web.display()))?;
    for name in ["src", "package-lock.json", "bundle.sh"] {
        println!("cargo::rerun-if-changed={}", web.join(name).display());
    }
    println!("cargo::rerun-if-env-changed=npm_config_registry");
    let script = web.join("bundle.sh");
    let output = Command::new("sh").arg(&script).arg(out).output().map_err(|e| format!("cannot run sh: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{} failed ({}):\n{}It needs curl (apt-get install curl), and npm's registry once.",
        script.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}

fn env(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: this script is run by cargo"))
}
