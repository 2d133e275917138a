//! What the tools say they did: stress-ng's YAML metrics and iperf3's JSON, as one map from name to figure.

use std::collections::BTreeMap;

/// Name with unit to figure, as in a record's load proof.
pub(crate) type Achieved = BTreeMap<String, f64>;

/// Reads the `metrics:` section that `stress-ng --metrics --yaml FILE` writes (0.09 to 0.19): for each stressor `NAME.bogo_ops` and
/// `NAME.bogo_ops_per_s` (by wall clock). The file is flat enough to be read line by line; other sections and keys are passed over.
/// A stressor listed twice is added up.
pub(crate) fn stress_ng(yaml: &str) -> Achieved {
    let mut achieved = Achieved::new();
    let mut in_metrics = false;
    let mut stressor = None::<String>;
    for line in yaml.lines().filter(|l| !l.trim().is_empty()) {
        if !line.starts_with([' ', '-', '\t']) {
            in_metrics = line.trim_end() == "metrics:";
            stressor = None;
            continue;
        }
        let item = line.trim().trim_start_matches("- ");
        let (true, Some((key, value))) = (in_metrics, item.split_once(':')) else { continue };
        let value = value.trim().trim_matches(['\'', '"']);
        let unit = match key.trim() {
            "stressor" => {
                stressor = Some(value.into()).filter(|v: &String| !v.is_empty());
                continue;
            }
            "bogo-ops" => "bogo_ops",
            "bogo-ops-per-second-real-time" => "bogo_ops_per_s",
            _ => continue,
        };
        if let (Some(name), Some(figure)) = (&stressor, figure(value)) {
            *achieved.entry(format!("{name}.{unit}")).or_insert(0.0) += figure;
        }
    }
    achieved
}

/// A finite, non-negative number.
fn figure(text: &str) -> Option<f64> {
    text.parse().ok().filter(|f: &f64| f.is_finite() && *f >= 0.0)
}

/// What iperf3's JSON says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Iperf3Said {
    /// `iperf3.bytes`, and of a client `iperf3.gbit_per_s` and `iperf3.retransmits`; empty when the summary is missing.
    pub(crate) achieved: Achieved,
    /// Its own error message. An interrupted client has one too.
    pub(crate) error: Option<String>,
}

/// Reads what `iperf3 -J` prints (3.1 to 3.19). `side` is the summary that this end can know: `sum_sent` of a client, `sum_received` of a
/// server; an interrupted run has no figures of the other end.
pub(crate) fn iperf3(json: &str, side: &str) -> Iperf3Said {
    let Ok(said) = serde_json::from_str::<serde_json::Value>(json) else { return Iperf3Said::default() };
    let sum = &said["end"][side];
    let number = |key: &str| sum[key].as_f64().filter(|f| f.is_finite() && *f >= 0.0);
    let mut achieved = Achieved::new();
    if let Some(bytes) = number("bytes") {
        achieved.insert("iperf3.bytes".into(), bytes);
        // A server that ends by its client's interruption divides by a wrong time (3.12 said 0.008 for 17 Gbit/s).
        if let Some(bits) = number("bits_per_second").filter(|_| side == "sum_sent") {
            achieved.insert("iperf3.gbit_per_s".into(), bits / 1e9);
        }
        if let Some(retransmits) = number("retransmits") {
            achieved.insert("iperf3.retransmits".into(), retransmits);
        }
    }
    Iperf3Said { achieved, error: said["error"].as_str().map(Into::into) }
}

#[cfg(test)]
#[path = "achieved_tests.rs"]
mod tests;
