// Rings as a hostile or broken process may leave them, and more of them than there is room for.
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "../harness.h"
#include "probe_reader.h"
#include "ring_writer.h"

using namespace stormlog;
using testing_support::Reader;
using testing_support::RingWriter;
using testing_support::TempDirectory;

TEST("a truncated, a rewritten and a changed ring are reported and no longer read") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter cut(directory / "1.0.probe", 64, 1);
  RingWriter backwards(directory / "2.0.probe", 64, 2);
  RingWriter reshaped(directory / "3.0.probe", 64, 3);
  for (RingWriter* ring : {&cut, &backwards, &reshaped}) {
    for (int i = 0; i < 10; ++i) ring->add(1, 1);
  }
  reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 30);
  cut.add(2, 2);
  CHECK_EQ(truncate(cut.path().c_str(), 300), 0);
  backwards.header().head = 3;
  reshaped.header().capacity = 128;
  reshaped.header().head = 100;
  reader.sample();
  CHECK_EQ(reader.reported(kProbeRingTruncated, 1), 1);
  CHECK_EQ(reader.reported(kProbeNotARing), 0);
  for (int i = 0; i < 24; ++i) reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 30);
  CHECK_EQ(reader.reported(kProbeNotARing, 2), 1);
  CHECK_EQ(reader.reported(kProbeNotARing, 3), 1);
}

TEST("a head that was half written is read again until it is whole, and loses no record") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter ring(directory / "7.0.probe", 1024);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 300; ++i) ring.add(1, 1);
    reader.sample();
    // As a bytewise copy leaves it for an instant, or for longer when its process is not running.
    const uint64_t head = ring.header().head;
    ring.header().head = round == 0 ? 0 : round == 1 ? head & ~uint64_t{0xff} : 1;
    for (int i = 0; i < 20; ++i) reader.sample();
    ring.header().head = head;
  }
  reader.finish();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 900);
  CHECK_EQ(reader.reported(kProbeNotARing), 0);
  CHECK_EQ(reader.reported(kProbeRecordsLost), 0);
}

TEST("a ring whose head stays half written to the end is reported") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter ring(directory / "7.0.probe", 64);
  ring.add(1, 1);
  reader.sample();
  ring.header().head = 0;
  reader.finish();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 1);
  CHECK_EQ(reader.reported(kProbeNotARing), 1);
}

TEST("a ring that is still being made is waited for") {
  TempDirectory directory;
  Reader reader(directory.path());
  directory.write("5.0.probe", "");
  directory.write("6.0.probe", std::string(256, '\0'));
  RingWriter half(directory / "7.0.probe", 16);
  half.header().recordBytes = 0;
  half.add(1, 1);
  for (int i = 0; i < 10; ++i) reader.sample();
  CHECK_EQ(reader.reported(kProbeNotARing), 0);
  half.header().recordBytes = kProbeRecordBytes;
  reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 1);
  for (int i = 0; i < 60; ++i) reader.sample();
  CHECK_EQ(reader.reported(kProbeNotARing, 5), 1);
  CHECK_EQ(reader.reported(kProbeNotARing, 6), 1);
}

TEST("impossible records are counted and not passed on") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter ring(directory / "7.0.probe", 64);
  ring.add(1, 1).timeNs = 5;
  ring.add(2, 2).timeNs = monotonicNs() + 3600 * kSecond;
  ring.add(3, 3).deviceKind = 99;
  ring.add(4, 4).reason = 999;
  ProbeRecord nothing{};
  nothing.timeNs = monotonicNs();
  nothing.deviceKind = kProbeMps;
  ring.push(nothing);
  for (uint16_t i = 0; i < 40; ++i) {
    ProbeRecord record{};
    record.timeNs = monotonicNs();
    record.deviceKind = kProbeCuda;
    record.deviceIndex = i;
    record.valid = 1;
    ring.push(record);
  }
  reader.finish();
  CHECK_EQ(reader.reported(kProbeRecordImpossible), 2);
  CHECK_EQ(reader.reported(kProbeTooManyDevices), 8);
  const auto samples = reader.all(RecordKind::kAllocator);
  CHECK_EQ(samples.size(), 1 + 32);
  CHECK_EQ(samples[0]->valid >> 4, 0);
}

