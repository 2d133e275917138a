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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Sink, StimulusOutcome};
    use crate::responses::ResponseSampler;

    #[test]
    fn what_was_missed_late_spurious_or_not_there_is_said_of_its_edge() {
        let mut samples = ResponseSampler::new(4, 0);
        for (number, outcome) in [
            (1, StimulusOutcome::Answered { level: true, latency: 20, at: 1_020 }),
            (2, StimulusOutcome::Missed { level: true }),
            (2, StimulusOutcome::Late { level: true }),
            (3, StimulusOutcome::Missed { level: true }),
            (4, StimulusOutcome::Spurious { level: false }),
        ] {
            samples.take(number, outcome);
        }
        let (distributions, _) = samples.finish(|_| ()).unwrap();
        let said = of_answers(&distributions, "gpio:gpiochip0/5", Nanos(2_000_000));
        let of = |w: &Warning| (w.code.clone(), w.effect, w.message.clone());
        let expected = [
            ("missed-answers", Effect::Note, "rising: 2 of 3 stimuli were not answered within 2ms (1 late)"),
            ("spurious-edges", Effect::Note, "falling: 1 edges of gpio:gpiochip0/5 that nobody asked for"),
            ("no-samples", Effect::Invalid, "falling took no sample at all"),
        ];
        let expected = expected.map(|(code, effect, message)| (code.to_owned(), effect, message.to_owned()));
        assert_eq!(said.iter().map(of).collect::<Vec<_>>(), expected);
    }
}
