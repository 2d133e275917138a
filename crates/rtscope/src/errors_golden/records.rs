//! Sample errors about records: their content, where they come from, where they are kept, and what is computed from them.

use super::{Told, absent, denied};
use rtscope_analysis::assertion::ParseAssertionError;
use rtscope_analysis::compare::CompareError;
use rtscope_analysis::line_tests::LineTestsError;
use rtscope_analysis::papers::PaperFigureError;
use rtscope_analysis::plan::PlanError;
use rtscope_analysis::reference::ReferenceError;
use rtscope_analysis::versus::VersusError;
use rtscope_archive::formats::{ExportError, Format, ImportError};
use rtscope_archive::raw::RawError;
use rtscope_archive::signature::SignatureError;
use rtscope_archive::store::SpillError;
use rtscope_archive::{ArchiveError, CaptureError};
use rtscope_fpga::FpgaError;
use rtscope_probe::lines::LineError;
use rtscope_record::distribution::DistributionError;
use rtscope_record::hdr::HdrError;
use rtscope_record::histogram::{CountOverflow, SlotError};
use rtscope_record::limits::{self, TooLong};
use rtscope_record::quantile::{ParseQuantileError, Quantile};
use rtscope_record::units::ParseNanosError;
use rtscope_record::{Fingerprint, Origin, RecordError, Tuning, TuningTextError, Verdict};
use rtscope_report::ReportError;
use rtscope_samples::recorded::RecordedError;
use rtscope_statistics::replicates::TwoSampleError;
use rtscope_statistics::tail::TailError;

/// An id of a record.
fn id() -> String {
    "20261121T080000Z-0badc0".into()
}

fn count() -> DistributionError {
    DistributionError::Count { label: "cpu0".into(), count: 10, held: 8, overflow: 1 }
}

fn too_many() -> DistributionError {
    DistributionError::Histogram { label: "all".into(), error: HdrError::Slot(SlotError::Overflow(CountOverflow)) }
}

fn too_long() -> TooLong {
    limits::check("a load's name", 3000, 1024).unwrap_err()
}

fn json() -> serde_json::Error {
    serde_json::from_str::<u8>("{").unwrap_err()
}

pub(super) fn add(told: &mut Told) {
    of_records(told);
    of_files(told);
    of_the_archive(told);
    of_instruments(told);
    of_analysis(told);
}

fn of_records(told: &mut Told) {
    plain!(told, CountOverflow: CountOverflow);
    plain!(told, TooLong: too_long());
    plain!(told, ParseQuantileError: "p101".parse::<Quantile>().unwrap_err());
    variants!(told, ParseNanosError:
        Number => [ParseNanosError::Number("fast".into())],
        Unit => [ParseNanosError::Unit("5 parsecs".into())],
        Range => [ParseNanosError::Range("0.1ns".into())],
    );
    let tuning = |text: &str| text.parse::<Tuning>().unwrap_err();
    variants!(told, TuningTextError:
        Form => [tuning("preempt")],
        Name => [tuning("swap=off")],
        Value => [tuning("preempt=most")],
        Twice => [tuning("thp=never thp=always")],
    );
    variants!(told, SlotError:
        Beyond => [SlotError::Beyond(99_999)],
        Overflow => [SlotError::Overflow(CountOverflow)],
    );
    variants!(told, HdrError:
        Base64 => [HdrError::Base64],
        Frame => [HdrError::Frame],
        Compression => [HdrError::Compression],
        Scheme => [HdrError::Scheme],
        Counts => [HdrError::Counts],
        Slot => [HdrError::Slot(SlotError::Beyond(99_999))],
    );
    let contradiction = "the minimum 5 ns is above the maximum 3 ns".to_owned();
    variants!(told, DistributionError:
        Count => [count()],
        Expected => [DistributionError::Expected { label: "cpu0".into(), expected: 10, count: 7, missed: 2, dropped: 0 }],
        Contradiction => [DistributionError::Contradiction { label: "cpu0".into(), what: contradiction }],
        Histogram => [DistributionError::Histogram { label: "cpu0".into(), error: HdrError::Compression }, too_many()],
    );
    variants!(told, RecordError:
        Schema => [RecordError::Schema("rtscope-record/9".into())],
        Distribution => [RecordError::Distribution(count())],
        Verdict => [RecordError::Verdict { stated: Verdict::Valid, own: Verdict::Invalid }],
        Origin => [RecordError::Origin { stated: Origin::Measured, own: Origin::Lab }],
        Id => [RecordError::Id("../x".into())],
        TooLong => [RecordError::TooLong(too_long())],
        Started => [RecordError::Started("yesterday".into())],
        Label => [RecordError::Label("cpu0".into())],
        Fingerprint => [RecordError::Fingerprint { stated: Fingerprint::of(&[]), own: Fingerprint::of(&[]) }],
    );
}

