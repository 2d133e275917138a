//! What a text that names no target was probably meant to be.

use rtscope_failure::Failure;
use rtscope_lab::kernels::ToBoot;

/// The failure for a text that names no target (usage, exit code 2).
pub fn unknown(text: &str) -> Failure {
    let meant = meant(text).map_or_else(String::new, |t| format!("did you mean `{t}`? "));
    let remedy = meant + "use local, ssh:HOST, lab:KERNEL such as lab:debian/6.12-rt/amd64, or fake:FILE";
    Failure::usage(format!("`{text}` is not a target"), remedy)
}

fn meant(text: &str) -> Option<String> {
    if text.parse::<ToBoot>().is_ok() {
        return Some(format!("lab:{text}"));
    }
    match text.split_once(':') {
        Some((_, "")) => None,
        Some((kind, rest)) => rtscope_failure::meant(kind, ["ssh", "lab", "fake"]).map(|k| format!("{k}:{rest}")),
        None if text.contains('@') => Some(format!("ssh:{text}")),
        None => rtscope_failure::meant(text, ["local"]).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_asked_for() {
        for (text, meant) in [
            ("locl", "local"),
            ("debian/6.12-rt", "lab:debian/6.12-rt"),
            ("root@board", "ssh:root@board"),
            ("shs:board", "ssh:board"),
            ("lob:debian/6.12", "lab:debian/6.12"),
        ] {
            let f = unknown(text);
            assert!(f.is_usage() && f.remedy.starts_with(&format!("did you mean `{meant}`? use local")), "{f:?}");
        }
        for text in ["", "nonsense", "lab:", "http://board"] {
            assert!(unknown(text).remedy.starts_with("use local"), "{text}");
        }
    }
}
