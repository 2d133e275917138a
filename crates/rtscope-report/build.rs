//! Bundles the report's script (web/) into OUT_DIR with npm and esbuild, so that the repository holds no generated file. In a release's
//! source tarball it is there already, in `prebuilt/`: that needs neither.
#![allow(clippy::disallowed_methods)] // at build time, children may inherit any signal state

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

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
        let text = fs::read_to_string(Path::new(&out).join(name)).map_err(|e| format!("web/build.mjs left no {name}: {e}"))?;
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
    for name in ["src", "package.json", "package-lock.json", "build.mjs"] {
        println!("cargo::rerun-if-changed={}", web.join(name).display());
    }
    install(&web)?;
    run(Command::new("node").arg(web.join("build.mjs")).arg(out).current_dir(&web), "nodejs")
}

fn env(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: this script is run by cargo"))
}

/// Runs `npm ci`, unless web/node_modules is at least as new as the lock file. Concurrent builds (with other target
/// directories) take turns.
fn install(web: &Path) -> Result<(), String> {
    let _turn = Turn::take(&web.join("node_modules.lock"))?;
    let modified = |path: PathBuf| fs::metadata(path).and_then(|m| m.modified());
    let lock = modified(web.join("package-lock.json")).map_err(|e| format!("web/package-lock.json: {e}"))?;
    // npm writes this file last, so it exists only after a complete installation.
    if modified(web.join("node_modules/.package-lock.json")).is_ok_and(|installed| installed >= lock) {
        return Ok(());
    }
    // Only what bundling needs (esbuild, uplot), without install scripts; tests and the type check need a plain `npm ci`
    // in web/.
    let args = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").args(args).current_dir(web), "npm")?;
    // npm keeps the old time stamp when it has nothing to do; renew it, so that the next build does not run npm again.
    let marker = web.join("node_modules/.package-lock.json");
    let file = fs::File::options().append(true).open(&marker).map_err(|e| format!("{}: {e}", marker.display()))?;
    file.set_modified(SystemTime::now()).map_err(|e| format!("{}: {e}", marker.display()))
}

fn run(command: &mut Command, package: &str) -> Result<(), String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|e| {
        format!("cannot run {shown}: {e}\nThe HTML report's script is bundled with Node.js 18 or later: apt-get install nodejs npm ({package} is missing)")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Err(format!(
        "{shown} failed ({}):\n{text}\nTry it by hand in web/: npm ci && node build.mjs /tmp/out (npm needs its registry once)",
        output.status
    ))
}

/// A lock file with the owner's process id; a lock whose owner has ended is taken over.
struct Turn(PathBuf);

impl Turn {
    fn take(path: &Path) -> Result<Self, String> {
        let until = SystemTime::now() + Duration::from_secs(300);
        loop {
            match fs::File::options().write(true).create_new(true).open(path) {
                Ok(mut file) => {
                    use std::io::Write as _;
                    let turn = Self(path.into());
                    write!(file, "{}", std::process::id()).map_err(|e| format!("{}: {e}", path.display()))?;
                    return Ok(turn);
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(format!("{}: {e}", path.display())),
            }
            let gone = fs::read_to_string(path).is_ok_and(|pid| !pid.is_empty() && !Path::new("/proc").join(pid).exists());
            if gone {
                let _ = fs::remove_file(path);
            } else if SystemTime::now() > until {
                return Err(format!(
                    "another build has held {0} for five minutes; if none runs, remove it: rm {0}",
                    path.display()
                ));
            } else {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
