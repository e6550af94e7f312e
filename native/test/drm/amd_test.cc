#include <cerrno>

#include "drm_tree.h"
#include "../harness.h"

using namespace stormlog;
using namespace testing_support;

TEST("two AMD cards are named, measured and kept apart") {
  const DrmTree tree;
  const std::string first = tree.amd(0, "0000:03:00.0", 5 * kGib, 24 * kGib);
  tree.write(first + "/unique_id", "4f3c1a2b5d6e7f80\n");
  tree.write(first + "/product_name", "AMD Radeon RX 7900 XTX\n");
  tree.write("sys/module/amdgpu/version", "6.12.12\n");
  const std::string second = tree.amd(1, "0000:0a:00.0", 7 * kGib, 64 * kGib);
  DrmUnderTest test(tree);
  CHECK(test.report.available);
  CHECK(test.report.reason.empty());
  const std::vector<DeviceReport>& devices = test.backend->devices();
  CHECK_EQ(devices.size(), 2);
  CHECK(devices.at(0).name == "amd:0");
  CHECK(devices.at(0).model == "AMD Radeon RX 7900 XTX");
  CHECK(devices.at(0).uuid == "GPU-4f3c1a2b5d6e7f80");
  CHECK(devices.at(0).driver == "amdgpu 6.12.12");
  CHECK(devices.at(0).backend == "amd");
  CHECK(devices.at(0).pciBusId == "0000:03:00.0");
  CHECK_EQ(devices.at(0).totalBytes, 24 * kGib);
  CHECK(!devices.at(0).unified);
  CHECK(devices.at(1).name == "amd:1");
  CHECK(devices.at(1).model == "AMD 1002:744c");
  CHECK(devices.at(1).uuid.empty());
  CHECK_EQ(devices.at(1).index, kFirst + 1);
  Capture out = test.sample(1000);
  CHECK_EQ(out.records.size(), 2);
  const Record* record = out.last(RecordKind::kDevice, kFirst);
  CHECK(record != nullptr && record->source == RecordSource::kAmd && record->timeNs == 1000);
  CHECK_EQ(record->v[0], 5 * kGib);
  CHECK_EQ(record->v[1], 24 * kGib);
  CHECK_EQ(record->v[2], 19 * kGib);
  CHECK_EQ(record->valid, 7);
  tree.number(second + "/mem_info_vram_used", 8 * kGib);
  CHECK_EQ(test.sample().last(RecordKind::kDevice, kFirst + 1)->v[0], 8 * kGib);
  uint64_t sum = 0;
  CHECK(test.backend->usedBytes(sum));
  CHECK_EQ(sum, 13 * kGib);
}

TEST("an AMD processor that shares the CPU's memory counts all of it, and reports it as shared") {
  const DrmTree tree;
  const std::string device = tree.amd(0, "0000:c4:00.0", 200 * kMib, 512 * kMib);
  tree.number(device + "/mem_info_gtt_used", 24 * kGib);
  tree.number(device + "/mem_info_gtt_total", 62 * kGib);
  // structure_size, then format 3, content 0.
  tree.write(device + "/gpu_metrics", std::string("\x08\x01\x03\x00 and more", 13));
  DrmUnderTest test(tree);
  CHECK(test.backend->devices().at(0).unified);
  CHECK_EQ(test.backend->devices().at(0).totalBytes, 62 * kGib + 512 * kMib);
  CHECK(has(test.backend->devices().at(0).capabilities, "memory:shared"));
  CHECK_EQ(test.sample().last(RecordKind::kDevice)->v[0], 24 * kGib + 200 * kMib);
  // Its processes' memory is counted in both places too.
  tree.open(500, 5, "/dev/dri/renderD128", amdClient("0000:c4:00.0", 1, 1024, 2048));
  test.follow({500});
  const Capture out = test.list();
  CHECK_EQ(processOn(out, 500, kFirst)->v[0], 3 * kMib);
}

TEST("an AMD card without video memory of its own is unified, never empty") {
  const DrmTree tree;
  const std::string device = tree.amd(0, "0000:c4:00.0", 0, 0);
  tree.number(device + "/mem_info_gtt_used", 3 * kGib);
  tree.number(device + "/mem_info_gtt_total", 62 * kGib);
  DrmUnderTest test(tree);
  CHECK(test.backend->devices().at(0).unified);
  CHECK_EQ(test.sample().last(RecordKind::kDevice)->v[0], 3 * kGib);
  CHECK_EQ(test.sample().last(RecordKind::kDevice)->v[1], 62 * kGib);
}

