//! Settings that no module supports.

use super::*;

#[test]
fn waves_that_the_module_refuses_are_not_asked_for() {
    let dut = |inject: &str| DutSettings {
        input: None,
        output: "gpio:a/1".into(),
        priority: 0,
        cpu: None,
        inject: inject.parse().unwrap_or_default(),
    };
    let wave = |ns, inject: &str| super::dut(Test::Periodic, Nanos(ns), Handler::Hard, &dut(inject));
    assert!(wave(10_000, "").is_ok() && wave(1_000_000_000, "").is_ok());
    for refused in [wave(9_999, ""), wave(10_000, "skew=-1000"), wave(1_000_000_001, ""), wave(10_000, "slow=1ms/3")] {
        let error = refused.unwrap_err();
        assert!(error.is_usage() && !error.remedy().is_empty(), "{error}");
    }
}
