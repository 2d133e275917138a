//! Records for tests, of this crate and of others: what a test does not care for is here, so that a new field touches no test.

use crate::line_options::LineSettings;
use crate::record::RecordParts;
use crate::settings::Settings;
use crate::system::System;
use crate::units::Nanos;
use crate::words::{Clock, Space, Test};

/// A timer test on this machine without load that found nothing: no distributions, no warnings, nothing else.
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

/// Single edges on one GPIO that another answers within 1 ms, by no device of ours.
pub fn lines() -> LineSettings {
    LineSettings {
        stimulus: Some("gpio:a/1".into()),
        answer: "gpio:a/2".into(),
        seed: 1,
        timeout: Nanos(1_000_000),
        ..LineSettings::default()
    }
}
