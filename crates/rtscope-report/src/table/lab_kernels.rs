//! The kernels that the lab can boot.

use super::grid;
use super::text::Style;
use crate::sheets;
pub use crate::sheets::lab_kernels::LabKernelRow;

/// The kernels, a row each.
pub fn lab_kernels(rows: &[LabKernelRow], style: Style) -> String {
    grid::render(sheets::lab_kernels::lab_kernels(rows), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_keeps_names_and_what_is_fetched() {
        let row = |texts: [&str; 5]| {
            let [name, version, release, rt, cached] = texts.map(str::to_owned);
            LabKernelRow { name, version, release, rt, cached }
        };
        let fetched = ["debian/13-backports-rt/amd64", "6.12.117-1~bpo13+1", "6.12.117+deb13-rt-amd64", "rt", "135 MB"];
        let rows = [row(fetched), row(["ubuntu/24.04/amd64", "-", "-", "-", "no"])];
        for width in 60..=200 {
            let text = lab_kernels(&rows, Style { colour: false, width: Some(width) });
            assert!(text.lines().all(|l| l.chars().count() <= width), "{width}: {text}");
            assert!(text.contains("debian/13-backports-rt/amd64") && text.contains("135 MB"), "{width}: {text}");
            assert_eq!(text.contains("6.12.117+deb13-rt-amd64"), width >= 71, "{width}: {text}");
            assert_eq!(text.contains("(too narrow for: version"), width < 91, "{width}: {text}");
        }
    }
}
