//! Which kernel modules a run needs, and with which parameters.

use super::error::ModuleError;
use rtscope_failure::Problem;
use rtscope_load::kernel_modules::{PERIODIC, RESPONSE, TIMER, WIRE};
use rtscope_probe::lines::LineSpec;
use rtscope_probe::lines::gpio::Gpio;
use rtscope_record::{DutSettings, Handler, Nanos, Settings, Space, Test};

/// Longest service time that rtscope_response accepts, ns.
const LONGEST_SERVICE: u64 = 1_000_000_000;
/// Semi-periods that rtscope_periodic accepts, ns.
const SEMI_PERIODS: std::ops::RangeInclusive<u64> = 10_000..=1_000_000_000;

/// A module that a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedModule {
    /// Its name.
    pub name: &'static str,
    /// Its parameters, as for insmod.
    pub parameters: Vec<String>,
}

/// The modules that a run with these settings needs, in loading order.
pub fn wanted(test: Test, space: Space, settings: &Settings) -> Result<Vec<WantedModule>, ModuleError> {
    let kernel = space == Space::Kernel;
    let mut all = Vec::new();
    if test == Test::Timer && kernel {
        all.push(WantedModule { name: TIMER, parameters: Vec::new() });
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

/// The modules for a DUT in the kernel, without an instrument: one that answers, or one that toggles every `semi_period`.
pub fn wanted_by_dut(
    semi_period: Option<Nanos>,
    handler: Handler,
    settings: &DutSettings,
) -> Result<Vec<WantedModule>, ModuleError> {
    let test = if semi_period.is_some() { Test::Periodic } else { Test::Response };
    let dut = dut(test, semi_period.unwrap_or_default(), handler, settings)?;
    Ok(wire_of([settings.input.as_ref(), Some(&settings.output)]).into_iter().chain([dut]).collect())
}

/// rtscope_wire, if one of these lines belongs to it.
fn wire_of<'a>(lines: impl IntoIterator<Item = Option<&'a String>>) -> Option<WantedModule> {
    let any = lines.into_iter().flatten().any(|name| is_of_wire(name));
    any.then(|| WantedModule { name: WIRE, parameters: Vec::new() })
}

/// Whether a line belongs to rtscope_wire.
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

/// The module that acts as the DUT.
pub fn dut(test: Test, interval: Nanos, handler: Handler, dut: &DutSettings) -> Result<WantedModule, ModuleError> {
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
        return Ok(WantedModule { name: PERIODIC, parameters });
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
    Ok(WantedModule { name: RESPONSE, parameters })
}

/// A line in the modules' notation: `LABEL/OFFSET`, or its name. A chip named by its device is replaced by its
/// label when the module is loaded.
fn line_of(name: &str) -> Result<String, ModuleError> {
    match name.parse::<LineSpec>() {
        Ok(LineSpec::Gpio(Gpio::Offset(chip, offset))) => Ok(format!("{chip}/{offset}")),
        Ok(LineSpec::Gpio(Gpio::Name(name))) => Ok(name),
        Ok(_) => Err(ModuleError::Ask {
            message: format!("{name} is not a line for a kernel module"),
            remedy: "the DUT in the kernel takes GPIO lines: gpio:CHIP/OFFSET or gpio:NAME".into(),
        }),
        Err(e) => Err(ModuleError::Ask { message: e.to_string(), remedy: e.remedy() }),
    }
}

#[cfg(test)]
#[path = "wanted_tests.rs"]
mod tests;
