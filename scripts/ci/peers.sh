#!/usr/bin/env bash
# Puts the tools whose files are read and written into build/peers (or $STORMLOG_PEERS): the oldest supported release,
# those whose rules differ and the newest known. Each is a directory with a program `python` that finds that release.
# Installed releases are kept. Needs python3 with venv, and PyPI.
#
# Usage: scripts/ci/peers.sh [--newest]     --newest: also the newest release that is published, as NAME-newest
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
peers=${STORMLOG_PEERS:-$PWD/build/peers}
mkdir -p "$peers"

pinned=(stormlog==0.2.9 stormlog==0.3.10 stormlog==0.4.3 traceml-ai==0.3.6 traceml-ai==0.5.0)

pip() { "$peers/venv/bin/pip" --quiet --disable-pip-version-check "$@"; }

# Installs one release beside the others: what it depends on is in the environment.
release() {
  local directory="$peers/$1" package=$2
  [ -x "$directory/python" ] && return 0
  pip install --no-deps --upgrade --target "$directory/site" "$package"
  printf '#!/bin/sh\nPYTHONPATH="%s" exec "%s" "$@"\n' "$directory/site" "$peers/venv/bin/python" >"$directory/python"
  chmod +x "$directory/python"
  echo "peers: $1 is installed"
}

if [ ! -x "$peers/venv/bin/pip" ]; then
  python3 -m venv "$peers/venv"
  pip install stormlog==0.4.3 traceml-ai==0.5.0
fi
for package in "${pinned[@]}"; do release "${package/==/-}" "$package"; done
if [ "${1:-}" = --newest ]; then
  pip install --upgrade stormlog traceml-ai
  for name in stormlog traceml-ai; do
    rm -rf "${peers:?}/$name-newest"
    release "$name-newest" "$name"
  done
fi
