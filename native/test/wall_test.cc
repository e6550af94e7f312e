// The launcher's wall, and what the sampler reads behind it. Skipped where the machine refuses one.
#include "../sources/host/host_source.h"
#include "launch.h"

using namespace stormlog;
using testing_support::built;
using testing_support::Capture;
using testing_support::Launch;
using testing_support::sleepMs;
using testing_support::TempDirectory;

namespace {

constexpr uid_t kUser = 65534;

class Walled {
 public:
  // As root without a user namespace, and as an ordinary user with one; `user`: as that one in any case.
  explicit Walled(std::vector<std::string> command, std::vector<std::string> mounts = {}, uid_t user = 0) {
    mounts.insert(mounts.begin(), user == 0 && geteuid() == 0 ? "root" : "user");
    launch_.reset(new Launch(command, "STORMLOG_GATE_RUN=wall-test", nullptr, mounts, geteuid() == 0 ? user : 0));
    const std::string line = launch_->line();
    if (std::sscanf(line.c_str(), "init %d", &init_) != 1) std::printf("    skipped: %s\n", line.c_str());
    const std::string next = launch_->line();
    stands_ = next == "pid 2";
    if (init_ > 0 && !stands_) std::printf("    skipped: %s\n", next.c_str());
  }
  bool stands() const { return stands_; }
  // In the namespace of this test.
  int init() const { return init_; }
  Launch& launch() { return *launch_; }
  std::string run() {
    launch_->send('g');
    CHECK(launch_->line() == "started");
    return launch_->line();
  }

 private:
  std::unique_ptr<Launch> launch_;
  int init_ = 0;
  bool stands_ = false;
};

// Until the init of a wall is gone, and all of its namespace with it.
bool ends(int init) {
  for (int i = 0; i < 400 && kill(init, 0) == 0; ++i) sleepMs(10);
  return kill(init, 0) != 0;
}

}  // namespace

TEST("a command behind the wall reaches the processes of its own namespace alone, and its exit is reported") {
  Walled wall({"sh", "-c", "test $$ = 2 -a $PPID = 1 && ! kill -0 $0 2>/dev/null && kill -9 1 && test $(ls /proc | grep -c '^[0-9]') -le 6 && exit 7", std::to_string(getpid())});
  if (!wall.stands()) return;
  CHECK(wall.run() == "exit 7");
  wall.launch().send('q');
  CHECK_EQ(wall.launch().wait(3000), 0);
  Walled killed({"sh", "-c", "kill -USR1 $$"});
  CHECK(killed.run() == "signal 10 0");
}

TEST("a command behind the wall gains no privileges, and may make a namespace of its own") {
  Walled wall({"sh", "-c", "grep -q '^NoNewPrivs:.1$' /proc/self/status && grep -q '^CapEff:.0*$' /proc/self/status && unshare --user --map-root-user --pid --fork --mount-proc true"}, {}, kUser);
  if (wall.stands()) CHECK(wall.run() == "exit 0");
}

TEST("nothing behind the wall outlives its launcher or its init") {
  for (const bool launcher : {true, false}) {
    Walled wall({built("child"), "daemon", "1", "31337011"});
    if (!wall.stands()) return;
    wall.launch().send('g');
    CHECK(wall.launch().line() == "started");
    CHECK_EQ(kill(launcher ? wall.launch().pid() : wall.init(), SIGKILL), 0);
    CHECK(wall.launch().wait(4000) >= 0);
    CHECK(ends(wall.init()));
  }
}

TEST("a stubborn job behind the wall ends when the gate dies") {
  Walled wall({built("child"), "stubborn", "31337012"});
  if (!wall.stands()) return;
  wall.launch().send('g');
  CHECK(wall.launch().line() == "started");
  wall.launch().hangUp();
  CHECK(wall.launch().wait(4000) >= 0);
  CHECK(ends(wall.init()));
}

