// Reading sysfs, or a made-up tree of the same shape: small files, names of links and directories, numbers from kept
// descriptors, and the graphics cards that the kernel lists, of any vendor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../support/unique_fd.h"

namespace stormlog {

// The file without white space at its end; "" when it cannot be read. Allocates: for the probe only.
std::string sysText(const std::string& path, size_t limit = 4096);

// A decimal number alone in its file; false when there is none.
bool sysNumber(const std::string& path, uint64_t& out);

// Base name of the target of a symbolic link; "" for any other file.
std::string sysLinkName(const std::string& path);

// Names in a directory, without "." and "..", in the order of `strcmp`.
std::vector<std::string> sysNames(const std::string& path);

// `prefix` followed by nothing but digits: the number, else -1.
int numberAfter(const char* name, const char* prefix);

// "0000:03:00.0" and nothing else.
bool isPciAddress(const std::string& text);

UniqueFd openSys(const std::string& path);

// 0, or an errno: the kernel's, or ENODATA when the file has no number. Allocates nothing.
int readKept(const UniqueFd& fd, uint64_t& out);

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
