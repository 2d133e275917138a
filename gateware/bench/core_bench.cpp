// Benches of the core against a model: what goes in at the pins must come out of the frames, stamp for stamp.
#include <algorithm>
#include <deque>

#include "bench.hpp"
#include "device.hpp"

using namespace bench;
using namespace protocol;

namespace {

// Clocks from a sample at the pins to its stamp.
constexpr uint32_t DELAY = 3;
// What a WRAP's stamp is beyond the turn.
constexpr uint32_t WRAP_AT = 2;
constexpr unsigned FIFO = 1u << FIFO_LOG2;
constexpr unsigned FRAME_CLOCKS = 400;

// The core, its host, and the model: an event for each clock in which an enabled channel changed.
class Rig {
  public:
    Device device;
    Parser parser;
    std::vector<Record> received;
    std::deque<Record> expected;
    // What the model says a clock's samples make of the channels.
    uint8_t level = 0, enable = 0;
    bool modelling = false;
    bool check_sequence = true;
    uint64_t lost = 0;

    explicit Rig(unsigned byte_clocks = 1) { device.byte_clocks = byte_clocks; }

    void clock(uint8_t first, uint8_t second) {
        uint32_t stamp = device.tick() + DELAY;
        uint8_t kind = (((level ^ first) | (first ^ second)) & enable) ? EDGE : 0;
        if ((stamp & 0x7FFFFFFF) == WRAP_AT) kind |= WRAP;
        if (modelling && kind != 0) expected.push_back({0, kind, uint16_t(level << 8 | first << 4 | second), stamp});
        level = second;
        device.clock(first, second);
        while (!device.from_core.empty()) {
            auto record = parser.take(device.from_core.front());
            device.from_core.pop_front();
            if (!record) continue;
            if (check_sequence && !received.empty()) CHECK_EQUAL(record->sequence, uint16_t(received.back().sequence + 1));
            received.push_back(*record);
        }
    }

    void idle(uint64_t clocks) {
        for (uint64_t i = 0; i < clocks; i++) clock(level, level);
    }

    // Sends a command and waits for its reply.
    Record ask(uint8_t operation, uint8_t address, uint32_t value = 0) {
        size_t seen = received.size();
        uint8_t tag = uint8_t(++tags);
        device.send({END});
        device.send(slip(command(operation, address, tag, value)));
        for (unsigned i = 0; i < 300 * (device.byte_clocks + 20); i++) {
            idle(1);
            for (; seen < received.size(); seen++) {
                const Record &r = received[seen];
                if (r.is_event() || r.kind == LOST) continue;
                CHECK_EQUAL(r.tag(), tag);
                CHECK_EQUAL(r.address(), address);
                return r;
            }
        }
        fail(__FILE__, __LINE__, "no reply");
    }

    void set(uint8_t address, uint32_t value) {
        Record r = ask(WRITE, address, value);
        CHECK_EQUAL(r.kind, REPLY);
        CHECK_EQUAL(r.value, value);
    }

    // Starts stamping these channels, with an empty store.
    void start(uint8_t channels) {
        enable = channels;
        set(CONTROL, CLEAR);
        // Anywhere in the counter's turn, often soon before its half; never so near that a WRAP comes before the model begins.
        uint32_t before_half = chance(2) ? 50000 : 50000 + uint32_t(below(0x7F000000));
        device.set_tick((device.tick() & 0x80000000) + (0x80000000 - before_half));
        set(CONTROL, RUN | uint32_t(channels) << 7);
        drain();
        received.clear();
        expected.clear();
        modelling = true;
    }

    // Until nothing has come, and nothing has happened at the pins or in the counter that must come, for as long as a frame takes.
    void drain() {
        uint64_t quiet = 0;
        for (size_t seen = moved(); quiet < 20 * (device.byte_clocks + 30); quiet++) {
            idle(1);
            if (moved() != seen) quiet = 0;
            seen = moved();
        }
        CHECK_EQUAL(parser.damaged, 0u);
    }

