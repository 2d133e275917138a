//! `rtscope reference` on the command line.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope reference list test=timer,board=rpi4
  rtscope reference show balci-rt
  rtscope report --with-reference    the same, drawn beside your latest run")]
pub(crate) struct Reference {
    #[command(subcommand)]
    pub task: ReferenceTask,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReferenceTask {
    /// What others published, a row for each figure
    #[command(after_help = "\
FILTERS are key=value, separated by commas, and all must hold: test=, space=, figure=, rt=yes|no, evidence=;
board=, kernel=, load=, study= and tool= find a part of the text.

Examples:
  rtscope reference list
  rtscope reference list board=rpi5
  rtscope reference list test=response,space=kernel,rt=yes
  rtscope reference list study=vinh --json | jq '.[].max'    times in ns")]
    List {
        /// Filters; all rows when there is none
        filters: Vec<String>,
        /// JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// One published figure in full: source, conditions, caveats
    #[command(after_help = "\
Examples:
  rtscope reference show dewit-rt
  rtscope reference show adam-1-sw --json")]
    Show {
        /// Its id, as `reference list` has it
        #[arg(value_name = "ID")]
        id: String,
        /// JSON instead of text
        #[arg(long)]
        json: bool,
    },
}
