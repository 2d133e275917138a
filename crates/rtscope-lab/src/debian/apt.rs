//! The private apt: its configuration, its queries, and what a host may lack.

use super::control::{self, Paragraph};
use crate::cache;
use crate::kernels::Arch;
use rtscope_failure::{Fault, Problem};
use rtscope_files::Lock;
use rtscope_files::digest;
use rtscope_sys as sys;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const MIRROR: &str = "http://deb.debian.org/debian";
/// Selects a mirror other than deb.debian.org. The security archive is expected beside it, with `-security` appended.
const MIRROR_VARIABLE: &str = "RTSCOPE_DEBIAN_MIRROR";

/// Why a Debian package can't be fetched.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// A program or file is missing on the host.
    #[error(
        "{what} is missing on this host; install it (Debian, Ubuntu: apt install {package}), or fetch on a host that has it and copy the cache"
    )]
    Missing {
        /// The program or file.
        what: String,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// `$RTSCOPE_DEBIAN_MIRROR` or the cache's path can't be used.
    #[error("{0}")]
    Unusable(String),
    /// apt knows no such package.
    #[error("{wanted} is not in Debian's index for {arch}{said}; is there a network, and is the mirror complete?")]
    NotFound {
        /// What was searched for.
        wanted: String,
        /// For which architecture.
        arch: Arch,
        /// What apt said when it updated the index, after `; apt said: `.
        said: String,
    },
    /// A program failed.
    #[error("{program} failed: {said}; is there a network, and does $RTSCOPE_DEBIAN_MIRROR, if set, name a Debian mirror?")]
    Apt {
        /// Which one.
        program: String,
        /// The end of its output.
        said: String,
    },
    /// A file of the cache can't be read or written.
    #[error("{path}: {source}; make it writable or set RTSCOPE_CACHE to another directory", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Problem for DebianError {
    fn remedy(&self) -> String {
        match self {
            // These messages already contain the remedy.
            Self::Missing { .. } | Self::Unusable(_) | Self::NotFound { .. } | Self::Apt { .. } | Self::Io { .. } => String::new(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Unusable(_) => Fault::Usage,
            Self::Missing { .. } | Self::NotFound { .. } | Self::Apt { .. } | Self::Io { .. } => Fault::Machine,
        }
    }
}

impl DebianError {
    /// Wraps an I/O error for `path`, for use with `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}

/// A package that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Package {
    /// Its name.
    #[serde(rename = "package")]
    pub(crate) name: String,
    /// Its exact version.
    pub(crate) version: String,
    /// Debian's name of its architecture, or `all`.
    pub(crate) arch: String,
    /// SHA-256 of the `.deb` file.
    pub(crate) sha256: String,
}

/// apt for one architecture. A lock keeps a second process from using it at the same time.
#[derive(Debug)]
pub(crate) struct Apt {
    dir: PathBuf,
    arch: Arch,
    /// What `update` complained about, if anything: some index may be stale while others work.
    complaint: String,
    _lock: Lock,
}

impl Apt {
    /// Prepares apt in the cache and brings its index up to date.
    pub(crate) fn open(cache: &Path, arch: Arch, on_step: &mut dyn FnMut(&str)) -> Result<Self, DebianError> {
        for (program, package) in [("apt-get", "apt"), ("apt-cache", "apt"), ("dpkg-deb", "dpkg")] {
            if !installed(program) {
                return Err(DebianError::Missing { what: format!("the program {program}"), package });
            }
        }
        if !Path::new(KEYRING).is_file() {
            let what = format!("Debian's keyring {KEYRING}");
            return Err(DebianError::Missing { what, package: "debian-archive-keyring" });
        }
        let mirror = mirror(std::env::var(MIRROR_VARIABLE).ok().as_deref())?;
        let dir = cache.join("apt").join(arch.as_str());
        let made = |d: PathBuf| fs::create_dir_all(&d).map_err(DebianError::io(&d));
        made(dir.join("lists/partial"))?;
        made(dir.join("archives/partial"))?;
        let dir = dir.canonicalize().map_err(DebianError::io(&dir))?;
        let lock = dir.join("lock");
        let lock = cache::lock(&lock, on_step).map_err(DebianError::io(&lock))?;
        for (file, text) in
            [("status", String::new()), ("sources.list", sources(arch, &mirror)), ("apt.conf", configuration(&dir, arch)?)]
        {
            let path = dir.join(file);
            fs::write(&path, text).map_err(DebianError::io(&path))?;
        }
        let mut apt = Self { dir, arch, complaint: String::new(), _lock: lock };
        on_step(&format!("reading Debian's index for {arch}"));
        let out = apt.run(sys::process::command("apt-get").args(["-q", "update"]))?;
        // Without a network apt only warns, and uses the index it has.
        if !out.status.success() || String::from_utf8_lossy(&out.stderr).contains("Failed to fetch") {
            apt.complaint = format!("; apt said: {}", last_words(&out));
        }
        Ok(apt)
    }

    /// All available versions of the packages, newest first for each name. Unknown names are left out.
    pub(crate) fn show(&self, names: &[&str]) -> Result<Vec<Paragraph>, DebianError> {
        let out = self.run(sys::process::command("apt-cache").arg("show").args(names))?;
        Ok(control::parse(&String::from_utf8_lossy(&out.stdout)))
    }

    /// Downloads the packages (`NAME=VERSION`) into `dir`. apt checks them against the signed index.
    pub(crate) fn download(&self, wanted: &[String], dir: &Path, on_step: &mut dyn FnMut(&str)) -> Result<(), DebianError> {
        let uris = self.succeed(sys::process::command("apt-get").args(["-qq", "--print-uris", "download"]).args(wanted))?;
        on_step(&format!("downloading {} ({})", wanted.join(", "), megabytes(total(&uris))));
        self.succeed(sys::process::command("apt-get").args(["-qq", "download"]).args(wanted).current_dir(dir)).map(|_| ())
    }

    /// Downloads packages and all their dependencies into `dir`.
    pub(crate) fn download_closure(&self, wanted: &[&str], dir: &Path, on_step: &mut dyn FnMut(&str)) -> Result<(), DebianError> {
        let partial = dir.join("partial");
        fs::create_dir_all(&partial).map_err(DebianError::io(&partial))?;
        let archives = format!("Dir::Cache::Archives={}", dir.display());
        let install = ["-qq", "-y", "--no-install-recommends", "-o", &archives, "install"];
        let uris = self.succeed(sys::process::command("apt-get").args(install).arg("--print-uris").args(wanted))?;
        on_step(&format!("downloading {} with their dependencies ({})", wanted.join(", "), megabytes(total(&uris))));
        self.succeed(sys::process::command("apt-get").args(install).arg("--download-only").args(wanted)).map(|_| ())
    }

    /// The error that `wanted` was not found, with what apt said about its index.
    pub(crate) fn not_found(&self, wanted: impl Into<String>) -> DebianError {
        DebianError::NotFound { wanted: wanted.into(), arch: self.arch, said: self.complaint.clone() }
    }

    fn run(&self, command: &mut Command) -> Result<Output, DebianError> {
        command.env("APT_CONFIG", self.dir.join("apt.conf"));
        output(command)
    }

    fn succeed(&self, command: &mut Command) -> Result<String, DebianError> {
        command.env("APT_CONFIG", self.dir.join("apt.conf"));
        succeed(command)
    }
}

impl Package {
    /// Unpacks every `.deb` file in `dir` into `root` and removes it. Returns the packages, sorted by file name.
    pub(crate) fn unpack_all(dir: &Path, root: &Path, on_step: &mut dyn FnMut(&str)) -> Result<Vec<Self>, DebianError> {
        let entries = fs::read_dir(dir).map_err(DebianError::io(dir))?.flatten().map(|e| e.path());
        let mut files: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "deb")).collect();
        files.sort();
        let mut packages = Vec::new();
        for file in files {
            let fields =
                succeed(sys::process::command("dpkg-deb").arg("-f").arg(&file).args(["Package", "Version", "Architecture"]))?;
            let [paragraph] = &control::parse(&fields)[..] else {
                return Err(DebianError::Apt { program: "dpkg-deb -f".into(), said: format!("{}: {fields}", file.display()) });
            };
            on_step(&format!("unpacking {} {}", paragraph.get("Package"), paragraph.get("Version")));
            packages.push(Self {
                name: paragraph.get("Package").to_owned(),
                version: paragraph.get("Version").to_owned(),
                arch: paragraph.get("Architecture").to_owned(),
                sha256: digest::file(&file).map_err(DebianError::io(&file))?,
            });
            succeed(sys::process::command("dpkg-deb").arg("-x").arg(&file).arg(root))?;
            fs::remove_file(&file).map_err(DebianError::io(&file))?;
        }
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(packages)
    }
}

