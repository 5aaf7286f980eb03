#!/usr/bin/env bash
# The single-file edition as judges compile it: by bare rustc -O, in both editions, with today's compiler and with Rust 1.78
# where it is installed, without a warning; and each worked problem before the judge.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rustc -O --edition 2024 -D warnings -o "$work/judge" judge.rs
compilers=(+stable:2021 +stable:2024)
command -v rustup >/dev/null && rustup run stable rustc --version >/dev/null 2>&1 || compilers=(:2021 :2024)
if rustup run 1.78.0 rustc --version >/dev/null 2>&1 ||
    timeout 120 rustup toolchain install 1.78.0 --profile minimal >/dev/null 2>&1; then
    compilers+=(+1.78.0:2021)
else
    echo 'skipped: Rust 1.78 cannot be installed'
fi
for compiler in "${compilers[@]}"; do
    edition=${compiler##*:} toolchain=${compiler%%:*}
    for problem in pairs matrix guess; do
        cat outpace.rs "problems/$problem.rs" >"$work/$problem.rs"
        # shellcheck disable=SC2086
        rustc $toolchain -O --edition "$edition" -D warnings -o "$work/$problem" "$work/$problem.rs"
        "$work/judge" "$problem" "$work/$problem" || { echo "by rustc $toolchain, edition $edition"; exit 1; }
    done
    # The mode that shows what is read.
    # shellcheck disable=SC2086
    rustc $toolchain -O --edition "$edition" -D warnings --cfg local -o "$work/local" "$work/pairs.rs"
    printf '1\n2 40\n' | "$work/local" 2>&1 | tr '\n' ' ' | grep -qx 'read 1 read 2 read 40 42 '
    # As on a processor without SSE2.
    sed 's/target_arch = "x86_64"/target_arch = "none"/' "$work/pairs.rs" >"$work/portable.rs"
    # shellcheck disable=SC2086
    rustc $toolchain -O --edition "$edition" -D warnings -A unexpected_cfgs -o "$work/portable" "$work/portable.rs"
    "$work/judge" pairs "$work/portable"
done
