//! Writes a report of synthetic records: `cargo run -p rtscope-report --example sample_report -- out.html [board|vm|odd|kernels|troubled|big|explained|explained-once|papers|15|100]`.
//!
//! The browser tests in web/test open it. `big` is the largest page that they measure (6 records, 4 CPUs, about 10,000
//! slots each); a number makes a page of that many runs of many kernels and loads, some of them repeated.
#![allow(clippy::print_stdout)]

#[path = "../tests/sample/mod.rs"]
mod sample;

use rtscope_analysis::papers::{Paper, PaperRun, papers};
use rtscope_record::Record;
use rtscope_report::html::{Options, page};

/// Records whose distributions fill about ten thousand slots each.
fn big() -> Vec<Record> {
    let wide = |load: &str| {
        let mut p = sample::parts(load);
        for c in 0..4u32 {
            let mut i = 0u64;
            p.distributions.push(sample::cpu(&format!("cpu{c}"), c, 60_000, 1_000_000_000, move || {
                i += 1;
                // Spread over five decades: 1 us to 100 ms.
                1_000 + (i * i * u64::from(7 + c)) % 1_000_003 * (i % 10 + 1) / 10 + if i % 50 == 0 { i * 1_600 } else { 0 }
            }));
        }
        Record::new(p).expect("counts add up")
    };
    sample::LOADS.iter().map(|l| wide(l)).collect()
}

/// `n` runs of many kinds.
fn many(n: usize) -> Vec<Record> {
    let kinds = [sample::kernels(1_200), sample::board(1_200), sample::virtual_machine(600), sample::responses(300)].concat();
    // Mixes the kinds, so that even fifteen runs are of several kernels.
    let order: Vec<usize> = (0..kinds.len()).map(|i| i * 7 % kinds.len()).collect();
    let run = |i: usize| {
        let mut p = kinds[order[i % order.len()]].clone().into_parts();
        let round = i / order.len();
        p.id = format!("{}-{i:03}", p.id);
        p.started = format!("2026-11-21T{:02}:{:02}:00Z", 8 + i / 60, i % 60);
        if i % 11 == 5 {
            p.load = "stress-ng:--cpu 2 --io 4 --vm 1 --vm-bytes 128M --timer 1 --timer-freq 100000".into();
        }
        if round % 3 == 1 {
            p.system.kernel.release = p.system.kernel.release.replace("6.12", "6.17").replace("6.1.0-42", "6.6.0-15");
        }
        if let Some(lab) = &mut p.lab {
            lab.seed = 1 + round as u64 % 2;
        }
        Record::new(p).expect("counts add up")
    };
    (0..n).map(run).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let out = args
        .next()
        .ok_or("usage: sample_report OUT.html [board|vm|odd|kernels|troubled|big|explained|explained-once|papers|15|100]")?;
    let records = match args.next().as_deref() {
        None | Some("board") => sample::board(20_000),
        Some("vm") => sample::virtual_machine(5_000),
        Some("odd") => sample::odd(),
        Some("kernels") => sample::kernels(5_000),
        Some("troubled") => sample::troubled_kernels(),
        Some("big") => big(),
        Some("explained" | "explained-once") => sample::board(2_000)[..1].to_vec(),
        // Runs under the other loads bring no element to the page that is not there already.
        Some("papers") => {
            let outer = |r: &Record| matches!(r.parts().load.as_str(), "none" | "full");
            let kernels = sample::kernels(1_200).into_iter().filter(outer).collect();
            [kernels, sample::responses(300), sample::waves(60)].concat()
        }
        Some(other) => match other.parse() {
            Ok(n) if (1..=1_000).contains(&n) => many(n),
            _ => {
                return Err(format!(
                    "`{other}` is none of board, vm, odd, kernels, troubled, big, explained, explained-once, papers, and no number of runs"
                )
                .into());
            }
        },
    };
    let comparison =
        (records.len() == 2).then(|| rtscope_analysis::compare(&records[..1], &sample::board(5_000)[..1])).transpose()?;
    let started = std::time::Instant::now();
    let number = match std::env::args().nth(2).as_deref() {
        Some("explained") => 5,
        Some("explained-once") => 1,
        _ => 0,
    };
    let explained: Vec<_> = (0..number).map(|n| sample::explained::explained(&records[0], n, "stress-ng-clone")).collect();
    let papers = match std::env::args().nth(2).as_deref() {
        Some("papers") => {
            let runs = records.iter().map(PaperRun::of).collect::<Result<Vec<_>, _>>()?;
            Some(papers(&Paper::ALL, &runs.into_iter().flatten().collect::<Vec<_>>())?)
        }
        _ => None,
    };
    let options = Options {
        kernels: None,
        papers: papers.as_ref(),
        tails: &[],
        title: "",
        comparison: comparison.as_ref(),
        below: &[],
        published: &[],
        explained: &explained,
        version: env!("CARGO_PKG_VERSION"),
    };
    let html = page(&records, &options)?;
    std::fs::write(&out, &html)?;
    let slots: usize = records.iter().flat_map(Record::distributions).map(|d| d.histogram().slots().count()).sum();
    println!("{out}: {} kB, {slots} slots, made in {:.0} ms", html.len() / 1000, started.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
