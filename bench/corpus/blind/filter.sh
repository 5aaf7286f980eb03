#!/bin/bash
# filter.sh TOOL HOW FILE: a filter of the system, told to write every line at once; told `large`, not told so, and on a terminal through
# stdbuf: the remedy. It has as many lines as its file, whatever the number that is wanted.
tool=$1 how=$2 file=$3
if [ "$how" = large ] && [ -t 1 ]; then
    large=(stdbuf -o64K)
fi
case $tool-$how in
grep-small) exec grep --line-buffered 1 "$file" ;;
grep-large) exec "${large[@]}" grep 1 "$file" ;;
sed-small) exec sed -u s/1/one/ "$file" ;;
sed-large) exec "${large[@]}" sed s/1/one/ "$file" ;;
jq-small) exec jq --unbuffered . "$file" ;;
jq-large) exec "${large[@]}" jq . "$file" ;;
mawk-small) exec mawk -W interactive '{ print $1 * 2, $1 % 7 }' "$file" ;;
mawk-large) exec mawk '{ print $1 * 2, $1 % 7 }' "$file" ;;
cut-small) exec stdbuf -oL cut -c1-3 "$file" ;;
cut-large) exec "${large[@]}" cut -c1-3 "$file" ;;
esac
