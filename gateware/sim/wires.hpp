// The pins on a socket: another program is the DUT, in real time. Each byte is a level, '0' or '1': of the stimulus to the
// program, of its answer from the program.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

class Wires {
  public:
    explicit Wires(const std::string &path) : path(path) {
        if (path.empty()) return;
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path) failed("the path is too long");
        std::memcpy(address.sun_path, path.c_str(), path.size());
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        unlink(path.c_str());
        if (listener < 0 || bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 || listen(listener, 1) != 0)
            failed(std::strerror(errno));
    }

    ~Wires() {
        if (listener >= 0) unlink(path.c_str());
    }

    bool used() const { return listener >= 0; }

    void stimulus(bool level) {
        char byte = level ? '1' : '0';
        // Without a program the level is lost; the instrument will report that nothing answers.
        if (peer >= 0 && send(peer, &byte, 1, MSG_NOSIGNAL) != 1) hang_up();
    }

    // The answer's levels that came since the last call.
    std::vector<bool> answers() {
        std::vector<bool> levels;
        if (listener < 0) return levels;
        if (peer < 0) peer = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        char room[64];
        ssize_t n = peer < 0 ? -1 : recv(peer, room, sizeof room, 0);
        if (n == 0) hang_up();
        for (ssize_t i = 0; i < n; i++) levels.push_back(room[i] == '1');
        return levels;
    }

  private:
    std::string path;
    int listener = -1, peer = -1;

    void hang_up() {
        close(peer);
        peer = -1;
    }

    [[noreturn]] void failed(const char *why) {
        std::fprintf(stderr, "emulator: %s: %s\n", path.c_str(), why);
        std::exit(3);
    }
};
