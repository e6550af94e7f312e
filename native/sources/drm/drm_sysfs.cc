#include "drm_sysfs.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "../host/procfs.h"

namespace stormlog {

UniqueFd openSys(const std::string& path) { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); }

std::string sysText(const std::string& path, size_t limit) {
  const UniqueFd fd = openSys(path);
  std::string text;
  char chunk[1024];
  ssize_t n = 0;
  while (fd && text.size() < limit && (n = ::read(fd.get(), chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<size_t>(n));
  if (text.size() > limit) text.resize(limit);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\t' || text.back() == '\0')) text.pop_back();
  return text;
}

bool sysNumber(const std::string& path, uint64_t& out) { return readKept(openSys(path), out) == 0; }

std::string sysLinkName(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof target);
  if (n <= 0 || static_cast<size_t>(n) == sizeof target) return "";
  const std::string text(target, static_cast<size_t>(n));
  const size_t slash = text.rfind('/');
  return slash == std::string::npos ? text : text.substr(slash + 1);
}

std::vector<std::string> sysNames(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) names.push_back(entry->d_name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

int numberAfter(const char* name, const char* prefix) {
  const size_t size = strlen(prefix);
  if (strncmp(name, prefix, size) != 0) return -1;
  const char* at = name + size;
  const char* end = at + strlen(at);
  uint64_t value = 0;
  return parseNumber(at, end, value) && at == end && value <= INT_MAX ? static_cast<int>(value) : -1;
}

bool isPciAddress(const std::string& text) {
  // Domains above ffff exist on some machines and then have more digits.
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon < 4 || colon > 8 || text.size() != colon + 8) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i == colon || i == colon + 3) {
      if (c != ':') return false;
    } else if (i == colon + 6) {
      if (c != '.') return false;
    } else if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
      return false;
    }
  }
  return true;
}

int readKept(const UniqueFd& fd, uint64_t& out) {
  if (!fd) return ENOENT;
  char text[64];
  const ssize_t n = preadText(fd.get(), text, sizeof text);
  if (n < 0) return errno;
  const char* at = text;
  const char* end = text + n;
  uint64_t value = 0;
  if (!parseNumber(at, end, value)) return ENODATA;
  // Anything but white space after it: not a number, whatever it begins with.
  for (; at < end; ++at) {
    if (*at != '\n' && *at != ' ') return ENODATA;
  }
  out = value;
  return 0;
}

std::vector<DrmCard> findCards(const std::string& sysRoot) {
  const std::string drm = sysRoot + "/class/drm/";
  std::vector<DrmCard> cards;
  const std::vector<std::string> names = sysNames(drm);
  for (const std::string& name : names) {
    const int number = numberAfter(name.c_str(), "card");
    if (number < 0) continue;
    DrmCard card;
    card.number = number;
    card.directory = drm + name;
    card.device = sysLinkName(card.directory + "/device");
    if (isPciAddress(card.device)) card.pci = card.device;
    card.driver = sysLinkName(card.directory + "/device/driver");
    cards.push_back(card);
  }
  for (const std::string& name : names) {
    const int minor = numberAfter(name.c_str(), "renderD");
    if (minor < 0) continue;
    const std::string device = sysLinkName(drm + name + "/device");
    for (DrmCard& card : cards) {
      if (!device.empty() && card.device == device) card.renderMinor = minor;
    }
  }
  std::sort(cards.begin(), cards.end(), [](const DrmCard& a, const DrmCard& b) { return a.number < b.number; });
  return cards;
}

int countCards(const std::string& sysRoot) {
  int count = 0;
  for (const std::string& name : sysNames(sysRoot + "/class/drm")) count += numberAfter(name.c_str(), "card") >= 0 ? 1 : 0;
  return count;
}

}  // namespace stormlog
