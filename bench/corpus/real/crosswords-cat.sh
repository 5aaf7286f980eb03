#!/bin/sh
# The same on a terminal, after the advice.
gawk -f "$(dirname "$0")/crosswords.awk" "$@" | cat
