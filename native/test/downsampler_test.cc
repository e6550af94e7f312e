#include "../records/downsampler.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <tuple>

#include "harness.h"
#include "support.h"

using namespace stormlog;
using testing_support::Capture;
using testing_support::TempDirectory;

namespace {

constexpr uint64_t kTick = 5 * kMillisecond;

Record tree(uint64_t timeNs, uint64_t anon, uint64_t late = 0) {
  Record record;
  record.timeNs = timeNs;
  record.kind = RecordKind::kTree;
  record.set(0, anon + 100);
  record.set(1, anon);
  record.set(2, 7);
  record.set(3, 1 | late << 32);
  return record;
}

Record of(RecordKind kind, int32_t id, uint64_t timeNs, uint64_t value) {
  Record record;
  record.timeNs = timeNs;
  record.kind = kind;
  record.id = id;
  record.set(0, value);
  return record;
}

// All that came until `timeNs` is downsampled.
void end(Downsampler& downsampler, uint64_t timeNs) { downsampler.advance(timeNs + Downsampler::kLookbackNs + 2 * Downsampler::kMaxWindowNs); }

uint64_t ticksOf(const Record& record) { return record.id > 1 ? static_cast<uint64_t>(record.id) : 1; }

}  // namespace

TEST("the first minutes are recorded reading by reading") {
  Capture out;
  Downsampler downsampler(out, 10 * kSecond, "");
  uint64_t pushed = 0;
  for (uint64_t t = 0; t < 10 * kSecond; t += kTick, ++pushed) {
    downsampler.push(tree(t, 5));
    downsampler.advance(t);
  }
  CHECK_EQ(out.records.size(), pushed);
  CHECK_EQ(out.records.back().id, -1);
}

TEST("several windows without a change are one record, which says for how many ticks it stands") {
  Capture out;
  Downsampler downsampler(out, 0, "");
  downsampler.advance(2000 * kSecond);
  uint64_t pushed = 0;
  // Late by a different time at each tick: memory does not change by that.
  for (uint64_t t = 2000 * kSecond; t < 2010 * kSecond; t += kTick, ++pushed) {
    downsampler.advance(t);
    downsampler.push(tree(t, 5, t % 3));
  }
  end(downsampler, 2010 * kSecond);
  // Four windows are two seconds. Of the first window, which has nothing before it, also the first reading.
  CHECK(out.records.size() >= 6 && out.records.size() <= 7);
  uint64_t ticks = 0;
  for (const Record& record : out.records) ticks += ticksOf(record);
  CHECK_EQ(ticks, pushed);
  CHECK_EQ(out.records.front().timeNs, 2000 * kSecond);
  CHECK_EQ(out.records.back().timeNs, 2010 * kSecond - kTick);
}

TEST("a series that is read less often than a window lasts is also one record for several of them, while steps go on") {
  Capture out;
  Downsampler downsampler(out, 0, "");
  const uint64_t begin = 400 * kSecond;
  for (uint64_t t = begin; t < begin + 10 * kSecond; t += 90 * kMillisecond) {
    downsampler.advance(t);
    Record heap = of(RecordKind::kAllocator, 3, t, 50);
    // By the timer and at the ends of steps.
    heap.setReason(t / (90 * kMillisecond) % 2 == 0 ? 1 : 2);
    heap.set(3, t / kSecond);
    downsampler.push(heap);
    downsampler.push(of(RecordKind::kProcess, 7, t, 50));
  }
  end(downsampler, begin + 10 * kSecond);
  const auto countOf = [&](RecordKind kind) {
    return std::count_if(out.records.begin(), out.records.end(), [&](const Record& record) { return record.kind == kind; });
  };
  // 112 readings; four windows are 0.4 seconds, in which there are four or five.
  CHECK(countOf(RecordKind::kProcess) <= 28);
  CHECK(countOf(RecordKind::kAllocator) <= 28);
}

TEST("the last reading before a change is kept") {
  Capture out;
  Downsampler downsampler(out, 0, "");
  const uint64_t begin = 2000 * kSecond;
  const uint64_t change = begin + 7300 * kMillisecond;
  uint64_t ticks = 0;
  for (uint64_t t = begin; t < begin + 10 * kSecond; t += kTick, ++ticks) {
    downsampler.advance(t);
    downsampler.push(tree(t, t < change ? 5 : 9));
  }
  end(downsampler, begin + 10 * kSecond);
  const auto after = std::find_if(out.records.begin(), out.records.end(), [](const Record& record) { return record.v[1] == 9; });
  CHECK(after != out.records.begin() && after != out.records.end());
  CHECK_EQ(after->timeNs, change);
  CHECK_EQ((after - 1)->timeNs, change - kTick);
  uint64_t stoodFor = 0;
  for (const Record& record : out.records) stoodFor += ticksOf(record);
  CHECK_EQ(stoodFor, ticks);
}