fn output(command: &mut Command) -> Result<Output, DebianError> {
    command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    let program = PathBuf::from(command.get_program());
    command.output().map_err(DebianError::io(&program))
}

fn succeed(command: &mut Command) -> Result<String, DebianError> {
    let out = output(command)?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let words: Vec<_> = command.get_args().take(2).map(|a| a.to_string_lossy()).collect();
    let program = format!("{} {}", command.get_program().to_string_lossy(), words.join(" "));
    Err(DebianError::Apt { program, said: last_words(&out) })
}

/// apt's errors, else its first warning, else its last line.
fn last_words(out: &Output) -> String {
    let text = String::from_utf8_lossy(&out.stderr);
    let errors: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("E: ")).take(2).collect();
    let warning = || text.lines().find_map(|l| l.strip_prefix("W: ")).or(text.lines().last()).unwrap_or("it said nothing");
    if errors.is_empty() { warning().trim().to_owned() } else { errors.join(" / ") }
}

/// A size as text: `101.5 MB`.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Sum of the sizes in lines of the form `'URI' FILE SIZE HASH`.
fn total(uris: &str) -> u64 {
    uris.lines().filter_map(|l| l.split_whitespace().nth(2)?.parse::<u64>().ok()).sum()
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|d| d.join(program).is_file())
}

