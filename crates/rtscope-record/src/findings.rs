//! What is wrong with a machine that is to be measured: pure rules from a [`System`] snapshot to [`Warning`]s.

use crate::settings::Settings;
use crate::system::System;
use crate::warning::Warning;

/// Every finding about `system` that matters for a run with `settings`, worst effect first.
pub fn findings(_system: &System, _settings: &Settings) -> Vec<Warning> {
    Vec::new()
}