    // All that was expected came, in order, or is in the count of a LOST record that stands in its place.
    // After a loss the store takes up events only when it is half empty: there is room for so many until the next one.
    void compare() {
        size_t held = FIFO;
        for (const Record &r : received) {
            if (r.kind == LOST) {
                CHECK(held >= FIFO / 2 - 8);
                held = 0;
                CHECK(r.value > 0 && r.value <= expected.size());
                lost += r.value;
                expected.erase(expected.begin(), expected.begin() + r.value);
                continue;
            }
            held++;
            CHECK(r.is_event());
            CHECK(!expected.empty());
            const Record &e = expected.front();
            CHECK_EQUAL(r.kind, e.kind);
            CHECK_EQUAL(r.detail, e.detail);
            CHECK_EQUAL(r.value, e.value);
            expected.pop_front();
        }
        CHECK(expected.empty());
        received.clear();
    }

  private:
    unsigned tags = 0;

    size_t moved() const { return received.size() + expected.size(); }
};

// A command's bytes with a fault in it that can't be taken for another command.
std::vector<uint8_t> damaged(std::vector<uint8_t> payload) {
    switch (below(5)) {
    case 0:
        cover("command with flipped bits");
        for (uint64_t n = 1 + below(3); n > 0; n--) payload[below(8)] ^= uint8_t(1u << below(8));
        return crc16(payload.data(), 8) == 0 ? damaged(payload) : slip(payload);
    case 1:
        cover("command cut short");
        payload.resize(1 + below(7));
        return slip(payload);
    case 2:
        cover("command too long");
        payload = with_crc(payload);
        return slip(payload);
    case 3: {
        cover("command with a wrong escape");
        if (chance(2)) {
            // Whole but for an escape that stands twice.
            payload.resize(6);
            payload[5] = END;
            std::vector<uint8_t> out = slip(with_crc(payload));
            out.insert(std::find(out.begin(), out.end(), ESC), ESC);
            return out;
        }
        std::vector<uint8_t> out = slip(payload);
        out.insert(out.begin() + int64_t(below(out.size() - 1)), {ESC, uint8_t(below(0xC0))});
        return out;
    }
    default:
        cover("command that ends in an escape");
        // Whole but for that.
        std::vector<uint8_t> out = slip(payload);
        out.insert(out.end() - 1, ESC);
        return out;
    }
}

void identify() {
    Rig rig;
    CHECK_EQUAL(rig.ask(READ, IDENTITY).value, 0x52540107u);
    CHECK_EQUAL(rig.ask(READ, CLOCK).value, uint32_t(CLK_HZ));
    CHECK_EQUAL(rig.ask(READ, FEATURES).value, 0x14u | FIFO_LOG2 << 8);
    CHECK_EQUAL(rig.ask(READ, STATUS).value & 0xFFF0, 0x40u);
    for (unsigned operation = 0; operation < 16; operation++)
        for (unsigned address = 0; address < 16; address++) {
            bool known = operation == READ ? address <= STATUS : operation == WRITE && address >= CONTROL && address <= SEED;
            Record r = rig.ask(operation, address, 0);
            CHECK_EQUAL(r.kind, known ? REPLY : REFUSED);
            cover(known ? "command done" : "command refused");
        }
    rig.device.top.first = 0;
    rig.clock(0xA, 0xA);
    rig.idle(8);
    CHECK_EQUAL(rig.ask(READ, STATUS).value & 0xF, 0xAu);
}

// Both edges of every channel in both halves of a clock, alone and with the other channels.
void phases() {
    Rig rig;
    rig.start(0xF);
    for (unsigned channels = 1; channels < 16; channels++)
        for (unsigned half = 0; half < 2; half++)
            for (unsigned turn = 0; turn < 2; turn++) {
                uint8_t after = rig.level ^ uint8_t(channels);
                cover(std::string(half ? "edge in the second half, " : "edge in the first half, ") + (after & channels ? "up" : "down"));
                rig.clock(half ? rig.level : after, after);
                rig.idle(FRAME_CLOCKS);
            }
    rig.drain();
    rig.compare();
}

// Pulses of half a tick, in either half of a clock, from either level.
void glitches() {
    Rig rig;
    rig.start(0xF);
    for (unsigned channels = 1; channels < 16; channels++)
        for (unsigned base = 0; base < 2; base++) {
            uint8_t level = base ? 0xF : 0;
            rig.clock(level, level);
            rig.idle(FRAME_CLOCKS);
            rig.clock(level ^ uint8_t(channels), level);
            cover("glitch within a clock");
            rig.idle(FRAME_CLOCKS);
            rig.clock(level, level ^ uint8_t(channels));
            rig.clock(level, level);
            cover("glitch over a clock's end");
            rig.idle(2 * FRAME_CLOCKS);
        }
    rig.drain();
    rig.compare();
}

// Channels that are not enabled make no records, however they move.
void masks() {
    for (uint8_t enable = 0; enable < 16; enable++) {
        Rig rig;
        rig.start(enable);
        for (int i = 0; i < 100; i++) {
            rig.clock(uint8_t(below(16)), uint8_t(below(16)));
            rig.idle(below(2 * FRAME_CLOCKS));
        }
        rig.drain();
        rig.compare();
        rig.set(CONTROL, uint32_t(enable) << 7);
        rig.modelling = false;
        // A WRAP from just before may still be on its way.
        rig.drain();
        rig.received.clear();
        for (int i = 0; i < 100; i++) rig.clock(uint8_t(below(16)), uint8_t(below(16)));
        rig.drain();
        CHECK(rig.received.empty());
        cover("stopped");
    }
}

// A change in every clock, as long as the store has room: a record for each, none lost.
void back_to_back() {
    for (int round = 0; round < 20; round++) {
        Rig rig(unsigned(below(300)));
        rig.start(0xF);
        for (unsigned i = 0; i < FIFO - 4; i++) {
            uint8_t first = uint8_t(below(16));
            uint8_t second = first == rig.level ? rig.level ^ uint8_t(1 + below(15)) : uint8_t(below(16));
            rig.clock(first, second);
        }
        CHECK_EQUAL(rig.expected.size(), FIFO - 4);
        rig.drain();
        rig.compare();
        CHECK_EQUAL(rig.lost, 0u);
        cover("back to back");
    }
}

// Far more than the line can take: what came and what is said to be lost make up what there was, in its place.
void overflow() {
    for (int round = 0; round < 30; round++) {
        Rig rig(unsigned(below(400)));
        rig.start(0xF);
        bool modest = chance(3);
        for (int burst = 0; burst < 20; burst++) {
            uint64_t spacing = 1 + below(chance(2) ? 3 : 1000);
            for (uint64_t i = below(modest ? FIFO - 4 : 4 * FIFO); i > 0; i--) {
                rig.clock(rig.level, rig.level ^ uint8_t(1 + below(15)));
                rig.idle(spacing - 1);
            }
            if (modest) rig.drain();
            else rig.idle(below(FIFO * 1000));
        }
        rig.drain();
        uint64_t offered = rig.expected.size();
        uint64_t events = 0;
        for (const Record &r : rig.received) events += r.kind != LOST;
        bool flagged = rig.ask(READ, STATUS).value & 0x80;
        rig.received.pop_back();
        rig.compare();
        CHECK_EQUAL(offered, events + rig.lost);
        CHECK_EQUAL(flagged, rig.lost != 0);
        cover(rig.lost ? "overflow" : "no overflow");
        rig.set(CONTROL, CLEAR);
        CHECK_EQUAL(rig.ask(READ, STATUS).value & 0xC0, 0x40u);
    }
}

// Changes in every clock for long: losses are told in few records, and the last one ends the account.
void flood() {
    Rig rig(50);
    rig.start(0xF);
    for (int i = 0; i < 200000; i++) rig.clock(rig.level, ~rig.level & 0xF);
    rig.drain();
    rig.compare();
    CHECK(rig.lost > 100000);
    cover("flood");
}

// The counter's turn: a WRAP at each half, also together with an edge, and stamps that go on beyond it.
void wrap() {
    for (int round = 0; round < 200; round++) {
        Rig rig;
        // Reset left it at TICK_INITIAL, in the half before the middle.
        if (round & 1) {
            rig.idle(uint32_t(0x80000000u - rig.device.tick()) + 8);
            rig.device.set_tick(0xFFFFFA00u);
        }
        rig.start(0xF);
        rig.modelling = false;
        rig.device.set_tick((round & 1 ? 0u : 0x80000000u) - uint32_t(20 + below(20)));
        uint64_t edges = 0;
        std::vector<uint32_t> stamps;
        for (int i = 0; i < 80; i++) {
            bool change = chance(2);
            if (change) stamps.push_back(rig.device.tick() + DELAY);
            rig.clock(rig.level, change ? rig.level ^ 1 : rig.level);
        }
        rig.drain();
        unsigned wraps = 0;
        for (const Record &r : rig.received) {
            if (r.kind & WRAP) {
                wraps++;
                CHECK_EQUAL(r.value & 0x7FFFFFFF, WRAP_AT);
                CHECK_EQUAL(r.value >> 31, round & 1 ? 0u : 1u);
                cover(r.kind & EDGE ? "wrap with an edge" : "wrap alone");
            }
            if (r.kind & EDGE) CHECK_EQUAL(r.value, stamps[edges++]);
        }
        CHECK_EQUAL(wraps, 1u);
        CHECK_EQUAL(edges, stamps.size());
        cover(round & 1 ? "wrap at the end" : "wrap in the middle");
    }
}

// Damaged commands are counted and do nothing; a good one after them works.
void commands() {
    Rig rig;
    uint32_t errors = 0;
    for (int round = 0; round < 2000; round++) {
        uint32_t value = uint32_t(generator());
        std::vector<uint8_t> payload = command(WRITE, CONTROL, uint8_t(below(256)), value);
        size_t before = rig.received.size();
        rig.device.send(damaged(payload));
        if (chance(2)) rig.device.send({END, END});
        while (rig.device.receiving()) rig.idle(1);
        rig.idle(FRAME_CLOCKS);
        CHECK_EQUAL(rig.received.size(), before);
        errors++;
        if (chance(20)) {
            uint32_t status = rig.ask(READ, STATUS).value;
            CHECK_EQUAL(status >> 8, errors < 255 ? errors : 255);
            CHECK_EQUAL(status & 0x30, 0u);
            if (errors > 255) cover("error counter at its end");
        }
        if (errors > 300) {
            rig.set(CONTROL, CLEAR);
            errors = 0;
        }
    }
    // Every value passes, also those that SLIP has to escape.
    for (uint32_t byte : {0xC0u, 0xDBu, 0xDCu, 0xDDu, 0x00u, 0xFFu}) {
        rig.set(INTERVAL, byte * 0x01010101u);
        cover("escaped bytes");
    }
}

// A second command before the first one's reply is refused and counted, and spoils neither.
void impatience() {
    Rig rig(100);
    rig.set(CONTROL, CLEAR);
    size_t before = rig.received.size();
    rig.device.send(slip(command(READ, IDENTITY, 200, 0)));
    rig.device.send(slip(command(READ, CLOCK, 201, 0)));
    rig.idle(10000);
    CHECK_EQUAL(rig.received.size(), before + 1);
    CHECK_EQUAL(rig.received.back().tag(), 200u);
    CHECK_EQUAL(rig.received.back().value, 0x52540107u);
    CHECK_EQUAL(rig.ask(READ, STATUS).value >> 8, 1u);
    cover("command before the reply");
}

// A reset in the middle of a frame: its beginning and the next frame make one damaged frame, or two good ones; never data that was not sent.
void reset() {
    for (unsigned after = 0; after < 200; after++) {
        Rig rig(5);
        rig.start(0xF);
        for (int i = 0; i < 20; i++) rig.clock(rig.level, rig.level ^ 3);
        rig.idle(after);
        rig.check_sequence = false;
        rig.modelling = false;
        std::deque<Record> sent = rig.expected;
        rig.device.top.rst = 1;
        rig.idle(4);
        rig.device.top.rst = 0;
        rig.idle(300);
        for (Record r : rig.received) {
            r.sequence = 0;
            CHECK(r == sent.front());
            sent.pop_front();
        }
        size_t before = rig.received.size();
        rig.device.send(slip(command(READ, STATUS, 9, 0)));
        rig.idle(1000);
        uint64_t replies = rig.received.size() - before;
        CHECK_EQUAL(replies + rig.parser.damaged, 1u);
        cover(replies ? "reset between frames" : "reset within a frame");
        rig.device.send(slip(command(READ, STATUS, 10, 0)));
        rig.idle(1000);
        CHECK_EQUAL(rig.received.back().tag(), 10u);
        CHECK_EQUAL(rig.received.back().sequence, 1u);
        CHECK_EQUAL(rig.received.back().value & 0xFFF0, 0x40u);
    }
}

// What the gateware's comment promises of the n-th random number.
class Galois {
  public:
    explicit Galois(uint32_t seed) : state(seed) {}
    uint32_t next() {
        uint32_t now = state;
        for (int i = 0; i < 32; i++) state = (state >> 1) ^ (state & 1 ? 0xA3000000u : 0);
        return now;
    }

