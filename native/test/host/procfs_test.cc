#include "../../sources/host/ignored_programs.h"
#include "../../sources/host/procfs.h"

#include <cstdint>
#include <random>

#include "../harness.h"
#include "../support.h"

using namespace stormlog;
using testing_support::TempDirectory;

namespace {

bool statm(const std::string& text, Statm& out) { return parseStatm(text.data(), text.size(), out); }

}  // namespace

TEST("statm's first three numbers are read, with and without the rest of the line") {
  Statm s;
  CHECK(statm("2210 1437 873 5 0 120 0\n", s));
  CHECK_EQ(s.sizePages, 2210);
  CHECK_EQ(s.residentPages, 1437);
  CHECK_EQ(s.sharedPages, 873);
  CHECK(statm("1 2 3", s));
  CHECK(statm("0 0 0 0 0 0 0\n", s));
  CHECK_EQ(s.sizePages, 0);
}

TEST("a statm that is not one is refused") {
  Statm s;
  for (const char* text : {"", " ", "1", "1 2", "1 2 ", "a b c", "-1 2 3", "99999999999999999999999 2 3", "1\n2\n3"}) CHECK(!statm(text, s));
}

TEST("status fields are found by name and an absent one stays unknown") {
  const std::string text = "Name:\tVmHWM: 7 kB\nVmPeak:\t  900 kB\nVmHWM:\t  618480 kB\nRssAnon:\t 10 kB\nRssFile:\t 20 kB\nThreads:\t1\n";
  Status s;
  CHECK(parseStatus(text.data(), text.size(), s));
  CHECK_EQ(s.highWater, 618480ull * 1024);
  CHECK_EQ(s.anon, 10240);
  CHECK_EQ(s.file, 20480);
  CHECK_EQ(s.threads, 1);
  CHECK_EQ(s.valid, kStatusHighWater | kStatusAnon | kStatusFile | kStatusThreads);
}

TEST("a status without memory, as of a zombie, is refused although it has threads") {
  const std::string text = "Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n";
  Status s;
  CHECK(!parseStatus(text.data(), text.size(), s));
}

TEST("descriptors are counted by the kernel or one by one, and those of no process are unknown") {
  const ProcFs real("/proc");
  // The same entries without the kernel's own count.
  const ProcFs copy("/proc/../proc");
  uint64_t before = 0;
  uint64_t now = 0;
  bool counted = false;
  CHECK(real.descriptors(getpid(), before, counted));
  int opened[20];
  for (int& fd : opened) fd = dup(0);
  CHECK(real.descriptors(getpid(), now, counted));
  CHECK_EQ(now, before + 20);
  CHECK(copy.descriptors(getpid(), now, counted) && counted);
  // The directory that is read is open as well.
  CHECK_EQ(now, before + 21);
  for (const int fd : opened) close(fd);
  CHECK(!real.descriptors(INT32_MAX, now, counted));
}

TEST("stat is read behind a name full of parentheses, spaces and line breaks") {
  const std::string text = "7 (a) R 1 (b\n) S 4242 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 100 1844\n";
  Stat s;
  CHECK(parseStat(text.data(), text.size(), s));
  CHECK_EQ(s.parent, 4242);
  CHECK_EQ(s.startTicks, 987654);
  CHECK(s.state == 'S');
}

TEST("a rollup gives proportional parts, swap and huge pages, as Linux 6.1 writes them") {
  const std::string text =
      "00400000-7ffd5000 ---p 00000000 00:00 0                          [rollup]\nRss:              812344 kB\n"
      "Pss:              409120 kB\nPss_Dirty:        401000 kB\nPss_Anon:         301000 kB\nPss_File:           8120 kB\n"
      "Pss_Shmem:        100000 kB\nShared_Clean:       8000 kB\nShared_Dirty:     800000 kB\nAnonymous:        604344 kB\n"
      "AnonHugePages:    401408 kB\nShared_Hugetlb:     4096 kB\nPrivate_Hugetlb:    2048 kB\nSwap:              90000 kB\n"
      "SwapPss:           45000 kB\nLocked:                0 kB\n";
  Rollup r;
  CHECK(parseRollup(text.data(), text.size(), r));
  CHECK_EQ(r.anon, 301000u * 1024);
  CHECK_EQ(r.shmem, 100000u * 1024);
  CHECK_EQ(r.swap, 45000u * 1024);
  CHECK_EQ(r.huge, 6144u * 1024);
}

