#include "../../sources/probe/probe_source.h"

#include <sys/wait.h>

#include "../harness.h"
#include "probe_reader.h"
#include "ring_writer.h"

using namespace stormlog;
using testing_support::Reader;
using testing_support::RingWriter;
using testing_support::sleepMs;
using testing_support::TempDirectory;

namespace {

// The values of the allocator records are 0, 1, 2, …, `count` - 1 times 1000.
bool consecutive(const std::vector<const Record*>& records, uint64_t count) {
  if (records.size() != count) return false;
  for (uint64_t i = 0; i < count; ++i) {
    if (records[i]->v[0] != i * 1000) return false;
  }
  return true;
}

}  // namespace

TEST("a ring comes out whole and in order, over its end and over many looks") {
  TempDirectory directory;
  Reader reader(directory.path());
  CHECK(reader.report.available);
  RingWriter ring(directory / "4242.0.probe", 16);
  for (uint64_t i = 0; i < 200; ++i) {
    ring.add(i * 1000, i * 1000 + 7);
    if (i % 11 == 10) reader.sample();
  }
  reader.finish();
  const auto samples = reader.all(RecordKind::kAllocator);
  CHECK(consecutive(samples, 200));
  CHECK_EQ(samples[3]->v[1], 3007);
  CHECK_EQ(samples[3]->valid, 3 | kProbeTimer << 4);
  CHECK(samples[3]->source == RecordSource::kProbe);
  CHECK(samples[0]->timeNs > kSecond / 2 && samples[0]->timeNs < 3 * kSecond);
  const auto streams = reader.all(RecordKind::kStream);
  CHECK_EQ(streams.size(), 1);
  CHECK_EQ(streams[0]->id, samples[0]->id);
  CHECK_EQ(streams[0]->v[0], 4242);
  CHECK_EQ(streams[0]->v[1], kProbeHostHeap);
  CHECK_EQ(streams[0]->v[3], 0);
  CHECK_EQ(reader.reported(kProbeRecordsLost), 0);
}

TEST("records overwritten before they were read are counted, the others are read") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter ring(directory / "7.0.probe", 16);
  for (uint64_t i = 0; i < 100; ++i) ring.add(i * 1000, 0);
  reader.sample();
  // The slot after the head might have been half-written.
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 15);
  CHECK_EQ(reader.out.last(RecordKind::kAllocator)->v[0], 99000);
  CHECK_EQ(reader.reported(kProbeRecordsLost, 7), 85);
  for (uint64_t i = 0; i < 20; ++i) ring.add(0, 0);
  // Few more than reported: reported at the end, not each time.
  reader.sample();
  CHECK_EQ(reader.reported(kProbeRecordsLost, 7), 85);
  reader.finish();
  CHECK_EQ(reader.reported(kProbeRecordsLost, 7), 90);
}

TEST("an unfinished record is waited for, and given up when it never comes") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter ring(directory / "7.0.probe", 16);
  ring.add(1, 1);
  ring.add(2, 2).seqEnd = 0;
  ring.add(3, 3);
  reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 1);
  ring.slot(1).seqEnd = 2;
  reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 3);
  ring.add(4, 4).seq = 77;
  ring.add(5, 5);
  for (int i = 0; i < 3; ++i) reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 4);
  CHECK_EQ(reader.out.last(RecordKind::kAllocator)->v[0], 5);
  CHECK_EQ(reader.reported(kProbeRecordsLost, 7), 1);
}

TEST("peaks are written when they change, and each device has its own stream") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter ring(directory / "7.0.probe", 64);
  ring.header().rank = 3;
  ring.header().worldSize = 4;
  ring.header().role = 1;
  ring.header().flags = kProbeStepsSeen;
  for (uint64_t i = 0; i < 12; ++i) {
    ProbeRecord record{};
    record.timeNs = monotonicNs();
    record.deviceKind = kProbeCuda;
    record.deviceIndex = static_cast<uint16_t>(i % 2);
    record.valid = 0xff;
    record.reason = kProbeStep;
    for (unsigned k = 0; k < 8; ++k) record.v[k] = 100 * (k + 1);
    record.v[kProbeAllocatedPeak] = i < 6 ? 500 : 900;
    record.v[kProbeStepNumber] = i;
    ring.push(record);
  }
  reader.sample();
  const auto streams = reader.all(RecordKind::kStream);
  CHECK_EQ(streams.size(), 2);
  CHECK_EQ(streams[1]->v[2], 1);
  CHECK_EQ(streams[0]->v[3], 4ULL | 5ULL << 16 | 1ULL << 32 | 8ULL << 40);
  const auto peaks = reader.all(RecordKind::kAllocatorPeaks);
  CHECK_EQ(peaks.size(), 4);
  CHECK_EQ(peaks[0]->v[0], 500);
  CHECK_EQ(peaks[2]->v[0], 900);
  CHECK_EQ(peaks[2]->v[1], 500);
  CHECK_EQ(peaks[2]->v[3], 700);
  const auto samples = reader.all(RecordKind::kAllocator);
  CHECK_EQ(samples.size(), 12);
  CHECK_EQ(samples[11]->v[3], 11);
  CHECK_EQ(samples[11]->valid, 15 | kProbeStep << 4);
  // The rank became known later: reported again before the next sample.
  ring.header().rank = 2;
  ring.header().flags |= kProbePeaksReset;
  ring.add(1, 1);
  ProbeRecord record{};
  record.timeNs = monotonicNs();
  record.deviceKind = kProbeCuda;
  record.valid = 1;
  ring.push(record);
  reader.sample();
  CHECK_EQ(reader.all(RecordKind::kStream).size(), 4);
  CHECK_EQ(reader.out.last(RecordKind::kStream)->v[3], 3ULL | 5ULL << 16 | 1ULL << 32 | 24ULL << 40);
}