/// The mirror, as text for people; the variable may hold something that is not an address.
pub(crate) fn mirror_in_use() -> String {
    std::env::var(MIRROR_VARIABLE).ok().filter(|t| !t.is_empty()).unwrap_or_else(|| MIRROR.into())
}

/// The mirror, checked to be an address.
fn mirror(set: Option<&str>) -> Result<String, DebianError> {
    let Some(text) = set.filter(|t| !t.is_empty()) else { return Ok(MIRROR.into()) };
    let known = ["http://", "https://", "file:/"].iter().any(|s| text.starts_with(s));
    if !known || text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '[') {
        let why = format!("${MIRROR_VARIABLE} is `{text}`, which is not an address of a Debian mirror; such as {MIRROR}");
        return Err(DebianError::Unusable(why));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn sources(arch: Arch, mirror: &str) -> String {
    let suites = [(mirror, "bookworm"), (mirror, "bookworm-backports"), (&*format!("{mirror}-security"), "bookworm-security")];
    let line = |(from, suite): &(&str, &str)| format!("deb [arch={arch} signed-by={KEYRING}] {from} {suite} main\n");
    suites.iter().map(line).collect()
}

fn configuration(dir: &Path, arch: Arch) -> Result<String, DebianError> {
    let dir = dir.to_str().filter(|d| !d.contains(['"', '\\', '\n']));
    let dir =
        dir.ok_or_else(|| DebianError::Unusable("apt can't use a cache whose path has quotes in it; set RTSCOPE_CACHE".into()))?;
    let mut text = format!(
        r#"Dir "{dir}";
Dir::State "{dir}";
Dir::State::status "{dir}/status";
Dir::State::Lists "{dir}/lists";
Dir::Cache "{dir}";
Dir::Cache::Archives "{dir}/archives";
Dir::Etc "{dir}";
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::Etc::SourceList "{dir}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Log "{dir}";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Sandbox::User "root";
Debug::NoLocking "1";
Acquire::Languages "none";
Acquire::Retries "3";
"#
    );
    // Take over the host's settings for reaching the archive: proxies, and how its release dates are checked.
    if let Ok(host) = output(sys::process::command("apt-config").arg("dump").env_remove("APT_CONFIG")) {
        let host = String::from_utf8_lossy(&host.stdout).into_owned();
        let wanted = ["Acquire::http", "Acquire::Check-", "Acquire::ForceIPv"];
        for line in host.lines().filter(|l| wanted.iter().any(|w| l.starts_with(w))) {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_are_mirrors() {
        assert_eq!(mirror(None).unwrap(), MIRROR);
        assert_eq!(mirror(Some("")).unwrap(), MIRROR);
        assert_eq!(mirror(Some("https://mirror.example/debian/")).unwrap(), "https://mirror.example/debian");
        for wrong in ["mirror.example", "http://a b", "http://a\ndeb http://b", "[x] http://c"] {
            assert!(mirror(Some(wrong)).is_err_and(|e| e.is_usage()), "{wrong}");
        }
    }

    #[test]
    fn the_security_archive_lies_beside_the_mirror() {
        let text = sources(Arch::Armhf, MIRROR);
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("[arch=armhf signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian-security bookworm-security main"));
    }

    #[test]
    fn a_path_that_would_end_its_quotes_is_refused() {
        assert!(configuration(Path::new("/a\";b"), Arch::Amd64).is_err());
        assert!(configuration(Path::new("/a b"), Arch::Amd64).unwrap().contains("Dir \"/a b\";"));
    }

    #[test]
    fn sizes_are_added_up() {
        assert_eq!(total("'http://a' a_1.deb 106390460 SHA256:7f\n'http://b' b.deb 40 SHA256:00\nnoise\n"), 106_390_500);
    }
}
