//! Findings about runs in the virtual lab: what the time of a virtual machine is worth.

use crate::warning::{Effect, Warning};
use crate::words::Clock;

/// Replaces the guest's `virtual-machine` finding by what applies in the lab. In virtual time no hypervisor affects the latencies,
/// but there is no cache or board either; in the host's time everything on the host affects them.
pub fn in_the_lab(mut found: Vec<Warning>, clock: Clock, cpus: u32, model: u32) -> Vec<Warning> {
    found.retain(|w| w.code != "virtual-machine");
    match clock {
        Clock::Virtual => {
            found.push(Warning::new(
                "virtual-clock",
                Effect::Note,
                format!(
                    "the figures are in instruction-counted virtual time, time model {model} ({}): they repeat to the last bit and compare kernels \
                     within one model, but know no caches, no memory and no board, and are of one seed",
                    crate::lab::meaning(model)
                ),
                "measure on the board for its own figures",
            ));
            if cpus > 1 {
                found.push(Warning::new(
                    "virtual-cpus-take-turns",
                    Effect::Inconclusive,
                    format!("in virtual time the {cpus} CPUs take turns of milliseconds: a CPU's latency holds the turns of the others"),
                    "measure with one CPU, or with --clock host",
                ));
            }
        }
        Clock::Host => found.push(Warning::new(
            "lab-host-clock",
            Effect::Inconclusive,
            "the virtual machine ran in the host's time, and every instruction of it was translated: the latencies are mostly those of host \
             and translator, and no run repeats",
            "measure with --clock virtual, or on a board",
        )),
    }
    found.sort_by_key(|warning| std::cmp::Reverse(warning.effect));
    found
}