TEST("an AMD card whose driver shows no counters has no samples and a reason") {
  const DrmTree tree;
  tree.card(0, "0000:03:00.0", "amdgpu");
  DrmUnderTest test(tree);
  CHECK(test.report.available);
  CHECK(test.backend->devices().at(0).reason.find("mem_info_vram_used") != std::string::npos);
  CHECK_EQ(test.backend->devices().at(0).totalBytes, 0);
  CHECK_EQ(test.sample().count(RecordKind::kDevice), 0);
  uint64_t sum = 0;
  CHECK(!test.backend->usedBytes(sum));
}

TEST("the compute driver lists processes of all jobs, fdinfo those with only the graphics device open, and none is counted twice") {
  const DrmTree tree;
  tree.amd(0, "0000:03:00.0", 5 * kGib, 24 * kGib);
  tree.amd(1, "0000:0a:00.0", 5 * kGib, 24 * kGib);
  tree.node(0, 0, 0, 0, 0);
  tree.node(1, 4231, 0x0a00, 129, 24 * kGib);
  tree.node(2, 998, 0x0300, 128, 24 * kGib);
  const Child job({"sleep", "60000"});
  tree.compute(job.pid(), 4231, 3 * kGib);
  tree.compute(job.pid(), 998, 0);
  tree.compute(77, 4231, 1 * kGib);
  // 3 GiB by the compute driver are within these 3.5 GiB; another client of the same process is apart; a copy of its
  // descriptor is not.
  tree.open(job.pid(), 5, "/dev/dri/renderD129", amdClient("0000:0a:00.0", 1, 3 * 1024 * 1024));
  tree.open(job.pid(), 6, "/dev/dri/renderD129", amdClient("0000:0a:00.0", 2, 512 * 1024));
  tree.open(job.pid(), 7, "/dev/dri/card1", amdClient("0000:0a:00.0", 2, 512 * 1024));
  tree.open(job.pid(), 8, "/dev/dri/renderD128", amdClient("0000:03:00.0", 2, 4096));
  DrmUnderTest test(tree);
  // ROCm counts by the processors' order, not by the cards'.
  CHECK(test.backend->devices().at(1).name == "amd:0");
  CHECK(test.backend->devices().at(0).name == "amd:1");
  CHECK(has(test.backend->devices().at(1).capabilities, "processes:kfd"));
  CHECK(test.backend->wantsProcesses() == false);
  test.follow({job.pid()});
  CHECK(test.backend->wantsProcesses());
  const Capture out = test.list(50);
  CHECK(!test.backend->wantsProcesses());
  const Record* ours = processOn(out, job.pid(), kFirst + 1);
  CHECK(ours != nullptr);
  CHECK_EQ(ours->v[0], 3 * kGib + 512 * kMib);
  CHECK(ours->source == RecordSource::kFdinfo);
  CHECK_EQ(ours->v[2], 1);
  CHECK_EQ(ours->v[3], 1);
  const Record* theirs = processOn(out, 77, kFirst + 1);
  CHECK(theirs != nullptr && theirs->source == RecordSource::kKfd);
  CHECK_EQ(theirs->v[0], 1 * kGib);
  // The host thread determines its owner.
  CHECK_EQ(theirs->valid & 4, 0);
  const Record* graphics = processOn(out, job.pid(), kFirst);
  CHECK_EQ(graphics->v[0], 4 * kMib);
  CHECK_EQ(graphics->v[3], 2);
  CHECK_EQ(out.count(RecordKind::kDeviceProcess), 3);
  const Record* list = out.last(RecordKind::kDeviceList, kFirst + 1);
  CHECK_EQ(list->v[0], 2);
  CHECK_EQ(list->v[2], 0);
  CHECK_EQ(list->timeNs, 50);
  CHECK_EQ(test.backend->devices().at(1).listEntries, 2);
}

