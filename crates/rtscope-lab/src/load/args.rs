//! The words of `stress-ng:ARGS`: split like a shell would, but never given to one, and checked for options that break the proof.

use super::error::LoadError;

/// Long options that are refused, with the reason. getopt takes any unambiguous beginning of a name, so beginnings are refused too.
const REFUSED: &[(&str, &str)] = &[
    ("timeout", "rtscope ends the load together with the measurement"),
    ("metrics", "rtscope asks for the metrics itself"),
    ("metrics-brief", "it hides stressors that did nothing"),
    ("yaml", "rtscope reads the metrics from a file of its own"),
    ("temp-path", "rtscope gives the load a directory that it removes afterwards"),
    ("log-file", "it writes outside of the load's directory"),
    ("log-lockless", "rtscope reads the log"),
    ("job", "a job file could hold any of the other refused options"),
    ("dry-run", "nothing would run"),
    ("help", "nothing would run"),
    ("version", "nothing would run"),
    ("stressors", "nothing would run"),
    ("verifiable", "nothing would run"),
    ("buildinfo", "nothing would run"),
    ("keep-files", "nothing of a load may survive the run"),
    ("pathological", "these stressors are known to hang a machine"),
    ("ignite-cpu", "it changes the machine's settings, and leaves them changed when it is killed"),
    ("ftrace", "it turns on kernel tracing, and leaves it on when it is killed"),
    ("cpu-online", "it takes CPUs away from the measuring threads, and leaves them off when it is killed"),
    ("swap", "it adds swap space, and leaves it when it is killed"),
    ("reboot", "it asks the kernel to restart"),
];

/// Short options that are refused, by the long name of the same option.
const REFUSED_SHORT: &[(char, &str)] =
    &[('t', "timeout"), ('M', "metrics"), ('Y', "yaml"), ('j', "job"), ('n', "dry-run"), ('h', "help"), ('V', "version")];

/// Stressors whose whole name is the beginning of a refused one.
const STRESSORS: &[&str] = &["cpu"];

/// Short options without an argument: what follows in the same word is the next option.
const SHORT_FLAGS: &str = "hkMnqvV";

/// Splits at white space; single or double quotes keep blanks, a backslash is an ordinary character.
pub(crate) fn split(text: &str) -> Result<Vec<String>, LoadError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (_, '\0') => return Err(LoadError::Argument { word: text.replace('\0', "\\0"), reason: "it holds a NUL character" }),
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(LoadError::Argument { word: text.into(), reason: "a quote is not closed" });
    }
    words.extend(word);
    Ok(words)
}

/// Refuses what would break the proof, escape the load's directory, or outlive the run.
pub(crate) fn check(words: &[String]) -> Result<(), LoadError> {
    let refuse = |word: &str, reason| Err(LoadError::Argument { word: word.into(), reason });
    if !words.iter().any(|w| w.starts_with('-') && w.len() > 1) {
        return refuse(&words.join(" "), "it names no stressor: write for example stress-ng:--cpu 2");
    }
    for word in words {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            if name.is_empty() {
                return refuse(word, "it is no option");
            }
            let refused = REFUSED.iter().find(|(n, _)| n.starts_with(name) && !STRESSORS.contains(&name));
            if let Some((_, reason)) = refused {
                return refuse(word, reason);
            }
        } else if let Some(short) = word.strip_prefix('-') {
            for c in short.chars() {
                let refused = REFUSED_SHORT.iter().find(|(s, _)| *s == c).and_then(|(_, l)| REFUSED.iter().find(|(n, _)| n == l));
                if let Some((_, reason)) = refused {
                    return refuse(word, reason);
                }
                if !SHORT_FLAGS.contains(c) {
                    break;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn words_are_split_at_blanks_and_kept_by_quotes() {
        assert_eq!(words("--cpu 2  --cpu-method\tfft"), ["--cpu", "2", "--cpu-method", "fft"]);
        assert_eq!(words(r#"--a 'b c' "d 'e" x'y'z ''"#), ["--a", "b c", "d 'e", "xyz", ""]);
        assert_eq!(words("$(reboot) `x`; a|b"), ["$(reboot)", "`x`;", "a|b"]);
        assert!(split("--a 'b").is_err());
        assert!(split("--a \0").is_err());
        assert!(words("  ").is_empty());
    }

    #[test]
    fn what_breaks_the_proof_is_refused_in_every_spelling() {
        for text in [
            "--cpu 1 --timeout 5",
            "--cpu 1 --timeout=5",
            "--cpu 1 --timeo 5",
            "--cpu 1 -t 5",
            "--cpu 1 -t5",
            "--cpu 1 -vt5",
            "--cpu 1 -kqvMn",
            "--cpu 1 --yaml x",
            "--cpu 1 --yam=/etc/passwd",
            "--cpu 1 --temp-path /",
            "--cpu 1 --temp /",
            "--cpu 1 --log-file /etc/passwd",
            "--cpu 1 --metrics-brief",
            "--job x",
            "-j x",
            "--cpu 1 --keep-files",
            "--all 1 --pathological",
            "--swap 1",
            "--cpu 1 --",
            "-n --cpu 1",
            "--help",
            "cpu 2",
            "",
        ] {
            assert!(check(&words(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn stressors_pass() {
        for text in [
            "--cpu 2",
            "-c4 -m 2 --vm-bytes 10%",
            "--timer 2 --timerfd 1",
            "-a 1 -x cpu,tee",
            "--cpu -1",
            "--key 1 --verify",
            "-l50 -c1",
        ] {
            assert!(check(&words(text)).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_split_and_checked_or_refused(text in "\\PC{0,60}") {
            if let Ok(words) = split(&text) {
                let _ = check(&words);
            }
        }

        #[test]
        fn words_without_quotes_come_back(parts in proptest::collection::vec("[a-z0-9=,%$;|&/-]{1,9}", 0..8)) {
            prop_assert_eq!(split(&parts.join(" ")).unwrap(), parts);
        }

        #[test]
        fn beginnings_of_refused_options_are_refused(which in 0..REFUSED.len(), keep in 1usize..20, value in "(=[a-z0-9]{0,5})?") {
            let name = REFUSED[which].0;
            let name = &name[..keep.min(name.len())];
            prop_assume!(!STRESSORS.contains(&name));
            let word = format!("--{name}{value}");
            prop_assert!(check(&["--cpu".into(), "1".into(), word]).is_err());
        }
    }
}
