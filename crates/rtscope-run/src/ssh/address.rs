//! Names of machines that are reached over ssh: `ssh:HOST`, `ssh:USER@HOST:PORT`, or the same as `ssh://...`.

use rtscope_failure::{Fault, Problem};
use std::fmt;
use std::str::FromStr;

/// Longest name of a host or user, bytes.
const LONGEST: usize = 255;

/// A machine, as the user's own ssh knows it: the host may be an alias of `~/.ssh/config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// User to log in as; `None`: ssh decides.
    pub(crate) user: Option<String>,
    /// Host name or address.
    pub(crate) host: String,
    /// Port; `None`: ssh decides.
    pub(crate) port: Option<u16>,
}

/// Why a text is not a machine's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no machine: {why}")]
pub struct AddressError {
    text: String,
    why: &'static str,
}

impl Problem for AddressError {
    fn remedy(&self) -> String {
        "write ssh:[USER@]HOST[:PORT], with an IPv6 address in brackets: ssh:[fe80::1]:22".into()
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

/// Whether a text is meant to be an [`Address`].
pub fn is_ssh(text: &str) -> bool {
    text.starts_with("ssh:")
}

impl Address {
    /// Arguments for `ssh` to log in there, for messages.
    pub(crate) fn login(&self) -> String {
        let port = self.port.map_or_else(String::new, |port| format!("-p {port} "));
        let user = self.user.as_ref().map_or_else(String::new, |user| format!("{user}@"));
        format!("{port}{user}{}", self.host)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |why| AddressError { text: text.chars().take(200).collect(), why };
        let rest = text.strip_prefix("ssh:").ok_or_else(|| wrong("it does not begin with ssh:"))?;
        let rest = rest.strip_prefix("//").map_or(rest, |r| r.strip_suffix('/').unwrap_or(r));
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let (host, port) = if let Some(rest) = place.strip_prefix('[') {
            let (host, port) = rest.split_once(']').ok_or_else(|| wrong("the bracket is not closed"))?;
            let port =
                if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or_else(|| wrong("what is behind `]`?"))?) };
            (host, port)
        } else {
            match place.split_once(':') {
                Some((_, port)) if port.contains(':') => return Err(wrong("an IPv6 address stands in brackets")),
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            }
        };
        let port =
            port.map(|p| p.parse().ok().filter(|&p| p > 0).ok_or_else(|| wrong("the port is not from 1 to 65535"))).transpose()?;
        // ssh passes both on to commands of its configuration (%h, %r), so neither may contain shell syntax.
        let fine = |name: &str, others: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            !name.is_empty() && name.len() <= LONGEST && !name.starts_with('-') && name.chars().all(known)
        };
        if !fine(host, "._-:%") {
            return Err(wrong("a host is letters, digits and `.`, `-`, `_`, and does not begin with `-`"));
        }
        if user.is_some_and(|user| !fine(user, "._-+@")) {
            return Err(wrong("a user is letters, digits and `.`, `-`, `_`, `+`, `@`, and does not begin with `-`"));
        }
        Ok(Self { user: user.map(Into::into), host: host.into(), port })
    }
}

impl fmt::Display for Address {
    /// The short form, as in records.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ssh:")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') { write!(f, "[{}]", self.host) } else { f.write_str(&self.host) }?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms() {
        for (text, short, parts) in [
            ("ssh:board", "ssh:board", (None, "board", None)),
            ("ssh://board/", "ssh:board", (None, "board", None)),
            ("ssh:root@board-1.lan:2222", "ssh:root@board-1.lan:2222", (Some("root"), "board-1.lan", Some(2222))),
            ("ssh://a@b@[fe80::1%eth0]:22", "ssh:a@b@[fe80::1%eth0]:22", (Some("a@b"), "fe80::1%eth0", Some(22))),
            ("ssh:[::1]", "ssh:[::1]", (None, "::1", None)),
        ] {
            let a: Address = text.parse().unwrap();
            assert_eq!((a.user.as_deref(), a.host.as_str(), a.port), parts, "{text}");
            assert_eq!(a.to_string(), short);
            assert!(a.login().ends_with(parts.1), "{}", a.login());
            assert_eq!(short.parse(), Ok(a));
        }
    }

    #[test]
    fn what_could_be_taken_for_something_else_is_refused() {
        for text in [
            "board",
            "ssh:",
            "ssh://",
            "ssh:-oProxyCommand=x",
            "ssh:-x@board",
            "ssh:@board",
            "ssh:a b",
            "ssh:a;b",
            "ssh:$(x)",
            "ssh:a:0",
            "ssh:a:65536",
            "ssh:a:",
            "ssh:fe80::1",
            "ssh:[::1",
            "ssh:[::1]x",
            "ssh:a`b`@c",
            "ssh:a\nb",
            "ssh:a/b",
            "ssh:'a'",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(ssh:(//)?)?\\PC{0,40}") {
            if let Ok(a) = text.parse::<Address>() {
                prop_assert_eq!(a.to_string().parse(), Ok(a.clone()));
                prop_assert!(!a.host.starts_with('-') && !a.host.contains(['$', ' ', ';', '\'', '`', '\n']));
            }
        }
    }
}
