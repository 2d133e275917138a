// Benches of the emulator: time that is passed over changes nothing, and every edge at the pins comes out of the line, stamp for stamp.
#include "bench.hpp"
#include "simulation.hpp"

using namespace bench;
using namespace protocol;

namespace {

struct Change {
    uint64_t at;
    unsigned channel;
    bool level;
};

// A simulation with a host that reads all of it.
class Rig {
  public:
    Simulation simulation;
    Parser parser;
    std::vector<Change> done;
    std::vector<Record> received;
    // When each byte came, and which.
    std::vector<std::pair<uint64_t, uint8_t>> bytes;

    Rig(const DutOptions &options, bool skipping, unsigned byte_clocks) : simulation(options, nullptr) {
        simulation.skipping = skipping;
        simulation.device.byte_clocks = byte_clocks;
        simulation.pins.changed = [this](uint64_t at, unsigned channel, bool level) {
            if (simulation.running()) done.push_back({at, channel, level});
            if (channel == Pins::ANSWER) simulation.dut.waved(at, level);
        };
    }

    void run(uint64_t clocks) {
        for (uint64_t end = simulation.clocks() + clocks; simulation.clocks() < end;) {
            simulation.step(end);
            for (auto &from = simulation.device.from_core; !from.empty(); from.pop_front()) {
                bytes.emplace_back(simulation.clocks(), from.front());
                if (auto record = parser.take(from.front())) received.push_back(*record);
            }
        }
    }

    void set(uint8_t address, uint32_t value) {
        simulation.device.send(slip(command(WRITE, address, 0, value)));
        run(20 * simulation.device.byte_clocks + 1000);
    }

    void configure(uint32_t interval, uint32_t mask, uint32_t width, uint32_t control) {
        set(CONTROL, CLEAR);
        set(INTERVAL, interval);
        set(RANDOM, mask);
        set(WIDTH, width);
        set(SEED, 0xC0FFEE);
        set(CONTROL, RUN | ENABLE);
        set(CONTROL, RUN | ENABLE | STIMULATE | control);
    }

    void end() {
        set(CONTROL, RUN | ENABLE);
        run(1000000);
        set(CONTROL, RUN | ENABLE | MARK);
        CHECK_EQUAL(parser.damaged, 0u);
    }

    // The edges that the records tell of, in half ticks.
    std::vector<Change> told() const {
        std::vector<Change> out;
        uint64_t tick = 0;
        for (const Record &r : received) {
            if (!r.is_event()) {
                CHECK(r.kind != LOST);
                continue;
            }
            tick += uint32_t(r.value - uint32_t(tick));
            uint8_t levels[3] = {uint8_t(r.detail >> 8), uint8_t(r.detail >> 4 & 0xF), uint8_t(r.detail & 0xF)};
            for (unsigned half = 0; half < 2; half++)
                for (unsigned c = 0; c < 4; c++)
                    if ((levels[half] ^ levels[half + 1]) >> c & 1) out.push_back({2 * tick + half, c, bool(levels[half + 1] >> c & 1)});
        }
        return out;
    }

    // Every edge at the pins was told, all by the same time late.
    void compare() const {
        std::vector<Change> got = told();
        CHECK_EQUAL(got.size(), done.size());
        CHECK(!got.empty());
        uint64_t late = got[0].at - done[0].at;
        for (size_t i = 0; i < got.size(); i++) {
            CHECK_EQUAL(got[i].at - done[i].at, late);
            CHECK_EQUAL(got[i].channel, done[i].channel);
            CHECK_EQUAL(got[i].level, done[i].level);
        }
    }
};

DutOptions some_device() {
    DutOptions o;
    o.latency = DutOptions::Latency(below(5));
    o.a = below(3000);
    o.b = o.a + below(3000);
    o.every = 1 + below(20);
    o.drop = below(10);
    o.doubled = below(10);
    o.early = below(10);
    o.gap = 1 + below(500);
    o.seed = generator();
    if (chance(3)) {
        o.semi_period = 1000 + double(below(20000)) / 3;
        o.jitter = below(500);
        o.skew = double(below(2000)) - 1000;
    }
    return o;
}

// The same bytes at the same clocks, whether quiet time is simulated or passed over.
void skipping() {
    for (int round = 0; round < 40; round++) {
        DutOptions device = some_device();
        unsigned byte_clocks = chance(2) ? 1 : unsigned(below(400));
        uint32_t interval = 2000 + uint32_t(below(20000)), mask = chance(2) ? 0 : 0x3FFF, width = uint32_t(1 + below(5000));
        uint32_t control = (chance(2) ? TOGGLE : 0) | (chance(2) ? INVERT : 0) | (chance(5) ? LOOPBACK : 0);
        bool at_turn = chance(2);
        Rig rigs[2] = {{device, true, byte_clocks}, {device, false, byte_clocks}};
        for (Rig &rig : rigs) {
            if (at_turn) rig.simulation.device.set_tick(0x7FFF0000u);
            rig.configure(interval, mask, width, control);
            rig.run(600000);
            rig.end();
        }
        CHECK_EQUAL(rigs[0].bytes.size(), rigs[1].bytes.size());
        for (size_t i = 0; i < rigs[0].bytes.size(); i++) {
            CHECK_EQUAL(rigs[0].bytes[i].first, rigs[1].bytes[i].first);
            CHECK_EQUAL(rigs[0].bytes[i].second, rigs[1].bytes[i].second);
        }
        CHECK_EQUAL(rigs[0].simulation.clocks(), rigs[1].simulation.clocks());
        cover(device.semi_period > 0 ? "wave" : "answers");
        for (const Record &r : rigs[0].received) cover(r.is_event() && r.kind & WRAP ? "wrap" : "no wrap");
    }
}

// 100,000 stimuli a millisecond apart, with all that can go wrong: every edge comes, at its half tick.
void many() {
    DutOptions device;
    device.latency = DutOptions::UNIFORM;
    device.a = 1000;
    device.b = 20000;
    device.drop = 101;
    device.doubled = 103;
    device.early = 107;
    device.seed = generator();
    Rig rig(device, true, 1);
    rig.configure(99000 - 4, 0, 0, TOGGLE);
    while (rig.simulation.dut.stimuli < 100000) rig.run(9900000);
    rig.end();
    rig.compare();
    cover("100,000 stimuli");
}

// The same for a wave.
void wave() {
    DutOptions device;
    device.semi_period = 98765.4;
    device.jitter = 5000;
    device.skew = 30;
    device.seed = generator();
    Rig rig(device, true, 1);
    rig.set(CONTROL, RUN | ENABLE);
    while (rig.simulation.dut.edges < 20000) rig.run(9900000);
    rig.end();
    rig.compare();
    cover("20,000 edges of a wave");
}

} // namespace

int main(int argc, char **argv) {
    return run_all(argc, argv, {{"skipping", skipping}, {"many", many}, {"wave", wave}},
                   {"answers", "wave", "wrap", "100,000 stimuli", "20,000 edges of a wave"});
}
