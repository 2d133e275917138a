//! Findings about a machine that is to be measured: pure rules from a [`System`](crate::System) snapshot to
//! [`Warning`](crate::Warning)s.
//!
//! Each rule examines one property, has one or two codes, and says what was found, why it matters and how to fix it. A property
//! missing from the snapshot (`None`) gives no finding, except for the preemption model. The effects: `Invalid` if the figures
//! would mean something else than they say, `Inconclusive` if they are true for the run but not for conclusions about the board
//! and its kernel, `Note` if a reader should know.
//!
//! | code | effect | what |
//! |---|---|---|
//! | `clocksource-coarse` | Invalid | the clock moves in ticks: its differences are not latencies |
//! | `rtprio-limit` | Invalid | the kernel will refuse the priority (a forecast: the run itself decides) |
//! | `memlock-limit` | Invalid, Note | the kernel will refuse to lock the memory (also a forecast); a Note where it may |
//! | `clocksource-slow` | Inconclusive | reading the clock takes microseconds, which are in every latency |
//! | `no-high-resolution-timers` | Inconclusive | timers expire at ticks only |
//! | `frequency-scaling` | Inconclusive | the governor changes the CPU's frequency with its use |
//! | `deep-idle-states` | Inconclusive, Note | a CPU must wake up first; a Note where the user allowed it |
//! | `swap` | Note, Inconclusive | without locked memory, pages of the measuring program may be on a disk |
//! | `virtual-machine` | Inconclusive | the hypervisor's scheduling is in every latency |
//! | `tracing-on` | Inconclusive | tracers lengthen every path of the kernel |
//! | `kernel-debugging` | Inconclusive | debugging options lengthen every lock or memory access |
//! | `rt-tasks` | Inconclusive | real-time programs at or above the measuring priority delay it |
//! | `hot` | Inconclusive | near the temperature at which the hardware slows down |
//! | `throttled` | Inconclusive | slowed down now because of heat or undervoltage |
//! | `not-preempt-rt`, `preemption-unknown` | Note | the kernel's preemption model |
//! | `clocksource-unusual`, `clocksource-paravirtual` | Note | not known to be good or bad; provided by a hypervisor |
//! | `frequency-not-highest` | Note | pinned, but below the highest |
//! | `turbo` | Note | the highest frequency depends on heat and on the other CPUs |
//! | `rt-throttling`, `fair-server` | Note | the share of ordinary tasks on a CPU that real-time tasks keep busy |
//! | `cpus-not-isolated` | Note | ordinary tasks share the measured CPUs |
//! | `irqs-on-measured-cpus`, `irqbalance` | Note | interrupts are handled on them, or may be moved to them |
//! | `smt` | Note | two CPUs share one core |
//! | `timer-migration` | Note | timers of idle CPUs may be run by others |
//! | `tracer-set` | Note | a tracer is set but not recording |
//! | `kernel-rt-threads` | Note | kernel threads, including those of interrupts, at or above the measuring priority |
//! | `tasks-hidden` | Note | other users' or the host's real-time tasks can't be seen |
//! | `machine-unknown` | Inconclusive | over lines: nothing is known of the machine that answered |
//! | `instrument-host-CODE` | as CODE | finding CODE about the instrument's machine, where that is not the DUT's |
//! | `container` | Note | limits and views are those of the container |
//! | `virtual-clock`, `virtual-cpus-take-turns`, `lab-host-clock` | Note, Inconclusive, Inconclusive | the lab's clock |
//! | `throttled-since-boot` | Note | it was slowed down at some time before |

pub mod again;
mod context;
mod cpu;
mod host;
mod kernel;
mod lab;
mod machines;
mod rules;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;

pub use lab::in_the_lab;
pub use machines::of_machines;
pub use rules::findings;
