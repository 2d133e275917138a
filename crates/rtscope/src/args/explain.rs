//! The command line of `rtscope explain`.

use clap::Args;
use std::path::PathBuf;

/// Options of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
The run is taken again in the lab, which repeats it to the last bit, while a plugin of QEMU logs what the
guest executes. Needs gcc, and a kernel with BTF and KALLSYMS_ALL, as Debian's are. Of a run that was
taken on a machine with --trace, this shows what the kernel's trace said then.

Examples:
  rtscope measure timer -D 1s --target lab:debian/6.12 --load network
  rtscope explain                    the worst sample of the latest run
  rtscope explain --worst 3          the third worst
  rtscope explain --top 20           the twenty worst in one pass, and how many were alike
  rtscope explain A B                the worst sample of the run A, and the sample of B at the same grid point
  rtscope explain --files why        with a flame chart, folded stacks and a trace for Perfetto in why/
  rtscope report                     the page of the run, now with the flame charts")]
pub(crate) struct Explain {
    /// Which run; two runs: the sample of the first, and that of the second at the same grid point
    pub selection: Vec<String>,
    /// Explain the N-th worst sample
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number)]
    pub worst: usize,
    /// Explain the N worst samples
    #[arg(long, value_name = "N", conflicts_with = "worst", value_parser = number)]
    pub top: Option<usize>,
    /// The kernel module that the run had loaded, with its parameters; may be repeated
    #[arg(long, value_name = "FILE [PARAMETER...]")]
    pub guest_module: Vec<String>,
    /// Write of each sample a flame chart (SVG), folded stacks and a trace for Perfetto to this directory, and what the kernel's own trace
    /// was (--trace)
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

fn number(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=rtscope_run::explain::MOST).contains(&n) => Ok(n),
        _ => Err(format!("a number from 1 to {}", rtscope_run::explain::MOST)),
    }
}
