//! Captures as streams: reading in pieces of any size gives the same as reading at once, and endless input is not
//! collected.

use super::{ANALOG, SR, TIMES, VCD, all, csv, edges, whole};
use crate::capture::error::LONGEST;
use crate::capture::{Capture, CaptureError, CaptureKind, CaptureRequest};
use proptest::prelude::*;
use rtscope_failure::Problem;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// A file that arrives in pieces of these sizes.
struct Pieces<'a> {
    from: Cursor<&'a [u8]>,
    sizes: &'a [usize],
    reads: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.reads % self.sizes.len()];
        self.reads += 1;
        if size == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min(size);
        self.from.read(&mut buffer[..most])
    }
}

impl Seek for Pieces<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.from.seek(to)
    }
}

/// All of a capture, or its error.
fn said(read: Result<Capture, CaptureError>) -> String {
    read.map_or_else(|e| format!("{e:?}"), |capture| format!("{capture:?}"))
}

fn in_pieces(bytes: &[u8], kind: CaptureKind, sizes: &[usize]) -> String {
    let pieces = || Pieces { from: Cursor::new(bytes), sizes, reads: 0 };
    said(Capture::read(pieces(), kind, &CaptureRequest::default()).and_then(|c| Capture::read(pieces(), kind, &all(c.count()))))
}

/// A file with one byte changed at a position, or cut off there.
fn damaged(bytes: &[u8], at: usize, to: Option<u8>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = at % bytes.len();
    match to {
        Some(to) => bytes[at] = to,
        None => bytes.truncate(at),
    }
    bytes
}

const REALS: &[u8] = b"$timescale 1 ns $end $var real 64 ! volts $end $var wire 1 a_long_code x $end $enddefinitions $end\n\
    #0 r0 ! 0a_long_code\n#1000 r3.3 ! 1a_long_code #5000 r-1e-2 !\n b0 a_long_code #7000 r3.1 !";
const SCOPE: &str = "Time;A µ;B\n(ms);(V);(V)\n\n0,00;0,0;0,0\n0,01;5,0;\n0,02;5,0;5,5\n0,07;∞;5,5\n0,08;1,5;5,5\n0,09;\"0,5\";1\n";

fn utf16(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_comes_in_pieces_is_what_is_read_whole(
        sizes in proptest::collection::vec(0usize..70, 1..8).prop_filter("something comes", |s| s.iter().any(|n| *n > 0)),
        which in 0usize..7,
        damage in proptest::option::of((any::<usize>(), proptest::option::of(any::<u8>()))),
    ) {
        let wide = utf16(&SCOPE.replace('A', "\u{1f50c}"));
        let (bytes, kind) = [
            (VCD, CaptureKind::Vcd),
            (REALS, CaptureKind::Vcd),
            (TIMES, CaptureKind::Csv),
            (SCOPE.as_bytes(), CaptureKind::Csv),
            (&wide, CaptureKind::Csv),
            (SR, CaptureKind::Sigrok),
            (ANALOG, CaptureKind::Sigrok),
        ][which];
        let bytes = damage.map_or_else(|| bytes.to_vec(), |(at, to)| damaged(bytes, at, to));
        prop_assert_eq!(in_pieces(&bytes, kind, &sizes), said(whole(&bytes, kind)));
    }
}

#[test]
fn what_is_longer_than_a_buffer_is_read_over_its_seams() {
    let mut dump = String::from("$timescale 1 ns $end\n$comment ");
    dump += &"a remark ".repeat(100_000);
    dump += "$end\n$var wire 1 ! a $end\n$var wire 40000 # wide $end\n$enddefinitions $end\n#0 0!\n";
    let mut table = String::from("Time [ns],a,b\n0,0,0\n");
    let mut wanted = Vec::new();
    for n in 1..40_000u64 {
        dump += &format!("#{} {}!\n", n * 7, n % 2);
        table += &format!("{},{},0.5\n", n * 7, n % 2);
        wanted.push((n * 7000, n % 2 == 1));
        if n % 1000 == 0 {
            dump += &format!("b{} #\n", "01".repeat(20_000));
        }
    }
    for (bytes, kind, channel) in [(dump.as_bytes(), CaptureKind::Vcd, "a"), (table.as_bytes(), CaptureKind::Csv, "A")] {
        for sizes in [&[usize::MAX][..], &[99_991], &[1, 300_000, 7]] {
            let pieces = Pieces { from: Cursor::new(bytes), sizes, reads: 0 };
            let request = CaptureRequest { channels: vec![channel.into()], ..CaptureRequest::default() };
            assert_eq!(edges(&Capture::read(pieces, kind, &request).unwrap(), channel), wanted, "{kind} {sizes:?}");
        }
    }
}

