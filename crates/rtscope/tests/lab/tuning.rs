//! Machines of the lab set up for a run, by the same code inside: what was asked for is what the probe then finds.

use super::{Lab, RT, STOCK, wanted};
use rtscope_record::system::Preemption;

#[test]
fn a_guest_is_set_up_before_it_is_measured() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let measured = |kernel: &str, tune: &str| {
        lab.line(&format!("measure timer -D 100ms --json --target lab:{kernel} {tune}")).ends_with(0).record()
    };
    let as_it_is = measured(STOCK, "").into_parts();
    let other = if as_it_is.system.kernel.preemption == Preemption::Full { Preemption::None } else { Preemption::Full };
    let word = if other == Preemption::Full { "full" } else { "none" };
    let set = measured(STOCK, &format!("--tune preempt={word} --tune rt-runtime=off")).into_parts();
    assert_eq!((set.system.kernel.preemption, set.system.rt_runtime_us), (other, Some(-1)));
    assert_eq!(set.settings.tuning.to_string(), format!("preempt={word} rt-runtime=off"));
    assert_ne!(as_it_is.system.rt_runtime_us, Some(-1));
    // A table of both, each by what was set.
    let said = lab.line("compare --kernels last=2").ends_with(0).out;
    assert!(said.contains(&format!("with preempt={word} rt-runtime=off")), "{said}");
    let rt = measured(RT, "--tune ksoftirqd-priority=97 --tune irq-priority=96").into_parts();
    let of =
        |begins: &str| rt.system.rt_tasks.iter().filter(|t| t.name.starts_with(begins)).map(|t| t.priority).collect::<Vec<_>>();
    assert!(of("ksoftirqd/").iter().all(|p| *p == 97), "{:?}", rt.system.rt_tasks);
    assert!(!of("irq/").is_empty() && of("irq/").iter().all(|p| *p == 96), "{:?}", rt.system.rt_tasks);
    lab.line(&format!("measure timer -D 100ms --target lab:{RT} --tune thp=never"))
        .ends_with(3)
        .complains(&["thp=never: this machine has no /sys/kernel/mm/transparent_hugepage/enabled", "leave thp out there"]);
}

#[test]
fn cpus_that_are_to_be_set_aside_are() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let target = |parameters: &str| format!("measure timer -D 100ms --no-save --json --target lab:{STOCK}{parameters}");
    let line = target("+isolcpus=1+nohz_full=1+rcu_nocbs=1 --guest-cpus 2 -a 1");
    let cpu = lab.line(&line).ends_with(0).record().into_parts().system.cpu;
    assert_eq!((cpu.isolated, cpu.nohz_full, cpu.rcu_nocbs), (vec![1], vec![1], vec![1]));
    // The first CPU keeps its tick, and a guest of one CPU has no second one: kernels say nothing of either.
    for (parameters, says) in [
        (
            "+nohz_full=0-1 --guest-cpus 2",
            "took `nohz_full=0-1`, but not in full: CPU 0 is missing among its CPUs without a tick: 1",
        ),
        ("+rcu_nocbs=1", "took `rcu_nocbs=1`, but not in full: CPU 1 is missing among its CPUs whose RCU callbacks others run: 0"),
    ] {
        lab.line(&target(parameters)).ends_with(2).complains(&[says, "--guest-cpus"]);
    }
}
