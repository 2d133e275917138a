//! An explained sample, made by a rule: as many frames as a chart may have.

use rtscope_explain::Cause;
use rtscope_explain::chart::{Chart, FRAMES, Frame};
use rtscope_explain::explained::Explained;
use rtscope_explain::explanation::{Explanation, FunctionShare, Hold, Milestones, Share, UnwinderAgreement};
use rtscope_explain::path::Path;
use rtscope_record::Record;

/// Length of a leaf of the chart, ns.
const LEAF: u64 = 40;

/// Sample number `n` of `record`; `task` held the CPU. The chart has a row of causes, one of tasks and three of calls.
pub(crate) fn explained(record: &Record, n: u64, task: &str) -> Explained {
    let leaves = (FRAMES as u64 - 4) / 2;
    let latency = leaves * LEAF + 1_000 - n;
    let task = format!("{task}[135]");
    let mut names = vec!["interrupts off".to_owned(), "user space".into(), task.clone(), "__x64_sys_mmap".into()];
    let mut frames = vec![
        Frame { row: 0, start: 0, ns: leaves * LEAF, name: 0, cause: Cause::InterruptsOff },
        Frame { row: 1, start: 0, ns: leaves * LEAF, name: 2, cause: Cause::InterruptsOff },
        Frame { row: 2, start: 0, ns: leaves * LEAF, name: 3, cause: Cause::InterruptsOff },
    ];
    for i in 0..leaves {
        let name = u32::try_from(names.len()).unwrap();
        if i < 300 {
            names.push(format!("function_with_a_name_{i}"));
        }
        let name = if i < 300 { name } else { 4 + u32::try_from(i % 300).unwrap() };
        let at = |row, less| Frame { row, start: i * LEAF, ns: LEAF - less, name, cause: Cause::InterruptsOff };
        frames.extend([at(3, 0), at(4, 15)]);
    }
    let end = leaves * LEAF;
    frames.push(Frame { row: 0, start: end, ns: latency - end, name: 1, cause: Cause::User });
    let share = |name: &str, ns| Share { name: name.into(), ns };
    let explanation = Explanation {
        path: Path::WakeUp,
        latency,
        jitter: None,
        expiry: 1_000_000,
        milestones: Milestones {
            interrupt: Some(end),
            woken: Some(end + 10),
            due: Some(end + 20),
            switched: Some(end + 30),
            ..Milestones::default()
        },
        causes: vec![share("interrupts off", end), share("user space", latency - end)],
        tasks: vec![share(&task, end), share("rts-cpu0[99]", latency - end)],
        functions: vec![FunctionShare { name: "function_with_a_name_7".into(), own: 5_000, total: 6_000 }],
        hold: Hold {
            cause: Cause::InterruptsOff,
            ns: end,
            longest: end,
            whole: end + 3_000,
            task,
            from: vec!["__x64_sys_mmap".into()],
            mostly: "function_with_a_name_7".into(),
            within: String::new(),
            activity: Some("system call mmap".into()),
        },
        unwinder: UnwinderAgreement { compared: 30, agreed: 30 },
        traced: None,
        chart: Chart { shortest: 25, names, frames },
        stacks: Vec::new(),
    };
    Explained::new(record.id(), record.distributions()[0].label(), n, explanation)
}
