// The core with its pins and a DUT; skips the time in which nothing happens.
#pragma once

#include <algorithm>

#include "device.hpp"
#include "dut.hpp"

class Simulation {
  public:
    Device device;
    Pins pins;
    Dut dut;
    // Whether quiet time may be skipped in one step. The outcome is the same; a bench compares both.
    bool skipping = true;

    Simulation(const DutOptions &options, FILE *truth) : dut(options, pins, truth) { start = device.clocks; }

    uint64_t clocks() const { return device.clocks - start; }
    bool running() const { return device.top.running; }
    // Whether something is going on, or will begin by itself.
    bool busy() const { return quiet < QUIET || counting || device.receiving() || pins.next() != UINT64_MAX; }

    // Simulates at least one clock, at most until `end`.
    void step(uint64_t end) {
        if (skipping && quiet >= QUIET && !device.receiving()) skip(end);
        uint64_t now = clocks(), left = device.stimulus_left();
        uint8_t before = pins.now();
        uint8_t first = pins.sample(2 * now), second = pins.sample(2 * now + 1);
        bool stimulus = device.top.stimulus, ran = device.top.running;
        size_t sent = device.from_core.size();
        bool receiving = device.receiving(), waited = device.line_wait() != 0;
        device.clock(first, second);
        if (bool(device.top.stimulus) != stimulus) {
            // One clock to the pad's own register; the sample after that edge is the first to see the change.
            pins.schedule(2 * now + 3, Pins::STIMULUS, !stimulus);
            dut.stimulated(2 * now + 3, !stimulus);
        }
        if (bool(device.top.running) != ran) ran ? dut.stopped() : dut.started(2 * now);
        counting = device.stimulus_left() + 1 == left;
        bool active = before != second || first != second || device.from_core.size() != sent || receiving || device.stepping() ||
                      (waited && device.line_wait() == 0) || (device.tick() & 0x7FFFFFFF) == 0 ||
                      (!counting && device.stimulus_left() != left) || bool(device.top.stimulus) != stimulus;
        quiet = active ? 0 : quiet + 1;
    }

  private:
    // After this many clocks without activity, the whole core only waits for its counters, its line or its pins.
    static constexpr unsigned QUIET = 24;

    uint64_t start = 0;
    unsigned quiet = 0;
    bool counting = false;

    // Skips to just before anything but the counters changes: a change of a pin, the end of a phase or of a byte, half a turn of
    // the tick counter.
    void skip(uint64_t end) {
        uint64_t now = clocks();
        uint64_t clocks = end > now + 1 ? end - now - 1 : 0;
        uint64_t change = pins.next();
        if (change != UINT64_MAX) clocks = std::min(clocks, change / 2 > now + 1 ? change / 2 - now - 1 : 0);
        clocks = std::min<uint64_t>(clocks, (0x80000000u - (device.tick() & 0x7FFFFFFF)) - 1);
        uint64_t left = device.stimulus_left();
        if (counting) clocks = std::min(clocks, left > 1 ? left - 1 : 0);
        if (device.line_wait() != 0) clocks = std::min<uint64_t>(clocks, device.line_wait() - 1);
        if (clocks == 0) return;
        device.pass(clocks);
        if (counting) device.set_stimulus_left(left - clocks);
    }
};
