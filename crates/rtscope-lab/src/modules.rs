//! rtscope's kernel modules: which a run needs with which parameters, built for a kernel (`build`), loaded here and unloaded again (`load`).

mod build;
mod load;

pub use build::{Target, build};
pub use load::{Loaded, insert, remove};

use rtscope_probe::lines::LineSpec;
use rtscope_probe::lines::gpio::Gpio;
use rtscope_record::{DutSettings, Handler, Nanos, Settings, Space, Test};
use std::io;
use std::path::{Path, PathBuf};

/// The module with the wire chip and the instrument.
pub const WIRE: &str = "rtscope_wire";
/// The DUT that answers.
pub const RESPONSE: &str = "rtscope_response";
/// The DUT that makes a wave.
pub const PERIODIC: &str = "rtscope_periodic";
/// The timer test.
pub const TIMER: &str = "rtscope_timer";
/// All of them.
pub const ALL: [&str; 4] = [WIRE, RESPONSE, PERIODIC, TIMER];
/// Names a directory of built modules.
pub const DIRECTORY: &str = "RTSCOPE_MODULES";

/// What rtscope_response takes as its service time at most, ns.
const LONGEST_SERVICE: u64 = 1_000_000_000;
/// What rtscope_periodic takes as its semi-period, ns.
const SEMI_PERIODS: std::ops::RangeInclusive<u64> = 10_000..=1_000_000_000;

/// Why a module can't be had. Its text says what failed, [`ModuleError::remedy`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// A module can't do what is asked of it (usage, exit code 2).
    #[error("{message}")]
    Ask {
        /// What is wrong.
        message: String,
        /// What to ask for instead.
        remedy: String,
    },
    /// A program that builds modules is missing.
    #[error("building rtscope's kernel modules for {kernel} needs {program}, which is not installed")]
    NoTool {
        /// For which kernel.
        kernel: String,
        /// The program.
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// There is nothing to build against.
    #[error("rtscope's kernel modules can't be built for {kernel}: its headers are not there")]
    NoHeaders {
        /// For which kernel.
        kernel: String,
        /// How to get them.
        remedy: String,
    },
    /// The compiler or the kernel's build system failed.
    #[error("building rtscope's kernel modules for {kernel} failed; its last lines:\n{said}")]
    Build {
        /// For which kernel.
        kernel: String,
        /// The end of what it said.
        said: String,
        /// Where all of it is.
        log: PathBuf,
    },
    /// The kernel did not take a module, or did not let it go.
    #[error("the module {module} can't be {act}: {why}")]
    Refused {
        /// Its name or file.
        module: String,
        /// `loaded` or `unloaded`.
        act: &'static str,
        /// Why not, with what the kernel's log says of it.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// What must be undone can't be written down.
    #[error(transparent)]
    Journal(#[from] crate::JournalError),
    /// A file can't be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ModuleError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Ask { .. })
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Ask { remedy, .. } | Self::NoHeaders { remedy, .. } | Self::Refused { remedy, .. } => remedy.clone(),
            Self::NoTool { package, .. } => format!("apt-get install {package}"),
            Self::Build { log, .. } => format!("the whole log is in {}; are the headers those of this kernel?", log.display()),
            Self::Journal(_) => "see above".into(),
            Self::Io { .. } => "make it accessible, or name another cache: RTSCOPE_CACHE=DIR".into(),
        }
    }

    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}

/// A module that a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: &'static str,
    /// Its parameters, as insmod takes them.
    pub parameters: Vec<String>,
}

/// The modules that a run with these settings needs, in the order they are to be loaded.
pub fn wanted(test: Test, space: Space, settings: &Settings) -> Result<Vec<Wanted>, ModuleError> {
    let kernel = space == Space::Kernel;
    let mut all = Vec::new();
    if test == Test::Timer && kernel {
        all.push(Wanted { name: TIMER, parameters: Vec::new() });
    }
    let Some(lines) = &settings.lines else { return Ok(all) };
    let dut = lines.dut.as_ref();
    let named = [lines.stimulus.as_ref(), Some(&lines.answer), lines.null_wire.as_ref()];
    let of_dut = [dut.and_then(|d| d.input.as_ref()), dut.map(|d| &d.output)];
    all.extend(wire_of(named.into_iter().chain(of_dut)));
    if let Some(dut) = dut.filter(|_| kernel) {
        all.push(self::dut(test, settings.interval, settings.handler.unwrap_or_default(), dut)?);
    }
    Ok(all)
}

