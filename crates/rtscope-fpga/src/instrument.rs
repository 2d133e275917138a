//! The instrument's commands: identify, configure, start, stop, read.

use crate::frame;
use crate::port::Port;
use crate::stream::{Item, Losses, Stream, nanos, ticks};
use rtscope_failure::Problem;
use std::io;
use std::time::{Duration, Instant};

/// The channels whose edges are stamped: stimulus and answer.
pub const CHANNELS: u8 = 0b0011;
/// The stimulus's channel.
pub const STIMULUS: u8 = 0;
/// The answer's channel.
pub const ANSWER: u8 = 1;
/// The protocol version that this program speaks.
const VERSION: u8 = 1;
/// How long to wait for a reply, and how often a command is sent before its failure is an error.
const REPLY_TIMEOUT: Duration = Duration::from_millis(150);
const ATTEMPTS: u32 = 20;
/// The same where a program has said that it is an instrument: unlike a board, it may have to wait for a CPU. One that ends is noticed at
/// once, as its port is closed.
const ATTEMPTS_OF_A_PROGRAM: u32 = 200;

mod register {
    pub(super) const IDENTITY: u8 = 0;
    pub(super) const CLOCK: u8 = 1;
    pub(super) const FEATURES: u8 = 2;
    pub(super) const STATUS: u8 = 3;
    pub(super) const CONTROL: u8 = 4;
    pub(super) const INTERVAL: u8 = 5;
    pub(super) const RANDOM: u8 = 6;
    pub(super) const WIDTH: u8 = 7;
    pub(super) const SEED: u8 = 8;
}

mod control {
    pub(super) const MARK: u32 = 1;
    pub(super) const CLEAR: u32 = 1 << 1;
    pub(super) const RUN: u32 = 1 << 2;
    pub(super) const STIMULATE: u32 = 1 << 3;
    pub(super) const TOGGLE: u32 = 1 << 4;
    pub(super) const INVERT: u32 = 1 << 5;
    pub(super) const LOOPBACK: u32 = 1 << 6;
    pub(super) const ENABLE: u32 = 7;
}

/// The remedy if nothing answers, or something that is not an instrument.
pub const BOARD: &str =
    "is the board plugged in and its bitstream loaded? `rtscope fpga info PORT` asks it, `rtscope fpga selftest PORT` tests it";

/// Why the instrument can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FpgaError {
    /// The port failed.
    #[error("{act}: {source}")]
    Port {
        /// What was attempted.
        act: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// No reply came to the named request.
    #[error("nothing that speaks the instrument's protocol answers (asked to {0})")]
    Silent(&'static str),
    /// What answers is not an instrument.
    #[error("what answers is not an instrument: it says {0:08x}")]
    Stranger(u32),
    /// The bitstream speaks another version of the protocol.
    #[error(
        "the board's bitstream speaks version {0} of the protocol, this program version {VERSION}: load the bitstream of this rtscope \
         (make -C gateware BOARD=...)"
    )]
    Version(u8),
    /// It refused a command that every instrument knows.
    #[error("the instrument refuses to {0}")]
    Refused(&'static str),
    /// The instrument can't give stimuli with this interval, ns.
    #[error("an interval of {0} ns is below what it can give: 1us and more")]
    TooShort(u64),
    /// The instrument can't give a pulse of this width, ns.
    #[error("a pulse of {0} ns is none that it can give: two ticks or more, and less than the interval by 1us")]
    Pulse(u64),
    /// The self-test failed.
    #[error("self-test: {0}")]
    SelfTest(String),
}

impl Problem for FpgaError {
    fn remedy(&self) -> String {
        match self {
            Self::Port { .. } => "is the board still plugged in? `ls -l /dev/serial/by-id`, `dmesg | tail`".into(),
            // The message says it.
            Self::Version(_) => String::new(),
            Self::TooShort(_) | Self::Pulse(_) => "ask for one within that".into(),
            Self::Silent(_) | Self::Stranger(_) | Self::Refused(_) | Self::SelfTest(_) => BOARD.into(),
        }
    }
}

/// What the instrument says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// Number of the board.
    pub board: u8,
    /// Ticks per second.
    pub clock: u32,
    /// Number of channels.
    pub channels: u8,
    /// Whether stamps resolve half ticks.
    pub half_ticks: bool,
    /// Records that the instrument's store holds.
    pub store: u32,
}

impl Description {
    /// Whether the instrument identifies itself as an emulator.
    pub fn is_emulator(&self) -> bool {
        self.board == 0
    }