TEST("any bytes at all in a ring cost nothing but an error record") {
  TempDirectory directory;
  uint64_t state = 88172645463325252ULL;
  const auto random = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  Reader reader(directory.path());
  for (int round = 0; round < 300; ++round) {
    // Half of them pass as rings as far as the header's shape goes.
    std::string bytes(random() % 2000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (round % 2 == 0 && bytes.size() >= 48) {
      ProbeHeader header{};
      std::memcpy(header.magic, kProbeMagic, sizeof header.magic);
      header.headerBytes = kProbeHeaderBytes;
      header.recordBytes = kProbeRecordBytes;
      header.capacity = 1u << (random() % 20);
      header.head = random() >> (random() % 64);
      std::memcpy(bytes.data(), &header, 48);
    }
    directory.write(std::to_string(100 + round) + ".0.probe", bytes);
    if (round % 20 == 19) reader.sample();
  }
  for (int i = 0; i < 60; ++i) reader.sample();
  reader.finish();
  // More files than reported errors: which of the two names is reported for how many is open.
  CHECK(reader.reported(kProbeNotARing) + reader.reported(kProbeRingTruncated) > 0);
}

TEST("a header of any counters over a real ring never stops the reader") {
  TempDirectory directory;
  Reader reader(directory.path());
  RingWriter ring(directory / "7.0.probe", 1024);
  for (const uint64_t head : {uint64_t{UINT64_MAX}, uint64_t{UINT64_MAX} - 5, uint64_t{1} << 63, uint64_t{1} << 40}) {
    ring.header().head = head;
    const uint64_t before = monotonicNs();
    for (int i = 0; i < 5; ++i) reader.sample();
    CHECK(monotonicNs() - before < 2 * kSecond);
  }
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 0);
}

TEST("only regular files of the right name are opened") {
  TempDirectory directory;
  TempDirectory elsewhere;
  Reader reader(directory.path());
  RingWriter other(elsewhere / "9.0.probe", 16, 9);
  other.add(1, 1);
  CHECK_EQ(symlink(other.path().c_str(), (directory / "9.0.probe").c_str()), 0);
  CHECK_EQ(mkfifo((directory / "10.0.probe").c_str(), 0644), 0);
  CHECK_EQ(mkdir((directory / "11.0.probe").c_str(), 0755), 0);
  CHECK_EQ(mkfifo((directory / "step").c_str(), 0644), 0);
  for (const char* name : {"probe", ".probe", "1.probe", "1..probe", "a.0.probe", "1.0.probe.part", "01.0.probe", "0.0.probe", "1.00.probe",
                           "99999999999.0.probe", "1.0.info", "-1.0.probe", "1.0.PROBE"}) {
    directory.write(name, "no ring");
  }
  reader.sample();
  reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 0);
  CHECK_EQ(reader.reported(kProbeFileUnreadable, 9), 1);
  CHECK_EQ(reader.reported(kProbeFileUnreadable, 10), 1);
  CHECK_EQ(reader.reported(kProbeFileUnreadable, 11), 1);
  CHECK(reader.reported(kProbeStepUnreadable) > 0);
  CHECK_EQ(reader.reported(kProbeNotARing), 0);
}

TEST("more processes than fit are reported, and taken when there is room") {
  TempDirectory directory;
  std::vector<std::unique_ptr<RingWriter>> rings;
  for (int i = 0; i < 600; ++i) {
    // The writer is this process, which lives: idle rings are kept for it.
    rings.emplace_back(new RingWriter(directory / (std::to_string(getpid()) + "." + std::to_string(i) + ".probe"), 2));
    rings.back()->add(1, 1);
  }
  Reader reader(directory.path(), 0, 60 * kSecond);
  reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 512);
  CHECK(reader.reported(kProbeTooManyFiles) > 0);
  for (int i = 0; i < 40; ++i) reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 512);
  for (auto& ring : rings) ring->header().state = kProbeEnded;
  for (int i = 0; i < 3; ++i) reader.sample();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 600);
}

TEST("the ring of the launcher is not the job's") {
  TempDirectory directory;
  Reader reader(directory.path(), 77);
  RingWriter launcher(directory / "77.0.probe", 16, 77);
  launcher.add(1, 1);
  reader.finish();
  CHECK_EQ(reader.out.records.size(), 0);
}

TEST("a missing directory is a source that is not there") {
  Reader reader("/no/such/directory");
  CHECK(!reader.report.available);
  CHECK(!reader.report.reason.empty());
  reader.sample();
  reader.finish();
  CHECK_EQ(reader.out.records.size(), 0);
}
