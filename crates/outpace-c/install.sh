#!/usr/bin/env bash
# Installs the C and C++ interface: install.sh PREFIX [DIRECTORY with the built libraries].
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=${1:?usage: install.sh PREFIX [DIRECTORY]} built=${2:-$root/target/release}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include"
install -m 644 "$root/include/outpace.h" "$root/include/outpace.hpp" "$prefix/include/"
install -m 644 "$built/liboutpace_c.a" "$built/liboutpace_c.so" "$prefix/lib/"
sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" "$root/crates/outpace-c/outpace.pc.in" >"$prefix/lib/pkgconfig/outpace.pc"
