// Programs of the measured tree that are not measured, by name: a load generator, not the server.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "process_table.h"
#include "procfs.h"

namespace stormlog {

// The program of a command line as /proc shows it (words that end in a NUL): the name of its file, or of the script or
// module which an interpreter runs; empty for an interpreter without one. Writes at most `size` characters, the last a
// NUL. The rule is that of `programName` in src/measure/session/program-names.ts.
void programOf(const char* words, size_t length, char* out, size_t size);

class IgnoredPrograms {
 public:
  // `names`: one a line.
  IgnoredPrograms(const ProcFs& proc, const std::string& names);

  // Whether a process is to be left out, now that its memory is `now`. A program is looked at again while the process
  // is young, and later now and then, because it may execute another one. Children are as their parent is.
  bool holds(const ProcessEntry& entry, const Statm& now, uint64_t timeNs) const;
  // The same of a process that may not be in the table yet (null).
  bool holds(const ProcessEntry* entry, int pid) const;

 private:
  // Whether the process runs such a program now. Allocates nothing.
  bool matches(int pid) const;

  const ProcFs& proc_;
  std::vector<std::string> names_;
};

}  // namespace stormlog
