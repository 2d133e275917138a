//! One test of a campaign's plan, and the settings of its runs.

use super::keyed::{Keyed, Part};
use crate::lines::{About, LineOptionsError, dut_address};
use crate::ssh::Address;
use crate::target::is_lab;
use rtscope_failure::Failure;
use rtscope_record::{LineOptions, Nanos, PlanShape, RunOptions, Settings, Space, Test, Who, limits};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::LazyLock;

/// A test of a plan: the options of `rtscope measure`, by their names.
///
/// Its JSON is part of a run's key, so a field that is added later must be omitted when it has its default.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestPlan {
    /// What is measured.
    pub test: Test,
    /// Where the measured task runs.
    pub space: Space,
    /// Options of every test; defaults are filled in.
    #[serde(flatten)]
    pub run: RunOptions,
    /// Options of tests over lines.
    #[serde(flatten)]
    pub lines: LineOptions,
}

/// The keys that are in no options struct.
#[derive(Deserialize)]
struct Own {
    test: Option<Test>,
    space: Option<Space>,
}

/// All keys of a test, in the order in which an error for an unknown key lists them.
static KEYED: LazyLock<Keyed> = LazyLock::new(|| {
    Keyed::of("struct TestPlan", [Part::of::<Own>(), Part::of::<RunOptions>(), Part::of::<LineOptions>(), Part::of::<PlanShape>()])
});

impl<'de> Deserialize<'de> for TestPlan {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let table = KEYED.read(from)?;
        let (own, mut run): (Own, RunOptions) = (table.part()?, table.part()?);
        let shape: PlanShape = table.part()?;
        let mut lines = LineOptions { shape: shape.0, ..table.part()? };
        if let Some(Who::Elsewhere(machine)) = &mut lines.dut {
            // However an address is written, it is one machine and one run. `fault` refuses what is none.
            *machine = machine.parse().map_or_else(|_| machine.clone(), |address: Address| address.to_string());
        }
        run.fill();
        Ok(Self {
            test: own.test.ok_or_else(|| D::Error::missing_field("test"))?,
            space: own.space.unwrap_or(Space::User),
            run,
            lines,
        })
    }
}

impl TestPlan {
    /// Text for listings, such as `timer 1ms 5s`; includes space and handler for tests in kernel space, and the DUT's machine if it is
    /// another one.
    pub fn label(&self) -> String {
        let handler = self.lines.handler.unwrap_or_default();
        let space = if self.space == Space::Kernel { format!(" kernel {handler}") } else { String::new() };
        let end = match (self.run.duration, self.run.loops) {
            (Some(d), _) => d.to_string(),
            (None, loops) => format!("{} loops", loops.unwrap_or(0)),
        };
        let machine = match &self.lines.dut {
            Some(Who::Elsewhere(machine)) => format!(", DUT on {machine}"),
            _ => String::new(),
        };
        format!("{}{space} {} {end}{machine}", self.test, self.interval())
    }

    /// How long a run measures, ns.
    pub fn span(&self) -> Nanos {
        self.run.duration.unwrap_or_else(|| Nanos(self.run.loops.unwrap_or(0).saturating_mul(self.interval().0)))
    }

    /// The test with `factor` times the duration or loops, at least one loop; an error says what would be too long.
    pub(super) fn scaled(&self, factor: f64) -> Result<Self, String> {
        let times = |n: u64| -> Result<u64, String> {
            let product = n as f64 * factor;
            if product >= 2f64.powi(63) {
                return Err(format!("{factor} times as long is too long"));
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below 2^63 and not negative
            Ok((product.round() as u64).max(1))
        };
        let mut scaled = self.clone();
        scaled.run.duration = self.run.duration.map(|d| times(d.0).map(Nanos)).transpose()?;
        scaled.run.loops = self.run.loops.map(times).transpose()?;
        Ok(scaled)
    }

    /// Always set once a plan was read.
    fn interval(&self) -> Nanos {
        self.run.interval.unwrap_or_default()
    }

    /// The settings of a run on `target`, a machine whose usable CPUs are `all`; `command` is the command line to record. Fails
    /// for lines that are refused when a plan is read.
    pub fn settings(&self, target: &str, all: &[u32], command: Vec<String>) -> Result<Settings, LineOptionsError> {
        let Self { test, space, run, lines } = self;
        // The list was checked when the plan was read.
        let cpus = run.affinity.as_ref().and_then(|list| list.cpus().ok());
        let settings = Settings { command, ..run.settings(cpus.unwrap_or_else(|| all.to_vec())) };
        let (in_lab, cpus_named) = (is_lab(target), run.affinity.is_some());
        let about = About { test: *test, space: *space, in_lab, brings_dut: false, cpus_named, settings: &settings };
        crate::lines::settings(lines, &about)
    }

    /// Why the test can't be taken on one of `targets`; `None` if it can.
    pub(super) fn fault(&self, targets: &[String]) -> Option<String> {
        let Self { test, space, run, .. } = self;
        if run.of_user_timers().is_some() && (*test != Test::Timer || *space == Space::Kernel) {
            return Some("threads, distance, priospread and breaktrace are for `timer` in user space only: leave them out".into());
        }
        if run.duration.is_some() && run.loops.is_some() {
            return Some("duration and loops are two ends of one run: leave one out".into());
        }
        if self.interval().0 == 0 || self.span().0 == 0 {
            return Some("a run needs an interval and an end above zero".into());
        }
        if let Some(priority) = run.priority.filter(|p| !(1..=99).contains(p)) {
            return Some(format!("priority {priority} is not from 1 to 99"));
        }
        if run.worst > limits::WORST {
            return Some(format!("worst = {} is more than {}", run.worst, limits::WORST));
        }
        if let Some(e) = targets.iter().find_map(|t| dut_address(&self.lines, t).err()) {
            return Some(e.in_one());
        }
        // Which CPUs exist makes no difference to these checks.
        targets.iter().find_map(|t| self.settings(t, &[0], Vec::new()).err()).map(|e| Failure::from(e).in_one())
    }
}
