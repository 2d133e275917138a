//! Where a session is, for a progress display.

use rtscope_lab::vm::Progress;
use rtscope_probe::protocol::Event;

/// Where a session is, for a progress display.
#[derive(Debug)]
pub enum Step<'a> {
    /// What a virtual machine needs is being fetched or built.
    Preparing(&'a str),
    /// This is fetched from the network now.
    Fetching(&'a str),
    /// A virtual machine is being started: from its kept state, or by booting it first.
    GuestStarting {
        /// It must boot.
        boots: bool,
    },
    /// How far the virtual machine is.
    Guest(Progress),
    /// The load of this name is being started.
    LoadStarting(&'a str),
    /// It does work; the probe is next.
    LoadUp,
    /// The probe said something.
    Event(&'a Event),
    /// A process of the load ended before it was told to. The measurement goes on, its record will be INVALID.
    LoadDied(&'a str),
    /// The measurement is over, the load is being ended.
    LoadStopping,
}
