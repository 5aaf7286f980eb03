#!/bin/sh
# mawk on a terminal, after the advice.
mawk '{ print $1 * 2, $1 % 7 }' "$1" | cat
