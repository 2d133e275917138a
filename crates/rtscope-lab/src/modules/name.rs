//! The names of the modules, and of the variable that says where built ones are.

/// The module with the wire chip and the instrument.
pub const WIRE: &str = "rtscope_wire";
/// The DUT that answers.
pub const RESPONSE: &str = "rtscope_response";
/// The DUT that makes a wave.
pub const PERIODIC: &str = "rtscope_periodic";
/// The timer test.
pub const TIMER: &str = "rtscope_timer";
/// All of them.
pub const ALL: [&str; 4] = [WIRE, RESPONSE, PERIODIC, TIMER];
/// Names a directory of built modules.
pub const DIRECTORY: &str = "RTSCOPE_MODULES";