fn of_files(told: &mut Told) {
    variants!(told, ImportError:
        Unknown => [ImportError::Unknown],
        NotRead => [ImportError::NotRead(Format::Csv)],
        Line => [ImportError::Line { line: 7, what: "`12x` is not a count".into() }],
        File => [ImportError::File("it holds no histogram".into())],
        Json => [ImportError::Json(json())],
        Distribution => [ImportError::Distribution(count())],
        Record => [ImportError::Record(RecordError::Schema("rtscope-record/9".into()))],
        Signature => [ImportError::Signature { id: id(), error: SignatureError::Wrong }],
    );
    variants!(told, ExportError:
        NoBins => [ExportError::NoBins { label: "cpu1".into() }],
        Unit => [ExportError::Unit { label: "cpu1".into(), found: 1000, wanted: 1 }],
        TooManyRows => [ExportError::TooManyRows { rows: 20_000_000 }],
        NotWritten => [ExportError::NotWritten(Format::Oslat)],
        OtherTool => [ExportError::OtherTool("oslat".into())],
        NoSamples => [ExportError::NoSamples],
        Test => [ExportError::Test("response".into())],
        NotOverLines => [ExportError::NotOverLines("timer".into())],
        NoSlots => [ExportError::NoSlots { label: "cpu1".into() }],
        Kept => [ExportError::Kept("other counts".into())],
        Distribution => [ExportError::Distribution(too_many())],
        Record => [ExportError::Record(RecordError::TooLong(too_long()))],
        Json => [ExportError::Json(json())],
    );
    variants!(told, CaptureError:
        File => [CaptureError::File("it has no directory: it is no ZIP archive, or was cut off".into())],
        Line => [CaptureError::Line { line: 7, what: "`12x` is not a time".into() }],
        Shows => [CaptureError::Shows { what: "one stimulus tells no time-out".into(), remedy: "give --timeout".into() }],
        Recorded => [CaptureError::Recorded(RecordedError::Distribution(too_many()))],
        Record => [CaptureError::Record(RecordError::TooLong(too_long()))],
        NoChannel => [CaptureError::NoChannel { wanted: "D9".into(), has: vec!["D0".into(), "D1".into()] }],
        Ambiguous => [CaptureError::Ambiguous { wanted: "D0".into(), count: 2, all: 8 }],
    );
    variants!(told, RecordedError:
        Beyond => [RecordedError::Beyond { what: "a time-out", found: "0s".into(), most: "8760h".into() }],
        Distribution => [RecordedError::Distribution(too_many())],
    );
    variants!(told, SignatureError:
        Damaged => [SignatureError::Damaged("it is not a hexadecimal number".into())],
        Wrong => [SignatureError::Wrong],
        Json => [SignatureError::Json("a number is not finite".into())],
    );
    variants!(told, RawError:
        Read => [RawError::Read { read: 4096, error: std::io::Error::from_raw_os_error(libc::EIO) }],
        Partial => [RawError::Partial { read: 7, width: 4 }],
        Overflow => [RawError::Overflow],
        Thread => [RawError::Thread(std::io::Error::from_raw_os_error(libc::EAGAIN))],
        Distribution => [RawError::Distribution(too_many())],
    );
}

