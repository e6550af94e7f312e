#include "downsampler.h"

#include <cstring>
#include <new>

#include "../probe_ring.h"

namespace stormlog {
namespace {

// Why an allocator record was taken.
unsigned reasonOf(const Record& record) { return record.valid >> 4; }

// Readings of a series, of which the extremes are enough, unlike events.
bool isReading(const Record& record) {
  switch (record.kind) {
    case RecordKind::kTree:
    case RecordKind::kProcess:
    case RecordKind::kCgroup:
    case RecordKind::kDevice:
    case RecordKind::kAllocatorPeaks:
    case RecordKind::kStep:
    case RecordKind::kCounts:
      return true;
    case RecordKind::kAllocator:
      return reasonOf(record) == kProbeTimer || reasonOf(record) == kProbeStep;
    default:
      return false;
  }
}

bool isOutOfMemory(const Record& record) { return record.kind == RecordKind::kAllocator && reasonOf(record) == kProbeOom; }

uint64_t widthAt(uint64_t timeNs) {
  const uint64_t share = timeNs / Downsampler::kWindowShare;
  return share < Downsampler::kMaxWindowNs ? share + 1 : Downsampler::kMaxWindowNs;
}

// The values that a series is compared by. The fourth of an allocator's reading is its step, which has no extremes. A
// tree's fourth is the number of processes: there it is the job's memory, anonymous and shared, as host is judged.
void valuesOf(const Record& record, uint64_t out[4], uint8_t& known) {
  memcpy(out, record.v, sizeof record.v);
  known = record.valid & (record.kind == RecordKind::kAllocator ? 7u : 15u);
  if (record.kind != RecordKind::kTree) return;
  out[3] = record.v[1] + record.v[2];
  known = static_cast<uint8_t>((known & 7u) | ((known & 6u) == 6u ? 8u : 0u));
}

// Whether the memory is the same. Steps go on while it stands still, and an allocator's reading has its step in the
// fourth value and why it was taken in the upper half of `valid`. A tree's fourth value has the number of processes in
// its lower half and how late the tick was in the upper one.
bool same(const Record& a, const Record& b) {
  if (a.kind == RecordKind::kStep) return true;
  const unsigned known = a.kind == RecordKind::kAllocator ? 7u : 255u;
  if ((a.valid & known) != (b.valid & known) || memcmp(a.v, b.v, 3 * sizeof a.v[0]) != 0) return false;
  if (a.kind == RecordKind::kTree) return static_cast<uint32_t>(a.v[3]) == static_cast<uint32_t>(b.v[3]);
  return a.kind == RecordKind::kAllocator || a.v[3] == b.v[3];
}

bool sameSeries(const Record& a, const Record& b) { return a.kind == b.kind && a.source == b.source && a.id == b.id; }

size_t hashOf(const Record& record) {
  const uint32_t key = static_cast<uint32_t>(record.id) ^ static_cast<uint32_t>(record.kind) << 24 ^ static_cast<uint32_t>(record.source) << 16;
  return key * 2654435761u >> 8;
}

}  // namespace

Downsampler::Downsampler(RecordSink& out, uint64_t denseNs, std::string recent)
    : out_(out), denseNs_(denseNs), recentFile_(std::move(recent)), storage_(new unsigned char[kCapacity * sizeof(Series)]), slots_(new int16_t[kSlots]) {
  for (size_t i = 0; i < kSlots; ++i) slots_[i] = -1;
}

void Downsampler::push(const Record& record) {
  if (windowEndNs_ == 0) {
    out_.push(record);
    return;
  }
  if (held_.full()) take(held_.pop());
  held_.push(record);
  if (record.kind == RecordKind::kStop || isOutOfMemory(record)) writeHeld();
}

void Downsampler::advance(uint64_t timeNs) {
  if (timeNs < denseNs_) return;
  if (windowEndNs_ == 0) {
    windowEndNs_ = timeNs + widthAt(timeNs);
    held_.open(recentFile_.c_str());
  }
  while (windowEndNs_ + kLookbackNs <= timeNs) {
    while (!held_.empty() && held_.front().timeNs < windowEndNs_) take(held_.pop());
    endWindow(false);
    windowEndNs_ += widthAt(windowEndNs_);
  }
}

void Downsampler::writeHeld() {
  endWindow(true);
  while (!held_.empty()) out_.push(held_.pop());
}

void Downsampler::take(const Record& record) {
  if (isReading(record)) {
    Series* series = seriesOf(record);
    if (series != nullptr) {
      add(*series, record);
      return;
    }
  }
  // An event comes after the readings before it.
  switch (record.kind) {
    case RecordKind::kProcessStart:
      writeOf(RecordKind::kProcess, record.id, false);
      break;
    case RecordKind::kProcessExit:
      writeOf(RecordKind::kProcess, record.id, true);
      break;
    case RecordKind::kAllocator:
    case RecordKind::kStream:
      writeOf(RecordKind::kAllocator, record.id, false);
      writeOf(RecordKind::kAllocatorPeaks, record.id, false);
      break;
    default:
      break;
  }
  out_.push(record);
}

bool Downsampler::isDue(const Series& series) const {
  return windowEndNs_ > series.before.timeNs + kStillWindows * widthAt(windowEndNs_);
}

void Downsampler::endWindow(bool all) {
  for (size_t i = 0; i < kSlots; ++i) slots_[i] = -1;
  size_t left = 0;
  for (size_t i = 0; i < size_; ++i) {
    Series& series = seriesAt(i);
    // A series that has no readings any more is removed.
    if (series.readings == 0 && isDue(series)) continue;
    if (all || series.changed || isDue(series)) write(series);
    if (left != i) seriesAt(left) = seriesAt(i);
    place(left++);
  }
  size_ = left;
}

Downsampler::Series* Downsampler::seriesOf(const Record& record) {
  for (size_t slot = hashOf(record) & (kSlots - 1);; slot = (slot + 1) & (kSlots - 1)) {
    const int16_t index = slots_[slot];
    if (index < 0) break;
    if (sameSeries(seriesAt(index).before, record)) return &seriesAt(index);
  }
  if (size_ == kCapacity) return nullptr;
  Series& series = *new (&seriesAt(size_)) Series{};
  series.before = record;
  place(size_++);
  return &series;
}

void Downsampler::place(size_t index) {
  size_t slot = hashOf(seriesAt(index).before) & (kSlots - 1);
  while (slots_[slot] >= 0) slot = (slot + 1) & (kSlots - 1);
  slots_[slot] = static_cast<int16_t>(index);
}

void Downsampler::add(Series& series, const Record& record) {
  uint64_t values[kValues];
  uint8_t known = 0;
  valuesOf(record, values, known);
  const bool changes = !same(series.before, record);
  // The last reading before a change is kept too.
  if (changes && !series.changed) write(series);
  const Extremum reading{record, series.readings};
  if (series.readings == 0) {
    series.first = reading;
    series.known = 0;
    series.changed = !series.written;
  }
  series.changed = series.changed || changes;
  for (size_t i = 0; i < kValues; ++i) {
    const uint8_t bit = static_cast<uint8_t>(1u << i);
    if ((known & bit) == 0) continue;
    const bool begins = (series.known & bit) == 0;
    series.known = static_cast<uint8_t>(series.known | bit);
    if (begins || values[i] < series.low[i]) {
      series.low[i] = values[i];
      series.lowest[i] = reading;
    }
    if (begins || values[i] > series.high[i]) {
      series.high[i] = values[i];
      series.highest[i] = reading;
    }
  }
  series.last = reading;
  ++series.readings;
}

void Downsampler::write(Series& series) {
  if (series.readings == 0) return;
  const Extremum* chosen[2 + 2 * kValues];
  size_t count = 0;
  const auto choose = [&](const Extremum& reading) {
    size_t at = count;
    for (; at > 0 && chosen[at - 1]->turn >= reading.turn; --at) {
      if (chosen[at - 1]->turn == reading.turn) return;
    }
    for (size_t i = count; i > at; --i) chosen[i] = chosen[i - 1];
    chosen[at] = &reading;
    ++count;
  };
  if (series.changed) {
    if (!series.written) choose(series.first);
    for (size_t i = 0; i < kValues; ++i) {
      if ((series.known & (1u << i)) == 0) continue;
      choose(series.lowest[i]);
      choose(series.highest[i]);
    }
  }
  choose(series.last);
  uint32_t written = 0;
  for (size_t i = 0; i < count; ++i) {
    Record record = chosen[i]->record;
    const uint32_t ticks = chosen[i]->turn + 1 - written;
    written += ticks;
    if (record.kind == RecordKind::kTree && ticks > 1) record.id = static_cast<int32_t>(ticks);
    out_.push(record);
  }
  series.before = series.last.record;
  series.written = true;
  series.readings = 0;
}

void Downsampler::writeOf(RecordKind kind, int32_t id, bool ended) {
  for (size_t i = 0; i < size_; ++i) {
    Series& series = seriesAt(i);
    if (series.before.kind != kind || series.before.id != id) continue;
    write(series);
    // Due, so that the end of the window removes it.
    if (ended) series.before.timeNs = 0;
  }
}

}  // namespace stormlog
