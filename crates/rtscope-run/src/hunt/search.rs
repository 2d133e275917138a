//! Which loads to try next: what was the worst elsewhere first, then groups of stressors, the worst groups split, the worst stressors
//! tried for longer, together and with other sizes.
//!
//! Most stressors do no harm, and a group is about as harmful as its worst member: so groups find the few harmful ones with a few
//! trials (adaptive group testing), and those that are left are tried longer (successive halving; Jamieson and Talwalkar, AISTATS 2016).
//! Rounds follow from the results of the rounds before alone, so that a hunt that is taken up again asks for the same ones.

use super::mix::{Mix, SIZES};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// Stressors that were among the worst in sweeps over all stressors (`./x bench hunt`) and in hunts, on Debian's 6.12, stock and
/// RT: what keeps one kernel from letting go mostly keeps others too.
const WORST_ELSEWHERE: [&str; 17] = [
    "enosys",
    "exit-group",
    "fpunch",
    "klog",
    "memhotplug",
    "numa",
    "opcode",
    "physpage",
    "pty",
    "readahead",
    "seccomp",
    "shm-sysv",
    "sockmany",
    "sync-file",
    "vforkmany",
    "vm-addr",
    "vm-rw",
];

/// Stressors of a group.
const GROUP: usize = 6;
/// Groups that are split into halves.
const SPLIT: usize = 12;
/// Halves whose stressors are tried alone.
const HALVES: usize = 8;
/// Stressors that are tried for longer.
const PROMOTED: usize = 6;
/// Of these, how many are tried together and with more workers.
const COMBINED: usize = 3;
/// Mixes that are tried with other seeds.
const SEEDED: usize = 2;
/// Stressors that are tried alone at once when only those of harmless groups are left.
const EXPLORED: usize = 24;

/// How the loads to try are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMethod {
    /// By groups, as this module says.
    #[default]
    Groups,
    /// Every stressor alone, in the order of the alphabet.
    Sweep,
}

impl FromStr for SearchMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "groups" => Ok(Self::Groups),
            "sweep" => Ok(Self::Sweep),
            _ => Err(format!("`{text}` is not a way to search: groups, sweep")),
        }
    }
}

/// What is known of the stressors that can be tried.
#[derive(Debug, Clone, Default)]
pub struct Stressors {
    /// All of them.
    pub all: Vec<String>,
    /// Those that only compute, which can't keep a CPU from anybody: they come last.
    pub computing: Vec<String>,
    /// Those that take a size (`--NAME-bytes`).
    pub sized: BTreeSet<String>,
}

/// How long a trial measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Length {
    /// A quarter of a long one: enough to see an operation that takes long.
    Short,
    /// As asked for.
    Long,
}

/// Trials that can be taken at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// What it is for, for progress.
    pub what: &'static str,
    /// The loads, each once.
    pub loads: Vec<Mix>,
    /// How long each is measured.
    pub length: Length,
    /// What is added to the seed.
    pub seed: u64,
}

/// What a trial gave: a score to be made high; `None` if it failed.
type Outcome = Option<u64>;

/// The search so far.
#[derive(Debug, Clone)]
pub struct Search {
    method: SearchMethod,
    stressors: Stressors,
    /// Those of [`WORST_ELSEWHERE`] that can be tried.
    known: Vec<String>,
    /// The others that do not only compute.
    groups: Vec<Vec<String>>,
    tried: BTreeMap<(Mix, Length, u64), Outcome>,
}

impl Search {
    /// A search among `stressors`.
    pub fn new(method: SearchMethod, stressors: Stressors) -> Self {
        let others = || stressors.all.iter().filter(|s| !stressors.computing.contains(s));
        let is_known = |s: &&String| WORST_ELSEWHERE.contains(&s.as_str());
        // Of these also what counts as computing, such as `opcode`, which executes random instructions.
        let known = stressors.all.iter().filter(is_known).cloned().collect();
        let unknown: Vec<&String> = others().filter(|s| !is_known(s)).collect();
        // Neighbours in the alphabet are often alike: they go to different groups.
        let n = unknown.len().div_ceil(GROUP).max(1);
        let group = |i| unknown.iter().skip(i).step_by(n).map(|s| (*s).clone()).collect::<Vec<_>>();
        let groups = (0..n).map(group).filter(|g| !g.is_empty()).collect();
        Self { method, known, groups, tried: BTreeMap::new(), stressors }
    }

    /// Takes the results of a round, in the order of its loads.
    pub fn learn(&mut self, round: &Round, results: impl IntoIterator<Item = Option<u64>>) {
        for (mix, outcome) in round.loads.iter().zip(results) {
            self.tried.insert((mix.clone(), round.length, round.seed), outcome);
        }
    }

