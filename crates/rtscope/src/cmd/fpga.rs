//! `rtscope fpga`: queries and tests an FPGA instrument.

use crate::args::fpga::{Fpga, FpgaCommand, FpgaPort};
use crate::error::Code;
use crate::output;
use rtscope_failure::Failure;
use rtscope_probe::line_tests::instruments::fpga;

/// Carries out the command.
pub(crate) fn run(a: &Fpga) -> Result<Code, Failure> {
    match &a.command {
        FpgaCommand::Info(port) => info(port),
        FpgaCommand::Selftest(port) => selftest(port),
    }
}

fn open(a: &FpgaPort) -> Result<(String, fpga::Fpga), Failure> {
    let path = a.port.to_string_lossy().into_owned();
    let instrument = fpga::open(&path)?;
    Ok((path, instrument))
}

fn info(a: &FpgaPort) -> Result<Code, Failure> {
    let (path, mut instrument) = open(a)?;
    let status = instrument.status().map_err(|e| fpga::failed(&format!("fpga:{path}"), e))?;
    let who = instrument.identity();
    let level = |channel: u32| u8::from(status >> channel & 1 != 0);
    if a.json {
        output::json(&serde_json::json!({
            "port": path, "board": who.board, "name": who.board_name(), "clock_hz": who.clock, "channels": who.channels,
            "half_ticks": who.half_ticks, "resolution_ps": who.resolution_ps(), "store": who.store,
            "levels": (0..u32::from(who.channels)).map(level).collect::<Vec<_>>(),
        }))?;
        return Ok(Code::Done);
    }
    let ps = who.resolution_ps();
    let levels: Vec<String> = (0..u32::from(who.channels)).map(|c| level(c).to_string()).collect();
    output::result(&format!(
        "{}\n  clock        {} Hz\n  resolution   {}.{:02} ns\n  store        {} records\n  levels       {} (stimulus, answer, others)\n",
        who.board_name(),
        who.clock,
        ps / 1000,
        ps % 1000 / 10,
        who.store,
        levels.join(" "),
    ))?;
    Ok(Code::Done)
}

fn selftest(a: &FpgaPort) -> Result<Code, Failure> {
    let (path, mut instrument) = open(a)?;
    let found = rtscope_fpga::selftest::run(&mut instrument).map_err(|e| fpga::failed(&format!("fpga:{path}"), e))?;
    let name = instrument.identity().board_name();
    if a.json {
        output::json(&serde_json::json!({ "port": path, "name": name, "stimuli": found.stimuli, "passed": true }))?;
    } else {
        output::result(&format!("{name}: passed: {} stimuli came back on all channels, each at its half tick\n", found.stimuli))?;
    }
    Ok(Code::Done)
}
