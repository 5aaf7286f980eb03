#!/usr/bin/env bash
# Runs the library's unit tests and those of endings as Windows programs, under Wine. Some minutes.
# Wants wine64, a MinGW linker (Debian: gcc-mingw-w64-x86-64) and `rustup target add x86_64-pc-windows-gnu`.
set -euo pipefail
cd "$(dirname "$0")/.."

wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2>/dev/null) || { echo 'wine64 is missing' >&2; exit 1; }
linker=x86_64-w64-mingw32-gcc
command -v "$linker" >/dev/null || { echo "$linker is missing" >&2; exit 1; }

target=x86_64-pc-windows-gnu
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=$linker
export WINEDEBUG=${WINEDEBUG:--all}

# Rust's std takes the keys of its hash maps from a library that Wine 8 (Debian 12) does not have. Wine's own comes first.
beside=$CARGO_TARGET_DIR/$target/debug/deps
mkdir -p "$beside"
"$linker" -shared -o "$beside/bcryptprimitives.dll" -x c - -x none -ladvapi32 <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) { return SystemFunction036(bytes, (ULONG)length); }
C

cargo test --locked -p outpace --lib --test any_system --target "$target" -- "$@"
