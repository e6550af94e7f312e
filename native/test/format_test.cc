#include "../record_format.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cerrno>

#include "../error_log.h"
#include "../records/record_writer.h"
#include "harness.h"
#include "support.h"

using namespace stormlog;
using testing_support::Capture;
using testing_support::readRecords;
using testing_support::TempDirectory;

namespace {

std::string hex(const void* data, size_t size) {
  std::string text;
  char two[3];
  for (size_t i = 0; i < size; ++i) {
    std::snprintf(two, sizeof two, "%02x", static_cast<const unsigned char*>(data)[i]);
    text += two;
  }
  return text;
}

FileHeader sampleHeader() {
  FileHeader header{};
  std::memcpy(header.magic, kRecordMagic, sizeof header.magic);
  header.headerBytes = kHeaderBytes;
  header.recordBytes = kRecordBytes;
  header.monotonicStartNs = 0x0102030405060708;
  header.epochNs = -2;
  header.hostPeriodNs = 5000000;
  header.devicePeriodNs = 20000000;
  header.rootPid = 4242;
  header.pageSize = 4096;
  return header;
}

Record numbered(uint64_t n) {
  Record record;
  record.timeNs = n;
  record.kind = RecordKind::kTree;
  record.set(0, n * 3);
  return record;
}

}  // namespace

TEST("the header has exactly the published bytes") {
  const FileHeader header = sampleHeader();
  CHECK(hex(&header, sizeof header) ==
        "534c47524543010a" "40000000" "30000000" "0807060504030201" "feffffffffffffff" "404b4c0000000000" "002d310100000000" "92100000" "00100000"
        "0000000000000000");
}

TEST("a record has exactly the published bytes and its unknown values are zero") {
  Record record;
  record.timeNs = 258;
  record.kind = RecordKind::kDevice;
  record.source = RecordSource::kNvml;
  record.id = 3;
  record.set(0, 1);
  record.set(3, 0xff00000000000000);
  CHECK(hex(&record, sizeof record) ==
        "0201000000000000" "04" "09" "0600" "03000000" "0100000000000000" "0000000000000000" "0000000000000000" "00000000000000ff");
}

TEST("records come out in order, in whole batches and with the header first") {
  TempDirectory directory;
  RecordWriter writer;
  CHECK_EQ(writer.open((directory / "a.slg").c_str(), sampleHeader()), 0);
  for (uint64_t i = 0; i < 3000; ++i) writer.push(numbered(i));
  CHECK_EQ(writer.written(), 2 * RecordWriter::kBatch);
  writer.close();
  const auto file = readRecords(directory / "a.slg");
  CHECK_EQ(file.records.size(), 3000);
  CHECK_EQ(file.tail, 0);
  CHECK_EQ(file.header.rootPid, 4242);
  bool ordered = true;
  for (uint64_t i = 0; i < file.records.size(); ++i) ordered &= file.records[i].timeNs == i && file.records[i].v[0] == i * 3;
  CHECK(ordered);
}

TEST("a digest is SipHash-2-4, as its authors publish it") {
  const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  unsigned char input[8];
  for (unsigned char i = 0; i < 8; ++i) input[i] = i;
  KeyedDigest digest(key);
  CHECK_EQ(digest.value(), 0x726fdb47dd0e0e31);
  digest.add(input, sizeof input);
  CHECK_EQ(digest.value(), 0x93f5f5799a932462);
}

namespace {

// Writes 3000 records, lets `alter` change the file, and reads it back. Returns whether that was noticed.
template <typename Alter>
bool noticed(Alter alter, size_t& size) {
  TempDirectory directory;
  const std::string path = directory / "a.slg";
  RecordWriter writer;
  writer.open(path.c_str(), sampleHeader());
  for (uint64_t i = 0; i < 3000; ++i) writer.push(numbered(i));
  writer.close();
  alter(path);
  std::vector<char> chunk(70000);
  size = 0;
  for (ssize_t n = writer.readBack(chunk.data(), chunk.size()); n > 0; n = writer.readBack(chunk.data(), chunk.size())) {
    size += static_cast<size_t>(n);
  }
  return !writer.intact();
}

void overwrite(const std::string& path, off_t at, const char* bytes, size_t size) {
  const int fd = open(path.c_str(), O_WRONLY);
  CHECK_EQ(pwrite(fd, bytes, size, at), static_cast<ssize_t>(size));
  close(fd);
}

}  // namespace

