// The instrument as a program: the gateware's core on a pseudo-terminal, with a simulated DUT on its pins.
#include <chrono>
#include <csignal>

#include "options.hpp"
#include "simulation.hpp"
#include "terminal.hpp"
#include "vcd.hpp"
#include "wires.hpp"

namespace {

volatile std::sig_atomic_t told_to_end = 0;

FILE *create(const std::string &path) {
    if (path.empty()) return nullptr;
    FILE *file = std::fopen(path.c_str(), "w");
    if (!file) {
        std::perror(("emulator: " + path).c_str());
        std::exit(3);
    }
    return file;
}

// Clocks to simulate between two looks at the host.
constexpr uint64_t GLANCE = CLK_HZ / 100;

class Emulator {
  public:
    explicit Emulator(const Options &options)
        : o(options), truth(create(o.truth)), pins(create(o.vcd)), vcd(pins, o.timescale, 1 / (2.0 * CLK_HZ * step_of(o.timescale))),
          terminal(o.lose, o.flip, o.split, o.dut.seed), simulation(o.dut, truth), wires(o.wires) {
        simulation.skipping = o.skipping;
        if (o.baud != 0) simulation.device.byte_clocks = unsigned(10ull * CLK_HZ / o.baud);
        simulation.pins.changed = [this](uint64_t at, unsigned channel, bool level) {
            vcd.change(at, channel, level, simulation.pins.now());
            if (channel == Pins::ANSWER) simulation.dut.waved(at, level);
            if (channel == Pins::STIMULUS) wires.stimulus(level);
        };
        if (truth) std::fprintf(truth, "{\"clk_hz\":%llu,\"half_ticks\":true}\n", (unsigned long long)CLK_HZ);
    }

    void run() {
        std::printf("%s\n", terminal.path.c_str());
        std::fflush(stdout);
        if (!o.link.empty()) {
            unlink(o.link.c_str());
            if (symlink(terminal.path.c_str(), o.link.c_str()) != 0) std::perror(("emulator: " + o.link).c_str());
        }
        began = std::chrono::steady_clock::now();
        while (!told_to_end) {
            simulation.device.send(terminal.read());
            for (bool level : wires.answers()) simulation.pins.schedule(2 * simulation.clocks() + 2, Pins::ANSWER, level);
            // While the line waits for its host, no time passes: nothing is lost that a real line would not lose.
            if (!terminal.flush()) {
                terminal.wait(100);
                continue;
            }
            if (o.paced ? ahead() : !simulation.busy()) {
                if (truth) std::fflush(truth);
                if (pins) std::fflush(pins);
                terminal.wait(1);
            }
            advance();
        }
        end();
    }

  private:
    Options o;
    FILE *truth, *pins;
    Vcd vcd;
    Terminal terminal;
    Simulation simulation;
    Wires wires;
    std::chrono::steady_clock::time_point began;
    uint64_t wall_before = 0;

    uint64_t wall_clocks() const {
        std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
        return uint64_t(passed.count() * CLK_HZ);
    }

    bool ahead() const { return simulation.clocks() >= wall_clocks(); }

    void advance() {
        uint64_t wall = wall_clocks(), passed = wall - wall_before;
        wall_before = wall;
        bool busy = simulation.busy();
        // While nothing happens, time passes at the wall clock's pace: a host that waits for an answer's time-out must not wait
        // for ever.
        uint64_t most = busy || o.paced ? GLANCE : std::min(passed, GLANCE);
        uint64_t end = simulation.clocks() + most;
        if (o.paced) end = std::min(end, wall);
        auto &bytes = simulation.device.from_core;
        while (simulation.clocks() < end && bytes.size() < 1024 && (o.paced || !busy || simulation.busy())) simulation.step(end);
        for (; !bytes.empty(); bytes.pop_front()) terminal.write(bytes.front());
    }

    void end() {
        const Dut &dut = simulation.dut;
        auto n = [](uint64_t n) { return (unsigned long long)n; };
        if (truth) {
            std::fprintf(truth,
                         "{\"end\":%llu,\"stimuli\":%llu,\"answers\":%llu,\"unanswered\":%llu,\"spurious\":%llu,\"edges\":%llu,"
                         "\"bytes_lost\":%llu,\"bytes_flipped\":%llu}\n",
                         n(2 * simulation.clocks()), n(dut.stimuli), n(dut.answers), n(dut.unanswered), n(dut.spurious), n(dut.edges),
                         n(terminal.lost), n(terminal.flipped));
            std::fclose(truth);
        }
        if (pins) std::fclose(pins);
        if (!o.link.empty()) unlink(o.link.c_str());
    }
};

} // namespace

int main(int argc, char **argv) {
    Options options = read_options(argc, argv);
    struct sigaction action {};
    action.sa_handler = [](int) { told_to_end = 1; };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    Emulator(options).run();
    return 0;
}
