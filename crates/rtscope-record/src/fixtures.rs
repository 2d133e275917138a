//! Records and settings for tests of this and other crates, with defaults for everything that a test does not care about, so that
//! a new field changes no test.

use crate::line_options::LineSettings;
use crate::record::RecordParts;
use crate::settings::Settings;
use crate::system::System;
use crate::units::Nanos;
use crate::words::{Clock, Space, Test};

/// A timer test on this machine without load: no distributions, no warnings, nothing optional.
pub fn parts() -> RecordParts {
    RecordParts {
        id: "20261121T080000Z-1a2b3c".into(),
        started: "2026-11-21T08:00:00Z".into(),
        elapsed_ns: 3_000_000_000,
        test: Test::Timer,
        space: Space::User,
        load: "none".into(),
        target: "local".into(),
        clock: Clock::Host,
        origin: None,
        interrupted: false,
        warnings: Vec::new(),
        settings: Settings::default(),
        system: System::default(),
        load_proof: None,
        distributions: Vec::new(),
        source: None,
        lab: None,
        instrument: None,
        witness: None,
        signature: None,
    }
}

/// Settings with single edges on one GPIO, answered on another within 1 ms by a device outside rtscope.
pub fn lines() -> LineSettings {
    LineSettings {
        stimulus: Some("gpio:a/1".into()),
        answer: "gpio:a/2".into(),
        seed: 1,
        timeout: Nanos(1_000_000),
        ..LineSettings::default()
    }
}