/// A file that never ends: some text, then the same text over and over.
struct Endless {
    text: Vec<u8>,
    at: usize,
    then: u8,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.text[self.at.min(self.text.len())..];
        let n = if rest.is_empty() { buffer.len() } else { rest.len().min(buffer.len()) };
        if rest.is_empty() {
            buffer.fill(self.then);
        } else {
            buffer[..n].copy_from_slice(&rest[..n]);
        }
        self.at += n;
        assert!(self.at < 16 * LONGEST, "it is read on and on");
        Ok(n)
    }
}

impl Seek for Endless {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        assert_eq!(to, SeekFrom::Start(0));
        self.at = 0;
        Ok(0)
    }
}

#[test]
fn what_has_no_end_is_refused_where_it_begins() {
    let head = "$timescale 1 ns $end\n$var wire 1 ! a $end\n$enddefinitions $end\n";
    let rows = "Time [s],a\n0,1\n1,0\n";
    for (kind, text, then, what) in [
        (CaptureKind::Vcd, String::new(), 0, "line 1: a word is longer than 1 MiB"),
        (CaptureKind::Vcd, format!("{head}#5\n"), b'1', "line 5: a word is longer than 1 MiB"),
        (CaptureKind::Vcd, format!("{head}#5\nb"), b'1', "line 5: a word is longer than 1 MiB"),
        (
            CaptureKind::Vcd,
            format!("$timescale 1 ns $end\n$version {}", "many words ".repeat(120_000)),
            0,
            "line 2: what `$version` says",
        ),
        (CaptureKind::Csv, String::new(), 0, "line 1: a line is longer than 1 MiB"),
        (CaptureKind::Csv, String::new(), b'7', "line 1: a line is longer than 1 MiB"),
        (CaptureKind::Csv, "Time [s],a\n".into(), b'7', "line 2: a line is longer than 1 MiB"),
        (CaptureKind::Csv, rows.into(), 0, "line 4: a row is longer than 1 MiB"),
        (CaptureKind::Csv, rows.repeat(300), b',', "is not a time"),
        (CaptureKind::Csv, rows.to_owned() + &"1,1\n".repeat(300), b',', "line 304: a row is longer than 1 MiB"),
    ] {
        let file = Endless { text: text.into_bytes(), at: 0, then };
        let said = Capture::read(file, kind, &all(1)).expect_err(what).to_string();
        assert!(said.contains(what), "{kind} {then} {what}: {said}");
    }
    // A quote that is never closed makes the following lines part of its cell.
    let quote = rows.to_owned() + "2,\"" + &"1\n".repeat(LONGEST);
    assert!(said(whole(quote.as_bytes(), CaptureKind::Csv)).contains("longer than 1 MiB"));
}

#[test]
fn places_are_of_columns_that_have_values() {
    let text = "Time [s],A,B,C\n0,0,,1\n1,1,,0\n2,0,,0\n";
    let capture = csv(text);
    assert_eq!(capture.names(), ["A", "C"]);
    assert_eq!(edges(&capture, "#2"), [(1_000_000_000_000, false)]);
    let ask = |channel: &str| {
        Capture::read(
            Cursor::new(text),
            CaptureKind::Csv,
            &CaptureRequest { channels: vec![channel.into()], ..CaptureRequest::default() },
        )
    };
    assert_eq!(edges(&ask("#2").unwrap(), "#2"), edges(&capture, "C"));
    assert!(ask("#3").unwrap().channel("#3").is_err() && ask("B").unwrap().channel("B").is_err());
}

/// Only names that may be shown are kept.
#[test]
fn a_dump_may_have_very_many_variables() {
    let mut dump = String::from("$timescale 1 ns $end\n");
    (0..50_000).for_each(|n| dump += &format!("$var wire 1 {n:x} wire_{n} $end\n$var wire 1 {n:012x} more_{n} $end\n"));
    dump += "$enddefinitions $end\n#0 0c34f 0000000000010\n#3 1c34f\n#9 0c34f\n";
    let request =
        CaptureRequest { channels: vec!["WIRE_49999".into(), "#100001".into(), "more_16".into()], ..CaptureRequest::default() };
    let capture = Capture::read(Cursor::new(dump), CaptureKind::Vcd, &request).unwrap();
    assert_eq!((capture.count(), capture.names().len()), (100_000, 40));
    assert_eq!(edges(&capture, "WIRE_49999"), [(3_000, true), (9_000, false)]);
    assert_eq!(edges(&capture, "more_16"), []);
    assert!(capture.channel("#100001").is_err_and(|e| e.is_usage()));
}
