#include "drm_cards.h"

#include <algorithm>

#include "drm_sysfs.h"

namespace stormlog {

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