    /// The board's name.
    pub fn board_name(&self) -> &'static str {
        match self.board {
            0 => "emulator",
            1 => "iCEstick (iCE40HX1K)",
            2 => "iCEBreaker (iCE40UP5K)",
            3 => "iCE40-HX8K breakout board",
            4 => "ULX3S (ECP5)",
            _ => "unknown board",
        }
    }

    /// The deliberate delay of the internal loop between the stimulus and the answer channel, half ticks.
    pub fn loop_adds(&self) -> u64 {
        u64::from(self.half_ticks)
    }

    /// Resolution of the time stamps, ps.
    pub fn resolution_ps(&self) -> u64 {
        let per_tick = if self.half_ticks { 2 } else { 1 };
        1_000_000_000_000 / (per_tick * u64::from(self.clock.max(1)))
    }
}

/// A stimulus: after each interval an edge, rising and falling in turn, or a pulse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stimulus {
    /// Shortest interval, ns.
    pub shortest: u64,
    /// Longest interval, ns. The random part is less than a power of two of ticks, so the longest interval given may be shorter,
    /// by up to half of the range.
    pub longest: u64,
    /// Seed of the random part.
    pub seed: u64,
    /// Width of a pulse, ns; `None`: single edges.
    pub pulse: Option<u64>,
}

/// The instrument at the other end of a port.
#[derive(Debug)]
pub struct FpgaInstrument<P> {
    port: P,
    stream: Stream,
    identity: Description,
    /// How often a command is sent before its failure is an error.
    attempts: u32,
    control: u32,
    /// The bits of CONTROL that stay set: the level at rest.
    rest: u32,
    tag: u8,
    /// Losses in a stream that another program had begun.
    foreign: Losses,
}

impl<P: Port> FpgaInstrument<P> {
    /// Identifies the instrument and stops whatever it is doing.
    pub fn open(port: P) -> Result<Self, FpgaError> {
        let nobody = Description { board: 0, clock: 1, channels: 0, half_ticks: false, store: 0 };
        let mut this = Self {
            port,
            stream: Stream::default(),
            identity: nobody,
            attempts: ATTEMPTS,
            control: 0,
            rest: 0,
            tag: 0,
            foreign: Losses::default(),
        };
        let who = this.read(register::IDENTITY, "say who it is")?;
        let [r, t, version, board] = who.to_be_bytes();
        if [r, t] != *b"RT" {
            return Err(FpgaError::Stranger(who));
        }
        if version != VERSION {
            return Err(FpgaError::Version(version));
        }
        this.write(register::CONTROL, control::CLEAR, "stop")?;
        let clock = this.read(register::CLOCK, "say its clock")?;
        let features = this.read(register::FEATURES, "say what it can")?;
        if clock == 0 {
            return Err(FpgaError::Stranger(who));
        }
        this.identity = Description {
            board,
            clock,
            channels: (features & 0xF) as u8,
            half_ticks: features & 0x10 != 0,
            store: 1 << (features >> 8 & 0x1F),
        };
        this.foreign = this.stream.losses();
        if !this.port.is_hardware() {
            this.attempts = ATTEMPTS_OF_A_PROGRAM;
        }
        Ok(this)
    }

    /// What the instrument says it is.
    pub fn identity(&self) -> Description {
        self.identity
    }

    /// Whether this is an emulator: by its own word, or because the port has no hardware behind it.
    pub fn is_emulated(&self) -> bool {
        self.identity.is_emulator() || !self.port.is_hardware()
    }

    /// What was lost since the instrument was opened.
    pub fn losses(&self) -> Losses {
        self.stream.losses().since(&self.foreign)
    }

    /// Converts half ticks to ns.
    pub fn nanos(&self, half_ticks: u64) -> u64 {
        nanos(half_ticks, self.identity.clock)
    }

    /// Reads the register STATUS.
    pub fn status(&mut self) -> Result<u32, FpgaError> {
        self.read(register::STATUS, "say how it is")
    }

    /// Sets the level at which the stimulus rests, until the next opening; returns whether it changed. After opening it is low.
    pub fn rest_at(&mut self, high: bool) -> Result<bool, FpgaError> {
        let rest = if high { control::INVERT } else { 0 };
        let before = std::mem::replace(&mut self.rest, rest);
        self.write(register::CONTROL, rest, "rest")?;
        Ok(before != rest)
    }

    /// Begins to stamp the edges of `channels`; the first item in the stream is a mark. `loopback` connects the stimulus to them
    /// internally.
    pub fn start(&mut self, channels: u8, loopback: bool) -> Result<(), FpgaError> {
        self.write(register::CONTROL, self.rest | control::CLEAR, "clear")?;
        let loopback = self.rest | if loopback { control::LOOPBACK } else { 0 };
        // Switches the channels over to the loop before anything is stamped.
        self.write(register::CONTROL, loopback, "start")?;
        self.stream.enable(channels);
        self.control = control::RUN | loopback | u32::from(channels) << control::ENABLE;
        self.write(register::CONTROL, self.control | control::MARK, "start")
    }