    /// The next round; `None` if nothing is left to try.
    pub fn next(&self) -> Option<Round> {
        if self.method == SearchMethod::Sweep {
            return self.round("every stressor alone", self.stressors.all.iter().map(Mix::one).collect(), Length::Long, 0);
        }
        let short = |what, loads| self.round(what, loads, Length::Short, 0);
        let long = |what, loads, seed| self.round(what, loads, Length::Long, seed);
        // A short trial costs hardly less: most of its time goes to the load's start and end. And some stressors do their worst rarely.
        long("stressors that were the worst elsewhere", self.known.iter().map(Mix::one).collect(), 0)
            .or_else(|| short("groups", self.groups.iter().map(Mix::of).collect()))
            .or_else(|| short("halves of the worst groups", self.halves()))
            .or_else(|| short("stressors of the worst halves", self.of_halves()))
            .or_else(|| long("the worst stressors, longer", self.promoted(), 0))
            .or_else(|| long("the worst together, more workers, other sizes", self.combined(), 0))
            .or_else(|| long("the worst with another seed", self.best(SEEDED), 1))
            .or_else(|| long("the worst with another seed", self.best(SEEDED), 2))
            .or_else(|| short("stressors that were tried only in a group", self.unexplored()))
    }

    /// Those of `loads` that were not tried yet, as a round; `None` if there are none.
    fn round(&self, what: &'static str, loads: Vec<Mix>, length: Length, seed: u64) -> Option<Round> {
        let is_new = |mix: &Mix| !self.tried.contains_key(&(mix.clone(), length, seed));
        Some(Round { what, loads: loads.into_iter().filter(is_new).collect(), length, seed }).filter(|r| !r.loads.is_empty())
    }

    /// Every stressor that was tried alone, and every one that was tried only together with others; failed trials do not count.
    pub fn coverage(&self) -> (BTreeSet<&str>, BTreeSet<&str>) {
        let done = || self.tried.iter().filter(|(_, outcome)| outcome.is_some()).map(|((mix, ..), _)| mix);
        let alone: BTreeSet<&str> = done().filter(|m| m.stressors().len() == 1).flat_map(Mix::stressors).collect();
        let together = done().flat_map(Mix::stressors).filter(|s| !alone.contains(s)).collect();
        (alone, together)
    }

    fn score(&self, mix: &Mix, length: Length) -> Outcome {
        self.tried.get(&(mix.clone(), length, 0)).copied().flatten()
    }

    /// Of `loads` those with the highest scores, best first; without those that failed.
    fn top(&self, loads: Vec<Mix>, length: Length, n: usize) -> Vec<Mix> {
        let mut scored: Vec<(u64, Mix)> = loads.into_iter().filter_map(|mix| Some((self.score(&mix, length)?, mix))).collect();
        scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.into_iter().take(n).map(|(_, mix)| mix).collect()
    }

    fn halves(&self) -> Vec<Mix> {
        let worst = self.top(self.groups.iter().map(Mix::of).collect(), Length::Short, SPLIT);
        let split = |group: &Mix| {
            let all: Vec<String> = group.stressors().map(str::to_owned).collect();
            let (a, b) = all.split_at(all.len().div_ceil(2));
            [Mix::of(a), Mix::of(b)]
        };
        worst.iter().flat_map(split).filter(|m| m.stressors().len() > 0).collect()
    }

    fn of_halves(&self) -> Vec<Mix> {
        let worst = self.top(self.halves(), Length::Short, HALVES);
        worst.iter().flat_map(Mix::stressors).map(Mix::one).collect()
    }

