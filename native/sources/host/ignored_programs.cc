#include "ignored_programs.h"

#include <cstdio>
#include <cstring>

#include "../../support/clock.h"

namespace stormlog {
namespace {

const char* const kInterpreters[] = {"pypy", "python", "node", "nodejs", "ruby", "perl", "php", "bash", "sh", "dash", "zsh", "java"};
const char* const kSuffixes[] = {".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".sh", ".jar"};
// Options of interpreters whose next word is not the script.
const char* const kTakeValue[] = {"-r", "--require", "--import", "--loader", "-W", "-X", "-I"};
// What follows is code, or its arguments.
const char* const kCode[] = {"-c", "-e", "--eval"};

template <size_t kCount>
bool isOneOf(const char* word, const char* const (&words)[kCount]) {
  for (const char* one : words) {
    if (strcmp(word, one) == 0) return true;
  }
  return false;
}

const char* baseName(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool isInterpreter(const char* name) {
  if (isOneOf(name, kInterpreters)) return true;
  for (const char* versioned : {"python", "pypy"}) {
    const size_t length = strlen(versioned);
    if (strncmp(name, versioned, length) == 0 && strspn(name + length, "0123456789.") == strlen(name + length)) return true;
  }
  return false;
}

bool isScript(const char* word) {
  const char* dot = strrchr(word, '.');
  return dot != nullptr && isOneOf(dot, kSuffixes);
}

}  // namespace

void programOf(const char* words, size_t length, char* out, size_t size) {
  const char* const end = words + length;
  const auto next = [end](const char* word) { return word + strnlen(word, static_cast<size_t>(end - word)) + 1; };
  const char* program = length == 0 ? "" : baseName(words);
  if (isInterpreter(program)) {
    program = "";
    const char* before = "";
    for (const char* word = next(words); word < end; before = word, word = next(word)) {
      if (isOneOf(word, kCode)) break;
      if (isOneOf(before, kTakeValue)) continue;
      if (strcmp(before, "-m") == 0 || isScript(word)) {
        program = word;
        break;
      }
      if (program[0] == '\0' && word[0] != '-') program = word;
    }
  }
  snprintf(out, size, "%s", baseName(program));
}

IgnoredPrograms::IgnoredPrograms(const ProcFs& proc, const std::string& names) : proc_(proc) {
  for (size_t at = 0; at < names.size();) {
    const size_t end = names.find('\n', at);
    names_.push_back(names.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
}

bool IgnoredPrograms::holds(const ProcessEntry& entry, const Statm& now, uint64_t timeNs) const {
  if (entry.ignored || names_.empty() || now == entry.pages) return entry.ignored;
  if (timeNs - entry.firstSeenNs >= kSecond && timeNs < entry.nextStatusNs) return false;
  return matches(entry.pid);
}

bool IgnoredPrograms::holds(const ProcessEntry* entry, int pid) const {
  return !names_.empty() && ((entry != nullptr && entry->ignored) || matches(pid));
}

bool IgnoredPrograms::matches(int pid) const {
  // A longer command line is cut, behind its first words.
  char words[4096];
  const ssize_t n = proc_.read(pid, "cmdline", words, sizeof words - 1);
  if (n <= 0) return false;
  words[n] = '\0';
  // The configuration has names of at most 60 characters, as they are printed.
  char program[61];
  programOf(words, static_cast<size_t>(n), program, sizeof program);
  for (const std::string& name : names_) {
    if (name == program) return true;
  }
  return false;
}

}  // namespace stormlog
