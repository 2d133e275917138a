//! Damages files in every way: there is a snapshot all the same.

use super::trees::{debian_12, files, raspberry_pi};
use proptest::prelude::*;
use rtscope_record::{Settings, System, findings};
use std::fs;

/// A kind of damage to a file's content.
#[derive(Debug, Clone)]
enum Damage {
    Replace(Vec<u8>),
    Text(String),
    Flip(usize, u8),
    Truncate(usize),
    DeleteLine(usize),
    DuplicateLine(usize),
    HugeNumbers,
    Gone,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Damage::Replace),
        "[-0-9,:/()a-zN \\n]{0,80}".prop_map(Damage::Text),
        (any::<usize>(), 1u8..).prop_map(|(at, with)| Damage::Flip(at, with)),
        any::<usize>().prop_map(Damage::Truncate),
        any::<usize>().prop_map(Damage::DeleteLine),
        any::<usize>().prop_map(Damage::DuplicateLine),
        Just(Damage::HugeNumbers),
        Just(Damage::Gone),
    ]
}

impl Damage {
    /// The damaged content; `None` if it is no longer a file.
    fn apply(&self, content: &[u8]) -> Option<Vec<u8>> {
        let mut lines: Vec<&[u8]> = content.split_inclusive(|&b| b == b'\n').collect();
        Some(match self {
            Self::Replace(bytes) => bytes.clone(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Truncate(at) => content[..at % (content.len() + 1)].to_vec(),
            Self::Flip(at, with) => {
                let mut flipped = content.to_vec();
                if let Some(length) = std::num::NonZeroUsize::new(flipped.len()) {
                    flipped[*at % length] ^= *with;
                }
                flipped
            }
            Self::DeleteLine(at) | Self::DuplicateLine(at) => {
                if !lines.is_empty() {
                    let at = at % lines.len();
                    if matches!(self, Self::DeleteLine(_)) { _ = lines.remove(at) } else { lines.insert(at, lines[at]) }
                }
                lines.concat()
            }
            Self::HugeNumbers => {
                let text = String::from_utf8_lossy(content);
                text.replace(|c: char| c.is_ascii_digit(), "99999999999").into_bytes()
            }
            Self::Gone => return None,
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the files contain, there are a snapshot, findings, and a record that can be written and read back.
    #[test]
    fn any_content_of_any_file(
        pi in any::<bool>(),
        damages in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..40),
        version in "\\PC{0,30}|#1 SMP PREEMPT[_ ](RT|DYNAMIC)?",
        release in "\\PC{0,10}|[0-9.]{0,8}",
        more in any::<u64>(),
    ) {
        let mut t = if pi { raspberry_pi() } else { debian_12() };
        t.facts.uname.version = version;
        t.facts.uname.release = release;
        (t.facts.rtprio, t.facts.memlock) = (more, Some(more));
        let files = files(&t);
        for (which, damage) in damages {
            let path = t.dir.path().join(which.get(&files));
            let Ok(content) = fs::read(&path) else { continue };
            let _ = fs::remove_file(&path);
            if let Some(content) = damage.apply(&content) {
                fs::write(&path, content).unwrap();
            }
        }
        let s = t.snapshot();
        prop_assert!(!findings::findings(&s, &Settings::default()).iter().any(|w| w.message.is_empty()));
        let json = serde_json::to_string(&s).unwrap();
        prop_assert_eq!(serde_json::from_str::<System>(&json).unwrap(), s);
    }
}
