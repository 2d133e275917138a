// A non-blocking pseudo-terminal, with a line that may lose, flip and split bytes.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <string>
#include <termios.h>
#include <unistd.h>
#include <vector>

class Terminal {
  public:
    uint64_t lost = 0, flipped = 0;
    std::string path;

    Terminal(uint64_t lose, uint64_t flip, bool split, uint64_t seed) : lose(lose), flip(flip), split(split), generator(seed ^ 0x5EED) {
        master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
            std::perror("emulator: no pseudo-terminal");
            std::exit(3);
        }
        path = ptsname(master);
        // Held open, so that hosts can come and go.
        slave = open(path.c_str(), O_RDWR | O_NOCTTY);
        termios raw{};
        tcgetattr(slave, &raw);
        cfmakeraw(&raw);
        tcsetattr(slave, TCSANOW, &raw);
    }

    ~Terminal() {
        close(slave);
        close(master);
    }

    // Waits until the host sends something, or can take something if there is output; at most this long.
    void wait(int milliseconds) {
        pollfd p{master, short(POLLIN | (out.empty() ? 0 : POLLOUT)), 0};
        poll(&p, 1, milliseconds);
    }

    std::vector<uint8_t> read() {
        uint8_t room[4096];
        ssize_t n = ::read(master, room, sizeof room);
        std::vector<uint8_t> bytes;
        for (ssize_t i = 0; i < n; i++) spoil(room[i], bytes);
        return bytes;
    }

    void write(uint8_t byte) {
        std::vector<uint8_t> bytes;
        spoil(byte, bytes);
        out.insert(out.end(), bytes.begin(), bytes.end());
    }

    // Writes what the host takes; true if nothing is left.
    bool flush() {
        while (!out.empty()) {
            uint8_t room[4096];
            size_t most = split ? 1 + generator() % 3 : sizeof room, n = 0;
            while (n < most && n < out.size()) {
                room[n] = out[n];
                n++;
            }
            ssize_t written = ::write(master, room, n);
            if (written <= 0) return false;
            out.erase(out.begin(), out.begin() + written);
        }
        return true;
    }

  private:
    uint64_t lose, flip;
    bool split;
    std::mt19937_64 generator;
    int master, slave;
    std::deque<uint8_t> out;

    void spoil(uint8_t byte, std::vector<uint8_t> &to) {
        if (lose != 0 && generator() % lose == 0) {
            lost++;
            return;
        }
        if (flip != 0 && generator() % flip == 0) {
            flipped++;
            byte ^= uint8_t(1u << generator() % 8);
        }
        to.push_back(byte);
    }
};