/// The modules for a device under test in the kernel, without an instrument: one that answers, or toggles every `semi_period`.
pub fn wanted_by_dut(semi_period: Option<Nanos>, handler: Handler, settings: &DutSettings) -> Result<Vec<Wanted>, ModuleError> {
    let test = if semi_period.is_some() { Test::Periodic } else { Test::Response };
    let dut = dut(test, semi_period.unwrap_or_default(), handler, settings)?;
    Ok(wire_of([settings.input.as_ref(), Some(&settings.output)]).into_iter().chain([dut]).collect())
}

/// rtscope_wire, where one of these lines is its.
fn wire_of<'a>(lines: impl IntoIterator<Item = Option<&'a String>>) -> Option<Wanted> {
    let any = lines.into_iter().flatten().any(|name| is_of_wire(name));
    any.then(|| Wanted { name: WIRE, parameters: Vec::new() })
}

/// Whether a line is one of rtscope_wire's.
fn is_of_wire(name: &str) -> bool {
    match name.parse::<LineSpec>() {
        Ok(LineSpec::Wire(_)) => true,
        Ok(LineSpec::Gpio(Gpio::Offset(chip, _))) => chip == "rtscope-wire",
        Ok(LineSpec::Gpio(Gpio::Name(name))) => {
            let rest = name.strip_prefix("rtscope-").unwrap_or_default();
            ["stimulus", "answer"].contains(&rest) || rest.starts_with("out") || rest.starts_with("in")
        }
        _ => false,
    }
}

/// The module that is the device under test.
pub fn dut(test: Test, interval: Nanos, handler: Handler, dut: &DutSettings) -> Result<Wanted, ModuleError> {
    let ask = |message: String, remedy: &str| Err(ModuleError::Ask { message, remedy: remedy.into() });
    let mut parameters = Vec::new();
    for (name, line) in [("in", dut.input.as_ref()), ("out", Some(&dut.output))] {
        let Some(line) = line else { continue };
        parameters.push(format!("{name}={}", line_of(line)?));
    }
    let i = &dut.inject;
    if test == Test::Periodic {
        if (rtscope_record::Inject { skew_ppm: i.skew_ppm, ..Default::default() }) != *i {
            return ask(format!("`{i}` can't be injected into the kernel's wave"), "a wave in the kernel takes skew=PPM only");
        }
        let skew = i128::from(interval.0) * i128::from(i.skew_ppm) / 1_000_000;
        let semi_period = u64::try_from(i128::from(interval.0) + skew).unwrap_or(0);
        if !SEMI_PERIODS.contains(&semi_period) {
            return ask(format!("the semi-period {} is not from 10us to 1s", Nanos(semi_period)), "choose another --interval");
        }
        parameters.extend([format!("semi_period_ns={semi_period}"), format!("context={handler}")]);
        parameters.extend(dut.cpu.map(|cpu| format!("cpu={cpu}")));
        return Ok(Wanted { name: PERIODIC, parameters });
    }
    if (rtscope_record::Inject { delay: i.delay, ..Default::default() }) != *i || i.delay.0 > LONGEST_SERVICE {
        let remedy = "a DUT in the kernel takes delay=TIME up to 1s; the kernel's instrument does wrong itself with --dut wire";
        return ask(format!("`{i}` can't be injected into a DUT in the kernel"), remedy);
    }
    if dut.cpu.is_some() {
        return ask("a DUT in the kernel answers where its interrupt is taken".into(), "leave the DUT's CPU out");
    }
    parameters.push(format!("handler={handler}"));
    if i.delay.0 > 0 {
        parameters.push(format!("service_ns={}", i.delay.0));
    }
    Ok(Wanted { name: RESPONSE, parameters })
}

/// A line as the modules name it: `LABEL/OFFSET`, or its name. A chip that is named by its device gets its label where it is loaded.
fn line_of(name: &str) -> Result<String, ModuleError> {
    match name.parse::<LineSpec>() {
        Ok(LineSpec::Gpio(Gpio::Offset(chip, offset))) => Ok(format!("{chip}/{offset}")),
        Ok(LineSpec::Gpio(Gpio::Name(name))) => Ok(name),
        Ok(_) => Err(ModuleError::Ask {
            message: format!("{name} is no line for a kernel module"),
            remedy: "the DUT in the kernel takes GPIO lines: gpio:CHIP/OFFSET or gpio:NAME".into(),
        }),
        Err(e) => Err(ModuleError::Ask { message: e.to_string(), remedy: e.remedy() }),
    }
}

#[cfg(test)]
#[path = "modules_tests.rs"]
mod tests;
