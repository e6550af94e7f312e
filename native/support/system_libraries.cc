#include "system_libraries.h"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>

#include "loader_cache.h"
#include "written_files.h"

namespace stormlog {
namespace {

constexpr char kLoaderCache[] = "/etc/ld.so.cache";
constexpr char kNameServices[] = "/etc/nsswitch.conf";
// The directories of distributions, for machines without the cache, and directories that the loader does not search:
// WSL, containers, NixOS.
constexpr const char* kDirectories[] = {
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu",
#endif
    "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib"};

bool isNameOfService(const std::string& word) {
  for (const char c : word) {
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  }
  return !word.empty();
}

void addOnce(std::vector<std::string>& all, const std::string& one) {
  for (const std::string& each : all) {
    if (each == one) return;
  }
  all.push_back(one);
}

// The words of "hosts: files [NOTFOUND=return] dns" after the colon, without what is in brackets.
void addServices(const std::string& line, std::vector<std::string>& out) {
  std::string word;
  bool action = false;
  for (size_t at = line.find(':') + 1; at <= line.size(); ++at) {
    const char c = at < line.size() ? line[at] : ' ';
    action = action ? c != ']' : c == '[';
    if (c != ' ' && c != '\t' && c != '[' && c != ']') {
      if (!action) word += c;
      continue;
    }
    if (isNameOfService(word)) addOnce(out, word);
    word.clear();
  }
}

}  // namespace

std::vector<std::string> systemLibraries(const std::string& name, std::string& reason) {
  std::vector<std::string> places = loaderCachePaths(contentOf(kLoaderCache), name);
  for (const char* directory : kDirectories) places.push_back(std::string(directory) + "/" + name);
  std::vector<std::string> found;
  for (const std::string& place : places) {
    char real[PATH_MAX];
    if (realpath(place.c_str(), real) == nullptr) continue;
    if (writtenByOthersOnly(real)) {
      addOnce(found, real);
    } else if (reason.empty()) {
      reason = std::string(real) + " could have been written by this user";
    }
  }
  if (found.empty() && reason.empty()) reason = name + " is neither in the loader's cache nor in a usual directory";
  return found;
}

std::vector<std::string> nameServices(const std::string& configuration) {
  std::vector<std::string> services = {"files", "dns"};
  for (size_t at = 0; at < configuration.size();) {
    size_t end = configuration.find('\n', at);
    if (end == std::string::npos) end = configuration.size();
    const std::string line = configuration.substr(at, end - at);
    at = end + 1;
    const std::string text = line.substr(0, line.find('#'));
    for (const char* database : {"hosts:", "passwd:", "group:"}) {
      if (text.compare(0, std::string(database).size(), database) == 0) addServices(text, services);
    }
  }
  return services;
}

void loadNameServices() {
  for (const std::string& service : nameServices(contentOf(kNameServices))) {
    std::string reason;
    // Newer C libraries have their own services built in.
    const std::vector<std::string> paths = systemLibraries("libnss_" + service + ".so.2", reason);
    if (!paths.empty()) dlopen(paths[0].c_str(), RTLD_LAZY | RTLD_LOCAL);
  }
}

}  // namespace stormlog
