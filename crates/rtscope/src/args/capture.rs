//! Options of `import` for captures of logic analyzers and oscilloscopes.

use clap::{Args, ValueEnum};
use rtscope_record::units::micros;
use rtscope_record::{Nanos, limits};

/// Which edges count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Edges {
    /// Rising and falling ones
    Both,
    /// Rising ones
    Rising,
    /// Falling ones
    Falling,
}

/// Parses a time-out or semi-period, with the limits that `measure` has.
fn line_time(text: &str) -> Result<Nanos, String> {
    let time = micros(text).map_err(|e| e.to_string())?;
    let fits = (1..=limits::LONGEST).contains(&time.0);
    fits.then_some(time).ok_or_else(|| format!("it is more than 0, and at most {}", Nanos(limits::LONGEST)))
}

/// What a capture is to be read as.
#[derive(Debug, Args)]
#[command(next_help_heading = "Captures (VCD, sigrok .sr, CSV of logic analyzers and oscilloscopes)")]
pub(crate) struct CaptureArgs {
    /// The channel that stimulated, by name or place (#1 is the first); without it the answer is read as a wave (`periodic`)
    #[arg(long, value_name = "CHANNEL")]
    pub stimulus: Option<String>,
    /// The channel that answered, or the wave
    #[arg(long, value_name = "CHANNEL")]
    pub answer: Option<String>,
    /// Edges of the stimulus that are to be answered
    #[arg(long, value_name = "EDGES", value_enum, default_value_t = Edges::Both)]
    pub stimulus_edges: Edges,
    /// Edges that answer [default: those of the stimulus]
    #[arg(long, value_name = "EDGES", value_enum)]
    pub answer_edges: Option<Edges>,
    /// A rising stimulus is answered by a falling edge
    #[arg(long)]
    pub inverted: bool,
    /// Pulses of a channel that are shorter than this are taken out and counted, such as those of a slow edge [default: each edge counts]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub min_width: Option<Nanos>,
    /// Longest time to an answer; later ones are missed [default: the usual time between two stimuli]
    #[arg(long, value_name = "TIME", value_parser = line_time)]
    pub timeout: Option<Nanos>,
    /// Semi-period that the wave should have [default: its usual one]
    #[arg(long, value_name = "TIME", value_parser = line_time)]
    pub semi_period: Option<Nanos>,
    /// Stimuli (edges of a wave) before the figures begin; reported apart
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=limits::WARMUP))]
    pub warmup: u64,
    /// Voltages from here on are high [default: the middle of the channel's swing]
    #[arg(long, value_name = "VOLTS", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// How far a voltage must pass over the threshold, in all [default: a tenth of the swing]
    #[arg(long, value_name = "VOLTS")]
    pub hysteresis: Option<f64>,
    /// Worst samples to keep of each edge; with all of them `compare` pairs each pulse with that of another instrument
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(..=i64::from(limits::WORST)))]
    pub worst: u32,
}
