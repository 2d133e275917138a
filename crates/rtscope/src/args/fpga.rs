//! The command line of `rtscope fpga`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Options of `fpga`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope fpga info /dev/ttyUSB1
  rtscope fpga selftest /dev/ttyUSB1
  rtscope measure response --answer fpga:/dev/ttyUSB1 -i 1ms -D 1m    measure with it
  rtscope measure response --answer fpga:/dev/ttyUSB1 -i 1ms --pulse 20us -l 1000")]
pub(crate) struct Fpga {
    #[command(subcommand)]
    pub command: FpgaCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FpgaCommand {
    /// Which board it is, its clock and resolution, the levels of its pins
    Info(FpgaPort),
    /// A thousand stimuli over the loop inside the instrument: stamps, store, line and host; not the pins
    Selftest(FpgaPort),
}

#[derive(Debug, Args)]
pub(crate) struct FpgaPort {
    /// Its serial port; boards with two have it on the second
    pub port: PathBuf,
    /// JSON instead of words
    #[arg(long)]
    pub json: bool,
}
