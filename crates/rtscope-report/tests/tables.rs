//! Every table in full, from fixed records (insta; review a change with `cargo insta review` or in the diff).

mod sample;

use rtscope_analysis::{Assertion, Confidence, compare};
use rtscope_record::{Effect, Nanos, Record, Warning};
use rtscope_report::table::{
    CampaignRow, CampaignState, ListedRun, Style, bare, brief, campaign, comparison, detail, evaluations, findings, intervals,
    kernels, last_line, line_tests, line_tests_by_load, list, loads, loads_bare, settings, versus,
};

const PLAIN: Style = Style { colour: false, width: Some(140) };

fn entries() -> Vec<ListedRun> {
    let records = [sample::board(200), sample::virtual_machine(200)].concat();
    records.iter().map(|r| ListedRun::of(r).unwrap()).collect()
}

#[test]
fn table_of_loads() {
    insta::assert_snapshot!(loads(&sample::board(2_000), PLAIN).unwrap());
}

#[test]
fn table_of_loads_in_a_virtual_machine() {
    insta::assert_snapshot!(loads(&sample::virtual_machine(2_000), PLAIN).unwrap());
}

#[test]
fn table_of_kernels() {
    let records = [sample::board(500), sample::virtual_machine(500), sample::board(500)].concat();
    insta::assert_snapshot!(kernels(&records, PLAIN).unwrap());
}

#[test]
fn one_record_in_brief() {
    let record = &sample::virtual_machine(2_000)[1];
    insta::assert_snapshot!(brief(record, true, PLAIN).unwrap());
    let lost = brief(record, false, PLAIN).unwrap();
    assert!(lost.contains("Not kept in the archive") && !lost.contains("rtscope show"), "{lost}");
}

#[test]
fn one_record_in_detail() {
    insta::assert_snapshot!(detail(&sample::virtual_machine(2_000)[1], PLAIN).unwrap());
}

#[test]
fn side_by_side() {
    let (a, b) = (sample::virtual_machine(2_000), sample::board(2_000));
    insta::assert_snapshot!(comparison(&compare(&a, &b).unwrap(), PLAIN));
}

#[test]
fn stock_against_rt() {
    insta::assert_snapshot!(versus(&sample::kernels(5_000), PLAIN).unwrap());
}

#[test]
fn stock_against_rt_with_trouble() {
    insta::assert_snapshot!(versus(&sample::troubled_kernels(), Style { colour: false, width: Some(110) }).unwrap());
}

#[test]
fn what_settings_change() {
    insta::assert_snapshot!(settings(&sample::tuned(1_000), PLAIN).unwrap().unwrap());
    assert_eq!(settings(&sample::kernels(100), PLAIN).unwrap(), None);
}

#[test]
fn stock_against_rt_takes_a_pair() {
    let error = versus(&sample::board(100), PLAIN).unwrap_err().to_string();
    assert!(error.contains("only 6.12.47 RT (clock host)") && error.contains("measure the other kernel too"), "{error}");
    assert!(versus(&[], PLAIN).is_err());
}

#[test]
fn response_and_periodic_tests() {
    let records = sample::responses(500);
    let made = rtscope_analysis::line_tests(&records, &[], &[]).unwrap();
    insta::assert_snapshot!(line_tests(&made, &records, false, Style { colour: false, width: Some(200) }));
}

#[test]
fn tasks_load_by_load() {
    // Loads in the paper's order, then others; a task of another kernel, space or handler has its own table.
    let mut records = Vec::new();
    for (i, load) in ["full", "stress-ng:--cpu 1", "none", "disk"].into_iter().enumerate() {
        records.extend(sample::responses(200 + 10 * i as u64).into_iter().map(|r| {
            let mut p = r.into_parts();
            p.id = format!("{}-{i}", p.id);
            p.load = load.into();
            Record::new(p).unwrap()
        }));
    }
    let made = rtscope_analysis::line_tests(&records, &[], &[]).unwrap();
    insta::assert_snapshot!(line_tests_by_load(&made, &records, Style { colour: false, width: Some(120) }));
}

