#include "drm_device.h"

#include <unistd.h>

#include <cerrno>

#include "drm_sysfs.h"

namespace stormlog {

int DrmDevice::readUsed(uint64_t& out) const {
  uint64_t value = 0;
  if (available) {
    const int error = readKept(available, value);
    if (error != 0) return error;
    if (value > total) return ENODATA;
    out = total - value;
    return 0;
  }
  int error = readKept(used, value);
  if (error != 0) return error;
  uint64_t more = 0;
  if (usedToo) {
    error = readKept(usedToo, more);
    if (error != 0) return error;
  }
  if (value > UINT64_MAX / 4 || more > UINT64_MAX / 4) return ENODATA;
  out = value + more;
  return 0;
}

uint64_t DrmDevice::readTotal() const {
  uint64_t sum = 0;
  for (const std::string& file : totalFiles) {
    uint64_t value = 0;
    if (!sysNumber(file, value) || value > UINT64_MAX / 4) return 0;
    sum += value;
  }
  return sum;
}

std::string nodeTrouble(const std::string& sysRoot, const std::vector<std::string>& nodes) {
  std::string refused;
  for (const std::string& node : nodes) {
    // A made-up tree may have a `dev` beside its `sys`; for the kernel's own this is /dev.
    const std::string path = sysRoot + "/../dev/" + node;
    if (access(path.c_str(), R_OK | W_OK) == 0 || errno == ENOENT) continue;
    refused += (refused.empty() ? "/dev/" : " and /dev/") + node;
  }
  return refused.empty() ? "" : refused + " may not be opened: add the user to the groups render and video";
}

DrmDevice deviceOfCard(const std::string& sysRoot, const DrmCard& card, const char* backend, const char* vendorName) {
  DrmDevice device;
  device.cardNumber = card.number;
  device.renderMinor = card.renderMinor;
  device.directory = card.directory;
  device.order = card.number;
  DeviceReport& report = device.report;
  report.backend = backend;
  report.pciBusId = card.pci;
  const std::string version = sysText(sysRoot + "/module/" + card.driver + "/version", 64);
  report.driver = version.empty() ? card.driver : card.driver + " " + version;
  const std::string vendor = sysText(card.directory + "/device/vendor", 32);
  const std::string model = sysText(card.directory + "/device/device", 32);
  report.model = vendorName;
  if (vendor.compare(0, 2, "0x") == 0 && model.compare(0, 2, "0x") == 0) report.model += " " + vendor.substr(2) + ":" + model.substr(2);
  return device;
}

}  // namespace stormlog
