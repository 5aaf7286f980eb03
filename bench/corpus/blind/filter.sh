#!/bin/bash
# filter.sh TOOL HOW LINES: a filter of the system, told to write every line at once; told `large`, not told so, and on a terminal through
# stdbuf: the remedy.
tool=$1 how=$2 lines=$3
if [ "$how" = large ] && [ -t 1 ]; then
    large=(stdbuf -o64K)
fi
case $tool-$how in
grep-small) seq "$lines" | grep --line-buffered 1 ;;
grep-large) seq "$lines" | "${large[@]}" grep 1 ;;
sed-small) seq "$lines" | sed -u s/1/one/ ;;
sed-large) seq "$lines" | "${large[@]}" sed s/1/one/ ;;
jq-small) jq -n --unbuffered "range($lines / 4)" ;;
jq-large) "${large[@]}" jq -n "range($lines / 4)" ;;
mawk-small) seq "$lines" | mawk -W interactive '{ print $1 * 2, $1 % 7 }' ;;
mawk-large) if [ -t 1 ]; then seq "$lines" | mawk '{ print $1 * 2, $1 % 7 }' | cat; else seq "$lines" | mawk '{ print $1 * 2, $1 % 7 }'; fi ;;
cut-small) seq "$lines" | stdbuf -oL cut -c1-3 ;;
cut-large) seq "$lines" | "${large[@]}" cut -c1-3 ;;
esac
