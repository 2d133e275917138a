//! What of a machine has changed since a record: why its run can't be taken again.

use rtscope_record::Lab;

/// What differs between the machine of a record and that of today, in words. Empty if it is none of what records say.
pub(super) fn changed(then: &Lab, now: &Lab) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |differs: bool, what: String| all.extend(Some(what).filter(|_| differs));
    let or_own = |package: &str| if package.is_empty() { "a kernel of your own".to_owned() } else { package.to_owned() };
    add(then.qemu != now.qemu, format!("QEMU was {}, and is {} here", then.qemu, now.qemu));
    add(
        then.kernel_sha256 != now.kernel_sha256,
        format!("the kernel was {}, and is {}", or_own(&then.package), or_own(&now.package)),
    );
    add(then.image_sha256 != now.image_sha256, "rtscope's guest program or the guest's tools are others".into());
    // Another version of QEMU also has other firmware, and knows other flags to mask.
    let same_version = then.qemu == now.qemu;
    let machine = |l: &Lab| [l.machine.join(" "), l.boot_icount.clone().unwrap_or_default()].join(", boot ");
    add(same_version && machine(then) != machine(now), format!("the machine was {}, and is {}", machine(then), machine(now)));
    add(same_version && then.firmware_sha256 != now.firmware_sha256, "QEMU's firmware is another".into());
    // What stands in PATH may be a wrapper, whose hash is not that of the program that ran: so it counts only if nothing else differs.
    let another = all.is_empty() && then.qemu_sha256.is_some() && then.qemu_sha256 != now.qemu_sha256;
    all.extend(another.then(|| format!("QEMU is another build of {}, or started by another wrapper", then.qemu)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_named() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let then = Lab {
            package: "linux-image-6.12.1 6.12.1-1".into(),
            kernel_sha256: "aa".into(),
            image_sha256: "bb".into(),
            qemu: "7.2.22".into(),
            qemu_sha256: Some("cc".into()),
            firmware_sha256: Some("dd".into()),
            machine: words("-M pc"),
            ..Lab::default()
        };
        let of = |change: fn(&mut Lab)| {
            let mut now = then.clone();
            change(&mut now);
            changed(&then, &now).join("; ")
        };
        assert_eq!(of(|_| ()), "");
        let other = |now: &mut Lab| {
            now.machine.push("-cpu".into());
            (now.qemu, now.qemu_sha256, now.firmware_sha256) = ("10.0.13".into(), Some("c0".into()), Some("d0".into()));
        };
        assert_eq!(of(other), "QEMU was 7.2.22, and is 10.0.13 here");
        assert_eq!(of(|now| now.qemu_sha256 = Some("c0".into())), "QEMU is another build of 7.2.22, or started by another wrapper");
        assert_eq!(of(|now| now.firmware_sha256 = None), "QEMU's firmware is another");
        let kernel = |now: &mut Lab| (now.package, now.kernel_sha256) = (String::new(), "a0".into());
        assert_eq!(of(kernel), "the kernel was linux-image-6.12.1 6.12.1-1, and is a kernel of your own");
        assert!(of(|now| now.image_sha256 = "b0".into()).starts_with("rtscope's guest program"));
        assert_eq!(of(|now| now.machine = vec!["-M".into(), "virt".into()]), "the machine was -M pc, boot , and is -M virt, boot ");
    }
}
