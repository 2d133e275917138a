// The simulated DUT: answers stimuli, or drives a wave, and logs what it did.
#pragma once

#include <cstdio>
#include <random>

#include "pins.hpp"

// All times are in half ticks.
struct DutOptions {
    enum Latency { CONSTANT, TWO, LATE, UNIFORM, NONE } latency = CONSTANT;
    // Constant: a. Two values: a or b, equally often. Late: b instead of a for every `every`-th stimulus. Uniform: from a to b.
    uint64_t a = 2000, b = 2000, every = 1;
    // For every n-th pulse (0: never): both edges unanswered; the rising answer doubled; the falling answer given before it was
    // asked for.
    uint64_t drop = 0, doubled = 0, early = 0;
    // Time between the edges of a doubled answer, and from an answer to the early one after it.
    uint64_t gap = 400;
    // A wave instead of answers, if semi_period is not 0: each edge is up to `jitter` late, the grid `skew` ppm slow.
    double semi_period = 0, skew = 0;
    uint64_t jitter = 0;
    uint64_t seed = 1;
};

class Dut {
  public:
    uint64_t stimuli = 0, answers = 0, unanswered = 0, spurious = 0, edges = 0;

    Dut(const DutOptions &options, Pins &pins, FILE *truth) : o(options), pins(pins), truth(truth), generator(o.seed) {}

    // The stimulus's pad changed; `at` is the first sample that sees it.
    void stimulated(uint64_t at, bool level) {
        stimuli++;
        pulses += level;
        if (o.semi_period > 0) return;
        bool dropped = is_due(o.drop), early = !dropped && is_due(o.early);
        if (o.latency == DutOptions::NONE || dropped || (early && !level)) {
            unanswered++;
            note("{\"stimulus\":%llu,\"rising\":%s,\"at\":%llu,\"answer\":null}\n", level, at, 0);
            return;
        }
        // A device answers in order, however late it is.
        uint64_t answer = last = std::max(at + draw(), last + 1);
        pins.schedule(answer, Pins::ANSWER, level);
        answers++;
        note("{\"stimulus\":%llu,\"rising\":%s,\"at\":%llu,\"answer\":%llu}\n", level, at, answer);
        if (!level) return;
        if (!dropped && is_due(o.doubled)) unasked(!level), unasked(level);
        if (early) unasked(!level);
    }

    // The instrument began to stamp at `at`: the wave begins.
    void started(uint64_t at) {
        if (o.semi_period <= 0) return;
        wave_start = double(at) + o.semi_period;
        wave_on = true;
        next_edge();
    }

    void stopped() { wave_on = false; }

    // Called when the wave's edge at `at` has taken place.
    void waved(uint64_t at, bool level) {
        if (o.semi_period <= 0) return;
        if (truth) std::fprintf(truth, "{\"edge\":%llu,\"rising\":%s,\"at\":%llu}\n", ull(edges), level ? "true" : "false", ull(at));
        if (wave_on) next_edge();
    }

  private:
    DutOptions o;
    Pins &pins;
    FILE *truth;
    std::mt19937_64 generator;
    uint64_t pulses = 0, last = 0;
    double wave_start = 0;
    uint64_t wave_points = 0;
    bool wave_on = false, wave_level = false;

    static unsigned long long ull(uint64_t n) { return n; }
    bool is_due(uint64_t every) const { return every != 0 && pulses != 0 && pulses % every == 0; }

    uint64_t draw() {
        switch (o.latency) {
        case DutOptions::TWO:     return generator() & 1 ? o.a : o.b;
        case DutOptions::LATE:    return stimuli % o.every == 0 ? o.b : o.a;
        case DutOptions::UNIFORM: return o.a + generator() % (o.b - o.a + 1);
        default:                  return o.a;
        }
    }

    void unasked(bool level) {
        last += o.gap;
        pins.schedule(last, Pins::ANSWER, level);
        spurious++;
        if (truth) std::fprintf(truth, "{\"spurious\":%llu,\"rising\":%s,\"at\":%llu}\n", ull(stimuli), level ? "true" : "false", ull(last));
    }

    void next_edge() {
        double due = wave_start + double(wave_points++) * o.semi_period * (1 + o.skew / 1e6);
        uint64_t late = o.jitter == 0 ? 0 : generator() % (o.jitter + 1);
        wave_level = !wave_level;
        edges++;
        last = std::max(uint64_t(due + 0.5) + late, last + 1);
        pins.schedule(last, Pins::ANSWER, wave_level);
    }

    void note(const char *format, bool level, uint64_t at, uint64_t answer) {
        if (truth) std::fprintf(truth, format, ull(stimuli), level ? "true" : "false", ull(at), ull(answer));
    }
};