fn of_the_archive(told: &mut Told) {
    let path = || "/home/user/archive.db".into();
    variants!(told, ArchiveError:
        Locked => [ArchiveError::Locked { path: path(), holders: "process 4711 (rtscope)".into() }],
        Corrupt => [ArchiveError::Corrupt { path: path(), what: "database disk image is malformed".into() }],
        DiskFull => [ArchiveError::DiskFull { path: path() }],
        Permission => [ArchiveError::Permission { path: path(), what: "unable to open database file".into() }],
        NotAnArchive => [ArchiveError::NotAnArchive { path: path(), what: "it is no SQLite file".into() }],
        Missing => [ArchiveError::Missing { path: path() }],
        ForeignSchema => [ArchiveError::ForeignSchema { path: path(), what: "there is a trigger `x`".into() }],
        NewerSchema => [ArchiveError::NewerSchema { path: path(), found: 9, known: 4 }],
        NotFound => [ArchiveError::NotFound("2031".into())],
        Empty => [ArchiveError::Empty],
        Ambiguous => [ArchiveError::Ambiguous { prefix: "2026".into(), count: 2, examples: vec![id(), id()] }],
        AlreadyThere => [ArchiveError::AlreadyThere(id())],
        Unrepresentable => [ArchiveError::Unrepresentable { id: id(), what: "a number is not finite".into() }],
        Damaged => [ArchiveError::Damaged { id: id(), what: "its checksum is another one".into() }],
        Io => [ArchiveError::Io { path: path(), what: "making its directory", error: absent() }],
        Sql => [ArchiveError::Sql { path: path(), error: rusqlite::Error::InvalidQuery }],
    );
    variants!(told, SpillError:
        Io => [SpillError::Io(denied())],
        Json => [SpillError::Json(json())],
        Archive => [SpillError::Archive(ArchiveError::AlreadyThere(id()))],
    );
}

fn of_instruments(told: &mut Told) {
    variants!(told, FpgaError:
        Port => [FpgaError::Port { act: "read", source: std::io::Error::from_raw_os_error(libc::EIO) }],
        Silent => [FpgaError::Silent("say who it is")],
        Stranger => [FpgaError::Stranger(0x1234)],
        Version => [FpgaError::Version(9)],
        Refused => [FpgaError::Refused("start")],
        TooShort => [FpgaError::TooShort(500)],
        Pulse => [FpgaError::Pulse(1)],
        SelfTest => [FpgaError::SelfTest("12 of 1000 stimuli did not come back".into())],
    );
    let line = || "gpio:gpiochip0/4".to_owned();
    let io = |line: &str, act: &str, source| LineError::Io { line: line.into(), act: act.into(), source };
    let board = rtscope_fpga::BOARD.to_owned();
    variants!(told, LineError:
        Spec => [LineError::Spec { text: "pin4".into(), why: "it has no kind".into() }],
        Busy => [LineError::Busy { line: line(), by: "`gpioset`".into() }],
        Unable => [LineError::Unable { line: line(), why: "it can't be driven".into() }],
        Instrument => [LineError::Instrument { line: "fpga:/dev/ttyS0".into(), why: "it is not a serial port".into(), remedy: board }],
        Io => [
            io("gpio:gpiochip0/4", "open the chip", denied()),
            io(rtscope_sys::wire_device::DEVICE, "open it", absent()),
            io("gpio:gpiochip9/4", "open the chip", absent()),
            io("fpga:/dev/ttyUSB1", "read", std::io::Error::from_raw_os_error(libc::EIO)),
            io("gpio:gpiochip0/4", "read", std::io::Error::from_raw_os_error(libc::EIO)),
        ],
    );
}

