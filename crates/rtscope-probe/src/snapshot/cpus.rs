//! The kernel's two notations for a set of CPUs: lists (`0-3,8`) and masks (`ff,ffffffff`).

/// Higher CPU numbers are rejected; the kernel's own limit is 8192. This bounds the memory that a malformed
/// text can make us allocate.
const MOST: u32 = 65_536;

/// Parses a CPU list as `bitmap_parselist` does (kernel `Documentation/admin-guide/kernel-parameters.rst`, "cpu
/// lists"): numbers and ranges separated by commas or white space, `first-last:used/group`, `N` for the last
/// CPU, and `all`; `last` is the highest CPU number. Returns the CPUs in ascending order; `None` if malformed.
/// An empty text, and the `(null)` of an unset parameter, are the empty set.
pub fn parse_list(text: &str, last: u32) -> Option<Vec<u32>> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if text == "(null)" {
        return Some(Vec::new());
    }
    let mut cpus = Vec::new();
    for region in text.split(|c: char| c == ',' || c.is_whitespace()).filter(|r| !r.is_empty()) {
        let (range, pattern) = region.split_once(':').map_or((region, None), |(range, pattern)| (range, Some(pattern)));
        let (first, end) = if range == "all" { (0, last) } else { ends(range, last)? };
        let (used, group) = pattern.map_or(Some((1, 1)), used_of_group)?;
        if end < first || end >= MOST || cpus.len() > MOST as usize {
            return None;
        }
        cpus.extend((first..=end).filter(|cpu| (cpu - first) % group < used));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

fn ends(range: &str, last: u32) -> Option<(u32, u32)> {
    let number = |text: &str| if text == "N" { Some(last) } else { decimal(text) };
    match range.split_once('-') {
        Some((first, end)) => Some((number(first)?, number(end)?)),
        None => number(range).map(|n| (n, n)),
    }
}

fn used_of_group(pattern: &str) -> Option<(u32, u32)> {
    let (used, group) = pattern.split_once('/')?;
    let (used, group) = (decimal(used)?, decimal(group)?);
    (used > 0 && used <= group).then_some((used, group))
}

/// Accepts digits only; `parse` alone would accept a sign.
fn decimal(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Parses a hexadecimal CPU mask: groups of 32 bits separated by commas, highest CPUs first. Returns the CPUs
/// in ascending order; `None` if malformed.
pub fn parse_mask(text: &str) -> Option<Vec<u32>> {
    let groups: Vec<&str> = text.trim().split(',').collect();
    if groups.len() > MOST as usize / 32 {
        return None;
    }
    let mut cpus = Vec::new();
    for (base, group) in (0..).step_by(32).zip(groups.iter().rev()) {
        if group.is_empty() || group.len() > 8 || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let bits = u32::from_str_radix(group, 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| base + bit));
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_record::system::cpu_list;

    #[test]
    fn lists() {
        for (text, cpus) in [
            ("", Some(vec![])),
            ("\n", Some(vec![])),
            ("  (null)\n", Some(vec![])),
            ("0\n", Some(vec![0])),
            ("0-3,8", Some(vec![0, 1, 2, 3, 8])),
            ("8,0-1 1", Some(vec![0, 1, 8])),
            ("0-9:2/4", Some(vec![0, 1, 4, 5, 8, 9])),
            ("10-N", Some(vec![10, 11])),
            ("N", Some(vec![11])),
            ("all:1/4", Some(vec![0, 4, 8])),
            ("3-1", None),
            ("1-", None),
            ("-1", None),
            ("+1", None),
            ("0x3", None),
            ("0-7:0/2", None),
            ("0-7:3/2", None),
            ("0-7:1/0", None),
            ("0-7:1", None),
            ("0-4294967295", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(parse_list(text, 11), cpus, "{text:?}");
        }
    }

    #[test]
    fn masks() {
        for (text, cpus) in [
            ("f\n", Some(vec![0, 1, 2, 3])),
            ("00000001,80000000", Some(vec![31, 32])),
            ("1,00000000,00000000", Some(vec![64])),
            ("0", Some(vec![])),
            ("", None),
            (",1", None),
            ("1ffffffff", None),
            ("-1", None),
            ("xyz", None),
        ] {
            assert_eq!(parse_mask(text), cpus, "{text:?}");
        }
        assert_eq!(parse_mask(&"1,".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-0-9,:/Nal \\n(xf]{0,60}|\\PC{0,60}", last in any::<u32>()) {
            if let Some(cpus) = parse_list(&text, last) {
                prop_assert!(cpus.is_sorted() && cpus.iter().all(|&c| c < MOST));
            }
            if let Some(cpus) = parse_mask(&text) {
                prop_assert!(cpus.is_sorted() && cpus.iter().all(|&c| c < MOST));
            }
        }

        #[test]
        fn what_we_write_is_read_back(set in prop::collection::btree_set(0u32..9000, 1..200)) {
            let cpus: Vec<u32> = set.into_iter().collect();
            prop_assert_eq!(parse_list(&cpu_list(&cpus), 9000), Some(cpus.clone()));
            let mut words = vec![0u32; 9000 / 32 + 1];
            for &cpu in &cpus {
                words[cpu as usize / 32] |= 1 << (cpu % 32);
            }
            let mask: Vec<String> = words.iter().rev().map(|w| format!("{w:08x}")).collect();
            prop_assert_eq!(parse_mask(&mask.join(",")), Some(cpus));
        }
    }
}
