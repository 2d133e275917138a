// The emulator's command line.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dut.hpp"

struct Options {
    DutOptions dut;
    std::string truth, vcd, link, wires;
    // What a step of the VCD is. Viewers turn it into a sampling rate: sigrok takes ten times as long for a tenth of it.
    std::string timescale = "10 ns";
    bool paced = false, skipping = true, split = false;
    // One byte in this many is lost, or has a bit flipped, in both directions (0: none).
    uint64_t lose = 0, flip = 0;
    // Speed of the line, bits per second; 0: as fast as the core sends.
    uint64_t baud = 0;
};

inline const char *USAGE =
    "emulator: the instrument with a simulated device under test, on a pseudo-terminal whose path is the first line printed\n"
    "\n"
    "  --answer constant:L | two:L,L | late:L,L,N | uniform:L,L | none    how the device answers [constant:10us]\n"
    "           late: every N-th stimulus has the second latency\n"
    "  --drop N, --double N, --early N    every N-th pulse: unanswered; its rise answered twice; its fall before it was asked for\n"
    "  --gap T           between the edges of a doubled answer [2us]\n"
    "  --wave T          a wave with this semi-period instead of answers\n"
    "  --jitter T        each of its edges up to so late [0ns]\n"
    "  --skew PPM        its grid slow by so much [0]\n"
    "  --seed N          of all that is random [1]\n"
    "  --truth FILE      what was done, as JSON lines; times in half ticks\n"
    "  --vcd FILE        the pins while the instrument runs, as VCD\n"
    "  --timescale T     what a step of the VCD is, from 1ps to 100ns: viewers take longer with shorter ones [10ns]\n"
    "  --link PATH       a symbolic link to the pseudo-terminal\n"
    "  --wires PATH      another program is the device, on a socket made at PATH; a byte is a level, '0' or '1'; takes --pace with it\n"
    "  --pace            time passes as on the wall [as fast as it goes]\n"
    "  --baud N          speed of the line [as fast as it goes]\n"
    "  --lose N, --flip N    one byte in N is lost, has a bit flipped; both directions\n"
    "  --split           bytes come in pieces\n"
    "  --no-skip         simulate every clock, also those in which nothing happens\n"
    "\n"
    "Times are like 20us, 1.5ms, 100ns. Ends at SIGTERM or SIGINT.\n";

[[noreturn]] inline void wrong(const std::string &what) {
    std::fprintf(stderr, "emulator: %s; see --help\n", what.c_str());
    std::exit(2);
}

// Parses a time; returns half ticks.
inline double half_ticks(const std::string &text) {
    char *unit = nullptr;
    double n = std::strtod(text.c_str(), &unit);
    double scale = !std::strcmp(unit, "ns") ? 1e-9 : !std::strcmp(unit, "us") ? 1e-6 : !std::strcmp(unit, "ms") ? 1e-3 : !std::strcmp(unit, "s") ? 1 : 0;
    if (unit == text.c_str() || scale == 0 || n < 0) wrong("'" + text + "' is no time");
    return n * scale * 2 * CLK_HZ;
}

inline uint64_t whole_half_ticks(const std::string &text) { return uint64_t(std::llround(half_ticks(text))); }

inline uint64_t number(const std::string &text) {
    char *end = nullptr;
    uint64_t n = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || *end || text[0] == '-') wrong("'" + text + "' is no number");
    return n;
}

inline void read_answer(DutOptions &dut, const std::string &text) {
    size_t colon = text.find(':');
    std::string kind = text.substr(0, colon);
    std::vector<std::string> values;
    for (size_t at = colon; at != std::string::npos;) {
        size_t comma = text.find(',', at + 1);
        values.push_back(text.substr(at + 1, comma - at - 1));
        at = comma;
    }
    size_t wanted = kind == "none" ? 0 : kind == "constant" ? 1 : kind == "late" ? 3 : kind == "two" || kind == "uniform" ? 2 : 99;
    if (values.size() != wanted) wrong("--answer " + text + " is not understood");
    dut.latency = kind == "none"       ? DutOptions::NONE
                  : kind == "constant" ? DutOptions::CONSTANT
                  : kind == "two"      ? DutOptions::TWO
                  : kind == "late"     ? DutOptions::LATE
                                       : DutOptions::UNIFORM;
    if (wanted > 0) dut.a = whole_half_ticks(values[0]);
    if (wanted > 1) dut.b = whole_half_ticks(values[1]);
    if (wanted > 2) dut.every = number(values[2]);
    if (dut.every == 0 || (dut.latency == DutOptions::UNIFORM && dut.b < dut.a)) wrong("--answer " + text + " is not understood");
}

// A timescale as VCD writes it.
inline std::string timescale(const std::string &text) {
    for (std::string unit : {"ps", "ns"})
        for (std::string number : {"1", "10", "100"})
            if (text == number + unit) return number + " " + unit;
    wrong("--timescale " + text + " is none of 1ps, 10ps, 100ps, 1ns, 10ns, 100ns");
}

// Length of a step of this timescale, s.
inline double step_of(const std::string &timescale) {
    return std::atof(timescale.c_str()) * (timescale.find("ps") == std::string::npos ? 1e-9 : 1e-12);
}

inline Options read_options(int argc, char **argv) {
    Options o;
    o.dut.a = whole_half_ticks("10us");
    o.dut.gap = whole_half_ticks("2us");
    for (int i = 1; i < argc; i++) {
        std::string name = argv[i];
        auto value = [&]() -> std::string {
            if (i + 1 >= argc) wrong(name + " wants a value");
            return argv[++i];
        };
        if (name == "--help") {
            std::fputs(USAGE, stdout);
            std::exit(0);
        }
        if (name == "--answer") read_answer(o.dut, value());
        else if (name == "--drop") o.dut.drop = number(value());
        else if (name == "--double") o.dut.doubled = number(value());
        else if (name == "--early") o.dut.early = number(value());
        else if (name == "--gap") o.dut.gap = whole_half_ticks(value());
        else if (name == "--wave") o.dut.semi_period = half_ticks(value());
        else if (name == "--jitter") o.dut.jitter = whole_half_ticks(value());
        else if (name == "--skew") o.dut.skew = std::strtod(value().c_str(), nullptr);
        else if (name == "--seed") o.dut.seed = number(value());
        else if (name == "--truth") o.truth = value();
        else if (name == "--vcd") o.vcd = value();
        else if (name == "--timescale") o.timescale = timescale(value());
        else if (name == "--link") o.link = value();
        else if (name == "--wires") o.wires = value(), o.paced = true, o.dut.latency = DutOptions::NONE;
        else if (name == "--pace") o.paced = true;
        else if (name == "--baud") o.baud = number(value());
        else if (name == "--lose") o.lose = number(value());
        else if (name == "--flip") o.flip = number(value());
        else if (name == "--split") o.split = true;
        else if (name == "--no-skip") o.skipping = false;
        else wrong("unknown option " + name);
    }
    return o;
}