TEST("a window is a share of the run so far, and at most ten seconds") {
  for (const uint64_t begin : {400 * kSecond, 100000 * kSecond}) {
    Capture out;
    Downsampler downsampler(out, 0, "");
    for (uint64_t t = begin; t < begin + 30 * kSecond; t += kTick) {
      downsampler.advance(t);
      downsampler.push(tree(t, t));
    }
    end(downsampler, begin + 30 * kSecond);
    // The lowest and the last reading of each. A window begins with the first reading after the one before.
    const size_t windows = begin == 400 * kSecond ? 290 : 3;
    CHECK(out.records.size() + 2 >= 2 * windows && out.records.size() <= 2 * windows + 2);
  }
}

TEST("no extreme of any series is lost, and each stays in order") {
  std::mt19937_64 random(20261125);
  Capture all;
  Capture out;
  Downsampler downsampler(out, 0, "");
  const uint64_t begin = 3600 * kSecond;
  uint64_t ticks = 0;
  const auto push = [&](const Record& record) {
    all.push(record);
    downsampler.push(record);
  };
  for (uint64_t t = begin; t < begin + 60 * kSecond; t += kTick, ++ticks) {
    downsampler.advance(t);
    push(tree(t, random() % 1000000));
    for (int32_t id = 0; id < 5; ++id) {
      if (random() % 4 == 0) push(of(RecordKind::kProcess, id, t, random() % (id + 1)));
      Record reading = of(RecordKind::kAllocator, id, t, random() % 1000000);
      reading.setReason(1);
      if (random() % 9 == 0) push(reading);
    }
  }
  end(downsampler, begin + 60 * kSecond);
  CHECK(out.records.size() * 5 < all.records.size());
  using Key = std::tuple<int, int, int>;
  const auto extremes = [](const Capture& from) {
    std::map<Key, std::pair<uint64_t, uint64_t>> found;
    for (const Record& record : from.records) {
      for (int i = 0; i < 4; ++i) {
        if ((record.valid >> i & 1) == 0 || (record.kind == RecordKind::kTree && i == 3)) continue;
        const Key key{static_cast<int>(record.kind), record.kind == RecordKind::kTree ? -1 : record.id, i};
        const auto [at, begins] = found.try_emplace(key, record.v[i], record.v[i]);
        if (begins) continue;
        at->second.first = std::min(at->second.first, record.v[i]);
        at->second.second = std::max(at->second.second, record.v[i]);
      }
    }
    return found;
  };
  CHECK(extremes(all) == extremes(out));
  std::map<Key, uint64_t> lastNs;
  uint64_t stoodFor = 0;
  bool ordered = true;
  for (const Record& record : out.records) {
    const bool isTree = record.kind == RecordKind::kTree;
    if (isTree) stoodFor += ticksOf(record);
    uint64_t& last = lastNs[Key{static_cast<int>(record.kind), isTree ? -1 : record.id, 0}];
    ordered &= last <= record.timeNs;
    last = record.timeNs;
  }
  CHECK(ordered);
  CHECK_EQ(stoodFor, ticks);
}

TEST("an event is written after the readings before it") {
  Capture out;
  Downsampler downsampler(out, 0, "");
  downsampler.advance(2000 * kSecond);
  const auto at = [](uint64_t ms) { return 2000 * kSecond + ms * kMillisecond; };
  downsampler.push(of(RecordKind::kProcess, 7, at(1), 10));
  downsampler.push(of(RecordKind::kProcess, 8, at(1), 10));
  downsampler.push(of(RecordKind::kProcess, 7, at(2), 30));
  downsampler.push(of(RecordKind::kProcessExit, 7, at(3), 30));
  downsampler.push(of(RecordKind::kError, -1, at(5), 2));
  // A pid that is used again is another series.
  downsampler.push(of(RecordKind::kProcess, 7, at(6), 1));
  end(downsampler, at(6));
  CHECK_EQ(out.records.size(), 6);
  CHECK(out.records[0].id == 7 && out.records[1].v[0] == 30 && out.records[2].kind == RecordKind::kProcessExit);
  CHECK(out.records[3].kind == RecordKind::kError);
}

TEST("the last ten seconds before memory runs out, and before the end, are written reading by reading") {
  Capture out;
  Downsampler downsampler(out, 0, "");
  uint64_t t = 2000 * kSecond;
  const auto forSeconds = [&](uint64_t seconds) {
    for (const uint64_t until = t + seconds * kSecond; t < until; t += kTick) {
      downsampler.advance(t);
      downsampler.push(tree(t, 5));
    }
  };
  const auto since = [&](uint64_t fromNs) {
    size_t rows = 0;
    for (const Record& record : out.records) rows += record.kind == RecordKind::kTree && record.timeNs >= fromNs ? 1 : 0;
    return rows;
  };
  forSeconds(60);
  Record oom = of(RecordKind::kAllocator, 3, t, 50);
  oom.setReason(3);
  downsampler.push(oom);
  CHECK(out.records.back().kind == RecordKind::kAllocator);
  CHECK_EQ(since(t - 10 * kSecond), 2000);
  const uint64_t atError = t;
  forSeconds(60);
  CHECK_EQ(since(atError), 24);
  downsampler.push(of(RecordKind::kStop, -1, t, 0));
  CHECK(out.records.back().kind == RecordKind::kStop);
  CHECK_EQ(since(t - 10 * kSecond), 2000);
  uint64_t ticks = 0;
  for (const Record& record : out.records) ticks += record.kind == RecordKind::kTree ? ticksOf(record) : 0;
  CHECK_EQ(ticks, 2 * 60 * 200);
}

