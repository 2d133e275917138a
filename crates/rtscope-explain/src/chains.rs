//! Calls that lead somewhere, each kept once.

use crate::stacks::{Function, Stacks};
use std::collections::HashMap;

/// Calls that lead somewhere, as a number: the same ones are kept once.
#[derive(Default)]
pub(crate) struct Chains {
    numbers: HashMap<Vec<Function>, usize>,
    all: Vec<Vec<Function>>,
}

impl Chains {
    /// The number of these calls.
    pub(crate) fn number(&mut self, chain: &[Function]) -> usize {
        if let Some(&n) = self.numbers.get(chain) {
            return n;
        }
        self.all.push(chain.to_vec());
        self.numbers.insert(chain.to_vec(), self.all.len() - 1);
        self.all.len() - 1
    }

    /// The calls with that number, outermost first.
    pub(crate) fn calls(&self, number: usize) -> &[Function] {
        &self.all[number]
    }

    /// Whether they lead through the function that begins there.
    pub(crate) fn goes_through(&self, number: usize, start: Option<u64>, stacks: &Stacks) -> bool {
        start.and_then(|start| stacks.at(start)).is_some_and(|f| self.all[number].contains(&f))
    }
}
