//! The kernel's configuration (`/proc/config.gz`, `/boot/config-RELEASE`) and its command line.

use super::root::Root;
use std::collections::BTreeMap;

/// A longer configuration is cut off here, compressed or not, bytes. Real ones have about 300 KiB.
const LONGEST: usize = 4 << 20;

/// Options that make every lock or memory access slower by factors: kernels for finding bugs, not for measuring.
const DEBUGGING: [&str; 7] = [
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_KMSAN",
    "CONFIG_PROVE_LOCKING",
    "CONFIG_DEBUG_LOCK_ALLOC",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_DEBUG_KMEMLEAK",
];

/// The options that are set in a kernel's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// The file they were read from.
    pub file: String,
    /// The file is the running kernel's own and can't be that of another build.
    pub running: bool,
    values: BTreeMap<String, String>,
}

impl Config {
    /// The best configuration at hand for the running kernel.
    pub fn find(root: &Root) -> Option<Self> {
        let own = "/proc/config.gz";
        if let Some(config) = root.bytes(own, LONGEST as u64).and_then(|gz| gunzip(&gz)) {
            return Self::parse(own, true, &config);
        }
        let release = &root.facts.uname.release;
        if release.is_empty() || release.contains('/') {
            return None;
        }
        // Debian, Fedora and Arch in that order; the second also where /usr is a file system of its own.
        let files =
            [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config"), format!("/usr/lib/modules/{release}/config")];
        files.iter().find_map(|file| Self::parse(file, false, &root.bytes(file, LONGEST as u64)?))
    }

    /// `None` when the text sets no option at all, which is then no configuration.
    pub fn parse(file: &str, running: bool, text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let option = |line: &str| {
            let (name, value) = line.trim().split_once('=')?;
            name.starts_with("CONFIG_").then(|| (name.to_owned(), value.trim_matches('"').to_owned()))
        };
        let values: BTreeMap<String, String> = text.lines().filter_map(option).collect();
        if values.is_empty() { None } else { Some(Self { file: file.into(), running, values }) }
    }

    /// Whether the option is built in (`=y`).
    pub fn has(&self, option: &str) -> bool {
        self.values.get(option).is_some_and(|value| value == "y")
    }

    /// `CONFIG_HZ`.
    pub fn hz(&self) -> Option<u32> {
        self.values.get("CONFIG_HZ")?.parse().ok()
    }

    /// Those that slow everything down, of [`DEBUGGING`].
    pub fn debug_options(&self) -> Vec<String> {
        DEBUGGING.iter().filter(|option| self.has(option)).map(|&option| option.into()).collect()
    }
}

/// The content of a gzip file of one member (RFC 1952), which `/proc/config.gz` is. Its check sum is not verified: the kernel made
/// the file from its own memory.
fn gunzip(gz: &[u8]) -> Option<Vec<u8>> {
    let flags = *gz.get(3)?;
    if !gz.starts_with(&[0x1f, 0x8b, 8]) || flags & 0xe0 != 0 {
        return None;
    }
    let mut rest = gz.get(10..)?;
    if flags & 4 != 0 {
        let extra = usize::from(u16::from_le_bytes([*rest.first()?, *rest.get(1)?]));
        rest = rest.get(2 + extra..)?;
    }
    // The file's name, then a comment, each up to a NUL.
    for flag in [8, 16] {
        if flags & flag != 0 {
            rest = &rest[rest.iter().position(|&b| b == 0)? + 1..];
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..)?;
    }
    miniz_oxide::inflate::decompress_to_vec_with_limit(rest, LONGEST).ok()
}

/// The value of the kernel parameter `name`, the last one if it is given more than once; empty if it is given without a value.
///
/// As the kernel reads it: `-` and `_` are the same in names, double quotes keep white space together, and what follows `--`
/// belongs to init.
pub fn parameter<'a>(cmdline: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    for word in words(cmdline).take_while(|&word| word != "--") {
        let word = word.trim_matches('"');
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if key.len() == name.len() && key.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a == b'-' && b == b'_')) {
            found = Some(value.trim_matches('"'));
        }
    }
    found
}

