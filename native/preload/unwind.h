// Unwind tables of a module (DWARF call frame information, `.eh_frame`): how to get from a frame to its caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stormlog_heap {

// glibc's <dlfcn.h> of 2.35, for architectures without a base of data.
struct FoundObject {
  unsigned long long flags;
  void* mapStart;
  void* mapEnd;
  void* linkMap;
  // The header of the unwind tables, `.eh_frame_hdr`.
  void* ehFrame;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void* address, FoundObject* found);

#if defined(__x86_64__)
constexpr unsigned kFramePointer = 6, kStackPointer = 7, kReturnAddress = 16;
#else
constexpr unsigned kFramePointer = 29, kStackPointer = 31, kReturnAddress = 30;
#endif

struct Registers {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t fp;
};

// Registers at the place of use. A macro, because a function would have its own frame.
#if defined(__x86_64__)
#define STORMLOG_REGISTERS(r) \
  __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" : "=&r"((r).pc), "=&r"((r).sp), "=&r"((r).fp))
#else
#define STORMLOG_REGISTERS(r) \
  __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" : "=&r"((r).pc), "=&r"((r).sp), "=&r"((r).fp))
#endif

// How to get from a frame to its caller, in one word, so that it can be cached without a lock. Offsets are in words.
class Rule {
 public:
  explicit Rule(uint64_t bits = 0) : bits_(bits) {}
  static Rule make(bool cfaFromFp, int64_t cfa, int64_t ra, bool fpSaved, int64_t fp) {
    if (!fits(cfa) || !fits(-ra) || (fpSaved && !fits(-fp))) return Rule();
    const auto word = [](int64_t offset) { return static_cast<uint64_t>(offset / 8); };
    return Rule(1 | (cfaFromFp ? 2 : 0) | (fpSaved ? 4 : 0) | word(cfa) << 4 | word(-ra) << 24 | (fpSaved ? word(-fp) << 44 : 0));
  }
  bool usable() const { return (bits_ & 1) != 0; }
  uint64_t bits() const { return bits_; }
  uintptr_t cfa(const Registers& r) const { return ((bits_ & 2) != 0 ? r.fp : r.sp) + field(4); }
  uintptr_t returnAddressAt(uintptr_t cfa) const { return cfa - field(24); }
  bool fpSaved() const { return (bits_ & 4) != 0; }
  uintptr_t fpAt(uintptr_t cfa) const { return cfa - field(44); }

 private:
  static bool fits(int64_t offset) { return offset >= 0 && offset % 8 == 0 && offset / 8 < 1 << 20; }
  uintptr_t field(unsigned shift) const { return ((bits_ >> shift) & 0xfffff) * 8; }
  uint64_t bits_;
};

// Reads a table within [at, end). A read beyond the end gives 0 and sets `broken`.
struct TableReader {
  const uint8_t* at;
  const uint8_t* end;
  bool broken = false;

  template <typename T>
  T take() {
    T value{};
    if (at == nullptr || at > end || static_cast<size_t>(end - at) < sizeof(T)) {
      broken = true;
      return value;
    }
    memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = take<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0 || broken) break;
    }
    return value;
  }
  int64_t sleb() {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    do {
      byte = take<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
    } while ((byte & 0x80) != 0 && shift < 64 && !broken);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  // A pointer as DW_EH_PE_* describes it; indirect ones are not followed.
  uint64_t encoded(uint8_t encoding) {
    const auto place = reinterpret_cast<uintptr_t>(at);
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00: case 0x04: case 0x0c: value = take<uint64_t>(); break;
      case 0x01: value = uleb(); break;
      case 0x02: value = take<uint16_t>(); break;
      case 0x03: value = take<uint32_t>(); break;
      case 0x09: value = static_cast<uint64_t>(sleb()); break;
      case 0x0a: value = static_cast<uint64_t>(int64_t{take<int16_t>()}); break;
      case 0x0b: value = static_cast<uint64_t>(int64_t{take<int32_t>()}); break;
      default: broken = true;
    }
    if ((encoding & 0x70) == 0x10) value += place;
    else if ((encoding & 0x70) != 0) broken = true;
    return value;
  }
  void skip(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(end - at)) broken = true;
    else at += bytes;
  }
};

class CallFrames {
 public:
  // What the CIE has for all its functions.
  struct Common {
    uint64_t codeAlign = 1;
    int64_t dataAlign = 1;
    uint8_t encoding = 0;
    bool augmented = false;
    bool signal = false;
    TableReader instructions{nullptr, nullptr};
  };

