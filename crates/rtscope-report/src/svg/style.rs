//! How a plot is to be used, its axis of latencies, its colours and rules.

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
