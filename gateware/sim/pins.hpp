// The four pins as the input cells sample them: levels over time, in half ticks.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

class Pins {
  public:
    static constexpr unsigned STIMULUS = 0, ANSWER = 1;

    // Called for each change: when (half ticks), which channel, to which level.
    std::function<void(uint64_t, unsigned, bool)> changed;

    // Changes `channel` to this level, as seen by the first sample at `at` or later.
    void schedule(uint64_t at, unsigned channel, bool level) { due.push({at, order++, channel, level}); }

    // The levels at `at`; times must not decrease.
    uint8_t sample(uint64_t at) {
        while (!due.empty() && due.top().at <= at) {
            Change c = due.top();
            due.pop();
            if (bool(levels >> c.channel & 1) == c.level) continue;
            levels ^= uint8_t(1u << c.channel);
            if (changed) changed(c.at, c.channel, c.level);
        }
        return levels;
    }

    uint8_t now() const { return levels; }
    uint64_t next() const { return due.empty() ? UINT64_MAX : due.top().at; }

  private:
    struct Change {
        uint64_t at, order;
        unsigned channel;
        bool level;
        bool operator<(const Change &other) const { return at != other.at ? at > other.at : order > other.order; }
    };

    std::priority_queue<Change> due;
    uint64_t order = 0;
    uint8_t levels = 0;
};
