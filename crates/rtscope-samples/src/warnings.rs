//! Warnings that follow from the counters of samples.

use rtscope_record::{Distribution, Effect, Nanos, Warning};

/// The warnings of a response test: missed answers, spurious edges, no samples. `answer` names the answer line.
pub fn of_answers(distributions: &[Distribution], answer: &str, timeout: Nanos) -> Vec<Warning> {
    let mut all = Vec::new();
    let mut put = |code: &str, effect, message: String, remedy: &str| all.push(Warning::new(code, effect, message, remedy));
    for d in distributions {
        if d.missed() > 0 {
            let stimuli = d.count() + d.missed();
            let message = format!(
                "{}: {} of {stimuli} stimuli were not answered within {timeout} ({} late)",
                d.label(),
                d.missed(),
                d.late()
            );
            put("missed-answers", Effect::Note, message, "they are in no percentile: hold the run to it with --assert 'missed==0'");
        }
        if d.spurious() > 0 {
            let message = format!("{}: {} edges of {answer} that nobody asked for", d.label(), d.spurious());
            put("spurious-edges", Effect::Note, message, "bouncing or unconnected lines? A pull-up, or shorter wires");
        }
        if d.count() == 0 {
            let message = format!("{} took no sample at all", d.label());
            put("no-samples", Effect::Invalid, message, "measure longer, or lengthen --timeout");
        }
    }
    all
}