  private:
    uint32_t state;
};

// The stimulus, clock for clock, in random settings.
void stimuli() {
    for (int round = 0; round < 120; round++) {
        Rig rig;
        uint32_t interval = 40 + uint32_t(below(300)), mask = chance(3) ? 0 : uint32_t(1u << below(9)) - 1, width = uint32_t(below(200));
        uint32_t seed = uint32_t(generator()) | 1;
        bool toggle = chance(3), invert = chance(2);
        rig.set(INTERVAL, interval);
        rig.set(RANDOM, mask);
        rig.set(WIDTH, width);
        rig.set(SEED, seed);
        rig.set(CONTROL, (toggle ? TOGGLE : 0) | (invert ? INVERT : 0));
        CHECK_EQUAL(rig.device.top.stimulus, invert);
        rig.device.send(slip(command(WRITE, CONTROL, 1, STIMULATE | (toggle ? TOGGLE : 0) | (invert ? INVERT : 0))));
        std::vector<uint64_t> edges;
        bool level = invert;
        while (edges.size() < 60) {
            rig.idle(1);
            if (rig.device.top.stimulus != level) edges.push_back(rig.device.clocks);
            level = rig.device.top.stimulus;
        }
        Galois galois(seed);
        galois.next();
        for (size_t i = 1; i < edges.size(); i++) {
            uint64_t distance = edges[i] - edges[i - 1];
            if (!toggle && i % 2 == 1) CHECK_EQUAL(distance, width + 2);
            else CHECK_EQUAL(distance, interval + 2 + (galois.next() & mask) + 2);
        }
        rig.set(CONTROL, invert ? INVERT : 0);
        rig.idle(4);
        CHECK_EQUAL(rig.device.top.stimulus, invert);
        rig.idle(1000);
        CHECK_EQUAL(rig.device.top.stimulus, invert);
        cover(std::string("stimulus ") + (toggle ? "edges" : "pulses") + (invert ? " inverted" : "") + (mask ? ", random" : ", fixed"));
    }
}

// The self-test: each channel sees the stimulus in its own way, whatever the pins do.
void loopback() {
    Rig rig;
    rig.set(INTERVAL, 1000);
    rig.set(RANDOM, 0);
    rig.set(WIDTH, 500);
    rig.set(CONTROL, LOOPBACK);
    rig.set(CONTROL, LOOPBACK | STIMULATE | RUN | ENABLE);
    rig.received.clear();
    for (int i = 0; i < 50000; i++) rig.clock(uint8_t(below(16)), uint8_t(below(16)));
    rig.drain();
    unsigned rounds = 0;
    for (size_t i = 0; i + 1 < rig.received.size(); i += 2) {
        const Record &a = rig.received[i], &b = rig.received[i + 1];
        bool up = a.detail & 1;
        // Up: channels 0 and 3 at once, 1 half a tick later, 2 a tick later. Down likewise.
        CHECK_EQUAL(a.kind, EDGE);
        CHECK_EQUAL(a.detail, up ? 0x813 : 0x7EC);
        CHECK_EQUAL(b.detail, up ? 0x377 : 0xC88);
        CHECK_EQUAL(b.value, a.value + 1);
        rounds += up;
        cover("loopback");
    }
    CHECK(rounds > 20);
}

// Replies do not queue behind events; a MARK comes after all that was before it.
void order() {
    for (int round = 0; round < 50; round++) {
        Rig rig(100);
        rig.start(0xF);
        for (unsigned i = 0; i < FIFO / 2; i++) rig.clock(rig.level, rig.level ^ 1);
        Record status = rig.ask(READ, STATUS);
        CHECK_EQUAL(status.value & 0x40, 0u);
        CHECK(rig.received.size() < 5);
        cover("reply before events");
        rig.set(CONTROL, MARK | RUN | ENABLE);
        rig.modelling = true;
        rig.drain();
        const Record &mark = rig.received.back();
        CHECK(mark.kind & MARKED);
        CHECK_EQUAL(mark.detail, rig.level * 0x111u);
        cover("mark");
        std::erase_if(rig.received, [](const Record &r) { return r.kind == REPLY || r.kind == MARKED; });
        rig.compare();
    }
}

// Clearing in the middle of a stream tears no frame, and what follows is new.
void clearing() {
    for (int round = 0; round < 300; round++) {
        Rig rig(unsigned(below(20)));
        rig.start(0xF);
        for (unsigned i = 0; i < FIFO / 2; i++) rig.clock(rig.level, rig.level ^ 1);
        rig.idle(below(2000));
        uint32_t cleared_after = rig.device.tick();
        rig.set(CONTROL, CLEAR | RUN | ENABLE);
        size_t before = rig.received.size();
        rig.drain();
        CHECK_EQUAL(rig.received.size(), before);
        rig.clock(rig.level, rig.level ^ 1);
        rig.drain();
        CHECK_EQUAL(rig.received.size(), before + 1);
        CHECK(rig.received.back().value - cleared_after < 0x80000000u);
        cover("clear while streaming");
    }
}

// All at once: random pins, commands, pauses and line rates.
void soak() {
    for (int round = 0; round < 10; round++) {
        Rig rig(unsigned(below(60)));
        rig.start(0xF);
        std::vector<Record> events;
        for (int step = 0; step < 3000; step++) {
            unsigned density = 1u << below(12);
            for (int i = 0; i < 30; i++) {
                bool change = chance(density);
                rig.clock(change ? uint8_t(below(16)) : rig.level, change && chance(2) ? uint8_t(below(16)) : rig.level);
            }
            if (chance(50)) CHECK_EQUAL(rig.ask(READ, CLOCK).value, uint32_t(CLK_HZ));
            if (chance(50)) rig.set(INTERVAL, uint32_t(generator()));
        }
        rig.drain();
        std::erase_if(rig.received, [](const Record &r) { return r.kind == REPLY; });
        rig.compare();
        cover("soak");
    }
}

} // namespace

