// Made-up /sys and /proc of machines with graphics cards, shaped as the kernel's own: real files, real links.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "../../sources/drm/drm_backend.h"
#include "../support.h"

namespace testing_support {

constexpr uint64_t kKib = 1024;
constexpr uint64_t kMib = 1024 * kKib;
constexpr uint64_t kGib = 1024 * kMib;
/** Number of the first device that is not NVIDIA's. */
constexpr int kFirst = stormlog::kDrmDevices;

class DrmTree {
 public:
  DrmTree() {
    mkdirs("sys/class/drm");
    mkdirs("proc");
  }

  std::string sys() const { return directory_ / "sys"; }
  std::string proc() const { return directory_ / "proc"; }
  const TempDirectory& directory() const { return directory_; }

  void mkdirs(const std::string& name) const { directory_.write(name + "/.keep", ""); unlink((directory_ / (name + "/.keep")).c_str()); }
  void write(const std::string& name, const std::string& text) const { directory_.write(name, text); }
  void number(const std::string& name, uint64_t value) const { directory_.write(name, std::to_string(value) + "\n"); }
  void link(const std::string& name, const std::string& target) const {
    const size_t slash = name.rfind('/');
    mkdirs(name.substr(0, slash));
    if (symlink(target.c_str(), (directory_ / name).c_str()) != 0) std::perror(name.c_str());
  }
  void remove(const std::string& name) const {
    const std::string command = "rm -rf '" + (directory_ / name) + "'";
    if (std::system(command.c_str()) != 0) std::perror("rm");
  }

  // A card on the PCI bus with a render node 128 above it; returns its device's directory, relative to the tree.
  std::string card(int number, const std::string& pci, const std::string& driver) const {
    const std::string device = "sys/devices/pci0000:00/" + pci;
    const std::string name = "card" + std::to_string(number);
    const std::string render = "renderD" + std::to_string(128 + number);
    for (const std::string& node : {name, render}) {
      mkdirs(device + "/drm/" + node);
      link(device + "/drm/" + node + "/device", "../../../" + pci);
      link("sys/class/drm/" + node, "../../devices/pci0000:00/" + pci + "/drm/" + node);
    }
    mkdirs("sys/class/drm/" + name + "-DP-1");
    if (!driver.empty()) link(device + "/driver", "../../../bus/pci/drivers/" + driver);
    return device;
  }

  std::string amd(int number, const std::string& pci, uint64_t used, uint64_t total) const {
    const std::string device = card(number, pci, "amdgpu");
    this->number(device + "/mem_info_vram_used", used);
    this->number(device + "/mem_info_vram_total", total);
    this->number(device + "/mem_info_gtt_used", 1111);
    this->number(device + "/mem_info_gtt_total", 1 << 30);
    write(device + "/vendor", "0x1002\n");
    write(device + "/device", "0x744c\n");
    return device;
  }

  // A processor of AMD's compute driver.
  void node(int number, unsigned gpuId, unsigned location, int renderMinor, uint64_t bytes) const {
    const std::string directory = "sys/class/kfd/kfd/topology/nodes/" + std::to_string(number);
    this->number(directory + "/gpu_id", gpuId);
    write(directory + "/properties", "cpu_cores_count 0\nsimd_count 304\nlocation_id " + std::to_string(location) + "\ndomain 0\ndrm_render_minor " +
                                      std::to_string(renderMinor) + "\nunique_id 4919\n");
    write(directory + "/mem_banks/0/properties", "heap_type 1\nsize_in_bytes " + std::to_string(bytes) + "\nflags 0\n");
    mkdirs("sys/class/kfd/kfd/proc");
  }
  void compute(int pid, unsigned gpuId, uint64_t bytes) const {
    number("sys/class/kfd/kfd/proc/" + std::to_string(pid) + "/vram_" + std::to_string(gpuId), bytes);
  }

  // A descriptor of a process, with its fdinfo.
  void open(int pid, int fd, const std::string& target, const std::string& text) const {
    const std::string process = "proc/" + std::to_string(pid);
    remove(process + "/fd/" + std::to_string(fd));
    link(process + "/fd/" + std::to_string(fd), target);
    write(process + "/fdinfo/" + std::to_string(fd), text);
  }
  // Emptied first, so that a kept descriptor reads nothing.
  void close(int pid, int fd) const {
    write("proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd), "");
    remove("proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd));
    remove("proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd));
  }

 private:
  TempDirectory directory_;
};

inline std::string amdClient(const std::string& pci, int client, uint64_t vramKib, uint64_t gttKib = 0) {
  return "pos:\t0\nflags:\t02100002\nmnt_id:\t26\ndrm-driver:\tamdgpu\ndrm-client-id:\t" + std::to_string(client) + "\ndrm-pdev:\t" + pci +
         "\npasid:\t32771\ndrm-memory-vram:\t" + std::to_string(vramKib) + " KiB\ndrm-memory-gtt: \t" + std::to_string(gttKib) +
         " KiB\ndrm-memory-cpu: \t77 KiB\namd-evicted-vram:\t0 KiB\ndrm-engine-gfx:\t1234 ns\n";
}

inline std::string xeClient(const std::string& pci, int client, uint64_t vramKib) {
  return "pos:\t0\ndrm-driver:\txe\ndrm-client-id:\t" + std::to_string(client) + "\ndrm-pdev:\t" + pci +
         "\ndrm-total-system:\t0\ndrm-resident-system:\t0\ndrm-total-gtt:\t192 KiB\ndrm-resident-gtt:\t192 KiB\ndrm-total-vram0:\t" +
         std::to_string(vramKib * 2) + " KiB\ndrm-resident-vram0:\t" + std::to_string(vramKib) +
         " KiB\ndrm-total-stolen:\t5 MiB\ndrm-cycles-ccs:\t28257900\ndrm-total-cycles-ccs:\t7655183225\n";
}

// A backend over a tree that follows given pids.
struct DrmUnderTest {
  explicit DrmUnderTest(const DrmTree& tree, const std::string& proc = "") {
    backend.reset(new stormlog::DrmBackend(tree.sys(), proc.empty() ? tree.proc() : proc));
    report = backend->probe();
    backend->follow(&pids);
  }
  void follow(const std::vector<int>& list) { pids.publish(list.data(), list.size()); }
  Capture sample(uint64_t timeNs = 0) {
    Capture out;
    backend->sample(timeNs, out);
    return out;
  }
  Capture list(uint64_t timeNs = 0) {
    Capture out;
    backend->sampleProcesses(timeNs, out);
    return out;
  }

  stormlog::JobPids pids;
  std::unique_ptr<stormlog::DeviceBackend> backend;
  stormlog::SourceReport report;
};

// The process's record on a device; null when there is none.
inline const Record* processOn(const Capture& out, int pid, int device) {
  for (const Record& record : out.records) {
    if (record.kind == RecordKind::kDeviceProcess && record.id == pid && record.v[1] == static_cast<uint64_t>(device)) return &record;
  }
  return nullptr;
}

inline bool has(const std::vector<std::string>& list, const std::string& text) {
  for (const std::string& entry : list) {
    if (entry == text) return true;
  }
  return false;
}

}  // namespace testing_support
