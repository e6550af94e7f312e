// Writes the record of a long run through the sampler's own downsampler and writer: a launcher's tree of eight workers
// at 200 Hz, their high-water marks and the cgroup at 10 Hz, an allocator with steps in each worker at 10 Hz. With the
// numbers of teeth it is one worker, read at 10 Hz.
// Usage: record FILE HOURS still|leak|teeth DENSE-SECONDS
//        record FILE HOURS below DENSE-SECONDS SEED PERIOD-SECONDS HEIGHT-MIB JITTER NOISE-MIB LEAK-KIB-PER-SECOND
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "records/downsampler.h"
#include "records/record_writer.h"

using namespace stormlog;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kPage = 4096;

uint64_t state = 20261125;

double uniform() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<double>(state >> 11) / 9007199254740992.0;
}

// A standard normal number (Box and Muller).
double normal() {
  const double size = std::sqrt(-2 * std::log(1 - uniform()));
  return size * std::cos(6.283185307179586 * uniform());
}

// Teeth above a leak, the first of which has begun at some time before. Jitter is the standard deviation of a tooth's
// length, as a share of the period.
struct Teeth {
  double period;
  double height;
  double jitter;
  double noise;
  double kibPerSecond;
  double length;
  double phase;

  uint64_t next(double seconds, double passed) {
    phase += passed / length;
    if (phase >= 1) {
      phase -= 1;
      length = period * std::fmax(0.2, 1 + jitter * normal());
    }
    const double mib = 1000 + height * phase + noise * normal() + kibPerSecond * seconds / 1024;
    return static_cast<uint64_t>(mib * static_cast<double>(kMiB)) / kPage * kPage;
  }
};

Record made(RecordKind kind, int32_t id, uint64_t timeNs) {
  Record record;
  record.kind = kind;
  record.id = id;
  record.timeNs = timeNs;
  return record;
}

// Bytes of one worker: 400 MiB, and by the shape 128 MiB more at the end, or teeth of 200 MiB; with noise that changes
// at every reading. Thirty seconds of start-up come before it.
uint64_t bytesAt(const std::string& shape, double seconds, double hours) {
  const double warm = seconds < 30 ? seconds / 30 : 1;
  double mib = 400 * warm;
  if (shape != "still") mib += uniform() * 4;
  if (shape == "leak") mib += 128 * seconds / (hours * 3600);
  if (shape == "teeth") mib += 200 * std::fmod(seconds, 7.3) / 7.3;
  return static_cast<uint64_t>(mib * static_cast<double>(kMiB)) / kPage * kPage;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string shape = count > 3 ? arguments[3] : "";
  const bool below = shape == "below";
  if (count != (below ? 11 : 5)) return 2;
  const double hours = std::atof(arguments[2]);
  const auto number = [&](int i) { return std::atof(arguments[i]); };
  const int workers = below ? 1 : 8;
  const uint64_t tick = (below ? 100 : 5) * kMillisecond;
  const uint64_t slow = below ? 1 : 20;
  Teeth teeth{};
  if (below) {
    state ^= static_cast<uint64_t>(number(5)) << 20;
    for (int i = 0; i < 20; ++i) uniform();
    teeth = Teeth{number(6), number(7), number(8), number(9), number(10), number(6), uniform()};
  }
  FileHeader header{};
  memcpy(header.magic, kRecordMagic, sizeof header.magic);
  header.headerBytes = kHeaderBytes;
  header.recordBytes = kRecordBytes;
  header.monotonicStartNs = 1;
  header.epochNs = 1764000000000000000;
  header.hostPeriodNs = tick;
  header.devicePeriodNs = 4 * tick;
  header.rootPid = 1;
  header.pageSize = kPage;
  static RecordWriter writer;
  if (writer.open(arguments[1], header) != 0) return 1;
  Downsampler downsampler(writer, static_cast<uint64_t>(std::atof(arguments[4]) * 1e9), "");
  Record rate = made(RecordKind::kRate, -1, 0);
  rate.set(0, tick);
  rate.set(1, 4 * tick);
  downsampler.push(rate);
  for (int worker = 0; worker < workers; ++worker) {
    Record start = made(RecordKind::kProcessStart, 100 + worker, 0);
    start.set(0, 1);
    downsampler.push(start);
    Record stream = made(RecordKind::kStream, worker, 0);
    stream.set(0, 100 + worker);
    stream.set(1, 1);
    stream.set(2, 0);
    stream.set(3, static_cast<uint64_t>(worker + 1) | static_cast<uint64_t>(workers + 1) << 16 | uint64_t{1} << 32);
    downsampler.push(stream);
  }
  uint64_t marks[8] = {};
  uint64_t ticks = 0;
  const uint64_t end = static_cast<uint64_t>(hours * 3600e9);
  for (uint64_t t = 0; t < end; t += tick, ++ticks) {
    const double at = static_cast<double>(t) / 1e9;
    uint64_t sum = 0;
    for (int worker = 0; worker < workers; ++worker) {
      const uint64_t bytes = below ? teeth.next(at, static_cast<double>(tick) / 1e9) : bytesAt(shape, at, hours);
      sum += bytes;
      if (bytes > marks[worker]) marks[worker] = bytes;
      if (ticks % slow != 0) continue;
      Record process = made(RecordKind::kProcess, 100 + worker, t);
      process.set(0, marks[worker] + 30 * kMiB);
      process.set(1, bytes);
      process.set(2, 0);
      process.set(3, 30 * kMiB);
      downsampler.push(process);
      Record heap = made(RecordKind::kAllocator, worker, t);
      heap.set(0, below ? bytes : bytes - bytes / 10);
      heap.set(1, bytes);
      heap.set(3, static_cast<uint64_t>(at * 5));
      heap.setReason(1);
      downsampler.push(heap);
    }
    Record tree = made(RecordKind::kTree, -1, t);
    tree.set(0, sum + static_cast<uint64_t>(workers) * 30 * kMiB);
    tree.set(1, sum);
    tree.set(2, 0);
    tree.set(3, static_cast<uint64_t>(workers) | static_cast<uint64_t>(uniform() * 200) << 32);
    downsampler.push(tree);
    if (ticks % slow == 0) {
      Record group = made(RecordKind::kCgroup, -1, t);
      group.set(0, sum);
      group.set(1, sum);
      group.set(2, 0);
      group.set(3, sum);
      downsampler.push(group);
    }
    downsampler.advance(t);
  }
  Record stop = made(RecordKind::kStop, -1, end);
  stop.set(0, ticks);
  downsampler.push(stop);
  writer.close();
  return writer.error() == 0 ? 0 : 1;
}
