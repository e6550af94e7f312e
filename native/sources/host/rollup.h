// The end-of-run breakdown of one process's memory.
#pragma once

#include <cstdint>

#include "../../record_format.h"
#include "procfs.h"

namespace stormlog {

// Pushes a kRollup record; nothing when the process is gone or may not be asked.
inline void pushRollup(const ProcFs& proc, int pid, uint64_t timeNs, RecordSink& out) {
  char text[4096];
  const ssize_t n = proc.read(pid, "smaps_rollup", text, sizeof text);
  Rollup rollup;
  if (n <= 0 || !parseRollup(text, static_cast<size_t>(n), rollup)) return;
  Record record;
  record.timeNs = timeNs;
  record.kind = RecordKind::kRollup;
  record.source = RecordSource::kStatus;
  record.id = pid;
  record.valid = rollup.valid;
  record.v[0] = rollup.pss;
  record.v[1] = rollup.rss;
  record.v[2] = rollup.anonymous;
  record.v[3] = rollup.shared;
  out.push(record);
}

}  // namespace stormlog
