// The serial protocol from the host's side (see ../PROTOCOL.md): frames to records, commands to bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace protocol {

constexpr uint8_t END = 0xC0, ESC = 0xDB, ESC_END = 0xDC, ESC_ESC = 0xDD;
constexpr uint8_t READ = 1, WRITE = 2;
constexpr uint8_t IDENTITY = 0, CLOCK = 1, FEATURES = 2, STATUS = 3, CONTROL = 4, INTERVAL = 5, RANDOM = 6, WIDTH = 7, SEED = 8;
constexpr uint32_t MARK = 1u << 0, CLEAR = 1u << 1, RUN = 1u << 2, STIMULATE = 1u << 3, TOGGLE = 1u << 4, INVERT = 1u << 5, LOOPBACK = 1u << 6, ENABLE = 0xFu << 7;
// Bits of an event's kind (EDGE, WRAP, MARKED), and the other kinds.
constexpr uint8_t EDGE = 1, WRAP = 2, MARKED = 4, REPLY = 8, LOST = 9, REFUSED = 10;

inline uint16_t crc16(const uint8_t *data, size_t length) {
    uint16_t crc = 0xFFFF;
    for (size_t i = 0; i < length; i++)
        for (int bit = 7; bit >= 0; bit--) {
            bool one = ((crc >> 15) ^ (data[i] >> bit)) & 1;
            crc = uint16_t(crc << 1) ^ (one ? 0x1021 : 0);
        }
    return crc;
}

struct Record {
    uint16_t sequence;
    uint8_t kind;
    // For events: levels before, first and second samples, four bits each. For replies: address and tag.
    uint16_t detail;
    uint32_t value;

    bool is_event() const { return kind < REPLY; }
    uint8_t address() const { return detail >> 8; }
    uint8_t tag() const { return detail & 0xFF; }
    bool operator==(const Record &other) const = default;
};

inline std::vector<uint8_t> slip(const std::vector<uint8_t> &payload) {
    std::vector<uint8_t> out;
    for (uint8_t byte : payload) {
        if (byte == END || byte == ESC) {
            out.push_back(ESC);
            out.push_back(byte == END ? ESC_END : ESC_ESC);
        } else {
            out.push_back(byte);
        }
    }
    out.push_back(END);
    return out;
}

inline std::vector<uint8_t> with_crc(std::vector<uint8_t> payload) {
    uint16_t crc = crc16(payload.data(), payload.size());
    payload.push_back(crc >> 8);
    payload.push_back(crc & 0xFF);
    return payload;
}

inline std::vector<uint8_t> command(uint8_t operation, uint8_t address, uint8_t tag, uint32_t value) {
    return with_crc({uint8_t(operation << 4 | address), tag, uint8_t(value >> 24), uint8_t(value >> 16), uint8_t(value >> 8),
                     uint8_t(value)});
}

// Takes bytes, returns records; counts damaged frames.
class Parser {
  public:
    uint64_t damaged = 0;

    std::optional<Record> take(uint8_t byte) {
        if (byte != END) {
            if (byte == ESC) {
                bad |= escaped;
                escaped = true;
            } else {
                if (escaped && byte != ESC_END && byte != ESC_ESC) bad = true;
                frame.push_back(!escaped ? byte : byte == ESC_END ? END : ESC);
                escaped = false;
            }
            return {};
        }
        std::vector<uint8_t> f;
        f.swap(frame);
        bool whole = !bad && !escaped && f.size() == 10 && crc16(f.data(), 10) == 0;
        bool nothing = f.empty() && !bad && !escaped;
        bad = escaped = false;
        if (!whole) {
            damaged += !nothing;
            return {};
        }
        return Record{uint16_t(f[0] << 8 | f[1]), uint8_t(f[2] >> 4), uint16_t((f[2] & 0xF) << 8 | f[3]),
                      uint32_t(f[4]) << 24 | uint32_t(f[5]) << 16 | uint32_t(f[6]) << 8 | f[7]};
    }

  private:
    std::vector<uint8_t> frame;
    bool escaped = false, bad = false;
};

} // namespace protocol
