// What the benches share: checks, coverage, random numbers, the list of benches.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace bench {

inline std::string current;
inline std::map<std::string, uint64_t> covered;
inline std::mt19937_64 generator;

[[noreturn]] inline void fail(const char *file, int line, const std::string &why) {
    std::fprintf(stderr, "%s:%d: bench %s failed: %s\n", file, line, current.c_str(), why.c_str());
    std::exit(1);
}

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) bench::fail(__FILE__, __LINE__, #condition);                                                         \
    } while (0)

#define CHECK_EQUAL(a, b)                                                                                                      \
    do {                                                                                                                       \
        auto a_ = (a);                                                                                                         \
        auto b_ = (b);                                                                                                         \
        if (!(a_ == b_))                                                                                                       \
            bench::fail(__FILE__, __LINE__,                                                                                    \
                        std::string(#a " is ") + std::to_string(a_) + ", " #b " is " + std::to_string(b_));                    \
    } while (0)

// A number from 0 to `end` - 1.
inline uint64_t below(uint64_t end) { return generator() % end; }
inline bool chance(unsigned one_in) { return below(one_in) == 0; }

inline void cover(const std::string &what) { covered[what]++; }

struct Bench {
    const char *name;
    std::function<void()> run;
};

// Runs them all from one seed; ends with a failure if anything of `required` was not met. Prints "N benches passed".
inline int run_all(int argc, char **argv, const std::vector<Bench> &benches, const std::vector<std::string> &required) {
    uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : std::random_device{}();
    std::printf("seed %llu (to repeat: %s %llu)\n", (unsigned long long)seed, argv[0], (unsigned long long)seed);
    for (const Bench &b : benches) {
        current = b.name;
        generator.seed(seed);
        b.run();
        std::printf("  %s\n", b.name);
        std::fflush(stdout);
    }
    current = "coverage";
    for (const std::string &what : required)
        if (covered[what] == 0) fail(argv[0], 0, "not met with this seed: " + what);
    std::printf("coverage: %zu of %zu met\n%zu benches passed\n", required.size(), required.size(), benches.size());
    return 0;
}

} // namespace bench
