#!/bin/sh
# pascal.sh SOURCE RESULT [OPTION]: fpc says who it is on standard error and leaves its files beside the source.
mkdir -p "$2.parts" && fpc -v0 -O2 $3 -FE"$2.parts" -o"$2" "$1" >/dev/null 2>&1
