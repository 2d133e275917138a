//! What a comparison of runs is worth: experiments drawn by chance, of which the truth is known. `./x bench stats` runs it.
//!
//! Each experiment compares runs of samples in five rows, as `rtscope compare` does. Equal sides must seldom be called different; a p99.9
//! that is 20 % higher must be found with the runs a side that are planned by a few earlier runs.

#![allow(clippy::print_stdout)] // a program of its own

use rtscope_statistics::replicates::{Level, Runs, Spread, Word, difference, runs_for};
use rtscope_statistics::seeded::Seeded;
use statrs::distribution::{ContinuousCDF, Normal};
use std::process::ExitCode;

/// Samples of a run, and blocks that it has.
const SAMPLES: usize = 16_384;
const BLOCKS: usize = 64;
/// Rows of a comparison: mean, p50, p99, p99.9, median of the block maxima.
const ROWS: usize = 5;
const P99_9: usize = 3;

/// How samples of a run depend on each other.
#[derive(Clone, Copy)]
enum Depend {
    Not,
    Neighbours,
    Bursts,
}

struct Run {
    figures: [f64; ROWS],
    blocks: Vec<f64>,
}

/// A run of latencies in us. Above `from`, which is the p99 of all runs, they are multiplied by `shift`.
fn run(depend: Depend, shift: f64, from: f64, random: &mut Seeded) -> Run {
    let law = Normal::standard();
    let mut normal = {
        let mut spare = None;
        move |random: &mut Seeded| {
            // Box and Muller 1958.
            spare.take().unwrap_or_else(|| {
                let (r, angle) = ((-2.0 * random.uniform().ln()).sqrt(), std::f64::consts::TAU * random.uniform());
                spare = Some(r * angle.sin());
                r * angle.cos()
            })
        }
    };
    // Runs differ by more than their samples say: by 3 % (standard deviation).
    let of_run = (0.03 * law.inverse_cdf(random.uniform())).exp();
    let (mut state, mut left) = (normal(random), 0usize);
    let mut samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            state = match depend {
                Depend::Not | Depend::Bursts => normal(random),
                Depend::Neighbours => 0.9 * state + (1.0f64 - 0.81).sqrt() * normal(random),
            };
            if matches!(depend, Depend::Bursts) && left == 0 && random.uniform() < 0.0005 {
                left = 20;
            }
            let burst = if left > 0 { 3.0 } else { 1.0 };
            left = left.saturating_sub(1);
            let latency = of_run * 5.0 * burst * (0.4 * state).exp();
            if latency > from { latency * shift } else { latency }
        })
        .collect();
    let blocks: Vec<f64> = samples.chunks_exact(SAMPLES / BLOCKS).map(|b| b.iter().copied().fold(0.0, f64::max)).collect();
    let mean = samples.iter().sum::<f64>() / SAMPLES as f64;
    samples.sort_by(f64::total_cmp);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a place among the samples
    let at = |q: f64| samples[(q * SAMPLES as f64).ceil() as usize - 1];
    let mut ordered = blocks.clone();
    ordered.sort_by(f64::total_cmp);
    let median = f64::midpoint(ordered[BLOCKS / 2 - 1], ordered[BLOCKS / 2]);
    Run { figures: [mean, at(0.5), at(0.99), at(0.999), median], blocks }
}

