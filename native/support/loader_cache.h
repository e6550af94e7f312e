// Libraries of the dynamic loader's cache (/etc/ld.so.cache), in glibc's format of 1999 and later. Pure: the caller
// brings the bytes, which may be any.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace stormlog {

// The paths of the libraries named `soname` that are built for this machine, in the cache's order.
std::vector<std::string> loaderCachePaths(const std::string& cache, const std::string& soname);

}  // namespace stormlog