/// Words between white space that is not inside double quotes.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    })
    .filter(|word| !word.is_empty())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A gzip file as the kernel's build makes it (`gzip -9n`: no name, no time).
    pub(in super::super) fn gzip(content: &[u8]) -> Vec<u8> {
        let mut gz = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3];
        gz.extend(miniz_oxide::deflate::compress_to_vec(content, 6));
        gz.extend([0; 8]);
        gz
    }

    #[test]
    fn gzip_files_with_every_optional_field() {
        let plain = gzip(b"CONFIG_HZ=250\n");
        assert_eq!(gunzip(&plain).unwrap(), b"CONFIG_HZ=250\n");
        let mut full = plain[..10].to_vec();
        full[3] = 4 | 8 | 16 | 2;
        full.extend([3, 0, b'x', b'y', b'z']);
        full.extend(b"name\0comment\0");
        full.extend([1, 2]);
        full.extend(&plain[10..]);
        assert_eq!(gunzip(&full).unwrap(), b"CONFIG_HZ=250\n");
        assert_eq!(gunzip(&plain[..12]), None);
    }

    #[test]
    fn a_bomb_is_not_inflated() {
        assert_eq!(gunzip(&gzip(&vec![0; LONGEST + 1])), None);
    }

    #[test]
    fn options() {
        let text = b"# CONFIG_KASAN is not set\nCONFIG_HZ=1000\nCONFIG_PREEMPT_RT=y\nCONFIG_PROVE_LOCKING=y\nCONFIG_X=m\nCONFIG_NAME=\"a\"\n";
        let config = Config::parse("f", true, text).unwrap();
        assert!(config.has("CONFIG_PREEMPT_RT") && !config.has("CONFIG_KASAN") && !config.has("CONFIG_X"));
        assert_eq!(config.hz(), Some(1000));
        assert_eq!(config.debug_options(), ["CONFIG_PROVE_LOCKING"]);
        assert_eq!(Config::parse("f", true, b"no configuration\n"), None);
    }

    #[test]
    fn parameters() {
        let line = "root=/dev/sda1 isolcpus=1-3 preempt=full quiet rcu-nocbs=2 name=\"a b\" \"x=c d\" preempt=none -- preempt=lazy nosmt";
        for (name, value) in [
            ("preempt", Some("none")),
            ("isolcpus", Some("1-3")),
            ("rcu_nocbs", Some("2")),
            ("quiet", Some("")),
            ("name", Some("a b")),
            ("x", Some("c d")),
            ("nosmt", None),
            ("pre", None),
        ] {
            assert_eq!(parameter(line, name), value, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0usize..300, with in any::<u8>(), keep in 0usize..300) {
            let _ = gunzip(&bytes);
            let _ = Config::parse("f", false, &bytes).map(|c| (c.hz(), c.debug_options()));
            let mut gz = gzip(&bytes);
            let end = gz.len();
            gz[at % end] ^= with;
            let _ = gunzip(&gz);
            gz.truncate(keep);
            let _ = gunzip(&gz);
        }

        #[test]
        fn any_command_line(line in "\\PC{0,80}|[-_a-c=\" ]{0,40}", name in "[a-c_]{1,3}") {
            let _ = parameter(&line, &name);
        }

        #[test]
        fn a_parameter_is_found_anywhere(before in "[a-w =]{0,30}", value in "[a-z0-9,-]{0,9}", after in "( [a-w]{1,5}=[0-9]{0,3}){0,4}") {
            let line = format!("{before} xyz={value}{after} -- xyz=init");
            prop_assert_eq!(parameter(&line, "xyz"), Some(value.as_str()));
        }
    }
}
