//! One published figure: what was measured, on what, how, with which result, and how far it may be believed.

use rtscope_record::{Space, Test};
use serde::{Deserialize, Serialize};

/// The properties by which published figures can be chosen.
pub const KEYS: [&str; 10] = ["test", "space", "figure", "board", "kernel", "rt", "load", "study", "tool", "evidence"];

/// What a published figure is. Only figures of one kind stand beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Time from what should have happened to what did: wake-up, or answer edge.
    Latency,
    /// How far an interval of a wave is from what it should be.
    Jitter,
    /// Time from an edge to the entry of its interrupt handler; there is no answer.
    HandlerEntry,
    /// Computed, not measured.
    Bound,
}

impl Figure {
    /// The figure in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Jitter => "jitter",
            Self::HandlerEntry => "handler-entry",
            Self::Bound => "bound",
        }
    }
}

/// How a value is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// As it was printed, or recomputed from what was.
    #[default]
    Printed,
    /// Read off a plot, or told in prose.
    About,
    /// The value was exceeded by an unknown amount.
    Above,
    /// What was higher than a limit had been dropped before.
    Censored,
    /// Another source contradicts it.
    Disputed,
    /// The other printed values of its row rule it out.
    Impossible,
    /// Computed, not measured.
    Bound,
}

impl Standing {
    /// What stands before and after the value where it is shown.
    pub fn marks(self) -> [&'static str; 2] {
        match self {
            Self::Printed | Self::Bound => ["", ""],
            Self::About => ["~", ""],
            Self::Above => [">", ""],
            Self::Censored => ["", "*"],
            Self::Disputed => ["", "?"],
            Self::Impossible => ["", "!"],
        }
    }

    /// The doubt in words; empty where there is none.
    pub fn words(self) -> &'static str {
        match self {
            Self::Printed => "",
            Self::About => "approximate",
            Self::Above => "a lower bound",
            Self::Censored => "censored",
            Self::Disputed => "disputed",
            Self::Impossible => "impossible",
            Self::Bound => "a bound",
        }
    }
}

/// How good the evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Printed in the source.
    Primary,
    /// Recomputed from histograms that the source published.
    PrimaryRaw,
    /// Quoted by another study.
    Secondary,
}

impl Evidence {
    /// The evidence in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::PrimaryRaw => "primary-raw",
            Self::Secondary => "secondary",
        }
    }
}

/// What a row was held against when it was taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checked {
    /// The text of the paper.
    Paper,
    /// The repository, thread or page that it names.
    Source,
    /// Nothing: the source was not at hand.
    No,
}

impl Checked {
    /// What it was held against, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Paper => "against the text of the paper",
            Self::Source => "against the repository, thread or page",
            Self::No => "no: the source was not at hand",
        }
    }
}

/// A published figure. Times are in ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// Its id: lower case letters, digits and hyphens.
    pub id: String,
    /// Who, when, which table.
    pub study: String,
    /// Where it was published.
    #[serde(rename = "where")]
    pub place: String,
    /// The board.
    pub board: String,
    /// The kernel, as far as it is stated.
    pub kernel: String,
    /// Whether it is a PREEMPT_RT kernel.
    pub rt: bool,
    /// Which of rtscope's tests measures the same.
    pub test: Test,
    /// Where the measured task ran; `None` where it is not stated.
    pub space: Option<Space>,
    /// What the figure is.
    pub figure: Figure,
    /// What was measured, in words.
    pub what: String,
    /// What held the clock, and with which options.
    pub tool: String,
    /// What else ran.
    pub load: String,
    /// How many samples, or how long.
    pub samples: String,
    /// Lowest.
    pub min: Option<u64>,
    /// Average.
    pub avg: Option<u64>,
    /// How to read the average.
    pub avg_is: Standing,
    /// Highest.
    pub max: Option<u64>,
    /// How to read the maximum.
    pub max_is: Standing,
    /// Standard deviation.
    pub std: Option<u64>,
    /// How to read the deviation.
    pub std_is: Standing,
    /// How good the evidence is.
    pub evidence: Evidence,
    /// What it was held against.
    pub checked: Checked,
    /// The row that holds the original of a quoted figure.
    pub original: Option<String>,
    /// What a reader must know besides.
    pub caveat: String,
    /// Which share of the samples is below which time (us), in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

impl Reference {
    /// RT or stock, as people write it.
    pub fn role(&self) -> &'static str {
        if self.rt { "RT" } else { "stock" }
    }

    /// The doubts about its average and maximum, and that it is quoted, in a few words; empty where there are none.
    pub fn doubts(&self) -> Vec<String> {
        let of =
            |name: &str, there: bool, is: Standing| (there && !is.words().is_empty()).then(|| format!("{name} {}", is.words()));
        let quoted = (self.evidence == Evidence::Secondary).then(|| "quoted".to_owned());
        let found = [of("average", self.avg.is_some(), self.avg_is), of("maximum", self.max.is_some(), self.max_is), quoted];
        found.into_iter().flatten().collect()
    }
}
