// Benches of the whole instrument on its serial line, bit for bit: rates that differ, noise, broken bytes, the bytes' order.
#include <cmath>

#include "Vinstrument.h"
#include "bench.hpp"
#include "link.hpp"

using namespace bench;
using namespace protocol;

namespace {

// Clocks for each bit.
constexpr double BIT = double(CLK_HZ) / BAUD;

// A host's UART with a rate of its own, and the instrument.
class Line {
  public:
    Vinstrument top;
    Parser parser;
    std::vector<Record> received;
    double rate;
    uint64_t broken = 0;

    explicit Line(double rate) : rate(rate) {
        top.rx = 1;
        top.rst = 1;
        top.clk = 0;
        top.eval();
        for (int i = 0; i < 4; i++) clock();
        top.rst = 0;
        wait(20);
    }

    void clock() {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
        now++;
        listen();
    }

    // Waits for so many of the host's bits.
    void wait(double bits) {
        for (until += bits * BIT * rate; double(now) < until;) clock();
    }

    void level(bool high, double bits) {
        top.rx = high;
        wait(bits);
    }

    void send(uint8_t byte, bool stop = true) {
        until = double(now);
        level(false, 1);
        for (int i = 0; i < 8; i++) level(byte >> i & 1, 1);
        level(stop, 1);
        top.rx = 1;
    }

    void send(const std::vector<uint8_t> &bytes) {
        for (uint8_t byte : bytes) send(byte);
    }

    Record ask(uint8_t operation, uint8_t address, uint32_t value) {
        size_t before = received.size();
        send(slip(command(operation, address, ++tag, value)));
        wait(400);
        CHECK_EQUAL(received.size(), before + 1);
        CHECK_EQUAL(received.back().tag(), tag);
        return received.back();
    }

  private:
    uint64_t now = 0;
    double until = 0;
    double next_sample = 0;
    unsigned bits = 0;
    uint8_t byte = 0, tag = 0;

    // The host's receiver: samples in the middle of each of its bits.
    void listen() {
        if (bits == 0) {
            if (top.tx) return;
            bits = 10;
            next_sample = double(now) + BIT * rate / 2;
        }
        if (double(now) < next_sample) return;
        next_sample += BIT * rate;
        bits--;
        if (bits == 9) {
            CHECK(!top.tx);
        } else if (bits > 0) {
            byte = uint8_t(byte >> 1 | (top.tx ? 0x80 : 0));
        } else {
            broken += !top.tx;
            if (auto record = parser.take(byte)) received.push_back(*record);
        }
    }
};

// Host's and instrument's clocks may differ by two in a hundred.
void rates() {
    for (double rate : {0.98, 0.99, 1.0, 1.01, 1.02}) {
        Line line(rate);
        for (int i = 0; i < 30; i++) {
            uint32_t value = chance(2) ? uint32_t(generator()) : uint32_t(below(4)) * 0x01010101u + 0xDADBDCBFu;
            Record r = line.ask(WRITE, INTERVAL, value);
            CHECK_EQUAL(r.value, value);
            CHECK_EQUAL(r.sequence, i);
        }
        CHECK_EQUAL(line.ask(READ, CLOCK, 0).value, uint32_t(CLK_HZ));
        CHECK_EQUAL(line.parser.damaged, 0u);
        CHECK_EQUAL(line.broken, 0u);
        cover(rate < 1 ? "host faster" : rate > 1 ? "host slower" : "same rate");
    }
}

// Spikes that are no start bits, a line held low, bytes without a stop bit: a good command after them is done.
void noise() {
    for (int round = 0; round < 100; round++) {
        Line line(1);
        switch (round % 3) {
        case 0:
            line.level(false, 0.3);
            line.level(true, 2);
            cover("spike");
            break;
        case 1:
            line.level(false, 10 + double(below(30)));
            line.level(true, 12);
            cover("line held low");
            break;
        default: {
            std::vector<uint8_t> bytes = slip(command(WRITE, CONTROL, 1, RUN | STIMULATE | ENABLE));
            // Without its END alone, the command would wait for the next one, whole.
            size_t spoiled = below(bytes.size() - 1);
            for (size_t i = 0; i < bytes.size(); i++) line.send(bytes[i], i != spoiled);
            line.level(true, 12);
            cover("byte without its stop bit");
        }
        }
        line.send(END);
        line.wait(400);
        CHECK(line.received.empty());
        CHECK_EQUAL(line.ask(READ, STATUS, 0).value & 0x30, 0u);
    }
}

// A stream at the line's full rate, with commands in it.
void stream() {
    Line line(1);
    line.ask(WRITE, INTERVAL, 100);
    line.ask(WRITE, RANDOM, 0);
    line.ask(WRITE, WIDTH, 100);
    size_t before = line.received.size();
    line.send(slip(command(WRITE, CONTROL, 99, RUN | STIMULATE | LOOPBACK | ENABLE)));
    line.wait(600);
    for (int i = 0; i < 20; i++) {
        line.send(slip(command(READ, CLOCK, uint8_t(100 + i), 0)));
        line.wait(double(600 + below(1000)));
    }
    unsigned replies = 0;
    for (size_t i = before; i < line.received.size(); i++) {
        CHECK_EQUAL(line.received[i].sequence, uint16_t(line.received[i - 1].sequence + 1));
        if (line.received[i].kind == REPLY && line.received[i].tag() != 99) {
            CHECK_EQUAL(line.received[i].value, uint32_t(CLK_HZ));
            replies++;
        }
    }
    CHECK_EQUAL(replies, 20u);
    CHECK(line.received.size() > before + 50);
    CHECK_EQUAL(line.parser.damaged, 0u);
    cover("stream with commands");
}

} // namespace

int main(int argc, char **argv) {
    return run_all(argc, argv, {{"rates", rates}, {"noise", noise}, {"stream", stream}},
                   {"host faster", "host slower", "same rate", "spike", "line held low", "byte without its stop bit",
                    "stream with commands"});
}
