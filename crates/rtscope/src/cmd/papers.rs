//! `rtscope papers`: the four papers beside one's own runs.

use super::report::{for_a_page, page_of_papers};
use super::style;
use crate::args::papers::Papers;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::papers::{Paper, PaperRun, papers};
use rtscope_failure::Failure;
use rtscope_report::table;
use serde::Serialize;
use std::collections::BTreeSet;

/// What `--json` prints; times in ns.
#[derive(Serialize)]
struct Printed {
    /// Names the form of this document.
    schema: &'static str,
    #[serde(flatten)]
    found: rtscope_analysis::papers::Papers,
}

/// Holds the selected runs against the papers and prints.
pub(crate) fn run(context: &Context, a: &Papers) -> Result<Code, Failure> {
    let everything = ["all".to_owned()];
    let selection = Selection::of(context, if a.selection.is_empty() { &everything } else { &a.selection })?;
    let mut runs: Vec<PaperRun> = Vec::new();
    selection.each(PaperRun::of, |run| {
        runs.extend(run?);
        Ok(())
    })?;
    let asked =
        if a.only.is_empty() { Paper::ALL.to_vec() } else { Paper::ALL.into_iter().filter(|p| a.only.contains(p)).collect() };
    let found = papers(&asked, &runs)?;
    if let Some(path) = &a.output {
        let ids: BTreeSet<&str> = runs.iter().map(|r| r.id.as_str()).collect();
        let mut records = for_a_page(&selection)?;
        records.retain(|r| ids.contains(r.id()));
        page_of_papers(context, path, &records, &found)?;
        context.say(&format!("the page is in {}", path.display()));
    }
    if a.json {
        output::json(&Printed { schema: "rtscope-papers/1", found })?;
    } else if a.claims {
        output::result(&table::claims(&found, a.comparisons, style()))?;
    } else {
        output::result(&table::papers(&found, a.comparisons, style()))?;
    }
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::lines::InstrumentFacts;
    use rtscope_record::system::Preemption;
    use rtscope_record::{Distribution, Record, RecordParts, System, Test, Who, fixtures};
    use rtscope_run::campaign::{CampaignPlan, Run};
    use std::path::{Path, PathBuf};

    /// The plans of a paper that come along: those whose names begin with the paper's.
    fn plans(paper: Paper) -> Vec<(PathBuf, CampaignPlan)> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../campaigns");
        let files = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        let of_it = files.filter(|f| f.file_name().unwrap().to_string_lossy().starts_with(paper.as_str()));
        of_it.map(|file| (file.clone(), CampaignPlan::read(&file, &|_, _| Ok(None)).unwrap())).collect()
    }

    /// A record that a run of a plan would leave: of its settings, and of a kernel only if the probe or rtscope knows the machine that
    /// answers.
    fn left(run: &Run, rt: bool) -> Record {
        let settings = run.test.settings(&run.target, &[0, 1, 2, 3], Vec::new()).unwrap();
        let known = settings.lines.as_ref().is_none_or(|l| l.dut.is_some());
        let labels: &[&str] = match run.test.test {
            Test::Timer => &["cpu0"],
            Test::Periodic => &["rising late", "falling early"],
            Test::Response | Test::Sustained => &["rising", "falling"],
        };
        let samples = [5_000 + u64::from(run.repetition), 6_000];
        let mut system = System::default();
        if known {
            system.kernel.release = "6.12.1".into();
            system.kernel.preemption = if rt { Preemption::Rt } else { Preemption::Voluntary };
        }
        let apart = matches!(run.test.lines.dut, Some(Who::Elsewhere(_)));
        let sustained = (run.test.test == Test::Sustained).then_some(settings.interval);
        let facts = InstrumentFacts { system: apart.then(Box::default), sustained, ..InstrumentFacts::default() };
        Record::new(RecordParts {
            id: run.id(if rt { "rt" } else { "stock" }, ""),
            test: run.test.test,
            space: run.test.space,
            load: run.load.clone(),
            distributions: labels.iter().map(|l| Distribution::from_samples(l, &samples, 0).unwrap()).collect(),
            instrument: (run.test.test != Test::Timer).then_some(facts),
            settings,
            system,
            ..fixtures::parts()
        })
        .unwrap()
    }

    fn held(paper: Paper, records: &[Record]) -> rtscope_analysis::papers::Papers {
        let runs: Vec<PaperRun> = records.iter().filter_map(|r| PaperRun::of(r).unwrap()).collect();
        papers(&[paper], &runs).unwrap()
    }

    #[test]
    fn every_run_of_a_papers_plans_has_a_row_in_its_tables() {
        for paper in Paper::ALL {
            let plans = plans(paper);
            assert!(plans.len() >= 2, "{paper}: a plan for a board and one for the lab");
            for (file, plan) in plans {
                for run in plan.runs().iter().filter(|r| r.repetition == 1) {
                    // A search, and the timers on the tick, are there for a claim.
                    if run.test.test == Test::Sustained || (paper, run.test.test) == (Paper::VinhChau, Test::Timer) {
                        continue;
                    }
                    for rt in [false, true] {
                        let found = held(paper, &[left(run, rt)]);
                        let beside = &found.papers[0];
                        let rows = beside.tables.iter().flat_map(|t| &t.rows).filter(|r| r.own.is_some()).count();
                        // Vinh & Chau's tables of user space are of stock kernels.
                        let none_of_rt = paper == Paper::VinhChau && rt && run.test.space == rtscope_record::Space::User;
                        let what = format!("{}: {} under {}, rt {rt}", file.display(), run.test.label(), run.load);
                        assert_eq!((rows > 0, beside.own_conditions.len() == 1), (!none_of_rt, !none_of_rt), "{what}");
                    }
                }
            }
        }
    }

    /// Both kernels' runs of a plan for a board are what the paper's claims compare.
    #[test]
    fn the_plans_for_boards_feed_every_claim() {
        for paper in Paper::ALL {
            let all = plans(paper);
            let name = format!("{paper}-board");
            let (_, plan) = all.iter().find(|(_, p)| p.name == name).unwrap();
            let records: Vec<Record> = plan.runs().iter().flat_map(|run| [left(run, false), left(run, true)]).collect();
            for claim in held(paper, &records).claims {
                // Boards have no FIQ to choose (vinh-chau-fiq-lab has), and a board's command line is not the plan's.
                let apart = ["fiq-lowers-latency", "high-resolution-timers-lower-jitter"].contains(&claim.id);
                assert_eq!(claim.held.is_empty(), apart, "{}: {}", claim.id, claim.missing);
                assert!(claim.held.iter().all(|h| h.runs[1] >= 3), "{claim:?}");
            }
        }
    }
}