    fn alone(&self) -> impl Iterator<Item = Mix> + '_ {
        self.stressors.all.iter().map(Mix::one)
    }

    fn promoted(&self) -> Vec<Mix> {
        self.top(self.alone().collect(), Length::Short, PROMOTED)
    }

    fn combined(&self) -> Vec<Mix> {
        let best: Vec<String> = self
            .top(self.alone().collect(), Length::Long, COMBINED)
            .iter()
            .flat_map(|m| m.stressors().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let more = best.iter().flat_map(|s| [2, 4].map(|n| Mix::workers(s, n)));
        let sized = best.iter().filter(|s| self.stressors.sized.contains(*s));
        let sizes = sized.flat_map(|s| SIZES.map(|size| Mix::sized(s, size)));
        let pairs = best.iter().enumerate().flat_map(|(i, a)| best[i + 1..].iter().map(move |b| Mix::of([a, b])));
        let all = Some(Mix::of(&best)).filter(|_| best.len() > 2);
        more.chain(sizes).chain(pairs).chain(all).collect()
    }

    /// The best loads of all.
    fn best(&self, n: usize) -> Vec<Mix> {
        let long = self.tried.keys().filter(|(_, length, seed)| *length == Length::Long && *seed == 0);
        self.top(long.map(|(mix, ..)| mix.clone()).collect(), Length::Long, n)
    }

    /// Stressors that were not tried alone: those of the worst groups first, those of groups that failed next, those that only
    /// compute last.
    fn unexplored(&self) -> Vec<Mix> {
        let mut groups: Vec<(Outcome, &Vec<String>)> =
            self.groups.iter().map(|g| (self.score(&Mix::of(g), Length::Short), g)).collect();
        groups.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let all = groups.into_iter().flat_map(|(_, g)| g).chain(&self.stressors.computing).map(Mix::one);
        let lengths = [Length::Short, Length::Long];
        all.filter(|mix| lengths.iter().all(|length| !self.tried.contains_key(&(mix.clone(), *length, 0)))).take(EXPLORED).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("s{i:03}")).collect()
    }

    /// How harmful a mix is where the stressor `s` alone does `harm(s)`: as the worst of it, a little less for the company.
    fn harm(mix: &Mix, alone: impl Fn(&str) -> u64) -> u64 {
        let worst = mix.stressors().map(alone).max().unwrap_or(0);
        worst - worst * (mix.stressors().len() as u64 - 1) / 20
    }

    /// Hunts until nothing is left; the trials in their order, with results.
    fn hunt(search: &mut Search, score: impl Fn(&Mix) -> Outcome) -> Vec<(Mix, Length, u64, Outcome)> {
        let mut all = Vec::new();
        while let Some(round) = search.next() {
            assert!(!round.loads.is_empty());
            let results: Vec<Outcome> = round.loads.iter().map(&score).collect();
            search.learn(&round, results.clone());
            all.extend(round.loads.iter().zip(results).map(|(mix, r)| (mix.clone(), round.length, round.seed, r)));
        }
        all
    }

    #[test]
    fn the_worst_stressor_of_three_hundred_is_found_with_less_than_a_hundred_trials() {
        for worst in [0, 17, 150, 251] {
            let alone = |s: &str| {
                let n: u64 = s[1..].parse().unwrap();
                if n == worst { 2_800_000 } else { 5_000 + n * 7919 % 90_000 }
            };
            let all = names(303);
            let stressors = Stressors { all: all.clone(), computing: all[252..].to_vec(), ..Stressors::default() };
            let mut search = Search::new(SearchMethod::Groups, stressors);
            let trials = hunt(&mut search, |mix| Some(harm(mix, alone)));
            let name = format!("s{worst:03}");
            let found = trials
                .iter()
                .position(|(mix, length, ..)| *length == Length::Long && mix.load() == format!("stress-ng:--{name} 1"));
            assert!(found.unwrap() < 100, "{found:?}");
            let (alone, together) = search.coverage();
            assert_eq!((alone.len(), together.len()), (303, 0), "in the end each was tried alone");
        }
    }

    #[test]
    fn what_was_the_worst_elsewhere_is_tried_first() {
        let all = ["access", "klog", "opcode", "readahead"].map(String::from).to_vec();
        let sized = BTreeSet::from(["readahead".into()]);
        let stressors = Stressors { all: all.clone(), computing: vec!["opcode".into()], sized };
        let score = |mix: &Mix| Some(if mix.load().contains("readahead") { 7 } else { 1 });
        let trials = hunt(&mut Search::new(SearchMethod::Groups, stressors.clone()), score);
        let loads: Vec<(String, Length)> = trials.iter().map(|(mix, length, ..)| (mix.load(), *length)).collect();
        assert_eq!(loads[0], ("stress-ng:--klog 1".into(), Length::Long));
        assert_eq!(loads[1], ("stress-ng:--opcode 1".into(), Length::Long), "{loads:?}");
        assert!(!loads.contains(&("stress-ng:--opcode 1".into(), Length::Short)), "once is enough");
        assert!(loads.contains(&("stress-ng:--readahead 1 --readahead-bytes 16m".into(), Length::Long)), "{loads:?}");
        let sweep = hunt(&mut Search::new(SearchMethod::Sweep, stressors), score);
        let loads: Vec<String> = sweep.iter().map(|(mix, ..)| mix.load()).collect();
        assert_eq!(loads, all.iter().map(|s| format!("stress-ng:--{s} 1")).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn no_trial_is_taken_twice_whatever_fails(n in 0usize..60, computing in 0usize..20, values in prop::collection::vec(0u64..5, 100)) {
            let all = names(n);
            let computing = all[n.saturating_sub(computing)..].to_vec();
            let sized = all.iter().step_by(3).cloned().collect();
            let mut search = Search::new(SearchMethod::Groups, Stressors { all, computing, sized });
            // A value of 0 is a failure.
            let score = |mix: &Mix| {
                let sum: usize = mix.load().bytes().map(usize::from).sum();
                Some(values[sum % values.len()]).filter(|v| *v > 0)
            };
            let trials = hunt(&mut search.clone(), score);
            let different: BTreeSet<_> = trials.iter().map(|(mix, length, seed, _)| (mix.clone(), *length, *seed)).collect();
            prop_assert_eq!(different.len(), trials.len());
            let again = hunt(&mut search, score);
            prop_assert_eq!(again, trials);
        }
    }
}
