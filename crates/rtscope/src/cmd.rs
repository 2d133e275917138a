//! One module per command, or per group of commands that share their work.

pub(crate) mod archive;
pub(crate) mod board;
pub(crate) mod campaign;
pub(crate) mod capture;
pub(crate) mod check;
mod ci;
pub(crate) use ci::NAMES as CI_FORMATS;
mod compare_values;
pub(crate) mod cyclictest;
pub(crate) mod demo;
pub(crate) mod dut;
pub(crate) mod explain;
pub(crate) mod explained;
mod fail_if;
pub(crate) mod fpga;
pub(crate) mod hunt;
mod input;
pub(crate) mod kernel;
pub(crate) mod key;
pub(crate) mod lab;
pub(crate) mod measure;
pub(crate) mod meta;
mod numbers;
pub(crate) mod papers;
pub(crate) mod plan;
mod published;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod start;
pub(crate) mod stop;
mod summaries;
pub(crate) mod tail;
mod tail_studies;
mod worst;

use crate::output;
use rtscope_report::table::Style;

/// How to draw tables for this terminal.
pub(crate) fn style() -> Style {
    Style { colour: output::colour(), width: Some(output::width()) }
}
