//! The kernel's configuration (`/proc/config.gz`, `/boot/config-RELEASE`) and its command line.

use super::root::Root;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use std::collections::BTreeMap;

/// Largest configuration that is read, compressed or not, bytes. Real ones have about 300 KiB.
const LONGEST: usize = 4 << 20;

/// Bytes inflated at a time. The probe locks its memory and should stay small, so it never holds the whole configuration.
const PIECE: usize = 16 * 1024;

/// Longer lines than this, bytes, contain no wanted option.
const LONGEST_LINE: usize = 256;

/// Options that slow down every lock or memory access several times: kernels for finding bugs, not for measuring.
const DEBUGGING: [&str; 7] = [
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_KMSAN",
    "CONFIG_PROVE_LOCKING",
    "CONFIG_DEBUG_LOCK_ALLOC",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_DEBUG_KMEMLEAK",
];

/// Whether the option's value is used. The thousands of others are not kept.
fn wanted(option: &str) -> bool {
    option.starts_with("CONFIG_PREEMPT")
        || option == "CONFIG_HZ"
        || option.starts_with("CONFIG_DEBUG_KMEMLEAK")
        || DEBUGGING.contains(&option)
}

/// The wanted options that are set in a kernel's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// The file they were read from.
    pub file: String,
    /// The file belongs to the running kernel, and not possibly to another build.
    pub running: bool,
    values: BTreeMap<String, String>,
}

impl Config {
    /// The best available configuration of the running kernel.
    pub fn find(root: &Root) -> Option<Self> {
        let own = "/proc/config.gz";
        if let Some(config) = root.bytes(own, LONGEST as u64).and_then(|gz| Self::unpack(own, true, &gz)) {
            return Some(config);
        }
        let release = &root.facts.uname.release;
        if release.is_empty() || release.contains('/') {
            return None;
        }
        // Debian, Fedora and Arch, in this order. The second also applies where /usr is a separate file system.
        let files = [
            format!("/boot/config-{release}"),
            format!("/lib/modules/{release}/config"),
            format!("/usr/lib/modules/{release}/config"),
        ];
        files.iter().find_map(|file| Self::parse(file, false, &root.bytes(file, LONGEST as u64)?))
    }

    /// Parses a configuration. `None` if the text sets none of the wanted options: then it is not a configuration.
    pub fn parse(file: &str, running: bool, text: &[u8]) -> Option<Self> {
        let mut config = Self { file: file.into(), running, ..Self::default() };
        for line in text.split(|&b| b == b'\n') {
            config.take(line);
        }
        (!config.values.is_empty()).then_some(config)
    }

    /// Like [`Self::parse`], for a gzip file. `None` also if the file is damaged, because half a configuration is a
    /// wrong one.
    pub fn unpack(file: &str, running: bool, gz: &[u8]) -> Option<Self> {
        let mut config = Self { file: file.into(), running, ..Self::default() };
        let mut line = Vec::new();
        gunzip(gz, |piece| {
            for &byte in piece {
                if byte == b'\n' {
                    config.take(&line);
                    line.clear();
                } else if line.len() < LONGEST_LINE {
                    line.push(byte);
                }
            }
        })?;
        config.take(&line);
        (!config.values.is_empty()).then_some(config)
    }

    /// Keeps the option in a line `CONFIG_X=value`, if it is wanted.
    fn take(&mut self, line: &[u8]) {
        let Some((name, value)) = std::str::from_utf8(line).ok().and_then(|line| line.trim().split_once('=')) else { return };
        if wanted(name) {
            self.values.insert(name.into(), value.trim_matches('"').into());
        }
    }

    /// Whether the option is built in (`=y`).
    pub fn has(&self, option: &str) -> bool {
        self.values.get(option).is_some_and(|value| value == "y")
    }

    /// `CONFIG_HZ`.
    pub fn hz(&self) -> Option<u32> {
        self.values.get("CONFIG_HZ")?.parse().ok()
    }

    /// The options of [`DEBUGGING`] that are set.
    pub fn debug_options(&self) -> Vec<String> {
        DEBUGGING.iter().filter(|option| self.has(option)).map(|&option| option.into()).collect()
    }
}

