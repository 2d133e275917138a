//! The steps of a session, for a progress display.

use rtscope_explain::trace::Traced;
use rtscope_lab::vm::Progress;
use rtscope_probe::protocol::Event;

/// A step of a session, for a progress display.
#[derive(Debug)]
pub enum SessionStep<'a> {
    /// Something that the virtual machine needs is being fetched or built.
    Preparing(&'a str),
    /// This is being fetched from the network.
    Fetching(&'a str),
    /// A virtual machine is being started: from its kept state, or by booting it first.
    GuestStarting {
        /// It has no kept state and must boot.
        boots: bool,
    },
    /// How far the virtual machine is.
    Guest(Progress),
    /// The load of this name is being started.
    LoadStarting(&'a str),
    /// The load is at work; the probe starts next.
    LoadUp,
    /// The probe sent an event.
    Event(&'a Event),
    /// The kernel's trace of the first latency above the limit.
    Traced(&'a Traced),
    /// A process of the load ended too early. The measurement goes on, and its record will be INVALID.
    LoadDied(&'a str),
    /// The measurement is over, the load is being ended.
    LoadStopping,
}
