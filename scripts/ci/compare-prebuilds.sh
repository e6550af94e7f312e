#!/usr/bin/env bash
# Builds the shipped native files of Linux a second time, elsewhere, and compares every byte with dist/prebuilds: what
# a reviewer cannot read is then what the sources build. Needs what scripts/build-native.sh needs, and the compilers
# that built the committed files for glibc (Debian 12); with others it reports that and passes, unless --required is
# given. The compiler of those for musl is pinned.
#
# Usage: scripts/ci/compare-prebuilds.sh [--required]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
say() { echo "compare-prebuilds: $1"; }

# The compiler that a file was built with, or that would build it.
recorded() { readelf -p .comment "$1" | sed -nE 's/^ *\[ *[0-9a-f]+\] +(GCC: .*[0-9]) *$/\1/p' | sort -u; }
installed() { "$1" --version | sed -nE '1s/^\S+ (\(.*\) [0-9.]+)$/GCC: \1/p'; }

for platform in linux-x64:x86_64-linux-gnu-g++ linux-arm64:aarch64-linux-gnu-g++; do
  compiler=${platform##*:}
  wanted=$(recorded "dist/prebuilds/${platform%%:*}/launcher")
  there=$(command -v "$compiler" >/dev/null && installed "$compiler" || true)
  [ -n "$wanted" ] && [ "$wanted" = "$there" ] && continue
  say "skipped: the committed files are of ${wanted:-an unknown compiler}, here is ${there:-no $compiler}"
  [ "${1:-}" = --required ] && exit 1
  exit 0
done

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/dist"
cp -R native scripts package.json "$copy/"
ln -s "$PWD/node_modules" "$copy/node_modules"
# Also sets a platform that is not built here beside the others, so that the lists of sums are of the same files.
cp -R dist/prebuilds "$copy/dist/"
rm -f "$copy"/dist/prebuilds/linux-*/*
STORMLOG_ZIG=${STORMLOG_ZIG:-$PWD/build/zig} bash "$copy/scripts/build-native.sh"
if ! diff -u dist/prebuilds/SHA256SUMS "$copy/dist/prebuilds/SHA256SUMS" || ! diff -r dist/prebuilds "$copy/dist/prebuilds"; then
  say "dist/prebuilds is not what the sources build: run \`npm run build:native\` and commit it"
  exit 1
fi
say "dist/prebuilds is what the sources build, byte for byte"
