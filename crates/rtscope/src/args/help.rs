//! How help texts are arranged: examples first, paragraphs that flow, remarks that fit a narrow terminal.

/// Examples come first: most who look at a help want to copy one.
const HELP: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}\n";

/// A command and its subcommands with the help texts arranged so.
pub(super) fn arranged(c: clap::Command) -> clap::Command {
    let fit = |text: &clap::builder::StyledStr| narrow(&flowing(&text.to_string()));
    let (examples, more) = (c.get_after_help().map(fit), c.get_after_long_help().map(fit));
    let c = if let Some(text) = examples { c.after_help(text) } else { c };
    let c = if let Some(text) = more { c.after_long_help(text) } else { c };
    c.help_template(HELP).mut_subcommands(arranged)
}

/// Each paragraph as one line, which is broken where the terminal ends; indented lines, such as examples, as they are.
fn flowing(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if [&*last, line].iter().all(|l| !l.is_empty() && !l.starts_with(' ')) => *last = format!("{last} {line}"),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// Widest line of the examples: a terminal's usual width.
const NARROW: usize = 80;

/// Examples with their remarks beside them, where all fit a narrow terminal; else each remark above its command, and long commands
/// broken as a shell reads them. A blank line ends what a remark is about.
fn narrow(examples: &str) -> String {
    if examples.lines().filter(|l| l.starts_with(' ')).all(|line| line.chars().count() <= NARROW) {
        return examples.to_owned();
    }
    let mut lines = Vec::new();
    let (mut listed, mut remarked) = (false, false);
    for line in examples.lines() {
        listed = line == "Examples:" || listed && !line.is_empty();
        let example = line.strip_prefix("  ").map(|l| l.split_once("  ").unwrap_or((l, "")));
        let Some((command, remark)) = example.filter(|(command, _)| listed || command.starts_with("rtscope ")) else {
            lines.push(line.to_owned());
            remarked = false;
            continue;
        };
        match remark.trim() {
            "" if remarked => lines.push(String::new()),
            "" => {}
            remark => lines.push(format!("  {remark}{}", if remark.ends_with('?') { "" } else { ":" })),
        }
        remarked = !remark.trim().is_empty();
        lines.extend(broken(command));
    }
    lines.join("\n")
}

/// A command in lines that fit a narrow terminal, each but the last with a `\` at its end. Options stay with their values.
fn broken(command: &str) -> Vec<String> {
    let mut quoted = false;
    let words = command.split(|c: char| {
        quoted ^= c == '\'';
        c == ' ' && !quoted
    });
    let mut units: Vec<String> = Vec::new();
    let mut open = false;
    for word in words {
        match units.last_mut() {
            Some(unit) if open && !word.starts_with(['-', '|']) => *unit = format!("{unit} {word}"),
            _ => units.push(word.to_owned()),
        }
        open = word.starts_with(['-', '|']);
    }
    let (mut lines, mut line) = (Vec::new(), String::from("   "));
    for unit in units {
        if line.chars().count() + " ".len() + unit.chars().count() + " \\".len() > NARROW && !line.trim().is_empty() {
            lines.push(line + " \\");
            line = String::from("     ");
        }
        line = format!("{line} {unit}");
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_that_are_too_wide_have_their_remarks_above() {
        let fits = "Examples:\n  rtscope check    is this machine fit?\n\nExit codes: 0 done";
        assert_eq!(narrow(fits), fits);
        let wide = format!(
            "Examples:\n  rtscope list  what there is\n  rtscope show\n  rtscope measure {}   long\n\nWords.",
            "x".repeat(70)
        );
        let x = "x".repeat(70);
        let wanted = format!(
            "Examples:\n  what there is:\n    rtscope list\n\n    rtscope show\n  long:\n    rtscope measure \\\n      {x}\n\nWords."
        );
        assert_eq!(narrow(&wide), wanted);
        let y = "y".repeat(50);
        let quoted = narrow(&format!("  rtscope show {y} | jq '.distributions | .b'"));
        assert_eq!(quoted, format!("    rtscope show {y} | jq \\\n      '.distributions | .b'"));
        let y = "y".repeat(40);
        let options = narrow(&format!("  rtscope measure timer --target {y} --interval 1ms"));
        assert_eq!(options, format!("    rtscope measure timer --target {y} \\\n      --interval 1ms"));
    }

    #[test]
    fn paragraphs_flow_and_examples_stay() {
        assert_eq!(flowing("One\ntwo.\n\nExamples:\n  a\n  b\n\nThree\nfour"), "One two.\n\nExamples:\n  a\n  b\n\nThree four");
    }
}