int main(int argc, char **argv) {
    return run_all(argc, argv,
                   {{"identify", identify}, {"phases", phases}, {"glitches", glitches}, {"masks", masks}, {"back_to_back", back_to_back},
                    {"overflow", overflow}, {"flood", flood}, {"wrap", wrap}, {"commands", commands}, {"impatience", impatience},
                    {"reset", reset}, {"stimuli", stimuli}, {"loopback", loopback}, {"order", order}, {"clearing", clearing},
                    {"soak", soak}},
                   {"command done", "command refused", "edge in the first half, up", "edge in the first half, down",
                    "edge in the second half, up", "edge in the second half, down", "glitch within a clock", "glitch over a clock's end",
                    "stopped", "back to back", "overflow", "no overflow", "flood", "wrap with an edge", "wrap alone",
                    "wrap in the middle", "wrap at the end", "command with flipped bits", "command cut short", "command too long",
                    "command with a wrong escape", "command that ends in an escape", "error counter at its end", "escaped bytes",
                    "command before the reply", "reset between frames", "reset within a frame", "stimulus pulses, fixed",
                    "stimulus pulses, random", "stimulus pulses inverted, fixed", "stimulus pulses inverted, random",
                    "stimulus edges, fixed", "stimulus edges, random", "stimulus edges inverted, fixed",
                    "stimulus edges inverted, random", "loopback", "reply before events", "mark", "clear while streaming", "soak"});
}
