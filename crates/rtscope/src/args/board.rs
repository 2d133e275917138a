//! The command line of `rtscope board`.

use super::values::Json;
use clap::{Args, Subcommand};
use rtscope_record::Nanos;
use rtscope_record::units::seconds;

/// Options of `board`.
#[derive(Debug, Args)]
pub(crate) struct Board {
    #[command(subcommand)]
    pub command: BoardCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BoardCommand {
    /// Try a board for the first time: what it is, what would spoil a measurement there, and a first run
    Add(AddBoard),
    /// The boards that were measured over ssh, from the archive
    List(Json),
}

#[derive(Debug, Args)]
#[command(after_help = "\
The static probe is copied to the board for the run and removed afterwards; nothing is installed
there. The login must need no password: ssh-copy-id USER@HOST.

Examples:
  rtscope board add ssh:root@board
  rtscope board add ssh:pi@10.0.0.7 -D 30s
  rtscope board list")]
pub(crate) struct AddBoard {
    /// The board: ssh:[USER@]HOST[:PORT], or a name in ~/.ssh/config
    pub board: String,
    /// How long the first run measures
    #[arg(short = 'D', long, value_name = "TIME", default_value = "5s", value_parser = seconds)]
    pub duration: Nanos,
    /// The record of the first run, as JSON
    #[arg(long)]
    pub json: bool,
}