TEST("more series than the downsampler has room for are written reading by reading") {
  Capture out;
  Downsampler downsampler(out, 0, "");
  downsampler.advance(2000 * kSecond);
  const int32_t more = static_cast<int32_t>(Downsampler::kCapacity) + 50;
  for (uint64_t turn = 0; turn < 4; ++turn) {
    for (int32_t id = 0; id < more; ++id) downsampler.push(of(RecordKind::kProcess, id, 2000 * kSecond + turn, 1));
  }
  end(downsampler, 2001 * kSecond);
  CHECK_EQ(out.records.size(), 4 * 50 + 2 * Downsampler::kCapacity);
}

TEST("processes that have ended leave their room to others") {
  Capture out;
  Downsampler downsampler(out, 0, "");
  uint64_t t = 20000 * kSecond;
  const int32_t processes = 4 * static_cast<int32_t>(Downsampler::kCapacity);
  // Fifty a second, each with ten readings, of which the first and the last remain, and its end. There is room for
  // those of one window of five seconds, not of four.
  for (int32_t id = 0; id < processes; ++id, t += 4 * kTick) {
    downsampler.advance(t);
    for (uint64_t reading = 0; reading < 10; ++reading) downsampler.push(of(RecordKind::kProcess, id, t + reading, 1));
    downsampler.push(of(RecordKind::kProcessExit, id, t + 10, 1));
  }
  end(downsampler, t);
  CHECK_EQ(out.records.size(), static_cast<size_t>(3 * processes));
}

TEST("what is held stands in a file, until all of it is in the record") {
  TempDirectory directory;
  const std::string path = directory / "a.rec.recent";
  Capture out;
  Downsampler downsampler(out, 0, path);
  downsampler.advance(2000 * kSecond);
  // More records than fit, so that the queue wraps around.
  uint64_t t = 2000 * kSecond;
  for (uint64_t i = 0; i < 20000; ++i, t += kTick) {
    downsampler.push(tree(t, i));
    downsampler.advance(t);
    if (i % 18 == 0) downsampler.flush();
  }
  downsampler.flush();
  FILE* file = std::fopen(path.c_str(), "r");
  CHECK(file != nullptr);
  unsigned char header[kHeaderBytes];
  CHECK_EQ(std::fread(header, 1, sizeof header, file), sizeof header);
  CHECK(std::memcmp(header, kRecentMagic, sizeof kRecentMagic) == 0);
  uint64_t numbers[3];
  std::memcpy(numbers, header + 8, sizeof numbers);
  CHECK_EQ(numbers[0], 20000);
  CHECK_EQ(numbers[2], RecentRecords::kCapacity);
  // Ten seconds and the open window.
  CHECK(numbers[0] - numbers[1] >= 2000 && numbers[0] - numbers[1] < 2500);
  uint64_t expected = numbers[1];
  for (uint64_t n = numbers[1]; n < numbers[0]; ++n) {
    Record record;
    std::fseek(file, static_cast<long>(kHeaderBytes + n % RecentRecords::kCapacity * sizeof record), SEEK_SET);
    if (std::fread(static_cast<void*>(&record), 1, sizeof record, file) == sizeof record && record.v[1] == n) ++expected;
  }
  CHECK_EQ(expected, numbers[0]);
  std::fclose(file);
  downsampler.push(of(RecordKind::kStop, -1, t, 0));
  downsampler.close();
  CHECK(std::fopen(path.c_str(), "r") == nullptr);
}

TEST("a file that is in the way is not touched, and nothing is lost without one") {
  TempDirectory directory;
  directory.write("a.rec.recent", "mine");
  Capture out;
  Downsampler downsampler(out, 0, directory / "a.rec.recent");
  downsampler.advance(2000 * kSecond);
  downsampler.push(tree(2000 * kSecond, 5));
  downsampler.flush();
  downsampler.push(of(RecordKind::kStop, -1, 2001 * kSecond, 0));
  downsampler.close();
  CHECK_EQ(out.records.size(), 2);
  FILE* file = std::fopen((directory / "a.rec.recent").c_str(), "r");
  char text[8] = {};
  CHECK(file != nullptr && std::fread(text, 1, sizeof text, file) == 4 && std::string(text) == "mine");
  std::fclose(file);
}
