// Writes the pins as VCD.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

class Vcd {
  public:
    // `half_tick` is in steps of `timescale`.
    Vcd(FILE *file, std::string timescale, double half_tick) : file(file), timescale(timescale), half_tick(half_tick) {}

    void change(uint64_t at, unsigned channel, bool level, uint8_t levels) {
        if (!file) return;
        if (!begun) {
            begun = true;
            std::fprintf(file, "$timescale %s $end\n$scope module pins $end\n", timescale.c_str());
            const char *names[4] = {"stimulus", "answer", "input2", "input3"};
            for (unsigned i = 0; i < 4; i++) std::fprintf(file, "$var wire 1 %c %s $end\n", '!' + i, names[i]);
            std::fputs("$upscope $end\n$enddefinitions $end\n#0\n$dumpvars\n", file);
            uint8_t before = levels ^ uint8_t(1u << channel);
            for (unsigned i = 0; i < 4; i++) std::fprintf(file, "%c%c\n", before >> i & 1 ? '1' : '0', '!' + i);
            std::fputs("$end\n", file);
        }
        uint64_t step = uint64_t(double(at) * half_tick + 0.5);
        if (step != last) std::fprintf(file, "#%llu\n", (unsigned long long)step);
        last = step;
        std::fprintf(file, "%c%c\n", level ? '1' : '0', '!' + channel);
    }

  private:
    FILE *file;
    std::string timescale;
    double half_tick;
    uint64_t last = 0;
    bool begun = false;
};
