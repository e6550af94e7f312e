// The preloadable library that samples stacks of allocations: its parts, and in real programs.
#include <dlfcn.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "../preload/call_stack.h"
#include "../preload/sample_table.h"
#include "../preload/sampling.h"
#include "harness.h"
#include "support.h"

using namespace stormlog_heap;
using testing_support::built;
using testing_support::TempDirectory;

namespace {

bool canWalk() { return dlsym(RTLD_DEFAULT, "_dl_find_object") != nullptr; }

// Exit status of the program, which writes to `document` in the directory where it writes at all.
int statusOf(const TempDirectory& directory, const std::string& what, const std::string& variable, const std::string& before = "") {
  const std::string line = before + "timeout -s KILL 60 env LD_PRELOAD=" + built("libstormlog_stacks.so") + " " + variable +
                           " STORMLOG_GATE_PROBE_DIR=" + directory.path() + " " + built("stacks_host") + " " + what + " " + (directory / "document");
  return system(line.c_str());
}

// Text of the documents that the library itself wrote.
std::vector<std::string> ownDocuments(const TempDirectory& directory) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

// What the program wrote at its end; empty when it failed or samples nothing.
std::string documentOf(const TempDirectory& directory, const std::string& what, const std::string& variable = "STORMLOG_GATE_STACKS=1") {
  const std::string path = directory / "document";
  if (statusOf(directory, what, variable) != 0) return "";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

double numberAfter(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + key.size(), nullptr);
}

}  // namespace

TEST("the logarithm and the chance of a sample agree with the library of mathematics") {
  for (double x = 1e-9; x <= 1; x *= 1.37) CHECK(std::fabs(logarithm(x) - std::log(x)) < 1e-4);
  for (double x = 1e-6; x < 64; x *= 1.37) CHECK(std::fabs(chanceOf(x) / -std::expm1(-x) - 1) < 1e-5);
}

TEST("gaps between samples have the mean that is asked for") {
  uint64_t random = 0x9e3779b97f4a7c15ULL;
  double sum = 0;
  for (int i = 0; i < 100000; ++i) sum += static_cast<double>(nextGap(random, kMinInterval));
  CHECK(std::fabs(sum / 100000 / kMinInterval - 1) < 0.02);
}

TEST("a table of samples holds what is inserted until it is removed, and refuses what does not fit") {
  auto table = std::make_unique<SampleTable>();
  memset(static_cast<void*>(table.get()), 0, sizeof *table);
  Stack stack;
  memset(static_cast<void*>(&stack), 0, sizeof stack);
  stack.natives = 1;
  stack.native[0] = 0x1000;
  const uint32_t first = table->stack(stack);
  CHECK_EQ(table->stack(stack), first);
  stack.native[0] = 0x2000;
  CHECK(table->stack(stack) != first);
  for (uintptr_t address = 1; address <= 20000; ++address) CHECK(table->insert(address * 64, {first, 10, 10, 0}));
  uint64_t bytes = 0;
  const auto add = [&bytes](uint32_t, uint32_t, uint64_t own, Tag) { bytes += own; };
  table->each(add);
  CHECK_EQ(bytes, 200000);
  for (uintptr_t address = 1; address <= 20000; address += 2) CHECK(table->remove(address * 64));
  CHECK(!table->remove(64));
  bytes = 0;
  table->each(add);
  CHECK_EQ(bytes, 100000);
  // The same address again: the older sample was freed unseen.
  CHECK(table->insert(128, {first, 7, 7, 0}));
  bytes = 0;
  table->each(add);
  CHECK_EQ(bytes, 99997);
  for (uintptr_t address = 30000; address <= 200000; ++address) table->insert(address * 64, {first, 10, 10, 0});
  CHECK(table->dropped() > 0);
}

TEST("a sample has the phase of its allocation and its most certain category, until its address is another's") {
  auto table = std::make_unique<SampleTable>();
  memset(static_cast<void*>(table.get()), 0, sizeof *table);
  Stack stack;
  memset(static_cast<void*>(&stack), 0, sizeof stack);
  const uint32_t index = table->stack(stack);
  const auto tagOf = [&table] {
    Tag found{};
    table->each([&found](uint32_t, uint32_t, uint64_t, Tag tag) { found = tag; });
    return found;
  };
  CHECK(table->insert(640, {index, 10, 10, 2}));
  CHECK(table->indexOf(704) == SampleTable::kNone);
  table->categorize(table->indexOf(640), 6);
  table->categorize(table->indexOf(640), 1);
  table->categorize(table->indexOf(640), 5);
  CHECK_EQ(tagOf().category, 1);
  CHECK_EQ(tagOf().phase, 2);
  CHECK(!tagOf().kept);
  table->beginCall();
  CHECK(tagOf().kept);
  const uint32_t born = table->bornOf(table->indexOf(640));
  Sample removed{};
  CHECK(table->remove(640, &removed));
  CHECK(removed.stack == index && removed.bytes == 10 && removed.phase == 2);
  CHECK(table->insert(640, {index, 10, 10, 0}));
  CHECK_EQ(tagOf().category, 0);
  CHECK_EQ(tagOf().phase, 0);
  CHECK(!tagOf().kept);
  CHECK(table->bornOf(table->indexOf(640)) != born);
}

TEST("a table of unwinding rules that is cut or not understood gives no rule") {
  unsigned char header[64] = {1, 0x1b, 0x03, 0x3b};
  FoundObject object{};
  object.mapStart = header;
  object.mapEnd = header + sizeof header;
  object.ehFrame = header;
  CHECK(!CallFrames::find(reinterpret_cast<uintptr_t>(header), object).usable());
  for (unsigned value = 0; value < 256; ++value) {
    for (size_t at = 0; at < sizeof header; ++at) header[at] = static_cast<unsigned char>(at < 4 ? header[at] : value + at * (value | 1));
    header[8] = 3;
    header[9] = header[10] = header[11] = 0;
    // Ends, within its bounds: the sanitizer sees a read beyond them.
    (void)CallFrames::find(reinterpret_cast<uintptr_t>(header) + value, object);
  }
}

