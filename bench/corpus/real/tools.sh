#!/bin/bash
# tools.sh TOOL HOW FILE NUMBER: a tool of Debian with options that people use. Told `large`, with a block buffer: the remedy.
tool=$1 how=$2 file=$3 number=$4
large=()
if [ "$how" = large ]; then large=(stdbuf -o64K); fi
case $tool-$how in
od-small) exec stdbuf -o512 od -An -v -tx1z -N $((16 * number)) "$file" ;;
objdump-small) exec stdbuf -oL objdump -d /bin/ls ;;
nl-small) exec stdbuf -o0 nl -w 8 "$file" ;;
find-small) exec stdbuf -oL find /usr/include -printf '%m %s %p\n' ;;
sort-small) exec stdbuf -oL sort -t ' ' -k3,3 -k1,1n "$file" ;;
od-large) exec "${large[@]}" od -An -v -tx1z -N $((16 * number)) "$file" ;;
objdump-large) exec "${large[@]}" objdump -d /bin/ls ;;
nl-large) exec "${large[@]}" nl -w 8 "$file" ;;
find-large) exec "${large[@]}" find /usr/include -printf '%m %s %p\n' ;;
sort-large) exec "${large[@]}" sort -t ' ' -k3,3 -k1,1n "$file" ;;
esac
