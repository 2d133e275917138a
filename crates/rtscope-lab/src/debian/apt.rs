//! The private apt: its configuration, its queries, and what a host may lack.

use super::archive::{Archive, DEBIAN_12, Keys};
use super::control::{self, Paragraph};
use super::error::DebianError;
use crate::cache;
use crate::kernels::Arch;
use rtscope_files::Lock;
use rtscope_files::digest;
use rtscope_sys as sys;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A package that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Package {
    /// Its name.
    #[serde(rename = "package")]
    pub(crate) name: String,
    /// Its exact version.
    pub(crate) version: String,
    /// The archive's name of its architecture, or `all`.
    pub(crate) arch: String,
    /// SHA-256 of the `.deb` file.
    pub(crate) sha256: String,
}

/// apt for one architecture. A lock keeps a second process from using it at the same time.
#[derive(Debug)]
pub(crate) struct Apt {
    dir: PathBuf,
    archive: &'static Archive,
    arch: Arch,
    /// What `update` complained about, if anything: some index may be stale while others work.
    complaint: String,
    _lock: Lock,
}

impl Apt {
    /// apt for Debian 12: prepared in the cache, its index brought up to date.
    pub(crate) fn open(cache: &Path, arch: Arch, on_step: &mut dyn FnMut(&str)) -> Result<Self, DebianError> {
        Self::open_archive(&DEBIAN_12, cache, arch, on_step)
    }