TEST("what was written is read back through the descriptor, also after the path is gone or another file") {
  const size_t all = kHeaderBytes + 3000 * kRecordBytes;
  size_t size = 0;
  CHECK(!noticed([](const std::string&) {}, size));
  CHECK_EQ(size, all);
  CHECK(!noticed([](const std::string& path) { unlink(path.c_str()); }, size));
  CHECK_EQ(size, all);
  CHECK(!noticed([](const std::string& path) { overwrite(path, static_cast<off_t>(kHeaderBytes + 3000 * kRecordBytes), "more", 4); }, size));
  CHECK_EQ(size, all);
}

TEST("a record file that another process altered or cut is noticed") {
  size_t size = 0;
  CHECK(noticed([](const std::string& path) { overwrite(path, 100, "\xff", 1); }, size));
  CHECK(noticed([](const std::string& path) { overwrite(path, 0, "\xff", 1); }, size));
  CHECK(noticed([](const std::string& path) { CHECK_EQ(truncate(path.c_str(), 20000), 0); }, size));
  CHECK_EQ(size, 20000);
  CHECK(noticed([](const std::string& path) { CHECK_EQ(truncate(path.c_str(), 20003), 0); }, size));
  CHECK(noticed([](const std::string& path) { CHECK_EQ(truncate(path.c_str(), 0), 0); }, size));
}

TEST("an existing file, a missing directory and a directory are refused with their errno") {
  TempDirectory directory;
  directory.write("there", "x");
  RecordWriter writer;
  CHECK_EQ(writer.open((directory / "there").c_str(), sampleHeader()), EEXIST);
  CHECK_EQ(writer.open((directory / "no/such").c_str(), sampleHeader()), ENOENT);
  CHECK_EQ(writer.open(directory.path().c_str(), sampleHeader()), EEXIST);
}

TEST("a full disk is kept as an error, and pushing goes on harmlessly") {
  RecordWriter writer;
  CHECK_EQ(writer.adopt(UniqueFd(open("/dev/full", O_WRONLY)), sampleHeader()), ENOSPC);
  for (uint64_t i = 0; i < 5000; ++i) writer.push(numbered(i));
  writer.flush();
  CHECK_EQ(writer.error(), ENOSPC);
  CHECK_EQ(writer.written(), 0);
  CHECK_EQ(writer.lost(), 5000);
}

TEST("a file that cannot grow further ends at a whole record") {
  TempDirectory directory;
  const std::string path = directory / "short.slg";
  // The limit falls into the middle of a record. In a child, because it is a limit of the process.
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{kHeaderBytes + 100 * kRecordBytes + 17, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    RecordWriter writer;
    writer.open(path.c_str(), sampleHeader());
    for (uint64_t i = 0; i < 300; ++i) writer.push(numbered(i));
    writer.close();
    _exit(writer.error() == EFBIG && writer.written() == 100 && writer.lost() == 200 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
  const auto file = readRecords(path);
  CHECK_EQ(file.records.size(), 100);
  CHECK_EQ(file.tail, 0);
}

namespace {

void* drainSlowly(void* argument) {
  const int fd = *static_cast<int*>(argument);
  size_t* total = new size_t(0);
  char chunk[1000];
  for (;;) {
    const ssize_t n = read(fd, chunk, sizeof chunk);
    if (n <= 0) break;
    *total += static_cast<size_t>(n);
  }
  return total;
}

}  // namespace

TEST("short writes into a pipe are continued until everything is out") {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  pthread_t reader;
  pthread_create(&reader, nullptr, drainSlowly, &ends[0]);
  RecordWriter writer;
  writer.adopt(UniqueFd(ends[1]), sampleHeader());
  // 240 kB through a 64 kB pipe.
  for (uint64_t i = 0; i < 5000; ++i) writer.push(numbered(i));
  writer.close();
  writer.release();
  void* total = nullptr;
  pthread_join(reader, &total);
  CHECK_EQ(*static_cast<size_t*>(total), kHeaderBytes + 5000 * kRecordBytes);
  delete static_cast<size_t*>(total);
  close(ends[0]);
}

TEST("a repeated error is counted and written only when its number doubles") {
  Capture out;
  ErrorLog log;
  for (int i = 0; i < 1000; ++i) log.note(out, static_cast<uint64_t>(i), RecordSource::kNvml, 0, 0, 15);
  log.note(out, 1000, RecordSource::kStatm, 77, EACCES, 0);
  CHECK_EQ(out.records.size(), 11);
  CHECK_EQ(out.records[9].v[2], 512);
  CHECK_EQ(out.records[10].v[0], EACCES);
  CHECK_EQ(out.records[10].id, 77);
  for (int i = 0; i < 10000; ++i) log.note(out, 0, RecordSource::kStatm, i, EACCES, 0);
  CHECK(out.records.size() < 11 + 64 + 20);
}
