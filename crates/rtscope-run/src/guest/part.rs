//! The roles of the guest's one program, by its first argument.

/// First argument: be the agent.
pub(super) const AGENT: &str = "agent";
/// First argument: be a stage of the load's supervisor.
pub(super) const SUPERVISOR: &str = "load-supervisor";
/// First argument: be the probe.
pub(super) const PROBE: &str = "probe";