/// The words of all rows.
fn words(a: &[Run], b: &[Run], seed: u64) -> Vec<Word> {
    let level = Level { confidence: 0.95, rows: ROWS, seed };
    let blocks = |side: &[Run]| side.iter().map(|r| r.blocks.clone()).collect::<Vec<_>>();
    let (of_a, of_b) = (blocks(a), blocks(b));
    let row = |i: usize| {
        let values = |side: &[Run]| side.iter().map(|r| r.figures[i]).collect::<Vec<f64>>();
        let (x, y) = (values(a), values(b));
        let inner = |blocks| if i == ROWS - 1 { blocks } else { &[][..] };
        let side = |values, blocks| Runs { values, blocks: inner(blocks), step: 0.0 };
        difference(side(&x, &of_a), side(&y, &of_b), level).map_or(Word::NoDifference, |d| d.word)
    };
    (0..ROWS).map(row).collect()
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: usize| arguments.next().and_then(|a| a.parse().ok()).unwrap_or(usual);
    let (repeats, seed) = (number(1000), number(1) as u64);
    let mut kept = true;
    println!("{repeats} experiments each, seed {seed}; runs of {SAMPLES} samples, {ROWS} rows");
    println!(
        "{:<12} {:>6} {:>22} {:>28} {:>24}",
        "samples", "runs", "equal, any row differs", "p99.9 + 20 %: runs planned", "found worse"
    );
    let all = [("independent", Depend::Not, 0.0), ("AR(1), .9", Depend::Neighbours, 0.02), ("bursts", Depend::Bursts, 0.02)];
    let cells: Vec<_> = all.into_iter().flat_map(|(name, depend, limit)| [5, 10].map(|few| (name, depend, limit, few))).collect();
    // Each cell has its own generator, so that threads change nothing.
    let outcomes: Vec<Outcome> = std::thread::scope(|s| {
        let each: Vec<_> = cells.iter().map(|&(_, depend, _, few)| s.spawn(move || cell(depend, few, repeats, seed))).collect();
        each.into_iter().filter_map(|t| t.join().ok()).collect()
    });
    for ((name, _, limit, few), o) in cells.iter().zip(&outcomes) {
        let share = |n: usize| n as f64 / repeats as f64;
        println!(
            "{name:<12} {few:>6} {:>20.1} % {:>20} (median) {:>22.1} %",
            share(o.differ) * 100.0,
            o.planned,
            share(o.found) * 100.0
        );
        kept &= share(o.differ) <= 0.05 + limit && share(o.found) >= 0.9 - limit;
    }
    kept &= outcomes.len() == cells.len();
    println!("{}", if kept { "kept: at most 5 % and at least 90 % (2 points less where samples depend)" } else { "NOT kept" });
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Of the experiments of one kind: how many equal sides differed, how many shifts were found, and the median of the runs planned.
struct Outcome {
    differ: usize,
    found: usize,
    planned: usize,
}

fn cell(depend: Depend, few: usize, repeats: usize, seed: u64) -> Outcome {
    let mut random = Seeded::new(seed);
    let mut p99: Vec<f64> = (0..40).map(|_| run(depend, 1.0, f64::INFINITY, &mut random).figures[2]).collect();
    p99.sort_by(f64::total_cmp);
    let from = p99[20];
    let (mut differ, mut found, mut planned) = (0usize, 0usize, Vec::new());
    for i in 0..repeats {
        let mut some = |n: usize, shift| (0..n).map(|_| run(depend, shift, from, &mut random)).collect::<Vec<_>>();
        let (a, b) = (some(few, 1.0), some(few, 1.0));
        let different = |w: &Word| matches!(w, Word::Better | Word::Worse);
        differ += usize::from(words(&a, &b, i as u64).iter().any(different));
        // The pilot is one side alone.
        let logs: Vec<f64> = a.iter().map(|r| r.figures[P99_9].ln()).collect();
        let mean = logs.iter().sum::<f64>() / few as f64;
        let variance = logs.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (few as f64 - 1.0);
        let level = Level { confidence: 0.95, rows: ROWS, seed: 0 };
        let Some(n) = Spread::of((variance, few - 1), (0.0, 0)).and_then(|s| runs_for(s, 1.2, level)) else { continue };
        planned.push(n);
        let (a, b) = (some(n, 1.0), some(n, 1.2));
        found += usize::from(words(&a, &b, i as u64)[P99_9] == Word::Worse);
    }
    planned.sort_unstable();
    Outcome { differ, found, planned: planned.get(planned.len() / 2).copied().unwrap_or(0) }
}