    /// Begins to give stimuli. Items that arrive before the reply go to `take`.
    pub fn stimulate(&mut self, s: &Stimulus, take: &mut impl FnMut(Item)) -> Result<(), FpgaError> {
        let clock = self.identity.clock;
        let (shortest, longest) = (ticks(s.shortest, clock), ticks(s.longest, clock));
        let pulse = s.pulse.map(|ns| u32::try_from(ticks(ns, clock)).ok().filter(|width| *width >= 2).ok_or(FpgaError::Pulse(ns)));
        let pulse = pulse.transpose()?;
        // Each phase of a round takes two ticks more than its register says, and a pulse adds a phase.
        let gap = shortest.checked_sub(4 + u64::from(pulse.unwrap_or(0))).filter(|gap| *gap >= 40);
        let too_short = s.pulse.map_or(FpgaError::TooShort(s.shortest), FpgaError::Pulse);
        let gap = gap.and_then(|gap| u32::try_from(gap).ok()).ok_or(too_short)?;
        let width = pulse.map_or(0, |ticks| ticks - 2);
        let range = u32::try_from(longest.saturating_sub(shortest)).unwrap_or(u32::MAX);
        // The largest 2^n - 1 that is within the range.
        let mask = if range == u32::MAX { range } else { (range + 1).checked_ilog2().map_or(0, |n| (1 << n) - 1) };
        let seed = ((s.seed ^ s.seed >> 32) & 0xFFFF_FFFF) as u32;
        for (address, value) in
            [(register::INTERVAL, gap), (register::RANDOM, mask), (register::WIDTH, width), (register::SEED, seed.max(1))]
        {
            self.ask(true, address, value, "take the stimulus", take)?;
        }
        self.control |= control::STIMULATE | if pulse.is_none() { control::TOGGLE } else { 0 };
        self.ask(true, register::CONTROL, self.control, "stimulate", take).map(drop)
    }

    /// Stops the stimuli. Edges that are under way still arrive after this.
    pub fn rest(&mut self, take: &mut impl FnMut(Item)) -> Result<(), FpgaError> {
        self.control &= !control::STIMULATE;
        self.ask(true, register::CONTROL, self.control, "stop", take).map(drop)
    }

    /// Requests a mark: its item follows everything that happened before it.
    pub fn mark(&mut self, take: &mut impl FnMut(Item)) -> Result<(), FpgaError> {
        self.ask(true, register::CONTROL, self.control | control::MARK, "give a mark", take).map(drop)
    }

    /// Stops stamping at once, without waiting for what is under way. The level at rest stays as it is set.
    pub fn stop(&mut self) -> Result<(), FpgaError> {
        self.control = self.rest;
        self.write(register::CONTROL, self.control, "stop")
    }

    /// Hands what arrives within `patience` to `take`; returns whether anything arrived.
    pub fn listen(&mut self, patience: Duration, take: &mut impl FnMut(Item)) -> Result<bool, FpgaError> {
        let mut room = [0; 4096];
        let n = self.port.receive(&mut room, patience).map_err(|source| FpgaError::Port { act: "read", source })?;
        self.stream.take(&room[..n], take);
        Ok(n > 0)
    }

    fn read(&mut self, address: u8, act: &'static str) -> Result<u32, FpgaError> {
        self.ask(false, address, 0, act, &mut |_| ())
    }

    fn write(&mut self, address: u8, value: u32, act: &'static str) -> Result<(), FpgaError> {
        self.ask(true, address, value, act, &mut |_| ()).map(drop)
    }

    /// Sends a command, repeatedly if needed, until its reply comes; returns the value of the reply.
    fn ask(
        &mut self,
        write: bool,
        address: u8,
        value: u32,
        act: &'static str,
        take: &mut impl FnMut(Item),
    ) -> Result<u32, FpgaError> {
        for _ in 0..self.attempts {
            self.tag = self.tag.wrapping_add(1);
            let tag = self.tag;
            let bytes = frame::command(write, address, tag, value);
            self.port.send(&bytes).map_err(|source| FpgaError::Port { act: "write", source })?;
            let end = Instant::now() + REPLY_TIMEOUT;
            let mut reply = None;
            while reply.is_none() && Instant::now() < end {
                let left = end.saturating_duration_since(Instant::now());
                self.listen(left, &mut |item| match item {
                    Item::Reply { done, address: a, tag: t, value: v } if a == address && t == tag && (!write || v == value) => {
                        reply = Some((done, v));
                    }
                    other => take(other),
                })?;
            }
            match reply {
                Some((true, v)) => return Ok(v),
                Some((false, _)) => return Err(FpgaError::Refused(act)),
                None => {}
            }
        }
        Err(FpgaError::Silent(act))
    }
}
