#include "../../sources/drm/dmem.h"

#include "drm_tree.h"
#include "../harness.h"

using namespace stormlog;
using namespace testing_support;

namespace {

const char* const kCard = "0000:03:00.0";

uint64_t bytesOf(const std::string& text) {
  uint64_t bytes = 0;
  return dmemBytes(text.data(), text.size(), kCard, bytes) ? bytes : UINT64_MAX;
}

std::string region(uint64_t bytes, const char* name = "vram0") {
  return std::string("drm/") + kCard + "/" + name + " " + std::to_string(bytes) + "\n";
}

void top(const DrmTree& tree, uint64_t capacity, uint64_t used) {
  tree.write("sys/fs/cgroup/dmem.capacity", region(capacity) + region(67108864, "stolen"));
  tree.write("sys/fs/cgroup/dmem.current", region(used) + region(8650752, "stolen"));
}

void group(const DrmTree& tree, const std::vector<int>& pids, uint64_t used) {
  std::string list;
  for (int pid : pids) {
    list += std::to_string(pid) + "\n";
    tree.write("proc/" + std::to_string(pid) + "/cgroup", "0::/ci/job-1\n");
    tree.mkdirs("proc/" + std::to_string(pid) + "/fd");
  }
  tree.write("sys/fs/cgroup/ci/job-1/cgroup.procs", list);
  tree.write("sys/fs/cgroup/ci/job-1/dmem.current", region(used));
}

}  // namespace

TEST("dmem lines are read by card and region; cut, foreign and limitless ones give nothing") {
  CHECK_EQ(bytesOf(region(12550144) + region(5, "stolen")), 12550144);
  CHECK_EQ(bytesOf(region(1) + region(2, "vram1")), 3);
  CHECK_EQ(bytesOf(region(0)), 0);
  CHECK_EQ(bytesOf(""), UINT64_MAX);
  CHECK_EQ(bytesOf("drm/0000:04:00.0/vram0 7\n"), UINT64_MAX);
  CHECK_EQ(bytesOf(region(7, "stolen")), UINT64_MAX);
  CHECK_EQ(bytesOf("drm/0000:03:00.0/vram0 max\n"), UINT64_MAX);
  CHECK_EQ(bytesOf("drm/0000:03:00.0/vram0 12345"), UINT64_MAX);
  CHECK_EQ(bytesOf("drm/0000:03:00.0/vram0 99999999999999999999999\n"), UINT64_MAX);
  CHECK_EQ(bytesOf("drm/0000:03:00.0/vram0\n"), UINT64_MAX);
  CHECK_EQ(bytesOf(std::string(9000, '\0')), UINT64_MAX);
}

TEST("the kernel's top group is measured where nothing else counts the use of an Intel card") {
  const DrmTree tree;
  tree.card(0, kCard, "xe");
  top(tree, 16 * kGib, 3 * kGib);
  DrmUnderTest test(tree);
  const DeviceReport& report = test.backend->devices().at(0);
  CHECK_EQ(report.totalBytes, 16 * kGib);
  CHECK(report.reason.empty());
  CHECK(has(report.capabilities, "memory:dmem"));
  const Capture out = test.sample();
  const Record* record = out.last(RecordKind::kDevice, kFirst);
  CHECK(record->source == RecordSource::kDmem);
  CHECK_EQ(record->v[0], 3 * kGib);
  CHECK_EQ(record->v[1], 16 * kGib);
}

TEST("the job's own group is used where its processes cannot be counted one by one, and never in addition") {
  const DrmTree tree;
  tree.amd(0, kCard, 3 * kGib, 16 * kGib);
  top(tree, 16 * kGib, 3 * kGib);
  group(tree, {500, 501}, 2 * kGib);
  DrmUnderTest test(tree);
  CHECK(has(test.backend->devices().at(0).capabilities, "dmem"));
  test.follow({500, 501});
  Capture out = test.list();
  const Record* whole = processOn(out, -1, kFirst);
  CHECK(whole != nullptr && whole->source == RecordSource::kDmem);
  CHECK_EQ(whole->v[0], 2 * kGib);
  CHECK_EQ(whole->v[2], 1);
  CHECK_EQ(out.last(RecordKind::kDeviceList)->v[0], 1);
  // Known one by one.
  tree.open(500, 4, "/dev/dri/renderD128", amdClient(kCard, 1, 1024));
  out = test.list();
  CHECK(processOn(out, -1, kFirst) == nullptr);
  CHECK_EQ(processOn(out, 500, kFirst)->v[0], kMib);
  // One of them unknown: the sum of all is better than a part.
  tree.open(501, 4, "/dev/dri/renderD128", "drm-client-id:\t9\ndrm-pdev:\t0000:03:00.0\n");
  out = test.list();
  CHECK_EQ(processOn(out, -1, kFirst)->v[0], 2 * kGib);
  CHECK_EQ(out.count(RecordKind::kDeviceProcess), 1);
  CHECK_EQ(out.last(RecordKind::kDeviceList)->v[2], 0);
}

TEST("a group with another's process counts only while that has no graphics device open; one with groups below or without all of us never") {
  const DrmTree tree;
  group(tree, {500, 501}, kGib);
  const int ours[] = {500};
  const int both[] = {500, 501};
  const int more[] = {500, 501, 502};
  DmemGroup job(tree.sys(), tree.proc());
  job.follow(both, 2);
  CHECK(job.isJobs());
  // Its files cannot be read, so its memory is unknown.
  job.follow(ours, 1);
  CHECK(!job.isJobs());
  tree.open(501, 0, "/dev/null", "");
  job.follow(ours, 1);
  CHECK(job.isJobs());
  tree.open(501, 3, "/dev/dri/renderD128", "");
  job.follow(ours, 1);
  CHECK(!job.isJobs());
  job.follow(more, 3);
  CHECK(!job.isJobs());
  job.follow(both, 2);
  CHECK(job.isJobs());
  tree.mkdirs("sys/fs/cgroup/ci/job-1/below");
  job.follow(both, 2);
  CHECK(!job.isJobs());
  job.follow(nullptr, 0);
  CHECK(!job.isJobs());
}

TEST("the group's own high-water mark is reported when it rises during the measurement") {
  const DrmTree tree;
  tree.amd(0, kCard, 3 * kGib, 16 * kGib);
  group(tree, {500}, kGib);
  tree.write("sys/fs/cgroup/ci/job-1/dmem.peak", region(9 * kGib));
  DrmUnderTest test(tree);
  test.follow({500});
  CHECK_EQ(test.list().count(RecordKind::kDeviceProcessPeak), 0);
  tree.write("sys/fs/cgroup/ci/job-1/dmem.peak", region(10 * kGib));
  Capture out = test.list();
  const Record* peak = out.last(RecordKind::kDeviceProcessPeak, -1);
  CHECK(peak != nullptr);
  CHECK_EQ(peak->v[0], 10 * kGib);
  CHECK_EQ(peak->v[1], kFirst);
  CHECK_EQ(test.list().count(RecordKind::kDeviceProcessPeak), 0);
  tree.write("sys/fs/cgroup/ci/job-1/dmem.peak", region(11 * kGib));
  Capture last;
  test.backend->finish(5, last);
  CHECK_EQ(last.last(RecordKind::kDeviceProcessPeak, -1)->v[0], 11 * kGib);
}
