// What several tests need: a sink that keeps records, a temporary directory, real child processes.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../record_format.h"
#include "../support/clock.h"

extern char** environ;

namespace testing_support {

using stormlog::Record;
using stormlog::RecordKind;

struct Capture final : stormlog::RecordSink {
  void push(const Record& record) override { records.push_back(record); }
  const Record* last(RecordKind kind, int id = -2) const {
    for (size_t i = records.size(); i-- > 0;) {
      if (records[i].kind == kind && (id == -2 || records[i].id == id)) return &records[i];
    }
    return nullptr;
  }
  size_t count(RecordKind kind) const {
    size_t n = 0;
    for (const Record& record : records) n += record.kind == kind ? 1 : 0;
    return n;
  }
  std::vector<Record> records;
};

inline void sleepMs(uint64_t ms) { stormlog::sleepUntilNs(stormlog::monotonicNs() + ms * stormlog::kMillisecond); }

class TempDirectory {
 public:
  TempDirectory() {
    char pattern[] = "/tmp/stormlog-native-XXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~TempDirectory() {
    const std::string command = "rm -rf '" + path_ + "'";
    if (std::system(command.c_str()) != 0) std::perror("rm");
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    for (size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) mkdir((path_ + "/" + name.substr(0, at)).c_str(), 0755);
    FILE* file = std::fopen((path_ + "/" + name).c_str(), "w");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }

 private:
  std::string path_;
};

// The directory with what run.sh built beside the tests: `child`, `launcher`, the fake libraries.
inline std::string built(const std::string& name) { return std::string(std::getenv("NATIVE_TEST_BUILT")) + "/" + name; }

// A running `child` program (see child.c), killed with its process group at the end.
class Child {
 public:
  explicit Child(std::vector<std::string> arguments, const std::string& program = built("child"), const char* variable = nullptr) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::vector<char*> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
    if (variable != nullptr) environment.push_back(const_cast<char*>(variable));
    environment.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    if (posix_spawn(&pid_, program.c_str(), nullptr, &attributes, argv.data(), environment.data()) != 0) pid_ = -1;
    posix_spawnattr_destroy(&attributes);
  }
  ~Child() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  void end() const { kill(-pid_, SIGKILL); }
  void reap() {
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

struct RecordFile {
  stormlog::FileHeader header{};
  std::vector<Record> records;
  size_t tail = 0;
};

inline RecordFile readRecords(const std::string& path) {
  RecordFile result;
  FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return result;
  if (std::fread(&result.header, sizeof result.header, 1, file) == 1) {
    Record record;
    size_t n;
    while ((n = std::fread(static_cast<void*>(&record), 1, sizeof record, file)) == sizeof record) result.records.push_back(record);
    result.tail = n;
  }
  std::fclose(file);
  return result;
}

}  // namespace testing_support
