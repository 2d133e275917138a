//! `rtscope key` on the command line.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Key {
    #[command(subcommand)]
    pub task: KeyTask,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyTask {
    /// Make a key of your own, and print its public half
    Generate {
        /// The name that others see [default: the machine's name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Print the public half of your key
    Show {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Trust a key: what it signed is imported as measured
    Trust {
        /// The line that `key show` printed, a file with it, or `-` for standard input
        #[arg(required = true, value_name = "KEY")]
        key: Vec<String>,
        /// What its owner is called here [default: as the line says]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Stop trusting a key
    Distrust {
        /// Its name or fingerprint
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Your key and those that you trust
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}
