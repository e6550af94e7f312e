// Bounds the record file of a long run. The first minutes are written reading by reading. After them each series (kind,
// source and id of a record) is written once a window: its last reading and the ones with its smallest and largest
// values, so that no extreme is lost; of a new series also the first. Several windows of a series whose memory did not
// change are one record. The `id` of a tree record is the number of ticks that it stands for.
//
// The last seconds are held back, so that they can be written reading by reading when memory runs out or the run ends.
// Held records are also in a second file, from which they are read when the gate was killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "recent_records.h"
#include "../record_format.h"
#include "../support/clock.h"

namespace stormlog {

// For how long every reading is written. Changing it changes the data that long runs are judged by.
constexpr uint64_t kDenseNs = 300 * kSecond;

class Downsampler final : public RecordSink {
 public:
  // A window is this share of the time since the start: so short that a bin of the analysis has several. The extremes
  // of one or two windows would hide a leak below teeth that last about as long (`bench/long`).
  static constexpr uint64_t kWindowShare = 4000;
  // ... and no longer than this.
  static constexpr uint64_t kMaxWindowNs = 10 * kSecond;
  // So many windows without a change are one record.
  static constexpr uint64_t kStillWindows = 4;
  // How long readings are held back before they are downsampled: the time before an error that `oom/` shows.
  static constexpr uint64_t kLookbackNs = 10 * kSecond;
  // Series beyond this number are written reading by reading.
  static constexpr size_t kCapacity = 512;

  // Writes to `out`, which outlives it. `recent` is the path of the file of held records, which is created once the run
  // is long.
  Downsampler(RecordSink& out, uint64_t denseNs, std::string recent);

  // Takes a record. A reading at an out-of-memory error, and the last record of a run, are written at once, after all
  // held records.
  void push(const Record& record) override;

  // Downsamples the windows that ended more than `kLookbackNs` before `timeNs` (nanoseconds since the start of the
  // run).
  void advance(uint64_t timeNs);

  // Writes the held records to their file.
  void flush() { held_.flush(); }

  // Removes that file, once everything is in the record file.
  void close() { held_.remove(recentFile_.c_str()); }

 private:
  static constexpr size_t kValues = 4;
  // Four times as many as series, so that probes stay short.
  static constexpr size_t kSlots = 4 * kCapacity;

  // A reading of a window that may be written: the first, the last, or one with an extreme value.
  struct Extremum {
    Record record;
    // Its index among the readings of its window.
    uint32_t turn = 0;
  };

  struct Series {
    // Identifies the series. With `written` it is also the last reading that was written.
    Record before;
    bool written = false;
    Extremum first;
    Extremum last;
    Extremum lowest[kValues];
    Extremum highest[kValues];
    uint64_t low[kValues] = {};
    uint64_t high[kValues] = {};
    // A bit for each value that was known in the window.
    uint8_t known = 0;
    bool changed = false;
    uint32_t readings = 0;
  };

  // Puts a record into the open window, or writes it where it is an event.
  void take(const Record& record);
  // Ends the open window. Series that did not change wait, unless `all` are to be written.
  void endWindow(bool all);
  // Writes all that is held, reading by reading.
  void writeHeld();
  Series& seriesAt(size_t index) { return reinterpret_cast<Series*>(storage_.get())[index]; }
  Series* seriesOf(const Record& record);
  void add(Series& series, const Record& record);
  // Whether `before` is older than the windows that may be one record.
  bool isDue(const Series& series) const;
  void write(Series& series);
  void writeOf(RecordKind kind, int32_t id, bool ended);
  void place(size_t index);

  RecordSink& out_;
  const uint64_t denseNs_;
  const std::string recentFile_;
  RecentRecords held_;
  // 0 while every reading is written.
  uint64_t windowEndNs_ = 0;
  // Not initialised, so that a short run does not touch its pages.
  std::unique_ptr<unsigned char[]> storage_;
  std::unique_ptr<int16_t[]> slots_;
  size_t size_ = 0;
};

}  // namespace stormlog
