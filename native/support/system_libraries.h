// Libraries that a process takes from the system alone, whatever LD_LIBRARY_PATH names. Linux only.
#pragma once

#include <string>
#include <vector>

namespace stormlog {

// Paths without links of the libraries of this name in the loader's cache, the system's directories and those of
// vendors, without those that this user could have written. `reason` is set when there is none.
std::vector<std::string> systemLibraries(const std::string& name, std::string& reason);

// The services that a file like /etc/nsswitch.conf names for hosts and users, with the C library's default ones.
std::vector<std::string> nameServices(const std::string& configuration);

// Loads the libraries by which the C library resolves names. It would load them at the first name that is asked for,
// such as the address of an upload after the measured command, and search LD_LIBRARY_PATH for them.
void loadNameServices();

}  // namespace stormlog
