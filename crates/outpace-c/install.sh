#!/usr/bin/env bash
# Installs the C and C++ interface: headers, both libraries, a pkg-config file. As make does it: DESTDIR=STAGE installs below STAGE
# what will be used below PREFIX.
set -euo pipefail
fail() { printf 'install.sh: %s\n' "$*" >&2 && exit 2; }
usage='usage: [DESTDIR=STAGE] install.sh PREFIX [DIRECTORY with the built libraries]'
case ${1-} in
-h | --help) echo "$usage" && exit ;;
'' | -*) fail "$usage" ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
built=${2:-${CARGO_TARGET_DIR:-$root/target}/release}
[[ -e $built/liboutpace_c.a ]] || fail "no liboutpace_c.a in $built: cargo build --release -p outpace-c makes it"
case $1 in /*) prefix=$1 ;; *) prefix=$PWD/$1 ;; esac
to=${DESTDIR-}$prefix
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)
mkdir -p "$to/lib/pkgconfig" "$to/include"
install -m 644 "$root/include/outpace.h" "$root/include/outpace.hpp" "$to/include/"
install -m 644 "$built/liboutpace_c.a" "$built/liboutpace_c.so" "$to/lib/"
{
    printf 'prefix=%s\n' "${prefix// /\\ }"
    sed "s/@VERSION@/$version/" "$root/crates/outpace-c/outpace.pc.in"
} >"$to/lib/pkgconfig/outpace.pc"