TEST("the compute driver's files are reopened when a process ends, a pid is reused, or two pids share a slot") {
  const DrmTree tree;
  tree.amd(0, "0000:03:00.0", 1, kGib);
  tree.node(1, 998, 0x0300, 128, kGib);
  DrmUnderTest test(tree);
  tree.compute(700, 998, kMib);
  tree.compute(700 + 256, 998, 2 * kMib);
  for (int round = 0; round < 3; ++round) {
    const Capture out = test.list();
    CHECK_EQ(processOn(out, 700, kFirst)->v[0], kMib);
    CHECK_EQ(processOn(out, 956, kFirst)->v[0], 2 * kMib);
  }
  tree.compute(700, 998, 5 * kMib);
  CHECK_EQ(processOn(test.list(), 700, kFirst)->v[0], 5 * kMib);
  // Kept descriptors of an ended process read nothing.
  tree.write("sys/class/kfd/kfd/proc/700/vram_998", "");
  tree.remove("sys/class/kfd/kfd/proc/700");
  tree.compute(700, 998, 7 * kMib);
  CHECK_EQ(processOn(test.list(), 700, kFirst)->v[0], 7 * kMib);
  tree.remove("sys/class/kfd/kfd/proc/700");
  CHECK(processOn(test.list(), 700, kFirst) == nullptr);
  CHECK_EQ(processOn(test.list(), 956, kFirst)->v[0], 2 * kMib);
  tree.compute(700 + 512, 998, 3 * kMib);
  CHECK_EQ(processOn(test.list(), 1212, kFirst)->v[0], 3 * kMib);
}

TEST("in a pid namespace the compute driver's pids have no owner, and are left out where the job's own are known") {
  const DrmTree tree;
  tree.amd(0, "0000:03:00.0", 5 * kGib, 24 * kGib);
  tree.node(1, 998, 0x0300, 128, 24 * kGib);
  tree.link("proc/self/ns/pid", "pid:[4026532201]");
  tree.compute(31000, 998, 2 * kGib);
  tree.mkdirs("proc/12/fd");
  DrmUnderTest test(tree);
  test.follow({12});
  const Capture before = test.list();
  const Record* entry = processOn(before, 31000, kFirst);
  CHECK(entry != nullptr);
  CHECK_EQ(entry->valid & 4, 0);
  CHECK_EQ(entry->v[2], kOwnerUnknown);
  tree.open(12, 5, "/dev/dri/renderD128", amdClient("0000:03:00.0", 1, 2 * 1024 * 1024));
  const Capture after = test.list();
  CHECK_EQ(after.count(RecordKind::kDeviceProcess), 1);
  CHECK_EQ(processOn(after, 12, kFirst)->v[0], 2 * kGib);
}

TEST("partitions of a card are separate devices with their processes, and the card's memory is counted once") {
  const DrmTree tree;
  const std::string device = tree.amd(0, "0000:05:00.0", 40 * kGib, 192 * kGib);
  tree.write(device + "/current_compute_partition", "CPX\n");
  for (int i = 0; i < 3; ++i) {
    const int minor = 128 + (i == 0 ? 0 : i + 8);
    tree.node(2 + i, 5000 + static_cast<unsigned>(i), 0x0500u | static_cast<unsigned>(i) << 28, minor, 64 * kGib);
    if (i == 0) continue;
    // The others are platform devices with nodes of their own.
    const std::string name = "amdgpu_xcp_" + std::to_string(i);
    for (const std::string& node : {"card" + std::to_string(minor - 128), "renderD" + std::to_string(minor)}) {
      tree.link("sys/devices/platform/" + name + "/drm/" + node + "/device", "../../../" + name);
      tree.link("sys/class/drm/" + node, "../../devices/platform/" + name + "/drm/" + node);
    }
  }
  tree.number("sys/class/kfd/kfd/topology/nodes/3/mem_banks/0/used_memory", 11 * kGib);
  DrmUnderTest test(tree);
  CHECK(test.report.reason.empty());
  const std::vector<DeviceReport>& devices = test.backend->devices();
  CHECK_EQ(devices.size(), 4);
  CHECK(devices.at(0).name == "amd:card0");
  CHECK_EQ(devices.at(0).parent, -1);
  CHECK(devices.at(1).name == "amd:0");
  CHECK(devices.at(3).name == "amd:2");
  CHECK_EQ(devices.at(2).parent, kFirst);
  CHECK(devices.at(2).migProfile == "CPX");
  CHECK_EQ(devices.at(2).totalBytes, 64 * kGib);
  Capture out = test.sample();
  CHECK_EQ(out.last(RecordKind::kDevice, kFirst)->v[0], 40 * kGib);
  CHECK_EQ(out.last(RecordKind::kDevice, kFirst + 2)->v[0], 11 * kGib);
  CHECK(out.last(RecordKind::kDevice, kFirst + 1) == nullptr);
  uint64_t sum = 0;
  CHECK(test.backend->usedBytes(sum));
  CHECK_EQ(sum, 40 * kGib);
  tree.compute(600, 5001, 9 * kGib);
  tree.open(601, 4, "/dev/dri/renderD138", amdClient("0000:05:00.0", 3, 1024));
  test.follow({600, 601});
  out = test.list();
  CHECK_EQ(processOn(out, 600, kFirst + 2)->v[0], 9 * kGib);
  CHECK_EQ(processOn(out, 601, kFirst + 3)->v[0], 1 * kMib);
  CHECK_EQ(out.count(RecordKind::kDeviceProcess), 2);
  CHECK(out.last(RecordKind::kDeviceList, kFirst) == nullptr);
}

