// Intel's graphics. Their drivers rarely report a card's total use: some builds of i915 in sysfs (local memory). The
// memory of each process is always in fdinfo.
#include "drm_device.h"
#include "drm_sysfs.h"

namespace stormlog {
namespace {

// The PCI address of the processor graphics in every Intel machine. Cards with their own memory never have it.
constexpr char kIntegrated[] = "0000:00:02.0";

}  // namespace

void findIntelDevices(const std::string& sysRoot, const std::vector<DrmCard>& cards, std::vector<DrmDevice>& devices) {
  for (const DrmCard& card : cards) {
    if (card.driver != "i915" && card.driver != "xe") continue;
    DrmDevice intel = deviceOfCard(sysRoot, card, "intel", "Intel");
    intel.source = RecordSource::kFdinfo;
    DeviceReport& report = intel.report;
    intel.totalFiles.push_back(card.directory + "/lmem_total_bytes");
    intel.total = intel.readTotal();
    if (intel.total > 0) {
      intel.available = openSys(card.directory + "/lmem_avail_bytes");
    } else {
      intel.totalFiles.clear();
    }
    report.totalBytes = intel.total;
    report.unified = intel.total == 0 && card.pci == kIntegrated;
    if (!intel.canReadUsed()) {
      report.addReason(report.unified ? "it uses the machine's memory, and the driver shows only what each process holds of it"
                                       : "this kernel does not show how much of the card is used in all: only what each process holds");
    }
    if (card.renderMinor >= 0) report.addReason(nodeTrouble(sysRoot, {intel.renderNode()}));
    devices.push_back(static_cast<DrmDevice&&>(intel));
  }
}

}  // namespace stormlog
