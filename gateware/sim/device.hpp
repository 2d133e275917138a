// The core with a clock: pins in, bytes in and out.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "Vcore.h"
#include "Vcore___024root.h"
#include "link.hpp"

class Device {
  public:
    // Clocks between two bytes to the core, which takes a byte in bit by bit; still faster than any line delivers bytes.
    static constexpr unsigned BYTE_GAP = 12;

    Vcore top;
    uint64_t clocks = 0;
    // Clocks that the line takes for a byte.
    unsigned byte_clocks = 1;
    std::deque<uint8_t> to_core, from_core;

    Device() {
        top.rst = 1;
        top.clk = 0;
        top.eval();
        for (int i = 0; i < 4; i++) clock(0, 0);
        top.rst = 0;
        for (int i = 0; i < 8; i++) clock(0, 0);
    }

    uint32_t tick() { return top.rootp->core__DOT__capture_i__DOT__tick; }
    void set_tick(uint32_t tick) { top.rootp->core__DOT__capture_i__DOT__tick = tick; }
    uint64_t stimulus_left() { return top.rootp->core__DOT__stimulus_i__DOT__left; }
    void set_stimulus_left(uint64_t left) { top.rootp->core__DOT__stimulus_i__DOT__left = left; }
    bool stepping() { return top.rootp->core__DOT__stimulus_i__DOT__steps != 0; }

    // Simulates one clock, with the pins' two samples.
    void clock(uint8_t first, uint8_t second) {
        top.first = first;
        top.second = second;
        bool sent = top.tx_valid && top.tx_ready;
        if (sent) from_core.push_back(top.tx_byte);
        top.rx_valid = 0;
        if (rx_wait != 0) {
            rx_wait--;
        } else if (!to_core.empty()) {
            top.rx_valid = 1;
            top.rx_byte = to_core.front();
            to_core.pop_front();
            rx_wait = BYTE_GAP;
        }
        top.clk = 1;
        top.eval();
        if (sent) tx_wait = byte_clocks;
        else if (tx_wait != 0) tx_wait--;
        top.tx_ready = tx_wait == 0;
        top.clk = 0;
        top.eval();
        clocks++;
    }

    void send(const std::vector<uint8_t> &bytes) { to_core.insert(to_core.end(), bytes.begin(), bytes.end()); }
    // Clocks until the line takes the next byte.
    unsigned line_wait() const { return tx_wait; }

    // Skips time in which only the tick counter and the line's wait change.
    void pass(uint64_t clocks_passed) {
        set_tick(tick() + uint32_t(clocks_passed));
        tx_wait -= unsigned(std::min<uint64_t>(tx_wait, clocks_passed));
        clocks += clocks_passed;
    }

    bool receiving() const { return !to_core.empty() || rx_wait != 0; }

  private:
    unsigned rx_wait = 0, tx_wait = 0;
};