TEST("steps come from records, from the header when it counts faster, and from records without a device") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter ring(directory / "7.0.probe", 64);
  ring.header().flags = kProbeStepsSeen;
  ring.header().step = 5;
  ProbeRecord record{};
  record.timeNs = monotonicNs();
  record.deviceKind = kProbeNoDevice;
  record.valid = 1 << kProbeStepNumber;
  record.reason = kProbeStep;
  record.v[kProbeStepNumber] = 4;
  ring.push(record);
  reader.sample();
  const auto steps = reader.all(RecordKind::kStep);
  CHECK_EQ(steps.size(), 2);
  CHECK_EQ(steps[0]->v[0], 4);
  CHECK_EQ(steps[1]->v[0], 5);
  CHECK_EQ(steps[1]->id, 7);
  reader.sample();
  CHECK_EQ(reader.all(RecordKind::kStep).size(), 2);
}

TEST("the step file is read whenever it holds a number") {
  TempDirectory directory;
  Reader reader(directory.path());
  const auto steps = [&] { return reader.all(RecordKind::kStep); };
  reader.sample();
  directory.write("step", "17\n");
  reader.sample();
  CHECK_EQ(steps().size(), 1);
  CHECK_EQ(steps()[0]->v[0], 17);
  CHECK_EQ(steps()[0]->id, -1);
  directory.write("step", "18");
  reader.sample();
  reader.sample();
  CHECK_EQ(steps().size(), 2);
  for (const char* wrong : {"", "\n", "-1", "1 2", "0x10", "9007199254740992", "99999999999999999999999999999999999999", "\xff\xfe"}) {
    directory.write("step", wrong);
    reader.sample();
  }
  CHECK_EQ(steps().size(), 2);
  CHECK(reader.reported(kProbeStepUnreadable) > 0);
  directory.write("other", " 19 \n");
  CHECK_EQ(rename((directory / "other").c_str(), (directory / "step").c_str()), 0);
  reader.sample();
  CHECK_EQ(steps().back()->v[0], 19);
}

namespace {

// In a child process: writes records whose values follow from their number, as fast as it can, until it is killed.
int writeFast(const std::string& path, uint32_t capacity) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  RingWriter ring(path, capacity, getpid());
  for (uint64_t i = 0;; ++i) {
    ProbeRecord record{};
    record.timeNs = monotonicNs();
    record.deviceKind = kProbeHostHeap;
    record.valid = 7;
    record.v[0] = i;
    record.v[1] = i ^ 0x5555;
    record.v[2] = i * 3;
    ring.push(record);
    // Bursts a little larger than the ring, so that the reader is overtaken again and again.
    if (i % (capacity + 3) == 0) sleepMs(1);
  }
}

}  // namespace

TEST("a writer that laps the reader leaves no torn record, and every record is read or counted") {
  TempDirectory directory;
  Reader reader(directory.path());
  const int pid = writeFast(directory / "7.0.probe", 64);
  for (int i = 0; i < 400; ++i) {
    reader.source.sample(reader.timeNs += 5 * kMillisecond, reader.out);
    usleep(300);
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  reader.timeNs += 10 * kSecond;
  reader.finish();
  const auto samples = reader.all(RecordKind::kAllocator);
  CHECK(samples.size() > 500);
  bool sound = true;
  uint64_t previous = 0;
  for (const Record* sample : samples) {
    sound &= sample->v[1] == (sample->v[0] ^ 0x5555) && sample->v[2] == sample->v[0] * 3;
    sound &= sample == samples.front() || sample->v[0] > previous;
    previous = sample->v[0];
  }
  CHECK(sound);
  const uint64_t lost = reader.reported(kProbeRecordsLost);
  CHECK(lost > 0);
  CHECK_EQ(samples.size() + lost + reader.reported(kProbeRecordImpossible), previous + 1);
}

TEST("what a process wrote before it was killed is read, and its file let go") {
  TempDirectory directory;
  Reader reader(directory.path());
  int ready[2];
  CHECK_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    RingWriter ring(directory / (std::to_string(getpid()) + ".0.probe"), 64, getpid());
    for (uint64_t i = 0; i < 40; ++i) ring.add(i * 1000, 0);
    if (write(ready[1], "x", 1) < 0) _exit(1);
    pause();
    _exit(0);
  }
  char byte = 0;
  CHECK_EQ(read(ready[0], &byte, 1), 1);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  reader.sample();
  CHECK(consecutive(reader.all(RecordKind::kAllocator), 40));
  // The writer has ended and the process is gone: were the file still open, more would be read.
  for (int i = 0; i < 50; ++i) reader.sample();
  const int file = open((directory / (std::to_string(pid) + ".0.probe")).c_str(), O_RDWR);
  const uint64_t head = 60;
  CHECK_EQ(pwrite(file, &head, sizeof head, 24), static_cast<ssize_t>(sizeof head));
  ::close(file);
  reader.finish();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 40);
  CHECK_EQ(reader.reported(kProbeRecordsLost), 0);
  ::close(ready[0]);
  ::close(ready[1]);
}