TEST("a directory behind the wall cannot be written, renamed or uncovered") {
  TempDirectory directory;
  directory.write("top/kept/file", "before");
  directory.write("top/kept/open/file", "before");
  const std::string top = directory / "top";
  const std::string own = "chown -R 65534 '" + directory.path() + "' && chmod 755 '" + directory.path() + "'";
  if (geteuid() == 0) CHECK_EQ(std::system(own.c_str()), 0);
  const std::string kept = top + "/kept";
  const char* script =
      "cd $0 && ! sh -c ': >kept/file' && ! sh -c ': >kept/new' && ! rm -f kept/file && ! mv kept other && ! mv ../top ../other && ! umount kept && "
      "! unshare --user --map-root-user --mount sh -c 'mount -o remount,bind,rw kept || umount kept; : >kept/file' && "
      "echo after >kept/open/file && echo x >beside";
  Walled wall({"sh", "-c", std::string("exec 2>/dev/null; ") + script, top},
              {"k" + top, top, "r" + kept, kept, "w" + kept + "/open", kept + "/open"}, kUser);
  if (!wall.stands()) return;
  CHECK(wall.run() == "exit 0");
  CHECK_EQ(std::system(("test $(cat " + kept + "/file) = before -a $(cat " + kept + "/open/file) = after -a -f " + top + "/beside").c_str()), 0);
}

TEST("a directory behind the wall can be kept from the command without the file systems mounted in it") {
  TempDirectory directory;
  directory.write("top/kept/file", "before");
  directory.write("top/kept/mounted/file", "before");
  directory.write("top/disk/file", "before");
  const std::string top = directory / "top";
  const std::string own = "chown -R 65534 '" + directory.path() + "' && chmod 755 '" + directory.path() + "'";
  if (geteuid() == 0) CHECK_EQ(std::system(own.c_str()), 0);
  Walled wall({"sh", "-c", "exec 2>/dev/null; cd $0/kept && ! sh -c ': >new' && ! sh -c ': >file' && echo after >mounted/file", top},
              {"w" + top + "/disk", top + "/kept/mounted", "f" + top + "/kept", top + "/kept"}, kUser);
  if (!wall.stands()) return;
  CHECK(wall.run() == "exit 0");
  CHECK_EQ(std::system(("test $(cat " + top + "/disk/file) = after").c_str()), 0);
}

TEST("a refused mount ends the launcher, and names its place") {
  Launch launch({"true"}, "STORMLOG_GATE_RUN=wall-test", nullptr, {geteuid() == 0 ? "root" : "user", "r/no/such place", "/no/such place"});
  const std::string first = launch.line();
  const std::string line = first.compare(0, 5, "init ") == 0 ? launch.line() : first;
  if (line.compare(0, 27, "wall-failed /no/such place ") != 0) std::printf("    skipped: %s\n", line.c_str());
  else CHECK(line == "wall-failed /no/such place ENOENT");
}

TEST("records of processes behind the wall carry the numbers that they see themselves") {
  Walled wall({built("child"), "daemon", "1", "31337013"});
  if (!wall.stands()) return;
  HostOptions options;
  options.rootPid = wall.init();
  options.includeRoot = false;
  const std::unique_ptr<HostSource> source = HostSource::create(options);
  source->probe();
  CHECK_EQ(source->ownPid(wall.init()), 1);
  Capture out;
  const uint64_t start = monotonicNs();
  wall.launch().send('g');
  for (int i = 0; i < 2000 && out.count(RecordKind::kProcess) < 2; ++i) {
    source->sample(monotonicNs() - start, out);
    sleepMs(5);
  }
  const Record* command = out.last(RecordKind::kProcessStart, 2);
  CHECK(command != nullptr);
  if (command == nullptr) return;
  CHECK_EQ(command->v[0], 1u);
  const int outside = static_cast<int>(command->v[2]);
  CHECK(outside > wall.init());
  CHECK_EQ(source->ownPid(outside), 2);
  CHECK_EQ(source->pidOf(2), outside);
  CHECK_EQ(source->pidOf(outside), 0);
  CHECK(source->owns(outside));
  for (const Record& record : out.records) {
    if (record.kind == RecordKind::kProcess) CHECK(record.id < 100);
  }
}
