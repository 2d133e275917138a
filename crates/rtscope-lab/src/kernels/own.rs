//! Adds a user's own kernel to the cache.

use super::manifest::{CONFIG, MODULES, VMLINUZ};
use super::{CachedKernel, KernelError, KernelName};
use rtscope_files::digest;
use std::fs;
use std::path::Path;

/// The files of a kernel.
pub(crate) struct Files<'a> {
    /// The bootable image.
    pub(crate) vmlinuz: &'a Path,
    /// Its `lib/modules/RELEASE` directory.
    pub(crate) modules: Option<&'a Path>,
    /// The configuration that it was built with.
    pub(crate) config: Option<&'a Path>,
    /// A directory for `make -C`, which is linked, not copied.
    pub(crate) headers: Option<&'a Path>,
    /// Further files beside the kernel: names and texts.
    pub(crate) beside: &'a [(&'a str, &'a str)],
}

/// Copies the files into the empty directory `work`.
pub(super) fn add(work: &Path, name: &KernelName, given: &Files<'_>) -> Result<CachedKernel, KernelError> {
    let vmlinuz = given.vmlinuz;
    let image = rtscope_files::read(vmlinuz, rtscope_files::LARGE)
        .map_err(|e| KernelError::Own(format!("{}: {e}; name a bootable kernel image", vmlinuz.display())))?;
    let of_modules = given.modules.map(release_of_modules).transpose()?;
    let release = of_modules.or_else(|| release_of_image(&image)).ok_or_else(|| {
        let why = "does not say in its header which release it is; give its modules' directory with --modules lib/modules/RELEASE";
        KernelError::Own(format!("{} {why}", vmlinuz.display()))
    })?;
    let copied = |from: &Path, to: &Path| {
        let copy = || std::io::copy(&mut rtscope_files::open(from)?, &mut rtscope_files::fresh(to)?).map(|_| ());
        copy().map_err(KernelError::io(from))
    };
    copied(vmlinuz, &work.join(VMLINUZ))?;
    if let Some(config) = given.config {
        copied(config, &work.join(CONFIG))?;
        let text = rtscope_files::read(&work.join(CONFIG), rtscope_files::SMALL).map_err(KernelError::io(config))?;
        if !is_configuration(&text) {
            let why = "is not a kernel's configuration: name the .config that it was built with";
            return Err(KernelError::Own(format!("{} {why}", config.display())));
        }
    }
    if let Some(from) = given.modules {
        let to = work.join(MODULES).join(&release);
        for file in digest::files(from).map_err(KernelError::io(from))? {
            let within = file.strip_prefix(from).unwrap_or(&file);
            let target = to.join(within);
            // The links `build` and `source` lead out of the tree.
            if file.is_symlink() {
                continue;
            }
            fs::create_dir_all(target.parent().unwrap_or(&to)).map_err(KernelError::io(&target))?;
            copied(&file, &target)?;
        }
    }
    let headers = given.headers.map(|from| -> Result<String, KernelError> {
        let from = fs::canonicalize(from).map_err(KernelError::io(from))?;
        if !from.join("Makefile").is_file() {
            return Err(KernelError::Own(format!("{} has no Makefile: name a kernel's build directory", from.display())));
        }
        std::os::unix::fs::symlink(&from, work.join("headers")).map_err(KernelError::io(&from))?;
        Ok("headers".into())
    });
    for (name, text) in given.beside {
        let path = work.join(name);
        rtscope_files::write(&path, text.as_ref(), 0o600).map_err(KernelError::io(&path))?;
    }
    CachedKernel::enter(work, name, &release, Vec::new(), headers.transpose()?)
}

/// Whether a text sets options like a kernel configuration. Every kernel sets some, on every architecture.
fn is_configuration(text: &[u8]) -> bool {
    text.split(|b| *b == b'\n').any(|l| l.starts_with(b"CONFIG_") && l.contains(&b'='))
}

/// The last component of `lib/modules/RELEASE`.
fn release_of_modules(dir: &Path) -> Result<String, KernelError> {
    let whole = fs::canonicalize(dir)
        .map_err(|e| KernelError::Own(format!("{}: {e}; name a lib/modules/RELEASE directory", dir.display())))?;
    let release = whole.file_name().and_then(|n| n.to_str()).filter(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    let release = release.filter(|_| whole.join("modules.order").is_file() || whole.join("kernel").is_dir());
    release.map(str::to_owned).ok_or_else(|| {
        let why =
            "is not a modules' directory: name lib/modules/RELEASE as `make modules_install` writes it, with modules.order in it";
        KernelError::Own(format!("{} {why}", dir.display()))
    })
}

/// The release of an x86 image, whose header points to it; otherwise the release after the banner of an uncompressed image.
fn release_of_image(image: &[u8]) -> Option<String> {
    // Documentation/arch/x86/boot.rst: `HdrS` at 0x202; at 0x20e the offset of the version string, less 0x200.
    let pc = || {
        let at = image.get(0x202..0x210).filter(|h| h.starts_with(b"HdrS"))?;
        release_at(image.get(usize::from(u16::from_le_bytes([at[12], at[13]])) + 0x200..)?)
    };
    let banner = || {
        let start = image.windows(BANNER.len()).position(|w| w == BANNER)?;
        release_at(&image[start + BANNER.len()..])
    };
    pc().or_else(banner)
}

const BANNER: &[u8] = b"Linux version ";

/// The first word of `text`, if it looks like a release.
fn release_at(text: &[u8]) -> Option<String> {
    let fit = |b: &&u8| b.is_ascii_alphanumeric() || b"._+-~".contains(b);
    let word: Vec<u8> = text.iter().take(65).take_while(fit).copied().collect();
    let word = String::from_utf8(word).ok()?;
    (word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.') && word.len() <= 64 && !word.contains(".."))
        .then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_configuration_is_told_from_other_files() {
        assert!(is_configuration(b"#\n# CONFIG_X is not set\nCONFIG_HZ=250\n"));
        for other in ["", "root:x:0:0\n", "# CONFIG_X is not set\n", "MY_CONFIG_X=y\n"] {
            assert!(!is_configuration(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn an_image_says_its_release() {
        let mut pc = vec![0; 0x400];
        pc[0x202..0x206].copy_from_slice(b"HdrS");
        pc[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        pc[0x300..0x30f].copy_from_slice(b"6.15.2-me (x@y)");
        assert_eq!(release_of_image(&pc).as_deref(), Some("6.15.2-me"));
        assert_eq!(release_of_image(b"\x7f..Linux version 6.1.0-rt7 (gcc)").as_deref(), Some("6.1.0-rt7"));
        assert_eq!(release_of_image(b"Linux version %s"), None);
        assert_eq!(release_of_image(b"Linux version ../../x"), None);
    }

    proptest! {
        #[test]
        fn any_image_is_read(mut image in prop::collection::vec(any::<u8>(), 0..0x300), offset in any::<u16>()) {
            if image.len() >= 0x210 {
                image[0x202..0x206].copy_from_slice(b"HdrS");
                image[0x20e..0x210].copy_from_slice(&offset.to_le_bytes());
            }
            let _ = release_of_image(&image);
        }
    }
}