TEST("a rollup of a kernel before 5.3, without parts by kind, is not one") {
  const std::string text = "5581-7ffd ---p 00000000 00:00 0 [rollup]\nRss: 100 kB\nPss: 60 kB\nAnonymous: 50 kB\nSwapPss: 9 kB\n";
  Rollup r;
  CHECK(!parseRollup(text.data(), text.size(), r));
}

TEST("a key is matched whole, not as the start of a longer one") {
  const std::string text = "anon_thp 5\nanon 7\nfile 9\n";
  uint64_t value = 0;
  CHECK(findKeyValue(text.data(), text.size(), "anon", value));
  CHECK_EQ(value, 7);
  CHECK(!findKeyValue(text.data(), text.size(), "ano", value));
}

TEST("no parser trips over random bytes") {
  std::mt19937 random(7);
  const std::string alphabet = "0123456789 \n\t:()kBVmHWMRssAnon\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 80, '\0');
    for (char& c : text) c = round % 2 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    // Exactly as long as it is: a read past the end is what the address sanitizer would see.
    std::vector<char> exact(text.begin(), text.end());
    Statm a;
    Status b;
    Stat c;
    Rollup d;
    uint64_t e = 0;
    parseStatm(exact.data(), exact.size(), a);
    parseStatus(exact.data(), exact.size(), b);
    parseStat(exact.data(), exact.size(), c);
    parseRollup(exact.data(), exact.size(), d);
    findKeyValue(exact.data(), exact.size(), "anon", e);
  }
  CHECK(true);
}

TEST("the marker is matched as a whole entry wherever it lies in a long environment") {
  TempDirectory proc;
  const std::string marker = "STORMLOG_GATE_RUN=abc";
  const std::string nul(1, '\0');
  char buffer[256];
  const auto contains = [&](const std::string& environment) {
    proc.write("5/environ", environment);
    return ProcFs(proc.path()).environContains(5, marker.c_str(), marker.size(), buffer, sizeof buffer);
  };
  CHECK(contains(marker + nul));
  CHECK(contains("A=1" + nul + marker + nul + "B=2" + nul));
  CHECK(contains("A=1" + nul + marker));
  CHECK(!contains(marker + "d" + nul));
  CHECK(!contains("X" + marker + nul));
  CHECK(!contains("A=" + marker + nul));
  CHECK(!contains(""));
  // Every position across the borders of the read buffer.
  for (size_t padding = 180; padding < 300; ++padding) CHECK(contains(std::string(padding, 'p') + nul + marker + nul + "tail=1" + nul));
}

TEST("a command line names its program, or the script that an interpreter runs, as the recording does") {
  const auto program = [](std::string words) {
    for (char& c : words) c = c == ' ' ? '\0' : c;
    char name[64];
    programOf(words.data(), words.size(), name, sizeof name);
    return std::string(name);
  };
  CHECK(program("/usr/bin/wrk -t2 http://127.0.0.1") == "wrk");
  CHECK(program("python3 -X dev src/main.py data.py") == "main.py");
  CHECK(program("/usr/bin/python3.11 /usr/local/bin/gunicorn app:app") == "gunicorn");
  CHECK(program("python3 -m celery worker") == "celery");
  CHECK(program("python3 -c import.py") == "");
  CHECK(program("node --require ./hook.cjs server.mjs") == "server.mjs");
  CHECK(program("java -Xmx1g -jar lib/service.jar") == "service.jar");
  CHECK(program("python3") == "");
  CHECK(program("") == "");
  CHECK(program(std::string(200, 'x')) == std::string(63, 'x'));
}

TEST("only all-digit names of a directory are pids, however many there are") {
  TempDirectory directory;
  for (int i = 1; i <= 500; ++i) directory.write(std::to_string(i * 7), "");
  for (const char* other : {"self", "12x", "x12", "99999999999999999999"}) directory.write(other, "");
  ProcFs proc(directory.path());
  PidDirectory pids(proc.openTop("."));
  long sum = 0;
  int count = 0;
  for (int pid = pids.next(); pid != 0; pid = pids.next()) {
    sum += pid;
    ++count;
  }
  CHECK_EQ(count, 500);
  CHECK_EQ(sum, 7L * 500 * 501 / 2);
}
