//! The papers: names, sources, and on what their authors measured.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Paper {
    /// G. K. Adam, Computers 10(5):64, 2021.
    #[serde(rename = "adam-2021")]
    Adam2021,
    /// M. Balci, metebalci.com, 2017.
    #[serde(rename = "balci-2017")]
    Balci2017,
    /// W. Dewit, A. Paolillo and J. Goossens, OSPERT 2024.
    #[serde(rename = "dewit-2024")]
    Dewit2024,
    /// Truong Quang Vinh and Vo Ky Chau, HCMC University of Technology.
    #[serde(rename = "vinh-chau")]
    VinhChau,
}

impl Paper {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Adam2021, Self::Balci2017, Self::Dewit2024, Self::VinhChau];

    /// Its name, as its plans have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adam2021 => "adam-2021",
            Self::Balci2017 => "balci-2017",
            Self::Dewit2024 => "dewit-2024",
            Self::VinhChau => "vinh-chau",
        }
    }

    /// Authors, title and place.
    pub fn source(self) -> &'static str {
        match self {
            Self::Adam2021 => {
                "G. K. Adam: Real-Time Performance and Response Latency Measurements of Linux Kernels on Single-Board Computers. Computers 10(5):64, 2021, doi 10.3390/computers10050064"
            }
            Self::Balci2017 => {
                "M. Balci: Latency of Raspberry Pi 3 on Standard and Real-Time Linux 4.9 Kernel. metebalci.com, 3 October 2017"
            }
            Self::Dewit2024 => {
                "W. Dewit, A. Paolillo, J. Goossens: A Preliminary Assessment of the real-time capabilities of Real-Time Linux on Raspberry Pi 5. OSPERT 2024"
            }
            Self::VinhChau => {
                "Truong Quang Vinh, Vo Ky Chau: Evaluation of Real Time Performance of Embedded Linux. HCMC University of Technology"
            }
        }
    }

    /// What its authors measured on, in their words as far as they say it.
    pub fn conditions(self) -> &'static str {
        match self {
            Self::Adam2021 => {
                "Raspberry Pi 3 B and BeagleBone Black, kernels 4.14 and 4.19 with and without PREEMPT_RT; GPIO between two boards by sysfs, a stimulus every 1 to 10 ms, 1 M samples (about 3 h), checked by an oscilloscope; load not stated"
            }
            Self::Balci2017 => {
                "Raspberry Pi 3 B (4 CPUs), Raspbian's kernel 4.9.41 and an own 4.9.47-rt37; cyclictest -m -S -p90 -i200, 100 M cycles a CPU (more than 5 h); no load"
            }
            Self::Dewit2024 => {
                "Raspberry Pi 5 (4 CPUs), kernel 6.6.21 with and without PREEMPT_RT; cyclictest -m -n -i100 -p99 -t for 1 h, threads free to migrate; stress-ng --all 1 and iperf3 -w 64K -P 100 from another computer"
            }
            Self::VinhChau => {
                "Triton kit with an Intel PXA255, kernel not stated; pulses of 20 ms by usleep, an OS timer's interrupt and FIQ; interrupt to answer by IRQ and FIQ; timed by an FPGA with 1 us resolution; six loads"
            }
        }
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Paper {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|p| p.as_str() == text).ok_or_else(|| format!("the papers are {names}"))
    }
}