TEST("a node that a container renamed is identified by its address") {
  const DrmTree tree;
  tree.amd(0, "0000:03:00.0", 1, kGib);
  tree.amd(1, "0000:0a:00.0", 1, kGib);
  tree.open(600, 4, "/dev/dri/renderD128", amdClient("0000:0a:00.0", 3, 1024));
  // Before 5.19 without an address: by the name.
  tree.open(600, 5, "/dev/dri/renderD128", "pasid:\t5\nvram mem:\t2048 kB\n");
  // A card that is not read here.
  tree.open(600, 6, "/dev/dri/renderD130", amdClient("0000:41:00.0", 4, 1024));
  DrmUnderTest test(tree);
  test.follow({600});
  const Capture out = test.list();
  CHECK_EQ(processOn(out, 600, kFirst + 1)->v[0], 1 * kMib);
  CHECK_EQ(processOn(out, 600, kFirst)->v[0], 2 * kMib);
  CHECK_EQ(out.count(RecordKind::kDeviceProcess), 2);
}

TEST("processes that share a client after a fork count it once") {
  const DrmTree tree;
  tree.amd(0, "0000:03:00.0", 1, kGib);
  for (int pid : {600, 601, 602}) tree.open(pid, 4, "/dev/dri/renderD128", amdClient("0000:03:00.0", 3, 1024));
  DrmUnderTest test(tree);
  test.follow({602, 600, 601});
  const Capture out = test.list();
  uint64_t sum = 0;
  for (const Record& record : out.records) sum += record.kind == RecordKind::kDeviceProcess && (record.valid & 1) ? record.v[0] : 0;
  CHECK_EQ(sum, kMib);
  CHECK_EQ(out.last(RecordKind::kDeviceList)->v[2], 0);
}

TEST("garbage and huge files of the compute driver and of sysfs give no number") {
  const DrmTree tree;
  const std::string device = tree.amd(0, "0000:03:00.0", 1, kGib);
  tree.node(1, 998, 0x0300, 128, 24 * kGib);
  tree.write("sys/class/kfd/kfd/topology/nodes/2/gpu_id", "not a number\n");
  tree.write("sys/class/kfd/kfd/topology/nodes/3/gpu_id", std::string(1 << 20, '9'));
  tree.write("sys/class/kfd/kfd/topology/nodes/x/gpu_id", "5\n");
  tree.write("sys/class/kfd/kfd/proc/77/vram_998", std::string(1 << 20, '1'));
  tree.write("sys/class/kfd/kfd/proc/78/vram_998", "-1\n");
  tree.write("sys/class/kfd/kfd/proc/79/other", "5\n");
  tree.compute(80, 998, kMib);
  tree.write(device + "/product_name", std::string(1 << 20, 'A'));
  tree.write(device + "/unique_id", "zz; rm -rf\n");
  DrmUnderTest test(tree);
  CHECK_EQ(test.backend->devices().size(), 1);
  CHECK(test.backend->devices().at(0).model.size() <= 128);
  CHECK(test.backend->devices().at(0).uuid == "GPU-0000000000001337");
  const Capture out = test.list();
  const Record* list = out.last(RecordKind::kDeviceList);
  CHECK_EQ(list->v[0], 3);
  CHECK_EQ(list->v[2], 2);
  CHECK_EQ(processOn(out, 77, kFirst)->valid & 1, 0);
  CHECK_EQ(processOn(out, 80, kFirst)->v[0], kMib);
  tree.write(device + "/mem_info_vram_used", "lots\n");
  const Capture bad = test.sample(kSecond);
  CHECK_EQ(bad.count(RecordKind::kDevice), 0);
  CHECK_EQ(bad.last(RecordKind::kError)->v[0], ENODATA);
}
