// A probe's ring as a measured process writes it, for tests.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "../../probe_ring.h"
#include "../../support/clock.h"

namespace testing_support {

using stormlog::ProbeHeader;
using stormlog::ProbeRecord;

class RingWriter {
 public:
  explicit RingWriter(const std::string& path, uint32_t capacity = 64, int pid = 4242) : path_(path), capacity_(capacity) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0644);
    size_ = stormlog::kProbeHeaderBytes + size_t{capacity} * stormlog::kProbeRecordBytes;
    if (ftruncate(fd, static_cast<off_t>(size_)) != 0) std::perror("ftruncate");
    map_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
    ProbeHeader& h = header();
    h.headerBytes = stormlog::kProbeHeaderBytes;
    h.recordBytes = stormlog::kProbeRecordBytes;
    h.capacity = capacity;
    h.pid = pid;
    h.createdNs = stormlog::monotonicNs();
    h.rank = h.localRank = h.worldSize = -1;
    h.state = stormlog::kProbeAttached;
    std::memcpy(h.magic, stormlog::kProbeMagic, sizeof h.magic);
  }
  ~RingWriter() { munmap(map_, size_); }
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  ProbeHeader& header() { return *reinterpret_cast<ProbeHeader*>(map_); }
  ProbeRecord& slot(uint64_t index) {
    return reinterpret_cast<ProbeRecord*>(map_ + stormlog::kProbeHeaderBytes)[index & (capacity_ - 1)];
  }
  const std::string& path() const { return path_; }

  // A record of the host heap; the caller may change it in its slot afterwards.
  ProbeRecord& add(uint64_t allocated, uint64_t reserved, uint16_t reason = stormlog::kProbeTimer) {
    ProbeRecord record{};
    record.timeNs = stormlog::monotonicNs();
    record.deviceKind = stormlog::kProbeHostHeap;
    record.valid = 3;
    record.reason = reason;
    record.v[0] = allocated;
    record.v[1] = reserved;
    return push(record);
  }

  ProbeRecord& push(ProbeRecord record) {
    const uint64_t index = header().head;
    record.seq = record.seqEnd = index + 1;
    ProbeRecord& place = slot(index);
    // In this order and with the barriers a writer needs: a reader must never see a head without its record.
    __atomic_store_n(&place.seq, uint64_t{0}, __ATOMIC_RELEASE);
    std::memcpy(reinterpret_cast<char*>(&place) + 8, reinterpret_cast<char*>(&record) + 8, sizeof record - 8);
    __atomic_store_n(&place.seq, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&header().head, index + 1, __ATOMIC_RELEASE);
    return place;
  }

 private:
  const std::string path_;
  const uint32_t capacity_;
  size_t size_;
  char* map_;
};

}  // namespace testing_support