  // The rule at `pc`, by the tables whose header is at `header`, all within [start, end).
  static Rule find(uintptr_t pc, const FoundObject& object) {
    const auto* start = static_cast<const uint8_t*>(object.mapStart);
    const auto* end = static_cast<const uint8_t*>(object.mapEnd);
    const auto* header = static_cast<const uint8_t*>(object.ehFrame);
    if (header == nullptr || header < start || header + 12 > end) return Rule();
    // Version 1, counts of 4 bytes, a sorted table of offsets to this header: what every linker writes.
    if (header[0] != 1 || header[2] != 0x03 || header[3] != 0x3b) return Rule();
    uint32_t count = 0;
    memcpy(&count, header + 8, sizeof count);
    const uint8_t* table = header + 12;
    if (count == 0 || count > static_cast<size_t>(end - table) / 8) return Rule();
    const auto base = reinterpret_cast<uintptr_t>(header);
    const auto entry = [table, base](uint32_t index, unsigned field) {
      int32_t value = 0;
      memcpy(&value, table + size_t{index} * 8 + field, sizeof value);
      return base + static_cast<uintptr_t>(int64_t{value});
    };
    uint32_t low = 0;
    uint32_t high = count;
    while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      if (entry(middle, 0) <= pc) low = middle;
      else high = middle;
    }
    const auto* description = reinterpret_cast<const uint8_t*>(entry(low, 4));
    if (entry(low, 0) > pc || description < start || description >= end) return Rule();
    return ofFunction(pc, description, start, end);
  }

 private:
  struct State {
    unsigned cfaRegister = 0;
    int64_t cfa = 0;
    bool cfaKnown = false;
    bool raSaved = false;
    int64_t ra = 0;
    bool fpSaved = false;
    bool fpKnown = true;
    int64_t fp = 0;
  };

  static bool entryAt(const uint8_t* at, const uint8_t* end, TableReader& body) {
    TableReader reader{at, end};
    const auto length = reader.take<uint32_t>();
    if (reader.broken || length == 0 || length == 0xffffffff || length > static_cast<size_t>(end - reader.at)) return false;
    body = TableReader{reader.at, reader.at + length};
    return true;
  }

  static bool common(const uint8_t* at, const uint8_t* end, Common& found) {
    TableReader reader{nullptr, nullptr};
    if (!entryAt(at, end, reader) || reader.take<uint32_t>() != 0) return false;
    const auto version = reader.take<uint8_t>();
    char letters[8] = {};
    for (size_t n = 0; n < sizeof letters; ++n) {
      letters[n] = static_cast<char>(reader.take<uint8_t>());
      if (letters[n] == '\0') break;
      if (n + 1 == sizeof letters) return false;
    }
    if (version != 1 && version != 3) return false;
    found.codeAlign = reader.uleb();
    found.dataAlign = reader.sleb();
    const uint64_t column = version == 1 ? reader.take<uint8_t>() : reader.uleb();
    if (column != kReturnAddress) return false;
    if (letters[0] == 'z') {
      found.augmented = true;
      const uint64_t length = reader.uleb();
      TableReader after = reader;
      after.skip(length);
      for (const char* letter = letters + 1; *letter != '\0' && !reader.broken; ++letter) {
        if (*letter == 'R') found.encoding = reader.take<uint8_t>();
        else if (*letter == 'L') reader.take<uint8_t>();
        else if (*letter == 'P') {
          const auto encoding = reader.take<uint8_t>();
          // The personality may be indirect; only its size matters.
          reader.encoded(encoding & 0x7f);
        } else if (*letter == 'S') found.signal = true;
        else if (*letter != 'B') return false;
      }
      reader = after;
    } else if (letters[0] != '\0') {
      return false;
    }
    found.instructions = reader;
    return !reader.broken;
  }

  static Rule ofFunction(uintptr_t pc, const uint8_t* at, const uint8_t* start, const uint8_t* end) {
    TableReader reader{nullptr, nullptr};
    if (!entryAt(at, end, reader)) return Rule();
    const uint8_t* place = reader.at;
    const auto back = reader.take<uint32_t>();
    Common cie;
    if (reader.broken || back == 0 || back > static_cast<size_t>(place - start) || !common(place - back, end, cie) || cie.signal) return Rule();
    const uintptr_t first = reader.encoded(cie.encoding);
    const uintptr_t size = reader.encoded(cie.encoding & 0x0f);
    if (reader.broken || pc < first || pc - first >= size) return Rule();
    if (cie.augmented) reader.skip(reader.uleb());
    State initial;
    State state;
    uintptr_t location = first;
    if (!execute(cie.instructions, cie, pc, location, state, initial)) return Rule();
    initial = state;
    location = first;
    if (!execute(reader, cie, pc, location, state, initial)) return Rule();
    const bool fromFp = state.cfaRegister == kFramePointer;
    // The caller's frame pointer is lost where it is saved in a way that is not understood.
    if (!state.cfaKnown || !state.raSaved || !state.fpKnown || (!fromFp && state.cfaRegister != kStackPointer)) return Rule();
    return Rule::make(fromFp, state.cfa, state.ra, state.fpSaved, state.fp);
  }

  static void saved(State& state, uint64_t column, int64_t offset) {
    if (column == kReturnAddress) {
      state.raSaved = true;
      state.ra = offset;
    } else if (column == kFramePointer) {
      state.fpSaved = state.fpKnown = true;
      state.fp = offset;
    }
  }
  static void restored(State& state, const State& initial, uint64_t column) {
    if (column == kReturnAddress) {
      state.raSaved = initial.raSaved;
      state.ra = initial.ra;
    } else if (column == kFramePointer) {
      state.fpSaved = initial.fpSaved;
      state.fpKnown = initial.fpKnown;
      state.fp = initial.fp;
    }
  }
  static void lost(State& state, uint64_t column) {
    if (column == kReturnAddress) state.raSaved = false;
    if (column == kFramePointer) state.fpKnown = false;
  }

  // Runs the instructions up to `pc`. False where one is not understood.
  static bool execute(TableReader reader, const Common& cie, uintptr_t pc, uintptr_t location, State& state, const State& initial) {
    State remembered[4];
    unsigned depth = 0;
    while (reader.at < reader.end && !reader.broken) {
      const auto code = reader.take<uint8_t>();
      const uint64_t low = code & 0x3f;
      uint64_t advance = 0;
      switch (code >> 6) {
        case 1: advance = low; break;
        case 2: saved(state, low, static_cast<int64_t>(reader.uleb()) * cie.dataAlign); continue;
        case 3: restored(state, initial, low); continue;
        default:
          if (code >= 0x02 && code <= 0x04) {
            advance = code == 0x02 ? reader.take<uint8_t>() : code == 0x03 ? reader.take<uint16_t>() : reader.take<uint32_t>();
          } else if (!special(code, reader, cie, state, initial, remembered, depth)) {
            return false;
          }
      }
      location += advance * cie.codeAlign;
      if (location > pc) return true;
    }
    return !reader.broken;
  }

  static bool special(uint8_t code, TableReader& reader, const Common& cie, State& state, const State& initial, State* remembered, unsigned& depth) {
    uint64_t column = 0;
    switch (code) {
      case 0x00: case 0x2d: return true;  // nop; AArch64's signed return addresses, see `plain` in CallStack
      case 0x05: column = reader.uleb(); saved(state, column, static_cast<int64_t>(reader.uleb()) * cie.dataAlign); return true;
      case 0x11: column = reader.uleb(); saved(state, column, reader.sleb() * cie.dataAlign); return true;
      case 0x06: restored(state, initial, reader.uleb()); return true;
      case 0x07: lost(state, reader.uleb()); return true;
      case 0x08:
        column = reader.uleb();
        if (column == kFramePointer) state.fpSaved = false, state.fpKnown = true;
        if (column == kReturnAddress) state.raSaved = false;
        return true;
      case 0x09: lost(state, reader.uleb()); reader.uleb(); return true;
      case 0x0a:
        if (depth == 4) return false;
        remembered[depth++] = state;
        return true;
      case 0x0b:
        if (depth == 0) return false;
        state = remembered[--depth];
        return true;
      case 0x0c: state.cfaRegister = static_cast<unsigned>(reader.uleb()); state.cfa = static_cast<int64_t>(reader.uleb()); state.cfaKnown = true; return true;
      case 0x0d: state.cfaRegister = static_cast<unsigned>(reader.uleb()); return true;
      case 0x0e: state.cfa = static_cast<int64_t>(reader.uleb()); return true;
      case 0x0f: reader.skip(reader.uleb()); state.cfaKnown = false; return true;
      case 0x10: case 0x16: lost(state, reader.uleb()); reader.skip(reader.uleb()); return true;
      case 0x12: state.cfaRegister = static_cast<unsigned>(reader.uleb()); state.cfa = reader.sleb() * cie.dataAlign; state.cfaKnown = true; return true;
      case 0x13: state.cfa = reader.sleb() * cie.dataAlign; return true;
      case 0x2e: reader.uleb(); return true;  // GNU_args_size
      default: return false;
    }
  }
};

}  // namespace stormlog_heap