#[test]
fn a_record_that_is_in_no_table_speaks_of_none() {
    let responses = sample::responses(200);
    let of = |records: &[Record]| line_tests_by_load(&rtscope_analysis::line_tests(records, &[], &[]).unwrap(), records, PLAIN);
    let mut other = sample::sustained().into_parts();
    other.warnings.push(Warning::new("hot", Effect::Inconclusive, "", ""));
    let text = of(&[responses.clone(), vec![Record::new(other).unwrap()]].concat());
    assert!(text.contains("1 records of other tests (sustained)") && !text.contains("hot"), "{text}");
    let mut own = responses[0].clone().into_parts();
    own.warnings.push(Warning::new("hot", Effect::Inconclusive, "", ""));
    assert!(of(&[Record::new(own).unwrap()]).contains("hot"));
}

#[test]
fn tables_load_by_load_say_what_they_differ_by() {
    let with = |id: &str, interval: u64, what: &str| {
        let mut p = sample::responses(200)[0].clone().into_parts();
        (p.id, p.settings.interval, p.instrument.as_mut().unwrap().what) = (id.into(), Nanos(interval), what.into());
        Record::new(p).unwrap()
    };
    let records = [with("a", 1_000_000, "a task"), with("b", 1_000_000, "an FPGA"), with("c", 5_000_000, "an FPGA")];
    let text = line_tests_by_load(&rtscope_analysis::line_tests(&records, &[], &[]).unwrap(), &records, PLAIN);
    let titles: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("Table ")).map(|l| &l[2..]).collect();
    assert!(titles.len() == 3 && titles.iter().all(|t| titles.iter().filter(|o| o == &t).count() == 1), "{titles:?}");
}

#[test]
fn response_of_each_edge_beside_another_instrument() {
    let (records, scope) = (sample::responses(500), sample::scope(500));
    let made = rtscope_analysis::line_tests(&records[..3], &scope, &[Nanos(50_000), Nanos(160_000)]).unwrap();
    insta::assert_snapshot!(line_tests(&made, &records[..3], true, Style { colour: false, width: None }));
}

#[test]
fn one_run_and_two_instruments() {
    let (records, scope) = (sample::responses(500), sample::scope(500));
    insta::assert_snapshot!(comparison(&compare(&records[..1], &scope[..1]).unwrap(), PLAIN));
}

