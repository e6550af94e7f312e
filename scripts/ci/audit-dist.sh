#!/usr/bin/env bash
# Lists what dist/ contains, writes its bill of materials into build/, and audits exactly that list.
#
# Usage: scripts/ci/audit-dist.sh [--required]      as of scripts/release/audit.mjs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
node scripts/release/bundled.mjs --into build/bundled.json
node scripts/release/sbom.mjs --packages build/bundled.json --into build/sbom.cdx.json
node scripts/release/audit.mjs --packages build/bundled.json "$@"
