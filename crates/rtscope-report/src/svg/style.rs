//! The use of a plot, its axis of latencies, its colours and rules.

/// The use of a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A file of its own, which contains its style.
    File,
    /// Part of a page that contains [`STYLE`].
    Page,
}

/// The scale of the latency axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Axis {
    /// Linear, as usual in the field.
    #[default]
    Linear,
    /// Logarithmic, for a few samples far from the rest.
    Log,
}

/// Colours of the plots in the light theme, as CSS declarations.
pub const LIGHT: &str = include_str!("light.css");
/// Colours of the plots in the dark theme.
pub const DARK: &str = include_str!("dark.css");
/// CSS rules of the plots; the variables of [`LIGHT`] or [`DARK`] must be set on an ancestor.
pub const STYLE: &str = include_str!("plot.css");

/// Number of distinct colours; further series repeat them with other dashes.
pub(crate) const COLOURS: usize = 8;
