//! The parts that the one program of the guest plays, as its first argument names them.

/// First argument of the program: be the agent.
pub(super) const AGENT: &str = "agent";
/// First argument of the program: be a stage of the load's supervisor.
pub(super) const SUPERVISOR: &str = "load-supervisor";
/// First argument of the program: be the probe.
pub(super) const PROBE: &str = "probe";