    /// The same for any archive. Keys that are in a package come from Debian 12.
    pub(crate) fn open_archive(
        archive: &'static Archive,
        cache: &Path,
        arch: Arch,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<Self, DebianError> {
        require([("apt-get", "apt"), ("apt-cache", "apt"), ("dpkg-deb", "dpkg")])?;
        let mirror = archive.mirror(arch, std::env::var(archive.variable).ok().as_deref())?;
        let keyring = keyring(archive, cache, on_step)?;
        let dir = archive.index_dir(cache, arch);
        let made = |d: PathBuf| fs::create_dir_all(&d).map_err(DebianError::io(&d));
        made(dir.join("lists/partial"))?;
        made(dir.join("archives/partial"))?;
        let dir = dir.canonicalize().map_err(DebianError::io(&dir))?;
        let lock = dir.join("lock");
        let lock = cache::lock(&lock, on_step).map_err(DebianError::io(&lock))?;
        let sources = archive.sources(arch, &mirror, &keyring);
        for (file, text) in [("status", String::new()), ("sources.list", sources), ("apt.conf", configuration(&dir, arch)?)] {
            let path = dir.join(file);
            fs::write(&path, text).map_err(DebianError::io(&path))?;
        }
        let mut apt = Self { dir, archive, arch, complaint: String::new(), _lock: lock };
        on_step(&format!("reading {}'s index for {arch}", archive.vendor));
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

    /// Downloads Debian's part of a source package (its patches, without what they are for) into `dir`. apt checks it against the signed
    /// index.
    pub(crate) fn download_patches(
        &self,
        (name, version): (&str, &str),
        dir: &Path,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, DebianError> {
        on_step(&format!("downloading the patches of the source package {name} {version}"));
        let wanted = format!("{name}={version}");
        let words = ["-qq", "source", "--download-only", "--diff-only", &wanted];
        self.succeed(sys::process::command("apt-get").args(words).current_dir(dir))?;
        let files = fs::read_dir(dir).map_err(DebianError::io(dir))?.flatten().map(|e| e.path());
        let mut tarballs = files.filter(|p| p.to_string_lossy().contains(".debian.tar."));
        tarballs.next().ok_or_else(|| failed(self.archive, "apt-get source", format!("it left no tarball of {name} {version}")))
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
        DebianError::NotFound { wanted: wanted.into(), vendor: self.archive.vendor, arch: self.arch, said: self.complaint.clone() }
    }

    fn run(&self, command: &mut Command) -> Result<Output, DebianError> {
        command.env("APT_CONFIG", self.dir.join("apt.conf"));
        output(command)
    }

    fn succeed(&self, command: &mut Command) -> Result<String, DebianError> {
        command.env("APT_CONFIG", self.dir.join("apt.conf"));
        succeed(self.archive, command)
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
            let fields = succeed(
                &DEBIAN_12,
                sys::process::command("dpkg-deb").arg("-f").arg(&file).args(["Package", "Version", "Architecture"]),
            )?;
            let [paragraph] = &control::parse(&fields)[..] else {
                return Err(failed(&DEBIAN_12, "dpkg-deb -f", format!("{}: {fields}", file.display())));
            };
            on_step(&format!("unpacking {} {}", paragraph.get("Package"), paragraph.get("Version")));
            packages.push(Self {
                name: paragraph.get("Package").to_owned(),
                version: paragraph.get("Version").to_owned(),
                arch: paragraph.get("Architecture").to_owned(),
                sha256: digest::file(&file).map_err(DebianError::io(&file))?,
            });
            succeed(&DEBIAN_12, sys::process::command("dpkg-deb").arg("-x").arg(&file).arg(root))?;
            fs::remove_file(&file).map_err(DebianError::io(&file))?;
        }
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(packages)
    }
}

pub(super) fn output(command: &mut Command) -> Result<Output, DebianError> {
    command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    let program = PathBuf::from(command.get_program());
    command.output().map_err(DebianError::io(&program))
}

fn succeed(archive: &Archive, command: &mut Command) -> Result<String, DebianError> {
    let out = output(command)?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(failed(archive, words_of(command), last_words(&out)))
}

/// The beginning of a command, for messages.
pub(super) fn words_of(command: &Command) -> String {
    let words: Vec<_> = command.get_args().take(2).map(|a| a.to_string_lossy()).collect();
    format!("{} {}", command.get_program().to_string_lossy(), words.join(" "))
}

fn failed(archive: &Archive, program: impl Into<String>, said: String) -> DebianError {
    DebianError::Apt { vendor: archive.vendor, variable: archive.variable, program: program.into(), said }
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

/// Programs that this host must have, each with the Debian package that contains it.
pub(super) fn require(programs: [(&str, &'static str); 3]) -> Result<(), DebianError> {
    match programs.into_iter().find(|(program, _)| !installed(program)) {
        Some((program, package)) => Err(DebianError::Missing { what: format!("the program {program}"), package }),
        None => Ok(()),
    }
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|d| d.join(program).is_file())
}

/// The file with the keys of an archive, for apt: fetched if it is in a package that the cache has not got.
pub(super) fn keyring(archive: &Archive, cache: &Path, on_step: &mut dyn FnMut(&str)) -> Result<String, DebianError> {
    let file = match &archive.keys {
        Keys::Host { file, package } => {
            if !Path::new(file).is_file() {
                return Err(DebianError::Missing { what: format!("{}'s keyring {file}", archive.vendor), package });
            }
            PathBuf::from(file)
        }
        Keys::Packaged { package, file } => packaged_keyring(package, file, cache, on_step)?,
        Keys::Users(variable, what) => {
            let named = std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
            named.ok_or_else(|| {
                let why = format!("packages of {} are taken only if they are signed; name the keys", archive.vendor);
                DebianError::Unusable(format!("{why}: {variable}=FILE ({what})"))
            })?
        }
    };
    let unusable = |e| DebianError::Unusable(format!("{}'s keyring {}: {e}", archive.vendor, file.display()));
    let whole = file.canonicalize().map_err(unusable)?;
    let plain = |p: &&str| !p.contains(|c: char| c.is_whitespace() || c.is_control() || "[]\"\\,".contains(c));
    whole.to_str().filter(plain).map(str::to_owned).ok_or_else(|| {
        DebianError::Unusable(format!("{}: apt and dnf read no keys from a path with blanks, commas or brackets", whole.display()))
    })
}

/// A keyring from a package of Debian 12, kept in the cache.
fn packaged_keyring(package: &str, file: &str, cache: &Path, on_step: &mut dyn FnMut(&str)) -> Result<PathBuf, DebianError> {
    let dir = cache.join("apt/keyrings");
    let kept = dir.join(Path::new(file).file_name().unwrap_or_default());
    if kept.is_file() {
        return Ok(kept);
    }
    let apt = Apt::open(cache, Arch::host(), on_step)?;
    // Used only under apt's lock, so anything here was left by a killed process.
    let work = dir.join("new");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).map_err(DebianError::io(&work))?;
    apt.download(&[package.to_owned()], &work, on_step)?;
    let root = work.join("root");
    Package::unpack_all(&work, &root, on_step)?;
    let unpacked = root.join(file);
    fs::rename(&unpacked, &kept).map_err(DebianError::io(&unpacked))?;
    fs::remove_dir_all(&work).map_err(DebianError::io(&work))?;
    Ok(kept)
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
    fn a_path_that_would_end_its_quotes_is_refused() {
        assert!(configuration(Path::new("/a\";b"), Arch::Amd64).is_err());
        assert!(configuration(Path::new("/a b"), Arch::Amd64).unwrap().contains("Dir \"/a b\";"));
    }

    #[test]
    fn sizes_are_added_up() {
        assert_eq!(total("'http://a' a_1.deb 106390460 SHA256:7f\n'http://b' b.deb 40 SHA256:00\nnoise\n"), 106_390_500);
    }
}