TEST("kept memory is estimated with its stack, and freed memory is not listed (needs glibc 2.35)") {
  if (!canWalk()) return;
  TempDirectory directory;
  const std::string text = documentOf(directory, "keep");
  const double total = numberAfter(text, "\"total_bytes\":");
  // 2 MB in samples of 64 KiB: five standard deviations.
  CHECK(total > 0.2e6 && total < 3.8e6);
  CHECK(text.find("\"step\":7,") != std::string::npos);
  CHECK(text.find("stacks_host\"]") != std::string::npos);
  const size_t stack = text.find("\"native\":[");
  CHECK(stack != std::string::npos);
  // The library, keeps, main, the C library's start.
  const std::string frames = text.substr(stack, text.find(']', stack) - stack);
  CHECK(std::count(frames.begin(), frames.end(), ',') >= 3);
}

TEST("a block that is made larger counts by what it gains, and keeps its sample (needs glibc 2.35)") {
  if (!canWalk()) return;
  TempDirectory directory;
  const std::string text = documentOf(directory, "append");
  CHECK_EQ(numberAfter(text, "\"interval_bytes\":"), 65536);
  // 8 MB by 4 kB each, in samples of 64 KiB: four standard deviations.
  CHECK(std::fabs(numberAfter(text, "\"total_bytes\":") - 8e6) < 2.9e6);
  TempDirectory other;
  // All of 64 MiB were sampled, of which a quarter is left.
  CHECK(std::fabs(numberAfter(documentOf(other, "cut"), "\"total_bytes\":") - 16 * 1048576.0) < 8192);
}

TEST("what a large block has not touched is left out, but not at a peak (needs glibc 2.35)") {
  if (!canWalk()) return;
  for (const auto& [variable, mebibytes] : {std::pair{"STORMLOG_GATE_STACKS=1", 16}, std::pair{"STORMLOG_GATE_STACKS=peak", 64}}) {
    TempDirectory directory;
    CHECK(std::fabs(numberAfter(documentOf(directory, "touch", variable), "\"total_bytes\":") / 1048576 - mebibytes) < 0.1);
  }
}

TEST("what was live at the peak is written with its stacks, though it was freed since (needs glibc 2.35)") {
  if (!canWalk()) return;
  TempDirectory directory;
  const std::string text = documentOf(directory, "rise", "STORMLOG_GATE_STACKS=peak");
  // Blocks far above the interval are all sampled, with their own size.
  CHECK(std::fabs(numberAfter(text, "\"total_bytes\":") - 64e6) < 0.3e6);
  CHECK(text.find("{\"bytes\":48000000,\"count\":48,") != std::string::npos);
  CHECK(text.find("{\"bytes\":16000000,\"count\":1,") != std::string::npos);
  CHECK(text.find("\"step\":null,") != std::string::npos);
}

TEST("a program leaves its peak when it ends, and a child its own alone (needs glibc 2.35)") {
  if (!canWalk()) return;
  TempDirectory directory;
  documentOf(directory, "rise-twice", "STORMLOG_GATE_STACKS=peak");
  std::vector<double> totals;
  for (const std::string& text : ownDocuments(directory)) totals.push_back(numberAfter(text, "\"total_bytes\":"));
  std::sort(totals.begin(), totals.end());
  CHECK_EQ(totals.size(), 2);
  if (totals.size() == 2) CHECK(std::fabs(totals[0] - 20e6) < 0.3e6 && std::fabs(totals[1] - 64e6) < 0.3e6);
}

TEST("a program whose main thread ends first leaves its peak with stacks and modules (needs glibc 2.35)") {
  if (!canWalk()) return;
  TempDirectory directory;
  CHECK_EQ(statusOf(directory, "leave", "STORMLOG_GATE_STACKS=peak STORMLOG_GATE_ATTRIBUTE_AT=steps:1000"), 0);
  const auto texts = ownDocuments(directory);
  CHECK_EQ(texts.size(), 1);
  if (texts.size() != 1) return;
  CHECK(texts[0].find("{\"bytes\":48000000,\"count\":48,") != std::string::npos);
  CHECK(texts[0].find("\"native\":[]") == std::string::npos);
  CHECK(texts[0].find("stacks_host\"]") != std::string::npos);
}

TEST("a limit on file sizes does not end a program that leaves its peak (needs glibc 2.35)") {
  if (!canWalk()) return;
  TempDirectory directory;
  CHECK_EQ(statusOf(directory, "rise-twice", "STORMLOG_GATE_STACKS=peak", "ulimit -f 0; "), 0);
  CHECK_EQ(ownDocuments(directory).size(), 0);
}

TEST("a program that may only read, write and end is sampled (needs glibc 2.35)") {
  if (!canWalk()) return;
  TempDirectory directory;
  CHECK_EQ(statusOf(directory, "seal", "STORMLOG_GATE_STACKS=1"), 0);
}

TEST("threads that allocate and fork at once run under it as ever (needs glibc 2.35)") {
  if (!canWalk()) return;
  TempDirectory directory;
  CHECK(documentOf(directory, "threads").find("\"dropped\":0,") != std::string::npos);
}

TEST("without its variable the stacks library samples nothing") {
  TempDirectory directory;
  CHECK(documentOf(directory, "keep", "STORMLOG_GATE_STACKS=0").empty());
}
