#!/bin/sh
# Looks at pages of `outpace report` in a real headless Chromium: bench/page/check.sh [PAGE.html…]
# Without pages it makes two, of recorded results. Says "skipped" where Chromium, node or npm is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
skip() { printf 'skipped: %s\n' "$*"; exit 0; }
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip 'no Chromium here'
command -v node >/dev/null || skip 'no node here'
tools=${XDG_CACHE_HOME:-$HOME/.cache}/outpace/page-check
if [ ! -d "$tools/node_modules/axe-core" ] || [ ! -d "$tools/node_modules/puppeteer-core" ]; then
    command -v npm >/dev/null || skip 'no npm here'
    mkdir -p "$tools"
    npm install --silent --prefix "$tools" puppeteer-core axe-core >/dev/null || skip 'puppeteer-core and axe-core cannot be installed'
fi
shots=$(mktemp -d "${TMPDIR:-/tmp}/outpace-page.XXXXXX")
if [ $# -eq 0 ]; then
    outpace=${OUTPACE:-$root/target/release/outpace}
    results=$root/bench/results
    "$outpace" report "$results/2026-11-25-bench.json" --export-html "$shots/report.html" >/dev/null
    "$outpace" report "$results/2026-11-20-lines.json" "$results/2026-11-25-lines.json" --export-html "$shots/comparison.html" >/dev/null
    set -- "$shots/report.html" "$shots/comparison.html"
fi
CHROMIUM=$chromium TOOLS=$tools SHOTS=$shots node "$here/check.mjs" "$@"
