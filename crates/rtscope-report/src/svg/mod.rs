//! The field's plots as SVG: latency histogram, percentile chart, worst samples over time, an overview of runs,
//! stock against RT, and response tests beside each other.
//!
//! Written by hand rather than with the plotters crate: the plots follow the reader's dark or light theme through CSS variables, which
//! a back end with fixed colours cannot, and need no font metrics, which plotters takes from fonts that a minimal Debian lacks.

mod draw;
mod latency;
mod overview;
pub(crate) mod percentile;
mod response;
mod versus;
mod worst;

pub(crate) use draw::log_ticks;
pub use latency::latency;
pub use overview::overview;
pub use percentile::percentile;
pub use response::{response_ranges, response_worst};
pub use versus::versus;
pub use worst::worst;

/// How a plot is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A file of its own: it carries its style.
    File,
    /// Inside a page that carries [`STYLE`].
    Page,
}

/// The axis of latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Axis {
    /// Linear, as the field plots it.
    #[default]
    Linear,
    /// Logarithmic, where a few samples lie far out.
    Log,
}

/// Colours of the plots in the light theme, as CSS declarations.
pub const LIGHT: &str = include_str!("light.css");
/// The same in the dark theme.
pub const DARK: &str = include_str!("dark.css");
/// Rules of the plots; they need the variables of [`LIGHT`] or [`DARK`] on an ancestor.
pub const STYLE: &str = include_str!("plot.css");

/// Distinct colours; further series repeat them with other dashes.
pub(crate) const COLOURS: usize = 8;
