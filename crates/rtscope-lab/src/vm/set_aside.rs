//! Whether the guest's kernel set CPUs aside as its command line asks: over some of what it can't do it passes without a word.

use super::messages::SetAside;
use rtscope_probe::snapshot::cpus::parse_list;
use rtscope_record::system::{cpu_list, cpus as words};

/// The first parameter that did not do what it says, and how; `None` if all did. `cpus`: how many the guest has.
pub(super) fn otherwise<'a>(parameters: &'a [String], shown: &SetAside, cpus: u32) -> Option<(&'a str, String)> {
    parameters.iter().find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let wanted = match name.replace('-', "_").as_str() {
            "isolcpus" => isolated(value, shown),
            "nohz_full" => vec![Wanted { list: value.into(), what: "CPUs without a tick", shown: &shown.nohz_full }],
            "rcu_nocbs" => {
                vec![Wanted { list: value.into(), what: "CPUs whose RCU callbacks others run", shown: &shown.rcu_nocbs }]
            }
            _ => Vec::new(),
        };
        wanted.iter().find_map(|w| w.missed(cpus)).map(|how| (parameter.as_str(), how))
    })
}

/// What a parameter asks for.
struct Wanted<'a> {
    /// The CPUs, as the command line has them.
    list: String,
    /// What these are to be.
    what: &'static str,
    /// Those that are.
    shown: &'a Option<String>,
}

impl Wanted<'_> {
    /// What is not as it was wanted.
    fn missed(&self, cpus: u32) -> Option<String> {
        let last = cpus.saturating_sub(1);
        let Some(asked) = parse_list(&self.list, last) else { return Some(format!("`{}` is no list of CPUs", self.list)) };
        let Some(shown) = self.shown.as_ref().and_then(|text| parse_list(text, last)) else {
            return Some(format!("its kernel does not show its {}", self.what));
        };
        let shown: Vec<u32> = shown.into_iter().filter(|cpu| *cpu < cpus).collect();
        let missing: Vec<u32> = asked.into_iter().filter(|cpu| !shown.contains(cpu)).collect();
        let has = if shown.is_empty() { "none".into() } else { cpu_list(&shown) };
        (!missing.is_empty()).then(|| format!("{} missing among its {}: {has}", of(&missing), self.what))
    }
}

/// `CPU 3 is` or `CPUs 0-3 are`.
fn of(missing: &[u32]) -> String {
    format!("{} {}", words(missing), if missing.len() == 1 { "is" } else { "are" })
}

/// `isolcpus=[FLAG,...]LIST`: without flags as with `domain`. That interrupts stay away (`managed_irq`), no file shows.
fn isolated<'a>(value: &str, shown: &'a SetAside) -> Vec<Wanted<'a>> {
    let is_flag = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase()) && !word.starts_with("all");
    let (flags, list): (Vec<&str>, Vec<&str>) = value.split(',').partition(is_flag);
    let wanted = |what, shown| Wanted { list: list.join(","), what, shown };
    let mut all = Vec::new();
    if flags.is_empty() || flags.contains(&"domain") {
        all.push(wanted("isolated CPUs", &shown.isolated));
    }
    if flags.contains(&"nohz") {
        all.push(wanted("CPUs without a tick", &shown.nohz_full));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(isolated: &str, nohz_full: &str, rcu_nocbs: &str) -> SetAside {
        SetAside { isolated: Some(isolated.into()), nohz_full: Some(nohz_full.into()), rcu_nocbs: Some(rcu_nocbs.into()) }
    }

    fn how(parameters: &str, shown: &SetAside, cpus: u32) -> Option<(String, String)> {
        let parameters: Vec<String> = parameters.split_whitespace().map(str::to_owned).collect();
        otherwise(&parameters, shown, cpus).map(|(parameter, how)| (parameter.to_owned(), how))
    }

    #[test]
    fn what_is_as_asked_is_no_fault() {
        for (parameters, isolated, nohz_full, rcu_nocbs) in [
            ("isolcpus=1 nohz_full=1 rcu_nocbs=1", "1", "1", "1"),
            ("isolcpus=domain,managed_irq,1-3 quiet", "1-3", "(null)", ""),
            ("isolcpus=managed_irq,1", "", "", ""),
            ("isolcpus=nohz,1-N", "", "1-3", "1-3"),
            // Without a tick also means without callbacks.
            ("nohz-full=2,3 rcu_nocbs=1", "", "2-3", "1-3"),
            ("rcu_nocbs", "", "", ""),
            ("highres=off threadirqs", "", "", ""),
        ] {
            assert_eq!(how(parameters, &shown(isolated, nohz_full, rcu_nocbs), 4), None, "{parameters}");
        }
        assert_eq!(how("highres=off", &SetAside::default(), 1), None, "nothing is read where nothing is asked for");
    }

    #[test]
    fn what_did_not_take_is_told_with_its_cpus() {
        for (parameters, isolated, nohz_full, rcu_nocbs, cpus, says) in [
            ("isolcpus=1", "", "", "", 1, "CPU 1 is missing among its isolated CPUs: none"),
            ("isolcpus=1,5-6", "1", "", "", 2, "CPUs 5-6 are missing among its isolated CPUs: 1"),
            ("nohz_full=0-1", "", "1", "1", 2, "CPU 0 is missing among its CPUs without a tick: 1"),
            // A kernel shows a CPU that the guest has not.
            ("nohz_full=1", "", "1", "1", 1, "CPU 1 is missing among its CPUs without a tick: none"),
            ("isolcpus=nohz,domain,1", "1", "", "", 2, "CPU 1 is missing among its CPUs without a tick: none"),
            // A wrong list is all CPUs for the kernel.
            ("rcu_nocbs=1", "", "", "0", 1, "CPU 1 is missing among its CPUs whose RCU callbacks others run: 0"),
            ("rcu_nocbs=x", "", "", "0-1", 2, "`x` is no list of CPUs"),
        ] {
            let (parameter, said) = how(&format!("quiet {parameters}"), &shown(isolated, nohz_full, rcu_nocbs), cpus).unwrap();
            assert_eq!((parameter.as_str(), said.as_str()), (parameters, says));
        }
        let (parameter, said) = how("isolcpus=1 rcu_nocbs=1", &SetAside { rcu_nocbs: None, ..shown("1", "", "") }, 2).unwrap();
        assert_eq!(
            (parameter.as_str(), said.as_str()),
            ("rcu_nocbs=1", "its kernel does not show its CPUs whose RCU callbacks others run")
        );
    }
}
