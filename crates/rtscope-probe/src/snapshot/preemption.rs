//! Which preemption model the running kernel has.
//!
//! No single source is enough. `/sys/kernel/realtime` came with the PREEMPT_RT patches and never reached
//! mainline, so its absence means nothing; `uname -v` says what the kernel was built with, from which a
//! PREEMPT_DYNAMIC kernel chooses at boot or later. The evidence counts in this order, and the first that says
//! anything decides:
//!
//! 1. `PREEMPT_RT` (`PREEMPT RT` of the older patches) in `uname -v`: compiled into the running kernel.
//! 2. `/sys/kernel/realtime` is 1: made by the running kernel.
//! 3. `CONFIG_PREEMPT_RT=y` in `/proc/config.gz`: part of the running kernel.
//! 4. `/sys/kernel/debug/sched/preempt`: the model in force on a dynamic kernel, in parentheses.
//! 5. On a dynamic kernel, `preempt=` on the command line, else the configuration's default: the model it booted with.
//! 6. On other kernels, the configuration, else `PREEMPT` in `uname -v` up to 6.12; from 6.13 on, that may be lazy as well.
//!
//! `/boot/config-RELEASE` may belong to another build of the same name, so it counts only if it agrees with `uname -v`.

use super::config::{Config, parameter};
use rtscope_record::system::Preemption;
use rtscope_sys::host::Uname;

/// The build variant according to the flags in `uname -v` (kernel `init/Makefile`, `preempt-flag`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Built {
    Rt,
    Dynamic,
    Preempt,
    /// No flag: none or voluntary.
    Neither,
}

impl Built {
    fn of(version: &str) -> Self {
        let words: Vec<&str> = version.split_whitespace().collect();
        let two = |pair: &[&str]| pair == ["PREEMPT", "RT"];
        if words.contains(&"PREEMPT_RT") || words.windows(2).any(two) {
            Self::Rt
        } else if words.contains(&"PREEMPT_DYNAMIC") {
            Self::Dynamic
        } else if words.contains(&"PREEMPT") {
            Self::Preempt
        } else {
            Self::Neither
        }
    }

    /// The flags that a configuration gives `uname -v`. `CONFIG_PREEMPT_RT_FULL` is the name in the patches before 5.3.
    fn from(config: &Config) -> Self {
        if is_rt(config) {
            Self::Rt
        } else if config.has("CONFIG_PREEMPT_DYNAMIC") {
            Self::Dynamic
        } else if config.has("CONFIG_PREEMPT") || config.has("CONFIG_PREEMPT_LAZY") {
            Self::Preempt
        } else {
            Self::Neither
        }
    }
}

fn is_rt(config: &Config) -> bool {
    config.has("CONFIG_PREEMPT_RT") || config.has("CONFIG_PREEMPT_RT_FULL")
}

/// The model chosen in the configuration, with its option; in 5.16 these were named `..._BEHAVIOUR`.
fn chosen(config: &Config) -> Option<(Preemption, String)> {
    let models = [
        ("CONFIG_PREEMPT_LAZY", Preemption::Lazy),
        ("CONFIG_PREEMPT_VOLUNTARY", Preemption::Voluntary),
        ("CONFIG_PREEMPT_NONE", Preemption::None),
        ("CONFIG_PREEMPT", Preemption::Full),
    ];
    models.into_iter().find_map(|(option, model)| {
        let names = [option.to_owned(), format!("{option}_BEHAVIOUR")];
        names.into_iter().find(|name| config.has(name)).map(|name| (model, name))
    })
}

fn model(name: &str) -> Option<Preemption> {
    match name {
        "none" => Some(Preemption::None),
        "voluntary" => Some(Preemption::Voluntary),
        "full" => Some(Preemption::Full),
        "lazy" => Some(Preemption::Lazy),
        _ => None,
    }
}

/// Major and minor number of a kernel release such as `6.12.5-rt1`.
fn numbers(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Whether a configuration can belong to a kernel with this `uname -v`. If it contradicts the flags, it is from
/// another build.
pub(super) fn fits(config: &Config, version: &str) -> bool {
    config.running || Built::from(config) == Built::of(version)
}

/// The model in force, and the evidence for it: the source, and any source that contradicts it. `value` reads a
/// file of the running system by its path.
pub(super) fn detect(
    uname: &Uname,
    value: &dyn Fn(&str) -> Option<String>,
    config: Option<&Config>,
    cmdline: &str,
) -> (Preemption, String) {
    let (config, stranger) = match config {
        Some(config) if !fits(config, &uname.version) => (None, Some(&config.file)),
        config => (config, None),
    };
    let (model, evidence) = decide(uname, value, config, cmdline);
    let against = config.filter(|config| (model == Preemption::Rt) != is_rt(config));
    let remark = match (stranger, against) {
        (Some(file), _) => format!("; {file} is not counted, as it does not fit `uname -v`"),
        (None, Some(config)) => format!("; against {}", config.file),
        (None, None) => String::new(),
    };
    (model, evidence + &remark)
}

fn decide(uname: &Uname, value: &dyn Fn(&str) -> Option<String>, config: Option<&Config>, cmdline: &str) -> (Preemption, String) {
    let built = Built::of(&uname.version);
    if built == Built::Rt {
        return (Preemption::Rt, "uname -v: PREEMPT_RT".into());
    }
    let realtime = "/sys/kernel/realtime";
    if value(realtime).is_some_and(|value| value == "1") {
        return (Preemption::Rt, format!("{realtime}: 1"));
    }
    if let Some(config) = config.filter(|config| is_rt(config)) {
        return (Preemption::Rt, format!("{}: CONFIG_PREEMPT_RT=y", config.file));
    }
    let debug = "/sys/kernel/debug/sched/preempt";
    if let Some(text) = value(debug) {
        let active = text.split_whitespace().find_map(|word| model(word.strip_prefix('(')?.strip_suffix(')')?));
        if let Some(active) = active {
            return (active, format!("{debug}: {text}"));
        }
    }
    if config.map_or(built, Built::from) == Built::Dynamic {
        return booted(config, cmdline);
    }
    if let Some((config, (model, option))) = config.and_then(|config| chosen(config).map(|chosen| (config, chosen))) {
        return (model, format!("{}: {option}=y", config.file));
    }
    match (built, numbers(&uname.release)) {
        (Built::Preempt, Some(release)) if release < (6, 13) => (Preemption::Full, "uname -v: PREEMPT".into()),
        (Built::Preempt, _) => {
            (Preemption::Unknown, "uname -v: PREEMPT, which may be full or lazy; no configuration at hand".into())
        }
        _ => (Preemption::Unknown, "uname -v names no model: none or voluntary; no configuration at hand".into()),
    }
}

/// The model that a dynamic kernel booted with.
fn booted(config: Option<&Config>, cmdline: &str) -> (Preemption, String) {
    // The kernel ignores a value that it does not know, and keeps the default.
    let asked = parameter(cmdline, "preempt");
    if let Some((value, model)) = asked.and_then(|value| model(value).map(|model| (value, model))) {
        return (model, format!("/proc/cmdline: preempt={value}, on a PREEMPT_DYNAMIC kernel"));
    }
    match config.and_then(|config| chosen(config).map(|chosen| (config, chosen))) {
        Some((config, (model, option))) => {
            (model, format!("{}: {option}=y with PREEMPT_DYNAMIC, no preempt= in /proc/cmdline", config.file))
        }
        None => (
            Preemption::Unknown,
            "PREEMPT_DYNAMIC: /sys/kernel/debug/sched/preempt, preempt= and the configuration are not at hand".into(),
        ),
    }
}