#[test]
fn every_test_has_its_own_table_and_heading() {
    let mut records = sample::responses(500);
    records.push(sample::sustained());
    let text = loads(&records[1..], PLAIN).unwrap();
    for heading in ["Response latency", "Periodic jitter, user space", "Sustained frequency, user space"] {
        assert!(text.contains(heading), "{heading}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_sustained_frequency_in_detail() {
    insta::assert_snapshot!(detail(&sample::sustained(), PLAIN).unwrap());
}

#[test]
fn list_of_runs() {
    insta::assert_snapshot!(list(&entries(), PLAIN));
}

#[test]
fn findings_of_a_check() {
    let found = [
        Warning::new(
            "smt",
            Effect::Note,
            "SMT siblings are active: a neighbour's work delays ours.",
            "echo off > /sys/devices/system/cpu/smt/control",
        ),
        Warning::new(
            "governor",
            Effect::Inconclusive,
            "CPU 0-3 run under the governor powersave, so that the clock is slow when the timer fires and the latency is that of waking up the frequency.",
            "cpupower frequency-set -g performance",
        ),
        Warning::new("priority", Effect::Invalid, "SCHED_FIFO 95 is not permitted.", "run as root, or: ulimit -r 95"),
    ];
    insta::assert_snapshot!(findings(&found, Style { colour: false, width: Some(72) }) + "\n---\n" + &findings(&[], PLAIN));
}

#[test]
fn assertions_held_against_a_record() {
    let r = &sample::board(2_000)[5];
    let all: Vec<_> = ["p99.9<80us", "max<1ms", "missed==0", "p99.99<1ms"]
        .iter()
        .map(|t| t.parse::<Assertion>().unwrap().evaluate(r, Confidence::default()))
        .collect();
    insta::assert_snapshot!(evaluations(&all, PLAIN) + &intervals(std::slice::from_ref(r), Confidence::default(), PLAIN));
}

/// Every table that prints a figure of a virtual machine says so, at any width.
#[test]
fn a_virtual_machine_shows_everywhere() {
    let vm = sample::virtual_machine(300);
    for width in [None, Some(200), Some(80), Some(10)] {
        let style = Style { colour: false, width };
        let both = compare(&vm[..1], &vm[..1]).unwrap();
        let rows: Vec<ListedRun> = vm.iter().map(|r| ListedRun::of(r).unwrap()).collect();
        for (name, text) in [
            ("loads", loads(&vm, style).unwrap()),
            ("kernels", kernels(&vm, style).unwrap()),
            ("detail", detail(&vm[0], style).unwrap()),
            ("comparison", comparison(&both, style)),
            ("list", list(&rows, style)),
        ] {
            // It may be below the table, in as many lines as it takes.
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("host in kvm"), "{name} at {width:?}:\n{text}");
            assert!(text.contains("INCONCLUSIVE"), "{name} at {width:?}:\n{text}");
        }
        assert!(loads(&vm, style).unwrap().contains("INVALID"));
    }
}

/// The table of kernels itself shows the clock, at any width.
#[test]
fn stock_against_rt_names_its_clock() {
    for width in [None, Some(200), Some(110), Some(80), Some(10)] {
        let text = versus(&sample::troubled_kernels(), Style { colour: false, width }).unwrap();
        let rows: Vec<&str> = text
            .lines()
            .filter(|l| {
                ["VALID", "REPEATABLE", "INCONCLUSIVE"].iter().any(|v| l.contains(v))
                    && sample::LOADS.iter().any(|n| l.starts_with(n))
            })
            .collect();
        let rows: Vec<&str> = rows.into_iter().filter(|l| !l.contains('◂')).collect();
        assert_eq!(rows.len(), 5, "{text}");
        assert!(rows.iter().all(|r| r.ends_with("virtual, model 1") || r.ends_with("host in kvm")), "at {width:?}:\n{text}");
        assert!(text.contains("us, virtual time") && text.contains("us, host time"));
    }
    let text = versus(&sample::kernels(500), Style { colour: false, width: Some(80) }).unwrap();
    let wide: Vec<&str> = text.lines().filter(|l| l.chars().count() > 80 && !l.starts_with("(too narrow")).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

/// At 80 columns too: rows of a campaign that differ in the kernel alone, and runs of a list that differ in the interval alone.
#[test]
fn what_differs_between_runs_stays_in_sight() {
    let style = Style { colour: false, width: Some(80) };
    let row = |kernel: &str| CampaignRow {
        state: CampaignState::Done,
        target: format!("lab:{kernel}/amd64"),
        load: "background".into(),
        test: "timer 1ms 5s".into(),
        repetition: 1,
        clock: rtscope_record::Clock::Virtual,
        model: Some(2),
        verdict: Some(rtscope_record::Verdict::Repeatable),
        max: Some(12_345),
        missed: Some(0),
        wall_ms: Some(1_234_960),
        id: "stock-vs-rt-0123456789abcdef".into(),
        reason: None,
    };
    let text = campaign(&[row("debian/6.12"), row("debian/6.12-rt")], style);
    let told = |line: &&str| line.starts_with("done");
    let (stock, rt) = (text.lines().find(told).unwrap(), text.lines().rfind(told).unwrap());
    assert!(!stock.contains("rt/amd64") && rt.contains("rt/amd64"), "{text}");
    assert!(text.contains("virtual, model 2"), "{text}");
    let of = |interval| ListedRun {
        interval: Some(interval),
        clock: "host in kvm, measured".into(),
        kernel: "6.12.95+deb13-rt-amd64".into(),
        ..ListedRun::of(&sample::virtual_machine(300)[0]).unwrap()
    };
    let text = list(&[of(200_000), of(1_000_000)], style);
    let rows: Vec<&str> = text.lines().skip(2).take(2).collect();
    assert!(rows[0].contains("200us") && rows[1].contains("1ms"), "{text}");
    assert!(text.contains("the same in all:") && text.contains("clock host in kvm, measured"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

/// No line is wider than the terminal, whatever runs are called.
#[test]
fn everything_fits_eighty_columns() {
    let style = Style { colour: false, width: Some(80) };
    let mut named = sample::virtual_machine(300);
    for r in &mut named {
        let mut p = r.clone().into_parts();
        (p.load, p.target) = ("stress-ng:--cpu 2 --vm 3 --matrix 1".into(), "lab:debian/6.12-rt/amd64".into());
        p.system.kernel.release = "6.12.95+deb13-rt-amd64".into();
        *r = Record::new(p).unwrap();
    }
    let campaign_row = |state, id: &str| CampaignRow {
        state,
        target: "lab:debian/6.12-rt/amd64".into(),
        load: "calculation".into(),
        test: if id == "a" { "timer 1ms 5s".into() } else { "response 1ms 5s kernel".into() },
        repetition: 12,
        clock: rtscope_record::Clock::Virtual,
        model: Some(2),
        verdict: Some(rtscope_record::Verdict::Inconclusive),
        max: Some(12_345_678),
        missed: Some(1_234),
        wall_ms: Some(1_234_960),
        id: "vinh-chau-20261124-0123456789".into(),
        reason: None,
    };
    let campaign_rows = [campaign_row(CampaignState::Done, "a"), campaign_row(CampaignState::ToDo, "b")];
    let (vm, board, responses) = (sample::virtual_machine(300), sample::board(300), sample::responses(500));
    let mixed = [vm.clone(), board.clone(), named.clone()].concat();
    let made = rtscope_analysis::line_tests(&responses, &[], &[]).unwrap();
    let entry = |r: &Record| ListedRun::of(r).unwrap();
    for (name, text) in [
        ("loads", loads(&board, style).unwrap()),
        ("loads of long names", loads(&named, style).unwrap()),
        ("loads of all tests", loads(&[responses.clone(), vec![sample::sustained()]].concat(), style).unwrap()),
        ("bare loads", loads_bare(&named, style).unwrap()),
        ("list", list(&mixed.iter().map(entry).collect::<Vec<_>>(), style)),
        ("campaign", campaign(&campaign_rows, style)),
        ("brief", brief(&vm[0], true, style).unwrap()),
        ("brief of a long name", brief(&named[0], false, style).unwrap()),
        ("bare", bare(&named[0], style).unwrap()),
        ("last", last_line(&vm[..1], style).unwrap()),
        ("last of several", last_line(&named, style).unwrap()),
        ("detail", detail(&vm[0], style).unwrap()),
        ("kernels", kernels(&mixed, style).unwrap()),
        ("comparison", comparison(&compare(&named[..1], &board[..1]).unwrap(), style)),
        ("versus", versus(&sample::kernels(500), style).unwrap()),
        ("tests over lines", line_tests(&made, &responses, true, style)),
        ("tests over lines by load", line_tests_by_load(&made, &responses, style)),
    ] {
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}\n{text}");
        }
    }
}

#[test]
fn the_last_line_has_what_is_looked_for() {
    let vm = sample::virtual_machine(2_000);
    insta::assert_snapshot!(last_line(&vm[..1], PLAIN).unwrap() + &last_line(&vm, PLAIN).unwrap());
    assert_eq!(last_line(&[], PLAIN).unwrap(), "");
    let lines = [sample::responses(500), vec![sample::sustained()]].concat();
    let all: String = lines.iter().map(|r| last_line(std::slice::from_ref(r), PLAIN).unwrap()).collect();
    insta::assert_snapshot!("last_lines_of_tests_over_lines", all);
}

#[test]
fn one_record_for_scripts() {
    insta::assert_snapshot!(bare(&sample::virtual_machine(2_000)[1], PLAIN).unwrap());
}

#[test]
fn odd_records_and_archived_records_make_every_table() {
    for r in sample::odd() {
        let one = std::slice::from_ref(&r);
        let json = serde_json::to_string(&r).unwrap();
        let archived: Record = serde_json::from_str(&json).unwrap();
        let style = Style { colour: true, width: Some(100) };
        let all = |r: &Record| {
            let one = std::slice::from_ref(r);
            [
                loads(one, style).unwrap(),
                kernels(one, style).unwrap(),
                detail(r, style).unwrap(),
                list(&[ListedRun::of(r).unwrap()], style),
            ]
        };
        assert_eq!(all(&r), all(&archived), "live and archived differ");
        for text in all(&r) {
            // Only our own colours; nothing in a record controls the terminal.
            for escape in text.split('\x1b').skip(1) {
                assert!(["[0m", "[1m", "[2m", "[32m", "[33m", "[1;31m"].iter().any(|c| escape.starts_with(c)), "{escape:?}");
            }
            assert!(!text.contains('\u{202e}'));
        }
        assert!(kernels(one, PLAIN).is_ok());
    }
    assert!(loads(&[], PLAIN).is_err() && kernels(&[], PLAIN).is_err());
    assert!(list(&[], PLAIN).contains("no runs yet"));
}
