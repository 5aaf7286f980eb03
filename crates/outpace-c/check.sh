#!/usr/bin/env bash
# The C and C++ interface as its users have it: compiled as C99, C11, C++11, C++17 and C++20 by gcc and clang, static and
# shared, plain and under AddressSanitizer and UBSan, and run. Needs the built libraries (cargo build --release).
set -euo pipefail
cd "$(dirname "$0")"
built=${1:-../../target/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { printf 'skipped: %s\n' "$*"; }

# A prefix that shells, sed and pkg-config could misread; a stage, as packages are made; and the prefix of the tests.
./install.sh "$work/a & b|c" "$built"
grep -qxF "prefix=$work/a\\ &\\ b|c" "$work/a & b|c/lib/pkgconfig/outpace.pc" || { echo 'the prefix is not written as it is'; exit 1; }
DESTDIR=$work/stage ./install.sh /usr "$built"
grep -qxF 'prefix=/usr' "$work/stage/usr/lib/pkgconfig/outpace.pc" || { echo 'DESTDIR is not heeded'; exit 1; }
./install.sh "$work/prefix" "$built"
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig" LD_LIBRARY_PATH="$work/prefix/lib"
if command -v pkg-config >/dev/null; then
    cflags=$(pkg-config --cflags outpace) shared=$(pkg-config --libs outpace)
else
    skip 'pkg-config is not installed'
    cflags="-I$work/prefix/include" shared="-L$work/prefix/lib -loutpace_c"
fi
static="$work/prefix/lib/liboutpace_c.a -lpthread -ldl -lm"
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef -Werror'

compile() { # NAME COMPILER and its arguments
    local name=$1
    shift
    # shellcheck disable=SC2086
    "$@" $warnings $cflags -o "$work/$name" || { echo "not compiled: $*"; exit 1; }
}

run_c() {
    "$work/c" 2>"$work/said" || { echo "failed: $1"; cat "$work/said"; exit 1; }
    [[ $("$work/c" mixed | md5sum) == $(for i in {0..99}; do printf '%d outpace\n%d printf\n' "$i" "$i"; done | md5sum) ]]
    [[ $("$work/c" return | wc -l) == 100000 ]]
    for mode in 'main first' 'main first, init later' 'main first in a child'; do
        [[ $(timeout --signal=KILL 600 "$work/c" "$mode" | wc -l) == 100000 ]] || { echo "no end after pthread_exit: $mode: $1"; exit 1; }
    done
    set +e
    lines=$("$work/c" exit | wc -l; exit "${PIPESTATUS[0]}")
    status=$?
    set -e
    [[ $lines == 100000 && $status == 3 ]] || { echo "lost at exit: $1: $lines lines, status $status"; exit 1; }
}

# Answers each question once it is seen.
answers() {
    local i question pid out in
    coproc { "$@"; }
    pid=$COPROC_PID out=${COPROC[0]} in=${COPROC[1]}
    for i in 0 1 2; do
        if ! IFS= read -r -t 120 -d '?' question <&"$out" || [[ $question != *"question $i" ]]; then
            kill "$pid"
            return 1
        fi
        echo "$i" >&"$in"
    done
    exec {in}>&-
    wait "$pid"
}

run_cpp() {
    "$work/cpp" reference >"$work/expected"
    for mode in outpace redirect; do
        "$work/cpp" $mode | cmp - "$work/expected" || { echo "other bytes: $mode: $1"; exit 1; }
    done
    [[ $("$work/cpp" unsynchronized) == $'inside\nbehind it' ]] || { echo "lost behind sync_with_stdio: $1"; exit 1; }
    [[ $("$work/cpp" mixed | md5sum) == $(for i in {0..99}; do printf '%d outpace\n%d std::cout\n%d printf\n' "$i" "$i" "$i"; done | md5sum) ]]
    [[ $("$work/cpp" threads | sort | uniq -c | tr -s ' ') == ' 40000 a whole message' ]]
    for buffering in line block prompt:600s background; do
        for mode in ask ask-by-redirect 'ask, unsynchronized' 'ask-by-redirect, unsynchronized'; do
            OUTPACE_STDOUT=$buffering answers "$work/cpp" "$mode" || { echo "no question: $mode, $buffering: $1"; exit 1; }
        done
    done
    # As std::cout does it with libstdc++; with libc++ it knows no places.
    "$work/cpp" tell >"$work/told"
    [[ $(<"$work/told") == 111455back ]] || { echo "other places: $1"; exit 1; }
    [[ $("$work/cpp" abort 2>&1 || true) == *seen* ]] || { echo "lost at abort: $1"; exit 1; }
    "$work/cpp" closed >&- 2>&- || { echo "no error of a closed descriptor: $1"; exit 1; }
    [[ ! -e /dev/full ]] || { "$work/cpp" failed >/dev/full && "$work/cpp" failed-by-redirect >/dev/full; } || { echo "no error of a full disk: $1"; exit 1; }
}

for pair in gcc:g++ clang:clang++; do
    c=${pair%%:*} cpp=${pair##*:}
    command -v "$cpp" >/dev/null || { skip "$cpp is not installed"; continue; }
    for standard in c99 c11; do
        extension=-D_GNU_SOURCE
        # shellcheck disable=SC2086
        compile c $c -std=$standard $extension -O2 tests/interface.c $static
        run_c "$c $standard"
    done
    for standard in c++11 c++17 c++20; do
        # shellcheck disable=SC2086
        compile cpp $cpp -std=$standard -O2 -Wold-style-cast tests/stream.cpp $static
        run_cpp "$cpp $standard"
        # shellcheck disable=SC2086
        $cpp -std=$standard $cflags -DELSEWHERE -c -o "$work/elsewhere.o" tests/early.cpp
        # shellcheck disable=SC2086
        compile early $cpp -std=$standard tests/early.cpp "$work/elsewhere.o" $static
        [[ $("$work/early") == $'early 1\nmain 1\nlate 1' ]] || { echo "lost before main: $cpp $standard"; exit 1; }
    done
    if echo '#include <ostream>' | $cpp -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null; then
        # shellcheck disable=SC2086
        compile cpp $cpp -stdlib=libc++ -std=c++17 -O2 -Wold-style-cast tests/stream.cpp $static
        run_cpp "$cpp, libc++"
    else
        skip "$cpp has no libc++ here"
    fi
    # The header is C++, too; by the shared library; and with the sanitizers.
    # shellcheck disable=SC2086
    compile c $cpp -x c++ -std=c++17 -O1 tests/interface.c -x none $shared -lpthread
    run_c "$cpp, shared"
    # shellcheck disable=SC2086
    if echo 'int main(void) { return 0; }' | $c -fsanitize=address,undefined -x c - -o "$work/probe" 2>/dev/null; then
        sanitizers='-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all'
        # shellcheck disable=SC2086
        compile c $c -std=c11 $sanitizers -D_GNU_SOURCE tests/interface.c $static
        run_c "$c, sanitizers"
        # shellcheck disable=SC2086
        compile cpp $cpp -std=c++20 $sanitizers tests/stream.cpp $static
        run_cpp "$cpp, sanitizers"
    else
        skip "$c has no sanitizers here"
    fi
    # Threads that print are no races of the program.
    if echo 'int main(void) { return 0; }' | $c -fsanitize=thread -x c - -o "$work/probe" 2>/dev/null && "$work/probe"; then
        echo 'called_from_lib:liboutpace_c.so' >"$work/suppressions"
        # shellcheck disable=SC2086
        compile cpp $cpp -std=c++17 -g -O1 -fsanitize=thread tests/stream.cpp $shared
        [[ $(TSAN_OPTIONS="suppressions=$work/suppressions" "$work/cpp" threads 2>&1 | sort | uniq -c | tr -s ' ') == ' 40000 a whole message' ]] ||
            { echo "races: $cpp"; exit 1; }
    else
        skip "$c has no ThreadSanitizer here"
    fi
    # A format that does not fit its arguments is found by the compiler.
    echo '#include "outpace.h"
int main(void) { return outpace_printf(outpace_stdout(), "%s", 1); }' >"$work/wrong.c"
    # shellcheck disable=SC2086
    if $c -Wall -Werror $cflags -c -o "$work/wrong.o" "$work/wrong.c" 2>/dev/null; then
        echo "$c does not check the formats"
        exit 1
    fi
done
# Zig and Nim, as the first lines of their examples say.
expected=$(for i in {0..99999}; do echo "line $i"; done | md5sum)
runs() {
    [[ $("$work/$1" | md5sum) == "$expected" ]] || { echo "other bytes: $1"; exit 1; }
}
zig=$(command -v zig || true)
[[ $zig ]] || ! python3 -m ziglang version >/dev/null 2>&1 || zig='python3 -m ziglang'
if [[ $zig ]]; then
    cp examples/hello.zig "$work/"
    (
        cd "$work"
        $zig translate-c -lc -I prefix/include prefix/include/outpace.h >outpace.zig
        $zig build-exe hello.zig -lc -L prefix/lib -loutpace_c --name zig
    )
    runs zig
else
    skip 'Zig is not installed'
fi
if command -v nim >/dev/null; then
    nim c -d:release --hints:off --nimcache:"$work/nimcache" --passC:"-I$work/prefix/include" \
        --passL:"-L$work/prefix/lib -loutpace_c" -o:"$work/nim" examples/hello.nim >/dev/null
    runs nim
else
    skip 'Nim is not installed'
fi
if readelf -d "$work/prefix/lib/liboutpace_c.so" 2>/dev/null | grep -q FLAGS; then
    readelf -d "$work/prefix/lib/liboutpace_c.so" | grep -q NODELETE || { echo 'the shared library can be unloaded'; exit 1; }
fi
echo 'the C and C++ interface: all is well'
