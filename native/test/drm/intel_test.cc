#include "drm_tree.h"
#include "../harness.h"

using namespace stormlog;
using namespace testing_support;

TEST("an Intel card with fdinfo alone has no used memory, but the job's at the rate of samples") {
  const DrmTree tree;
  const std::string device = tree.card(0, "0000:03:00.0", "xe");
  tree.write(device + "/vendor", "0x8086\n");
  tree.write(device + "/device", "0x56a0\n");
  DrmUnderTest test(tree);
  CHECK(test.report.available);
  const DeviceReport& report = test.backend->devices().at(0);
  CHECK(report.name == "xpu:0");
  CHECK(report.model == "Intel 8086:56a0");
  CHECK(report.backend == "intel");
  CHECK(report.driver == "xe");
  CHECK_EQ(report.totalBytes, 0);
  CHECK(!report.unified);
  CHECK(report.reason.find("only what each process holds") != std::string::npos);
  CHECK(!has(report.capabilities, "memory"));
  CHECK_EQ(test.sample().records.size(), 0);
  const Child job({"sleep", "60000"});
  tree.open(job.pid(), 9, "/dev/dri/renderD128", xeClient("0000:03:00.0", 3, 2048));
  test.follow({job.pid()});
  Capture out = test.list(10);
  CHECK_EQ(processOn(out, job.pid(), kFirst)->v[0], 2 * kMib);
  CHECK_EQ(processOn(out, job.pid(), kFirst)->v[2], 1);
  // Between two lists the known descriptors are read again.
  tree.open(job.pid(), 9, "/dev/dri/renderD128", xeClient("0000:03:00.0", 3, 4096));
  out = test.sample(1000 * kSecond);
  CHECK_EQ(processOn(out, job.pid(), kFirst)->v[0], 4 * kMib);
  CHECK_EQ(out.last(RecordKind::kDeviceList, kFirst)->v[0], 1);
  // But not again before its share of the time allows.
  CHECK_EQ(test.sample(1000 * kSecond + 1).records.size(), 0);
  uint64_t sum = 0;
  CHECK(!test.backend->usedBytes(sum));
}

TEST("an Intel card with local memory in sysfs is measured as a whole") {
  const DrmTree tree;
  const std::string device = tree.card(0, "0000:03:00.0", "i915");
  tree.number(device + "/drm/card0/lmem_total_bytes", 16 * kGib);
  tree.number(device + "/drm/card0/lmem_avail_bytes", 10 * kGib);
  DrmUnderTest test(tree);
  CHECK_EQ(test.backend->devices().at(0).totalBytes, 16 * kGib);
  CHECK(test.backend->devices().at(0).reason.empty());
  const Capture out = test.sample();
  CHECK_EQ(out.last(RecordKind::kDevice, kFirst)->v[0], 6 * kGib);
  CHECK_EQ(out.last(RecordKind::kDevice, kFirst)->v[2], 10 * kGib);
  // More available than there is: no negative use.
  tree.number(device + "/drm/card0/lmem_avail_bytes", 17 * kGib);
  CHECK_EQ(test.sample(kSecond).count(RecordKind::kDevice), 0);
}

TEST("Intel's processor graphics is unified, and a client's share of the machine's memory is its memory") {
  const DrmTree tree;
  tree.card(0, "0000:00:02.0", "i915");
  tree.open(700, 3, "/dev/dri/card0",
            "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:00:02.0\ndrm-total-system0:\t16 MiB\ndrm-resident-system0:\t12 MiB\n"
            "drm-total-stolen-system0:\t0\n");
  DrmUnderTest test(tree);
  CHECK(test.backend->devices().at(0).unified);
  CHECK_EQ(test.backend->devices().at(0).totalBytes, 0);
  test.follow({700});
  CHECK_EQ(processOn(test.list(), 700, kFirst)->v[0], 12 * kMib);
}

TEST("memory is unknown, not zero, where the kernel's fdinfo does not count it") {
  const DrmTree tree;
  tree.card(0, "0000:00:02.0", "i915");
  tree.open(700, 3, "/dev/dri/card0", "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:00:02.0\ndrm-engine-render:\t1 ns\n");
  DrmUnderTest test(tree);
  test.follow({700});
  const Capture out = test.list();
  CHECK_EQ(processOn(out, 700, kFirst)->valid & 1, 0);
  CHECK_EQ(out.last(RecordKind::kDeviceList)->v[0], 1);
  CHECK_EQ(out.last(RecordKind::kDeviceList)->v[2], 1);
}

TEST("AMD and Intel devices in one machine have distinct names and indices") {
  const DrmTree tree;
  tree.card(0, "0000:00:02.0", "i915");
  tree.amd(1, "0000:03:00.0", kMib, kGib);
  tree.card(2, "0000:04:00.0", "xe");
  DrmUnderTest test(tree);
  std::string names;
  for (const DeviceReport& report : test.backend->devices()) names += report.name + "=" + std::to_string(report.index - kFirst) + " ";
  CHECK(names == "amd:0=0 xpu:0=1 xpu:1=2 ");
}
