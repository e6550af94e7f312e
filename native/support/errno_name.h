// The symbolic name of an errno, as Node prints it. glibc's own strerrorname_np is newer than the glibc this must load
// on.
#pragma once

namespace stormlog {

// "ENOENT", or "EUNKNOWN" for a number that is not in the table.
const char* errnoName(int error);

// One short English sentence part, independent of the locale.
const char* errnoText(int error);

}  // namespace stormlog