fn of_analysis(told: &mut Told) {
    variants!(told, ParseAssertionError:
        Operator => [ParseAssertionError::Operator("p99.9".into())],
        Raw => [ParseAssertionError::Raw("missed".into())],
        Metric => [ParseAssertionError::Metric("median".into())],
        Time => [
            ParseAssertionError::Time { metric: "max".into(), error: ParseNanosError::Unit("80".into()) },
            ParseAssertionError::Time { metric: "max".into(), error: ParseNanosError::Range("0.1ns".into()) },
        ],
        Count => [ParseAssertionError::Count { metric: "missed".into(), text: "3us".into() }],
    );
    variants!(told, CompareError:
        Empty => [CompareError::Empty("A")],
        NoCommonLoad => [CompareError::NoCommonLoad { a: "none".into(), b: "full".into() }],
        NoCommonModel => [CompareError::NoCommonModel { a: "1".into(), b: "2".into() }],
        Merge => [CompareError::Merge { side: "A", load: "full".into(), error: too_many() }],
    );
    let merge = || VersusError::Merge { kernel: "6.12".into(), load: "full".into(), error: too_many() };
    variants!(told, PlanError:
        Claim => [PlanError::Claim("max<100us".into())],
        Invalid => [PlanError::Invalid("20261121T080000Z-1a2b3c".into())],
        Nothing => [PlanError::Nothing("20261121T080000Z-1a2b3c".into())],
    );
    variants!(told, VersusError:
        Empty => [VersusError::Empty],
        NoPair => [VersusError::NoPair("6.12".into())],
        OneKernel => [VersusError::OneKernel("6.12 stock".into())],
        NoBase => [VersusError::NoBase("preempt=lazy".into(), "6.12 stock, 6.12 stock preempt=full".into())],
        Merge => [merge()],
    );
    let kernel = || LineTestsError::Merge { kernel: "6.12".into(), error: too_many() };
    variants!(told, LineTestsError:
        Empty => [LineTestsError::Empty],
        Merge => [kernel()],
    );
    variants!(told, ReferenceError:
        Row => [ReferenceError::Row { row: "dewit-rt".into(), what: "not min <= avg <= max".into() }],
        Unknown => [ReferenceError::Unknown("dewit".into())],
        Filter => [ReferenceError::Filter("rpi5".into())],
    );
    variants!(told, PaperFigureError:
        Published => [PaperFigureError::Published(ReferenceError::Row { row: "vinh-55".into(), what: "not min <= avg <= max".into() })],
        Merge => [PaperFigureError::Merge(too_many())],
    );
    variants!(told, TailError:
        TooFew => [
            TailError::TooFew { what: "maxima", found: 3, needed: 10 },
            TailError::TooFew { what: "blocks", found: 1, needed: 10 },
            TailError::TooFew { what: "exceedances", found: 4, needed: 10 },
        ],
        TooMany => [TailError::TooMany(200_000_000)],
        NotFinite => [TailError::NotFinite(7)],
        Constant => [TailError::Constant("maxima")],
        Scale => [TailError::Scale { spread: 1e-3, centre: 1e15 }],
        Asked => [TailError::Asked("nothing exceeds the threshold 9: the highest value is 4.69".into())],
        NoFit => [TailError::NoFit { family: "GEV", count: 12 }],
    );
    variants!(told, TwoSampleError:
        Empty => [TwoSampleError::Empty],
        NotFinite => [TwoSampleError::NotFinite],
    );
    variants!(told, ReportError:
        Empty => [ReportError::Empty],
        Merge => [ReportError::Merge { id: id(), error: too_many() }],
        Versus => [ReportError::Versus(merge())],
        LineTests => [ReportError::LineTests(kernel())],
        Papers => [ReportError::Papers(PaperFigureError::Merge(too_many()))],
        Json => [ReportError::Json { id: id(), error: "a number is not finite".into() }],
        Format => [ReportError::Format { format: "Parquet", error: "a column has too many values".into() }],
    );
}
