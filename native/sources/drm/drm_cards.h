// The graphics cards that the kernel lists, of any vendor, and the device nodes of each.
#pragma once

#include <string>
#include <vector>

namespace stormlog {

struct DrmCard {
  // N of cardN; also the minor number of its device node.
  int number = 0;
  // <sys>/class/drm/cardN
  std::string directory;
  // What its `device` link points to: a PCI address, or the name of a platform device.
  std::string device;
  // "0000:03:00.0", or "" when it is on no PCI bus.
  std::string pci;
  // "amdgpu", "i915", "xe", "nvidia", …; "" when none is bound.
  std::string driver;
  // N of its renderDN; -1 when it has none.
  int renderMinor = -1;
};

// Sorted by number. Connectors ("card0-DP-1") are no cards.
std::vector<DrmCard> findCards(const std::string& sysRoot);

// How many cards there are now.
int countCards(const std::string& sysRoot);

}  // namespace stormlog
