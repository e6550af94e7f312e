// A running digest that only the holder of its key can forge: SipHash-2-4 (Aumasson and Bernstein 2012) over 64-bit
// words. No allocation, about one cycle a byte. The measured command can read and write the record file, but not this
// process.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace stormlog {

// Fills the key with random bytes of the system. Returns 0 or an errno.
inline int randomKey(uint64_t key[2]) {
#if defined(__linux__)
  return syscall(SYS_getrandom, key, 16, 0) == 16 ? 0 : errno;
#else
  arc4random_buf(key, 16);
  return 0;
#endif
}

class KeyedDigest {
 public:
  KeyedDigest() = default;
  explicit KeyedDigest(const uint64_t key[2])
      : v_{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573} {}

  // Counts all bytes. Those of an incomplete last word are not digested.
  void add(const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
      uint64_t word;
      memcpy(&word, bytes + at, sizeof word);
      mix(v_, word);
    }
    bytes_ += size;
  }

  uint64_t bytes() const { return bytes_; }

  uint64_t value() const {
    uint64_t v[4] = {v_[0], v_[1], v_[2], v_[3]};
    mix(v, bytes_ << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; ++i) round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
  }

 private:
  static uint64_t rotated(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

  static void round(uint64_t v[4]) {
    v[0] += v[1];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[0] = rotated(v[0], 32);
    v[2] += v[3];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[2] = rotated(v[2], 32);
  }

  static void mix(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    round(v);
    round(v);
    v[0] ^= word;
  }

  uint64_t v_[4] = {};
  uint64_t bytes_ = 0;
};

}  // namespace stormlog
