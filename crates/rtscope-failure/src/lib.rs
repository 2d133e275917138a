//! One shape for every failure: what is wrong, what to do about it, whose fault it is.
//!
//! An error's enum is defined where the error arises, with its [`Problem`] beside it: the remedy belongs to the definition of the
//! error. `?` converts the error to a [`Failure`] where a function returns that, and [`Explain`] puts the place of the failure
//! before its message.
#![forbid(unsafe_code)]

mod meant;

pub use meant::{did_you_mean, meant};
use std::fmt::{self, Display};

/// Whose fault a failure is. The command line derives its exit code from this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The request was wrong: repeated, it fails again (exit code 2).
    Usage,
    /// The machine, a file or another program failed (exit code 3).
    Machine,
    /// The program was told to end before it had a result (exit code 130).
    Interrupted,
}

/// Why something ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong, and where.
    pub message: String,
    /// What to do about it; empty where the message says so.
    pub remedy: String,
    /// Whose fault it is.
    pub fault: Fault,
}

impl Failure {
    /// A failure because the request was wrong.
    pub fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into(), fault: Fault::Usage }
    }

    /// A failure of the machine, a file or another program.
    pub fn machine(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into(), fault: Fault::Machine }
    }

    /// A failure because the program was told to end.
    pub fn interrupted(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into(), fault: Fault::Interrupted }
    }

    /// The failure for a problem by reference, where the problem itself is still needed.
    pub fn of(problem: &(impl Problem + ?Sized)) -> Self {
        Self { message: problem.to_string(), remedy: problem.remedy(), fault: problem.fault() }
    }

    /// Whether the request was wrong.
    pub fn is_usage(&self) -> bool {
        self.fault == Fault::Usage
    }

    /// Message and remedy as one text, for places that hold only one.
    pub fn in_one(&self) -> String {
        if self.remedy.is_empty() { self.message.clone() } else { format!("{}; {}", self.message, self.remedy) }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// An error that says what to do about it and whose fault it is. Its `Display` is the message.
pub trait Problem: Display {
    /// What to do about it; empty where the message says so.
    fn remedy(&self) -> String;

    /// Whose fault it is.
    fn fault(&self) -> Fault {
        Fault::Machine
    }

    /// Whether the request was wrong.
    fn is_usage(&self) -> bool {
        self.fault() == Fault::Usage
    }

    /// Whether the program was told to end before it had a result.
    fn is_interrupted(&self) -> bool {
        self.fault() == Fault::Interrupted
    }
}

impl<P: Problem> From<P> for Failure {
    fn from(problem: P) -> Self {
        Self::of(&problem)
    }
}

/// Converts errors to failures.
pub trait Explain<T, E> {
    /// Puts the place of the failure (a path, an option, an id) and a colon before its message.
    fn at(self, place: impl Display) -> Result<T, Failure>
    where
        E: Into<Failure>;

    /// A fault of the request: the place, a colon, and the error's own message.
    fn or_usage(self, place: impl Display, remedy: impl Into<String>) -> Result<T, Failure>
    where
        E: Display;

    /// A fault of the machine, with the same message.
    fn or_machine(self, place: impl Display, remedy: impl Into<String>) -> Result<T, Failure>
    where
        E: Display;
}

impl<T, E> Explain<T, E> for Result<T, E> {
    fn at(self, place: impl Display) -> Result<T, Failure>
    where
        E: Into<Failure>,
    {
        self.map_err(|e| {
            let failure: Failure = e.into();
            Failure { message: format!("{place}: {}", failure.message), ..failure }
        })
    }

    fn or_usage(self, place: impl Display, remedy: impl Into<String>) -> Result<T, Failure>
    where
        E: Display,
    {
        self.map_err(|e| Failure::usage(format!("{place}: {e}"), remedy))
    }

    fn or_machine(self, place: impl Display, remedy: impl Into<String>) -> Result<T, Failure>
    where
        E: Display,
    {
        self.map_err(|e| Failure::machine(format!("{place}: {e}"), remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cold(bool);

    impl Display for Cold {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the soup is cold")
        }
    }

    impl Problem for Cold {
        fn remedy(&self) -> String {
            "warm it".into()
        }

        fn fault(&self) -> Fault {
            if self.0 { Fault::Usage } else { Fault::Machine }
        }
    }

    #[test]
    fn a_problem_becomes_a_failure_on_its_way_up() {
        let serve = |usage| -> Result<(), Failure> { Err(Cold(usage))? };
        assert_eq!(serve(true), Err(Failure::usage("the soup is cold", "warm it")));
        assert_eq!(serve(false), Err(Failure::machine("the soup is cold", "warm it")));
        assert!(Cold(true).is_usage() && !Cold(false).is_usage());
    }

    #[test]
    fn where_it_happened_comes_first() {
        let at: Result<(), _> = Err(Cold(true)).at("table 3");
        assert_eq!(at, Err(Failure::usage("table 3: the soup is cold", "warm it")));
        assert_eq!(at.at("hall").unwrap_err().in_one(), "hall: table 3: the soup is cold; warm it");
        let of_file: Result<(), _> = Err("no such file").or_machine("/x", "name another");
        assert_eq!(of_file, Err(Failure::machine("/x: no such file", "name another")));
        let of_option: Result<(), _> = Err("no number").or_usage("--jobs", "write 2");
        assert_eq!(of_option.map_err(|f| (f.is_usage(), f.to_string())), Err((true, "--jobs: no number".into())));
    }
}