/// Inflates a gzip file with one member (RFC 1952), such as `/proc/config.gz`, and passes the content to `each`
/// in pieces. `None` if it is damaged or too long. The checksum is not verified: the kernel made the file from
/// its own memory.
fn gunzip(gz: &[u8], mut each: impl FnMut(&[u8])) -> Option<()> {
    let flags = *gz.get(3)?;
    if !gz.starts_with(&[0x1f, 0x8b, 8]) || flags & 0xe0 != 0 {
        return None;
    }
    let mut rest = gz.get(10..)?;
    if flags & 4 != 0 {
        let extra = usize::from(u16::from_le_bytes([*rest.first()?, *rest.get(1)?]));
        rest = rest.get(2 + extra..)?;
    }
    // The file name, then a comment, each terminated by NUL.
    for flag in [8, 16] {
        if flags & flag != 0 {
            rest = &rest[rest.iter().position(|&b| b == 0)? + 1..];
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..)?;
    }
    let mut state = InflateState::new_boxed(DataFormat::Raw);
    let mut piece = vec![0; PIECE];
    let mut length = 0;
    loop {
        let result = inflate(&mut state, rest, &mut piece, MZFlush::None);
        let status = result.status.ok()?;
        length += result.bytes_written;
        if length > LONGEST {
            return None;
        }
        each(&piece[..result.bytes_written]);
        rest = rest.get(result.bytes_consumed..)?;
        match status {
            MZStatus::StreamEnd => return Some(()),
            // No progress means that the file is truncated.
            _ if result.bytes_written == 0 && result.bytes_consumed == 0 => return None,
            _ => {}
        }
    }
}

/// The value of the kernel parameter `name`, the last one if it is given several times; empty if it is given without a value.
///
/// Parsed as the kernel does: `-` and `_` are equal in names, double quotes keep white space together, and what
/// follows `--` belongs to init.
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

/// Words separated by white space outside double quotes.
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

    fn content(gz: &[u8]) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        gunzip(gz, |piece| content.extend(piece)).map(|()| content)
    }

    #[test]
    fn gzip_files_with_every_optional_field() {
        let plain = gzip(b"CONFIG_HZ=250\n");
        assert_eq!(content(&plain).unwrap(), b"CONFIG_HZ=250\n");
        let mut full = plain[..10].to_vec();
        full[3] = 4 | 8 | 16 | 2;
        full.extend([3, 0, b'x', b'y', b'z']);
        full.extend(b"name\0comment\0");
        full.extend([1, 2]);
        full.extend(&plain[10..]);
        assert_eq!(content(&full).unwrap(), b"CONFIG_HZ=250\n");
        for end in 0..plain.len() - 8 {
            assert_eq!(content(&plain[..end]), None, "cut at {end}");
        }
    }

    #[test]
    fn options_across_the_pieces() {
        let noise: Vec<String> = (0..3000u32).map(|n| format!("CONFIG_DRIVER_{}=m\n", n.wrapping_mul(2_654_435_761))).collect();
        let text = format!("CONFIG_HZ=300\n{}{}=y\nCONFIG_KASAN=y", noise.concat(), "X".repeat(100_000));
        let config = Config::unpack("f", true, &gzip(text.as_bytes())).unwrap();
        assert_eq!(config, Config::parse("f", true, text.as_bytes()).unwrap());
        assert_eq!((config.hz(), config.has("CONFIG_KASAN"), config.values.len()), (Some(300), true, 2));
    }

    #[test]
    fn a_bomb_is_not_inflated() {
        assert_eq!(content(&gzip(&vec![0; LONGEST + 1])), None);
        assert_eq!(content(&gzip(&vec![0; LONGEST])).map(|content| content.len()), Some(LONGEST));
    }

    #[test]
    fn options() {
        let text = b"# CONFIG_KASAN is not set\nCONFIG_HZ=1000\nCONFIG_PREEMPT_RT=y\nCONFIG_PROVE_LOCKING=y\nCONFIG_KCSAN=m\nCONFIG_NAME=\"a\"\n";
        let config = Config::parse("f", true, text).unwrap();
        assert!(config.has("CONFIG_PREEMPT_RT") && !config.has("CONFIG_KASAN") && !config.has("CONFIG_KCSAN"));
        assert_eq!(config.hz(), Some(1000));
        assert_eq!(config.debug_options(), ["CONFIG_PROVE_LOCKING"]);
        assert_eq!(Config::parse("f", true, b"no configuration\n"), None);
    }

    #[test]
    fn parameters() {
        let line =
            "root=/dev/sda1 isolcpus=1-3 preempt=full quiet rcu-nocbs=2 name=\"a b\" \"x=c d\" preempt=none -- preempt=lazy nosmt";
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
            let _ = content(&bytes);
            let _ = Config::parse("f", false, &bytes).map(|c| (c.hz(), c.debug_options()));
            let mut gz = gzip(&bytes);
            let end = gz.len();
            gz[at % end] ^= with;
            let _ = content(&gz);
            gz.truncate(keep);
            let _ = Config::unpack("f", true, &gz);
        }

        #[test]
        fn what_is_packed_is_unpacked(bytes in prop::collection::vec(any::<u8>(), 0..40_000)) {
            prop_assert_eq!(content(&gzip(&bytes)), Some(bytes));
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
