//! The field's plots as SVG: latency histogram, percentile chart, worst samples over time, overview of runs, stock
//! against RT, comparisons of response tests, return levels of tails, published latencies beside one's own, a
//! histogram for each load, flame charts of explained samples, and two of these on one axis.
//!
//! Written by hand instead of with the plotters crate: the plots follow the reader's dark or light theme through CSS
//! variables, which a back end with fixed colours cannot do, and need no font metrics, which plotters takes from fonts
//! that a minimal Debian lacks.

mod by_load;
mod draw;
pub(crate) mod flame;
mod forest;
mod latency;
mod overview;
mod pair;
pub(crate) mod percentile;
mod published;
mod response;
mod style;
mod tail;
mod versus;
mod worst;

pub use by_load::by_load;
pub(crate) use draw::log_ticks;
pub use flame::flame;
pub use forest::{forest, run_maxima};
pub use latency::latency;
pub use overview::overview;
pub use pair::pair;
pub use percentile::percentile;
pub use published::published;
pub use response::{response_ranges, response_worst};
pub use style::{Axis, DARK, LIGHT, STYLE, Use};
pub use tail::{tail_levels, tail_mean_excess};
pub use versus::versus;
pub use worst::worst;
