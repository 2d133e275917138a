//! The warning about a connection that was lost and came back.

use rtscope_record::{Effect, Warning};
use std::time::Duration;

/// A note for the record: nothing is missing, but the reconnects may explain a latency.
pub(super) fn lost(name: &str, losses: &[Duration]) -> Warning {
    let seconds: f64 = losses.iter().map(Duration::as_secs_f64).sum();
    let times = if losses.len() == 1 { "once".into() } else { format!("{} times", losses.len()) };
    Warning::new(
        "connection-lost",
        Effect::Note,
        format!(
            "the connection to {name} was lost {times}, for {seconds:.1}s in all; the probe went on and kept its figures: none is missing"
        ),
        "look for the cause in the network; a login on the target is work for it, too",
    )
}
